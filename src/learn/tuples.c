#include "learn/tuples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rot.h"
#include "robot/fk.h"

#define WEIGHT_FLOOR 0.1f /* of the mean: no dimension is without gradient */
#define STATS_SAMPLE 20000
#define STD_FLOOR 1e-3f
#define LOW_HEIGHT 0.5f /* m: root of one who sits, kneels or lies; 0.74 standing */

struct tuple_set {
    arena memory;
    tuple_options options;
    int nframes, nstarts;
    float *qpos;   /* (nframes, HRC_NQ), clips one after the other */
    float *weight; /* (nframes, D) or NULL */
    int *start;    /* (nstarts) frame */
    int *last;     /* (nstarts) last frame of its clip */
};

/* ---- Weights ---- */

static void joint_weights(float *w, const fk_pose *pose)
{
    for (int joint = 0; joint < HRC_JOINTS; joint++) {
        double sum = 0;
        for (int b = 0; b < G1_TRACKED; b++) {
            int link = G1_TRACKED_LINK[b], at = link;
            while (at > joint + 1) at = G1_LINK[at].parent; /* parents have smaller numbers */
            if (at != joint + 1) continue;                  /* this joint does not move that link */
            double arm[3], column[3];
            for (int i = 0; i < 3; i++) arm[i] = pose->pos[link][i] - pose->pos[joint + 1][i];
            vec_cross(column, pose->axis[joint + 1], arm);
            sum += vec_dot(column, column);
        }
        w[joint] = (float)sum;
    }
}

static void rotation_weights(float *w, const fk_pose *pose)
{
    const double delta = 1e-4;
    double six[6];
    quat_to_6d(six, pose->quat[G1_PELVIS]);
    for (int c = 0; c < 6; c++) {
        double ahead[6], behind[6], q[2][4], sum = 0;
        memcpy(ahead, six, sizeof six);
        memcpy(behind, six, sizeof six);
        ahead[c] += delta;
        behind[c] -= delta;
        quat_from_6d(q[0], ahead);
        quat_from_6d(q[1], behind);
        for (int b = 0; b < G1_TRACKED; b++) {
            double arm[3], local[3], p[2][3];
            for (int i = 0; i < 3; i++) arm[i] = pose->pos[G1_TRACKED_LINK[b]][i] - pose->pos[G1_PELVIS][i];
            quat_rotate_inv(local, pose->quat[G1_PELVIS], arm);
            quat_rotate(p[0], q[0], local);
            quat_rotate(p[1], q[1], local);
            for (int i = 0; i < 3; i++)
                sum += (p[0][i] - p[1][i]) * (p[0][i] - p[1][i]) / (4 * delta * delta);
        }
        w[c] = (float)sum;
    }
}

void kinematic_weight(float *w, int D, const float qpos[HRC_NQ])
{
    double q[HRC_NQ];
    fk_pose pose;
    for (int i = 0; i < HRC_NQ; i++) q[i] = (double)qpos[i];
    /* In the heading frame, where the channels of the 6D rotation are those of the state vector. */
    plan_frame frame = plan_frame_of(qpos);
    double yaw[4], back[4];
    for (int i = 0; i < 4; i++) yaw[i] = (double)frame.yaw[i];
    quat_conj(back, yaw);
    quat_mul(q + 3, back, q + 3);
    fk(&pose, q);
    joint_weights(w, &pose);
    if (plan_has_position(D))
        for (int i = 0; i < 3; i++) w[plan_root_at() + i] = G1_TRACKED;
    rotation_weights(w + plan_rot_at(D), &pose);
}

static void weigh_frames(void *ctx, int begin, int end, int worker)
{
    (void)worker;
    tuple_set *s = ctx;
    for (int i = begin; i < end; i++)
        kinematic_weight(s->weight + (size_t)i * s->options.D, s->options.D, s->qpos + (size_t)i * HRC_NQ);
}

/* To mean 1 per dimension, clamped from below. The last joints of ankle and wrist turn their link about its
 * own origin and move no tracked point: they weigh 1 in every pose. */
static void normalise_weights(tuple_set *s)
{
    const int D = s->options.D;
    for (int d = 0; d < D; d++) {
        double sum = 0;
        for (int i = 0; i < s->nframes; i++) sum += (double)s->weight[(size_t)i * D + d];
        bool moves = sum > 1e-9 * s->nframes;
        float scale = moves ? (float)(s->nframes / sum) : 0;
        for (int i = 0; i < s->nframes; i++) {
            float *w = &s->weight[(size_t)i * D + d];
            *w = moves ? fmaxf(WEIGHT_FLOOR, *w * scale) : 1;
        }
    }
}

/* ---- The set ---- */

static int times_counted(const tuple_clip *c, int frame, const tuple_options *o)
{
    return c->qpos[(size_t)frame * HRC_NQ + 2] < LOW_HEIGHT && o->low_repeat > 1 ? o->low_repeat : 1;
}

static int starts_of(const tuple_clip *c, const tuple_options *o)
{
    int n = 0;
    for (int frame = 0; frame + PLAN_H < c->n; frame += o->stride) n += times_counted(c, frame, o);
    return n;
}

static void copy_clips(tuple_set *s, const tuple_clip *clips, int nclips)
{
    int frame = 0, start = 0;
    for (int c = 0; c < nclips; c++) {
        if (clips[c].n <= PLAN_H) continue;
        memcpy(s->qpos + (size_t)frame * HRC_NQ, clips[c].qpos, sizeof(float) * HRC_NQ * (size_t)clips[c].n);
        for (int at = 0; at + PLAN_H < clips[c].n; at += s->options.stride)
            for (int i = times_counted(&clips[c], at, &s->options); i > 0; i--, start++) {
                s->start[start] = frame + at;
                s->last[start] = frame + clips[c].n - 1;
            }
        frame += clips[c].n;
    }
}

hrc_status tuples_create(tuple_set **out, const tuple_clip *clips, int nclips, const tuple_options *options,
                         pool *threads, hrc_error *err)
{
    int nframes = 0, nstarts = 0;
    for (int c = 0; c < nclips; c++) {
        int n = starts_of(&clips[c], options);
        nstarts += n;
        if (n > 0) nframes += clips[c].n;
    }
    if (nstarts == 0)
        return fail(err, HRC_EINVAL, "planner data: none of %d clips has the %d frames that a segment needs",
                    nclips, PLAN_H + 1);
    tuple_set *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "planner data: out of memory");
    *s = (tuple_set){.options = *options, .nframes = nframes, .nstarts = nstarts};
    s->qpos = ARENA_NEW(&s->memory, float, (size_t)nframes *HRC_NQ);
    s->start = ARENA_NEW(&s->memory, int, nstarts);
    s->last = ARENA_NEW(&s->memory, int, nstarts);
    if (options->weighted) s->weight = ARENA_NEW(&s->memory, float, (size_t)nframes * options->D);
    if (!s->qpos || !s->start || !s->last || (options->weighted && !s->weight)) {
        tuples_free(s);
        return fail(err, HRC_ENOMEM, "planner data: out of memory for %d frames", nframes);
    }
    copy_clips(s, clips, nclips);
    if (s->weight) {
        pool_ranges(threads, nframes, weigh_frames, s);
        normalise_weights(s);
    }
    *out = s;
    return HRC_OK;
}

void tuples_free(tuple_set *set)
{
    if (!set) return;
    arena_free(&set->memory);
    free(set);
}

int tuples_count(const tuple_set *set)
{
    return set->nstarts;
}

uint64_t tuples_digest(const tuple_set *set)
{
    const tuple_options *o = &set->options;
    const int whole[] = {o->D,        o->stride, o->max_segment, o->noise,
                         o->weighted, o->timed,  o->low_repeat,  set->nstarts};
    const float real_options[] = {o->noise_joint, o->noise_pos, o->noise_rot};
    uint64_t hash = hash_bytes(HASH_START, whole, sizeof whole);
    hash = hash_bytes(hash, real_options, sizeof real_options);
    return hash_bytes(hash, set->qpos, sizeof(float) * HRC_NQ * (size_t)set->nframes);
}

/* ---- One tuple ---- */

/* The pose at a fractional frame: lerp, slerp. */
static void pose_at(float out[HRC_NQ], const tuple_set *s, int start, float offset)
{
    int whole = (int)offset;
    float u = offset - (float)whole;
    const float *a = s->qpos + (size_t)(start + whole) * HRC_NQ;
    if (u < 1e-6f) {
        memcpy(out, a, HRC_NQ * sizeof *out);
        return;
    }
    const float *b = a + HRC_NQ;
    for (int i = 0; i < HRC_NQ; i++) out[i] = a[i] + u * (b[i] - a[i]);
    quat_slerpf(out + 3, a + 3, b + 3, u);
}

static void perturb(float qpos[HRC_NQ], const tuple_options *o, rng *r)
{
    float turn[3], step[4], u = rng_uniform(r, 0, 1), share = u * u;
    for (int i = 0; i < 3; i++) qpos[i] += share * o->noise_pos * rng_normal(r);
    for (int i = 0; i < 3; i++) turn[i] = share * o->noise_rot * rng_normal(r);
    quat_expf(step, turn);
    quat_mulf(qpos + 3, step, qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] += share * o->noise_joint * rng_normal(r);
}

static int draw_segment(const tuple_set *s, int start, rng *r)
{
    int room = s->last[start] - s->start[start];
    float longest = (float)(room < s->options.max_segment ? room : s->options.max_segment);
    float length = expf(rng_uniform(r, logf(PLAN_H), logf(fmaxf(longest, PLAN_H + 1e-3f))));
    int frames = (int)(length + 0.5f);
    return frames < PLAN_H ? PLAN_H : frames > room ? room : frames;
}

void tuple_make(const tuple_set *set, int start, rng *r, float *cond, float *residual, float *weight)
{
    const int D = set->options.D, first = set->start[start];
    float state[HRC_NQ], pose[HRC_NQ];
    int length = draw_segment(set, start, r);
    memcpy(state, set->qpos + (size_t)first * HRC_NQ, sizeof state);
    if (set->options.noise) perturb(state, &set->options, r);
    plan_frame frame = plan_frame_of(state);
    plan_encode(cond, D, &frame, state);
    plan_encode(cond + D, D, &frame, set->qpos + (size_t)(first + length) * HRC_NQ);
    if (set->options.timed) cond[2 * D] = logf((float)length / PLAN_H);
    plan_baseline base = plan_baseline_of(set->options.timed, (float)length);
    for (int k = 0; k < PLAN_K; k++) {
        float offset = (float)(k * PLAN_H) / (PLAN_K - 1);
        float *row = residual + k * D;
        if (k == 0) {
            memset(row, 0, sizeof(float) * (size_t)D);
        } else {
            pose_at(pose, set, first, offset);
            plan_encode(row, D, &frame, pose);
            for (int d = 0; d < D; d++)
                row[d] = (row[d] - cond[d] - base.way[k] * (cond[D + d] - cond[d])) / base.unit[k];
        }
        for (int d = 0; d < D; d++)
            weight[k * D + d] = set->weight ? set->weight[(size_t)(first + (int)(offset + 0.5f)) * D + d] : 1;
    }
}

/* ---- Statistics ---- */

void tuples_measure(const tuple_set *set, uint64_t seed, plan_scales *out)
{
    const int D = set->options.D, C = 2 * D + set->options.timed, KD = PLAN_K * D;
    const int n = set->nstarts < STATS_SAMPLE ? set->nstarts : STATS_SAMPLE;
    double sum[PLAN_COND_MAX] = {0}, square[PLAN_COND_MAX] = {0}, energy[PLAN_K * PLAN_D_MAX] = {0};
    for (int i = 0; i < n; i++) {
        float cond[PLAN_COND_MAX], residual[PLAN_K * PLAN_D_MAX], weight[PLAN_K * PLAN_D_MAX];
        rng r = rng_make(seed, (uint64_t)i);
        int start = (int)((long long)i * set->nstarts / n);
        tuple_make(set, start, &r, cond, residual, weight);
        for (int c = 0; c < C; c++) sum[c] += (double)cond[c], square[c] += (double)cond[c] * (double)cond[c];
        for (int j = 0; j < KD; j++) energy[j] += (double)residual[j] * (double)residual[j];
    }
    memset(out, 0, sizeof *out);
    for (int c = 0; c < C; c++) {
        double mean = sum[c] / n, variance = square[c] / n - mean * mean;
        out->cond_mean[c] = (float)mean;
        out->cond_std[c] = fmaxf(STD_FLOOR, (float)sqrt(variance > 0 ? variance : 0));
    }
    for (int j = 0; j < KD; j++) out->residual_std[j] = fmaxf(STD_FLOOR, (float)sqrt(energy[j] / n));
}
