#include "play/order.h"

#include <string.h>

#include "base/rot.h"

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
