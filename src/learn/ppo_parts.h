/* Inside learn/ppo*.c: PPO's state, and the rollout it learns from. */
#ifndef HRC_LEARN_PPO_PARTS_H
#define HRC_LEARN_PPO_PARTS_H

#include "learn/mlp_pass.h"
#include "learn/policy_pass.h"
#include "learn/sampling.h"
#include "learn/tracker_method.h"
#include "nn/adam.h"

/* What the environment wrote last, raw: (n, ...). */
typedef struct {
    float *proprio, *window, *critic, *last_critic, *reward;
    uint8_t *end;
} ppo_seen;

/* T steps of n worlds, (T n, ...), observations normalised. */
typedef struct {
    float *proprio, *window, *critic;
    float *action, *mean;
    float *logp, *reward, *value, *advantage, *target;
    bool *over;
    float log_std[HRC_JOINTS]; /* of the policy that acted */
} ppo_rollout;

/* Rows of the rollout, picked out for one update. */
typedef struct {
    float *proprio, *window, *critic, *action, *mean, *logp, *value, *advantage, *target;
} ppo_batch;

typedef struct {
    arena memory;
    const config *cfg;
    pool *threads;
    nn_ops ops;
    int n, T, rows, batch; /* worlds, steps, n T, rows of an update at the most */
    sampling starts;
    env *e;
    track_model model;
    critic judge;
    normal judge_normal;
    float *judge_params;
    policy_pass *pass;
    mlp_pass judge_pass;
    adam actor, spread, judge_adam; /* spread: of log_std */
    float *grads;                   /* policy, then critic, then PPO_EXTRA numbers: one sum over ranks */
    double *sums[3];                /* of proprioception, window, critic observation: for the normalisers */
    ppo_seen seen;
    ppo_rollout r;
    ppo_batch b;
    int *order;                                /* (rows) */
    float *last, *judge_in, *new_logp, *dlogp; /* (n), (n, OBS_CRITIC), (batch), (batch) */
    float *dmean, *new_value, *dvalue;         /* (batch, 29), (batch), (batch) */
    rng dice;
    int64_t
        adopted; /* 1: the actor began as a trained one; it keeps its scales, and the critic learns first */
} ppo;

/* T steps with the present policy; advantages and targets from them. */
void ppo_collect(ppo *p, train_report *r);

/* The first statistics of the normalisers, from states the references begin with. */
void ppo_first_statistics(ppo *p);
void ppo_merge_statistics(ppo *p);

#endif
