/* The playground's server: pages, viewers, who controls, and everything that must not upset it. Real sockets
 * on this machine; the loop's count of steps tells whether it was held up. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "eval/page.h"
#include "playhouse.h"
#include "test.h"

#define PATIENCE_S 20.0

static play_server *server;

static void open_house(void)
{
    playhouse_open(true);
    server = playhouse_serve();
}

/* ---- Sockets ---- */

static int dial(void)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)playhouse_port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ENSURE(s >= 0 && connect(s, (struct sockaddr *)&at, sizeof at) == 0);
    return s;
}

static void put(int s, const void *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(s, (const char *)data + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0) return; /* it hung up, as it may */
        sent += (size_t)n;
    }
}

/* Exactly size bytes; false when it hung up or nothing came. */
static bool take(int s, void *out, size_t size)
{
    for (size_t got = 0; got < size;) {
        struct pollfd p = {.fd = s, .events = POLLIN};
        if (poll(&p, 1, (int)(1e3 * PATIENCE_S)) <= 0) return false;
        ssize_t n = recv(s, (char *)out + got, size - got, 0);
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

/* Until the other side hangs up or `size` is full; zero-terminated. */
static size_t take_all(int s, char *out, size_t size)
{
    size_t got = 0;
    while (got + 1 < size) {
        struct pollfd p = {.fd = s, .events = POLLIN};
        if (poll(&p, 1, (int)(1e3 * PATIENCE_S)) <= 0) break;
        ssize_t n = recv(s, out + got, size - 1 - got, 0);
        if (n <= 0) break;
        got += (size_t)n;
    }
    out[got] = 0;
    return got;
}

/* ---- HTTP ---- */

static char body[8 << 20];

/* The status of a request; what came stands in `body`, its head too. */
static int request(const char *line, const char *headers)
{
    char text[8192];
    int s = dial(), status = 0;
    snprintf(text, sizeof text, "%s\r\n%sConnection: close\r\n\r\n", line, headers);
    put(s, text, strlen(text));
    take_all(s, body, sizeof body);
    close(s);
    sscanf(body, "HTTP/1.%*d %d", &status);
    return status;
}

static const char *own_host(void)
{
    static char line[64];
    snprintf(line, sizeof line, "Host: 127.0.0.1:%d\r\n", playhouse_port());
    return line;
}

static int get(const char *path)
{
    char line[2048];
    snprintf(line, sizeof line, "GET %s HTTP/1.1", path);
    return request(line, own_host());
}

static const char *content(void)
{
    const char *at = strstr(body, "\r\n\r\n");
    ENSURE(at);
    return at + 4;
}

static void test_pages(void)
{
    hrc_error err;
    open_house();
    ENSURE(get("/") == 200 && strstr(content(), "<title>heracles play") && strstr(body, "nosniff"));
    ENSURE(strstr(content(), "default-src 'none'") && !strcasestr(content(), "<script src"));
    ENSURE(!strstr(content(), "@play.js@") && !strstr(content(), "@three.min.js@"));
    ENSURE(get("/scene.json") == 200);
    json_t *scene = json_loads(content(), 0, NULL);
    ENSURE(json_array_size(json_object_get(scene, "motions")) == 2);
    ENSURE(json_integer_value(json_object_get(scene, "stride")) == LIVE_ROBOT);
    json_decref(scene);
    ENSURE(get("/preview?i=1") == 200);
    ENSURE(get("/preview?i=2") == 404 && get("/preview?i=-1") == 404 && get("/preview") == 404);
    ENSURE(get("/run.json") == 200 && strstr(content(), "\"whole\":true"));
    usleep(300000);
    ENSURE(get("/replay.html") == 200 && strstr(body, "attachment") && strstr(content(), "wave, planner on"));
    ENSURE(get("/recording.safetensors?i=0") == 200);
    char path[600];
    snprintf(path, sizeof path, "%s", test_path("got.safetensors"));
    long size = strtol(strcasestr(body, "content-length:") + 15, NULL, 10);
    test_write(path, content(), (size_t)size);
    rollout got;
    ENSURE_OK(rollout_load(&got, path, &err));
    ENSURE(got.n >= 5 && got.ref && got.plan && got.torque);
    rollout_free(&got);
    ENSURE(get("/recording.safetensors?i=1") == 409 && strstr(content(), "robot 1"));
    playhouse_close();
}

static void test_refused(void)
{
    static const char *const PATHS[] = {
        "/../../etc/passwd",         "/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/./../etc/passwd",          "/play.js/../../etc/passwd",
        "/\\..\\..\\etc\\passwd",    "/etc/passwd",
        "/assets/viewer.js",         "/scene.json/",
        "/replay.html%00.txt",       "http://evil/etc/passwd",
    };
    open_house();
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        int status = get(PATHS[i]);
        /* A path that folds to "/" may give the page; never a file. */
        if (strstr(body, "root:") || (status == 200 && !strstr(body, "<title>heracles play")))
            test_fail(__FILE__, __LINE__, "%s: %d", PATHS[i], status);
    }
    ENSURE(request("GET / HTTP/1.1", "Host: evil.example\r\n") == 403);
    ENSURE(request("GET / HTTP/1.1", "Host: 127.0.0.1.evil.example\r\n") == 403);
    ENSURE(request("GET / HTTP/1.1", "Host: 192.168.1.1\r\n") == 403); /* it listens on this machine alone */
    ENSURE(request("GET / HTTP/1.1", "") == 403);
    ENSURE(request("GET / HTTP/1.1", "Host: localhost\r\n") == 200);
    char headers[256];
    snprintf(headers, sizeof headers, "%sOrigin: http://evil.example\r\n", own_host());
    ENSURE(request("GET /run.json HTTP/1.1", headers) == 403);
    snprintf(headers, sizeof headers, "%sOrigin: http://127.0.0.1:%d\r\n", own_host(), playhouse_port());
    ENSURE(request("GET /run.json HTTP/1.1", headers) == 200);
    snprintf(headers, sizeof headers, "%sContent-Length: 1\r\n", own_host());
    ENSURE(request("POST / HTTP/1.1", headers) != 200 && request("PUT /x HTTP/1.1", headers) != 200);
    playhouse_close();
}

/* ---- WebSocket ---- */

static int shake(int s, const char *origin)
{
    char text[1024], answer[2048] = "";
    snprintf(text, sizeof text,
             "GET / HTTP/1.1\r\n%sUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: %s\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Protocol: heracles\r\n\r\n",
             own_host(), origin);
    put(s, text, strlen(text));
    for (size_t got = 0; got + 1 < sizeof answer && take(s, answer + got, 1);) {
        answer[++got] = 0;
        if (strstr(answer, "\r\n\r\n")) break;
        if (got + 1 == sizeof answer) return 0;
    }
    int status = 0;
    sscanf(answer, "HTTP/1.1 %d", &status);
    return status;
}

static const char *own_origin(void)
{
    static char origin[64];
    snprintf(origin, sizeof origin, "http://127.0.0.1:%d", playhouse_port());
    return origin;
}

static int join(void)
{
    int s = dial();
    ENSURE(shake(s, own_origin()) == 101);
    return s;
}

/* A frame as a client sends it; the mask is zero, which masks nothing. */
static void put_frame(int s, int first, const void *data, size_t size)
{
    unsigned char head[14] = {(unsigned char)first};
    size_t n = 2;
    if (size < 126) {
        head[1] = (unsigned char)(0x80 | size);
    } else if (size < 65536) {
        head[1] = 0x80 | 126, head[2] = (unsigned char)(size >> 8), head[3] = (unsigned char)size, n = 4;
    } else {
        head[1] = 0x80 | 127, n = 10;
        for (int i = 0; i < 8; i++) head[2 + i] = (unsigned char)(size >> (56 - 8 * i));
    }
    put(s, head, n + 4);
    put(s, data, size);
}

static void say(int s, const char *text)
{
    put_frame(s, 0x81, text, strlen(text));
}

typedef struct {
    int kind; /* 1 text, 2 binary, 8 closed; 0: hung up */
    size_t size;
    union {
        char text[70000];
        float numbers[LIVE_FRAME];
    };
} message;

static message *hear(int s)
{
    static message m;
    unsigned char head[2], more[8];
    m.kind = 0, m.size = 0;
    if (!take(s, head, 2)) return &m;
    m.size = head[1] & 127;
    if (m.size == 126) {
        if (!take(s, more, 2)) return &m;
        m.size = (size_t)more[0] << 8 | more[1];
    }
    if (m.size == 127) {
        if (!take(s, more, 8)) return &m;
        m.size = 0;
        for (int i = 0; i < 8; i++) m.size = m.size << 8 | more[i];
    }
    ENSURE(m.size < sizeof m.text);
    if (!take(s, m.text, m.size)) return &m;
    m.text[m.size] = 0;
    m.kind = head[0] & 15;
    return &m;
}

/* The next message of this kind that has these words, passing over others. */
static message *hear_of(int s, int kind, const char *words)
{
    for (double until = clock_s() + PATIENCE_S; clock_s() < until;) {
        message *m = hear(s);
        if (!m->kind) test_fail(__FILE__, __LINE__, "hung up before %s came", words);
        if (m->kind == kind && (kind == 2 || strstr(m->text, words))) return m;
    }
    test_fail(__FILE__, __LINE__, "%s did not come", words);
}

static bool hung_up(int s)
{
    for (double until = clock_s() + PATIENCE_S; clock_s() < until;)
        if (hear(s)->kind == 0 || hear(s)->kind == 8) return true;
    return false;
}

static void test_viewers(void)
{
    open_house();
    int a = join(), b = join();
    hear_of(a, 1, "\"control\":true");
    hear_of(b, 1, "\"control\":false");
    message *m = hear_of(a, 2, "");
    ENSURE(m->size == sizeof(float) * (LIVE_HEAD + LIVE_ROBOT) && m->numbers[LIVE_ROBOTS] == 1);
    ENSURE(m->numbers[LIVE_HEAD + 2] > 0.5f && m->numbers[LIVE_HEAD + 2] < 1);
    float step = m->numbers[LIVE_STEP];
    while (hear_of(b, 2, "")->numbers[LIVE_STEP] < step + 5) continue;

    say(b, "{\"do\": \"pair\", \"value\": true}");
    hear_of(b, 1, "You are watching");
    say(b, "{\"do\": \"take\"}");
    say(a, "{\"do\": \"pair\", \"value\": true}");
    hear_of(a, 1, "\"pair\":true");
    while (hear_of(b, 2, "")->size != sizeof(float) * LIVE_FRAME) continue;
    say(b, "{\"do\": \"take\"}");
    hear_of(b, 1, "Another viewer has the controls");
    say(a, "{\"do\": \"pause\", \"value\": true}");
    hear_of(b, 1, "\"paused\":true");
    say(a, "{\"do\": \"nonsense\"}");
    hear_of(a, 1, "there is no order \\\"nonsense\\\"");
    close(a);
    hear_of(b, 1, "\"control\":true");
    say(b, "{\"do\": \"pause\", \"value\": false}");
    hear_of(b, 1, "\"paused\":false");
    close(b);
    int foreign = dial();
    ENSURE(shake(foreign, "http://evil.example") != 101);
    close(foreign);
    playhouse_close();
}

/* The link of a run, through the server, gives the run again. */
static void test_run(void)
{
    open_house();
    int a = join();
    say(a, "{\"do\": \"posture\", \"value\": 2}");
    hear_of(a, 1, "\"posture\":2");
    say(a, "{\"do\": \"push\", \"x\": 1, \"y\": 0, \"z\": 0}");
    hear_of(a, 1, "push 1 m/s ahead");
    ENSURE(get("/run.json") == 200 && strstr(content(), "\"do\":\"push\""));
    char *text = malloc(strlen(content()) + 64);
    sprintf(text, "{\"do\": \"run\", \"run\": %s}", content());
    say(a, "{\"do\": \"restart\"}");
    hear_of(a, 1, "\"posture\":-1");
    say(a, text);
    free(text);
    hear_of(a, 1, "\"posture\":2");
    hear_of(a, 1, "push 1 m/s ahead");
    say(a, "{\"do\": \"run\", \"run\": {\"scene\": {}}}");
    hear_of(a, 1, "there is no motion");
    close(a);
    playhouse_close();
}

/* ---- Files ---- */

static void announce(int s, const char *name, size_t size)
{
    char text[200];
    snprintf(text, sizeof text, "{\"do\": \"file\", \"name\": \"%s\", \"size\": %zu}", name, size);
    say(s, text);
}

static void send_file(int s, const char *name, const char *data, size_t size)
{
    announce(s, name, size);
    for (size_t at = 0; at < size; at += 30000)
        put_frame(s, 0x82, data + at, size - at < 30000 ? size - at : 30000);
}

/* A motion that is sent joins the list of all and is followed; a bad one gives a sentence and changes
 * nothing.
 */
static void test_files(void)
{
    hrc_error err;
    file_view wave;
    open_house();
    ENSURE_OK(file_map("motions/wave.safetensors", &wave, &err));
    int a = join(), b = join();
    hear_of(a, 1, "\"motions\":2");
    send_file(a, "bad.csv", "1,2,3\n", 6);
    hear_of(a, 1, "\"type\":\"file\",\"text\":\"bad.csv");
    send_file(b, "mine.safetensors", wave.data, wave.size);
    hear_of(b, 1, "You are watching");
    say(b, "{\"do\": \"pause\", \"value\": true}"); /* its bytes were passed over, it is still there */
    hear_of(b, 1, "You are watching");
    ENSURE(get("/motions.json") == 200 && !strstr(content(), "bad") && !strstr(content(), "mine"));

    send_file(a, "mine.safetensors", wave.data, wave.size);
    hear_of(a, 1, "\"type\":\"file\",\"text\":\"mine: ");
    hear_of(b, 1, "\"motions\":3");
    hear_of(b, 1, "\"motion\":\"mine\"");
    ENSURE(get("/motions.json") == 200 && strstr(content(), "\"mine\""));
    ENSURE(get("/scene.json") == 200 && strstr(content(), "\"mine\"") && get("/preview?i=2") == 200);

    /* Nobody's bytes, more than were announced, a line that breaks: the next file is read all the same. */
    announce(a, "mine.safetensors", 10);
    put_frame(a, 0x82, wave.data, 11);
    ENSURE(hung_up(a));
    close(a);
    hear_of(b, 1, "\"control\":true");
    announce(b, "half.csv", 1000);
    put_frame(b, 0x82, wave.data, 500);
    close(b);
    a = join();
    hear_of(a, 1, "\"control\":true");
    send_file(a, "mine.safetensors", wave.data, wave.size);
    hear_of(a, 1, "\"text\":\"mine (2): ");
    announce(a, "huge.csv", 33u << 20);
    hear_of(a, 1, "at most 32");
    put_frame(a, 0x82, wave.data, 500);
    ENSURE(hung_up(a));
    close(a);
    file_unmap(&wave);
    playhouse_close();
}

/* ---- What must not upset it ---- */

static int64_t loop_steps(void)
{
    return play_server_count(server).loop.steps;
}

/* It still steps and still answers. */
static void check_alive(void)
{
    int64_t before = loop_steps();
    int a = join();
    hear_of(a, 2, "");
    hear_of(a, 2, "");
    close(a);
    for (double until = clock_s() + PATIENCE_S; loop_steps() < before + 5; usleep(10000))
        ENSURE(clock_s() < until);
    ENSURE(get("/scene.json") == 200);
}

static void test_bad_http(void)
{
    static const char *const BAD[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\nxx",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
         "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    open_house();
    rng r = rng_make(3, 0);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        int s = dial();
        put(s, BAD[i], strlen(BAD[i]));
        shutdown(s, SHUT_WR);
        take_all(s, body, 4096);
        close(s);
    }
    for (int i = 0; i < 40; i++) { /* noise */
        unsigned char noise[512];
        int s = dial();
        for (size_t k = 0; k < sizeof noise; k++) noise[k] = (unsigned char)rng_u32(&r);
        put(s, noise, sizeof noise);
        close(s);
    }
    static char huge[200000];
    memset(huge, 'a', sizeof huge);
    int s = dial();
    put(s, "GET /", 5);
    put(s, huge, sizeof huge);
    shutdown(s, SHUT_WR);
    take_all(s, body, 4096);
    close(s);
    s = dial();
    put(s, "GET / HTTP/1.1\r\nX: ", 19);
    put(s, huge, sizeof huge);
    close(s);
    int half[20];
    for (int i = 0; i < 20; i++) put(half[i] = dial(), "GET / HT", 8); /* and never goes on */
    check_alive();
    for (int i = 0; i < 20; i++) close(half[i]);
    playhouse_close();
}

static void test_bad_frames(void)
{
    static const unsigned char HUGE_LENGTH[] = {0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff,
                                                0xff, 0xff, 0xff, 0,    0,    0,    0};
    static const unsigned char UNMASKED[] = {0x81, 0x02, '{', '}'};
    static const unsigned char RESERVED[] = {0x8b, 0x80, 0, 0, 0, 0};
    static const unsigned char NOT_TEXT[] = {0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28};
    static const unsigned char LONG_PING[] = {0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0};
    static const struct {
        const unsigned char *bytes;
        size_t size;
    } BAD[] = {{HUGE_LENGTH, sizeof HUGE_LENGTH},
               {UNMASKED, sizeof UNMASKED},
               {RESERVED, sizeof RESERVED},
               {NOT_TEXT, sizeof NOT_TEXT},
               {LONG_PING, sizeof LONG_PING}};
    static const char *const WORDS[] = {"",
                                        "{",
                                        "null",
                                        "[1, 2]",
                                        "{\"do\": null}",
                                        "{\"do\": \"punch\", \"x\": \"far\"}",
                                        "{\"do\": \"speed\", \"value\": 0}",
                                        "{\"do\": \"speed\", \"value\": 1e999}",
                                        "{\"do\": \"pause\", \"value\": {\"a\": [[[[[]]]]]}}"};
    open_house();
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        int s = join();
        put(s, BAD[i].bytes, BAD[i].size);
        shutdown(s, SHUT_WR);
        ENSURE(hung_up(s));
        close(s);
    }
    int s = join();
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) say(s, WORDS[i]);
    hear_of(s, 1, "notice");
    put_frame(s, 0x82, "binary", 6);
    ENSURE(hung_up(s));
    close(s);
    static char large[100000];
    memset(large, ' ', sizeof large);
    s = join(); /* one message that is too long */
    put_frame(s, 0x81, large, sizeof large);
    ENSURE(hung_up(s));
    close(s);
    s = join(); /* and one in pieces without end */
    put_frame(s, 0x01, large, 1000);
    for (int i = 0; i < 200; i++) put_frame(s, 0x00, large, 1000);
    ENSURE(hung_up(s));
    close(s);
    s = join(); /* deep */
    memset(large, '[', 60000);
    put_frame(s, 0x81, large, 60000);
    hear_of(s, 1, "not an order");
    close(s);
    check_alive();
    playhouse_close();
}

static void test_crowd(void)
{
    enum { CROWD = 100 };
    int s[CROWD], in = 0;
    open_house();
    int a = join();
    hear_of(a, 2, "");
    int64_t before = loop_steps();
    double begun = clock_s();
    for (int i = 0; i < CROWD; i++) {
        s[i] = dial();
        in += shake(s[i], own_origin()) == 101 && hear(s[i])->kind == 1;
    }
    ENSURE(in >= 20 && in < 40); /* as many as there are places; the rest are turned away */
    for (double until = clock_s() + 2; clock_s() < until;) hear_of(a, 2, "");
    /* None of them reads; the loop goes on, and so does the one who does. */
    const double steps = (double)(loop_steps() - before), seconds = clock_s() - begun;
    if (steps < 0.5 * HRC_RATE_HZ * seconds)
        test_fail(__FILE__, __LINE__, "%g steps in %g s", steps, seconds);
    for (int i = 0; i < CROWD; i++) close(s[i]);
    close(a);
    usleep(200000);
    check_alive();
    playhouse_close();
}

/* Frames that a viewer did not take are dropped: when it reads again, there is a gap, and then what is new.
 */
static void test_slow_viewer(void)
{
    open_house();
    int slow = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)playhouse_port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ENSURE(connect(slow, (struct sockaddr *)&at, sizeof at) == 0);
    ENSURE(shake(slow, own_origin()) == 101);
    say(slow, "{\"do\": \"pair\", \"value\": true}"); /* larger frames */
    while (hear_of(slow, 2, "")->size != sizeof(float) * LIVE_FRAME) continue;
    const int64_t before = loop_steps();
    for (double until = clock_s() + PATIENCE_S; loop_steps() < before + 300; usleep(10000))
        ENSURE(clock_s() < until); /* half a megabyte */
    float last = -1, gap = 0;
    for (int i = 0; i < 320 && gap < 20; i++) {
        float step = hear_of(slow, 2, "")->numbers[LIVE_STEP];
        if (last >= 0) gap = fmaxf(gap, step - last);
        last = step;
    }
    ENSURE(gap >= 20);
    close(slow);
    playhouse_close();
}

TEST_TABLE({"play_server.pages", test_pages}, {"play_server.refused", test_refused},
           {"play_server.viewers", test_viewers}, {"play_server.run", test_run},
           {"play_server.files", test_files}, {"play_server.bad_http", test_bad_http},
           {"play_server.bad_frames", test_bad_frames}, {"play_server.crowd", test_crowd},
           {"play_server.slow_viewer", test_slow_viewer})
