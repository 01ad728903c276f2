#include "track/others.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rot.h"
#include "robot/g1.h"
#include "track/onnx.h"
#include "track/others_parts.h"

#define ACTION_MAX 1e3f

struct others_runner {
    const others_model *model;
    onnx_runner *runner;
    others_memory memory;
};

/* ---- Lists in words ---- */

hrc_status joint_numbers(const others_model *m, const char *list, const char *what, double out[HRC_JOINTS],
                         hrc_error *err)
{
    char word[80];
    double found[HRC_JOINTS];
    int n = 0;
    for (; list_word(&list, word, sizeof word); n++) {
        char *end;
        const double x = strtod(word, &end);
        if (*end || !isfinite(x) || fabs(x) > 1e6)
            return fail(err, HRC_EFORMAT, "%s: %s: number %d is \"%s\"", m->file.path, what, n, word);
        if (n < HRC_JOINTS) found[n] = x;
    }
    if (n != HRC_JOINTS && n != 1)
        return fail(err, HRC_EFORMAT, "%s: %s has %d numbers, expected %d", m->file.path, what, n,
                    HRC_JOINTS);
    for (int i = 0; i < HRC_JOINTS; i++) out[m->joint[i]] = found[n == 1 ? 0 : i];
    return HRC_OK;
}

/* ---- Loading ---- */

/* Told apart by the number of inputs: others have other ones. */
static hrc_status find_dialect(others_model *m, hrc_error *err)
{
    const onnx_file *f = &m->file;
    if (f->ninputs < 1 || f->noutputs < 1)
        return fail(err, HRC_EFORMAT, "%s: %d inputs and %d outputs, expected a policy", f->path, f->ninputs,
                    f->noutputs);
    const size_t inputs = onnx_input_count(m->program, 0);
    m->observation = onnx_program_input(m->program, "obs");
    m->time = onnx_program_input(m->program, "time_step");
    m->action = onnx_program_output(m->program, "actions");
    if (m->action < 0) m->action = 0;
    m->window = m->token = m->targets = -1;
    m->dialect = OTHERS_MIMIC;
    const char *format = onnx_metadata(f, "format");
    if (format && !strcmp(format, TRACK_ONNX_FORMAT)) {
        m->dialect = OTHERS_PLAIN;
        return HRC_OK;
    }
    if (m->observation < 0 && f->ninputs == 1 && inputs == TWIST2_INPUTS) {
        m->dialect = OTHERS_TWIST2;
        m->observation = 0;
    }
    if (m->observation < 0)
        return fail(
            err, HRC_EFORMAT,
            "%s: input \"%.60s\" of %zu numbers, expected \"obs\" (BeyondMimic, mjlab) or one of %d (TWIST2)",
            f->path, f->inputs[0].name, inputs, TWIST2_INPUTS);
    const size_t actions = onnx_output_count(m->program, m->action);
    if (actions != HRC_JOINTS)
        return fail(err, HRC_EFORMAT, "%s: output \"%.60s\" of %zu numbers, expected %d actions", f->path,
                    f->outputs[m->action].name, actions, HRC_JOINTS);
    for (int i = 0; i < f->ninputs; i++)
        if (i != m->observation && i != m->time)
            return fail(err, HRC_EFORMAT, "%s: input \"%.60s\", expected \"obs\" and \"time_step\" alone",
                        f->path, f->inputs[i].name);
    return HRC_OK;
}

static hrc_status check_gains(const others_model *m, hrc_error *err)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (m->kp[i] < 0 || m->kd[i] < 0)
            return fail(err, HRC_EFORMAT, "%s: gains of %s are %g and %g, expected none below 0",
                        m->file.path, G1_JOINT[i].name, m->kp[i], m->kd[i]);
    return HRC_OK;
}

static hrc_status read_settings(others_model *m, hrc_error *err)
{
    TRY(onnx_program_create(&m->program, &m->file, err));
    TRY(find_dialect(m, err));
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        m->joint[i] = i;
        m->q0[i] = j->q0, m->scale[i] = j->action_scale, m->kp[i] = j->kp, m->kd[i] = j->kd;
    }
    m->largest = 100;
    if (m->dialect == OTHERS_PLAIN) TRY(plain_settings(m, err));
    if (m->dialect == OTHERS_MIMIC) TRY(mimic_settings(m, err));
    if (m->dialect == OTHERS_TWIST2) twist2_settings(m);
    return check_gains(m, err);
}

/* Weights and settings may lie in files beside the one that was hashed. */
static void hash_rest(others_model *m)
{
    const double *const lists[] = {m->q0, m->scale, m->kp, m->kd};
    for (int i = 0; i < m->file.nconstants; i++) {
        const onnx_array *a = &m->file.constants[i];
        m->digest = hash_bytes(m->digest, a->data, a->count * (a->type == TYPE_FLOAT ? 4 : 8));
    }
    for (int i = 0; i < COUNT(lists); i++) m->digest = hash_bytes(m->digest, lists[i], sizeof m->q0);
    m->digest = hash_bytes(m->digest, m->terms, sizeof m->terms);
    m->digest = hash_bytes(m->digest, m->history, sizeof m->history);
}

hrc_status others_load(others_model *m, const char *path, hrc_error *err)
{
    file_view bytes;
    *m = (others_model){0};
    TRY(file_map(path, &bytes, err));
    m->digest = hash_bytes(HASH_START, bytes.data, bytes.size);
    hrc_status status = onnx_parse(&m->file, path, bytes, err);
    file_unmap(&bytes);
    if (status == HRC_OK) status = read_settings(m, err);
    if (status == HRC_OK) hash_rest(m);
    if (status < 0) others_model_free(m);
    return status;
}

void others_model_free(others_model *m)
{
    onnx_program_free(m->program);
    onnx_file_free(&m->file);
    *m = (others_model){0};
}

/* ---- Running ---- */

hrc_status others_create(others_runner **out, const others_model *m, hrc_error *err)
{
    others_runner *o = calloc(1, sizeof *o);
    if (!o) return fail(err, HRC_ENOMEM, "%s: out of memory", m->file.path);
    o->model = m;
    hrc_status status = onnx_runner_create(&o->runner, m->program, err);
    if (status < 0)
        others_free(o);
    else
        *out = o;
    return status;
}

void others_free(others_runner *o)
{
    if (!o) return;
    onnx_runner_free(o->runner);
    free(o);
}

void others_reset(others_runner *o)
{
    o->memory = (others_memory){0};
}

static void observe(others_runner *o, others_memory *memory, const g1_state *s,
                    const hrc_frame window[HRC_WINDOW])
{
    const others_model *m = o->model;
    float *observation = onnx_runner_input(o->runner, m->observation);
    switch (m->dialect) {
    case OTHERS_TWIST2: twist2_observe(m, memory, observation, s, window); break;
    case OTHERS_MIMIC: mimic_observe(m, memory, observation, s, window); break;
    case OTHERS_PLAIN:
        plain_observe(m, memory, observation, onnx_runner_input(o->runner, m->window), s, window);
    }
    if (m->time >= 0) onnx_runner_input(o->runner, m->time)[0] = (float)memory->steps;
}

static void aim(const others_runner *o, double target[HRC_JOINTS], const float *action)
{
    const others_model *m = o->model;
    const float *targets = m->targets >= 0 ? onnx_runner_output(o->runner, m->targets) : NULL;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const int j = m->joint[i];
        const double a = (double)action[i], cut = a > m->largest    ? m->largest
                                                  : a < -m->largest ? -m->largest
                                                                    : a;
        target[j] = targets ? (double)targets[i] : m->q0[j] + m->scale[j] * cut;
    }
}

bool others_step(others_runner *o, double target[HRC_JOINTS], const g1_state *s,
                 const hrc_frame window[HRC_WINDOW])
{
    others_memory memory = o->memory;
    observe(o, &memory, s, window);
    onnx_run(o->runner);
    const float *action = onnx_runner_output(o->runner, o->model->action);
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!(fabsf(action[i]) <= ACTION_MAX)) return false; /* nor NaN */
    aim(o, target, action);
    memcpy(memory.last, action, sizeof memory.last);
    memory.begun = true;
    memory.steps++;
    o->memory = memory;
    return true;
}

const float *others_token(const others_runner *o, int *n)
{
    const others_model *m = o->model;
    *n = m->token >= 0 ? (int)onnx_output_count(m->program, m->token) : 0;
    return *n ? onnx_runner_output(o->runner, m->token) : NULL;
}

/* ---- Plain policies ---- */

/* Our own export of a tracker (track/onnx.h), run as a policy of another project is: raw observations as
 * observe.h builds them. */
static hrc_status find_all(others_model *m, hrc_error *err)
{
    const struct {
        const char *name;
        int *place, count;
        bool input;
    } WANTED[] = {{"proprio", &m->observation, OBS_PROPRIO, true},
                  {"window", &m->window, OBS_WINDOW, true},
                  {"actions", &m->action, HRC_JOINTS, false},
                  {"joint_targets", &m->targets, HRC_JOINTS, false},
                  {"token", &m->token, 0, false}};
    for (int i = 0; i < COUNT(WANTED); i++) {
        const bool input = WANTED[i].input;
        const int at = input ? onnx_program_input(m->program, WANTED[i].name)
                             : onnx_program_output(m->program, WANTED[i].name);
        const size_t n = at < 0  ? 0
                         : input ? onnx_input_count(m->program, at)
                                 : onnx_output_count(m->program, at);
        if (at < 0 || (WANTED[i].count && n != (size_t)WANTED[i].count))
            return fail(err, HRC_EFORMAT, "%s: %s \"%s\" has %zu numbers, expected %d", m->file.path,
                        input ? "input" : "output", WANTED[i].name, n, WANTED[i].count);
        *WANTED[i].place = at;
    }
    return HRC_OK;
}

hrc_status plain_settings(others_model *m, hrc_error *err)
{
    const onnx_file *f = &m->file;
    const char *layout = onnx_metadata(f, "observation"), *rotation = onnx_metadata(f, "rotation"),
               *lead = onnx_metadata(f, "lead"), *kp = onnx_metadata(f, "joint_stiffness"),
               *kd = onnx_metadata(f, "joint_damping");
    TRY(find_all(m, err));
    TRY(g1_check_joint_names(onnx_metadata(f, "joint_names"), f->path, err));
    if (!layout || strcmp(layout, OBS_LAYOUT))
        return fail(err, HRC_EFORMAT, "%s: observation is \"%.120s\", expected \"" OBS_LAYOUT "\"", f->path,
                    layout ? layout : "(missing)");
    m->lead = lead ? atoi(lead) : -1;
    if (m->lead < 0 || m->lead > 10 || !rotation || !kp || !kd)
        return fail(err, HRC_EFORMAT, "%s: lead, rotation, joint_stiffness or joint_damping is missing",
                    f->path);
    m->rotation = obs_rotation_mode(rotation);
    TRY(joint_numbers(m, kp, "metadata joint_stiffness", m->kp, err));
    TRY(joint_numbers(m, kd, "metadata joint_damping", m->kd, err));
    snprintf(m->about, sizeof m->about, "an export: %.140s",
             onnx_metadata(f, "trained") ? onnx_metadata(f, "trained") : "");
    return HRC_OK;
}

void plain_observe(const others_model *m, others_memory *memory, float *proprio, float *frames,
                   const g1_state *s, const hrc_frame window[HRC_WINDOW])
{
    float p[OBS_P];
    obs_frame shown[OBS_FRAMES];
    for (int i = 0; i < OBS_FRAMES; i++) shown[i] = (obs_frame){window[i].qpos, window[i].qvel};
    obs_proprio(p, s, m->q0, memory->last);
    if (memory->begun)
        obs_history_push(&memory->proprio, p);
    else
        obs_history_fill(&memory->proprio, p);
    memcpy(proprio, memory->proprio.p, sizeof memory->proprio.p);
    obs_window(frames, shown, s->quat, m->rotation);
}

/* ---- TWIST2 ---- */

/* TWIST2's tracker (amazon-far/TWIST2): a frame is 35 numbers of the reference and 92 of the robot; it sees
 * the present frame, ten past ones and the reference once more. Its training shows the reference of the next
 * step as the present one and that of now as the "future", fills the history with the first frame, and the
 * robot's own settings have stiffer wrists than its simulation's: so here. Nothing leads it back to a place
 * or a heading. */
enum { MIMIC = 35, NEXT = 1, NOW = 0 };

static const struct {
    const char *part;
    double kp, kd;
} GAIN[] = {{"_hip_", 100, 2},     {"_knee_", 150, 4}, {"_ankle_", 40, 2}, {"waist_", 150, 4},
            {"_shoulder_", 40, 5}, {"_elbow_", 40, 5}, {"_wrist_", 20, 1}};

static const struct {
    const char *joint;
    double q0;
} STANCE[] = {{"hip_pitch", -0.2},           {"knee", 0.4},
              {"ankle_pitch", -0.2},         {"left_shoulder_roll", 0.4},
              {"right_shoulder_roll", -0.4}, {"elbow", 1.2}};

void twist2_settings(others_model *m)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        const char *name = G1_JOINT[i].name;
        m->q0[i] = 0;
        m->scale[i] = 0.5;
        for (int k = 0; k < COUNT(GAIN); k++)
            if (strstr(name, GAIN[k].part)) m->kp[i] = GAIN[k].kp, m->kd[i] = GAIN[k].kd;
        for (int k = 0; k < COUNT(STANCE); k++)
            if (strstr(name, STANCE[k].joint)) m->q0[i] = STANCE[k].q0;
    }
    m->largest = 10;
    snprintf(m->about, sizeof m->about, "TWIST2's general tracker");
}

static void roll_pitch(float out[2], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3], sine = 2 * (w * y - z * x);
    out[0] = (float)atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
    out[1] = (float)asin(sine > 1 ? 1 : sine < -1 ? -1 : sine);
}

static void reference(float out[MIMIC], const hrc_frame *f)
{
    float lin[3];
    double quat[4];
    for (int i = 0; i < 4; i++) quat[i] = (double)f->qpos[3 + i];
    quat_rotate_invf(lin, f->qpos + 3, f->qvel);
    out[0] = lin[0], out[1] = lin[1], out[2] = f->qpos[2];
    roll_pitch(out + 3, quat);
    out[5] = f->qvel[5];
    memcpy(out + 6, f->qpos + 7, HRC_JOINTS * sizeof *out);
}

static void robot(float out[OTHERS_FRAME - MIMIC], const others_model *m, const g1_state *s,
                  const float *last)
{
    for (int i = 0; i < 3; i++) out[i] = (float)(0.25 * s->ang_vel[i]);
    roll_pitch(out + 3, s->quat);
    for (int i = 0; i < HRC_JOINTS; i++) {
        const bool ankle = strstr(G1_JOINT[i].name, "_ankle_") != NULL;
        out[5 + i] = (float)(s->q[i] - m->q0[i]);
        out[5 + HRC_JOINTS + i] = ankle ? 0 : (float)(0.05 * s->qd[i]);
        out[5 + 2 * HRC_JOINTS + i] = last[i];
    }
}

void twist2_observe(const others_model *m, others_memory *memory, float *observation, const g1_state *s,
                    const hrc_frame window[HRC_WINDOW])
{
    float frame[OTHERS_FRAME];
    reference(frame, &window[NEXT]);
    robot(frame + MIMIC, m, s, memory->last);
    for (int i = 0; i < OTHERS_HISTORY && !memory->begun; i++)
        memcpy(memory->history[i], frame, sizeof frame);
    memcpy(observation, frame, sizeof frame);
    memcpy(observation + OTHERS_FRAME, memory->history, sizeof memory->history);
    reference(observation + OTHERS_FRAME * (1 + OTHERS_HISTORY), &window[NOW]);
    memmove(memory->history[0], memory->history[1], sizeof memory->history - sizeof memory->history[0]);
    memcpy(memory->history[OTHERS_HISTORY - 1], frame, sizeof frame);
}
