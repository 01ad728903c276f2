#include "eval/pd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "robot/state.h"

/* Bounds of the paper's completion rate. */
#define HEIGHT_LIMIT 0.3
#define TILT_LIMIT 1.2

typedef struct {
    double joint, height, tilt;
} frame_error;

static frame_error compare(const double *qpos, const double *ref)
{
    static const double AT_REST[HRC_NV];
    g1_state a, b;
    frame_error e = {0};
    g1_state_read(&a, qpos, AT_REST);
    g1_state_read(&b, ref, AT_REST);
    for (int i = 0; i < HRC_JOINTS; i++) e.joint += (a.q[i] - b.q[i]) * (a.q[i] - b.q[i]);
    e.joint = sqrt(e.joint);
    e.height = fabs(a.pos[2] - b.pos[2]);
    e.tilt = acos(fmax(-1, fmin(1, vec_dot(a.gravity, b.gravity))));
    return e;
}

static void to_double(double *out, const float *in, int n)
{
    for (int i = 0; i < n; i++) out[i] = (double)in[i];
}

static void to_float(float *out, const double *in, int n)
{
    for (int i = 0; i < n; i++) out[i] = (float)in[i];
}

static hrc_status check_rate(const sim *s, const clip *c, hrc_error *err)
{
    if (fabs(c->fps * sim_period(s) - 1) > 1e-6)
        return fail(err, HRC_EINVAL, "%s: %g frames per second, expected %g, the control rate", c->name,
                    c->fps, 1 / sim_period(s));
    return HRC_OK;
}

hrc_status pd_play(rollout *out, pd_result *result, sim *s, const clip *c, hrc_error *err)
{
    TRY(check_rate(s, c, err));
    float *velocities = malloc(sizeof(float) * HRC_NV * (size_t)c->n);
    if (!velocities) return fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
    clip_velocities(velocities, c);
    double qpos[HRC_NQ], qvel[HRC_NV], ref[HRC_NQ];
    to_double(qpos, clip_frame(c, 0), HRC_NQ);
    to_double(qvel, velocities, HRC_NV);
    free(velocities);
    TRY(rollout_create(out, c->n, c->fps, c->name, ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_TORQUE, 1, err));

    sim_world w = {0};
    sim_reset(s, &w, qpos, qvel);
    *result = (pd_result){.upright_s = -1};
    for (int i = 0; i < c->n; i++) {
        to_double(ref, clip_frame(c, i), HRC_NQ);
        if (i > 0) sim_step_one(s, &w, ref + 7, 0);
        to_float(out->qpos + (size_t)i * HRC_NQ, w.qpos, HRC_NQ);
        to_float(out->torque + (size_t)i * HRC_JOINTS, w.torque, HRC_JOINTS);
        to_float(out->ref + (size_t)i * HRC_NQ, ref, HRC_NQ);
        to_float(out->target + (size_t)i * HRC_JOINTS, ref + 7, HRC_JOINTS);
        frame_error e = compare(w.qpos, ref);
        result->joint_rad += e.joint / c->n;
        result->height_m += e.height / c->n;
        result->tilt_rad += e.tilt / c->n;
        if (result->upright_s < 0 && (e.height > HEIGHT_LIMIT || e.tilt > TILT_LIMIT)) {
            result->upright_s = i / c->fps;
            out->events[out->nevents++] = (rollout_event){result->upright_s, "lost the reference"};
        }
    }
    if (result->upright_s < 0) result->upright_s = (c->n - 1) / c->fps;
    return HRC_OK;
}
