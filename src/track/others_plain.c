/* Our own export of a tracker (track/onnx.h), run as a policy of another project is: raw observations as
 * observe.h builds them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/names.h"
#include "track/others_parts.h"

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
