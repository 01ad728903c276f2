#include "motion/retarget/targets.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

/* Key points of frame i: down the tree, each bone turned with its body. */
static void place_points(targets *t, const human *h, int i)
{
    const robot_body *r = robot_bodies();
    memset(t->point[i][0], 0, sizeof t->point[i][0]);
    for (int b = 0; b < BODIES; b++) {
        quat_mul(t->quat[i][b], h->quat[i][b], r[b].along);
        if (b == BODY_PELVIS) continue;
        double step[3];
        quat_rotate(step, h->quat[i][r[b].parent], r[b].start);
        for (int k = 0; k < 3; k++) t->point[i][b][k] = t->point[i][r[b].parent][k] + step[k];
    }
}

static double length(const double v[3])
{
    return vec_norm(v);
}

hrc_status targets_create(targets *t, const human *h, arena *memory, hrc_error *err)
{
    const robot_body *r = robot_bodies();
    *t = (targets){.n = h->n};
    t->root = arena_alloc(memory, (size_t)h->n, sizeof *t->root);
    t->point = arena_alloc(memory, (size_t)h->n, sizeof *t->point);
    t->quat = arena_alloc(memory, (size_t)h->n, sizeof *t->quat);
    if (!t->root || !t->point || !t->quat)
        return fail(err, HRC_ENOMEM, "out of memory for the targets of %d frames", h->n);
    t->leg_scale = (length(r[BODY_LEFT_THIGH].bone) + length(r[BODY_LEFT_SHIN].bone)) / h->leg;
    t->arm_scale = (length(r[BODY_LEFT_UPPER_ARM].bone) + length(r[BODY_LEFT_FOREARM].bone)) / h->arm;
    t->torso_scale = (r[BODY_TORSO].start[2] + r[BODY_LEFT_UPPER_ARM].start[2]) / fmax(h->torso, 0.05);
    for (int i = 0; i < h->n; i++) {
        for (int k = 0; k < 3; k++) t->root[i][k] = t->leg_scale * h->hips[i][k];
        place_points(t, h, i);
    }
    return HRC_OK;
}
