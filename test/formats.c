/* Motions as other projects write them: archives with qpos, LocoMuJoCo's series, CSV with a header, SONIC's
 * folders; Frame rates are in rate.c, pickles are in pickle.c, BeyondMimic's and holosoma's archives in
 * npz.c. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rot.h"
#include "motion/import/archive.h"
#include "motion/import/formats.h"
#include "motion/import/npy.h"
#include "motion/import/rate.h"
#include "motion/quality.h"
#include "robot/fk.h"
#include "synthetic.h"
#include "test.h"

#define SHARED "../shared/data/formats/"

/* ---- NPZ ---- */

static void test_qpos(void)
{
    hrc_error err;
    clip c, good;
    clip_decisions why;
    ENSURE_OK(clip_load(&c, "test/data/qpos.npz", NULL, &why, &err));
    synthetic_turn(&good, 12, 50);
    ENSURE(c.fps == 50 && clip_distance(&c, &good) < 1e-6);
    ENSURE(!strcmp(why.format, "NPZ, qpos") && strstr(why.fps, "from the file") &&
           strstr(why.quat, "w,x,y,z"));
    clip_free(&c);
    clip_free(&good);
}

/* A series of LocoMuJoCo as NumPy would write it; the caller frees. */
static archive_member series(const char *name, int n, double (*value)(int i, const void *of), const void *of)
{
    char *bytes = malloc(NPY_HEADER + (size_t)n * sizeof(double)), *member = strdup(name);
    ENSURE(bytes && member);
    npy_header(bytes, "<f8", 1, (int64_t[]){n});
    for (int i = 0; i < n; i++) {
        double x = value(i, of);
        memcpy(bytes + NPY_HEADER + (size_t)i * sizeof x, &x, sizeof x);
    }
    return (archive_member){member, bytes, NPY_HEADER + (size_t)n * sizeof(double)};
}

typedef struct {
    double at, amplitude, omega, fps;
    bool velocity;
} swing;

static double swinging(int i, const void *of)
{
    const swing *s = of;
    double phase = s->omega * i / s->fps;
    return s->velocity ? s->amplitude * s->omega * cos(phase) : s->at + s->amplitude * sin(phase);
}

static void test_loco_by_hand(void)
{
    static const char *const NAME[] = {"pelvis_tx",
                                       "pelvis_tz",
                                       "pelvis_ty",
                                       "pelvis_tilt",
                                       "pelvis_list",
                                       "pelvis_rotation",
                                       "lumbar_extension",
                                       "torso_joint",
                                       "left_hip_pitch_joint",
                                       "left_hip_roll_joint",
                                       "left_hip_yaw_joint",
                                       "left_knee_joint",
                                       "left_ankle_pitch_joint",
                                       "left_ankle_roll_joint",
                                       "right_hip_pitch_joint",
                                       "right_hip_roll_joint",
                                       "right_hip_yaw_joint",
                                       "right_knee_joint",
                                       "right_ankle_pitch_joint",
                                       "right_ankle_roll_joint",
                                       "left_elbow_pitch_joint",
                                       "left_elbow_roll_joint"};
    enum { N = 100 };
    archive_member member[2 * COUNT(NAME)];
    for (int k = 0; k < COUNT(NAME); k++)
        for (int v = 0; v < 2; v++) {
            swing s = {0.01 * k, 0.02, 3, 200, v};
            char name[80];
            snprintf(name, sizeof name, "%sq_%s.npy", v ? "d" : "", NAME[k]);
            member[2 * k + v] = series(name, N, swinging, &s);
        }
    hrc_error err;
    clip c;
    clip_decisions why;
    ENSURE_OK(archive_write(test_path("loco.npz"), member, COUNT(member), false, &err));
    ENSURE_OK(clip_load(&c, test_path("loco.npz"), NULL, &why, &err));
    ENSURE(c.fps == 200 && c.n == N && strstr(why.fps, "from the velocities in the file"));
    const float *q = clip_frame(&c, 0);
    double tilt[4], list[4], turn[4], one[4], quat[4];
    quat_exp(tilt, (double[]){0, -0.03, 0});
    quat_exp(list, (double[]){0.04, 0, 0});
    quat_exp(turn, (double[]){0, 0, 0.05});
    quat_mul(one, tilt, list);
    quat_mul(quat, one, turn);
    ENSURE_NEAR(q[1], 0.01, 1e-6);
    ENSURE_NEAR(q[2], 0.755 + 0.02, 1e-6);
    for (int k = 0; k < 4; k++) ENSURE_NEAR(q[3 + k], quat[k], 1e-6);
    ENSURE_NEAR(q[7 + 12], 0.07, 1e-6);          /* waist yaw is its torso_joint */
    ENSURE_NEAR(q[7 + 14], 0, 0);                /* lumbar_extension is not the robot's */
    ENSURE_NEAR(q[7 + 0], 0.08 - 0.17417, 1e-4); /* zeros of its older model */
    ENSURE_NEAR(q[7 + 3], 0.11 + 0.33471, 1e-4);
    ENSURE_NEAR(q[7 + 4], 0.12 - 0.16053, 1e-4);
    ENSURE_NEAR(q[7 + 18], 0.20, 1e-6); /* elbow */
    ENSURE_NEAR(q[7 + 19], 0.21, 1e-6); /* wrist roll is its elbow roll */
    clip_free(&c);
    ENSURE_OK(archive_write(test_path("loco.npz"), member, 20, false, &err));
    ENSURE(clip_load(&c, test_path("loco.npz"), NULL, &why, &err) == HRC_EFORMAT &&
           strstr(err.text, "another robot"));
    for (int k = 0; k < COUNT(member); k++) free((void *)member[k].name), free((void *)member[k].data);
}

/* It walks: on the floor, upright, at the rate its velocities tell. */
static void test_loco(void)
{
    hrc_error err;
    clip c;
    clip_decisions why;
    quality q;
    if (access(SHARED "locomujoco_g1.npz", R_OK) != 0) SKIP("no ../shared/data/formats");
    ENSURE_OK(clip_load(&c, SHARED "locomujoco_g1.npz", NULL, &why, &err));
    ENSURE(c.n == 500 && c.fps == 500);
    ENSURE_OK(quality_measure(&q, &c, &err));
    ENSURE(q.low_p1 > -0.06 && q.low_min < 0.03 && q.limit_excess < 0.05 && q.floating_s == 0);
    clip_free(&c);
}

static void test_holosoma_box(void)
{
    hrc_error err;
    clip c;
    clip_decisions why;
    if (access(SHARED "holosoma_box.npz", R_OK) != 0) SKIP("no ../shared/data/formats");
    ENSURE_OK(clip_load(&c, SHARED "holosoma_box.npz", NULL, &why, &err));
    ENSURE(c.n == 325 && c.fps == 50 && !strstr(why.fps, "but"));
    ENSURE(strstr(why.joints, "by the names in the file") && strstr(why.quat, "w,x,y,z"));
    clip_free(&c);
}

/* ---- CSV with a header ---- */

/* Angles about x, y, z of the world that make this quaternion, degrees. */
static void to_angles(double out[3], const float *q)
{
    double w = q[0], x = q[1], y = q[2], z = q[3], degree = 180 / M_PI;
    out[0] = atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) * degree;
    out[1] = asin(2 * (w * y - z * x)) * degree;
    out[2] = atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) * degree;
}

static char *seed_text(const clip *c)
{
    char *text = malloc((size_t)c->n * 40 * 20 + 4000), *at = text;
    ENSURE(text);
    at += sprintf(
        at, "Frame,root_translateX,root_translateY,root_translateZ,root_rotateX,root_rotateY,root_rotateZ");
    for (int j = 0; j < HRC_JOINTS; j++) at += sprintf(at, ",%s_dof", G1_JOINT[j].name);
    for (int i = 0; i < c->n; i++) {
        const float *q = clip_frame(c, i);
        double angle[3];
        to_angles(angle, q + 3);
        at += sprintf(at, "\r\n%d", i);
        for (int k = 0; k < 3; k++) at += sprintf(at, ",%.7f", 100.0 * q[k]);
        for (int k = 0; k < 3; k++) at += sprintf(at, ",%.7f", angle[k]);
        for (int j = 0; j < HRC_JOINTS; j++) at += sprintf(at, ",%.7f", q[7 + j] * 180 / M_PI);
    }
    return text;
}

static void test_seed(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    synthetic_turn(&c, 60, 120);
    char *text = seed_text(&c);
    ENSURE_OK(clip_parse(&back, "x.csv", (file_view){text, strlen(text)}, NULL, &why, &err));
    ENSURE(clip_distance(&back, &c) < 1e-5 && back.fps == 120);
    ENSURE(strstr(why.format, "Bones-SEED") && strstr(why.joints, "names in the header"));
    clip_free(&back);
    char *at = strstr(text, "left_knee_joint");
    at[0] = 'x';
    ENSURE(clip_parse(&back, "x.csv", (file_view){text, strlen(text)}, NULL, &why, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "line 1: has no column for left_knee_joint"));
    free(text);
    clip_free(&c);
}

/* Names of the quaternion decide its order; a column of times the rate; columns may stand anywhere. */
static void test_named_columns(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    synthetic_turn(&c, 30, 40);
    char *text = malloc(100000), *at = text;
    ENSURE(text);
    for (int j = HRC_JOINTS - 1; j >= 0; j--) at += sprintf(at, "%s,", G1_JOINT[j].name);
    at += sprintf(at, "time,qx,qy,qz,qw,z,y,x\n");
    for (int i = 0; i < c.n; i++) {
        const float *q = clip_frame(&c, i);
        for (int j = HRC_JOINTS - 1; j >= 0; j--) at += sprintf(at, "%.9g,", (double)q[7 + j]);
        at += sprintf(at, "%.4f,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", 3 + i / 40.0, (double)q[4],
                      (double)q[5], (double)q[6], (double)q[3], (double)q[2], (double)q[1], (double)q[0]);
    }
    ENSURE_OK(clip_parse(&back, "x.csv", (file_view){text, strlen(text)}, NULL, &why, &err));
    ENSURE(clip_distance(&back, &c) == 0 && back.fps == 40 && strstr(why.fps, "from the file"));
    clip_free(&back);
    strcpy(at, "1,2,3\n");
    ENSURE(clip_parse(&back, "x.csv", (file_view){text, strlen(text)}, NULL, &why, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "x.csv: line 32: 3 columns, expected 37 as in the header"));
    free(text);
    clip_free(&c);
}

/* ---- SONIC ---- */

static const int SONIC_BODY[] = {0, 4, 10, 18, 5, 11, 19, 9, 16, 22, 28, 17, 23, 29}; /* Isaac's numbers */

static int link_of_isaac(int body)
{
    for (int l = 1; l < G1_LINKS; l++)
        if (1 + G1_ISAAC_TO_MUJOCO[l - 1] == body) return l;
    return 0;
}

static FILE *sonic_file(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_path("sonic"), name);
    FILE *f = fopen(path, "w");
    ENSURE(f);
    return f;
}

static void write_sonic(const clip *c, int bodies)
{
    mkdir(test_path("sonic"), 0700);
    FILE *q = sonic_file("joint_pos.csv"), *v = sonic_file("joint_vel.csv"),
         *pos = sonic_file("body_pos.csv"), *quat = sonic_file("body_quat.csv"),
         *meta = sonic_file("metadata.txt");
    for (int k = 0; k < HRC_JOINTS; k++)
        fprintf(q, "%sjoint_%d", k ? "," : "", k), fprintf(v, "%sjoint_vel_%d", k ? "," : "", k);
    for (int b = 0; b < 3 * bodies; b++) fprintf(pos, "%sbody_%d_%c", b ? "," : "", b / 3, "xyz"[b % 3]);
    for (int b = 0; b < 4 * bodies; b++) fprintf(quat, "%sbody_%d_%c", b ? "," : "", b / 4, "wxyz"[b % 4]);
    float *qvel = malloc((size_t)c->n * HRC_NV * sizeof *qvel);
    ENSURE(qvel);
    clip_velocities(qvel, c);
    for (int i = 0; i < c->n; i++) {
        double qpos[HRC_NQ], angle[HRC_JOINTS], speed[HRC_JOINTS];
        fk_pose pose;
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)clip_frame(c, i)[k];
        fk(&pose, qpos);
        for (int k = 0; k < HRC_JOINTS; k++) {
            angle[G1_ISAAC_TO_MUJOCO[k]] = qpos[7 + k];
            speed[G1_ISAAC_TO_MUJOCO[k]] = (double)qvel[i * HRC_NV + 6 + k];
        }
        for (int k = 0; k < HRC_JOINTS; k++)
            fprintf(q, "%s%.9f", k ? "," : "\n", angle[k]), fprintf(v, "%s%.9f", k ? "," : "\n", speed[k]);
        for (int b = 0; b < bodies; b++) {
            int l = link_of_isaac(SONIC_BODY[b]);
            for (int k = 0; k < 3; k++) fprintf(pos, "%s%.9f", b || k ? "," : "\n", pose.pos[l][k]);
            for (int k = 0; k < 4; k++) fprintf(quat, "%s%.9f", b || k ? "," : "\n", pose.quat[l][k]);
        }
    }
    fprintf(meta, "Metadata for: turn\n==============================\n\nBody part indexes:\n[");
    for (int b = 0; b < bodies; b++) fprintf(meta, " %d", SONIC_BODY[b]);
    fprintf(meta, "]\n\nTotal timesteps: %d\n", c->n);
    fclose(q), fclose(v), fclose(pos), fclose(quat), fclose(meta);
    free(qvel);
}

static void test_sonic(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    synthetic_turn(&c, 60, 50);
    for (int bodies = 1; bodies <= COUNT(SONIC_BODY); bodies += COUNT(SONIC_BODY) - 1) {
        write_sonic(&c, bodies);
        ENSURE_OK(clip_load(&back, test_path("sonic"), NULL, &why, &err));
        ENSURE(clip_distance(&back, &c) < 1e-6 && back.fps == 50 && !strcmp(back.name, "sonic"));
        ENSURE(strstr(why.joints, bodies == 1 ? "as this format has it"
                                              : "Isaac's breadth-first order: forward kinematics"));
        ENSURE(strstr(why.fps, "from the velocities") && strstr(why.quat, "w,x,y,z"));
        clip_free(&back);
    }
    FILE *f = sonic_file("body_pos.csv");
    fprintf(f, "body_0_x,body_0_y,body_0_z\n0,0,0\n");
    fclose(f);
    ENSURE(clip_load(&back, test_path("sonic"), NULL, &why, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "60 lines in joint_pos.csv, 1 in body_pos.csv, 60 in body_quat.csv"));
    char path[300];
    snprintf(path, sizeof path, "%s/joint_pos.csv", test_path("sonic"));
    unlink(path);
    ENSURE(clip_load(&back, test_path("sonic"), NULL, &why, &err) < 0 && strstr(err.text, "joint_pos.csv"));
    clip_free(&c);
}

TEST_TABLE({"formats.qpos", test_qpos}, {"formats.loco_by_hand", test_loco_by_hand},
           {"formats.loco", test_loco}, {"formats.holosoma_box", test_holosoma_box},
           {"formats.seed", test_seed}, {"formats.named_columns", test_named_columns},
           {"formats.sonic", test_sonic})
