#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "learn/comm.h"
#include "learn/ppo_loss.h"
#include "learn/ppo_parts.h"

#define LAMBDA 0.95     /* of the generalised advantage */
#define FIRST_RESETS 16 /* of all worlds: for the first statistics */

static env_arrays arrays_of(const ppo_seen *s)
{
    return (env_arrays){.proprio = s->proprio,
                        .window = s->window,
                        .critic = s->critic,
                        .reward = s->reward,
                        .end = s->end,
                        .last_critic = s->last_critic};
}

/* ---- Statistics ---- */

/* The newest row of every history; all rows of windows. */
static void gather(ppo *p)
{
    for (int i = 0; i < p->n; i++)
        normal_gather(&p->model.proprio, p->sums[0],
                      p->seen.proprio + (size_t)i * OBS_PROPRIO + OBS_PROPRIO - OBS_P, 1);
    normal_gather(&p->model.window, p->sums[1], p->seen.window, (size_t)p->n * OBS_FRAMES);
    normal_gather(&p->judge_normal, p->sums[2], p->seen.critic, (size_t)p->n);
}

void ppo_merge_statistics(ppo *p)
{
    normal *const normals[] = {&p->model.proprio, &p->model.window, &p->judge_normal};
    for (int i = 0; i < COUNT(normals); i++) {
        const size_t size = NORMAL_SUMS(normals[i]->n);
        comm_sum_doubles(p->sums[i], size);
        if (!p->adopted || normals[i] == &p->judge_normal) normal_merge(normals[i], p->sums[i]);
        memset(p->sums[i], 0, size * sizeof *p->sums[i]);
    }
}

/* At a start the last action is 0; it gets the spread that it will have. */
static void spread_action(ppo *p, float *action)
{
    for (int i = 0; i < HRC_JOINTS; i++) action[i] = (float)TRACK_STD * rng_normal(&p->dice);
}

void ppo_first_statistics(ppo *p)
{
    const env_arrays out = arrays_of(&p->seen);
    for (int k = 0; k < FIRST_RESETS; k++) {
        env_reset(p->e, &out);
        for (size_t i = 0; i < (size_t)p->n; i++) {
            spread_action(p, p->seen.proprio + i * OBS_PROPRIO + OBS_PROPRIO - OBS_P + OBS_ACTION);
            spread_action(p, p->seen.critic + i * OBS_CRITIC + OBS_CRITIC_P + OBS_ACTION);
        }
        gather(p);
    }
    ppo_merge_statistics(p);
    env_reset(p->e, &out);
}

/* ---- Steps ---- */

static void values(ppo *p, float *out, const float *raw, float *normalised, int n)
{
    normal_apply(&p->judge_normal, normalised, raw, (size_t)n);
    mlp_pass_forward(&p->judge_pass, out, normalised, p->judge_params, n);
}

/* The policy's actions with noise, and what both networks thought, into step t of the rollout. */
static void act(ppo *p, int t)
{
    ppo_rollout *r = &p->r;
    const size_t first = (size_t)t * (size_t)p->n, n = (size_t)p->n;
    float *proprio = r->proprio + first * OBS_PROPRIO, *window = r->window + first * OBS_WINDOW;
    float *action = r->action + first * HRC_JOINTS, *mean = r->mean + first * HRC_JOINTS;
    normal_apply(&p->model.proprio, proprio, p->seen.proprio, n * OBS_HISTORY);
    normal_apply(&p->model.window, window, p->seen.window, n * OBS_FRAMES);
    policy_outputs o = policy_forward(p->pass, p->model.params, p->model.codebook,
                                      &(policy_batch){p->n, proprio, window}, false);
    memcpy(mean, o.mean, n * HRC_JOINTS * sizeof *mean);
    for (size_t i = 0; i < n * HRC_JOINTS; i++)
        action[i] = mean[i] + expf(r->log_std[i % HRC_JOINTS]) * rng_normal(&p->dice);
    gaussian_log_prob(r->logp + first, action, mean, r->log_std, p->n, HRC_JOINTS);
    values(p, r->value + first, p->seen.critic, r->critic + first * OBS_CRITIC, p->n);
}

/* Rewards of step t; a time-out is worth what its last state was still worth. Returns the sum without that.
 */
static double reckon(ppo *p, int t)
{
    ppo_rollout *r = &p->r;
    const size_t first = (size_t)t * (size_t)p->n;
    double sum = 0;
    int outs = 0;
    for (int i = 0; i < p->n; i++) {
        const end_kind end = (end_kind)p->seen.end[i];
        r->reward[first + (size_t)i] = p->seen.reward[i];
        sum += (double)r->reward[first + (size_t)i];
        r->over[first + (size_t)i] = end != END_NONE;
        if (end == END_CLIP || end == END_EPISODE)
            memcpy(p->judge_in + OBS_CRITIC * (size_t)outs++, p->seen.last_critic + OBS_CRITIC * (size_t)i,
                   OBS_CRITIC * sizeof(float));
    }
    if (outs) values(p, p->last, p->judge_in, p->judge_in, outs);
    for (int i = 0, k = 0; i < p->n; i++) {
        const end_kind end = (end_kind)p->seen.end[i];
        if (end == END_CLIP || end == END_EPISODE)
            r->reward[first + (size_t)i] += (float)p->cfg->ppo_gamma * p->last[k++];
    }
    return sum;
}

/* To mean 0 and deviation 1 over all ranks. */
static void normalise_advantages(ppo *p)
{
    float *a = p->r.advantage;
    double sums[3] = {p->rows, 0, 0};
    for (int i = 0; i < p->rows; i++) sums[1] += (double)a[i], sums[2] += (double)a[i] * (double)a[i];
    comm_sum_doubles(sums, 3);
    const double mean = sums[1] / sums[0], variance = fmax(0, sums[2] / sums[0] - mean * mean);
    const double scale = 1 / (sqrt(variance) + 1e-8);
    for (int i = 0; i < p->rows; i++) a[i] = (float)(((double)a[i] - mean) * scale);
}

void ppo_collect(ppo *p, train_report *report)
{
    ppo_rollout *r = &p->r;
    const env_arrays out = arrays_of(&p->seen);
    const double begin = clock_s(), mujoco = env_mujoco_s(p->e);
    double physics = 0, reward = 0;
    memcpy(r->log_std, p->model.params + p->model.net.log_std, sizeof r->log_std);
    sampling_refresh(&p->starts);
    for (int t = 0; t < p->T; t++) {
        gather(p);
        act(p, t);
        const double start = clock_s();
        env_step(p->e, r->action + (size_t)t * (size_t)p->n * HRC_JOINTS, &out);
        physics += clock_s() - start;
        reward += reckon(p, t) / p->rows;
    }
    values(p, p->last, p->seen.critic, p->judge_in, p->n);
    ppo_advantages(r->advantage, r->target, r->reward, r->value, p->last, r->over, p->T, p->n,
                   p->cfg->ppo_gamma, LAMBDA);
    normalise_advantages(p);
    report->samples += p->rows;
    train_figure(report, "reward_step", reward);
    train_figure(report, "mj_step_share",
                 (env_mujoco_s(p->e) - mujoco) / (physics * pool_threads(p->threads)));
    train_phase(report, "environment", physics);
    train_phase(report, "inference", clock_s() - begin - physics);
}
