#include "sim/reward.h"

#include <math.h>

#include "base/rot.h"

#define TOUCH 1.0 /* N */

const char *const REWARD_NAME[REWARD_TERMS] = {
#define X(name) [REWARD_##name] = #name,
    REWARD_TRACKING(X) REWARD_PENALTIES(X)
#undef X
};

const char *const END_NAME[END_KINDS] = {
    "none",        "root height",    "root orientation", "hand or foot height", "physics diverged",
    "end of clip", "longest episode"};

/* The paper's; of body_ang the width is sqrt(pi) (peers: 3.14). */
static const struct {
    double weight, sigma; /* of the error: m, rad, m/s, rad/s */
} TRACKING[REWARD_NTRACKING] = {
    [REWARD_root_pos] = {0.1, 0.3}, [REWARD_root_rot] = {0.5, 0.4},      [REWARD_root_lin] = {1.0, 0.5},
    [REWARD_root_ang] = {1.0, 1.0}, [REWARD_body_pos] = {1.0, 0.3},      [REWARD_body_rot] = {1.0, 0.4},
    [REWARD_body_lin] = {1.0, 1.0}, [REWARD_body_ang] = {1.0, 1.7724539}};

reward_weights reward_from_config(const config *cfg)
{
    reward_weights w = {.weight = {[REWARD_action_rate] = -cfg->reward_action_rate,
                                   [REWARD_joint_limit] = -10.0,
                                   [REWARD_contact] = -0.1}};
    for (int i = 0; i < REWARD_NTRACKING; i++)
        w.weight[i] = TRACKING[i].weight, w.sigma[i] = TRACKING[i].sigma;
    return w;
}

void robot_look(robot_view *v, const double *qpos, const double *qvel)
{
    g1_state_read(&v->state, qpos, qvel);
    fk(&v->pose, qpos);
    fk_velocities(&v->velocity, &v->pose, qvel);
}

static void widen(double *out, const float *in, int n)
{
    for (int i = 0; i < n; i++) out[i] = (double)in[i];
}

static double square_gap(const double *a, const double *b)
{
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

static double square_angle(const double *a, const double *b)
{
    double angle = quat_angle(a, b);
    return angle * angle;
}

static void root_errors(double error[REWARD_NTRACKING], const robot_view *robot, const ref_frame *ref)
{
    const g1_state *s = &robot->state;
    double pos[3], quat[4], lin[3], ang[3];
    widen(pos, ref->qpos, 3), widen(quat, ref->qpos + 3, 4);
    widen(lin, ref->qvel, 3), widen(ang, ref->qvel + 3, 3);
    quat_rotate_inv(lin, quat, lin);
    error[REWARD_root_pos] = square_gap(pos, s->pos);
    error[REWARD_root_rot] = square_angle(quat, s->quat);
    error[REWARD_root_lin] = square_gap(lin, s->lin_vel);
    error[REWARD_root_ang] = square_gap(ang, s->ang_vel);
}

static void body_errors(double error[REWARD_NTRACKING], const robot_view *robot, const ref_frame *ref)
{
    const g1_state *s = &robot->state;
    double root[3], quat[4], turn[4], yaw[4], tilt[4], sum[4] = {0};
    widen(root, ref->qpos, 3), widen(quat, ref->qpos + 3, 4);
    quat_conj(turn, quat);
    quat_mul(turn, s->quat, turn);
    quat_split_yaw(yaw, tilt, turn);
    for (int b = 0; b < G1_TRACKED; b++) {
        const int link = G1_TRACKED_LINK[b];
        double pos[3], rot[4], lin[3], ang[3];
        widen(pos, ref->pos[b], 3), widen(rot, ref->quat[b], 4);
        widen(lin, ref->lin[b], 3), widen(ang, ref->ang[b], 3);
        for (int k = 0; k < 3; k++) pos[k] -= root[k];
        quat_rotate(pos, yaw, pos);
        pos[0] += s->pos[0], pos[1] += s->pos[1], pos[2] += root[2];
        quat_mul(rot, yaw, rot);
        sum[0] += square_gap(pos, robot->pose.pos[link]);
        sum[1] += square_angle(rot, robot->pose.quat[link]);
        sum[2] += square_gap(lin, robot->velocity.lin[link]);
        sum[3] += square_gap(ang, robot->velocity.ang[link]);
    }
    error[REWARD_body_pos] = sum[0] / G1_TRACKED;
    error[REWARD_body_rot] = sum[1] / G1_TRACKED;
    error[REWARD_body_lin] = sum[2] / G1_TRACKED;
    error[REWARD_body_ang] = sum[3] / G1_TRACKED;
}

static bool may_touch(int link)
{
    return link == G1_LEFT_ANKLE || link == G1_RIGHT_ANKLE || link == G1_LEFT_WRIST || link == G1_RIGHT_WRIST;
}

double reward_terms(double terms[REWARD_TERMS], const reward_weights *w, const robot_view *robot,
                    const ref_frame *ref, const float action[HRC_JOINTS], const float previous[HRC_JOINTS],
                    const double contact[G1_LINKS])
{
    double error[REWARD_NTRACKING], rate = 0, beyond = 0, touching = 0, sum = 0;
    root_errors(error, robot, ref);
    body_errors(error, robot, ref);
    for (int i = 0; i < REWARD_NTRACKING; i++)
        terms[i] = w->weight[i] * exp(-error[i] / (w->sigma[i] * w->sigma[i]));
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        double change = (double)action[i] - (double)previous[i], q = robot->state.q[i];
        rate += change * change;
        beyond += fmax(0, j->soft_lo - q) + fmax(0, q - j->soft_hi);
    }
    for (int i = 0; i < G1_LINKS; i++) touching += !may_touch(i) && contact[i] > TOUCH;
    terms[REWARD_action_rate] = w->weight[REWARD_action_rate] * rate;
    terms[REWARD_joint_limit] = w->weight[REWARD_joint_limit] * beyond;
    terms[REWARD_contact] = w->weight[REWARD_contact] * touching;
    for (int i = 0; i < REWARD_TERMS; i++) sum += terms[i];
    return sum;
}

double reward_score(const reward_weights *w, const double terms[REWARD_TERMS])
{
    double got = 0, most = 0;
    for (int i = 0; i < REWARD_NTRACKING; i++) got += terms[i], most += w->weight[i];
    return most > 0 ? got / most : 0;
}

/* ---- Terminations ---- */

#define LOW_ROOT_M 0.5 /* a reference whose root is below is near the ground */

const end_rules END_RULES = {
    .height = 0.25, .low = END_LOW_LOOSE_M, .leap = 0.25, .gravity = 0.8, .effector = 0.25};

end_kind end_check(const end_rules *r, const robot_view *robot, const ref_frame *ref)
{
    static const int EFFECTOR[] = {G1_LEFT_ANKLE, G1_RIGHT_ANKLE, G1_LEFT_WRIST, G1_RIGHT_WRIST};
    static const double DOWN[3] = {0, 0, -1};
    const bool low = (double)ref->qpos[2] < LOW_ROOT_M;
    const double height = low ? r->low : ref_flies(ref) ? r->leap : r->height;
    double quat[4], gravity[3];
    widen(quat, ref->qpos + 3, 4);
    quat_rotate_inv(gravity, quat, DOWN);
    if (fabs((double)ref->qpos[2] - robot->state.pos[2]) > height) return END_HEIGHT;
    if (fabs(gravity[2] - robot->state.gravity[2]) > r->gravity) return END_ORIENTATION;
    if (r->angle > 0 && quat_angle(quat, robot->state.quat) > r->angle) return END_ORIENTATION;
    for (int b = 0; b < G1_TRACKED; b++)
        for (int e = 0; e < COUNT(EFFECTOR); e++)
            if (G1_TRACKED_LINK[b] == EFFECTOR[e] &&
                fabs((double)ref->pos[b][2] - robot->pose.pos[EFFECTOR[e]][2]) >
                    (low ? fmax(r->low, r->effector) : r->effector))
                return END_EFFECTOR;
    return END_NONE;
}
