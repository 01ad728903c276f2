#include "eval/chromium.h"

#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_S 180.0
#define READ_AT_ONCE 65536

struct chromium {
    pid_t pid;
    int in, out; /* what it reads and what it writes */
    int id;
    char session[128], profile[64], complaints[4096];
    char *text; /* what has come and was not read yet */
    size_t size, capacity;
};

/* ---- The program ---- */

static const char *program(void)
{
    static const char *const NAMES[] = {"chromium", "chromium-browser", "google-chrome"};
    for (int i = 0; i < COUNT(NAMES); i++)
        if (program_is_there(NAMES[i])) return NAMES[i];
    return NULL;
}

bool program_is_there(const char *name)
{
    const char *folders = getenv("PATH");
    for (const char *at = folders; at && *at;) {
        const size_t length = strcspn(at, ":");
        char path[4096];
        const int size = snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (size > 0 && size < (int)sizeof path && access(path, X_OK) == 0) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

bool chromium_is_there(void)
{
    return program() != NULL;
}

/* What cannot be removed stays in /tmp. */
static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    remove(path);
    return 0;
}

void chromium_close(chromium *c)
{
    if (!c) return;
    if (c->pid > 0) {
        kill(-c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
        close(c->in);
        close(c->out);
    }
    if (*c->profile) nftw(c->profile, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(c->text);
    free(c);
}

static void child(const chromium *c, const char *name, int from, int to)
{
    char profile[100];
    setpgid(0, 0);
    dup2(from, 3);
    dup2(to, 4);
    if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(1);
    snprintf(profile, sizeof profile, "--user-data-dir=%s", c->profile);
    execlp(name, name, "--headless", "--no-sandbox", "--remote-debugging-pipe", "--use-gl=angle",
           "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-gpu-watchdog", "--disable-renderer-backgrounding",
           "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
           "--hide-scrollbars", profile, "about:blank", (char *)NULL);
    _exit(127);
}

static hrc_status start(chromium *c, hrc_error *err)
{
    const char *name = program();
    int from[2], to[2];
    if (!name)
        return fail(err, HRC_EFILE,
                    "there is no Chromium, which draws pictures (Debian: apt install chromium)");
    strcpy(c->profile, "/tmp/heracles-browser-XXXXXX");
    if (!mkdtemp(c->profile)) {
        *c->profile = 0;
        return fail(err, HRC_EFILE, "/tmp: cannot make a folder for Chromium");
    }
    if (pipe(from) < 0 || pipe(to) < 0) return fail(err, HRC_EFILE, "no pipe to Chromium");
    while (from[0] < 5) from[0] = dup(from[0]); /* so that the child's copies to 3 and 4 overwrite nothing */
    while (to[1] < 5) to[1] = dup(to[1]);
    c->pid = fork();
    if (c->pid == 0) child(c, name, from[0], to[1]);
    close(from[0]);
    close(to[1]);
    c->in = from[1], c->out = to[0];
    return c->pid > 0 ? HRC_OK : fail(err, HRC_EFILE, "cannot start %s", name);
}

/* ---- Messages, each with a zero at its end ---- */

/* NULL when none came in time, or the browser is gone. */
static json_t *receive(chromium *c, double until_s)
{
    for (;;) {
        char *end = c->size ? memchr(c->text, 0, c->size) : NULL;
        if (end) {
            json_t *value = json_loads(c->text, 0, NULL);
            c->size -= (size_t)(end + 1 - c->text);
            memmove(c->text, end + 1, c->size);
            return value;
        }
        struct pollfd p = {.fd = c->out, .events = POLLIN};
        const double left = until_s - clock_s();
        if (left <= 0 || poll(&p, 1, (int)(1e3 * left) + 1) <= 0) return NULL;
        if (c->capacity - c->size < READ_AT_ONCE) {
            char *more = realloc(c->text, c->capacity * 2 + READ_AT_ONCE);
            if (!more) return NULL;
            c->text = more;
            c->capacity = c->capacity * 2 + READ_AT_ONCE;
        }
        const ssize_t n = read(c->out, c->text + c->size, c->capacity - c->size);
        if (n <= 0) return NULL;
        c->size += (size_t)n;
    }
}

static void complain(chromium *c, const char *words)
{
    const size_t used = strlen(c->complaints);
    /* Pictures make the software driver complain about its own speed. */
    if (!words || strstr(words, "GPU stall due to ReadPixels")) return;
    snprintf(c->complaints + used, sizeof c->complaints - used, "%s\n", words);
}

static void take_event(chromium *c, const json_t *event)
{
    const char *method = json_string_value(json_object_get(event, "method"));
    const json_t *p = json_object_get(event, "params");
    if (!method) return;
    if (!strcmp(method, "Runtime.exceptionThrown")) {
        char *words = json_dumps(json_object_get(p, "exceptionDetails"), JSON_COMPACT);
        complain(c, words);
        free(words);
    } else if (!strcmp(method, "Runtime.consoleAPICalled")) {
        const char *type = json_string_value(json_object_get(p, "type"));
        const json_t *first = json_array_get(json_object_get(p, "args"), 0);
        if (type && (!strcmp(type, "error") || !strcmp(type, "warning")))
            complain(c, json_string_value(json_object_get(first, "value")));
    } else if (!strcmp(method, "Log.entryAdded")) {
        const json_t *entry = json_object_get(p, "entry");
        const char *level = json_string_value(json_object_get(entry, "level"));
        if (level && strcmp(level, "verbose") && strcmp(level, "info"))
            complain(c, json_string_value(json_object_get(entry, "text")));
    }
}

/* The answer to message `id`; what comes before it are events. */
static hrc_status answer(chromium *c, int id, const char *method, json_t **result, hrc_error *err)
{
    for (const double until = clock_s() + PATIENCE_S;;) {
        json_t *got = receive(c, until);
        if (!got) return fail(err, HRC_EFILE, "Chromium did not answer %s", method);
        if (json_integer_value(json_object_get(got, "id")) != id) {
            take_event(c, got);
            json_decref(got);
            continue;
        }
        json_t *value = json_incref(json_object_get(got, "result"));
        char *words = value ? NULL : json_dumps(got, JSON_COMPACT);
        json_decref(got);
        hrc_status status =
            value ? HRC_OK : fail(err, HRC_EFILE, "Chromium, %s: %.300s", method, words ? words : "");
        free(words);
        if (result && status == HRC_OK)
            *result = value;
        else
            json_decref(value);
        return status;
    }
}

static bool send_all(int to, const char *words, size_t size)
{
    while (size) {
        const ssize_t n = write(to, words, size);
        if (n <= 0) return false;
        words += n, size -= (size_t)n;
    }
    return true;
}

hrc_status chromium_call(chromium *c, const char *method, json_t *params, json_t **result, hrc_error *err)
{
    const int id = ++c->id;
    json_t *message =
        json_pack("{s:i, s:s, s:o}", "id", id, "method", method, "params", params ? params : json_object());
    if (*c->session) json_object_set_new(message, "sessionId", json_string(c->session));
    char *words = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    const bool sent = words && send_all(c->in, words, strlen(words) + 1);
    free(words);
    if (!sent) return fail(err, HRC_EFILE, "Chromium does not read what it is told");
    return answer(c, id, method, result, err);
}

/* ---- The page ---- */

/* The tab that it opens with; it may take a moment to be there. */
static hrc_status find_tab(chromium *c, char *target, size_t size, hrc_error *err)
{
    for (int i = 0; i < 200; i++, usleep(50000)) {
        json_t *found, *one;
        size_t k;
        TRY(chromium_call(c, "Target.getTargets", NULL, &found, err));
        *target = 0;
        json_array_foreach (json_object_get(found, "targetInfos"), k, one) {
            const char *type = json_string_value(json_object_get(one, "type"));
            if (type && !strcmp(type, "page"))
                snprintf(target, size, "%s", json_string_value(json_object_get(one, "targetId")));
        }
        json_decref(found);
        if (*target) return HRC_OK;
    }
    return fail(err, HRC_EFILE, "Chromium opened no tab");
}

static hrc_status attach(chromium *c, hrc_error *err)
{
    char target[128];
    json_t *found;
    TRY(find_tab(c, target, sizeof target, err));
    TRY(chromium_call(c, "Target.attachToTarget", json_pack("{s:s, s:b}", "targetId", target, "flatten", 1),
                      &found, err));
    snprintf(c->session, sizeof c->session, "%s", json_string_value(json_object_get(found, "sessionId")));
    json_decref(found);
    TRY(chromium_call(c, "Runtime.enable", NULL, NULL, err));
    TRY(chromium_call(c, "Log.enable", NULL, NULL, err));
    return chromium_call(c, "Page.enable", NULL, NULL, err);
}

hrc_status chromium_open(chromium **out, const char *address, int width, int height, hrc_error *err)
{
    chromium *c = calloc(1, sizeof *c);
    if (!c) return fail(err, HRC_ENOMEM, "browser: out of memory");
    hrc_status status = start(c, err);
    if (status == HRC_OK) status = attach(c, err);
    if (status == HRC_OK) status = chromium_resize(c, width, height, err);
    if (status == HRC_OK)
        status = chromium_call(c, "Page.navigate", json_pack("{s:s}", "url", address), NULL, err);
    if (status < 0)
        chromium_close(c);
    else
        *out = c;
    return status;
}

hrc_status chromium_resize(chromium *c, int width, int height, hrc_error *err)
{
    return chromium_call(c, "Emulation.setDeviceMetricsOverride",
                         json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height,
                                   "deviceScaleFactor", 1, "mobile", 0),
                         NULL, err);
}

hrc_status chromium_eval(chromium *c, const char *script, json_t **out, hrc_error *err)
{
    json_t *result;
    TRY(chromium_call(
        c, "Runtime.evaluate",
        json_pack("{s:s, s:b, s:b}", "expression", script, "returnByValue", 1, "awaitPromise", 1), &result,
        err));
    const json_t *thrown = json_object_get(result, "exceptionDetails");
    char *words = thrown ? json_dumps(thrown, JSON_COMPACT) : NULL;
    json_t *value = json_incref(json_object_get(json_object_get(result, "result"), "value"));
    json_decref(result);
    if (thrown) {
        json_decref(value);
        fail(err, HRC_EFILE, "%.200s: %.300s", script, words ? words : "exception");
        free(words);
        return HRC_EFILE;
    }
    *out = value ? value : json_null();
    return HRC_OK;
}

hrc_status chromium_wait(chromium *c, const char *script, double seconds, hrc_error *err)
{
    char whole[2048];
    snprintf(whole, sizeof whole, "!!(%s)", script);
    for (const double until = clock_s() + seconds; clock_s() < until; usleep(50000)) {
        json_t *value;
        TRY(chromium_eval(c, whole, &value, err));
        const bool yes = json_is_true(value);
        json_decref(value);
        if (yes) return HRC_OK;
    }
    return fail(err, HRC_EFILE, "%s did not come true within %g s; %s", script, seconds, c->complaints);
}

const char *chromium_complaints(const chromium *c)
{
    return c->complaints;
}

/* ---- Base64 ---- */

static int digit(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(DIGITS, c) : NULL;
    return at ? (int)(at - DIGITS) : 0;
}

void base64_decode(text *out, const char *base64)
{
    for (const char *at = base64; at[0] && at[1] && at[2] && at[3]; at += 4) {
        const int bits = digit(at[0]) << 18 | digit(at[1]) << 12 | digit(at[2]) << 6 | digit(at[3]);
        const unsigned char bytes[3] = {(unsigned char)(bits >> 16), (unsigned char)(bits >> 8),
                                        (unsigned char)bits};
        text_bytes(out, bytes, at[2] == '=' ? 1 : at[3] == '=' ? 2 : 3);
    }
}
