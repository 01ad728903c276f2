/* The replay page: the robot's looks, what is written into the page, and the page itself in a headless
 * browser. */
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/rot.h"
#include "eval/page.h"
#include "motion/clip.h"
#include "robot/fk.h"
#include "test.h"

/* ---- Motions by formula. ---- */

/* Frame at time t of a squat with one waving arm; the feet stay on the floor. */
static void squat(float qpos[HRC_NQ], double t)
{
    double q[HRC_NQ], bend = 0.55 - 0.45 * cos(2 * M_PI * t / 2);
    g1_default_qpos(q);
    for (int leg = 0; leg < 2; leg++) {
        q[7 + 6 * leg] = -bend;
        q[7 + 6 * leg + 3] = 2 * bend;
        q[7 + 6 * leg + 4] = fmax(-bend, -0.87);
    }
    q[7 + 22] = -2.4;
    q[7 + 23] = -0.4;
    q[7 + 25] = 0.6 + 0.5 * sin(2 * M_PI * t);
    fk_pose pose;
    fk(&pose, q);
    q[2] -= pose.pos[G1_LEFT_ANKLE][2] - 0.035;
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)q[i];
}

/* Frame at time t of a root that rises from lying on the back to standing. */
static void get_up(float qpos[HRC_NQ], double t)
{
    double share = fmin(1, t / 2), lie[4], pitch[3] = {0, -M_PI / 2 * (1 - share), 0};
    squat(qpos, 0);
    quat_exp(lie, pitch);
    qpos[2] = (float)(0.12 + share * ((double)qpos[2] - 0.12));
    for (int k = 0; k < 4; k++) qpos[3 + k] = (float)lie[k];
}

/* Two seconds at 50 Hz; the reference is a quarter of a second ahead and stands 0.3 m to the side. */
static void make_rollout(rollout *r, const char *name)
{
    hrc_error err;
    ENSURE_OK(rollout_create(r, 101, 50, name, ROLLOUT_REF, 2, &err));
    for (int i = 0; i < r->n; i++) {
        squat(r->qpos + (size_t)i * HRC_NQ, 0.02 * i);
        squat(r->ref + (size_t)i * HRC_NQ, 0.02 * i + 0.25);
        r->ref[(size_t)i * HRC_NQ + 1] += 0.3f;
    }
    r->events[0] = (rollout_event){0.5, "push 20 N s"};
    r->events[1] = (rollout_event){1.5, "push \"back\""};
    r->nevents = 2;
}

/* ---- The robot's looks. ---- */

/* Where the shape's own axis k points in its link's frame. */
static void shape_axis(double out[3], const g1_visual *v, int k)
{
    double q[4] = {1, 0, 0, 0}, turn[4], unit[3] = {k == 0, k == 1, k == 2};
    for (int i = 0; i < 3; i++) {
        double about[3] = {0};
        about[i] = v->euler[i];
        quat_exp(turn, about);
        quat_mul(q, q, turn);
    }
    quat_rotate(out, q, unit);
}

/* Is b what a becomes in the plane y = 0? A shape turned by half about one of its axes looks the same, so
 * axes are compared as lines. */
static bool mirrored(const g1_visual *a, const g1_visual *b)
{
    double sign, p[3], q[3];
    int other = a->link > 0 ? 1 + g1_mirror_joint(a->link - 1, &sign) : 0;
    bool round = a->shape == G1_CAPSULE || a->shape == G1_CYLINDER;
    bool same = b->link == other && b->shape == a->shape && b->colour == a->colour;
    for (int k = 0; k < 3 && same; k++) {
        same = b->size[k] == a->size[k] && b->pos[k] == (k == 1 ? -a->pos[k] : a->pos[k]);
        shape_axis(p, a, k);
        shape_axis(q, b, k);
        double along = p[0] * q[0] - p[1] * q[1] + p[2] * q[2];
        if (k == 2 || !round) same = same && fabs(along) > 1 - 1e-9;
    }
    return same;
}

static void test_visuals(void)
{
    int per_link[G1_LINKS] = {0};
    for (int i = 0; i < G1_NVISUAL; i++) {
        const g1_visual *v = &G1_VISUAL[i];
        ENSURE(v->link >= 0 && v->link < G1_LINKS);
        per_link[v->link]++;
        bool round = v->shape == G1_CAPSULE || v->shape == G1_CYLINDER;
        for (int k = 0; k < 3; k++) {
            ENSURE(round && k == 2 ? v->size[k] == 0 : v->size[k] > 0 && v->size[k] < 0.2);
            ENSURE(fabs(v->pos[k]) < 0.5);
        }
        bool found = false;
        for (int j = 0; j < G1_NVISUAL && !found; j++) found = mirrored(v, &G1_VISUAL[j]);
        if (!found) test_fail(__FILE__, __LINE__, "shape %d of %s has no mirror", i, G1_LINK[v->link].name);
    }
    for (int i = 0; i < G1_LINKS; i++) ENSURE(per_link[i] > 0);
}

/* ---- What stands in the page. ---- */

static char *read_text(const char *path)
{
    hrc_error err;
    file_view view;
    ENSURE_OK(file_map(path, &view, &err));
    char *text = malloc(view.size + 1);
    ENSURE(text);
    memcpy(text, view.data, view.size);
    text[view.size] = 0;
    file_unmap(&view);
    return text;
}

static int occurrences(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strcasestr(at, word)); at++) n++;
    return n;
}

static json_t *page_data(const char *text)
{
    const char *begin = strstr(text, "id=\"data\">");
    ENSURE(begin);
    begin += strlen("id=\"data\">");
    const char *end = strstr(begin, "</script>");
    ENSURE(end);
    json_t *data = json_loadb(begin, (size_t)(end - begin), 0, NULL);
    ENSURE(data);
    return data;
}

static void test_page_escaping(void)
{
    hrc_error err;
    rollout r;
    const char *evil = "</script><script>alert(1)</script><!-- <b> & \" ' \\ @viewer.js@";
    make_rollout(&r, evil);
    page_item plain = page_item_of(&r), named = plain;
    plain.name = "plain";
    plain.nevents = 0;
    rollout_event event = {0.1, evil};
    named.events = &event;
    named.nevents = 1;
    ENSURE_OK(page_write(test_path("plain.html"), &plain, 1, NULL, &err));
    char *a = read_text(test_path("plain.html"));
    ENSURE_OK(page_write(test_path("named.html"), &named, 1, NULL, &err));
    char *b = read_text(test_path("named.html"));
    static const char *const MARKUP[] = {"<script", "</script", "<!--", "<b>", "@viewer.css@"};
    for (int i = 0; i < COUNT(MARKUP); i++) ENSURE(occurrences(a, MARKUP[i]) == occurrences(b, MARKUP[i]));
    json_t *data = page_data(b), *item = json_array_get(json_object_get(data, "items"), 0);
    ENSURE(!strcmp(json_string_value(json_object_get(item, "name")), evil));
    ENSURE(json_array_size(json_object_get(json_object_get(data, "robot"), "links")) == G1_LINKS);
    ENSURE(!strcasestr(b, "<script src") && strstr(b, "default-src 'none'"));
    json_decref(data);
    free(a);
    free(b);
    rollout_free(&r);
}

static int digit_of(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(DIGITS, c);
    return at ? (int)(at - DIGITS) : 0;
}

static unsigned char *decode_base64(const char *text)
{
    size_t length = strlen(text);
    unsigned char *out = malloc(length / 4 * 3 + 1);
    ENSURE(out && length % 4 == 0);
    for (size_t i = 0, k = 0; i < length; i += 4, k += 3) {
        int bits = digit_of(text[i]) << 18 | digit_of(text[i + 1]) << 12 | digit_of(text[i + 2]) << 6 |
                   digit_of(text[i + 3]);
        for (int b = 0; b < 3; b++) out[k + (size_t)b] = (unsigned char)(bits >> (16 - 8 * b));
    }
    return out;
}

/* Largest error of the frames in the page against those that went in. */
static double frames_error(json_t *packed, const float *frames, int n, const char *type)
{
    ENSURE(!strcmp(json_string_value(json_object_get(packed, "type")), type));
    unsigned char *bytes = decode_base64(json_string_value(json_object_get(packed, "data")));
    double worst = 0;
    for (int i = 0; i < n * HRC_NQ; i++) {
        double value;
        if (!strcmp(type, "f32")) {
            float x;
            memcpy(&x, bytes + 4 * i, 4);
            value = (double)x;
        } else {
            size_t k = (size_t)(i % HRC_NQ);
            value = json_real_value(json_array_get(json_object_get(packed, "low"), k)) +
                    json_real_value(json_array_get(json_object_get(packed, "step"), k)) *
                        (bytes[2 * i] | bytes[2 * i + 1] << 8);
        }
        worst = fmax(worst, fabs(value - (double)frames[i]));
    }
    free(bytes);
    return worst;
}

static void test_page_frames(void)
{
    hrc_error err;
    rollout r;
    make_rollout(&r, "near and far");
    for (int i = 0; i < r.n; i++) r.ref[i * HRC_NQ] = (float)i; /* walks 100 m */
    page_item item = page_item_of(&r);
    ENSURE_OK(page_write(test_path("frames.html"), &item, 1, NULL, &err));
    char *text = read_text(test_path("frames.html"));
    json_t *data = page_data(text), *shown = json_array_get(json_object_get(data, "items"), 0);
    ENSURE(frames_error(json_object_get(shown, "qpos"), r.qpos, r.n, "u16") < 1e-4);
    ENSURE(frames_error(json_object_get(shown, "ref"), r.ref, r.n, "f32") == 0);
    json_decref(data);
    free(text);

    r.qpos[5] = INFINITY;
    ENSURE(page_write(test_path("frames.html"), &item, 1, NULL, &err) == HRC_ENONFINITE);
    ENSURE(strstr(err.text, "robot frame 0, column 5"));
    r.qpos[5] = 0;
    item.name = "not \xff UTF-8";
    ENSURE(page_write(test_path("never.html"), &item, 1, NULL, &err) < 0 && strstr(err.text, "UTF-8"));
    FILE *never = fopen(test_path("never.html"), "rb");
    ENSURE(!never);
    rollout_free(&r);
}

/* ---- The command. ---- */

static void save_get_up(const char *path)
{
    hrc_error err;
    clip c;
    ENSURE_OK(clip_create(&c, 76, 30, "get up", &err));
    for (int i = 0; i < c.n; i++) get_up(clip_frame(&c, i), i / 30.0);
    ENSURE_OK(clip_save(&c, path, &err));
    clip_free(&c);
}

static void test_command(void)
{
    hrc_error err;
    char out[8192];
    rollout r;
    make_rollout(&r, "squat");
    ENSURE_OK(rollout_save(&r, test_path("squat.safetensors"), &err));
    rollout_free(&r);
    save_get_up(test_path("up.safetensors"));
    ENSURE(test_shell(out, sizeof out,
                      "cd $T && $HERACLES view squat.safetensors up.safetensors --json -o two.html") == 0);
    json_t *report = json_loads(out, 0, NULL), *items = json_object_get(report, "items");
    ENSURE(json_array_size(items) == 2);
    ENSURE(json_is_true(json_object_get(json_array_get(items, 0), "reference")));
    ENSURE(json_is_false(json_object_get(json_array_get(items, 1), "reference")));
    char *page = read_text(test_path("two.html"));
    ENSURE(json_integer_value(json_object_get(report, "bytes")) == (json_int_t)strlen(page));
    free(page);
    json_decref(report);

    /* A reference at another rate is brought to the rate of the motion. */
    ENSURE(test_shell(out, sizeof out,
                      "cd $T && $HERACLES view squat.safetensors --ref up.safetensors -o ref.html") == 0);
    page = read_text(test_path("ref.html"));
    json_t *data = page_data(page);
    json_t *ref = json_object_get(json_array_get(json_object_get(data, "items"), 0), "ref");
    size_t frames = strlen(json_string_value(json_object_get(ref, "data"))) / 4 * 3 / (2 * HRC_NQ);
    ENSURE(frames == 126);
    json_decref(data);
    free(page);

    ENSURE(test_shell(out, sizeof out,
                      "cd $T && $HERACLES view absent.csv -o no.html; echo $?; ls no.html*") != 0);
    ENSURE(strstr(out, "absent.csv: cannot open") && strstr(out, "\n1\n"));
    ENSURE(test_shell(out, sizeof out, "$HERACLES view") == 2);
    ENSURE(test_shell(out, sizeof out, "$HERACLES view --help") == 0 && strstr(out, "example"));
}

/* ---- The page in a browser. ---- */

typedef struct {
    int w, h;
    unsigned char *rgb;
} picture;

static picture read_picture(const char *path)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    ENSURE(png_image_begin_read_from_file(&png, path));
    png.format = PNG_FORMAT_RGB;
    picture p = {(int)png.width, (int)png.height, malloc(PNG_IMAGE_SIZE(png))};
    ENSURE(p.rgb && png_image_finish_read(&png, NULL, p.rgb, 0, NULL));
    return p;
}

/* The part of the picture where the robot stands, as a row of pixels; the rest is floor, sky and panel. */
static int robot_pixels(const picture *p)
{
    return p->w * 40 / 100 * (p->h * 60 / 100);
}

static const unsigned char *robot_pixel(const picture *p, int k)
{
    int width = p->w * 40 / 100, x = p->w * 30 / 100 + k % width, y = p->h * 5 / 100 + k / width;
    return p->rgb + 3 * ((size_t)y * (size_t)p->w + (size_t)x);
}

static int colours_in(const picture *p)
{
    static unsigned char seen[1 << 15];
    memset(seen, 0, sizeof seen);
    int n = 0;
    for (int k = 0; k < robot_pixels(p); k++) {
        const unsigned char *c = robot_pixel(p, k);
        int key = c[0] >> 3 << 10 | c[1] >> 3 << 5 | c[2] >> 3;
        n += !seen[key];
        seen[key] = 1;
    }
    return n;
}

/* Pixels that differ clearly, and how much bluer b's are. */
static int difference(const picture *a, const picture *b, double *bluer)
{
    int n = 0;
    double sum = 0;
    ENSURE(a->w == b->w && a->h == b->h);
    for (int k = 0; k < robot_pixels(a); k++) {
        const unsigned char *c = robot_pixel(a, k), *d = robot_pixel(b, k);
        if (abs(c[0] - d[0]) + abs(c[1] - d[1]) + abs(c[2] - d[2]) < 24) continue;
        n++;
        sum += (d[2] - d[0]) - (c[2] - c[0]);
    }
    *bluer = n ? sum / n : 0;
    return n;
}

static void write_browser_page(void)
{
    hrc_error err;
    rollout r;
    make_rollout(&r, "squat </script><i>");
    clip c;
    ENSURE_OK(clip_create(&c, 76, 30, "get up", &err));
    for (int i = 0; i < c.n; i++) get_up(clip_frame(&c, i), i / 30.0);
    page_item items[] = {page_item_of(&r), {.name = c.name, .fps = c.fps, .n = c.n, .qpos = c.qpos}};
    ENSURE_OK(page_write(test_path("page.html"), items, 2, NULL, &err));
    clip_free(&c);
    rollout_free(&r);
}

static void need_browser(void)
{
    if (test_shell(NULL, 0, "command -v chromium") != 0) SKIP("chromium is not installed");
}

static const struct {
    const char *name, *hash;
    int w, h;
} SHOTS[] = {
    {"start", "t=0&play=0", 800, 700},
    {"later", "t=1&play=0", 800, 700},
    {"alone", "t=1&play=0&ghost=0", 800, 700},
    {"phone", "item=1&t=0&play=0", 390, 844},
};

enum { START, LATER, ALONE };

static void take_pictures(picture *pictures)
{
    char command[2048] = "", out[4096];
    for (int i = 0; i < COUNT(SHOTS); i++) {
        size_t used = strlen(command);
        snprintf(
            command + used, sizeof command - used,
            "tools/browser \"file://$T/page.html#%s\" --screenshot=$T/%s.png --window-size=%d,%d >$T/%s &\n",
            SHOTS[i].hash, SHOTS[i].name, SHOTS[i].w, SHOTS[i].h, SHOTS[i].name);
    }
    strcat(command, "wait");
    ENSURE(test_shell(out, sizeof out, command) == 0);
    if (strstr(out, "console:")) test_fail(__FILE__, __LINE__, "%s", out);
    for (int i = 0; i < COUNT(SHOTS); i++) {
        char file[32];
        snprintf(file, sizeof file, "%s.png", SHOTS[i].name);
        free(pictures[i].rgb);
        pictures[i] = read_picture(test_path(file));
        ENSURE(pictures[i].w == SHOTS[i].w && pictures[i].h == SHOTS[i].h);
    }
}

static void test_browser_pictures(void)
{
    need_browser();
    write_browser_page();
    picture p[COUNT(SHOTS)] = {{0}};
    int fewest = 0;
    /* A browser that gets no processor time may take its picture before the first frame has reached the
     * screen, so blank ones are taken again. */
    for (int attempt = 0; attempt < 3 && fewest < 80; attempt++) {
        take_pictures(p);
        fewest = colours_in(&p[0]);
        for (int i = 1; i < COUNT(SHOTS); i++)
            if (colours_in(&p[i]) < fewest) fewest = colours_in(&p[i]);
    }
    if (fewest < 80) test_fail(__FILE__, __LINE__, "a stage with only %d colours is blank", fewest);
    double bluer;
    ENSURE(difference(&p[START], &p[LATER], &bluer) > 2000); /* it squats */
    ENSURE(difference(&p[ALONE], &p[LATER], &bluer) > 1000); /* the ghost, which is blue */
    ENSURE(bluer > 10);
    for (int i = 0; i < COUNT(SHOTS); i++) free(p[i].rgb);
}

/* A user's hands, as a script at the end of the page; what came of them stands in its title. */
static const char HANDS[] =
    "<script>\n"
    "const seen = [], note = (name, value) => seen.push(name + '=' + value);\n"
    "const key = (name, shift) => window.dispatchEvent(new KeyboardEvent('keydown', {key: name, shiftKey: shift}));\n"
    "const pointer = (element, type, x, y, more) => element.dispatchEvent(new PointerEvent(type,\n"
    "    {pointerId: 1, clientX: x, clientY: y, bubbles: true, ...more}));\n"
    "const orbit = replay.stage.orbit, canvas = replay.stage.renderer.domElement;\n"
    "replay.advance(0); replay.robot.root.updateMatrixWorld(true);\n"
    "note('hand', replay.robot.links[22].getWorldPosition(new THREE.Vector3()).toArray().map(x => x.toFixed(5)));\n"
    "key('ArrowRight'); key('ArrowRight', true); note('frame', Math.round(50 * replay.t));\n"
    "key(' '); note('playing', replay.playing); key(' ');\n"
    "key('g'); note('ghost', replay.ghostOn); key('+'); note('speed', replay.speed);\n"
    "document.querySelector('.timeline-mark').click(); note('mark', replay.t);\n"
    "const box = replay.plots[1].canvas.getBoundingClientRect();\n"
    "pointer(replay.plots[1].canvas, 'pointerdown', box.left + 38 + (box.width - 48) / 2, box.top + 20);\n"
    "note('plot', replay.t.toFixed(2));\n"
    "const azimuth = orbit.azimuth, distance = orbit.distance;\n"
    "pointer(canvas, 'pointerdown', 300, 200); pointer(canvas, 'pointermove', 350, 200, {buttons: 1});\n"
    "note('turned', (orbit.azimuth - azimuth).toFixed(2)); note('follows', replay.following);\n"
    "pointer(canvas, 'pointermove', 350, 150, {buttons: 1, shiftKey: true}); pointer(canvas, 'pointerup', 350, 150);\n"
    "note('follows', replay.following);\n"
    "canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: 100, cancelable: true}));\n"
    "note('further', orbit.distance > distance);\n"
    "replay.buttons[1].click(); note('item', replay.index); note('t', replay.t);\n"
    "document.title = seen.join(' ');\n"
    "setTimeout(() => document.title += ' ' + location.hash.slice(1, 18), 600);\n"
    "</script>";

static void test_browser_hands(void)
{
    need_browser();
    write_browser_page();
    char *page = read_text(test_path("page.html"));
    FILE *touched = fopen(test_path("touched.html"), "wb");
    ENSURE(touched && fputs(page, touched) >= 0 && fputs(HANDS, touched) >= 0 && fclose(touched) == 0);
    free(page);
    char out[4096];
    ENSURE(test_shell(out, sizeof out,
                      "tools/browser \"file://$T/touched.html#t=0&play=0\" --dump-dom >$T/touched.dom\n"
                      "grep -o '<title>[^<]*' $T/touched.dom") == 0);
    double x, y, z, qpos[HRC_NQ];
    int used = 0;
    ENSURE(sscanf(out, "<title>hand=%lf,%lf,%lf %n", &x, &y, &z, &used) == 3 && used > 0);
    float frame[HRC_NQ];
    fk_pose pose;
    squat(frame, 0);
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)frame[i];
    fk(&pose, qpos);
    ENSURE_NEAR(x, pose.pos[G1_LEFT_WRIST][0], 3e-4);
    ENSURE_NEAR(y, pose.pos[G1_LEFT_WRIST][1], 3e-4);
    ENSURE_NEAR(z, pose.pos[G1_LEFT_WRIST][2], 3e-4);
    const char *expected = "frame=11 playing=true ghost=false speed=2 mark=0.5 plot=1.00 turned=-0.30 "
                           "follows=true follows=false further=true item=1 t=0 item=1&amp;t=0.000&amp;pl\n";
    if (strcmp(out + used, expected) != 0)
        test_fail(__FILE__, __LINE__, "the page says \"%s\", expected \"%s\"", out + used, expected);
}

/* What the page says about itself: the moment it was sent to, that it plays, and a browser without WebGL. */
static void test_browser_text(void)
{
    need_browser();
    write_browser_page();
    static char out[8 << 20];
    ENSURE(test_shell(out, sizeof out,
                      "dom() { tools/browser \"file://$T/page.html#$2\" --dump-dom $3 >$T/$1.dom 2>&1; }\n"
                      "dom moment 'item=1&t=1.25&play=0&speed=0.5' & dom play 'play=1&speed=0.25' &\n"
                      "dom blind 't=0.5' --disable-3d-apis; wait\n"
                      "cat $T/moment.dom") == 0);
    ENSURE(strstr(out, "1.25 / 2.50 s</span>") && strstr(out, "frame 38 of 75 at 30 Hz"));
    ENSURE(strstr(out, "<title>get up") && strstr(out, "push 20 N s") && !strstr(out, "console:"));
    ENSURE(test_shell(out, sizeof out, "cat $T/play.dom") == 0);
    ENSURE(strstr(out, "aria-label=\"pause\"") && !strstr(out, "console:"));
    ENSURE(strstr(out, " / 2.00 s</span>") && !strstr(out, ">0.00 / 2.00 s"));
    ENSURE(test_shell(out, sizeof out, "cat $T/blind.dom") == 0);
    ENSURE(strstr(out, "WebGL is not available") && strstr(out, ">0.50 / 2.00 s"));
}

TEST_TABLE({"view.visuals", test_visuals}, {"view.page_escaping", test_page_escaping},
           {"view.page_frames", test_page_frames}, {"view.command", test_command},
           {"view.browser_pictures", test_browser_pictures}, {"view.browser_text", test_browser_text},
           {"view.browser_hands", test_browser_hands})
