#include "robot/bounds.h"

#include <math.h>
#include <stdio.h>

#define TARGET_REACH 2.0 /* x effort / kp beyond the hard limits */
#define QUAT_ERROR 0.01

typedef struct {
    double joint;        /* rad beyond the hard limits */
    double speed, share; /* of joints: rad/s, or where that is 0, x the motor's own */
    double place, root_speed, root_turn;
    const char *whose;
} bounds;

static const bounds READING = {1, 200, 0, 1e4, 100, 100, "the robot's"},
                    MOTION = {0.1, 0, 1.5, 1e4, 12, 50, "the motion's"},
                    WINDOW = {10, 200, 0, 1e4, 100, 100, "the reference window's"},
                    AIM = {1, 200, 0, 1e4, 100, 100, "the plan's target"};

typedef struct {
    double lo, hi;
} range;

static range pose_range(const bounds *b, int i)
{
    if (i < 3) return (range){-b->place, b->place};
    if (i < 7) return (range){-1 - QUAT_ERROR, 1 + QUAT_ERROR};
    return (range){G1_JOINT[i - 7].lo - b->joint, G1_JOINT[i - 7].hi + b->joint};
}

static range speed_range(const bounds *b, int i)
{
    double most = i < 3 ? b->root_speed : b->root_turn;
    if (i >= 6) most = b->speed > 0 ? b->speed : b->share * G1_JOINT[i - 6].velocity;
    return (range){-most, most};
}

static bool within(double x, range r)
{
    return x >= r.lo && x <= r.hi; /* NaN is not */
}

typedef char words[32];

static const char *frame_text(words out, int frame) /* frame < 0: there is only one */
{
    out[0] = 0;
    if (frame >= 0) snprintf(out, sizeof(words), " in frame %d", frame);
    return out;
}

static hrc_status refuse(const bounds *b, int frame, const char *what, int i, int joint, double x, range r,
                         hrc_error *err)
{
    words in;
    if (!isfinite(x))
        return fail(err, HRC_ENONFINITE, "%s %s[%d]%s is not finite", b->whose, what, i,
                    frame_text(in, frame));
    return fail(err, HRC_EINVAL, "%s %s[%d] (%s)%s is %g, expected %g to %g", b->whose, what, i,
                joint < 0 ? "root" : G1_JOINT[joint].name, frame_text(in, frame), x, r.lo, r.hi);
}

static hrc_status check(const bounds *b, int frame, const double *qpos, const double *qvel, hrc_error *err)
{
    for (int i = 0; i < HRC_NQ; i++) {
        const range r = pose_range(b, i);
        if (!within(qpos[i], r)) return refuse(b, frame, "qpos", i, i - 7, qpos[i], r, err);
    }
    for (int i = 0; i < HRC_NV; i++) {
        const range r = speed_range(b, i);
        if (!within(qvel[i], r)) return refuse(b, frame, "qvel", i, i - 6, qvel[i], r, err);
    }
    double square = 0;
    for (int i = 3; i < 7; i++) square += qpos[i] * qpos[i];
    words in;
    if (fabs(sqrt(square) - 1) > QUAT_ERROR)
        return fail(err, HRC_EINVAL, "%s root quaternion%s has length %g, expected 1", b->whose,
                    frame_text(in, frame), sqrt(square));
    return HRC_OK;
}

static hrc_status check_frame(const bounds *b, int frame, const float *qpos, const float *qvel,
                              hrc_error *err)
{
    double pose[HRC_NQ], speed[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) pose[i] = (double)qpos[i];
    for (int i = 0; i < HRC_NV; i++) speed[i] = (double)qvel[i];
    return check(b, frame, pose, speed, err);
}

hrc_status bounds_reading(const hrc_state *s, hrc_error *err)
{
    return check(&READING, -1, s->qpos, s->qvel, err);
}

hrc_status bounds_motion_frame(int frame, const float qpos[HRC_NQ], const float qvel[HRC_NV], hrc_error *err)
{
    return check_frame(&MOTION, frame, qpos, qvel, err);
}

hrc_status bounds_motion(const hrc_motion *m, hrc_error *err)
{
    for (int f = 0; f < m->n; f++)
        TRY(bounds_motion_frame(f, m->qpos + (size_t)f * HRC_NQ, m->qvel + (size_t)f * HRC_NV, err));
    return HRC_OK;
}

hrc_status bounds_window(const hrc_frame *frames, int n, hrc_error *err)
{
    for (int f = 0; f < n; f++) TRY(check_frame(&WINDOW, f, frames[f].qpos, frames[f].qvel, err));
    return HRC_OK;
}

hrc_status bounds_aim(const float qpos[HRC_NQ], hrc_error *err)
{
    static const float at_rest[HRC_NV];
    return check_frame(&AIM, -1, qpos, at_rest, err);
}

bool bounds_target(double q[HRC_JOINTS])
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!isfinite(q[i])) return false;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const double reach = TARGET_REACH * G1_JOINT[i].effort / G1_JOINT[i].kp;
        q[i] = fmin(fmax(q[i], G1_JOINT[i].lo - reach), G1_JOINT[i].hi + reach);
    }
    return true;
}
