#include "browser.h"

#include <stdlib.h>
#include <string.h>

#include "eval/chromium.h"
#include "test.h"

static chromium *b;
static hrc_error err;

void browser_close(void)
{
    chromium_close(b);
    b = NULL;
}

void browser_open(const char *address, int width, int height)
{
    static bool registered;
    if (!chromium_is_there()) SKIP("chromium is not installed");
    if (!registered) atexit(browser_close);
    registered = true;
    browser_close();
    ENSURE_OK(chromium_open(&b, address, width, height, &err));
}

static void tell(const char *method, json_t *params)
{
    ENSURE(b);
    ENSURE_OK(chromium_call(b, method, params, NULL, &err));
}

void browser_size(int width, int height)
{
    ENSURE_OK(chromium_resize(b, width, height, &err));
}

void browser_mouse(const char *what, double x, double y, int buttons)
{
    char type[32];
    const bool wheel = !strcmp(what, "Wheel"), click = !strcmp(what, "Pressed") || !strcmp(what, "Released");
    snprintf(type, sizeof type, "mouse%s", what);
    json_t *p = json_pack("{s:s, s:f, s:f, s:s, s:i, s:i, s:s}", "type", type, "x", x, "y", y, "button",
                          click || (buttons && !wheel) ? "left" : "none", "buttons", wheel ? 0 : buttons,
                          "clickCount", click ? 1 : 0, "pointerType", "mouse");
    if (wheel) json_object_set_new(p, "deltaX", json_integer(0));
    if (wheel) json_object_set_new(p, "deltaY", json_integer(buttons));
    tell("Input.dispatchMouseEvent", p);
}

void browser_touch(const char *what, const double (*fingers)[2], int n)
{
    char type[32];
    json_t *list = json_array();
    snprintf(type, sizeof type, "touch%s", what);
    for (int i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:f, s:f, s:i}", "x", fingers[i][0], "y", fingers[i][1], "id", i + 1));
    tell("Input.dispatchTouchEvent", json_pack("{s:s, s:o}", "type", type, "touchPoints", list));
}

json_t *browser_eval(const char *script)
{
    json_t *value;
    ENSURE(b);
    ENSURE_OK(chromium_eval(b, script, &value, &err));
    return value;
}

bool browser_true(const char *script)
{
    json_t *value = browser_eval(script);
    bool yes = json_is_true(value);
    json_decref(value);
    return yes;
}

double browser_number(const char *script)
{
    json_t *value = browser_eval(script);
    double x = json_is_number(value) ? json_number_value(value) : NAN;
    json_decref(value);
    return x;
}

void browser_wait(const char *script, double seconds)
{
    ENSURE(b);
    ENSURE_OK(chromium_wait(b, script, seconds, &err));
}

void browser_picture(const char *path)
{
    json_t *result;
    text bytes = {0};
    ENSURE(b);
    ENSURE_OK(chromium_call(b, "Page.captureScreenshot", NULL, &result, &err));
    const char *base64 = json_string_value(json_object_get(result, "data"));
    ENSURE(base64);
    base64_decode(&bytes, base64);
    ENSURE(text_ok(&bytes));
    test_write(path, bytes.data, bytes.size);
    text_free(&bytes);
    json_decref(result);
}

const char *browser_complaints(void)
{
    return chromium_complaints(b);
}
