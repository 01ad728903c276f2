/* heracles export: a model for other programs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "control/library.h"
#include "eval/course.h"
#include "eval/courses.h"
#include "motion/import/formats.h"
#include "plan/flow.h"
#include "plan/onnx.h"
#include "plan/planner.h"
#include "track/onnx.h"
#include "track/tracker.h"

/* Two trackers that should be one: the same state and window at every step of a rollout, their targets
 * compared. */
typedef struct {
    int steps;
    double worst_rad; /* largest difference of a target, where both had the same token */
    int ties;         /* steps with another token: a number that lay between two levels */
} parity;

#define PARITY_MOTION "motions/wave.safetensors"
#define PARITY_S 10

/* ---- The export held against the model ---- */

static void compare(parity *out, const hrc_report *r, const hrc_target *a, const hrc_tracker *other,
                    const hrc_target *b)
{
    int n;
    const float *token = tracker_token_of(other, &n);
    bool same = n == r->ntoken;
    for (int i = 0; same && i < n; i++) same = fabsf(token[i] - r->token[i]) < 1e-3f;
    out->steps++;
    out->ties += !same;
    for (int i = 0; i < HRC_JOINTS && same; i++)
        out->worst_rad = fmax(out->worst_rad, fabs(a->q[i] - b->q[i]));
}

static hrc_status follow(parity *out, hrc_controller *lead, hrc_tracker *other, sim *physics, const course *c,
                         hrc_error *err)
{
    sim_world w;
    hrc_target mine, theirs;
    hrc_frame window[HRC_WINDOW];
    const hrc_motion motion = course_motion(c);
    course_world(c, NULL, physics, &w);
    TRY(hrc_follow(lead, &motion, c->first, c->how, err));
    for (int i = 0; i < c->frames && !w.diverged; i++) {
        hrc_state state;
        memcpy(state.qpos, w.qpos, sizeof state.qpos);
        memcpy(state.qvel, w.qvel, sizeof state.qvel);
        TRY(loop_step(lead, physics, &w, 0, &mine, err));
        const hrc_report *r = hrc_controller_report(lead);
        memcpy(window, r->window, sizeof window);
        if (hrc_tracker_lead(other) == 0) window[0] = r->reference; /* all that such a policy is shown */
        TRY(hrc_step(other, &state, window, &theirs, err));
        compare(out, r, &mine, other, &theirs);
    }
    return HRC_OK;
}

/* `leads` drives the robot. */
static hrc_status parity_measure(parity *out, const hrc_model *leads, const hrc_model *other, const course *c,
                                 const config *cfg, hrc_error *err)
{
    pool *threads = NULL;
    sim *physics = NULL;
    hrc_controller *lead = NULL;
    hrc_tracker *second = NULL;
    *out = (parity){0};
    hrc_status status = pool_create(&threads, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, cfg, threads, err);
    if (status == HRC_OK) status = hrc_controller_create(&lead, leads, NULL, NULL, err);
    if (status == HRC_OK) status = hrc_tracker_create(&second, other, err);
    if (status == HRC_OK) status = follow(out, lead, second, physics, c, err);
    hrc_tracker_free(second);
    hrc_controller_free(lead);
    sim_free(physics);
    pool_free(threads);
    return status;
}

#define EXAMPLE_T 0.54f
#define PARITY_RAD 1e-4
#define PARITY_TIES 0.02 /* share of steps at which a number of the token lies between two levels */

/* x_i = sin(0.37 i): inputs of examples, by which a reader of an ONNX file can check what its own runtime
 * makes of it. */
static void fill_example(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = sinf(0.37f * (float)i);
}

static json_t *floats_json(const float *x, int n)
{
    json_t *out = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(out, json_number((double)x[i]));
    return out;
}

/* The velocity of the example at t = 0.54. */
static hrc_status example(json_t **out, const plan_model *m, hrc_error *err)
{
    float x[PLAN_K * PLAN_D], cond[PLAN_COND_MAX], v[PLAN_K * PLAN_D], t = EXAMPLE_T;
    const int n = PLAN_K * PLAN_D;
    infer *s;
    fill_example(x, (size_t)n);
    fill_example(cond, (size_t)m->net.shape.cond);
    TRY(infer_create(&s, &m->net, m->params, NN_FLOAT, &t, 1, NULL, err));
    infer_begin(s, cond);
    infer_step(s, v, x, 0);
    infer_free(s);
    for (int i = 0; i < n; i++) v[i] = flow_skip(t) * x[i] + flow_gain(t) * v[i];
    *out = floats_json(v, n);
    return HRC_OK;
}

/* ---- A planner: its velocity field ---- */

static int export_planner(const args *a, const char *out)
{
    json_t *v = NULL;
    hrc_error err;
    plan_model m = {0};
    hrc_status status = plan_model_load(&m, a->operands[0], &err);
    if (status == HRC_OK) status = planner_verify(&m, &err);
    if (status == HRC_OK) status = onnx_export_field(&m, out, &err);
    if (status == HRC_OK) status = example(&v, &m, &err);
    size_t count = m.net.layout.count;
    int dim = m.net.shape.dim, cond = m.net.shape.cond;
    plan_model_free(&m);
    if (status < 0) return cli_fail(&err);
    if (a->json)
        return cli_json(json_pack("{s:s, s:I, s:i, s:i, s:f, s:o}", "onnx", out, "params", (json_int_t)count,
                                  "dim", dim, "cond", cond, "example_t", (double)EXAMPLE_T, "example_v", v));
    json_decref(v);
    printf("%s: velocity field, %zu parameters; inputs x, t, cond, output v\n", out, count);
    return EXIT_DONE;
}

/* ---- A tracker ---- */

/* The motion that an export is run on: --motion, or the shipped one. */
static hrc_status export_course(course_list *list, const args *a, double limit_s, hrc_error *err)
{
    char shipped[4096];
    course_options o = {.limit_s = limit_s, .starts = 1};
    const char *motion = arg(a, "motion");
    if (motion) TRY(motion_reading(a, &o.reading, err));
    if (!motion) motion = shipped_path(shipped, sizeof shipped, PARITY_MOTION) ? shipped : PARITY_MOTION;
    return courses_of_motions(list, &motion, 1, &o, err);
}

/* Is the file `exported` the tracker, over a rollout of the course? Refused with what differs. */
static hrc_status export_prove(parity *p, const args *a, const hrc_model *ours, const char *exported,
                               const course *c, hrc_error *err)
{
    hrc_model *theirs = NULL;
    hrc_status status = hrc_model_load(&theirs, exported, err);
    if (status == HRC_OK) status = parity_measure(p, ours, theirs, c, &a->cfg, err);
    hrc_model_free(theirs);
    TRY(status);
    if (p->worst_rad <= PARITY_RAD && p->ties <= PARITY_TIES * p->steps) return HRC_OK;
    return fail(
        err, HRC_EFORMAT,
        "%s: not written: over %d steps its targets are up to %.2g rad from the tracker's and its token differs "
        "%d times, expected at most %g rad and %.0f times",
        arg(a, "out"), p->steps, p->worst_rad, p->ties, PARITY_RAD, PARITY_TIES * p->steps);
}

/* ---- With a motion inside, for other runners ---- */

/* heracles export --dialect beyondmimic|unitree: the policy with its motion, and what the runner wants beside
 * it. */
#define ROLLOUT_S 20

enum { POLICY, YAML, NPZ, FILES };

typedef struct {
    char folder[4096], trial[FILES][4200], final[FILES][4200];
    int n; /* of the files */
} places;

/* ---- deploy.yaml ---- */

typedef enum { STIFFNESS, DAMPING, POSE, SCALE } column;

static double joint_column(column which, int i)
{
    const hrc_joint *j = &G1_JOINT[i];
    const double all[] = {[STIFFNESS] = j->kp, [DAMPING] = j->kd, [POSE] = j->q0, [SCALE] = j->action_scale};
    return all[which];
}

static void add_joints(text *t, const char *key, column which)
{
    text_add(t, "%s: [", key);
    for (int i = 0; i < HRC_JOINTS; i++) text_add(t, "%s%.9g", i ? ", " : "", joint_column(which, i));
    text_add(t, "]\n");
}

static void add_observations(text *t)
{
    static const struct {
        const char *name, *params;
        int history;
    } TERM[] = {{"motion_command", "{command_name: motion}", 1},
                {"motion_anchor_ori_b", "{command_name: motion}", 1},
                {"projected_gravity", "{}", OBS_HISTORY},
                {"base_ang_vel", "{}", OBS_HISTORY},
                {"joint_pos_rel", "{}", OBS_HISTORY},
                {"joint_vel_rel", "{}", OBS_HISTORY},
                {"last_action", "{}", OBS_HISTORY}};
    text_add(t, "observations:\n");
    for (int i = 0; i < COUNT(TERM); i++)
        text_add(t, "  %s:\n    params: %s\n    clip: null\n    scale: null\n    history_length: %d\n",
                 TERM[i].name, TERM[i].params, TERM[i].history);
}

static hrc_status write_yaml(const char *path, hrc_error *err)
{
    text t = {0};
    text_add(&t, "joint_ids_map: [");
    for (int i = 0; i < HRC_JOINTS; i++) text_add(&t, "%s%d", i ? ", " : "", i);
    text_add(&t, "]\nstep_dt: %g\n", 1.0 / HRC_RATE_HZ);
    add_joints(&t, "stiffness", STIFFNESS);
    add_joints(&t, "damping", DAMPING);
    add_joints(&t, "default_joint_pos", POSE);
    text_add(&t, "commands: {}\nactions:\n  JointPositionAction:\n    clip: null\n    joint_names: [.*]\n");
    add_joints(&t, "    scale", SCALE);
    add_joints(&t, "    offset", POSE);
    text_add(&t, "    joint_ids: null\n");
    add_observations(&t);
    return text_write(&t, path, err);
}

/* ---- The motion as that runner reads it: the rows that lie in the graph ---- */

static hrc_status write_npz(const char *path, const hrc_motion *motion, hrc_error *err)
{
    clip c;
    const int n = onnx_motion_rows(motion);
    TRY(clip_create_for(&c, n, HRC_RATE_HZ, path, err));
    float *qvel = ARENA_NEW(&c.memory, float, (size_t)n *HRC_NV);
    hrc_status status = qvel ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", path);
    for (int i = 0; i < n && qvel; i++) {
        hrc_frame f;
        onnx_motion_row(&f, motion, i);
        memcpy(clip_frame(&c, i), f.qpos, sizeof f.qpos);
        memcpy(qvel + (size_t)i * HRC_NV, f.qvel, sizeof f.qvel);
    }
    if (status == HRC_OK) status = npz_write_with(&c, qvel, path, err);
    clip_free(&c);
    return status;
}

/* ---- All of them, or none ---- */

static hrc_status find_places(places *p, onnx_dialect dialect, const char *out, hrc_error *err)
{
    const char *name = file_name(out);
    const int folder = (int)(name - out), stem = (int)strlen(name) - 5;
    if (folder + 2 * stem > 3900 || stem > 180) return fail(err, HRC_EFILE, "%.80s...: too long a name", out);
    snprintf(p->folder, sizeof p->folder, "%.*s%.*s.unproven", folder, out, stem, name);
    p->n = dialect == ONNX_UNITREE ? FILES : 1;
    for (int i = 0; i < p->n; i++) {
        char file[4096];
        if (i == YAML)
            snprintf(file, sizeof file, "deploy.yaml");
        else
            snprintf(file, sizeof file, "%.*s%s", stem, name, i == NPZ ? ".npz" : ".onnx");
        snprintf(p->trial[i], sizeof p->trial[i], "%.*s%.*s.unproven/%.190s", folder, out, stem, name, file);
        snprintf(p->final[i], sizeof p->final[i], "%.*s%.190s", folder, out, file);
    }
    if (mkdir(p->folder, 0777) == 0) return HRC_OK;
    return fail(err, HRC_EFILE, "%s: cannot be made: %s", p->folder, strerror(errno));
}

static hrc_status write_files(const places *p, const hrc_model *m, const hrc_motion *motion,
                              onnx_dialect dialect, hrc_error *err)
{
    TRY(onnx_export_with_motion(&m->track, motion, dialect, p->trial[POLICY], err));
    if (dialect != ONNX_UNITREE) return HRC_OK;
    TRY(write_yaml(p->trial[YAML], err));
    return write_npz(p->trial[NPZ], motion, err);
}

static hrc_status move_files(const places *p, hrc_error *err)
{
    for (int i = p->n - 1; i >= 0; i--) /* the policy last */
        TRY(file_move(p->final[i], p->trial[i], err));
    return HRC_OK;
}

/* policy.onnx with the motion inside and, for Unitree's runner, deploy.yaml and policy.npz beside it; all of
 * them appear when they have been proven, or none. */
static hrc_status export_with_motion(parity *p, const args *a, const hrc_model *m, onnx_dialect dialect,
                                     const char *out, hrc_error *err)
{
    static places where;
    course_list list = {0};
    TRY(export_course(&list, a, ROLLOUT_S, err));
    const hrc_motion motion = course_motion(&list.courses[0]);
    hrc_status status = find_places(&where, dialect, out, err);
    if (status == HRC_OK) {
        status = write_files(&where, m, &motion, dialect, err);
        if (status == HRC_OK) status = export_prove(p, a, m, where.trial[POLICY], &list.courses[0], err);
        if (status == HRC_OK) status = move_files(&where, err);
        for (int i = 0; i < where.n; i++) unlink(where.trial[i]);
        rmdir(where.folder);
    }
    courses_free(&list);
    return status;
}

/* ---- Our own graph alone ---- */

/* Under another name until it has been run. */
static hrc_status write_checked(parity *p, const args *a, const hrc_model *m, const char *out, hrc_error *err)
{
    char trial[4096];
    course_list list = {0};
    if (snprintf(trial, sizeof trial, "%.*s.unproven.onnx", (int)strlen(out) - 5, out) >= (int)sizeof trial)
        return fail(err, HRC_EFILE, "%.80s...: too long a name", out);
    TRY(export_course(&list, a, PARITY_S, err));
    hrc_status status = onnx_export_tracker(&m->track, trial, err);
    if (status == HRC_OK) status = export_prove(p, a, m, trial, &list.courses[0], err);
    courses_free(&list);
    if (status == HRC_OK) status = file_move(out, trial, err);
    if (status < 0) unlink(trial);
    return status;
}

/* The actions for example observations. */
static hrc_status example_actions(json_t **out, const track_model *m, hrc_error *err)
{
    float proprio[OBS_PROPRIO], window[OBS_WINDOW], action[HRC_JOINTS];
    tracker *t;
    fill_example(proprio, OBS_PROPRIO);
    fill_example(window, OBS_WINDOW);
    TRY(tracker_create(&t, m, NN_FLOAT, err));
    tracker_infer(t, action, proprio, window);
    tracker_free(t);
    *out = floats_json(action, HRC_JOINTS);
    return HRC_OK;
}

/* The same of a file with its motion, by our own interpreter. */
static hrc_status example_with_motion(json_t **out, const char *path, hrc_error *err)
{
    others_model m;
    onnx_runner *r = NULL;
    TRY(others_load(&m, path, err));
    hrc_status status = onnx_runner_create(&r, m.program, err);
    if (status == HRC_OK) {
        fill_example(onnx_runner_input(r, m.observation), onnx_input_count(m.program, m.observation));
        onnx_run(r);
        *out = floats_json(onnx_runner_output(r, m.action), HRC_JOINTS);
    }
    onnx_runner_free(r);
    others_model_free(&m);
    return status;
}

static int told_with_motion(const args *a, const parity *p, onnx_dialect dialect, const char *out)
{
    json_t *v = NULL;
    hrc_error err;
    const bool unitree = dialect == ONNX_UNITREE;
    const int folder = (int)(file_name(out) - out), stem = (int)strlen(out) - 5;
    if (a->json && example_with_motion(&v, out, &err) < 0) return cli_fail(&err);
    if (a->json)
        return cli_json(json_pack("{s:s, s:s, s:i, s:f, s:i, s:o}", "onnx", out, "dialect", arg(a, "dialect"),
                                  "parity_steps", p->steps, "parity_rad", p->worst_rad, "token_ties", p->ties,
                                  "example_actions", v));
    printf("%s: tracker with its motion, for %s\n"
           "over %d steps its targets are within %.2g rad of the tracker's, its token differs %d times\n",
           out, unitree ? "unitree_rl_mjlab's runner" : "BeyondMimic's runners", p->steps, p->worst_rad,
           p->ties);
    if (unitree)
        printf(
            "%.*sdeploy.yaml, %.*s.npz: its settings and motion_file; that runner goes limp beyond 1 rad of "
            "tilt, which ends any recovery\n",
            folder, out, stem, out);
    return EXIT_DONE;
}

static int export_for_runner(const args *a, const hrc_model *m, onnx_dialect dialect, const char *out)
{
    hrc_error err;
    parity p = {0};
    if (!arg(a, "motion"))
        return cli_usage(a, "--motion is missing: the motion that goes into a file of this dialect");
    if (export_with_motion(&p, a, m, dialect, out, &err) < 0) return cli_fail(&err);
    return told_with_motion(a, &p, dialect, out);
}

static int export_tracker(const args *a, const hrc_model *m, const char *out)
{
    json_t *v = NULL;
    hrc_error err;
    parity p = {0};
    const char *dialect = arg(a, "dialect");
    if (model_of_others(m)) return cli_usage(a, "%.80s is an ONNX model already", a->operands[0]);
    if (!strcmp(dialect, "beyondmimic")) return export_for_runner(a, m, ONNX_BEYONDMIMIC, out);
    if (!strcmp(dialect, "unitree")) return export_for_runner(a, m, ONNX_UNITREE, out);
    if (strcmp(dialect, "plain"))
        return cli_usage(a, "--dialect is %.40s, expected plain, beyondmimic or unitree", dialect);
    if (write_checked(&p, a, m, out, &err) < 0 || example_actions(&v, &m->track, &err) < 0)
        return cli_fail(&err);
    const policy *net = &m->track.net;
    const size_t count = net->layout.count;
    if (a->json)
        return cli_json(json_pack("{s:s, s:I, s:i, s:i, s:f, s:i, s:o}", "onnx", out, "params",
                                  (json_int_t)count, "token", net->shape.token.dim, "parity_steps", p.steps,
                                  "parity_rad", p.worst_rad, "token_ties", p.ties, "example_actions", v));
    json_decref(v);
    printf("%s: tracker; inputs proprio, window, outputs actions, joint_targets, token\n"
           "over %d steps its targets are within %.2g rad of the tracker's, its token differs %d times\n",
           out, p.steps, p.worst_rad, p.ties);
    return EXIT_DONE;
}

static int run_export(const args *a)
{
    hrc_error err;
    hrc_model *m = NULL;
    const char *out = arg(a, "out");
    if (!out) return cli_usage(a, "--out is missing");
    size_t length = strlen(out);
    if (length < 6 || strcmp(out + length - 5, ".onnx"))
        return cli_usage(a, "--out is %.80s, expected a name that ends in .onnx", out);
    if (hrc_model_load(&m, a->operands[0], &err) < 0) return cli_fail(&err);
    const int code = hrc_model_kind(m) == HRC_TRACKER ? export_tracker(a, m, out) : export_planner(a, out);
    hrc_model_free(m);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL, "where to write (-o): .onnx"},
    {"dialect", "NAME", "plain",
     "of a tracker: plain (inputs proprio and window), beyondmimic or unitree (for these runners, one motion)"},
    {"motion", "FILE", NULL,
     "of a tracker: what goes into the graph of beyondmimic and unitree; what any export is run on and\n"
     "compared with; default of plain: " PARITY_MOTION},
    OPTIONS_READING,
    {0},
};

const command CMD_EXPORT = {
    .name = "export",
    .operands = "MODEL",
    .summary = "a tracker, or a planner's velocity field, as an ONNX model",
    .details =
        "A tracker's export is run beside the tracker over a rollout before it is written, and refused when a\n"
        "target differs by more than 1e-4 rad. docs/onnx.md has inputs, outputs and metadata.",
    .example =
        "heracles export models/tracker.safetensors -o policy.onnx --dialect unitree --motion walk.csv",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_export,
};
