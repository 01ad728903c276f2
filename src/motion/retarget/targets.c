#include "motion/retarget/targets.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

/* Key points of frame i: down the tree, each bone turned with its body. */
static void place_points(targets *t, const human *h, int i)
{
    const robot_body *r = robot_bodies();
    memset(t->point[i][0], 0, sizeof t->point[i][0]);
    for (int b = 0; b < BODIES; b++) {
        quat_mul(t->quat[i][b], h->quat[i][b], r[b].along);
        if (b == BODY_PELVIS) continue;
        double step[3];
        quat_rotate(step, h->quat[i][r[b].parent], r[b].start);
        for (int k = 0; k < 3; k++) t->point[i][b][k] = t->point[i][r[b].parent][k] + step[k];
    }
}

static double length(const double v[3])
{
    return vec_norm(v);
}

hrc_status targets_create(targets *t, const human *h, arena *memory, hrc_error *err)
{
    const robot_body *r = robot_bodies();
    *t = (targets){.n = h->n};
    t->root = arena_alloc(memory, (size_t)h->n, sizeof *t->root);
    t->point = arena_alloc(memory, (size_t)h->n, sizeof *t->point);
    t->quat = arena_alloc(memory, (size_t)h->n, sizeof *t->quat);
    if (!t->root || !t->point || !t->quat)
        return fail(err, HRC_ENOMEM, "out of memory for the targets of %d frames", h->n);
    t->leg_scale = (length(r[BODY_LEFT_THIGH].bone) + length(r[BODY_LEFT_SHIN].bone)) / h->leg;
    t->arm_scale = (length(r[BODY_LEFT_UPPER_ARM].bone) + length(r[BODY_LEFT_FOREARM].bone)) / h->arm;
    t->torso_scale = (r[BODY_TORSO].start[2] + r[BODY_LEFT_UPPER_ARM].start[2]) / fmax(h->torso, 0.05);
    for (int i = 0; i < h->n; i++) {
        for (int k = 0; k < 3; k++) t->root[i][k] = t->leg_scale * h->hips[i][k];
        place_points(t, h, i);
    }
    return HRC_OK;
}

#define NEAR 0.2 /* how much a radian from the pose before counts against one beyond a limit */

/* First joints of the chains. */
enum { HIP = 0, WAIST = 12, SHOULDER = 15, RIGHT_LEG = 6, RIGHT_ARM = 7 };

/* Matrix of a^-1 b. */
static void relative(double m[9], const double a[4], const double b[4])
{
    double inverse[4], q[4];
    quat_conj(inverse, a);
    quat_mul(q, inverse, b);
    quat_to_mat(m, q);
}

static double safe_asin(double x)
{
    return asin(fmax(-1, fmin(1, x)));
}

static double wrapped(double angle)
{
    return remainder(angle, 2 * M_PI);
}

/* The turn about y alone that comes nearest. */
static double twist_y(const double m[9])
{
    return atan2(m[2] - m[6], m[0] + m[8]);
}

static double outside(int joint, double angle)
{
    return fmax(0, fmax(angle - G1_JOINT[joint].hi, G1_JOINT[joint].lo - angle));
}

/* m = Ry(a) Rx(b) Rz(c), with the mounts' constant turns taken off a and b: the joints' angles. There are two
 * ways, (a, b, c) and (a + pi, pi - b, c + pi); the second is for arms only: a hip that once went there (a
 * leg raised sideways over the horizontal) does not find back. */
static void ball_joint(double *q, const double *near, int joint, const double m[9], double mount_y,
                       double mount_x, int ways)
{
    double a = atan2(m[2], m[8]), b = safe_asin(-m[5]), c = atan2(m[3], m[4]), best = INFINITY;
    for (int way = 0; way < ways; way++) {
        double turn = way ? M_PI : 0;
        double angle[3] = {wrapped(a + turn - mount_y), wrapped((way ? M_PI - b : b) - mount_x),
                           wrapped(c + turn)};
        double bad = 0;
        for (int k = 0; k < 3; k++)
            bad += outside(joint + k, angle[k]) + NEAR * fabs(angle[k] - near[7 + joint + k]);
        if (bad >= best) continue;
        best = bad;
        memcpy(q + 7 + joint, angle, sizeof angle);
    }
}

/* Turn of a link's mount about x or y, from the robot's table. */
static double mount_angle(int link, int axis)
{
    double v[3];
    quat_log(v, G1_LINK[link].quat);
    return v[axis];
}

static void guess_leg(double *q, const double *near, const double (*quat)[4], int side)
{
    int thigh = side ? BODY_RIGHT_THIGH : BODY_LEFT_THIGH, joint = HIP + side * RIGHT_LEG;
    double m[9];
    relative(m, quat[BODY_PELVIS], quat[thigh]);
    ball_joint(q, near, joint, m, mount_angle(joint + 2, 1), 0, 1);
    relative(m, quat[thigh], quat[thigh + 1]);
    q[7 + joint + 3] = wrapped(twist_y(m) - mount_angle(joint + 4, 1));
    relative(m, quat[thigh + 1], quat[thigh + 2]);
    q[7 + joint + 4] = atan2(m[2], m[8]);
    q[7 + joint + 5] = safe_asin(-m[5]);
}

static void guess_arm(double *q, const double *near, const double (*quat)[4], int side)
{
    int upper = side ? BODY_RIGHT_UPPER_ARM : BODY_LEFT_UPPER_ARM, joint = SHOULDER + side * RIGHT_ARM;
    double m[9], mounted[4];
    quat_mul(mounted, quat[BODY_TORSO], G1_LINK[joint + 1].quat);
    relative(m, mounted, quat[upper]);
    ball_joint(q, near, joint, m, 0, mount_angle(joint + 2, 0), 2);
    relative(m, quat[upper], quat[upper + 1]);
    q[7 + joint + 3] = twist_y(m);
    relative(m, quat[upper + 1], quat[upper + 2]); /* Rx Ry Rz */
    q[7 + joint + 4] = atan2(-m[5], m[8]);
    q[7 + joint + 5] = safe_asin(m[2]);
    q[7 + joint + 6] = atan2(-m[1], m[0]);
}

void guess_pose(double qpos[HRC_NQ], const double near[HRC_NQ], const targets *t, int frame)
{
    const double(*quat)[4] = (const double(*)[4])t->quat[frame];
    double m[9];
    memcpy(qpos, t->root[frame], 3 * sizeof *qpos);
    memcpy(qpos + 3, quat[BODY_PELVIS], 4 * sizeof *qpos);
    relative(m, quat[BODY_PELVIS], quat[BODY_TORSO]); /* Rz Rx Ry */
    qpos[7 + WAIST] = atan2(-m[1], m[4]);
    qpos[7 + WAIST + 1] = safe_asin(m[7]);
    qpos[7 + WAIST + 2] = atan2(-m[6], m[8]);
    for (int side = 0; side < 2; side++) {
        guess_leg(qpos, near, quat, side);
        guess_arm(qpos, near, quat, side);
    }
    for (int j = 0; j < HRC_JOINTS; j++)
        qpos[7 + j] = fmin(fmax(qpos[7 + j], G1_JOINT[j].lo), G1_JOINT[j].hi);
}
