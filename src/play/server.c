#include "play/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "eval/page.h"
#include "play/intake.h"
#include "play/web.h"

#define IDLE_S 5.0 /* a viewer in control that was idle for as long can be relieved of it */
#define PREVIEW 40 /* poses */

typedef struct {
    bool here;
    int64_t since; /* viewers before it; the oldest follows when the one in control leaves */
    int64_t frame, version, role;
    double acted_s;
    size_t passing;                            /* bytes of a file that was refused and is still coming */
    bool about_file;                           /* the notice is about the file it sent */
    char notice[sizeof((hrc_error *)0)->text]; /* "" or what it is to be told */
} viewer;

struct play_server {
    play_server_options options;
    live *loop;
    web *net;
    char *page; /* never changes */
    size_t page_size;
    intake *files;
    int sender;           /* of the file that comes or is being read; -1: it has left */
    int64_t sender_since; /* as in `viewer`: the same one still */
    viewer viewers[WEB_VIEWERS];
    int in_control; /* viewer; -1: none */
    int64_t roles;  /* rises when a viewer comes, goes or takes control */
    play_server_counts counts;
};

/* ---- What every viewer is told ---- */

static json_t *motions_json(const catalog *c)
{
    json_t *list = json_array();
    for (int i = 0; i < c->n; i++) {
        const catalog_entry *e = &c->entries[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f}", "name", e->name, "category",
                                              e->category, "description", e->description, "seconds",
                                              (double)(e->frames - 1) / HRC_RATE_HZ));
    }
    return list;
}

static char *scene_text(const play_server_options *o)
{
    json_t *scene = json_pack("{s:o, s:o, s:s?, s:s?, s:i, s:i, s:i}", "robot", page_robot(), "motions",
                              motions_json(o->motions), "tracker", o->tracker, "planner", o->planner, "head",
                              LIVE_HEAD, "stride", LIVE_ROBOT, "signals", LIVE_SIGNALS);
    char *out = scene ? json_dumps(scene, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(scene);
    return out;
}

/* A text that was cut in the middle of a letter is no JSON string. */
static json_t *words(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("");
}

static json_t *state_json(const play_server *s, const live_status *l, int id)
{
    const play_scene *p = &l->scene;
    const catalog *c = s->options.motions;
    const tape_status kept = tape_state(s->options.record);
    json_t *queue = json_array(), *problems = json_array();
    int here = 0;
    for (int i = 0; i < WEB_VIEWERS; i++) here += s->viewers[i].here;
    for (int i = 0; i < p->queued; i++)
        json_array_append_new(queue, json_string(c->entries[p->queue[i]].name));
    for (int i = 0; i < p->robots; i++) json_array_append_new(problems, words(l->problem[i]));
    return json_pack("{s:s, s:b, s:i, s:s, s:o, s:b, s:b, s:b, s:f, s:f, s:f, s:I, s:i, s:b, s:f, s:o, s:I, "
                     "s:b, s:b, s:o, s:o, s:i, s:i}",
                     "type", "state", "control", s->in_control == id, "viewers", here, "motion",
                     c->entries[p->motion].name, "queue", queue, "planner", p->planner, "pair", p->pair,
                     "repeat", p->repeat, "friction", p->friction, "payload", p->payload, "strength",
                     p->strength, "seed", (json_int_t)p->seed, "posture", p->posture, "paused", l->paused,
                     "speed", l->speed, "event", words(p->event), "events", (json_int_t)p->event_number,
                     "scripted", p->scripted, "recording", kept.marked, "problems", problems, "refusal",
                     words(l->refusal), "refusals", l->refusals, "motions", c->n);
}

static size_t put_json(void *out, json_t *value)
{
    size_t n = json_dumpb(value, out, WEB_MESSAGE, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(value);
    return n <= WEB_MESSAGE ? n : 0;
}

static void look_at_file(play_server *s);

/* Words first, then the newest frame. */
static size_t next(void *ctx, int id, void *out, bool *binary)
{
    play_server *s = ctx;
    viewer *v = &s->viewers[id];
    look_at_file(s);
    if (*v->notice) {
        json_t *notice =
            json_pack("{s:s, s:s}", "type", v->about_file ? "file" : "notice", "text", v->notice);
        *v->notice = 0;
        if (notice) return put_json(out, notice); /* NULL: cut in the middle of a letter */
    }
    const live_status l = live_state(s->loop);
    if (v->version != l.version || v->role != s->roles) {
        v->version = l.version;
        v->role = s->roles;
        return put_json(out, state_json(s, &l, id));
    }
    *binary = true;
    return sizeof(float) * (size_t)live_frame(s->loop, out, &v->frame);
}

/* ---- Viewers ---- */

static void joined(void *ctx, int id)
{
    play_server *s = ctx;
    s->viewers[id] = (viewer){.here = true, .since = ++s->counts.viewers, .version = -1};
    if (s->in_control < 0) s->in_control = id;
    s->roles++;
}

static void left(void *ctx, int id)
{
    play_server *s = ctx;
    int oldest = -1;
    s->viewers[id] = (viewer){0};
    s->roles++;
    if (s->sender == id) intake_drop(s->files), s->sender = -1;
    if (s->in_control != id) return;
    for (int i = 0; i < WEB_VIEWERS; i++)
        if (s->viewers[i].here && (oldest < 0 || s->viewers[i].since < s->viewers[oldest].since)) oldest = i;
    s->in_control = oldest;
}

static void tell(play_server *s, int id, const char *text)
{
    snprintf(s->viewers[id].notice, sizeof s->viewers[id].notice, "%s", text);
    s->viewers[id].about_file = false;
    s->counts.refused++;
}

static void tell_of_file(play_server *s, int id, const char *text)
{
    tell(s, id, text);
    s->viewers[id].about_file = true;
}

static void take_control(play_server *s, int id)
{
    if (s->in_control != id && s->in_control >= 0 && clock_s() - s->viewers[s->in_control].acted_s < IDLE_S) {
        tell(s, id, "Another viewer has the controls. They become free after 5 s without a touch.");
        return;
    }
    s->in_control = id;
    s->viewers[id].acted_s = clock_s();
    s->roles++;
}

/* ---- Files they send ---- */

/* {"do": "file", "name": "walk.csv", "size": 123}; then its bytes, as binary messages. */
static void announce(play_server *s, int id, const json_t *value)
{
    const char *name = json_string_value(json_object_get(value, "name"));
    const json_int_t size = json_integer_value(json_object_get(value, "size"));
    viewer *v = &s->viewers[id];
    hrc_error err;
    if (name && size >= 0 && s->in_control == id &&
        intake_begin(s->files, name, (size_t)size, &err) == HRC_OK) {
        s->sender = id, s->sender_since = v->since;
        return;
    }
    if (size > 0 && size <= INTAKE_BYTES) v->passing += (size_t)size;
    tell_of_file(s, id,
                 !name || size < 0     ? "That was not a file."
                 : s->in_control != id ? "You are watching. Take the controls to add a motion."
                                       : err.text);
}

static bool bytes(void *ctx, int id, const void *data, size_t size)
{
    play_server *s = ctx;
    viewer *v = &s->viewers[id];
    v->acted_s = clock_s();
    if (size <= v->passing) {
        v->passing -= size;
        return true;
    }
    return s->sender == id && intake_add(s->files, data, size);
}

static hrc_status accept(play_server *s, intake_result *r, char *said, size_t size, hrc_error *err)
{
    play_order order = {.kind = PLAY_motion};
    const double seconds = (r->motion.n - 1) / r->motion.fps;
    TRY(catalog_add(s->options.motions, &r->motion, &order.index, err));
    snprintf(said, size, "%.140s: %.1f s, %.320s", s->options.motions->entries[order.index].name, seconds,
             r->said);
    s->roles++; /* so that all hear of it */
    if (live_order(s->loop, &order)) return HRC_OK;
    return fail(err, HRC_EINVAL, "the motion was added, but there were too many orders at once to begin it");
}

/* When one has been read: into the list, and followed, unless its sender has gone or lost the controls. */
static void look_at_file(play_server *s)
{
    intake_result r;
    char said[sizeof r.err.text];
    if (!intake_take(s->files, &r)) return;
    const int id = s->sender;
    s->sender = -1;
    if (id < 0 || s->viewers[id].since != s->sender_since || s->in_control != id) {
        clip_free(&r.motion);
        if (id >= 0 && s->viewers[id].here)
            tell_of_file(s, id, "Another viewer has the controls: the motion was not added.");
        return;
    }
    if (r.status == HRC_OK) r.status = accept(s, &r, said, sizeof said, &r.err);
    tell_of_file(s, id, r.status < 0 ? r.err.text : said);
    s->counts.refused -= r.status == HRC_OK;
}

/* ---- What they ask for ---- */

/* Orders to the loop rather than to the robots; false: not one of them. */
static bool steer(play_server *s, const char *what, const json_t *value)
{
    const json_t *x = json_object_get(value, "value");
    const double number = json_number_value(x);
    if (!strcmp(what, "pause"))
        live_pause(s->loop, json_is_true(x));
    else if (!strcmp(what, "speed") && number >= 0.05 && number <= 2)
        live_speed(s->loop, number);
    else if (!strcmp(what, "single"))
        live_single(s->loop);
    else if (!strcmp(what, "record"))
        tape_mark(s->options.record, json_is_true(x)), s->roles++;
    else
        return false;
    return true;
}

static hrc_status restore(play_server *s, const json_t *value, hrc_error *err)
{
    play_run *run = malloc(sizeof *run);
    if (!run) return fail(err, HRC_ENOMEM, "out of memory");
    hrc_status status = play_run_parse(run, json_object_get(value, "run"), s->options.motions, err);
    if (status == HRC_OK) live_restore(s->loop, run);
    free(run);
    return status;
}

static hrc_status follow(play_server *s, const char *what, const json_t *value, hrc_error *err)
{
    play_order order;
    if (steer(s, what, value)) return HRC_OK;
    if (!strcmp(what, "run")) return restore(s, value, err);
    TRY(play_order_parse(&order, value, s->options.motions, err));
    if (live_order(s->loop, &order)) return HRC_OK;
    return fail(err, HRC_EINVAL, "too many orders at once");
}

static void message(void *ctx, int id, const char *text, size_t size)
{
    play_server *s = ctx;
    hrc_error err;
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *what = json_string_value(json_object_get(value, "do"));
    s->counts.messages++;
    if (!what) {
        tell(s, id, "That was not an order.");
    } else if (!strcmp(what, "file")) {
        announce(s, id, value);
    } else if (!strcmp(what, "take")) {
        take_control(s, id);
    } else if (s->in_control != id) {
        tell(s, id, "You are watching. Take the controls to change something.");
    } else {
        s->viewers[id].acted_s = clock_s();
        if (follow(s, what, value, &err) < 0) tell(s, id, err.text);
    }
    json_decref(value);
}

/* ---- Pages and downloads ---- */

static void reply(web_reply *out, const char *type, const void *body, size_t size, bool owned)
{
    *out = (web_reply){.status = 200, .type = type, .body = body, .size = size, .owned = owned};
}

static void reply_json(web_reply *out, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(value);
    if (text) reply(out, "application/json", text, strlen(text), true);
}

static void reply_failure(web_reply *out, const hrc_error *err)
{
    reply_json(out, json_pack("{s:s}", "error", err->text));
    if (out->status) out->status = 409;
}

/* Poses evenly over the motion: float32 seconds, then PREVIEW times 36. */
static hrc_status preview(const play_server *s, int i, web_reply *out, hrc_error *err)
{
    course motion;
    float *poses = malloc(sizeof *poses * (1 + PREVIEW * HRC_NQ));
    if (!poses) return fail(err, HRC_ENOMEM, "preview: out of memory");
    hrc_status status = catalog_course(s->options.motions, i, &motion, err);
    if (status < 0) {
        free(poses);
        return status;
    }
    poses[0] = (float)(motion.motion.n - 1) / HRC_RATE_HZ;
    for (int k = 0; k < PREVIEW; k++)
        memcpy(poses + 1 + k * HRC_NQ, clip_frame(&motion.motion, k * (motion.motion.n - 1) / (PREVIEW - 1)),
               HRC_NQ * sizeof *poses);
    course_free(&motion);
    reply(out, "application/octet-stream", poses, sizeof *poses * (1 + PREVIEW * HRC_NQ), true);
    return HRC_OK;
}

static hrc_status take(const play_server *s, int robot, rollout *out, hrc_error *err)
{
    const live_status l = live_state(s->loop);
    char name[200];
    snprintf(name, sizeof name, "%.120s, planner %s", s->options.motions->entries[l.scene.motion].name,
             robot == 0 && l.scene.planner ? "on" : "off");
    return tape_take(s->options.record, robot, name, out, err);
}

static hrc_status replay_page(const play_server *s, web_reply *out, hrc_error *err)
{
    rollout runs[PLAY_ROBOTS] = {0};
    page_item items[PLAY_ROBOTS];
    const int n = tape_state(s->options.record).robots;
    hrc_status status = HRC_OK;
    char *text;
    size_t size;
    for (int i = 0; i < n && status == HRC_OK; i++) {
        status = take(s, i, &runs[i], err);
        if (status == HRC_OK) items[i] = page_item_of(&runs[i]);
    }
    if (status == HRC_OK) status = page_text(&text, &size, items, n, err);
    if (status == HRC_OK) reply(out, "text/html; charset=utf-8", text, size, true);
    for (int i = 0; i < n; i++) rollout_free(&runs[i]);
    out->download = "heracles-replay.html";
    return status;
}

static hrc_status read_all(const char *path, web_reply *out, hrc_error *err)
{
    file_view view;
    TRY(file_map(path, &view, err));
    char *copy = malloc(view.size);
    if (copy) reply(out, "application/octet-stream", memcpy(copy, view.data, view.size), view.size, true);
    file_unmap(&view);
    return copy ? HRC_OK : fail(err, HRC_ENOMEM, "recording: out of memory");
}

static hrc_status recording(const play_server *s, int robot, web_reply *out, hrc_error *err)
{
    const char *where = getenv("TMPDIR");
    char folder[512], path[600];
    rollout run;
    snprintf(folder, sizeof folder, "%.400s/heracles-XXXXXX", where ? where : "/tmp");
    TRY(take(s, robot, &run, err));
    hrc_status status = mkdtemp(folder) ? HRC_OK : fail(err, HRC_EFILE, "%s: cannot make a folder", folder);
    if (status == HRC_OK) {
        snprintf(path, sizeof path, "%s/recording.safetensors", folder);
        status = rollout_save(&run, path, err);
        if (status == HRC_OK) status = read_all(path, out, err);
        unlink(path);
        rmdir(folder);
    }
    rollout_free(&run);
    out->download = "heracles-recording.safetensors";
    return status;
}

static void get(void *ctx, const char *path, const char *query, web_reply *out)
{
    const play_server *s = ctx;
    const catalog *c = s->options.motions;
    int i = 0;
    hrc_error err;
    hrc_status status = HRC_OK;
    const bool numbered = sscanf(query, "i=%d", &i) == 1;
    if (!strcmp(path, "/")) {
        reply(out, "text/html; charset=utf-8", s->page, s->page_size, false);
    } else if (!strcmp(path, "/scene.json")) {
        char *scene = scene_text(&s->options);
        if (scene) reply(out, "application/json", scene, strlen(scene), true);
    } else if (!strcmp(path, "/motions.json")) {
        reply_json(out, motions_json(c));
    } else if (!strcmp(path, "/run.json")) {
        play_run *run = malloc(sizeof *run);
        if (run) live_run(s->loop, run), reply_json(out, play_run_json(run, c));
        free(run);
    } else if (!strcmp(path, "/preview") && numbered && i >= 0 && i < c->n) {
        status = preview(s, i, out, &err);
    } else if (!strcmp(path, "/replay.html")) {
        status = replay_page(s, out, &err);
    } else if (!strcmp(path, "/recording.safetensors")) {
        status = recording(s, i, out, &err);
    }
    if (status < 0) reply_failure(out, &err);
}

/* ---- Life ---- */

static void wake(void *ctx)
{
    web_wake(((play_server *)ctx)->net);
}

static hrc_status set_up(play_server *s, hrc_error *err)
{
    const play_server_options *o = &s->options;
    const web_options how = {o->address, o->port, s, get, joined, left, message, bytes, next};
    TRY(page_live(&s->page, &s->page_size, err));
    char *scene = scene_text(o);
    free(scene);
    if (!scene) return fail(err, HRC_EINVAL, "the name of a motion is not UTF-8 text, or out of memory");
    TRY(web_create(&s->net, &how, err));
    TRY(intake_create(&s->files, o->reading, wake, s, err));
    return live_start(&s->loop, o->scene, wake, s, err);
}

hrc_status play_server_create(play_server **out, const play_server_options *options, hrc_error *err)
{
    play_server *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "playground: out of memory");
    s->options = *options;
    s->in_control = s->sender = -1;
    hrc_status status = set_up(s, err);
    if (status < 0)
        play_server_free(s);
    else
        *out = s;
    return status;
}

int play_server_port(const play_server *s)
{
    return web_port(s->net);
}

void play_server_run(play_server *s, bool (*stop)(void *), void *ctx)
{
    web_serve(s->net, stop, ctx);
}

void play_server_free(play_server *s)
{
    if (!s) return;
    live_free(s->loop);
    intake_free(s->files);
    web_free(s->net);
    free(s->page);
    free(s);
}

play_server_counts play_server_count(play_server *s)
{
    s->counts.loop = live_count(s->loop);
    return s->counts;
}
