#include "plan/anchor.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define LOG_FLOOR 0.05f

enum { TRAVEL = HRC_JOINTS, TURN = HRC_JOINTS + 3 }; /* where they begin in a token */

static int pose_size(const plan_layout *l)
{
    return l->position ? PLAN_D : PLAN_D_BLIND;
}

static int velocity_size(const plan_layout *l)
{
    return l->position ? HRC_NV : HRC_NV - 3; /* encoders and IMU do not give the root's linear velocity */
}

int plan_condition_size(const plan_layout *l)
{
    const int pose = pose_size(l);
    if (l->form == PLAN_PAPER) return 2 * pose;
    return 3 * pose + 1 + (l->velocities ? velocity_size(l) : 0) + (l->under_way ? PLAN_D_BLIND : 0);
}

float plan_unit(const plan_layout *l, float lost)
{
    return l->form == PLAN_PAPER ? 1 : lost;
}

/* In the heading frame of the state: linear velocity (where it is seen), angular (body frame as it is),
 * joints. */
static int put_velocities(float *out, const plan_layout *l, const plan_frame *frame, const float *qvel)
{
    int n = 0;
    if (l->position) {
        quat_rotate_invf(out, frame->yaw, qvel);
        n = 3;
    }
    memcpy(out + n, qvel + 3, sizeof(float) * (HRC_NV - 3));
    return n + HRC_NV - 3;
}

void plan_condition(float *cond, const plan_layout *l, const plan_question *q)
{
    const int D = pose_size(l);
    const plan_frame frame = plan_frame_of(q->state);
    plan_encode(cond, D, &frame, q->state);
    if (l->form == PLAN_PAPER) {
        plan_encode(cond + D, D, &frame, q->reference[l->horizon]);
        return;
    }
    /* the reference as if it passed through where the robot is on the floor: that offset is never closed */
    plan_frame here = frame;
    here.x = q->reference[0][0], here.y = q->reference[0][1];
    plan_encode(cond + D, D, &here, q->reference[0]);
    plan_encode(cond + 2 * D, D, &here, q->reference[l->horizon]);
    cond += 3 * D;
    *cond++ = logf(fmaxf(LOG_FLOOR, plan_off(q->state, q->reference[0], l->position)));
    if (l->velocities) cond += put_velocities(cond, l, &frame, q->qvel);
    if (l->under_way) plan_encode(cond, PLAN_D_BLIND, &frame, q->under_way);
}

void plan_token(float out[PLAN_D], const plan_frame *frame, const float origin[HRC_NQ],
                const float qpos[HRC_NQ])
{
    const float way[3] = {qpos[0] - origin[0], qpos[1] - origin[1], qpos[2] - origin[2]};
    float local[4];
    memcpy(out, qpos + 7, HRC_JOINTS * sizeof *out);
    quat_rotate_invf(out + TRAVEL, frame->yaw, way);
    quat_localf(local, frame->yaw, qpos + 3);
    quat_to_6df(out + TURN, local);
}

void plan_pose(float qpos[HRC_NQ], const plan_frame *frame, const float origin[HRC_NQ],
               const float token[PLAN_D])
{
    float way[3], local[4];
    memcpy(qpos + 7, token, HRC_JOINTS * sizeof *token);
    quat_rotatef(way, frame->yaw, token + TRAVEL);
    for (int i = 0; i < 3; i++) qpos[i] = origin[i] + way[i];
    quat_from_6df(local, token + TURN);
    quat_mulf(qpos + 3, frame->yaw, local);
}

void plan_base(float base[PLAN_K][PLAN_D], const plan_layout *l, const plan_question *q,
               const float from[HRC_NQ])
{
    const plan_frame frame = plan_frame_of(q->state);
    const float share = plan_yield(q->state, q->reference[0], l->position);
    float own[PLAN_D], now[PLAN_D], pose[HRC_NQ];
    plan_token(own, &frame, from, from);
    plan_token(now, &frame, q->reference[0], q->reference[0]);
    for (int k = 0; k < PLAN_K; k++) {
        if (l->form == PLAN_PAPER) {
            memcpy(base[k], own, sizeof own);
            continue;
        }
        const float u = (float)k / (PLAN_K - 1), yield = share * (1 - u);
        plan_window_at(pose, q->reference, u * (float)l->horizon, l->horizon);
        plan_token(base[k], &frame, q->reference[0], pose);
        for (int d = 0; d < PLAN_D; d++) base[k][d] += yield * (own[d] - now[d]); /* travel of both is 0 */
    }
}

void plan_continue(float base[PLAN_K][PLAN_D], const plan_layout *l, const plan_question *q, float lost)
{
    const plan_frame frame = plan_frame_of(q->state);
    float w[PLAN_D];
    if (l->form == PLAN_PAPER || !l->under_way || lost <= 0) return;
    plan_token(w, &frame, q->under_way, q->under_way); /* travel begins now */
    for (int k = 0; k < PLAN_K; k++)
        for (int d = 0; d < PLAN_D; d++) base[k][d] += lost * (w[d] - base[k][d]);
}

/* ---- The heading frame of the state ---- */

plan_frame plan_frame_of(const float qpos[HRC_NQ])
{
    plan_frame frame = {.x = qpos[0], .y = qpos[1]};
    float tilt[4];
    quat_split_yawf(frame.yaw, tilt, qpos + 3);
    return frame;
}

void plan_encode(float *out, int D, const plan_frame *frame, const float qpos[HRC_NQ])
{
    memcpy(out, qpos + 7, HRC_JOINTS * sizeof *out);
    if (plan_has_position(D)) {
        float offset[3] = {qpos[0] - frame->x, qpos[1] - frame->y, qpos[2]};
        quat_rotate_invf(out + plan_root_at(), frame->yaw, offset);
    }
    float local[4];
    quat_localf(local, frame->yaw, qpos + 3);
    quat_to_6df(out + plan_rot_at(D), local);
}
