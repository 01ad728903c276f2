#include "play/run.h"

#include <string.h>

#include "base/rot.h"
#include "eval/posture.h"

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
                                                play_order_json(&r->orders[i].order, motions)));
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

static hrc_status read_motion(int *out, const json_t *name, const catalog *motions, hrc_error *err)
{
    const char *text = json_string_value(name);
    *out = text ? catalog_find(motions, text) : -1;
    if (*out < 0) return fail(err, HRC_EINVAL, "there is no motion \"%.60s\"", text ? text : "");
    return HRC_OK;
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

static hrc_status parse_motion(play_order *o, const json_t *value, const catalog *motions, hrc_error *err)
{
    const char *name = json_string_value(json_object_get(value, "name"));
    o->index = name ? catalog_find(motions, name) : -1;
    if (o->index >= 0) return HRC_OK;
    return fail(err, HRC_EINVAL, "there is no motion \"%.60s\"", name ? name : "");
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

hrc_status play_order_parse(play_order *out, const json_t *value, const catalog *motions, hrc_error *err)
{
    const char *name = json_string_value(json_object_get(value, "do"));
    play_order o = {.kind = PLAY_KINDS};
    for (int k = 0; name && k < PLAY_KINDS; k++)
        if (!strcmp(KIND[k].name, name)) o.kind = (play_kind)k;
    if (o.kind == PLAY_KINDS)
        return fail(err, HRC_EINVAL, "there is no order \"%.40s\"", name ? name : "(none)");
    if (has_motion(o.kind)) TRY(parse_motion(&o, value, motions, err));
    if (has_vector(o.kind)) TRY(parse_vector(&o, value, err));
    if (has_value(o.kind)) TRY(parse_value(&o, value, err));
    if (has_link(o.kind)) {
        TRY(parse_index(&o.link, value, "link", G1_LINKS, err));
        TRY(parse_index(&o.robot, value, "robot", 2, err));
    }
    *out = o;
    return HRC_OK;
}

json_t *play_order_json(const play_order *o, const catalog *motions)
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
