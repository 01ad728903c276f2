/* heracles plan: one plan, or a chain of plans, from a pose to a pose. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "eval/planner_eval.h"
#include "robot/state.h"

#define MAX_CHAIN_S 60

/* "FILE@FRAME" (the last frame: FILE@-1), or the word "stand": the default stance where the state is. */
static hrc_status load_pose(float out[HRC_NQ], const char *text, const float *state,
                            const clip_options *reading, hrc_error *err)
{
    if (state && !strcmp(text, "stand")) {
        double stance[HRC_NQ];
        g1_default_qpos(stance);
        for (int i = 0; i < HRC_NQ; i++) out[i] = (float)stance[i];
        out[0] = state[0], out[1] = state[1];
        quat_from_yawf(out + 3, quat_yawf(state + 3));
        return HRC_OK;
    }
    char path[1024];
    const char *at = strrchr(text, '@');
    char *end = NULL;
    long frame = at ? strtol(at + 1, &end, 10) : 0;
    if (!at || end == at + 1 || *end || (size_t)(at - text) >= sizeof path)
        return fail(err, HRC_EINVAL, "\"%.80s\" is not FILE@FRAME", text);
    snprintf(path, sizeof path, "%.*s", (int)(at - text), text);
    clip c;
    TRY(clip_load_at(&c, path, PLAN_FPS, reading, err));
    hrc_status status = HRC_OK;
    long index = frame < 0 ? c.n + frame : frame;
    if (index < 0 || index >= c.n)
        status = fail(err, HRC_EINVAL, "%s: frame %ld, expected 0 to %d (at 50 fps)", path, frame, c.n - 1);
    else
        memcpy(out, clip_frame(&c, (int)index), HRC_NQ * sizeof *out);
    clip_free(&c);
    return status;
}

typedef struct {
    const float *target;
    int horizon;
} standing_reference;

static void hold_target(void *ctx, int frame, float (*out)[HRC_NQ])
{
    const standing_reference *r = ctx;
    (void)frame;
    for (int i = 0; i <= r->horizon; i++) memcpy(out[i], r->target, HRC_NQ * sizeof(float));
}

/* The plan at 50 Hz, or the chain, as a clip. */
static hrc_status make_motion(clip *out, planner *p, int horizon, const float *state, const float *target,
                              double chain_s, hrc_error *err)
{
    static const float STILL[HRC_NV];
    standing_reference reference = {target, horizon};
    int n = chain_s > 0 ? (int)(chain_s * PLAN_FPS) + 1 : horizon + 1;
    TRY(clip_create(out, n, PLAN_FPS, chain_s > 0 ? "chain" : "plan", err));
    if (chain_s > 0) {
        out->n = planner_chain(p, horizon, state, hold_target, &reference, out->qpos, n);
        return HRC_OK;
    }
    float keyframes[PLAN_K][HRC_NQ], qvel[HRC_NV], window[PLAN_MAX_H + 1][HRC_NQ];
    plan_question q;
    plan_curve curve;
    hold_target(&reference, 0, window);
    question_make(&q, state, STILL, (const float(*)[HRC_NQ])window, horizon);
    planner_plan(p, &q, keyframes);
    plan_curve_fit(&curve, (const float(*)[HRC_NQ])keyframes, (float)horizon / PLAN_FPS);
    for (int i = 0; i < n; i++) plan_curve_at(clip_frame(out, i), qvel, &curve, (float)i / PLAN_FPS);
    return HRC_OK;
}

static int report(const args *a, const clip *motion, const float *target)
{
    const float *last = clip_frame(motion, motion->n - 1);
    double joints = g1_joint_distance(last, target), height = (double)last[2];
    if (a->json) {
        json_t *frames = json_array();
        for (int i = 0; i < motion->n; i++) {
            json_t *row = json_array();
            for (int k = 0; k < HRC_NQ; k++)
                json_array_append_new(row, json_number((double)clip_frame(motion, i)[k]));
            json_array_append_new(frames, row);
        }
        return cli_json(json_pack("{s:f, s:f, s:f, s:o}", "seconds", (motion->n - 1) / motion->fps,
                                  "joints_to_target_rad", joints, "root_height_m", height, "qpos", frames));
    }
    printf("%.2f s; at the end the root is at %.3f m, the joints %.3f rad from the target's\n",
           (motion->n - 1) / motion->fps, height, joints);
    return EXIT_DONE;
}

static int run_plan(const args *a)
{
    hrc_error err;
    plan_model model = {0};
    planner *p = NULL;
    clip motion = {0};
    float state[HRC_NQ], target[HRC_NQ];
    double chain_s = 0, noise = 0.1;
    const char *path = arg(a, "model"), *from = arg(a, "state"), *to = arg(a, "target"), *out = arg(a, "out");
    if (!path || !from) return cli_usage(a, "--model and --state are needed");
    if (!arg_number(a, "chain", 0.02, MAX_CHAIN_S, &chain_s) || !arg_number(a, "noise", 0.001, 2, &noise))
        return EXIT_USAGE;
    planner_options options = planner_defaults();
    options.seed = a->seed;
    options.noise = (float)noise;
    hrc_status status = plan_model_load(&model, path, &err);
    if (status == HRC_OK) status = planner_verify(&model, &err);
    clip_options reading;
    if (status == HRC_OK) status = motion_reading(a, &reading, &err);
    if (status == HRC_OK) status = load_pose(state, from, NULL, &reading, &err);
    if (status == HRC_OK) status = load_pose(target, to, state, &reading, &err);
    if (status == HRC_OK) status = planner_create(&p, &model, &options, &err);
    if (status == HRC_OK)
        status = make_motion(&motion, p, model.layout.horizon, state, target, chain_s, &err);
    if (status == HRC_OK && out) status = clip_save(&motion, out, &err);
    int code = status < 0 ? cli_fail(&err) : report(a, &motion, target);
    clip_free(&motion);
    planner_free(p);
    plan_model_free(&model);
    return code;
}

static const option OPTIONS[] = {
    {"model", "FILE", NULL, "the planner"},
    {"state", "FILE@FRAME", NULL, "where the robot is: a frame (at 50 fps) of a motion; -1 is the last"},
    {"target", "FILE@FRAME", "stand", "where it should get, or 'stand': the default stance on the spot"},
    {"noise", "N", "0.1", "size of the noise a plan starts from: 1 varies as the corpus does"},
    {"chain", "SECONDS", NULL, "replan every 40 ms from the plan itself, without physics, this long"},
    {"out", "FILE", NULL, "write the motion (-o), to look at with 'heracles view'"},
    OPTIONS_READING,
    {0},
};

const command CMD_PLAN = {
    .name = "plan",
    .operands = "",
    .summary = "one plan of the planner, or a chain of plans, from a pose to a pose",
    .example =
        "heracles plan --model models/planner.safetensors --state motions/floor.safetensors@0 --chain 5 -o up.safetensors",
    .options = OPTIONS,
    .run = run_plan,
};
