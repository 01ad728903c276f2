#include "browser.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#define PATIENCE_S 180.0

static struct {
    pid_t pid;
    int in, out; /* what it reads and what it writes */
    int id;
    char session[128];
    char *text; /* what has come and was not read yet */
    size_t size, capacity;
    char complaints[4096], profile[64];
} b;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void browser_close(void)
{
    if (!b.pid) return;
    kill(-b.pid, SIGKILL);
    waitpid(b.pid, NULL, 0);
    close(b.in);
    close(b.out);
    free(b.text);
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", b.profile);
    if (system(line) != 0) b.profile[0] = 0;
    memset(&b, 0, sizeof b);
}

static void child(int from[2], int to[2])
{
    char profile[100];
    setpgid(0, 0);
    dup2(from[0], 3);
    dup2(to[1], 4);
    if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(1);
    snprintf(profile, sizeof profile, "--user-data-dir=%s", b.profile);
    execlp("chromium", "chromium", "--headless", "--no-sandbox", "--remote-debugging-pipe", "--use-gl=angle",
           "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-gpu-watchdog", "--disable-renderer-backgrounding",
           "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
           "--hide-scrollbars", profile, "about:blank", (char *)NULL);
    _exit(127);
}

static void start(void)
{
    int from[2], to[2];
    if (test_shell(NULL, 0, "command -v chromium") != 0) SKIP("chromium is not installed");
    browser_close();
    static bool registered;
    if (!registered) atexit(browser_close);
    registered = true;
    strcpy(b.profile, "/tmp/heracles-browser-XXXXXX");
    ENSURE(mkdtemp(b.profile));
    /* Above 4, so that the child's copies to 3 and 4 overwrite nothing. */
    ENSURE(pipe(from) == 0 && pipe(to) == 0);
    while (from[0] < 5 || to[1] < 5) {
        if (from[0] < 5) from[0] = dup(from[0]);
        if (to[1] < 5) to[1] = dup(to[1]);
    }
    b.pid = fork();
    if (b.pid == 0) child(from, to);
    ENSURE(b.pid > 0);
    close(from[0]);
    close(to[1]);
    b.in = from[1], b.out = to[0];
}

/* One message, or NULL when none came in time. */
static json_t *receive(double until_s)
{
    for (;;) {
        char *end = b.size ? memchr(b.text, 0, b.size) : NULL;
        if (end) {
            json_t *value = json_loads(b.text, 0, NULL);
            b.size -= (size_t)(end + 1 - b.text);
            memmove(b.text, end + 1, b.size);
            return value;
        }
        struct pollfd p = {.fd = b.out, .events = POLLIN};
        double left = until_s - now_s();
        if (left <= 0 || poll(&p, 1, (int)(1e3 * left) + 1) <= 0) return NULL;
        if (b.capacity - b.size < 65536) b.text = realloc(b.text, b.capacity += 1 << 20);
        ENSURE(b.text);
        ssize_t n = read(b.out, b.text + b.size, b.capacity - b.size);
        if (n <= 0) return NULL;
        b.size += (size_t)n;
    }
}

static void complain(const char *text)
{
    size_t used = strlen(b.complaints);
    /* Pictures make the software driver complain about its own speed. */
    if (!text || strstr(text, "GPU stall due to ReadPixels")) return;
    snprintf(b.complaints + used, sizeof b.complaints - used, "%s\n", text);
}

static void take_event(const json_t *event)
{
    const char *method = json_string_value(json_object_get(event, "method"));
    const json_t *p = json_object_get(event, "params");
    if (!method) return;
    if (!strcmp(method, "Runtime.exceptionThrown")) {
        char *text = json_dumps(json_object_get(p, "exceptionDetails"), JSON_COMPACT);
        complain(text);
        free(text);
    } else if (!strcmp(method, "Runtime.consoleAPICalled")) {
        const char *type = json_string_value(json_object_get(p, "type"));
        const json_t *first = json_array_get(json_object_get(p, "args"), 0);
        if (type && (!strcmp(type, "error") || !strcmp(type, "warning")))
            complain(json_string_value(json_object_get(first, "value")));
    } else if (!strcmp(method, "Log.entryAdded")) {
        const json_t *entry = json_object_get(p, "entry");
        const char *level = json_string_value(json_object_get(entry, "level"));
        if (level && strcmp(level, "verbose") && strcmp(level, "info"))
            complain(json_string_value(json_object_get(entry, "text")));
    }
}

/* Takes params over; gives the result, which the caller frees. */
static json_t *call(const char *method, json_t *params)
{
    const int id = ++b.id;
    json_t *message =
        json_pack("{s:i, s:s, s:o}", "id", id, "method", method, "params", params ? params : json_object());
    if (*b.session) json_object_set_new(message, "sessionId", json_string(b.session));
    char *text = json_dumps(message, JSON_COMPACT), about[300];
    json_decref(message);
    ENSURE(b.pid && text);
    size_t size = strlen(text) + 1;
    snprintf(about, sizeof about, "%s", text);
    bool written = write(b.in, text, size) == (ssize_t)size;
    free(text);
    if (!written) test_fail(__FILE__, __LINE__, "the browser does not read");
    for (double until = now_s() + PATIENCE_S;;) {
        json_t *got = receive(until);
        if (!got) test_fail(__FILE__, __LINE__, "the browser did not answer %s", about);
        if (json_integer_value(json_object_get(got, "id")) == id) {
            json_t *result = json_incref(json_object_get(got, "result"));
            if (!result) test_fail(__FILE__, __LINE__, "%s: %s", method, json_dumps(got, JSON_COMPACT));
            json_decref(got);
            return result;
        }
        take_event(got);
        json_decref(got);
    }
}

static void tell(const char *method, json_t *params)
{
    json_decref(call(method, params));
}

static void get_string(char *out, size_t size, json_t *from, const char *key)
{
    const char *text = json_string_value(json_object_get(from, key));
    ENSURE(text);
    snprintf(out, size, "%s", text);
    json_decref(from);
}

/* The tab that it opens with; it may take a moment to be there. */
static void find_tab(char *target, size_t size)
{
    for (int i = 0; i < 200; i++, usleep(50000)) {
        json_t *found = call("Target.getTargets", NULL), *list = json_object_get(found, "targetInfos"), *one;
        size_t k;
        json_array_foreach (list, k, one) {
            const char *type = json_string_value(json_object_get(one, "type"));
            if (!type || strcmp(type, "page")) continue;
            snprintf(target, size, "%s", json_string_value(json_object_get(one, "targetId")));
            json_decref(found);
            return;
        }
        json_decref(found);
    }
    test_fail(__FILE__, __LINE__, "the browser opened no tab");
}

void browser_open(const char *address, int width, int height)
{
    char target[128];
    start();
    find_tab(target, sizeof target);
    get_string(b.session, sizeof b.session,
               call("Target.attachToTarget", json_pack("{s:s, s:b}", "targetId", target, "flatten", 1)),
               "sessionId");
    tell("Runtime.enable", NULL);
    tell("Log.enable", NULL);
    tell("Page.enable", NULL);
    browser_size(width, height);
    tell("Page.navigate", json_pack("{s:s}", "url", address));
}

void browser_size(int width, int height)
{
    tell("Emulation.setDeviceMetricsOverride", json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height",
                                                         height, "deviceScaleFactor", 1, "mobile", 0));
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
    json_t *result = call("Runtime.evaluate", json_pack("{s:s, s:b, s:b}", "expression", script,
                                                        "returnByValue", 1, "awaitPromise", 1));
    if (json_object_get(result, "exceptionDetails"))
        test_fail(__FILE__, __LINE__, "%s: %s", script, json_dumps(result, JSON_COMPACT));
    json_t *value = json_incref(json_object_get(json_object_get(result, "result"), "value"));
    json_decref(result);
    return value ? value : json_null();
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
    char whole[2048];
    snprintf(whole, sizeof whole, "!!(%s)", script);
    for (double until = now_s() + seconds; !browser_true(whole); usleep(50000))
        if (now_s() > until) {
            const char *where = json_string_value(browser_eval("location.href + ' ' + document.readyState"));
            test_fail(__FILE__, __LINE__, "%s did not come true within %g s; %s %s", script, seconds,
                      where ? where : "", b.complaints);
        }
}

static int digit(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(DIGITS, c) : NULL;
    return at ? (int)(at - DIGITS) : 0;
}

void browser_picture(const char *path)
{
    json_t *result = call("Page.captureScreenshot", NULL);
    const char *text = json_string_value(json_object_get(result, "data"));
    FILE *file = fopen(path, "wb");
    ENSURE(text && file);
    for (; text[0] && text[1] && text[2] && text[3]; text += 4) {
        int bits = digit(text[0]) << 18 | digit(text[1]) << 12 | digit(text[2]) << 6 | digit(text[3]);
        fputc(bits >> 16, file);
        if (text[2] != '=') fputc(bits >> 8 & 255, file);
        if (text[3] != '=') fputc(bits & 255, file);
    }
    ENSURE(fclose(file) == 0);
    json_decref(result);
}

const char *browser_complaints(void)
{
    return b.complaints;
}
