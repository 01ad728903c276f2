/* The motion inside a policy: the graph is asked for every time step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/import/formats.h"
#include "onnx/run.h"
#include "robot/fk.h"
#include "robot/g1.h"

#define FPS 50.0
#define LONGEST 32768 /* frames that are asked for: 11 minutes */
#define PRODUCTS 4e6  /* of a network that is asked so often */

typedef struct {
    onnx_file file;
    onnx_program *program;
    onnx_runner *runner;
    int time, joints, pos, quat; /* input; outputs */
    int order[HRC_JOINTS];
    int link;    /* whose pose is given */
    int body;    /* at which place of its outputs */
    bool w_last; /* quaternion x,y,z,w */
} source;

static hrc_status no_motion(const source *s, const char *why, hrc_error *err)
{
    return fail(err, HRC_EFORMAT, "%s: is an ONNX model that %s, expected a policy with its motion inside",
                s->file.path, why);
}

/* The place of the pelvis, or else of the anchor, in body_names. */
static hrc_status find_body(source *s, hrc_error *err)
{
    const char *list = onnx_metadata(&s->file, "body_names"),
               *anchor = onnx_metadata(&s->file, "anchor_body_name");
    char word[80];
    s->link = -1;
    for (int i = 0; list && list_word(&list, word, sizeof word); i++)
        if (!strcmp(word, "pelvis") || (s->link < 0 && anchor && !strcmp(word, anchor)))
            s->link = g1_link_index(word), s->body = i;
    return s->link < 0 ? no_motion(s, "names neither pelvis nor anchor in body_names", err) : HRC_OK;
}

static hrc_status find_outputs(source *s, hrc_error *err)
{
    const onnx_program *p = s->program;
    s->time = onnx_program_input(p, "time_step");
    s->joints = onnx_program_output(p, "joint_pos");
    s->pos = onnx_program_output(p, "body_pos_w");
    s->quat = onnx_program_output(p, "body_quat_w");
    if (s->pos >= 0 && s->quat >= 0)
        TRY(find_body(s, err));
    else { /* holosoma: the torso's */
        s->pos = onnx_program_output(p, "ref_pos_xyz");
        s->quat = onnx_program_output(p, "ref_quat_xyzw");
        s->link = G1_TORSO, s->w_last = true;
    }
    if (s->time < 0 || s->joints < 0 || s->pos < 0 || s->quat < 0)
        return no_motion(s, "has no time_step, joint_pos or pose", err);
    if (onnx_output_count(p, s->joints) != HRC_JOINTS ||
        onnx_output_count(p, s->pos) < 3 * (size_t)(s->body + 1) ||
        onnx_output_count(p, s->quat) < 4 * (size_t)(s->body + 1))
        return no_motion(s, "gives other joints or bodies than a G1's", err);
    return HRC_OK;
}

static hrc_status open_source(source *s, const char *path, file_view bytes, hrc_error *err)
{
    TRY(onnx_parse(&s->file, path, bytes, err));
    TRY(onnx_program_create(&s->program, &s->file, err));
    TRY(find_outputs(s, err));
    if (onnx_products(s->program) > PRODUCTS)
        return no_motion(s, "is too large to be asked for every frame", err);
    const char *names = onnx_metadata(&s->file, "joint_names");
    if (!names) names = onnx_metadata(&s->file, "dof_names");
    for (int i = 0; i < HRC_JOINTS; i++) s->order[i] = i;
    if (names) TRY(g1_joint_order(s->order, names, path, err));
    return onnx_runner_create(&s->runner, s->program, err);
}

static void close_source(source *s)
{
    onnx_runner_free(s->runner);
    onnx_program_free(s->program);
    onnx_file_free(&s->file);
}

/* From the pose of a link and the joints to the root. */
static void place_root(float qpos[HRC_NQ], int link, const double pos[3], const double quat[4])
{
    double flat[HRC_NQ] = {0}, root[4], way[3];
    fk_pose pose;
    flat[3] = 1;
    for (int i = 7; i < HRC_NQ; i++) flat[i] = (double)qpos[i];
    fk(&pose, flat);
    quat_turn(root, pose.quat[link], quat);
    quat_normalize(root);
    quat_rotate(way, root, pose.pos[link]);
    for (int i = 0; i < 3; i++) qpos[i] = (float)(pos[i] - way[i]);
    for (int i = 0; i < 4; i++) qpos[3 + i] = (float)root[i];
}

static void read_frame(source *s, int t, float qpos[HRC_NQ])
{
    onnx_runner_input(s->runner, s->time)[0] = (float)t;
    onnx_run(s->runner);
    const float *q = onnx_runner_output(s->runner, s->joints),
                *p = onnx_runner_output(s->runner, s->pos) + 3 * s->body,
                *r = onnx_runner_output(s->runner, s->quat) + 4 * s->body;
    const int w = s->w_last ? 3 : 0, x = s->w_last ? 0 : 1;
    const double pos[3] = {(double)p[0], (double)p[1], (double)p[2]},
                 quat[4] = {(double)r[w], (double)r[x], (double)r[x + 1], (double)r[x + 2]};
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + s->order[i]] = q[i];
    place_root(qpos, s->link, pos, quat);
}

/* How often to ask: a little more than the file says that it has frames. */
static int frames_asked(const source *s)
{
    const char *frames = onnx_metadata(&s->file, "frames");
    const long said = frames ? strtol(frames, NULL, 10) : 0;
    return said > 0 && said < LONGEST - 2 ? (int)said + 2 : LONGEST;
}

static hrc_status read_motion(clip *c, source *s, const char *path, hrc_error *err)
{
    clip all;
    const int asked = frames_asked(s);
    TRY(clip_create_for(&all, asked, FPS, path, err));
    for (int t = 0; t < asked; t++) read_frame(s, t, clip_frame(&all, t));
    int last = asked - 1;
    while (last > 0 && !memcmp(clip_frame(&all, last), clip_frame(&all, last - 1), sizeof(float) * HRC_NQ))
        last--;
    hrc_status status =
        last == asked - 1 ? no_motion(s, "has no end within 11 minutes", err) : clip_check(&all, path, err);
    if (status == HRC_OK) status = clip_cut(c, &all, 0, last, err);
    clip_free(&all);
    return status;
}

hrc_status policy_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                        clip_decisions *why, hrc_error *err)
{
    source s = {0};
    if (options->fps > 0 && fabs(options->fps - FPS) > 1e-9)
        return fail(err, HRC_EINVAL, "%s: frame rate %g asked for, but a policy's motion has %g", path,
                    options->fps, FPS);
    hrc_status status = open_source(&s, path, bytes, err);
    if (status == HRC_OK) status = read_motion(c, &s, path, err);
    snprintf(why->format, sizeof why->format, "motion of an ONNX policy");
    snprintf(why->fps, sizeof why->fps, "%g: the rate of such policies", FPS);
    close_source(&s);
    return status;
}
