#include "rig.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "motion/clip.h"
#include "test.h"

#define TARGET_EVERY 10 /* ticks */

static void load(hrc_model **out, char path[512], const char *relative)
{
    hrc_error err;
    if (!shipped_path(path, 512, relative)) SKIP("the shipped models are not here");
    ENSURE_OK(hrc_model_load(out, path, &err));
}

void rig_open(rig *r, bool with_planner, double noise, uint64_t seed)
{
    hrc_error err;
    memset(r, 0, sizeof *r);
    r->cfg = config_default();
    r->dice = rng_make(seed, 1);
    load(&r->tracker, r->tracker_path, "models/tracker.safetensors");
    if (with_planner) load(&r->planner, r->planner_path, "models/planner.safetensors");
    simbot_options o = {.released = true, .noise = noise, .seed = seed, .remote = true};
    ENSURE_OK(simbot_create(&r->robot, &r->cfg, &o, &err));
}

void rig_close(rig *r)
{
    brain_free(r->mind);
    simbot_free(r->robot);
    hrc_model_free(r->tracker);
    hrc_model_free(r->planner);
    memset(r, 0, sizeof *r);
}

static void place(rig *r)
{
    double qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)brain_reference(r->mind)[k];
    simbot_place(r->robot, qpos);
}

void rig_start(rig *r, const char *motion)
{
    hrc_error err;
    brain_free(r->mind);
    r->mind = NULL;
    brain_setup setup = {.tracker = r->tracker,
                         .planner = r->planner,
                         .tracker_path = r->tracker_path,
                         .planner_path = r->planner_path,
                         .motion = motion,
                         .cfg = &r->cfg,
                         .seed = 1};
    ENSURE_OK(brain_create(&r->mind, &setup, &err));
    pilot_plan plan = {.limits = gate_from_config(&r->cfg),
                       .ramp_s = 0.02,
                       .blend_s = 0.02,
                       .hold_s = -1,
                       .automatic = true};
    memcpy(plan.first, brain_first(r->mind), sizeof plan.first);
    pilot_init(&r->p, &plan);
    place(r);
    r->in = (pilot_input){.robot = {.battery = 100}};
    memset(&r->out, 0, sizeof r->out);
    memset(&r->plan, 0, sizeof r->plan);
    r->thinking = r->sent = r->policy_dead = r->planner_dead = r->policy_nan = false;
    r->wild = 0;
    r->tick = 0;
}

void rig_open_limits(rig *r)
{
    gate_limits *l = &r->p.plan.limits;
    l->tilt = l->gyro = l->joint_speed = 1e9;
    l->joint_margin = 10;
}

static void sense(rig *r)
{
    r->lost = !simbot_step(r->robot, &r->truth);
    robot_state before = r->seen;
    r->seen = r->truth;
    r->in.robot.now_ns = (int64_t)r->truth.tick * 1000000;
    r->in.asks = 0;
    if (r->spoil) r->spoil(r, r->ctx);
    if (r->lost && r->tick > 0) {
        r->seen = before;
    } else {
        r->in.robot.states++;
        r->in.robot.state_ns = (int64_t)r->seen.tick * 1000000;
    }
    r->in.robot.state = &r->seen;
}

static void think(rig *r)
{
    uint32_t epoch = pilot_wants(&r->p);
    if (!epoch || r->tick % TARGET_EVERY || r->policy_dead) return;
    if (r->thinking && !r->planner_dead) {
        brain_think(r->mind, &r->request, r->in.robot.now_ns, &r->plan);
        r->thinking = false;
    }
    brain_input in = {&r->seen, r->in.robot.states, epoch, r->in.robot.now_ns,
                      r->plan.epoch ? &r->plan : NULL};
    brain_step(r->mind, &in, &r->out);
    if (brain_wants(r->mind, &r->request)) r->thinking = true;
    for (int i = 0; i < HRC_JOINTS; i++) {
        if (r->policy_nan) r->out.target.q[i] = NAN;
        if (r->wild > 0) r->out.target.q[i] = (float)G1_JOINT[i].q0 + r->wild * rng_normal(&r->dice);
    }
}

/* The drives close their loop on the readings they report: a false reading acts like a shifted target. */
static void order(rig *r)
{
    wire_order o = {.crc_ok = true, .motors_on = HRC_JOINTS, .command = r->command};
    for (int i = 0; i < HRC_JOINTS; i++) {
        float q = r->seen.q[i] - r->truth.q[i], dq = r->seen.dq[i] - r->truth.dq[i];
        if (r->lost || !isfinite(q) || !isfinite(dq)) continue;
        o.command.q[i] -= q, o.command.dq[i] -= dq;
    }
    simbot_order(r->robot, &o);
}

void rig_tick(rig *r)
{
    sense(r);
    think(r);
    r->in.target = r->out.target.seq ? &r->out.target : NULL;
    r->sent = pilot_tick(&r->p, &r->in, &r->command);
    if (r->sent) order(r);
    r->tick++;
}

double rig_seconds(const rig *r)
{
    return (double)r->tick / ROBOT_HZ;
}

void rig_push(rig *r, double impulse, double direction)
{
    double size = impulse / 0.1, force[3] = {size * cos(direction), size * sin(direction), 0};
    simbot_hit(r->robot, G1_TORSO, force, 0.1);
}
