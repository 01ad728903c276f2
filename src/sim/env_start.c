/* How an episode begins, and everything that is drawn at random in it. */
#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "plan/densify.h"
#include "robot/capsules.h"
#include "sim/env_world.h"

/* Half ranges of the starting state (position, rotation, joints) and of start and push velocities. */
static const double START_POS[3] = {0.05, 0.05, 0.01}, START_ROT[3] = {0.1, 0.1, 0.2}, START_JOINT = 0.1;
static const double PUSH_LIN[3] = {0.5, 0.5, 0.2}, PUSH_ANG[3] = {0.52, 0.52, 0.78};

#define PUSH_MIN_S 1 /* between pushes */
#define PUSH_MAX_S 3
#define HARD_PUSH 5 /* strongest of hard episodes, m/s */
#define HARD_WAIT 2 /* times as long between the pushes of hard episodes: there has to be time to get up */

#define FRICTION_MAX 1.2
#define JOINT_ZERO 0.01    /* calibration error, rad */
#define PERTURB_JOINT 0.01 /* noise on the joints of the reference that is shown, rad */
#define PACE 1.5           /* of references that are done faster or slower: by this factor at the most */
#define ORIGINAL 0.7       /* of the episodes on a rehearsal: the policy is shown its original */

/* Sensor noise at factor 1. */
static const float NOISE_GRAVITY = 0.05f, NOISE_GYRO = 0.2f, NOISE_Q = 0.01f, NOISE_QD = 0.5f;

env_options env_options_of(const config *c, double period)
{
    return (env_options){.randomise = strcmp(c->env_randomise, "on") == 0,
                         .perturb = strcmp(c->env_perturb, "on") == 0,
                         .start_noise = c->env_start_noise,
                         .push_scale = c->env_push_scale,
                         .friction_min = c->env_friction_min,
                         .com_x = c->env_com_x,
                         .com_yz = c->env_com_yz,
                         .perturb_ang_vel = c->env_perturb_ang_vel,
                         .perturb_rotation = c->env_perturb_rotation,
                         .sensor_noise = c->env_sensor_noise,
                         .fallen_share = c->env_fallen_share,
                         .guided_share = c->env_guided_share,
                         .toppled_share = c->env_toppled_share,
                         .restart_share = c->env_restart_share,
                         .anchored = c->env_anchored,
                         .paced = c->env_paced,
                         .hard_share = c->env_hard_share,
                         .give_up = c->env_give_up,
                         .hardness = 1,
                         .lead = OBS_LEAD,
                         .longest = (int)fmax(1, c->env_episode_s / period + 0.5),
                         .rotation = obs_rotation_mode(c->tracker_rotation),
                         .basis = action_basis_of(c->tracker_basis)};
}

static double within(rng *r, double half)
{
    return half * (2 * rng_double(r) - 1);
}

static void within3(double out[3], rng *r, const double half[3], double scale)
{
    for (int k = 0; k < 3; k++) out[k] = within(r, scale * half[k]);
}

/* delta (roll, pitch, yaw) about the world's axes: Rz Ry Rx q */
static void turn_root(double quat[4], const double euler[3])
{
    for (int k = 0; k < 3; k++) {
        double turn[4], axis[3] = {0};
        axis[k] = euler[k];
        quat_exp(turn, axis);
        quat_mul(quat, turn, quat);
    }
    quat_normalize(quat);
}

static void lift_from_floor(double qpos[HRC_NQ])
{
    const double low = pose_lowest(qpos);
    if (low < 0) qpos[2] -= low;
}

static void noisy_state(double qpos[HRC_NQ], double shift[2][3], const ref_frame *f, rng *r, double noise)
{
    double pos[3], rot[3];
    within3(pos, r, START_POS, noise);
    within3(rot, r, START_ROT, noise);
    within3(shift[0], r, PUSH_LIN, noise);
    within3(shift[1], r, PUSH_ANG, noise);
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)f->qpos[i];
    for (int k = 0; k < 3; k++) qpos[k] += pos[k];
    turn_root(qpos + 3, rot);
    for (int i = 0; noise > 0 && i < HRC_JOINTS; i++) {
        double q = qpos[7 + i] + within(r, noise * START_JOINT);
        qpos[7 + i] = fmin(fmax(q, G1_JOINT[i].soft_lo), G1_JOINT[i].soft_hi);
    }
    if (noise > 0) lift_from_floor(qpos);
}

static void randomise(env_one *w, const env_options *o)
{
    rng *r = &w->dice;
    sim_params *p = &w->sim.params;
    p->friction = o->friction_min + (FRICTION_MAX - o->friction_min) * rng_double(r);
    p->torso_com[0] = within(r, o->com_x);
    p->torso_com[1] = within(r, o->com_yz);
    p->torso_com[2] = within(r, o->com_yz);
    for (int i = 0; i < HRC_JOINTS; i++) w->offset[i] = within(r, JOINT_ZERO);
}

static double push_wait(rng *r, bool hard)
{
    const double wait = PUSH_MIN_S + (PUSH_MAX_S - PUSH_MIN_S) * rng_double(r);
    return hard ? HARD_WAIT * wait : wait;
}

/* Log-uniform between the slowest and the fastest that the motion allows. */
static double draw_pace(rng *r, const ref_clip *c, const env_options *o)
{
    if (c->leaps || c->original >= 0 || !(rng_double(r) < o->paced)) return 1;
    const double slow = -log(PACE), fast = log(fmin(PACE, c->fastest));
    return exp(slow + (fast - slow) * rng_double(r));
}

env_place draw_place(env_one *w, const references *refs, const env_options *o, int which, int frame)
{
    const ref_clip *c = &refs->clips[which];
    env_place p = {.clip = which, .at = frame, .mirrored = c->mirrored && rng_u32(&w->dice) >> 31};
    p.pace = o->paced > 0 ? draw_pace(&w->dice, c, o) : 1;
    return p;
}

/* A rehearsal is what the robot can do; its original is what it will be shown. */
static bool show_original(env_one *w, const references *refs, env_place place)
{
    const int original = refs->clips[place.clip].original;
    if (original < 0 || rng_double(&w->dice) >= ORIGINAL) return false;
    w->shown = place;
    w->shown.clip = original;
    w->shown_yaw = 0;
    return true;
}

void begin_episode(env_one *w, const references *refs, const env_options *o, env_place place)
{
    w->clip = place.clip;
    w->mirrored = place.mirrored;
    w->first = (int)place.at;
    w->at = place.at, w->pace = place.pace;
    w->anchored = o->anchored > 0 && rng_double(&w->dice) < o->anchored;
    w->hard = o->hard_share > 0 && rng_double(&w->dice) < o->hard_share * o->hardness;
    w->guided = w->lost = false;
    w->rehearsed = show_original(w, refs, place);
    w->lost_at = place.at; /* for those that begin lost: never a time of the clip before */
    w->within = 0;
    w->steps = 0;
    w->score = 0;
    w->trail_n = 0;
    memset(w->action, 0, sizeof w->action);
    memset(w->offset, 0, sizeof w->offset);
    ref_between(&w->now, &refs->clips[w->clip], w->mirrored, w->at, w->pace);
}

void place_robot(env_one *w, const sim *s, const env_options *o, const double *qpos, const double *qvel)
{
    w->sim.want_contact = true;
    sim_reset(s, &w->sim, qpos, qvel);
    if (o->randomise) randomise(w, o);
    w->next_push_s = push_wait(&w->dice, w->hard);
}

void start_episode(env_one *w, const sim *s, const references *refs, const env_options *o, env_place place)
{
    double qpos[HRC_NQ], qvel[HRC_NV], shift[2][3];
    begin_episode(w, refs, o, place);
    noisy_state(qpos, shift, &w->now, &w->dice, o->start_noise);
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)w->now.qvel[i];
    place_robot(w, s, o, qpos, qvel);
    if (o->start_noise > 0) sim_push(&w->sim, shift[0], shift[1]);
}

void shown_reference(float qpos[HRC_NQ], float qvel[HRC_NV], const env_one *w, const references *refs,
                     int ahead)
{
    const env_place p = shows_another(w) ? w->shown : (env_place){w->clip, w->at, w->pace, w->mirrored};
    ref_pose_between(qpos, qvel, &refs->clips[p.clip], p.mirrored, p.at + ahead * p.pace, p.pace);
    if (shows_another(w)) ref_turn(qpos, qvel, w->shown_yaw);
}

void shown_frame(float qpos[HRC_NQ], float qvel[HRC_NV], const env_one *w, const references *refs, int ahead)
{
    shown_reference(qpos, qvel, w, refs, ahead);
    if (w->anchored)
        plan_offset_frame(qpos, qvel, &w->anchor, qpos, qvel,
                          (float)(w->steps % PLAN_EVERY + ahead) / PLAN_FPS);
}

/* Any direction over the floor; small ones are the rule. */
static void hard_push(double lin[3], double ang[3], rng *r, const env_options *o)
{
    const double u = rng_double(r), speed = HARD_PUSH * o->hardness * u * u,
                 heading = within(r, 3.14159265358979323846);
    lin[0] = speed * cos(heading), lin[1] = speed * sin(heading), lin[2] = within(r, 0.2 * speed);
    within3(ang, r, PUSH_ANG, speed);
}

void maybe_push(env_one *w, const env_options *o, double share, double period)
{
    if (!(o->push_scale > 0)) return;
    w->next_push_s -= period;
    if (w->next_push_s > 0) return;
    double lin[3], ang[3];
    if (w->hard) {
        hard_push(lin, ang, &w->dice, o);
    } else {
        within3(lin, &w->dice, PUSH_LIN, share * o->push_scale);
        within3(ang, &w->dice, PUSH_ANG, share * o->push_scale);
    }
    sim_push(&w->sim, lin, ang);
    w->next_push_s = push_wait(&w->dice, w->hard);
}

static float noise(rng *r, double half)
{
    return rng_uniform(r, (float)-half, (float)half);
}

void perturb_window(env_one *w, const env_options *o, float window[OBS_WINDOW])
{
    rng *r = &w->dice;
    for (int f = 0; o->perturb && f < OBS_FRAMES; f++) {
        float *m = window + f * OBS_M, error[4], turn[4], axis[3];
        for (int k = 0; k < 3; k++) m[OBS_REF_ANG + k] += noise(r, o->perturb_ang_vel);
        for (int k = 0; k < 3; k++) axis[k] = noise(r, o->perturb_rotation);
        quat_from_6df(error, m + OBS_REF_ROT);
        quat_expf(turn, axis);
        quat_mulf(error, error, turn);
        quat_to_6df(m + OBS_REF_ROT, error);
        for (int i = 0; i < HRC_JOINTS; i++) m[OBS_REF_Q + i] += noise(r, PERTURB_JOINT);
    }
}

void perturb_proprio(env_one *w, const env_options *o, float p[OBS_P])
{
    const float s = (float)o->sensor_noise;
    if (!(s > 0)) return;
    for (int k = 0; k < 3; k++) {
        p[OBS_GRAVITY + k] += noise(&w->dice, (double)(s * NOISE_GRAVITY));
        p[OBS_ANG_VEL + k] += noise(&w->dice, (double)(s * NOISE_GYRO));
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        p[OBS_Q + i] += noise(&w->dice, (double)(s * NOISE_Q));
        p[OBS_QD + i] += noise(&w->dice, (double)(s * NOISE_QD));
    }
}
