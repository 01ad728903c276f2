#include "eval/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "control/library.h"
#include "robot/mjcf.h"

/* ---- Keys: a hash of everything that decides what a rollout gives ---- */

static void mix(uint64_t *hash, const void *data, size_t size)
{
    *hash = hash_words(*hash, data, size);
}

static void mix_models(uint64_t *hash, const method *m)
{
    const bool theirs = m->tracker && model_of_others(m->tracker);
    const track_model *t = m->tracker && !theirs ? &m->tracker->track : NULL;
    const plan_model *p = m->planner ? &m->planner->plan : NULL;
    if (theirs) mix(hash, &m->tracker->others.digest, sizeof m->tracker->others.digest);
    if (t) {
        mix(hash, t->params, t->net.layout.count * sizeof(float));
        mix(hash, t->proprio.shift, sizeof(float) * OBS_P);
        mix(hash, t->window.shift, sizeof(float) * OBS_M);
        mix(hash, t->proprio.scale, sizeof(float) * OBS_P);
        mix(hash, t->window.scale, sizeof(float) * OBS_M);
        mix(hash, &t->lead, sizeof t->lead);
        mix(hash, &t->basis, sizeof t->basis);
    }
    if (p) {
        const plan_layout *l = &p->layout;
        const int layout[] = {(int)l->form, l->horizon, l->position, l->velocities, l->under_way};
        mix(hash, p->params, p->net.layout.count * sizeof(float));
        mix(hash, &p->scales, sizeof p->scales);
        mix(hash, layout, sizeof layout);
    }
}

static void mix_text(uint64_t *hash, const char *format, double x)
{
    char words[48];
    mix(hash, words, (size_t)snprintf(words, sizeof words, format, x));
}

static void mix_options(uint64_t *hash, const hrc_options *o)
{
    const double all[] = {(double)o->plan.seed,
                          o->plan.steps,
                          (double)o->plan.t_start,
                          o->plan.cold,
                          o->plan.bf16,
                          (double)o->plan.noise,
                          o->replan,
                          o->leash_m,
                          o->leash_rad,
                          o->wait_s};
    for (int i = 0; i < COUNT(all); i++) mix_text(hash, "%.17g ", all[i]);
}

static void mix_course(uint64_t *hash, const course *c)
{
    mix(hash, c->motion.qpos, sizeof(float) * HRC_NQ * (size_t)c->motion.n);
    mix(hash, c->qvel, sizeof(float) * HRC_NV * (size_t)c->motion.n);
    const int numbers[] = {c->first, c->frames, c->how, c->own_start, c->ndisturb};
    mix(hash, numbers, sizeof numbers);
    if (c->own_start) mix(hash, c->start, sizeof c->start);
    for (int i = 0; i < c->ndisturb; i++) {
        const disturbance *d = &c->disturb[i];
        const double all[] = {d->kind, d->t_s, d->xyz[0], d->xyz[1], d->xyz[2], d->seconds, d->link};
        mix(hash, all, sizeof all);
    }
}

uint64_t keep_hash(const method *m, const config *cfg)
{
    uint64_t hash = HASH_START;
    const double physics[] = {cfg->sim_timestep, cfg->sim_substeps, MJCF_ITERATIONS, cfg->sim_friction};
    mix(&hash, HRC_VERSION, sizeof HRC_VERSION);
    mix(&hash, physics, sizeof physics);
    mix(&hash, cfg->sim_feet, strlen(cfg->sim_feet));
    mix(&hash, cfg->sim_self_collision, strlen(cfg->sim_self_collision));
    mix(&hash, cfg->sim_damping, strlen(cfg->sim_damping));
    mix_options(&hash, &m->options);
    mix_models(&hash, m);
    return hash;
}

keep_key keep_key_of(uint64_t hash, const course *c)
{
    keep_key key;
    mix_course(&hash, c);
    snprintf(key.text, sizeof key.text, "%016llx", (unsigned long long)hash);
    return key;
}

/* ---- Files ---- */

static void path_of(char out[4096], const char *folder, const keep_key *key)
{
    snprintf(out, 4096, "%s/%s.safetensors", folder, key->text);
}

static json_t *result_json(const course_result *r)
{
    json_t *out =
        json_pack("{s:i, s:b, s:I, s:f, s:f, s:f}", "frames", r->frames, "diverged", r->diverged, "plans",
                  (json_int_t)r->plans, "plan_ms", r->plan_ms, "stands_s", r->stands_s, "back_s", r->back_s);
    json_t *values = json_array(), *verdicts = json_array();
    for (int f = 0; f < FIGURE_COUNT; f++)
        json_array_append_new(values, json_real(figure_of(&r->figures, f)));
    for (int v = 0; v < HRC_VERDICTS; v++) json_array_append_new(verdicts, json_integer(r->verdicts[v]));
    json_object_set_new(out, "figures", values);
    json_object_set_new(out, "verdicts", verdicts);
    return out;
}

static bool read_result(course_result *r, const json_t *j)
{
    const json_t *values = json_object_get(j, "figures"), *verdicts = json_object_get(j, "verdicts");
    if (!json_is_number(json_object_get(j, "back_s"))) return false;
    if (json_array_size(values) != FIGURE_COUNT || json_array_size(verdicts) != HRC_VERDICTS) return false;
    *r = (course_result){.frames = (int)json_integer_value(json_object_get(j, "frames")),
                         .diverged = json_is_true(json_object_get(j, "diverged")),
                         .plans = json_integer_value(json_object_get(j, "plans")),
                         .plan_ms = json_number_value(json_object_get(j, "plan_ms")),
                         .stands_s = json_number_value(json_object_get(j, "stands_s")),
                         .back_s = json_number_value(json_object_get(j, "back_s"))};
    for (int f = 0; f < FIGURE_COUNT; f++)
        *figure_at(&r->figures, f) = json_number_value(json_array_get(values, (size_t)f));
    for (int v = 0; v < HRC_VERDICTS; v++)
        r->verdicts[v] = json_integer_value(json_array_get(verdicts, (size_t)v));
    return true;
}

bool keep_load(outcome *out, const char *folder, const keep_key *key)
{
    char path[4096];
    rollout r;
    path_of(path, folder, key);
    if (!rollout_is_file(path) || rollout_load(&r, path, NULL) < 0) return false;
    json_t *j = json_loads(r.note, 0, NULL);
    bool good = j && read_result(&out->result, j);
    json_decref(j);
    if (good)
        out->record = r;
    else
        rollout_free(&r);
    return good;
}

hrc_status keep_save(outcome *o, const char *folder, const keep_key *key, hrc_error *err)
{
    char path[4096];
    json_t *j = result_json(&o->result);
    char *note = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(j);
    path_of(path, folder, key);
    o->record.note = note ? note : "";
    hrc_status status = rollout_save(&o->record, path, err);
    o->record.note = "";
    free(note);
    return status;
}
