#include "deploy/reflight.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "base/text.h"

typedef struct {
    int64_t ns;
    char text[240];
} event;

struct reflight {
    const char *path;
    arena memory;
    text records[RECORD_KINDS]; /* each an array of its kind */
    tensor_meta *notes;
    int nnotes;
    bool cut;
};

#define REFLIGHT_MAX_NOTES 64

static const size_t SIZE[RECORD_KINDS] = {sizeof(record_state), sizeof(record_tick), sizeof(brain_output),
                                          sizeof(brain_plan), sizeof(event)};

static int64_t count(const reflight *r, record_kind kind)
{
    return (int64_t)(r->records[kind].size / SIZE[kind]);
}

static const void *at(const reflight *r, record_kind kind, int64_t i)
{
    return r->records[kind].data + (size_t)i * SIZE[kind];
}

/* ---- Load ---- */

static hrc_status keep_event(reflight *r, const mcap_message *m)
{
    event e = {0};
    size_t from = 12, n = m->size > from ? m->size - from : 0;
    if (m->size < from) return HRC_OK;
    memcpy(&e.ns, m->data, sizeof e.ns);
    memcpy(e.text, (const char *)m->data + from, n < sizeof e.text - 1 ? n : sizeof e.text - 1);
    status_tame(e.text, false);
    text_bytes(&r->records[RECORD_EVENT], &e, sizeof e);
    return HRC_OK;
}

static hrc_status keep_message(void *ctx, const mcap_message *m, hrc_error *err)
{
    reflight *r = ctx;
    int kind = 0;
    while (kind < RECORD_KINDS && (strlen(record_topic(kind)) != m->topic_size ||
                                   memcmp(record_topic(kind), m->topic, m->topic_size)))
        kind++;
    if (kind == RECORD_EVENT) return keep_event(r, m);
    if (kind == RECORD_KINDS)
        return fail(err, HRC_EFORMAT, "%s: has a topic %.*s, expected a recording of heracles deploy",
                    r->path, (int)m->topic_size, m->topic);
    if (m->size != SIZE[kind])
        return fail(err, HRC_EFORMAT, "%s: a message of %s has %zu bytes, expected %zu", r->path,
                    record_topic(kind), m->size, SIZE[kind]);
    text_bytes(&r->records[kind], m->data, m->size);
    return r->records[kind].failed ? fail(err, HRC_ENOMEM, "%s: out of memory", r->path) : HRC_OK;
}

static char *copy(arena *memory, const char *s, size_t n)
{
    char *out = ARENA_NEW(memory, char, n + 1);
    if (!out) return NULL;
    memcpy(out, s, n);
    status_tame(out, true);
    return out;
}

static hrc_status keep_note(void *ctx, const char *key, size_t nkey, const char *value, size_t nvalue,
                            hrc_error *err)
{
    reflight *r = ctx;
    if (r->nnotes == REFLIGHT_MAX_NOTES) return HRC_OK;
    tensor_meta *note = &r->notes[r->nnotes];
    note->key = copy(&r->memory, key, nkey);
    note->value = copy(&r->memory, value, nvalue);
    if (!note->key || !note->value) return fail(err, HRC_ENOMEM, "%s: out of memory", r->path);
    r->nnotes++;
    return HRC_OK;
}

static reflight *reflight_new(const char *path)
{
    reflight *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->path = arena_strdup(&r->memory, path);
    r->notes = ARENA_NEW(&r->memory, tensor_meta, REFLIGHT_MAX_NOTES);
    if (r->path && r->notes) return r;
    reflight_free(r);
    return NULL;
}

hrc_status reflight_parse(reflight **out, const char *path, file_view bytes, hrc_error *err)
{
    reflight *r = reflight_new(path);
    if (!r) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    hrc_status status = mcap_read(path, bytes, &(mcap_reader){r, keep_message, keep_note}, &r->cut, err);
    if (status == HRC_OK && !reflight_note(r, "config"))
        status = fail(err, HRC_EFORMAT, "%s: has no notes of a run, expected a recording of heracles deploy",
                      path);
    if (status < 0)
        reflight_free(r);
    else
        *out = r;
    return status;
}

hrc_status reflight_load(reflight **out, const char *path, hrc_error *err)
{
    file_view bytes;
    TRY(file_map(path, &bytes, err));
    hrc_status status = reflight_parse(out, path, bytes, err);
    file_unmap(&bytes);
    return status;
}

void reflight_free(reflight *r)
{
    if (!r) return;
    for (int i = 0; i < RECORD_KINDS; i++) text_free(&r->records[i]);
    arena_free(&r->memory);
    free(r);
}

const char *reflight_note(const reflight *r, const char *key)
{
    for (int i = 0; i < r->nnotes; i++)
        if (!strcmp(r->notes[i].key, key)) return r->notes[i].value;
    return NULL;
}

/* ---- Notes ---- */

static const char *print(arena *memory, const char *format, ...) HRC_PRINTF(2, 3);
static const char *print(arena *memory, const char *format, ...)
{
    char line[128];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    const char *out = arena_strdup(memory, line);
    return out ? out : "";
}

int reflight_notes(mcap_note out[REFLIGHT_NOTES], arena *memory, const brain *b, const brain_setup *setup,
                   const pilot_plan *course)
{
    char *ini = config_text(setup->cfg);
    const char *settings = ini ? arena_strdup(memory, ini) : NULL;
    free(ini);
    const mcap_note NOTES[] = {
        {"version", HRC_VERSION},
        {"tracker", setup->tracker_path},
        {"planner", setup->planner ? setup->planner_path : "off"},
        {"motion", setup->motion},
        {"tracker_hash", print(memory, "%016" PRIx64, brain_hash(b, 0))},
        {"planner_hash", print(memory, "%016" PRIx64, brain_hash(b, 1))},
        {"motion_hash", print(memory, "%016" PRIx64, brain_hash(b, 2))},
        {"seed", print(memory, "%" PRIu64, setup->seed)},
        {"ramp_s", print(memory, "%.17g", course->ramp_s)},
        {"blend_s", print(memory, "%.17g", course->blend_s)},
        {"hold_s", print(memory, "%.17g", course->hold_s)},
        {"settle_s", print(memory, "%.17g", course->settle_s)},
        {"in_fps", print(memory, "%.17g", setup->reading.fps)},
        {"quat", setup->reading.quat ? setup->reading.quat : ""},
        {"automatic", course->automatic ? "1" : "0"},
        {"config", settings ? settings : ""},
    };
    _Static_assert(COUNT(NOTES) <= REFLIGHT_NOTES, "room for the notes");
    memcpy(out, NOTES, sizeof NOTES);
    return COUNT(NOTES);
}

static double number(const reflight *r, const char *key)
{
    const char *value = reflight_note(r, key);
    return value ? strtod(value, NULL) : 0;
}

hrc_status reflight_course(const reflight *r, config *cfg, pilot_plan *out, hrc_error *err)
{
    const char *ini = reflight_note(r, "config");
    *cfg = config_default();
    TRY(config_parse_stored(cfg, r->path, ini, err));
    *out = (pilot_plan){.limits = gate_from_config(cfg),
                        .ramp_s = number(r, "ramp_s"),
                        .blend_s = number(r, "blend_s"),
                        .hold_s = number(r, "hold_s"),
                        .settle_s = number(r, "settle_s"),
                        .automatic = number(r, "automatic") != 0};
    return HRC_OK;
}

static hrc_status check_hash(const reflight *r, const brain *b, int which, const char *key, const char *file,
                             hrc_error *err)
{
    char here[20];
    const char *then = reflight_note(r, key);
    snprintf(here, sizeof here, "%016" PRIx64, brain_hash(b, which));
    if (then && !strcmp(then, here)) return HRC_OK;
    return fail(err, HRC_EINVAL, "%s: was recorded with a %s of hash %s, this one has %s", r->path, file,
                then ? then : "(none)", here);
}

hrc_status reflight_same_files(const reflight *r, const brain *b, hrc_error *err)
{
    TRY(check_hash(r, b, 0, "tracker_hash", "tracker", err));
    TRY(check_hash(r, b, 1, "planner_hash", "planner", err));
    return check_hash(r, b, 2, "motion_hash", "motion", err);
}

/* ---- Again ---- */

/* States are numbered without gaps and recorded in that order. */
static const record_state *state_of(const reflight *r, uint32_t number, hrc_error *err)
{
    uint32_t first = count(r, RECORD_STATE) ? ((const record_state *)at(r, RECORD_STATE, 0))->number : 0;
    if (number >= first && number - first < count(r, RECORD_STATE)) {
        const record_state *s = at(r, RECORD_STATE, number - first);
        if (s->number == number) return s;
    }
    fail(err, HRC_EFORMAT, "%s: state %u is missing: the recording could not keep up, or was cut", r->path,
         number);
    return NULL;
}

static const pilot_target *target_of(const reflight *r, uint32_t seq)
{
    if (seq < 1 || seq > count(r, RECORD_TARGET)) return NULL;
    const brain_output *out = at(r, RECORD_TARGET, seq - 1);
    return out->target.seq == seq ? &out->target : NULL;
}

static const brain_plan *plan_of(const reflight *r, uint32_t epoch, int64_t step)
{
    for (int64_t i = 0; epoch && i < count(r, RECORD_PLAN); i++) {
        const brain_plan *p = at(r, RECORD_PLAN, i);
        if (p->epoch == epoch && p->step == step) return p;
    }
    return NULL;
}

static void differs(reflight_result *out, int64_t *kind, int64_t i)
{
    if (!(*kind)++ && out->first < 0) out->first = i;
}

static hrc_status fly_again(const reflight *r, const pilot_plan *course, reflight_result *out, hrc_error *err)
{
    pilot p;
    pilot_init(&p, course);
    for (int64_t i = 0; i < out->ticks; i++) {
        const record_tick *t = at(r, RECORD_TICK, i);
        const record_state *s = t->states ? state_of(r, t->states, err) : NULL;
        const pilot_target *target = target_of(r, t->target);
        robot_command c;
        if (t->states && !s) return r->cut && i > 0 ? HRC_OK : HRC_EFORMAT;
        if (t->target && !target)
            return r->cut && i > 0 ? HRC_OK
                                   : fail(err, HRC_EFORMAT, "%s: target %u is missing", r->path, t->target);
        pilot_input in = record_input(t, s, target);
        uint32_t sent = pilot_tick(&p, &in, &c);
        if (sent != t->sent || memcmp(&c, &t->command, sizeof c) || p.mode != (pilot_mode)t->mode)
            differs(out, &out->commands_differ, i);
    }
    return HRC_OK;
}

static void think_again(const reflight *r, brain *b, reflight_result *out, int64_t i)
{
    brain_request request;
    brain_plan plan;
    if (!brain_wants(b, &request)) return;
    const brain_plan *recorded = plan_of(r, request.epoch, request.ask.step);
    if (!recorded) return; /* the run ended before it was made */
    brain_think(b, &request, recorded->ns, &plan);
    plan.took_ns = recorded->took_ns;
    if (memcmp(&plan, recorded, sizeof plan)) differs(out, &out->plans_differ, i);
}

static hrc_status decide_again(const reflight *r, brain *b, reflight_result *out, hrc_error *err)
{
    for (int64_t i = 0; i < out->targets; i++) {
        const brain_output *then = at(r, RECORD_TARGET, i);
        const record_state *s = state_of(r, then->target.state, err);
        brain_output now;
        if (!s) return r->cut && i > 0 ? HRC_OK : HRC_EFORMAT;
        brain_input in = {&s->state, s->number, then->target.epoch, then->target.ns,
                          plan_of(r, then->plan_epoch, then->plan_step)};
        brain_step(b, &in, &now);
        if (memcmp(&now, then, sizeof now)) differs(out, &out->targets_differ, i);
        think_again(r, b, out, i);
    }
    return HRC_OK;
}

static double mean_gap(const reflight *r)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < count(r, RECORD_TARGET); i++) {
        const brain_output *out = at(r, RECORD_TARGET, i);
        if (out->target.flags & TARGET_ENDED) continue;
        sum += (double)out->gap_rad;
        n++;
    }
    return n ? sum / (double)n : NAN;
}

hrc_status reflight_run(reflight *r, brain *b, const pilot_plan *course, reflight_result *out, hrc_error *err)
{
    pilot_plan plan = *course;
    memcpy(plan.first, brain_first(b), sizeof plan.first);
    *out = (reflight_result){.states = count(r, RECORD_STATE),
                             .ticks = count(r, RECORD_TICK),
                             .targets = count(r, RECORD_TARGET),
                             .plans = count(r, RECORD_PLAN),
                             .events = count(r, RECORD_EVENT),
                             .cut = r->cut,
                             .joint_rad = mean_gap(r),
                             .first = -1};
    TRY(reflight_same_files(r, b, err));
    if (out->ticks > 1)
        out->seconds = 1e-9 * (double)(((const record_tick *)at(r, RECORD_TICK, out->ticks - 1))->now_ns -
                                       ((const record_tick *)at(r, RECORD_TICK, 0))->now_ns);
    TRY(fly_again(r, &plan, out, err));
    return decide_again(r, b, out, err);
}

/* ---- For the viewer ---- */

/* Frame i of the rollout: what was known at tick t. Without a state the robot stays as it was. */
static void frame_of(const reflight *r, rollout *out, int i, const record_tick *t)
{
    const record_state *s = state_of(r, t->states, NULL);
    float *qpos = out->qpos + (size_t)i * HRC_NQ, *ref = out->ref + (size_t)i * HRC_NQ;
    double pose[HRC_NQ] = {[3] = 1};
    if (s) brain_pose(pose, &s->state);
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = s || i == 0 ? (float)pose[k] : qpos[k - HRC_NQ];
    memcpy(ref, qpos, sizeof(float) * HRC_NQ);
    if ((t->mode == PILOT_POLICY || t->mode == PILOT_LOWER) && target_of(r, t->target))
        memcpy(ref + 7, ((const brain_output *)at(r, RECORD_TARGET, t->target - 1))->reference,
               sizeof(float) * HRC_JOINTS);
    memcpy(out->target + (size_t)i * HRC_JOINTS, t->command.q, sizeof t->command.q);
}

hrc_status reflight_rollout(const reflight *r, rollout *out, hrc_error *err)
{
    const int every = ROBOT_HZ / HRC_RATE_HZ;
    int n = (int)(count(r, RECORD_TICK) / every), events = (int)count(r, RECORD_EVENT);
    if (n < 1) return fail(err, HRC_EFORMAT, "%s: holds no ticks to show", r->path);
    TRY(rollout_create(out, n, HRC_RATE_HZ, "deploy", ROLLOUT_REF | ROLLOUT_TARGET, events, err));
    int64_t start = ((const record_tick *)at(r, RECORD_TICK, 0))->now_ns;
    for (int i = 0; i < n; i++) frame_of(r, out, i, at(r, RECORD_TICK, (int64_t)i * every));
    for (int i = 0; i < events; i++) {
        const event *e = at(r, RECORD_EVENT, i);
        rollout_note(out, 1e-9 * (double)(e->ns - start), e->text);
    }
    return HRC_OK;
}
