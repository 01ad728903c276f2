#include "learn/world_collect.h"

#include <string.h>

hrc_status collector_create(collector *c, env *world, const policy *net, const nn_ops *ops, pool *threads,
                            int length, uint64_t seed, hrc_error *err)
{
    const size_t n = (size_t)env_worlds(world);
    *c = (collector){.world = world, .n = (int)n, .dice = rng_make(seed, 1)};
    TRY(replay_create(&c->kept, c->n, length, err));
    TRY(policy_pass_create(&c->pass, net, ops, threads, c->n, err));
    c->proprio = ARENA_NEW(&c->memory, float, n *OBS_PROPRIO);
    c->window = ARENA_NEW(&c->memory, float, n *OBS_WINDOW);
    c->seen_proprio = ARENA_NEW(&c->memory, float, n *OBS_PROPRIO);
    c->seen_window = ARENA_NEW(&c->memory, float, n *OBS_WINDOW);
    c->action = ARENA_NEW(&c->memory, float, n *HRC_JOINTS);
    c->noise = ARENA_NEW(&c->memory, float, n);
    c->age = ARENA_NEW(&c->memory, int32_t, n);
    c->end = ARENA_NEW(&c->memory, uint8_t, n);
    if (!c->proprio || !c->window || !c->seen_proprio || !c->seen_window || !c->action || !c->noise ||
        !c->age || !c->end)
        return fail(err, HRC_ENOMEM, "collection: out of memory for %d worlds", c->n);
    return HRC_OK;
}

void collector_free(collector *c)
{
    env_free(c->world);
    policy_pass_free(c->pass);
    replay_free(&c->kept);
    arena_free(&c->memory);
}

void collector_state(collector *c, state_list *l, const char *prefix)
{
    const size_t n = (size_t)c->n;
    env_state(c->world, l, prefix);
    replay_state(&c->kept, env_references(c->world), l, prefix);
    state_add_dice(l, prefix, "dice", &c->dice);
    state_add(l, prefix, "proprio", DT_F32, c->proprio, n * OBS_PROPRIO);
    state_bulky(l);
    state_add(l, prefix, "window", DT_F32, c->window, n * OBS_WINDOW);
    state_bulky(l);
    state_add(l, prefix, "noise", DT_F32, c->noise, n);
    state_bulky(l);
    state_add(l, prefix, "age", DT_I32, c->age, n);
    state_bulky(l);
}

static void begin_world(collector *c, int i, double noise)
{
    c->noise[i] = rng_uniform(&c->dice, 0, (float)noise);
    c->age[i] = 0;
}

void collector_reset(collector *c, double noise)
{
    env_reset(c->world, &(env_arrays){.proprio = c->proprio, .window = c->window});
    for (int i = 0; i < c->n; i++) begin_world(c, i, noise);
}

static void choose_actions(collector *c, const track_model *m)
{
    normal_apply(&m->proprio, c->seen_proprio, c->proprio, (size_t)c->n * OBS_HISTORY);
    normal_apply(&m->window, c->seen_window, c->window, (size_t)c->n * OBS_FRAMES);
    policy_outputs out = policy_forward(c->pass, m->params, m->codebook,
                                        &(policy_batch){c->n, c->seen_proprio, c->seen_window}, false);
    c->latent = out.latent;
    for (int i = 0; i < c->n * HRC_JOINTS; i++)
        c->action[i] = out.mean[i] + c->noise[i / HRC_JOINTS] * rng_normal(&c->dice);
}

static void keep_before(collector *c, int i)
{
    replay_step *k = replay_next(&c->kept, i);
    const sim_world *w = env_world(c->world, i);
    world_state_of(k->s, w->qpos, w->qvel);
    memcpy(k->p, c->proprio + (size_t)i * OBS_PROPRIO + OBS_PROPRIO - OBS_P, sizeof k->p);
    k->age = c->age[i];
}

static void keep_after(collector *c, int i, double noise)
{
    replay_step *k = replay_next(&c->kept, i);
    const env_after *after = env_last(c->world, i);
    const sim_world *now = env_world(c->world, i);
    for (int j = 0; j < HRC_JOINTS; j++) k->target[j] = (float)after->target[j];
    k->clip = after->clip, k->mirrored = after->mirrored;
    k->at = (float)after->at, k->pace = (float)after->pace;
    k->anchored = after->anchored, k->lost = after->lost;
    k->shown_clip = after->shown_clip, k->shown_mirrored = after->shown_mirrored;
    k->shown_at = (float)after->shown_at, k->shown_pace = (float)after->shown_pace;
    k->shown_yaw = (float)after->shown_yaw;
    const bool whole = c->end[i] == END_NONE && memcmp(after->qvel, now->qvel, sizeof after->qvel) == 0 &&
                       memcmp(after->qpos, now->qpos, sizeof after->qpos) == 0;
    k->link = whole ? LINK_WHOLE : end_is_failure(c->end[i]) ? LINK_FAILED : LINK_BROKEN;
    if (c->end[i] == END_NONE)
        c->age[i]++;
    else
        begin_world(c, i, noise);
}

void collector_step(collector *c, const track_model *m, double noise)
{
    choose_actions(c, m);
    for (int i = 0; i < c->n; i++) keep_before(c, i);
    env_step(c->world, c->action, &(env_arrays){.proprio = c->proprio, .window = c->window, .end = c->end});
    for (int i = 0; i < c->n; i++) keep_after(c, i, noise);
    replay_advance(&c->kept);
}

int collector_pairs(const collector *c, float *s, float *target, float *next, int most)
{
    const replay *k = &c->kept;
    const int64_t oldest = k->n > k->length ? k->n - k->length : 0;
    int n = 0;
    for (int64_t step = k->n - 2; step >= oldest && n < most; step--)
        for (int w = 0; w < c->n && n < most; w++) {
            const replay_step *at = replay_at(k, w, step);
            if (at->link != LINK_WHOLE) continue;
            memcpy(s + (size_t)n * WS, at->s, sizeof at->s);
            memcpy(target + (size_t)n * HRC_JOINTS, at->target, sizeof at->target);
            memcpy(next + (size_t)n * WS, replay_at(k, w, step + 1)->s, sizeof at->s);
            n++;
        }
    return n;
}
