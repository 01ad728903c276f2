#include "deploy/lower.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "robot/capsules.h"
#include "robot/posture.h"

#define KNEE_MORE 2.0 /* rad more than standing: the pelvis at 0.26 m */
#define ANKLE_MORE -0.48

enum { HIP_PITCH = 0, KNEE = 3, ANKLE_PITCH = 4 }; /* left */

/* 0 to 1 with no slope and no curvature at either end. */
static double ease(double x)
{
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    return x * x * x * (x * (6 * x - 15) + 10);
}

/* ---- The crouch ---- */

static void bend_legs(double *qpos, double hip, double knee, double ankle)
{
    const double bend[3] = {hip, knee, ankle};
    const int joint[3] = {HIP_PITCH, KNEE, ANKLE_PITCH};
    for (int k = 0; k < 3; k++) {
        double sign;
        int other = g1_mirror_joint(joint[k], &sign);
        qpos[7 + joint[k]] = bend[k], qpos[7 + other] = sign * bend[k];
    }
    double lean[3] = {0, -(hip + knee + ankle), 0}; /* the soles stay level */
    quat_exp(qpos + 3, lean);
}

static double ahead_of_ankles(const double *qpos)
{
    fk_pose pose;
    double com[3];
    fk(&pose, qpos);
    fk_com(com, &pose);
    return com[0] - 0.5 * (pose.pos[G1_LEFT_ANKLE][0] + pose.pos[G1_RIGHT_ANKLE][0]);
}

/* The root so that the feet stand where they stood, on the floor. */
static void keep_feet(double *qpos, const double ankle[3])
{
    fk_pose pose;
    fk(&pose, qpos);
    for (int k = 0; k < 2; k++) qpos[k] += ankle[k] - pose.pos[G1_LEFT_ANKLE][k];
    qpos[2] -= pose_lowest(qpos);
}

static void crouch(double *qpos, double depth)
{
    fk_pose stance;
    g1_default_qpos(qpos);
    fk(&stance, qpos);
    const double over = ahead_of_ankles(qpos);
    const double knee = qpos[7 + KNEE] + depth * KNEE_MORE,
                 ankle = qpos[7 + ANKLE_PITCH] + depth * ANKLE_MORE;
    double back = -2.5, forth = 0.5; /* of the hip: the more it bends, the farther ahead the trunk */
    for (int n = 0; n < 40; n++) {
        double hip = 0.5 * (back + forth);
        bend_legs(qpos, hip, knee, ankle);
        if (ahead_of_ankles(qpos) > over)
            back = hip;
        else
            forth = hip;
    }
    keep_feet(qpos, stance.pos[G1_LEFT_ANKLE]);
}

void lower_init(lowering *l)
{
    for (int i = 0; i < LOWER_DOWN; i++) crouch(l->crouch[i], ease((i + 1) / (0.9 * LOWER_DOWN)));
    l->motion = (hrc_motion){LOWER_FRAMES, l->qpos[0], l->qvel[0]};
}

/* ---- From here ---- */

static bool on_feet(const hrc_frame *from)
{
    double x = (double)from->qpos[4], y = (double)from->qpos[5];
    return (double)from->qpos[2] > POSTURE_FEET_M && 1 - 2 * (x * x + y * y) > POSTURE_UPRIGHT;
}

/* A cubic from a with slope v (per unit of x) to b at rest. */
static double settle(double a, double v, double b, double x)
{
    double y = 1 - x;
    return a * y * y * (1 + 2 * x) + v * x * y * y + b * x * x * (3 - 2 * x);
}

/* Share x of the way from the reference to the stance. height: of the reference over its lowest point. */
static void towards_stance(double *out, const hrc_frame *from, const double *stance, double height, double x)
{
    double start[4], yaw[4], tilt[4], upright[4] = {1, 0, 0, 0};
    for (int k = 0; k < 4; k++) start[k] = (double)from->qpos[3 + k];
    quat_split_yaw(yaw, tilt, start);
    quat_slerp(tilt, tilt, upright, ease(x));
    quat_mul(out + 3, yaw, tilt);
    for (int i = 0; i < HRC_JOINTS; i++) {
        double q =
            settle((double)from->qpos[7 + i], (double)from->qvel[6 + i] * LOWER_STANCE_S, stance[7 + i], x);
        out[7 + i] = fmin(fmax(q, G1_JOINT[i].lo), G1_JOINT[i].hi);
    }
    for (int k = 0; k < 2; k++) /* its speed is lost evenly */
        out[k] = (double)from->qpos[k] + (double)from->qvel[k] * LOWER_STANCE_S * x * (1 - 0.5 * x);
    out[2] = 0;
    out[2] = (1 - ease(x)) * height - pose_lowest(out);
}

static void put(lowering *l, int i, const double *qpos)
{
    for (int k = 0; k < HRC_NQ; k++) l->qpos[i][k] = (float)qpos[k];
}

/* A pose of the crouch, moved and turned to where the stance came to be. */
static void put_there(lowering *l, int i, const double *pose, const double *stance, const double *there)
{
    double out[HRC_NQ], yaw[4], tilt[4], step[3] = {pose[0] - stance[0], pose[1] - stance[1], 0};
    memcpy(out, pose, sizeof out);
    quat_split_yaw(yaw, tilt, there + 3);
    quat_rotate(step, yaw, step);
    quat_mul(out + 3, yaw, pose + 3);
    for (int k = 0; k < 2; k++) out[k] = there[k] + step[k];
    put(l, i, out);
}

void lower_from(lowering *l, const hrc_frame *from)
{
    double stance[HRC_NQ], start[HRC_NQ], there[HRC_NQ];
    g1_default_qpos(stance);
    stance[2] -= pose_lowest(stance);
    for (int k = 0; k < HRC_NQ; k++) start[k] = (double)from->qpos[k];
    double height = fmax(0, pose_lowest(start));
    for (int i = 0; i < LOWER_FRAMES && !on_feet(from); i++) put(l, i, start);
    if (on_feet(from)) {
        for (int i = 0; i < LOWER_STANCE; i++) {
            towards_stance(there, from, stance, height, (i + 1.0) / LOWER_STANCE);
            put(l, i, there);
        }
        for (int i = 0; i < LOWER_HOLD; i++) put_there(l, LOWER_STANCE + i, stance, stance, there);
        for (int i = 0; i < LOWER_DOWN; i++)
            put_there(l, LOWER_STANCE + LOWER_HOLD + i, l->crouch[i], stance, there);
    }
    hrc_velocities(l->qvel[0], l->qpos[0], LOWER_FRAMES);
}
