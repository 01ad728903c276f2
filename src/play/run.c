#include "play/run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "eval/course.h"

/* ---- Catalogue ---- */

#define LONGEST_S 3600.0

static hrc_status add_file(catalog *c, const char *path, hrc_error *err)
{
    clip motion;
    TRY(clip_load_at(&motion, path, HRC_RATE_HZ, &c->reading, err));
    catalog_entry *e = &c->entries[c->n];
    *e = (catalog_entry){.name = arena_strdup(&c->memory, motion.name),
                         .category = arena_strdup(&c->memory, *motion.category ? motion.category : "file"),
                         .description = "",
                         .frames = motion.n,
                         .path = arena_strdup(&c->memory, path)};
    clip_free(&motion);
    if (!e->name || !e->category || !e->path) return fail(err, HRC_ENOMEM, "list of motions: out of memory");
    c->n++;
    return HRC_OK;
}

static void add_clips(catalog *c)
{
    for (int i = 0; i < c->clips.nclips; i++) {
        const corpus_entry *e = &c->clips.clips[i];
        c->entries[c->n++] = (catalog_entry){.name = e->name,
                                             .category = e->category,
                                             .description = e->description,
                                             .frames = e->n,
                                             .clip = i};
    }
}

static hrc_status fill(catalog *c, const char *corpus_path, const char *const *files, int n, hrc_error *err)
{
    if (corpus_path) TRY(corpus_open(&c->clips, corpus_path, err));
    const int all = c->clips.nclips + n;
    if (all == 0) return fail(err, HRC_EINVAL, "there is no motion to play: give a file or a corpus");
    c->room = all + CATALOG_ADDED;
    c->entries = ARENA_NEW(&c->memory, catalog_entry, c->room);
    if (!c->entries) return fail(err, HRC_ENOMEM, "list of motions: out of memory");
    for (int i = 0; i < n; i++) TRY(add_file(c, files[i], err));
    add_clips(c);
    return HRC_OK;
}

hrc_status catalog_open(catalog *out, const char *corpus_path, const char *const *files, int n,
                        const clip_options *reading, hrc_error *err)
{
    *out = (catalog){0};
    if (reading) out->reading = *reading;
    hrc_status status = fill(out, corpus_path, files, n, err);
    if (status < 0) catalog_close(out);
    return status;
}

void catalog_close(catalog *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->entries[i].added) clip_free((clip *)c->entries[i].added);
    if (c->clips.nclips) corpus_close(&c->clips);
    arena_free(&c->memory);
    *c = (catalog){0};
}

/* A name that no other has. */
static void free_name(const catalog *c, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%.200s", name);
    for (int k = 2; catalog_find(c, out) >= 0; k++) snprintf(out, size, "%.200s (%d)", name, k);
}

static hrc_status add_motion(catalog *c, clip *motion, hrc_error *err)
{
    char name[256];
    clip *kept = ARENA_NEW(&c->memory, clip, 1);
    free_name(c, motion->name, name, sizeof name);
    const char *own = arena_strdup(&c->memory, name);
    if (!kept || !own) return fail(err, HRC_ENOMEM, "list of motions: out of memory");
    *kept = *motion;
    c->entries[c->n] = (catalog_entry){
        .name = own, .category = "added", .description = "", .frames = kept->n, .added = kept};
    c->n++;
    return HRC_OK;
}

hrc_status catalog_add(catalog *c, clip *motion, int *at, hrc_error *err)
{
    hrc_status status = c->n < c->room ? add_motion(c, motion, err)
                                       : fail(err, HRC_EINVAL,
                                              "%.200s: %d motions were added, there is no "
                                              "room for more until the playground ends",
                                              motion->name, CATALOG_ADDED);
    if (status < 0)
        clip_free(motion);
    else
        *at = c->n - 1;
    *motion = (clip){0};
    return status;
}

int catalog_find(const catalog *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->entries[i].name, name)) return i;
    return -1;
}

hrc_status catalog_course(const catalog *c, int i, course *out, hrc_error *err)
{
    const catalog_entry *e = &c->entries[i];
    clip motion;
    if (e->path)
        TRY(clip_load_at(&motion, e->path, HRC_RATE_HZ, &c->reading, err));
    else if (e->added)
        TRY(clip_cut(&motion, e->added, 0, e->added->n - 1, err));
    else
        TRY(corpus_clip(&c->clips, e->clip, &motion, err));
    return course_create(out, e->name, e->category, &motion, false, 0, LONGEST_S, err);
}

/* ---- Recording ---- */

#define FRAMES (TAPE_S * HRC_RATE_HZ)
#define EVENTS 256
#define CHUNK 50 /* frames that are copied under one hold of the lock: about 80 kB */
#define ARRAYS (ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_TORQUE | ROLLOUT_SIGNALS | ROLLOUT_PLAN)

typedef struct {
    int64_t frame;
    char text[96];
} note;

struct tape {
    pthread_mutex_t lock;
    rollout ring[TAPE_ROBOTS]; /* frame i is at i % FRAMES */
    int robots;
    int64_t count;  /* frames so far */
    int64_t marked; /* -1: not */
    note notes[EVENTS];
    int64_t nnotes; /* note i is at i % EVENTS */
};

hrc_status tape_create(tape **out, hrc_error *err)
{
    tape *r = calloc(1, sizeof *r);
    if (!r) return fail(err, HRC_ENOMEM, "recorder: out of memory");
    pthread_mutex_init(&r->lock, NULL);
    r->robots = 1;
    r->marked = -1;
    for (int i = 0; i < TAPE_ROBOTS; i++) {
        hrc_status status = rollout_create(&r->ring[i], FRAMES, HRC_RATE_HZ, "ring", ARRAYS, 0, err);
        if (status == HRC_OK) continue;
        tape_free(r);
        return status;
    }
    *out = r;
    return HRC_OK;
}

void tape_free(tape *r)
{
    if (!r) return;
    for (int i = 0; i < TAPE_ROBOTS; i++) rollout_free(&r->ring[i]);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void tape_clear(tape *r, int robots)
{
    pthread_mutex_lock(&r->lock);
    r->robots = robots;
    r->count = r->nnotes = 0;
    if (r->marked >= 0) r->marked = 0;
    pthread_mutex_unlock(&r->lock);
}

void tape_add(tape *r, int robot, const double qpos[HRC_NQ], const hrc_target *target,
              const double torque[HRC_JOINTS], const hrc_report *report)
{
    rollout *o = &r->ring[robot];
    pthread_mutex_lock(&r->lock);
    const int i = (int)(r->count % FRAMES);
    memset(o->plan + (size_t)i * HRC_KEYFRAMES * HRC_NQ, 0, sizeof(float) * HRC_KEYFRAMES * HRC_NQ);
    rollout_robot(o, i, qpos, target, torque);
    rollout_control(o, i, report);
    pthread_mutex_unlock(&r->lock);
}

void tape_next(tape *r)
{
    pthread_mutex_lock(&r->lock);
    r->count++;
    pthread_mutex_unlock(&r->lock);
}

void tape_note(tape *r, const char *text)
{
    pthread_mutex_lock(&r->lock);
    note *n = &r->notes[r->nnotes++ % EVENTS];
    n->frame = r->count;
    snprintf(n->text, sizeof n->text, "%s", text);
    pthread_mutex_unlock(&r->lock);
}

void tape_mark(tape *r, bool on)
{
    pthread_mutex_lock(&r->lock);
    r->marked = on ? r->count : -1;
    pthread_mutex_unlock(&r->lock);
}

/* The first frame that may be asked for; the lock is held. */
static int64_t first_frame(const tape *r)
{
    const int64_t oldest = r->count > FRAMES ? r->count - FRAMES : 0;
    return r->marked > oldest ? r->marked : oldest;
}

tape_status tape_state(tape *r)
{
    pthread_mutex_lock(&r->lock);
    tape_status s = {.robots = r->robots,
                     .seconds = (double)(r->count - first_frame(r)) / HRC_RATE_HZ,
                     .marked = r->marked >= 0};
    pthread_mutex_unlock(&r->lock);
    return s;
}

static void copy_frame(rollout *out, int to, const rollout *ring, size_t from)
{
    memcpy(out->qpos + (size_t)to * HRC_NQ, ring->qpos + from * HRC_NQ, HRC_NQ * sizeof(float));
#define X(name, width)                                                                                       \
    if (out->name)                                                                                           \
        memcpy(out->name + (size_t)to * (width), ring->name + from * (width), (width) * sizeof(float));
    ROLLOUT_ARRAYS(X)
#undef X
}

/* Frames first .. first + out->n - 1; those that were overwritten meanwhile become their successors. */
static void copy_frames(tape *r, int robot, int64_t first, rollout *out)
{
    for (int i = 0; i < out->n;) {
        pthread_mutex_lock(&r->lock);
        const int64_t oldest = r->count > FRAMES ? r->count - FRAMES : 0;
        for (int end = i + CHUNK; i < out->n && i < end; i++) {
            const int64_t frame = first + i > oldest ? first + i : oldest;
            copy_frame(out, i, &r->ring[robot], (size_t)(frame % FRAMES));
        }
        pthread_mutex_unlock(&r->lock);
    }
}

static void copy_notes(tape *r, int64_t first, rollout *out)
{
    pthread_mutex_lock(&r->lock);
    for (int64_t k = r->nnotes > EVENTS ? r->nnotes - EVENTS : 0; k < r->nnotes; k++) {
        const note *n = &r->notes[k % EVENTS];
        if (n->frame >= first && n->frame < first + out->n)
            rollout_note(out, (double)(n->frame - first) / HRC_RATE_HZ, n->text);
    }
    pthread_mutex_unlock(&r->lock);
}

hrc_status tape_take(tape *r, int robot, const char *name, rollout *out, hrc_error *err)
{
    pthread_mutex_lock(&r->lock);
    const int64_t first = first_frame(r), n = r->count - first;
    const int robots = r->robots;
    pthread_mutex_unlock(&r->lock);
    if (robot < 0 || robot >= robots)
        return fail(err, HRC_EINVAL, "recording: robot %d, expected 0 to %d", robot, robots - 1);
    if (n < 2) return fail(err, HRC_EINVAL, "recording: there are %d frames, expected at least 2", (int)n);
    TRY(rollout_create(out, (int)n, HRC_RATE_HZ, name, ARRAYS, EVENTS, err));
    copy_frames(r, robot, first, out);
    copy_notes(r, first, out);
    return HRC_OK;
}

/* ---- Orders ---- */

#define PUSH_MAX 6.0     /* m/s */
#define FORCE_MAX 3000.0 /* N */

static const struct {
    const char *name;
    double lo, hi;
} KIND[] = {
#define X(name, lo, hi) {#name, lo, hi},
    PLAY_ORDERS(X)
#undef X
};

static bool has_motion(play_kind k)
{
    return k == PLAY_motion || k == PLAY_queue;
}

static bool has_vector(play_kind k)
{
    return k == PLAY_push || k == PLAY_punch || k == PLAY_drag;
}

static bool has_link(play_kind k)
{
    return k == PLAY_punch || k == PLAY_drag;
}

static bool has_value(play_kind k)
{
    return KIND[k].hi > KIND[k].lo;
}

static bool is_whole(play_kind k)
{
    return k == PLAY_repeat || k == PLAY_planner || k == PLAY_posture || k == PLAY_pair || k == PLAY_seed;
}

static hrc_status parse_vector(play_order *o, const json_t *value, hrc_error *err)
{
    static const char *const AXIS[3] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++) o->xyz[i] = json_number_value(json_object_get(value, AXIS[i]));
    const double limit = o->kind == PLAY_push ? PUSH_MAX : FORCE_MAX, size = vec_norm(o->xyz);
    if (!(size <= limit))
        return fail(err, HRC_EINVAL, "%s: strength is %g, expected at most %g", KIND[o->kind].name, size,
                    limit);
    return HRC_OK;
}

static hrc_status parse_index(int *out, const json_t *value, const char *key, int n, hrc_error *err)
{
    const json_t *x = json_object_get(value, key);
    if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) >= n)
        return fail(err, HRC_EINVAL, "\"%s\" is missing or not within 0 to %d", key, n - 1);
    *out = (int)json_integer_value(x);
    return HRC_OK;
}

static hrc_status parse_value(play_order *o, const json_t *value, hrc_error *err)
{
    const json_t *x = json_object_get(value, "value");
    const double lo = KIND[o->kind].lo, hi = KIND[o->kind].hi;
    o->value = json_is_boolean(x) ? json_is_true(x) : json_number_value(x);
    if ((!json_is_boolean(x) && !json_is_number(x)) || !(o->value >= lo && o->value <= hi) ||
        (is_whole(o->kind) && o->value != floor(o->value)))
        return fail(err, HRC_EINVAL, "%s: value is missing or not within %g to %g", KIND[o->kind].name, lo,
                    hi);
    return HRC_OK;
}

static hrc_status read_motion(int *out, const json_t *name, const catalog *motions, hrc_error *err)
{
    const char *text = json_string_value(name);
    *out = text ? catalog_find(motions, text) : -1;
    if (*out < 0) return fail(err, HRC_EINVAL, "there is no motion \"%.60s\"", text ? text : "");
    return HRC_OK;
}

hrc_status play_order_parse(play_order *out, const json_t *value, const catalog *motions, hrc_error *err)
{
    const char *name = json_string_value(json_object_get(value, "do"));
    play_order o = {.kind = PLAY_KINDS};
    for (int k = 0; name && k < PLAY_KINDS; k++)
        if (!strcmp(KIND[k].name, name)) o.kind = (play_kind)k;
    if (o.kind == PLAY_KINDS)
        return fail(err, HRC_EINVAL, "there is no order \"%.40s\"", name ? name : "(none)");
    if (has_motion(o.kind)) TRY(read_motion(&o.index, json_object_get(value, "name"), motions, err));
    if (has_vector(o.kind)) TRY(parse_vector(&o, value, err));
    if (has_value(o.kind)) TRY(parse_value(&o, value, err));
    if (has_link(o.kind)) {
        TRY(parse_index(&o.link, value, "link", G1_LINKS, err));
        TRY(parse_index(&o.robot, value, "robot", 2, err));
    }
    *out = o;
    return HRC_OK;
}

static json_t *order_json(const play_order *o, const catalog *motions)
{
    json_t *out = json_pack("{s:s}", "do", KIND[o->kind].name);
    if (has_motion(o->kind)) json_object_set_new(out, "name", json_string(motions->entries[o->index].name));
    if (has_value(o->kind)) json_object_set_new(out, "value", json_real(o->value));
    if (has_vector(o->kind)) {
        json_object_set_new(out, "x", json_real(o->xyz[0]));
        json_object_set_new(out, "y", json_real(o->xyz[1]));
        json_object_set_new(out, "z", json_real(o->xyz[2]));
    }
    if (has_link(o->kind)) {
        json_object_set_new(out, "link", json_integer(o->link));
        json_object_set_new(out, "robot", json_integer(o->robot));
    }
    return out;
}

/* ---- Runs ---- */

bool play_begins(play_kind k)
{
    return k == PLAY_restart || k == PLAY_posture || k == PLAY_pair || k == PLAY_seed;
}

json_t *play_run_json(const play_run *r, const catalog *motions)
{
    const play_scene *s = &r->scene;
    json_t *orders = json_array(), *queue = json_array();
    for (int i = 0; i < s->queued; i++)
        json_array_append_new(queue, json_string(motions->entries[s->queue[i]].name));
    for (int i = 0; i < r->n; i++)
        json_array_append_new(orders, json_pack("[I, o]", (json_int_t)r->orders[i].step,
                                                order_json(&r->orders[i].order, motions)));
    json_t *scene = json_pack(
        "{s:s, s:I, s:b, s:b, s:b, s:f, s:f, s:f, s:i, s:o}", "motion", motions->entries[s->motion].name,
        "seed", (json_int_t)s->seed, "planner", s->planner, "pair", s->pair, "repeat", s->repeat, "friction",
        s->friction, "payload", s->payload, "strength", s->strength, "posture", s->posture, "queue", queue);
    return json_pack("{s:o, s:o, s:b}", "scene", scene, "orders", orders, "whole", r->whole);
}

/* Each setting is checked as the order that makes it would be. */
static hrc_status read_setting(double *out, const json_t *scene, const char *key, const catalog *motions,
                               hrc_error *err)
{
    play_order o;
    json_t *order = json_pack("{s:s, s:O?}", "do", key, "value", json_object_get(scene, key));
    hrc_status status = play_order_parse(&o, order, motions, err);
    json_decref(order);
    if (status == HRC_OK) *out = o.value;
    return status;
}

static hrc_status read_scene(play_scene *s, const json_t *scene, const catalog *motions, hrc_error *err)
{
    double seed = 0, planner = 0, pair = 0, repeat = 0;
    const json_t *queue = json_object_get(scene, "queue"), *posture = json_object_get(scene, "posture");
    TRY(read_motion(&s->motion, json_object_get(scene, "motion"), motions, err));
    TRY(read_setting(&seed, scene, "seed", motions, err));
    TRY(read_setting(&planner, scene, "planner", motions, err));
    TRY(read_setting(&pair, scene, "pair", motions, err));
    TRY(read_setting(&repeat, scene, "repeat", motions, err));
    TRY(read_setting(&s->friction, scene, "friction", motions, err));
    TRY(read_setting(&s->payload, scene, "payload", motions, err));
    TRY(read_setting(&s->strength, scene, "strength", motions, err));
    s->posture = (int)json_integer_value(posture);
    if (!json_is_integer(posture) || s->posture < -1 || s->posture >= POSTURE_COUNT)
        return fail(err, HRC_EINVAL, "run: posture is not within -1 to %d", POSTURE_COUNT - 1);
    s->seed = (uint64_t)seed, s->planner = planner != 0, s->pair = pair != 0, s->repeat = repeat != 0;
    if (json_array_size(queue) > PLAY_QUEUE)
        return fail(err, HRC_EINVAL, "run: a queue of more than %d motions", PLAY_QUEUE);
    for (s->queued = 0; s->queued < (int)json_array_size(queue); s->queued++)
        TRY(read_motion(&s->queue[s->queued], json_array_get(queue, (size_t)s->queued), motions, err));
    return HRC_OK;
}

static hrc_status read_orders(play_run *r, const json_t *orders, const catalog *motions, hrc_error *err)
{
    if (json_array_size(orders) > PLAY_KEPT)
        return fail(err, HRC_EINVAL, "run: more than %d orders", PLAY_KEPT);
    int64_t last = 0;
    for (r->n = 0; r->n < (int)json_array_size(orders); r->n++) {
        const json_t *pair = json_array_get(orders, (size_t)r->n), *step = json_array_get(pair, 0);
        play_kept *k = &r->orders[r->n];
        TRY(play_order_parse(&k->order, json_array_get(pair, 1), motions, err));
        k->step = json_integer_value(step);
        if (!json_is_integer(step) || k->step < last || play_begins(k->order.kind))
            return fail(err, HRC_EINVAL, "run: order %d is not in its place", r->n);
        last = k->step;
    }
    return HRC_OK;
}

hrc_status play_run_parse(play_run *out, const json_t *value, const catalog *motions, hrc_error *err)
{
    *out = (play_run){.whole = json_is_true(json_object_get(value, "whole"))};
    TRY(read_scene(&out->scene, json_object_get(value, "scene"), motions, err));
    return read_orders(out, json_object_get(value, "orders"), motions, err);
}
