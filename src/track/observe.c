#include "track/observe.h"

#include <string.h>

#include "base/rot.h"

obs_rotation obs_rotation_mode(const char *word)
{
    return strcmp(word, "world") == 0 ? OBS_WORLD : OBS_BODY;
}

void obs_proprio(float p[OBS_P], const g1_state *s, const double q0[HRC_JOINTS],
                 const float action[HRC_JOINTS])
{
    for (int k = 0; k < 3; k++) {
        p[OBS_GRAVITY + k] = (float)s->gravity[k];
        p[OBS_ANG_VEL + k] = (float)s->ang_vel[k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        p[OBS_Q + i] = (float)(s->q[i] - q0[i]);
        p[OBS_QD + i] = (float)s->qd[i];
        p[OBS_ACTION + i] = action[i];
    }
}

void obs_history_fill(obs_history *h, const float p[OBS_P])
{
    for (int i = 0; i < OBS_HISTORY; i++) memcpy(h->p[i], p, sizeof h->p[i]);
}

void obs_history_push(obs_history *h, const float p[OBS_P])
{
    memmove(h->p[0], h->p[1], sizeof h->p - sizeof h->p[0]);
    memcpy(h->p[OBS_HISTORY - 1], p, sizeof h->p[0]);
}

void obs_reference(float m[OBS_M], obs_frame frame, const double root_quat[4], obs_rotation mode)
{
    const float *ref = frame.qpos + 3;
    float robot[4], error[4];
    for (int k = 0; k < 4; k++) robot[k] = (float)root_quat[k];
    if (mode == OBS_BODY)
        quat_localf(error, robot, ref);
    else
        quat_turnf(error, robot, ref);
    quat_rotate_invf(m + OBS_REF_LIN, ref, frame.qvel);
    memcpy(m + OBS_REF_ANG, frame.qvel + 3, 3 * sizeof *m);
    quat_to_6df(m + OBS_REF_ROT, error);
    memcpy(m + OBS_REF_Q, frame.qpos + 7, HRC_JOINTS * sizeof *m);
}

void obs_window(float out[OBS_WINDOW], const obs_frame frames[OBS_FRAMES], const double root_quat[4],
                obs_rotation mode)
{
    for (int i = 0; i < OBS_FRAMES; i++) obs_reference(out + i * OBS_M, frames[i], root_quat, mode);
}

void obs_critic(float out[OBS_CRITIC], const float p[OBS_P], const float window[OBS_WINDOW],
                const g1_state *s, const fk_pose *pose, obs_frame now)
{
    double gap[3], local[3], turn[4], columns[6];
    memcpy(out + OBS_CRITIC_P, p, OBS_P * sizeof *out);
    memcpy(out + OBS_CRITIC_WINDOW, window, OBS_WINDOW * sizeof *out);
    for (int k = 0; k < 3; k++) gap[k] = (double)now.qpos[k] - s->pos[k];
    quat_rotate_inv(local, s->quat, gap);
    for (int k = 0; k < 3; k++) {
        out[OBS_CRITIC_POS + k] = (float)local[k];
        out[OBS_CRITIC_LIN + k] = (float)s->lin_vel[k];
    }
    out[OBS_CRITIC_HEIGHT] = (float)s->pos[2];
    out[OBS_CRITIC_HEIGHT + 1] = now.qpos[2];
    for (int b = 1; b < G1_TRACKED; b++) {
        int link = G1_TRACKED_LINK[b];
        for (int k = 0; k < 3; k++) gap[k] = pose->pos[link][k] - s->pos[k];
        quat_rotate_inv(local, s->quat, gap);
        quat_local(turn, s->quat, pose->quat[link]);
        quat_to_6d(columns, turn);
        for (int k = 0; k < 3; k++) out[OBS_CRITIC_BODY_POS + 3 * (b - 1) + k] = (float)local[k];
        for (int k = 0; k < 6; k++) out[OBS_CRITIC_BODY_ROT + 6 * (b - 1) + k] = (float)columns[k];
    }
}

/* ---- Joint targets ---- */

static const char *const NAMES[] = {
    [BASIS_DEFAULT] = "default", [BASIS_REFERENCE] = "reference", [BASIS_AHEAD] = "ahead"};

action_basis action_basis_of(const char *word)
{
    for (int i = 0; i < COUNT(NAMES); i++)
        if (strcmp(word, NAMES[i]) == 0) return (action_basis)i;
    return BASIS_DEFAULT;
}

const char *action_basis_name(action_basis basis)
{
    return NAMES[basis];
}

int action_frame(action_basis basis)
{
    return basis == BASIS_AHEAD ? 3 : 0;
}

void action_target(double target[HRC_JOINTS], action_basis basis, const float action[HRC_JOINTS],
                   const float q_ref[HRC_JOINTS], const double *offset)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        double from = basis == BASIS_DEFAULT ? G1_JOINT[i].q0 : (double)q_ref[i];
        target[i] = from + (offset ? offset[i] : 0) + G1_JOINT[i].action_scale * (double)action[i];
    }
}
