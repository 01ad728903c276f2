/* heracles export --dialect beyondmimic|unitree: the policy with its motion, and what the runner wants beside
 * it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/export.h"
#include "motion/import/formats.h"

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
    hrc_status status = text_ok(&t) ? file_write(path, &(file_piece){t.data, t.size}, 1, err)
                                    : fail(err, HRC_ENOMEM, "%s: out of memory", path);
    text_free(&t);
    return status;
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
    const char *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
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

hrc_status export_with_motion(parity *p, const args *a, const hrc_model *m, onnx_dialect dialect,
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
