/* Writing BeyondMimic's archive: all its keys, float32, 30 bodies, joints and bodies in MuJoCo's order, body
 * velocities at the links' origins. Stored, not deflated, as np.savez does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "motion/import/archive.h"
#include "motion/import/formats.h"
#include "motion/import/npy.h"
#include "robot/fk.h"

enum { FPS, JOINT_POS, JOINT_VEL, BODY_POS, BODY_QUAT, BODY_LIN_VEL, BODY_ANG_VEL, ARRAYS };

static const struct {
    const char *member;
    int bodies, width; /* shape (T, width) or, with bodies, (T, bodies, width) */
} LAYOUT[ARRAYS] = {
    [FPS] = {"fps.npy", 0, 0},
    [JOINT_POS] = {"joint_pos.npy", 0, HRC_JOINTS},
    [JOINT_VEL] = {"joint_vel.npy", 0, HRC_JOINTS},
    [BODY_POS] = {"body_pos_w.npy", G1_LINKS, 3},
    [BODY_QUAT] = {"body_quat_w.npy", G1_LINKS, 4},
    [BODY_LIN_VEL] = {"body_lin_vel_w.npy", G1_LINKS, 3},
    [BODY_ANG_VEL] = {"body_ang_vel_w.npy", G1_LINKS, 3},
};

static size_t frame_floats(int array)
{
    return (size_t)(LAYOUT[array].bodies ? LAYOUT[array].bodies * LAYOUT[array].width : LAYOUT[array].width);
}

static void put(char *array, int a, int frame, const double *values)
{
    size_t n = frame_floats(a);
    float *out = (float *)(array + NPY_HEADER) + (size_t)frame * n;
    for (size_t k = 0; k < n; k++) out[k] = (float)values[k];
}

static void fill_frames(char **arrays, const clip *c, const float *qvel)
{
    for (int i = 0; i < c->n; i++) {
        double qpos[HRC_NQ], rates[HRC_NV];
        fk_pose pose;
        fk_velocity velocity;
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = clip_frame(c, i)[k];
        for (int k = 0; k < HRC_NV; k++) rates[k] = qvel[(size_t)i * HRC_NV + k];
        fk(&pose, qpos);
        fk_velocities(&velocity, &pose, rates);
        put(arrays[JOINT_POS], JOINT_POS, i, qpos + 7);
        put(arrays[JOINT_VEL], JOINT_VEL, i, rates + 6);
        put(arrays[BODY_POS], BODY_POS, i, pose.pos[0]);
        put(arrays[BODY_QUAT], BODY_QUAT, i, pose.quat[0]);
        put(arrays[BODY_LIN_VEL], BODY_LIN_VEL, i, velocity.lin[0]);
        put(arrays[BODY_ANG_VEL], BODY_ANG_VEL, i, velocity.ang[0]);
    }
}

/* Header and room for one array. */
static char *new_array(arena *memory, int a, int frames, size_t *size)
{
    int64_t shape[3] = {frames, LAYOUT[a].width, 0};
    if (LAYOUT[a].bodies) shape[1] = LAYOUT[a].bodies, shape[2] = LAYOUT[a].width;
    *size = NPY_HEADER + (a == FPS ? sizeof(int64_t) : (size_t)frames * frame_floats(a) * sizeof(float));
    char *array = arena_alloc(memory, *size, 1);
    if (!array) return NULL;
    if (a == FPS)
        npy_header(array, "<i8", 1, (int64_t[]){1});
    else
        npy_header(array, "<f4", LAYOUT[a].bodies ? 3 : 2, shape);
    return array;
}

hrc_status npz_write(const clip *c, const char *path, hrc_error *err)
{
    arena memory = {0};
    float *qvel = ARENA_NEW(&memory, float, (size_t)c->n *HRC_NV);
    if (qvel) clip_velocities(qvel, c);
    hrc_status status = qvel ? npz_write_with(c, qvel, path, err)
                             : fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, c->n);
    arena_free(&memory);
    return status;
}

hrc_status npz_write_with(const clip *c, const float *qvel, const char *path, hrc_error *err)
{
    int64_t fps = (int64_t)c->fps;
    if (fabs((double)fps - c->fps) > 1e-9 * c->fps)
        return fail(err, HRC_EINVAL,
                    "%s: the format wants a whole frame rate, and the clip has %g; resample it first", path,
                    c->fps);
    arena memory = {0};
    char *arrays[ARRAYS];
    archive_member members[ARRAYS];
    bool good = true;
    for (int a = 0; a < ARRAYS && good; a++) {
        members[a].name = LAYOUT[a].member;
        members[a].data = arrays[a] = new_array(&memory, a, c->n, &members[a].size);
        good = arrays[a] != NULL;
    }
    if (!good) {
        arena_free(&memory);
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, c->n);
    }
    memcpy(arrays[FPS] + NPY_HEADER, &fps, sizeof fps);
    fill_frames(arrays, c, qvel);
    hrc_status status = archive_write(path, members, ARRAYS, false, err);
    arena_free(&memory);
    return status;
}
