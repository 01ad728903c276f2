#include "robot/state.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

void g1_state_read(g1_state *out, const double *qpos, const double *qvel)
{
    static const double DOWN[3] = {0, 0, -1};
    memcpy(out->pos, qpos, sizeof out->pos);
    memcpy(out->quat, qpos + 3, sizeof out->quat);
    memcpy(out->q, qpos + 7, sizeof out->q);
    memcpy(out->ang_vel, qvel + 3, sizeof out->ang_vel);
    memcpy(out->qd, qvel + 6, sizeof out->qd);
    quat_rotate_inv(out->lin_vel, out->quat, qvel);
    quat_rotate_inv(out->gravity, out->quat, DOWN);
}

static double tilt_between(const double gravity[3], const double ref_quat[4])
{
    static const double DOWN[3] = {0, 0, -1};
    double wanted[3], cross[3];
    quat_rotate_inv(wanted, ref_quat, DOWN);
    vec_cross(cross, gravity, wanted);
    return atan2(vec_norm(cross), vec_dot(gravity, wanted));
}

tracking_error tracking_error_of(const g1_state *robot, const float ref_qpos[HRC_NQ])
{
    double quat[4], squares = 0;
    for (int k = 0; k < 4; k++) quat[k] = (double)ref_qpos[3 + k];
    for (int i = 0; i < HRC_JOINTS; i++) {
        double d = robot->q[i] - (double)ref_qpos[7 + i];
        squares += d * d;
    }
    return (tracking_error){sqrt(squares), fabs(robot->pos[2] - (double)ref_qpos[2]),
                            tilt_between(robot->gravity, quat)};
}

double g1_joint_distance(const float a[HRC_NQ], const float b[HRC_NQ])
{
    double square = 0;
    for (int i = 7; i < HRC_NQ; i++) square += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
    return sqrt(square);
}

void g1_pose_between(float out[HRC_NQ], const float a[HRC_NQ], const float b[HRC_NQ], double t)
{
    double p[4], q[4], r[4];
    for (int k = 0; k < 4; k++) p[k] = (double)a[3 + k], q[k] = (double)b[3 + k];
    for (int k = 0; k < HRC_NQ; k++) out[k] = (float)((1 - t) * (double)a[k] + t * (double)b[k]);
    quat_slerp(r, p, q, t);
    for (int k = 0; k < 4; k++) out[3 + k] = (float)r[k];
}

/* Mean qvel between frames a and b, `seconds` apart. The rotation vector of a^-1 b has the same coordinates
 * in the frames of a and of b. */
static void difference(double out[HRC_NV], const float *a, const float *b, double seconds)
{
    double p[4], q[4], step[4];
    for (int k = 0; k < 4; k++) p[k] = (double)a[3 + k], q[k] = (double)b[3 + k];
    quat_local(step, p, q);
    quat_log(out + 3, step);
    for (int k = 0; k < 3; k++) {
        out[k] = ((double)b[k] - (double)a[k]) / seconds;
        out[3 + k] /= seconds;
    }
    for (int k = 0; k < HRC_JOINTS; k++) out[6 + k] = ((double)b[7 + k] - (double)a[7 + k]) / seconds;
}

void g1_velocities(float *qvel, const float *qpos, int n, double fps)
{
    for (int i = 0; i < n; i++) {
        /* The mean of the steps before and after frame i: a central difference, both rotation vectors in
         * the frame of i. */
        const float *at = qpos + (size_t)i * HRC_NQ;
        double before[HRC_NV] = {0}, after[HRC_NV] = {0};
        if (i > 0) difference(before, at - HRC_NQ, at, 1 / fps);
        if (i < n - 1) difference(after, at, at + HRC_NQ, 1 / fps);
        double share = i > 0 && i < n - 1 ? 0.5 : 1;
        for (int k = 0; k < HRC_NV; k++)
            qvel[(size_t)i * HRC_NV + k] = (float)(share * (before[k] + after[k]));
    }
}
