#include "learn/tuples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rot.h"
#include "robot/fk.h"
#include "robot/posture.h"
#include "robot/state.h"

#define WEIGHT_FLOOR 0.1f /* of the mean: no dimension is without gradient */
#define STATS_SAMPLE 20000
#define STD_FLOOR 1e-3f
#define LOW_HEIGHT 0.5f  /* m: root when sitting, kneeling or lying; 0.74 standing */
#define UNIT_FLOOR 0.25f /* of x: it stays small where plans hardly leave the reference */
#define WEIGHT_OFF                                                                                           \
    0.1f           /* of how lost the robot is: where plans hardly leave the reference, x hardly matters */
#define HEADS 0.7f /* rad: how far references head away from the robot in use (control.leash_rad) */
#define NOISE_LINEAR 0.1f /* standard deviations of velocities: m/s, rad/s */
#define NOISE_SPEED 0.3f
#define DRAWS 8            /* of segments, until one is far enough from its reference to matter */
#define FRESH 0.15f        /* share of tuples with no plan under way */
#define GOES_ON 0.5f       /* rad, L1 over the joints */
#define BORROWED 0.4f      /* share of those tuples that have another lesson's robot */
#define LESSON_NOISE 0.03f /* rad, on the joints of practice states: the next robot is not quite the same */

enum { LABELS = 2 * LESSON_LABELS }; /* of lessons that go on, and of those that begin anew */

struct tuple_set {
    arena memory;
    tuple_options options;
    int nframes, nstarts;
    float *qpos;   /* (nframes, HRC_NQ), clips one after the other */
    float *weight; /* (nframes, D) or NULL */
    int *start;    /* (nstarts) frame */
    int *last;     /* (nstarts) last frame of its clip */
    const lessons *practice;
    int *by_label; /* (practice.n) lessons in the order of their labels */
    int first[LABELS + 1];
    float upto[LABELS]; /* cumulative chance of labels */
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

void kinematic_weight(float w[PLAN_D], const float qpos[HRC_NQ])
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
    for (int i = 0; i < 3; i++) w[plan_root_at() + i] = G1_TRACKED;
    rotation_weights(w + plan_rot_at(PLAN_D), &pose);
}

static void weigh_frames(void *ctx, int begin, int end, int worker)
{
    (void)worker;
    tuple_set *s = ctx;
    for (int i = begin; i < end; i++)
        kinematic_weight(s->weight + (size_t)i * PLAN_D, s->qpos + (size_t)i * HRC_NQ);
}

/* To mean 1 per dimension, clamped from below. The last joints of ankle and wrist turn their link about its
 * own origin and move no tracked point: they weigh 1 in every pose. */
static void normalise_weights(tuple_set *s)
{
    for (int d = 0; d < PLAN_D; d++) {
        double sum = 0;
        for (int i = 0; i < s->nframes; i++) sum += (double)s->weight[(size_t)i * PLAN_D + d];
        bool moves = sum > 1e-9 * s->nframes;
        float scale = moves ? (float)(s->nframes / sum) : 0;
        for (int i = 0; i < s->nframes; i++) {
            float *w = &s->weight[(size_t)i * PLAN_D + d];
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
    for (int frame = 0; frame + o->layout.horizon < c->n; frame += o->stride) n += times_counted(c, frame, o);
    return n;
}

static void copy_clips(tuple_set *s, const tuple_clip *clips, int nclips)
{
    int frame = 0, start = 0;
    for (int c = 0; c < nclips; c++) {
        if (clips[c].n <= s->options.layout.horizon) continue;
        memcpy(s->qpos + (size_t)frame * HRC_NQ, clips[c].qpos, sizeof(float) * HRC_NQ * (size_t)clips[c].n);
        for (int at = 0; at + s->options.layout.horizon < clips[c].n; at += s->options.stride)
            for (int i = times_counted(&clips[c], at, &s->options); i > 0; i--, start++) {
                s->start[start] = frame + at;
                s->last[start] = frame + clips[c].n - 1;
            }
        frame += clips[c].n;
    }
}

/* Near the reference a plan is the reference whatever the network writes. */
static bool matters(const tuple_set *s, int i)
{
    const lesson *one = &s->practice->list[i];
    const plan_layout *l = &s->options.layout;
    return plan_unit(l, plan_lost(one->state, one->reference[0], l->position)) > 0;
}

/* The plan under way is what the guide did; elsewhere the guide begins anew, for this state. */
static bool goes_on(const lesson *one)
{
    float off = 0;
    for (int i = 7; i < HRC_NQ; i++) off += fabsf(one->guide[0][i] - one->under_way[i]);
    return off < GOES_ON;
}

/* Lessons that matter sorted by label, and the chance of each label; where a guide begins anew the label is
 * another one, since there are few of those and a robot that rests half way needs them. */
static int label_of(const tuple_set *s, int i)
{
    return s->practice->label[i] + (goes_on(&s->practice->list[i]) ? 0 : LESSON_LABELS);
}

static void sort_lessons(tuple_set *s)
{
    const lessons *l = s->practice;
    int count[LABELS] = {0}, at[LABELS];
    float sum = 0;
    for (int i = 0; i < l->n; i++) count[label_of(s, i)] += matters(s, i);
    for (int k = 0; k < LABELS; k++) {
        at[k] = s->first[k];
        s->first[k + 1] = s->first[k] + count[k];
        s->upto[k] = sum += sqrtf((float)count[k]);
    }
    for (int i = 0; i < l->n; i++)
        if (matters(s, i)) s->by_label[at[label_of(s, i)]++] = i;
}

hrc_status tuples_create(tuple_set **out, const tuple_clip *clips, int nclips, const lessons *practice,
                         const tuple_options *options, pool *threads, hrc_error *err)
{
    int nframes = 0, nstarts = 0;
    for (int c = 0; c < nclips; c++) {
        int n = starts_of(&clips[c], options);
        nstarts += n;
        if (n > 0) nframes += clips[c].n;
    }
    if (nstarts == 0)
        return fail(err, HRC_EINVAL, "planner data: none of %d clips has the %d frames that a segment needs",
                    nclips, options->layout.horizon + 1);
    tuple_set *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "planner data: out of memory");
    *s = (tuple_set){.options = *options, .nframes = nframes, .nstarts = nstarts};
    s->qpos = ARENA_NEW(&s->memory, float, (size_t)nframes *HRC_NQ);
    s->start = ARENA_NEW(&s->memory, int, nstarts);
    s->last = ARENA_NEW(&s->memory, int, nstarts);
    if (practice && practice->n && practice->horizon == options->layout.horizon) {
        s->practice = practice;
        s->by_label = ARENA_NEW(&s->memory, int, practice->n);
    }
    if (options->weighted) s->weight = ARENA_NEW(&s->memory, float, (size_t)nframes *PLAN_D);
    if (!s->qpos || !s->start || !s->last || (options->weighted && !s->weight) ||
        (s->practice && !s->by_label)) {
        tuples_free(s);
        return fail(err, HRC_ENOMEM, "planner data: out of memory for %d frames", nframes);
    }
    copy_clips(s, clips, nclips);
    if (s->practice) sort_lessons(s);
    if (s->practice && !s->first[LABELS]) s->practice = NULL;
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
    const plan_layout *l = &o->layout;
    const int whole[] = {l->form,        l->horizon, l->position, l->velocities, l->under_way, o->stride,
                         o->max_segment, o->noise,   o->weighted, o->low_repeat, set->nstarts};
    const float real_options[] = {o->noise_joint, o->noise_pos, o->noise_rot, o->practice};
    uint64_t hash = hash_bytes(HASH_START, whole, sizeof whole);
    hash = hash_bytes(hash, real_options, sizeof real_options);
    if (set->practice)
        hash = hash_bytes(hash, set->practice->list, sizeof(lesson) * (size_t)set->practice->n);
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
    const int H = s->options.layout.horizon, room = s->last[start] - s->start[start];
    float longest = (float)(room < s->options.max_segment ? room : s->options.max_segment);
    float length = expf(rng_uniform(r, logf((float)H), logf(fmaxf(longest, (float)H + 1e-3f))));
    int frames = (int)(length + 0.5f);
    return frames < H ? H : frames > room ? room : frames;
}

/* A reference that heads away from the robot further than it would in use is turned as it would be there. */
static void turn_along(plan_question *q, int horizon)
{
    const float heads = heading_between(q->reference[0] + 3, q->state + 3);
    float by[4];
    if (fabsf(heads) <= HEADS) return;
    quat_from_yawf(by, heads - copysignf(HEADS, heads));
    const float about[3] = {q->reference[0][0], q->reference[0][1], 0};
    for (int i = 0; i <= horizon; i++) {
        float *pose = q->reference[i], way[3] = {pose[0] - about[0], pose[1] - about[1], 0};
        quat_rotatef(way, by, way);
        pose[0] = about[0] + way[0], pose[1] = about[1] + way[1];
        quat_mulf(pose + 3, by, pose + 3);
    }
}

/* The velocities at a frame, as of the recording. */
static void velocity_of(float qvel[HRC_NV], const tuple_set *s, int start)
{
    const int at = s->start[start], begin = at > 0 && at - 1 + 2 <= s->last[start] ? at - 1 : at;
    float around[3 * HRC_NV];
    g1_velocities(around, s->qpos + (size_t)begin * HRC_NQ, 3, PLAN_FPS);
    memcpy(qvel, around + (at - begin) * HRC_NV, sizeof(float) * HRC_NV);
}

/* Where the plan under way may have the robot: on the guide, more or less. */
static void draw_under_way(plan_question *q, const float guide[HRC_NQ], const tuple_options *o, rng *r)
{
    memcpy(q->under_way, rng_uniform(r, 0, 1) < FRESH ? q->state : guide, sizeof q->under_way);
    if (o->noise) perturb(q->under_way, o, r);
}

/* x of keyframes (K, HRC_NQ) that lead on from a robot in the state `from`. */
static void residual_of(float *residual, const plan_layout *l, const plan_question *q,
                        const float from[HRC_NQ], const float (*guide)[HRC_NQ])
{
    const float lost = plan_lost(q->state, q->reference[0], l->position);
    const plan_frame frame = plan_frame_of(q->state);
    const float unit = fmaxf(UNIT_FLOOR, plan_unit(l, lost));
    float base[PLAN_K][PLAN_D];
    plan_base(base, l, q, from);
    plan_continue(base, l, q, lost);
    memset(residual, 0, sizeof(float) * PLAN_D);
    for (int k = 1; k < PLAN_K; k++) {
        float *row = residual + k * PLAN_D;
        plan_token(row, &frame, guide[0], guide[k]);
        for (int d = 0; d < PLAN_D; d++) row[d] = (row[d] - base[k][d]) / unit;
    }
}

static float weight_of(const plan_layout *l, float lost)
{
    return l->form == PLAN_PAPER ? 1 : fmaxf(WEIGHT_OFF, lost);
}

float tuple_make(const tuple_set *set, int start, rng *r, float *cond, float *residual, float *weight)
{
    const plan_layout *l = &set->options.layout;
    const int first = set->start[start], H = l->horizon, length = draw_segment(set, start, r);
    const float *clean = set->qpos + (size_t)first * HRC_NQ;
    plan_question q;
    float guide[PLAN_K][HRC_NQ];
    memcpy(q.state, clean, sizeof q.state);
    memcpy(q.reference, set->qpos + (size_t)(first + length - H) * HRC_NQ,
           sizeof *q.reference * (size_t)(H + 1));
    velocity_of(q.qvel, set, start);
    if (set->options.noise) {
        perturb(q.state, &set->options, r);
        for (int i = 0; i < HRC_NV; i++) q.qvel[i] += (i < 3 ? NOISE_LINEAR : NOISE_SPEED) * rng_normal(r);
    }
    if (l->form == PLAN_ANCHORED) turn_along(&q, H);
    const float lost = plan_lost(q.state, q.reference[0], l->position), w = weight_of(l, lost);
    for (int k = 0; k < PLAN_K; k++) {
        const float offset = (float)(k * H) / (PLAN_K - 1);
        pose_at(guide[k], set, first, offset);
        const size_t nearest = (size_t)(first + (int)(offset + 0.5f));
        for (int d = 0; d < PLAN_D; d++)
            weight[k * PLAN_D + d] = w * (set->weight ? set->weight[nearest * PLAN_D + (size_t)d] : 1);
    }
    draw_under_way(&q, guide[0], &set->options, r);
    plan_condition(cond, l, &q);
    residual_of(residual, l, &q, l->form == PLAN_PAPER ? q.state : clean, (const float(*)[HRC_NQ])guide);
    return plan_unit(l, lost);
}

static const lesson *draw_lesson(const tuple_set *set, rng *r)
{
    const float at = rng_uniform(r, 0, set->upto[LABELS - 1]);
    int k = 0;
    while (k < LABELS - 1 && (set->upto[k] <= at || set->first[k] == set->first[k + 1])) k++;
    while (set->first[k] == set->first[k + 1]) k--; /* rounding at the very end */
    const int among = set->first[k + 1] - set->first[k];
    return &set->practice->list[set->by_label[set->first[k] + (int)rng_below(r, (uint32_t)among)]];
}

/* The robot as another lesson has it, in the same heading, if that robot is lost too. */
static void borrow_state(plan_question *q, const lesson *other, bool position)
{
    plan_question with = *q;
    float turn[4];
    heading_turn(turn, other->state + 3, q->state + 3);
    memcpy(with.state + 7, other->state + 7, sizeof(float) * HRC_JOINTS);
    memcpy(with.qvel, other->qvel, sizeof with.qvel);
    with.state[2] = other->state[2];
    quat_mulf(with.state + 3, turn, other->state + 3);
    quat_rotatef(with.qvel, turn, other->qvel);
    if (plan_lost(with.state, with.reference[0], position) > 0) *q = with;
}

/* A guide goes on whatever the robot does, and gets it up by that. Of the robots that guides led, few lag
 * behind: a planner that sees no others takes a robot's lag for an earlier moment, goes back to it, and waits
 * there for ever. So guides that go on are shown with other robots too. */
static void make_of_lesson(const tuple_set *set, rng *r, float *cond, float *residual, float *weight)
{
    const plan_layout *l = &set->options.layout;
    const lesson *one = draw_lesson(set, r);
    plan_question q;
    lesson_question(&q, one, l->horizon);
    if (l->form == PLAN_ANCHORED && l->under_way && goes_on(one) && rng_uniform(r, 0, 1) < BORROWED) {
        borrow_state(&q, draw_lesson(set, r), l->position);
        memcpy(q.under_way, one->under_way, sizeof q.under_way);
        if (set->options.noise) perturb(q.under_way, &set->options, r);
    } else {
        draw_under_way(&q, one->under_way, &set->options, r);
    }
    const float lost = plan_lost(q.state, q.reference[0], l->position);
    residual_of(residual, l, &q, q.state, one->guide);
    if (set->options.noise)
        for (int i = 7; i < HRC_NQ; i++) q.state[i] += LESSON_NOISE * rng_normal(r);
    plan_condition(cond, l, &q);
    for (int i = 0; i < PLAN_K * PLAN_D; i++) weight[i] = weight_of(l, lost);
}

void tuple_draw(const tuple_set *set, rng *r, float *cond, float *residual, float *weight)
{
    if (set->practice && rng_uniform(r, 0, 1) < set->options.practice)
        make_of_lesson(set, r, cond, residual, weight);
    else
        for (int i = 0; i < DRAWS; i++)
            if (tuple_make(set, (int)rng_below(r, (uint32_t)set->nstarts), r, cond, residual, weight) > 0)
                break;
}

/* ---- Statistics ---- */

void tuples_measure(const tuple_set *set, uint64_t seed, plan_scales *out)
{
    const int C = plan_condition_size(&set->options.layout), KD = PLAN_K * PLAN_D, n = STATS_SAMPLE;
    double sum[PLAN_COND_MAX] = {0}, square[PLAN_COND_MAX] = {0}, energy[PLAN_K * PLAN_D] = {0};
    for (int i = 0; i < n; i++) {
        float cond[PLAN_COND_MAX], residual[PLAN_K * PLAN_D], weight[PLAN_K * PLAN_D];
        rng r = rng_make(seed, (uint64_t)i);
        tuple_draw(set, &r, cond, residual, weight);
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
