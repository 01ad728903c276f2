/* Exports with a motion inside, as the runners of BeyondMimic and Unitree use them, and what our reader of
 * such policies makes of histories and settings. */
#include "shell.h" /* before anything that has a type named text */

#include "base/rot.h"
#include "motion/clip.h"
#include "onnx/write.h"
#include "robot/fk.h"
#include "robot/g1.h"
#include "track/onnx.h"
#include "track/others_parts.h"

#include <stdlib.h>

#include "small.h"

enum { COMMAND = 58, ORI = 6, OBS = 994, AFTER = 15 };

/* ---- A runner of BeyondMimic's kind, written from what it does, not from our reader ---- */

typedef struct {
    onnx_file file;
    onnx_program *program;
    onnx_runner *runner;
    float command[COMMAND];
    double torso[4];
    float last[HRC_JOINTS];
    float past[10][93];
    int calls; /* of the graph: time_step */
} bm_runner;

static const float *output(bm_runner *r, const char *name)
{
    const int at = onnx_program_output(r->program, name);
    ENSURE(at >= 0);
    return onnx_runner_output(r->runner, at);
}

/* Every call moves the time on, and what it gives of the motion is what the next observation shows. */
static void bm_forward(bm_runner *r)
{
    onnx_runner_input(r->runner, onnx_program_input(r->program, "time_step"))[0] = (float)r->calls++;
    onnx_run(r->runner);
    memcpy(r->command, output(r, "joint_pos"), HRC_JOINTS * sizeof(float));
    memcpy(r->command + HRC_JOINTS, output(r, "joint_vel"), HRC_JOINTS * sizeof(float));
    const char *names = onnx_metadata(&r->file, "body_names");
    const int torso = 7;
    ENSURE(names && !strncmp(names, "pelvis,", 7));
    for (int i = 0; i < 4; i++) r->torso[i] = (double)output(r, "body_quat_w")[4 * torso + i];
}

static void bm_open(bm_runner *r, const char *path)
{
    hrc_error err;
    *r = (bm_runner){0};
    ENSURE_OK(onnx_read(&r->file, path, &err));
    ENSURE_OK(onnx_program_create(&r->program, &r->file, &err));
    ENSURE_OK(onnx_runner_create(&r->runner, r->program, &err));
    ENSURE(onnx_input_count(r->program, onnx_program_input(r->program, "obs")) == OBS);
    ENSURE(!strcmp(onnx_metadata(&r->file, "anchor_body_name"), "torso_link"));
    bm_forward(r); /* at reset, with zeros */
}

static void bm_close(bm_runner *r)
{
    onnx_runner_free(r->runner);
    onnx_program_free(r->program);
    onnx_file_free(&r->file);
}

static void bm_step(bm_runner *r, double target[HRC_JOINTS], const hrc_state *state)
{
    g1_state s;
    fk_pose pose;
    double back[4], turn[4], columns[6];
    float *obs = onnx_runner_input(r->runner, onnx_program_input(r->program, "obs")), now[93];
    g1_state_read(&s, state->qpos, state->qvel);
    fk(&pose, state->qpos);
    quat_conj(back, pose.quat[G1_TORSO]);
    quat_mul(turn, back, r->torso);
    quat_to_6d(columns, turn);
    for (int i = 0; i < 3; i++) now[i] = (float)s.gravity[i], now[3 + i] = (float)s.ang_vel[i];
    for (int i = 0; i < HRC_JOINTS; i++) {
        now[6 + i] = (float)(s.q[i] - G1_JOINT[i].q0);
        now[35 + i] = (float)s.qd[i];
        now[64 + i] = r->last[i];
    }
    for (int i = 0; i < 10; i++) {
        const bool first = r->calls == 1;
        memmove(r->past[i], i < 9 && !first ? r->past[i + 1] : now, sizeof now);
    }
    memcpy(obs, r->command, sizeof r->command);
    for (int i = 0; i < ORI; i++) obs[COMMAND + i] = (float)columns[i];
    obs += COMMAND + ORI;
    static const int FROM[6] = {0, 3, 6, 35, 64, 93};
    for (int t = 0; t < 5; t++)
        for (int i = 0; i < 10; i++)
            for (int k = FROM[t]; k < FROM[t + 1]; k++) *obs++ = r->past[i][k];
    bm_forward(r);
    memcpy(r->last, output(r, "actions"), sizeof r->last);
    for (int i = 0; i < HRC_JOINTS; i++)
        target[i] = G1_JOINT[i].q0 + G1_JOINT[i].action_scale * (double)r->last[i];
}

/* The robot near the reference, turned and bent a little, differently at every step. */
static hrc_state somewhere(const hrc_motion *m, int i)
{
    hrc_state s;
    const int f = i < m->n ? i : m->n - 1;
    double lean[4] = {1, 0.05 * sin(0.3 * i), 0.08 * cos(0.2 * i), 0.1 * sin(0.11 * i)}, quat[4];
    for (int k = 0; k < HRC_NQ; k++) s.qpos[k] = (double)m->qpos[f * HRC_NQ + k];
    for (int k = 7; k < HRC_NQ; k++) s.qpos[k] += 0.05 * sin(0.7 * i + k);
    for (int k = 0; k < HRC_NV; k++) s.qvel[k] = 0.3 * cos(0.4 * i + k);
    quat_normalize(lean);
    quat_mul(quat, s.qpos + 3, lean);
    memcpy(s.qpos + 3, quat, sizeof quat);
    return s;
}

static void compare_with_runner(const char *tracker_file, const char *exported, const char *motion_file)
{
    static bm_runner r;
    hrc_error err;
    hrc_model *model;
    hrc_controller *c;
    hrc_motion m;
    hrc_options o = hrc_defaults();
    o.leash_m = o.leash_rad = 0;
    ENSURE_OK(hrc_model_load(&model, tracker_file, &err));
    ENSURE_OK(hrc_motion_load(&m, motion_file, 0, NULL, &err));
    ENSURE_OK(hrc_controller_create(&c, model, NULL, &o, &err));
    ENSURE_OK(hrc_follow(c, &m, 0, 0, &err));
    bm_open(&r, exported);
    int ties = 0;
    for (int i = 0; i < m.n + AFTER; i++) {
        const hrc_state state = somewhere(&m, i);
        hrc_target target;
        double theirs[HRC_JOINTS], worst = 0;
        ENSURE_OK(hrc_control(c, &state, &target, &err));
        bm_step(&r, theirs, &state);
        for (int k = 0; k < HRC_JOINTS; k++) worst = fmax(worst, fabs(theirs[k] - target.q[k]));
        ties += worst > 1e-4;
    }
    if (ties > m.n / 50) test_fail(__FILE__, __LINE__, "%d of %d steps differ", ties, m.n + AFTER);
    bm_close(&r);
    hrc_controller_free(c);
    hrc_motion_free(&m);
    hrc_model_free(model);
}

/* Two seconds of which half a second is a held pose, whose frames only their code tells apart. */
static void write_motion(const char *path)
{
    clip c;
    hrc_error err;
    double stance[HRC_NQ];
    hrc_robot_stance(stance);
    ENSURE_OK(clip_create(&c, 100, 50, "held", &err));
    for (int i = 0; i < c.n; i++) {
        const double t = (i < 40 ? i : i < 65 ? 40 : i - 25) / 50.0;
        for (int k = 0; k < HRC_NQ; k++) clip_frame(&c, i)[k] = (float)stance[k];
        for (int k = 7 + 12; k < HRC_NQ; k++) clip_frame(&c, i)[k] += (float)(0.3 * sin((2 + 0.1 * k) * t));
        clip_frame(&c, i)[0] += (float)(0.2 * t);
        clip_frame(&c, i)[3] = (float)cos(0.2 * t), clip_frame(&c, i)[6] = (float)sin(0.2 * t);
    }
    ENSURE_OK(clip_save(&c, path, &err));
    clip_free(&c);
}

static void test_beyondmimic(void)
{
    static const char *const BASES[] = {"default", "reference", "ahead"};
    char path[512], tracker_file[512], motion_file[512];
    snprintf(motion_file, sizeof motion_file, "%s", test_path("held.safetensors"));
    write_motion(motion_file);
    for (int i = 0; i < COUNT(BASES); i++) {
        small_tracker("b.safetensors", BASES[i]);
        if (shell(
                "$HERACLES export $T/b.safetensors -o $T/b.onnx --dialect beyondmimic --motion $T/held.safetensors"))
            test_fail(__FILE__, __LINE__, "%s: %s", BASES[i], shell_output);
        ENSURE(shell("test ! -e $T/b.unproven") == 0);
        snprintf(path, sizeof path, "%s", test_path("b.onnx"));
        snprintf(tracker_file, sizeof tracker_file, "%s", test_path("b.safetensors"));
        compare_with_runner(tracker_file, path, motion_file);
    }
}

/* What Unitree's runner reads: the motion with the rows of the graph, settings from deploy.yaml alone. */
static void test_unitree(void)
{
    static others_model m;
    clip c;
    hrc_error err;
    char path[512];
    write_motion(test_path("held.safetensors"));
    small_tracker("u.safetensors", "ahead");
    ENSURE(shell("mkdir -p $T/u && $HERACLES export $T/u.safetensors -o $T/u/policy.onnx --dialect unitree "
                 "--motion $T/held.safetensors") == 0 &&
           says("deploy.yaml") && says("1 rad of tilt"));
    ENSURE(shell("ls $T/u | tr '\\n' ' '") == 0 && says("deploy.yaml policy.npz policy.onnx") &&
           !says("unproven"));
    snprintf(path, sizeof path, "%s", test_path("u/policy.onnx"));
    ENSURE_OK(others_load(&m, path, &err));
    ENSURE(m.action == 0 && m.time < 0 && m.nterms == 7 && m.history[0] == 1 && m.history[6] == 10);
    ENSURE_NEAR(m.kp[3], G1_JOINT[3].kp, 1e-5);
    ENSURE_NEAR(m.scale[20], G1_JOINT[20].action_scale, 1e-6);
    ENSURE(m.file.ninputs == 1 && m.file.inputs[0].dims[0] == 1 && m.file.inputs[0].dims[1] == OBS);
    others_model_free(&m);
    ENSURE_OK(clip_load(&c, test_path("u/policy.npz"), NULL, NULL, &err));
    ENSURE(c.n == 100 + ONNX_HELD && c.fps == 50);
    clip_free(&c);
    ENSURE(shell("sed -i 's/scale: null/scale: [1.0, 0.25, 1.0]/' $T/u/deploy.yaml") == 0);
    ENSURE(others_load(&m, path, &err) < 0 && strstr(err.text, "is scaled by 0.25, expected 1"));
    ENSURE(shell("sed -i 's/0.25/1.0/; s/history_length: 10/history_length: 11/' $T/u/deploy.yaml") == 0);
    ENSURE(others_load(&m, path, &err) < 0 && strstr(err.text, "history of 11, expected 1 to 10"));
}

/* In the simulator the exports do what the tracker does. */
static void test_rollout(void)
{
    write_motion(test_path("held.safetensors"));
    ENSURE(shell("for d in beyondmimic unitree; do $HERACLES export models/tracker.safetensors -o $T/$d.onnx "
                 "--dialect $d --motion $T/held.safetensors || exit 1; done") == 0);
    json_t *j = shell_json(
               "$HERACLES eval $T/held.safetensors --planner off --method "
               "ours=models/tracker.safetensors,bm=$T/beyondmimic.onnx,un=$T/unitree.onnx --json --quiet"),
           *methods = json_object_get(j, "methods");
    static const char *const KEYS[] = {"joint_rad", "linvel_mps", "cr"};
    for (int i = 0; i < COUNT(KEYS); i++) {
        const double ours = json_number_value(json_object_get(json_object_get(methods, "ours"), KEYS[i]));
        ENSURE(ours > 0);
        ENSURE_NEAR(json_number_value(json_object_get(json_object_get(methods, "bm"), KEYS[i])), ours, 1e-4);
        ENSURE_NEAR(json_number_value(json_object_get(json_object_get(methods, "un"), KEYS[i])), ours, 1e-4);
    }
    json_decref(j);
    ENSURE(shell("$HERACLES motion info $T/beyondmimic.onnx") == 0 &&
           says("100 frames")); /* it is a motion too */
    ENSURE(shell("$HERACLES export models/tracker.safetensors -o $T/x.onnx --dialect unitree") == 2 &&
           says("--motion is missing"));
}

/* ---- Our reader ---- */

/* A policy whose action is the first 29 numbers of its observation. */
static void write_policy(const char *path, int n, const char *histories, const char *stiffness)
{
    static float w[HRC_JOINTS * 200];
    static const int64_t yes = 1;
    char names[G1_NAMES_BYTES];
    hrc_error err;
    onnx_graph g = {0};
    memset(w, 0, sizeof w);
    for (int i = 0; i < HRC_JOINTS; i++) w[i * n + i] = 1;
    onnx_value x = onnx_input(&g, "obs", (int64_t[]){1, n}, 2);
    onnx_value weight = onnx_floats(&g, "w", w, (int64_t[]){HRC_JOINTS, n}, 2);
    onnx_value y = onnx_node(&g, "Gemm", (onnx_value[]){x, weight}, 2, NULL, 1,
                             &(onnx_attribute){"transB", &yes, -1}, 1);
    onnx_output(&g, "actions", y, (int64_t[]){1, HRC_JOINTS}, 2);
    g1_joint_names(names);
    onnx_meta(&g, "joint_names", names);
    onnx_meta(&g, "observation_names", "joint_pos,projected_gravity");
    onnx_meta(&g, "observation_history_lengths", histories);
    if (stiffness) onnx_meta(&g, "joint_stiffness", stiffness);
    ENSURE_OK(onnx_write(&g, "policy", path, &err));
    onnx_free(&g);
}

/* A history begins with the first value all over, and has the oldest first. */
static void test_history(void)
{
    static others_model m;
    others_runner *o;
    hrc_error err;
    g1_state s = {.quat = {1, 0, 0, 0}};
    static hrc_frame window[HRC_WINDOW];
    double target[HRC_JOINTS];
    const char *path = test_path("h.onnx");
    window[0].qpos[3] = 1;
    write_policy(path, 3 * HRC_JOINTS + 6, "3,2.0", NULL);
    ENSURE_OK(others_load(&m, path, &err));
    ENSURE_OK(others_create(&o, &m, &err));
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < HRC_JOINTS; k++) s.q[k] = 0.01 * i + 0.001 * k;
        ENSURE(others_step(o, target, &s, window));
        const double oldest = 0.01 * (i > 2 ? i - 2 : 0);
        for (int k = 0; k < HRC_JOINTS; k++)
            ENSURE_NEAR(target[k], m.q0[k] + m.scale[k] * (oldest + 0.001 * k - m.q0[k]), 1e-6);
    }
    others_free(o);
    others_model_free(&m);
    write_policy(path, 3 * HRC_JOINTS + 6, "3,11", NULL);
    ENSURE(others_load(&m, path, &err) < 0 && strstr(err.text, "history of 11"));
    write_policy(path, 3 * HRC_JOINTS + 6, "3,2,1", NULL);
    ENSURE(others_load(&m, path, &err) < 0 && strstr(err.text, "observation 2 of 2"));
    write_policy(path, 3 * HRC_JOINTS + 6, "3,2", "-1");
    ENSURE(others_load(&m, path, &err) < 0 && strstr(err.text, "expected none below 0"));
}

TEST_TABLE({"runners.beyondmimic", test_beyondmimic}, {"runners.unitree", test_unitree},
           {"runners.rollout", test_rollout}, {"runners.history", test_history})
