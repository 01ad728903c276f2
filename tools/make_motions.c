/* Writes the motions that this project made itself, by formula: motions/wave.safetensors (standing, a small
 * squat and a wave) and motions/floor.safetensors (on the back, legs and arms moving). `make motions`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "motion/clip.h"
#include "robot/capsules.h"

#define FPS 50
#define SECONDS 8

enum { /* joints of the left side; the right side is the mirror */
       HIP_PITCH = 0,
       HIP_ROLL = 1,
       KNEE = 3,
       ANKLE_PITCH = 4,
       WAIST_YAW = 12,
       SHOULDER_PITCH = 15,
       SHOULDER_ROLL = 16,
       ELBOW = 18,
       WRIST_ROLL = 19,
};

static const double TURN = 6.283185307179586;

/* 0 before a, 1 after b, with zero slope and curvature at both. */
static double ease(double t, double a, double b)
{
    double x = (t - a) / (b - a);
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    return x * x * x * (x * (6 * x - 15) + 10);
}

static int mirrored(int joint)
{
    double sign;
    return g1_mirror_joint(joint, &sign);
}

/* Lowers or raises the root so that the lowest point touches the floor. */
static void put_on_floor(double *qpos)
{
    fk_pose pose;
    capsule shapes[G1_GEOMS];
    fk(&pose, qpos);
    capsules_place(shapes, &pose);
    qpos[2] -= capsules_lowest(shapes, 0, G1_GEOMS).z;
}

/* Shifts the root so that the left ankle stays where it is in the default pose. */
static void keep_feet(double *qpos)
{
    fk_pose pose, first;
    double stance[HRC_NQ];
    g1_default_qpos(stance);
    fk(&pose, qpos);
    fk(&first, stance);
    for (int i = 0; i < 2; i++) qpos[i] -= pose.pos[G1_LEFT_ANKLE][i] - first.pos[G1_LEFT_ANKLE][i];
}

static void wave(double *qpos, double t)
{
    double *q = qpos + 7;
    g1_default_qpos(qpos);
    double squat = 0.35 * ease(t, 0.5, 1.5) * (1 - ease(t, 1.7, 2.7));
    double lift = ease(t, 3.0, 4.0) * (1 - ease(t, 6.5, 7.5));
    for (int side = 0; side < 2; side++) {
        /* hip + knee + ankle stay constant, so that the soles stay level */
        q[side ? mirrored(HIP_PITCH) : HIP_PITCH] -= squat;
        q[side ? mirrored(KNEE) : KNEE] += 2 * squat;
        q[side ? mirrored(ANKLE_PITCH) : ANKLE_PITCH] -= squat;
    }
    q[mirrored(SHOULDER_PITCH)] += lift * -1.3;
    q[mirrored(SHOULDER_ROLL)] += lift * -0.7;
    q[mirrored(ELBOW)] += lift * (-0.4 + 0.35 * sin(TURN * 1.2 * t));
    q[mirrored(WRIST_ROLL)] += lift * 0.5 * sin(TURN * 1.2 * t);
    q[WAIST_YAW] += lift * 0.2;
    keep_feet(qpos);
    put_on_floor(qpos);
}

static void floor_exercise(double *qpos, double t)
{
    static const double LEAN_BACK[3] = {0, -TURN / 4, 0};
    double *q = qpos + 7;
    memset(qpos, 0, HRC_NQ * sizeof *qpos);
    quat_exp(qpos + 3, LEAN_BACK);
    double amount = ease(t, 0.5, 1.5) * (1 - ease(t, 6.5, 7.5));
    for (int side = 0; side < 2; side++) {
        double phase = TURN * 0.5 * t + side * TURN / 2, sign = side ? -1 : 1;
        q[side ? mirrored(HIP_PITCH) : HIP_PITCH] = amount * (-0.8 + 0.5 * sin(phase));
        q[side ? mirrored(KNEE) : KNEE] = amount * (0.9 + 0.5 * cos(phase));
        q[side ? mirrored(SHOULDER_ROLL) : SHOULDER_ROLL] =
            sign * (0.3 + amount * (0.5 + 0.4 * sin(TURN * 0.25 * t)));
        q[side ? mirrored(SHOULDER_PITCH) : SHOULDER_PITCH] = -amount * 0.5;
        q[side ? mirrored(ELBOW) : ELBOW] = 0.9;
    }
    put_on_floor(qpos);
}

static hrc_status write_motion(const char *path, const char *name, const char *category,
                               void (*pose)(double *, double), hrc_error *err)
{
    clip c;
    TRY(clip_create(&c, SECONDS * FPS + 1, FPS, name, err));
    for (int i = 0; i < c.n; i++) {
        double qpos[HRC_NQ];
        pose(qpos, (double)i / FPS);
        for (int k = 0; k < HRC_NQ; k++) clip_frame(&c, i)[k] = (float)qpos[k];
    }
    hrc_status status = clip_label(&c, category, "made by this project, by formula", "Apache-2.0", err);
    if (status == HRC_OK) status = clip_save(&c, path, err);
    clip_free(&c);
    return status;
}

int main(void)
{
    hrc_error err;
    if (write_motion("motions/wave.safetensors", "wave", "balance", wave, &err) < 0 ||
        write_motion("motions/floor.safetensors", "floor", "fall_recovery", floor_exercise, &err) < 0) {
        fprintf(stderr, "make_motions: %s\n", err.text);
        return 1;
    }
    return 0;
}
