#include "play/run.h"

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
