#include "eval/metrics.h"

#include <math.h>

#include "base/rot.h"
#include "robot/fk.h"
#include "robot/posture.h"
#include "robot/state.h"

const figure_info FIGURE[FIGURE_COUNT] = {
#define X(name, heading, unit, more) {#name, heading, unit, more},
    FIGURES(X)
#undef X
};

static double distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return vec_norm(d);
}

/* Mean over the tracked links but the root, whose local error is 0. */
static void compare_links(frame_error *out, const double *qpos, const double *ref)
{
    fk_pose a, b;
    fk(&a, qpos);
    fk(&b, ref);
    for (int k = 0; k < G1_TRACKED; k++) {
        const int link = G1_TRACKED_LINK[k];
        double x[3], y[3];
        for (int i = 0; i < 3; i++) x[i] = a.pos[link][i] - qpos[i], y[i] = b.pos[link][i] - ref[i];
        out->mpjpe_local_mm += 1e3 * distance(x, y) / G1_TRACKED;
        out->mpjpe_global_mm += 1e3 * distance(a.pos[link], b.pos[link]) / G1_TRACKED;
    }
}

void frame_compare(frame_error *out, const double qpos[HRC_NQ], const double qvel[HRC_NV],
                   const float ref_qpos[HRC_NQ], const float ref_qvel[HRC_NV])
{
    double rq[HRC_NQ], rv[HRC_NV];
    g1_state a, b;
    for (int i = 0; i < HRC_NQ; i++) rq[i] = (double)ref_qpos[i];
    for (int i = 0; i < HRC_NV; i++) rv[i] = (double)ref_qvel[i];
    g1_state_read(&a, qpos, qvel);
    g1_state_read(&b, rq, rv);
    const tracking_error e = tracking_error_of(&a, ref_qpos);
    *out = (frame_error){.joint_rad = e.joint, .height_m = e.height, .ori_rad = e.tilt};
    out->linvel_mps = distance(a.lin_vel, b.lin_vel);
    out->complete = out->height_m < FOLLOWS_HEIGHT_M && out->ori_rad < FOLLOWS_TILT_RAD;
    out->strict = out->height_m < STRICT_HEIGHT && fabs(a.gravity[2] - b.gravity[2]) < STRICT_GRAVITY;
    compare_links(out, qpos, rq);
}

void tally_add(tally *t, const frame_error *e)
{
    t->frames++;
    t->complete += e->complete;
    t->failed |= !e->complete;
    t->broke_strict |= !e->strict;
    t->until_failure += !t->failed;
    t->sum.joint_rad += e->joint_rad;
    t->sum.height_m += e->height_m;
    t->sum.ori_rad += e->ori_rad;
    t->sum.linvel_mps += e->linvel_mps;
    t->sum.mpjpe_local_mm += e->mpjpe_local_mm;
    t->sum.mpjpe_global_mm += e->mpjpe_global_mm;
}

void tally_figures(figures *out, const tally *t)
{
    const double n = t->frames;
    *out = (figures){.cr = t->complete / n,
                     .joint_rad = t->sum.joint_rad / n,
                     .height_m = t->sum.height_m / n,
                     .ori_rad = t->sum.ori_rad / n,
                     .linvel_mps = t->sum.linvel_mps / n,
                     .progress = t->until_failure / n,
                     .success = !t->broke_strict,
                     .mpjpe_local_mm = t->sum.mpjpe_local_mm / n,
                     .mpjpe_global_mm = t->sum.mpjpe_global_mm / n};
}
