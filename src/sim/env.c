#include "sim/env.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "sim/env_fallen.h"

#define REGAINED 25      /* steps within the bounds after which a robot is no longer lost */
#define TOPPLE_LEAST 3.0 /* m/s, and rad/s at the most, of a push that throws a robot to the ground */
#define TOPPLE_MOST 6.0
#define RESTART_LEAST 25 /* frames before a failure */
#define RESTART_MOST 75
#define GUIDED_AGAIN 0.9 /* of the guided robots that fail on the ground: they go on until they are up */

struct env {
    arena memory;
    sim *physics;
    pool *threads;
    const references *refs;
    env_options options;
    reward_weights weights;
    end_rules rules;
    env_starts starts;
    fallen_index fallen;
    double period;
    double push_share, light;
    int n;
    env_one *worlds;
    int64_t frames; /* where an episode can begin, over all clips */
    env_counts counts;
    int64_t *clip_episodes, *clip_failures; /* (clips) */
    bool dumped;                            /* trail holds the first divergence */
    trail_point trail[TRAIL];
    int trail_n;
};

/* ---- Starts without a sampler: uniform over frames that have a next one ---- */

static void draw_uniform(const void *ctx, rng *r, int *which, int *frame)
{
    const env *e = ctx;
    int64_t at = (int64_t)(rng_double(r) * (double)e->frames);
    int c = 0;
    for (; c + 1 < e->refs->n && at >= e->refs->clips[c].n - 1; c++) at -= e->refs->clips[c].n - 1;
    *which = c;
    *frame = (int)at;
}

/* ---- Create ---- */

static hrc_status allocate(env *e, uint64_t seed, hrc_error *err)
{
    e->worlds = ARENA_NEW(&e->memory, env_one, e->n);
    e->clip_episodes = ARENA_NEW(&e->memory, int64_t, e->refs->n);
    e->clip_failures = ARENA_NEW(&e->memory, int64_t, e->refs->n);
    if (!e->worlds || !e->clip_episodes || !e->clip_failures)
        return fail(err, HRC_ENOMEM, "environment: out of memory for %d worlds", e->n);
    for (int i = 0; i < e->n; i++) e->worlds[i].dice = rng_make(seed, (uint64_t)i);
    return fallen_index_build(&e->fallen, e->refs, &e->memory, err);
}

hrc_status env_create(env **out, const config *cfg, const end_rules *rules, const references *refs,
                      int worlds, uint64_t seed, const env_starts *starts, pool *threads, hrc_error *err)
{
    if (worlds < 1) return fail(err, HRC_EINVAL, "environment: %d worlds, expected at least 1", worlds);
    env *e = calloc(1, sizeof *e);
    if (!e) return fail(err, HRC_ENOMEM, "environment: out of memory");
    e->refs = refs, e->n = worlds, e->threads = threads, e->push_share = 1;
    e->starts = starts ? *starts : (env_starts){.ctx = e, .draw = draw_uniform};
    for (int i = 0; i < refs->n; i++) e->frames += refs->clips[i].n - 1;
    hrc_status status = sim_create(&e->physics, cfg, threads, err);
    if (status == HRC_OK) status = allocate(e, seed, err);
    if (status < 0) {
        env_free(e);
        return status;
    }
    e->period = sim_period(e->physics);
    e->options = env_options_of(cfg, e->period);
    e->weights = reward_from_config(cfg);
    e->rules = *rules;
    *out = e;
    return HRC_OK;
}

void env_free(env *e)
{
    if (!e) return;
    sim_free(e->physics);
    arena_free(&e->memory);
    free(e);
}

int env_worlds(const env *e)
{
    return e->n;
}

double env_mujoco_s(const env *e)
{
    return sim_mujoco_s(e->physics);
}

void env_push_share(env *e, double share)
{
    e->push_share = share;
}

void env_hardness(env *e, double share)
{
    e->options.hardness = share;
}

void env_light(env *e, double share)
{
    e->light = share;
}

/* ---- Observation ---- */

static obs_frame frame_of(const ref_frame *f)
{
    return (obs_frame){f->qpos, f->qvel};
}

static void clean_observation(const env *e, const env_one *w, const robot_view *v, float p[OBS_P],
                              float window[OBS_WINDOW])
{
    double q0[HRC_JOINTS];
    float qpos[OBS_FRAMES][HRC_NQ], qvel[OBS_FRAMES][HRC_NV];
    obs_frame frames[OBS_FRAMES];
    for (int i = 0; i < HRC_JOINTS; i++) q0[i] = G1_JOINT[i].q0 + w->offset[i];
    for (int i = 0; i < OBS_FRAMES; i++) {
        shown_frame(qpos[i], qvel[i], w, e->refs, e->options.lead + i);
        frames[i] = (obs_frame){qpos[i], qvel[i]};
    }
    obs_proprio(p, &v->state, q0, w->action);
    obs_window(window, frames, v->state.quat, e->options.rotation);
}

/* A new plan is counted from where the robot is now. */
static void renew_anchor(env_one *w, const references *refs)
{
    float state[HRC_NQ], qpos[HRC_NQ], qvel[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) state[i] = (float)w->sim.qpos[i];
    shown_reference(qpos, qvel, w, refs, 0);
    plan_offset_set(&w->anchor, state, qpos);
}

static void write_critic(const env *e, const env_one *w, const robot_view *v, float *out)
{
    float p[OBS_P], window[OBS_WINDOW];
    clean_observation(e, w, v, p, window);
    obs_critic(out, p, window, &v->state, &v->pose, frame_of(&w->now));
}

static void write_observation(const env *e, env_one *w, int i, const env_arrays *out, bool first)
{
    robot_view v;
    float p[OBS_P], window[OBS_WINDOW];
    robot_look(&v, w->sim.qpos, w->sim.qvel);
    if (w->anchored && w->steps % PLAN_EVERY == 0) renew_anchor(w, e->refs);
    clean_observation(e, w, &v, p, window);
    if (out->critic)
        obs_critic(out->critic + (size_t)i * OBS_CRITIC, p, window, &v.state, &v.pose, frame_of(&w->now));
    perturb_proprio(w, &e->options, p);
    perturb_window(w, &e->options, window);
    if (first)
        obs_history_fill(&w->history, p);
    else
        obs_history_push(&w->history, p);
    if (out->proprio)
        memcpy(out->proprio + (size_t)i * OBS_PROPRIO, &w->history.p[0][0], sizeof w->history.p);
    if (out->window) memcpy(out->window + (size_t)i * OBS_WINDOW, window, sizeof window);
}

/* ---- One world ---- */

typedef struct {
    env *e;
    const float *actions;
    const env_arrays *out;
} job;

static void begin(const env *e, env_one *w)
{
    int which, frame;
    e->starts.draw(e->starts.ctx, &w->dice, &which, &frame);
    start_episode(w, e->physics, e->refs, &e->options, draw_place(w, e->refs, &e->options, which, frame));
}

/* On the same motion, some time before it failed. */
static void begin_before_failure(const env *e, env_one *w)
{
    const double back = RESTART_LEAST + (RESTART_MOST - RESTART_LEAST) * rng_double(&w->dice);
    const env_place place = {w->clip, floor(fmax(0, w->lost_at - back * w->pace)), w->pace, w->mirrored};
    start_episode(w, e->physics, e->refs, &e->options, place);
}

/* Makes a heap of the robot, as a fall does. */
static void topple(env_one *w)
{
    const double speed = TOPPLE_LEAST + (TOPPLE_MOST - TOPPLE_LEAST) * rng_double(&w->dice),
                 heading = 6.28318530717958648 * rng_double(&w->dice);
    const double lin[3] = {speed * cos(heading), speed * sin(heading), 0},
                 ang[3] = {speed * (2 * rng_double(&w->dice) - 1), speed * (2 * rng_double(&w->dice) - 1), 0};
    sim_push(&w->sim, lin, ang);
}

/* After an episode that did not fail. A policy that hardly fails would otherwise hardly ever lie, and forget
 * how to get up. False: nothing has begun. */
static bool go_on_toppled(env *e, env_one *w, int worker)
{
    const env_options *o = &e->options;
    if (!(o->toppled_share > 0) || rng_double(&w->dice) >= o->toppled_share) return false;
    topple(w);
    return start_guided(w, e->physics, e->refs, o, &e->starts, &e->fallen, worker);
}

/* After a failure: leave the robot as it lies, or have it try again. False: none of it. */
static bool go_on_from_failure(env *e, env_one *w, int worker)
{
    const env_options *o = &e->options;
    if (w->guided && rng_double(&w->dice) < GUIDED_AGAIN)
        return guide_again(w, e->physics, e->refs, o, &e->fallen);
    double u = rng_double(&w->dice);
    if (u < o->fallen_share * o->guided_share)
        return start_guided(w, e->physics, e->refs, o, &e->starts, &e->fallen, worker);
    if (u < o->fallen_share) return start_fallen(w, e->physics, e->refs, o, &e->fallen, worker);
    u -= o->fallen_share;
    if (u >= o->restart_share || w->pace == 0) return false;
    begin_before_failure(e, w);
    return true;
}

static void begin_again(env *e, env_one *w, end_kind end, int worker)
{
    if (!(end_is_failure(end) ? go_on_from_failure(e, w, worker) : go_on_toppled(e, w, worker))) begin(e, w);
}

static void reset_world(void *ctx, int i, int worker)
{
    (void)worker;
    const job *j = ctx;
    env_one *w = &j->e->worlds[i];
    w->ended.end = w->piece.end = END_NONE;
    begin(j->e, w);
    write_observation(j->e, w, i, j->out, true);
}

static void remember(env_one *w, const double target[HRC_JOINTS])
{
    trail_point *t = &w->trail[w->trail_n++ % TRAIL];
    memcpy(t->qpos, w->sim.qpos, sizeof t->qpos);
    memcpy(t->qvel, w->sim.qvel, sizeof t->qvel);
    memcpy(t->target, target, sizeof t->target);
}

/* A robot that has fallen to the ground under a reference that is on its feet: following that no longer says
 * what to do. */
static bool has_fallen(const env_one *w)
{
    float qpos[HRC_NQ];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)w->sim.qpos[i];
    const posture robot = posture_of(qpos);
    return (double)w->now.qpos[2] > POSTURE_FEET_M && posture_down(&robot);
}

/* What the bounds say; of hard episodes also whether the robot is lost. */
static end_kind bounds(const env *e, env_one *w, const robot_view *v)
{
    end_rules rules = e->rules;
    if (w->guided) rules.low = fmax(rules.low, END_LOW_LOOSE_M);
    const end_kind end = end_check(&rules, v, &w->now);
    if (end == END_NONE) {
        w->within++;
        if (w->lost && w->within >= REGAINED) w->lost = false, w->first = (int)w->at;
        return END_NONE;
    }
    w->within = 0;
    if (!w->lost) w->lost_at = w->at;
    if (!w->hard) return end;
    if (!w->lost) w->piece = (env_episode){w->clip, w->first, (int)w->at, w->steps, w->score / w->steps, end};
    w->lost = true;
    return has_fallen(w) || rng_double(&w->dice) < e->options.give_up ? end : END_NONE;
}

static end_kind judge(const env *e, env_one *w, const robot_view *v)
{
    if (w->sim.diverged) return END_DIVERGED;
    const end_kind end = bounds(e, w, v);
    if (end != END_NONE) return end;
    if (w->at >= e->refs->clips[w->clip].n - 1) return END_CLIP;
    return w->steps >= e->options.longest ? END_EPISODE : END_NONE;
}

/* A motion that is over stays as it ended. */
static void advance_shown(env_one *w, const references *refs)
{
    const int last = refs->clips[w->shown.clip].n - 1;
    w->shown.at += w->shown.pace;
    if (w->shown.at >= last) w->shown.at = last, w->shown.pace = 0;
}

static void act(const env *e, env_one *w, const float *action, int worker)
{
    float qpos[HRC_NQ], qvel[HRC_NV];
    shown_frame(qpos, qvel, w, e->refs, e->options.lead + action_frame(e->options.basis));
    action_target(w->after.target, e->options.basis, action, qpos + 7, w->offset);
    remember(w, w->after.target);
    w->sim.params.light = e->light;
    sim_step_one(e->physics, &w->sim, w->after.target, worker);
    w->after.clip = w->clip, w->after.mirrored = w->mirrored;
    w->after.at = w->at, w->after.pace = w->pace;
    w->after.anchored = w->anchored, w->after.lost = w->lost;
    w->after.shown_clip = shows_another(w) ? w->shown.clip : -1, w->after.shown_mirrored = w->shown.mirrored;
    w->after.shown_at = w->shown.at, w->after.shown_pace = w->shown.pace, w->after.shown_yaw = w->shown_yaw;
    memcpy(w->after.qpos, w->sim.qpos, sizeof w->after.qpos);
    memcpy(w->after.qvel, w->sim.qvel, sizeof w->after.qvel);
    w->at += w->pace;
    if (shows_another(w)) advance_shown(w, e->refs);
    w->steps++;
    ref_between(&w->now, &e->refs->clips[w->clip], w->mirrored, w->at, w->pace);
}

static void step_world(void *ctx, int i, int worker)
{
    const job *j = ctx;
    const env *e = j->e;
    const env_arrays *out = j->out;
    env_one *w = &j->e->worlds[i];
    const float *action = j->actions + (size_t)i * HRC_JOINTS;
    robot_view v;
    act(e, w, action, worker);
    robot_look(&v, w->sim.qpos, w->sim.qvel);
    double reward = reward_terms(w->terms, &e->weights, &v, &w->now, action, w->action, w->sim.contact);
    if (w->sim.diverged) { /* the action itself may be what is not finite */
        memset(w->terms, 0, sizeof w->terms);
        memset(w->action, 0, sizeof w->action);
        reward = 0;
    } else {
        memcpy(w->action, action, sizeof w->action);
    }
    w->score += reward_score(&e->weights, w->terms);
    w->piece.end = END_NONE;
    end_kind end = judge(e, w, &v);
    w->ended = (env_episode){w->clip, w->first, (int)w->at, w->steps, w->score / w->steps, end};
    if (end != END_NONE && !(w->hard && w->lost)) w->piece = w->ended;
    if (out->reward) out->reward[i] = (float)(reward * e->period);
    if (out->end) out->end[i] = (uint8_t)end;
    for (int k = 0; out->terms && k < REWARD_TERMS; k++)
        out->terms[(size_t)i * REWARD_TERMS + (size_t)k] = (float)w->terms[k];
    if (end != END_NONE && out->last_critic)
        write_critic(e, w, &v, out->last_critic + (size_t)i * OBS_CRITIC);
    if (end == END_NONE && w->guided && w->at >= w->stands_at)
        end_guided(w, e->physics, e->refs, &e->options);
    else if (end == END_NONE)
        maybe_push(w, &e->options, e->push_share, e->period);
    else if (end != END_DIVERGED) /* its trail is collected first */
        begin_again(j->e, w, end, worker);
    if (end != END_DIVERGED) write_observation(e, w, i, out, end != END_NONE);
}

/* ---- All worlds ---- */

static void keep_trail(env *e, const env_one *w)
{
    if (e->dumped) return;
    e->dumped = true;
    e->trail_n = w->trail_n < TRAIL ? (int)w->trail_n : TRAIL;
    for (int i = 0; i < e->trail_n; i++) e->trail[i] = w->trail[(w->trail_n - e->trail_n + i) % TRAIL];
}

/* By one thread, in the order of worlds. */
static void collect(env *e, const env_arrays *out)
{
    for (int i = 0; i < e->n; i++) {
        env_one *w = &e->worlds[i];
        const env_episode *done = &w->ended, *piece = &w->piece;
        e->counts.steps++;
        for (int k = 0; k < REWARD_TERMS; k++) e->counts.terms[k] += w->terms[k];
        e->counts.score += reward_score(&e->weights, w->terms);
        e->counts.lost += w->after.lost;
        if (piece->end != END_NONE && e->starts.ended) e->starts.ended(e->starts.ctx, piece);
        if (done->end == END_NONE) continue;
        e->counts.episodes++;
        e->counts.ends[done->end]++;
        e->clip_episodes[done->clip]++;
        e->clip_failures[done->clip] += end_is_failure(done->end);
        if (done->end == END_DIVERGED) {
            keep_trail(e, w);
            begin(e, w);
            write_observation(e, w, i, out, true);
        }
    }
}

void env_reset(env *e, const env_arrays *out)
{
    pool_items(e->threads, e->n, reset_world, &(job){e, NULL, out});
}

void env_step(env *e, const float *actions, const env_arrays *out)
{
    pool_items(e->threads, e->n, step_world, &(job){e, actions, out});
    collect(e, out);
}

const env_after *env_last(const env *e, int world)
{
    return &e->worlds[world].after;
}

const sim_world *env_world(const env *e, int world)
{
    return &e->worlds[world].sim;
}

const references *env_references(const env *e)
{
    return e->refs;
}

void env_state(env *e, state_list *l, const char *prefix)
{
    const size_t clips = (size_t)e->refs->n;
    state_add(l, prefix, "worlds", DT_U8, e->worlds, sizeof *e->worlds * (size_t)e->n);
    state_examine(l, env_check_worlds, e->refs);
    state_bulky(l);
    state_add(l, prefix, "counts", DT_U8, &e->counts, sizeof e->counts);
    state_add_growing(l, prefix, "clip_episodes", DT_I64, e->clip_episodes, clips);
    state_add_growing(l, prefix, "clip_failures", DT_I64, e->clip_failures, clips);
}

/* ---- Diagnosis ---- */

env_counts env_count(const env *e)
{
    return e->counts;
}

void env_clear(env *e)
{
    e->counts = (env_counts){0};
    memset(e->clip_episodes, 0, sizeof *e->clip_episodes * (size_t)e->refs->n);
    memset(e->clip_failures, 0, sizeof *e->clip_failures * (size_t)e->refs->n);
}

void env_diagnose(const env *e, text *out)
{
    const env_counts *c = &e->counts;
    if (!c->episodes) {
        text_add(out, "No episode has ended in %lld steps.\n", (long long)c->steps);
        return;
    }
    const double all = (double)c->episodes;
    text_add(out, "%lld episodes, %.1f steps each on average; they end by", (long long)c->episodes,
             (double)c->steps / all);
    const char *comma = "";
    for (int k = 1; k < END_KINDS; k++) {
        if (!c->ends[k]) continue;
        text_add(out, "%s %s (%.1f %%)", comma, END_NAME[k], 100 * (double)c->ends[k] / all);
        comma = ",";
    }
    text_add(out, ".\n");
    for (int shown = 0, last = -1; shown < 5; shown++) { /* clips by falling number of failures */
        int worst = -1;
        for (int i = 0; i < e->refs->n; i++) {
            bool listed = last >= 0 && (e->clip_failures[i] > e->clip_failures[last] ||
                                        (i <= last && e->clip_failures[i] == e->clip_failures[last]));
            if (!listed && (worst < 0 || e->clip_failures[i] > e->clip_failures[worst])) worst = i;
        }
        if (worst < 0 || !e->clip_failures[worst]) break;
        text_add(out, "%s: %lld of %lld episodes fail.\n", e->refs->clips[worst].name,
                 (long long)e->clip_failures[worst], (long long)e->clip_episodes[worst]);
        last = worst;
    }
}

hrc_status env_dump(const env *e, const char *path, hrc_error *err)
{
    if (!e->dumped) return fail(err, HRC_EINVAL, "%s: nothing to write, no world has diverged", path);
    static double qpos[TRAIL][HRC_NQ], qvel[TRAIL][HRC_NV], target[TRAIL][HRC_JOINTS];
    const int n = e->trail_n;
    for (int i = 0; i < n; i++) {
        memcpy(qpos[i], e->trail[i].qpos, sizeof qpos[i]);
        memcpy(qvel[i], e->trail[i].qvel, sizeof qvel[i]);
        memcpy(target[i], e->trail[i].target, sizeof target[i]);
    }
    const tensor tensors[] = {{"qpos", DT_F64, 2, {n, HRC_NQ}, n * HRC_NQ, qpos},
                              {"qvel", DT_F64, 2, {n, HRC_NV}, n * HRC_NV, qvel},
                              {"target", DT_F64, 2, {n, HRC_JOINTS}, n * HRC_JOINTS, target}};
    return tensorfile_write(path, tensors, COUNT(tensors), &(tensor_meta){"format", "heracles-diverged"}, 1,
                            err);
}
