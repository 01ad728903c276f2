/* Policies of others as trackers, and our own export: observations, orders of joints, refusals, rollouts. */
#include "shell.h" /* before anything that has a type named text */

#include "motion/clip.h"
#include "onnx/write.h"
#include "track/others_parts.h"

#include <stdlib.h>
#include <unistd.h>

#include "small.h"
#include "test.h"

#define FORMATS "../shared/data/formats/"
#define DANCE "../shared/data/lafan1-g1/dance1_subject2.csv"

static double number(const json_t *j, const char *method, const char *key)
{
    const json_t *m = json_object_get(json_object_get(j, "methods"), method),
                 *v = json_object_get(m ? m : j, key);
    ENSURE(json_is_number(v));
    return json_number_value(v);
}

/* A robot and a reference in which every number is its own. */
static void odd_scene(g1_state *s, hrc_frame window[HRC_WINDOW])
{
    double qpos[HRC_NQ], qvel[HRC_NV];
    hrc_robot_stance(qpos);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] += 0.001 * (i + 1);
    for (int i = 0; i < HRC_NV; i++) qvel[i] = 0.1 * (i + 1);
    g1_state_read(s, qpos, qvel);
    for (int f = 0; f < HRC_WINDOW; f++) {
        for (int i = 0; i < HRC_NQ; i++) window[f].qpos[i] = (float)qpos[i];
        for (int i = 7; i < HRC_NQ; i++) window[f].qpos[i] += 0.01f * (float)(f + 1);
        for (int i = 0; i < HRC_NV; i++) window[f].qvel[i] = (float)f + 0.01f * (float)i;
    }
}

static void test_twist2_observation(void)
{
    static others_model m;
    static hrc_frame window[HRC_WINDOW];
    static float x[TWIST2_INPUTS], y[TWIST2_INPUTS];
    others_memory memory = {0};
    g1_state s;
    odd_scene(&s, window);
    twist2_settings(&m);
    twist2_observe(&m, &memory, x, &s, window);
    ENSURE_NEAR((double)x[0], 1.00, 1e-6); /* the next frame's velocity; the root is upright */
    ENSURE_NEAR((double)x[5], 1.05, 1e-6);
    ENSURE_NEAR((double)x[6], (double)window[1].qpos[7], 1e-6);
    ENSURE_NEAR((double)x[35], 0.25 * 0.4, 1e-6);
    ENSURE_NEAR((double)x[40], s.q[0] + 0.2, 1e-6);
    ENSURE_NEAR((double)x[69], 0.05 * s.qd[0], 1e-6);
    ENSURE(x[69 + 4] == 0 && x[69 + 5] == 0 && x[69 + 10] == 0 && x[69 + 11] == 0 && x[69 + 12] != 0);
    ENSURE(!memcmp(x, x + 127, 127 * sizeof *x) && !memcmp(x, x + 127 * 10, 127 * sizeof *x)); /* filled */
    ENSURE_NEAR((double)x[1397 + 6], (double)window[0].qpos[7], 1e-6); /* the "future" is now */
    memory.begun = true;
    memory.last[3] = 0.5f;
    s.q[0] += 1;
    twist2_observe(&m, &memory, y, &s, window);
    ENSURE_NEAR((double)y[40], (double)x[40] + 1, 1e-6);
    ENSURE(y[98 + 3] == 0.5f &&
           !memcmp(y + 127 * 10, x, 127 * sizeof *x)); /* newest of the past is the last */
    twist2_observe(&m, &memory, x, &s, window);
    ENSURE(!memcmp(x + 127 * 10, y, 127 * sizeof *x) && memcmp(x + 127 * 9, y, 127 * sizeof *x));
    ENSURE(m.kp[3] == 150 && m.kd[18] == 5 && m.kp[28] == 20 && m.q0[16] == 0.4 && m.q0[23] == -0.4);
}

/* ---- BeyondMimic's ---- */

/* A policy whose action is a part of its observation: numbers first .. first+28 of n. */
static void write_mimic(const char *path, int n, int first, const char *names, const char *terms)
{
    static float w[29 * 200];
    hrc_error err;
    onnx_graph g = {0};
    memset(w, 0, sizeof w);
    for (int i = 0; i < HRC_JOINTS; i++) w[i * n + first + i] = 1;
    onnx_value x = onnx_input(&g, "obs", (int64_t[]){1, n}, 2);
    onnx_value weight = onnx_floats(&g, "w", w, (int64_t[]){HRC_JOINTS, n}, 2);
    static const int64_t yes = 1;
    onnx_value y = onnx_node(&g, "Gemm", (onnx_value[]){x, weight}, 2, NULL, 1,
                             &(onnx_attribute){"transB", &yes, -1}, 1);
    onnx_output(&g, "actions", y, (int64_t[]){1, HRC_JOINTS}, 2);
    if (names) onnx_meta(&g, "joint_names", names);
    if (terms) onnx_meta(&g, "observation_names", terms);
    onnx_meta(&g, "action_scale", "0.5");
    ENSURE_OK(onnx_write(&g, "policy", path, &err));
    onnx_free(&g);
}

static const char *backwards(void)
{
    static char names[2000];
    int used = 0;
    for (int i = HRC_JOINTS - 1; i >= 0; i--)
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", i < HRC_JOINTS - 1 ? "," : "",
                         G1_JOINT[i].name);
    return names;
}

static void ensure_targets(const char *path, bool joints_of_reference)
{
    static others_model m;
    static hrc_frame window[HRC_WINDOW];
    others_runner *o;
    g1_state s;
    double target[HRC_JOINTS];
    hrc_error err;
    odd_scene(&s, window);
    ENSURE_OK(others_load(&m, path, &err));
    ENSURE_OK(others_create(&o, &m, &err));
    ENSURE(others_step(o, target, &s, window));
    for (int i = 0; i < HRC_JOINTS; i++) {
        const double seen = joints_of_reference ? (double)window[0].qpos[7 + i] : s.q[i] - G1_JOINT[i].q0;
        ENSURE_NEAR(target[i], G1_JOINT[i].q0 + 0.5 * seen, 1e-5);
    }
    others_free(o);
    others_model_free(&m);
}

static void test_mimic_orders(void)
{
    const char *path = test_path("m.onnx");
    write_mimic(path, 154, 0, NULL, NULL);
    ensure_targets(path, true);
    write_mimic(path, 154, 0, backwards(), NULL); /* its joints in another order are the G1's all the same */
    ensure_targets(path, true);
    write_mimic(path, 160, 73, backwards(), NULL); /* 58 + 3 + 6 + 3 + 3: its joint_pos */
    ensure_targets(path, false);
    write_mimic(path, 154, 32, backwards(),
                "actions,base_ang_vel,dof_pos,dof_vel,motion_command,motion_ref_ori_b");
    ensure_targets(path, false);
}

static void ensure_refused(const char *path, const char *why)
{
    static others_model m;
    hrc_error err;
    ENSURE(others_load(&m, path, &err) < 0);
    if (!strstr(err.text, why)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", err.text, why);
}

static void test_refusals(void)
{
    const char *path = test_path("r.onnx");
    write_mimic(path, 155, 0, NULL, NULL);
    ensure_refused(path, "\"obs\" has 155 numbers and no observation_names, expected 154 or 160");
    write_mimic(path, 160, 0, NULL, "command,motion_anchor_ori_b,base_ang_vel,joint_pos,joint_vel,actions");
    ensure_refused(path, "observations have 154 numbers, but the input \"obs\" takes 160");
    write_mimic(path, 154, 0, "left_hip_pitch_joint,left_hip_rool_joint", NULL);
    ensure_refused(path, "joint 1 is \"left_hip_rool_joint\"");
    write_mimic(path, 154, 0, NULL, "command,height_scan");
    ensure_refused(path, "observation \"height_scan\" (number 1) is not known");
    ENSURE(shell("$HERACLES eval motions/wave.safetensors --method x=motions/wave.onnx --planner off") == 1);
}

/* ---- The motion that a policy carries ---- */

/* Three frames: joint i of the file is 0.01 i + 0.1 t; the second body, the pelvis, at height 0.8 + t. */
static void write_carrier(const char *path)
{
    static const int64_t axis = 0, whole = TYPE_INT64;
    float joints[3 * HRC_JOINTS], pos[3 * 6] = {0}, quat[3 * 8] = {0};
    hrc_error err;
    onnx_graph g = {0};
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < HRC_JOINTS; i++) joints[t * HRC_JOINTS + i] = 0.01f * (float)i + 0.1f * (float)t;
        pos[t * 6 + 5] = 0.8f + (float)t;
        quat[t * 8] = quat[t * 8 + 4] = 1;
    }
    onnx_value time = onnx_input(&g, "time_step", (int64_t[]){1, 1}, 2);
    onnx_value at = onnx_node(&g, "Cast", &time, 1, NULL, 1, &(onnx_attribute){"to", &whole, -1}, 1);
    at = onnx_op2(&g, "Squeeze", at, onnx_ints(&g, "one", (int64_t[]){1}, 1));
    const struct {
        const char *name, *table;
        const float *data;
        int64_t dims[3];
        int ndim;
    } OUT[] = {{"joint_pos", "a", joints, {3, HRC_JOINTS}, 2},
               {"body_pos_w", "b", pos, {3, 2, 3}, 3},
               {"body_quat_w", "c", quat, {3, 2, 4}, 3}};
    for (int i = 0; i < 3; i++) {
        onnx_value table = onnx_floats(&g, OUT[i].table, OUT[i].data, OUT[i].dims, OUT[i].ndim);
        onnx_value row = onnx_node(&g, "Gather", (onnx_value[]){table, at}, 2, NULL, 1,
                                   &(onnx_attribute){"axis", &axis, -1}, 1);
        const int64_t dims[3] = {1, OUT[i].dims[1], OUT[i].dims[2]};
        onnx_output(&g, OUT[i].name, row, dims, OUT[i].ndim);
    }
    onnx_meta(&g, "joint_names", backwards());
    onnx_meta(&g, "body_names", "torso_link,pelvis");
    ENSURE_OK(onnx_write(&g, "policy", path, &err));
    onnx_free(&g);
}

static void test_carried_motion(void)
{
    hrc_error err;
    clip c;
    const char *path = test_path("carrier.onnx");
    write_carrier(path);
    ENSURE_OK(clip_load(&c, path, NULL, NULL, &err));
    ENSURE(c.n == 3 && c.fps == 50);
    for (int t = 0; t < 3; t++) {
        const float *q = clip_frame(&c, t);
        ENSURE_NEAR((double)q[2], 0.8 + t, 1e-6);
        ENSURE_NEAR((double)q[3], 1, 1e-6);
        ENSURE_NEAR((double)q[7 + HRC_JOINTS - 1], 0.1 * t, 1e-6); /* its first joint is our last */
        ENSURE_NEAR((double)q[7], 0.28 + 0.1 * t, 1e-6);
    }
    clip_free(&c);
    write_mimic(path, 154, 0, NULL, NULL);
    ENSURE(clip_load(&c, path, NULL, NULL, &err) < 0 && strstr(err.text, "has no time_step"));
}

static void test_own_motion(void)
{
    if (access(FORMATS "holosoma_dancing.onnx", R_OK)) SKIP("no " FORMATS);
    json_t *j = shell_json("$HERACLES eval " FORMATS "holosoma_dancing.onnx --limit 8 --tracker " FORMATS
                           "holosoma_dancing.onnx --planner off --json --quiet");
    ENSURE(number(j, "", "cr") == 1 && number(j, "", "joint_rad") < 0.8);
    json_decref(j);
}

/* ---- Our own export ---- */

static void test_export(void)
{
    json_t *j = shell_json("$HERACLES export models/tracker.safetensors -o $T/policy.onnx --json");
    const double worst = json_number_value(json_object_get(j, "parity_rad"));
    ENSURE(json_integer_value(json_object_get(j, "parity_steps")) > 200 && worst > 0 && worst < 1e-4);
    json_decref(j);
    ENSURE(shell("test ! -e $T/policy.unproven.onnx && test -s $T/policy.onnx") == 0);
    j = shell_json("$HERACLES eval motions/wave.safetensors --limit 3 --method "
                   "ours=models/tracker.safetensors,export=$T/policy.onnx --json --quiet");
    ENSURE_NEAR(number(j, "export", "joint_rad"), number(j, "ours", "joint_rad"), 1e-4);
    ENSURE_NEAR(number(j, "export", "linvel_mps"), number(j, "ours", "linvel_mps"), 1e-4);
    ENSURE(number(j, "export", "cr") == 1);
    json_decref(j);
    ENSURE(shell("$HERACLES export $T/policy.onnx -o $T/again.onnx") == 2 && says("ONNX model already"));
}

/* Every basis of actions and an untrained network: what is written is what is run. */
static void test_bases(void)
{
    small_tracker("d.safetensors", "default");
    small_tracker("a.safetensors", "ahead");
    ENSURE(
        shell(
            "$HERACLES export $T/d.safetensors -o $T/d.onnx && $HERACLES export $T/a.safetensors -o $T/a.onnx") ==
        0);
    ENSURE(shell("$HERACLES export $T/d.safetensors -o $T/x.onnx --dialect other") == 2);
}

/* ---- Rollouts of real ones ---- */

static void test_arena(void)
{
    if (access(FORMATS "twist2_1017_20k.onnx", R_OK)) SKIP("no " FORMATS);
    ENSURE(shell("$HERACLES deploy --net lo --domain 99 --motion motions/wave.safetensors --tracker " FORMATS
                 "twist2_1017_20k.onnx") == 1 &&
           says("which the robot is not given"));
    ENSURE(shell("$HERACLES eval motions/wave.safetensors --method t=" FORMATS "twist2_1017_20k.onnx") == 1);
    ENSURE(says("needs physics steps of at most") && says("--sim.timestep=0.001 --sim.substeps=20"));
    json_t *j = shell_json(
        "$HERACLES eval motions/wave.safetensors --limit 3 --tracker " FORMATS
        "twist2_1017_20k.onnx --planner off --sim.timestep=0.001 --sim.substeps=20 --json --quiet");
    ENSURE(number(j, "", "cr") == 1 && number(j, "", "joint_rad") < 0.5);
    json_decref(j);
    if (access(DANCE, R_OK)) SKIP("no " DANCE);
    j = shell_json("$HERACLES eval " DANCE " --limit 4 --method u=" FORMATS
                   "unitree_rl_mjlab/policy.onnx,h=" FORMATS "holosoma_dancing.onnx --json --quiet");
    ENSURE(number(j, "u", "cr") == 1 && number(j, "u", "joint_rad") < 0.8);
    ENSURE(number(j, "h", "cr") == 1 && number(j, "h", "joint_rad") < 0.8);
    json_decref(j);
}

TEST_TABLE({"others.twist2_observation", test_twist2_observation}, {"others.mimic_orders", test_mimic_orders},
           {"others.refusals", test_refusals}, {"others.carried_motion", test_carried_motion},
           {"others.own_motion", test_own_motion}, {"others.export", test_export},
           {"others.bases", test_bases}, {"others.arena", test_arena})
