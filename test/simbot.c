/* The simulated robot: obeys what a G1 obeys, counts what it should not be asked, hangs on its band; and the
 * same run through DDS in lockstep and without a network gives the same bits. */
#include "deploy/simbot.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/gate.h"
#include "deploy/remote.h"
#include "deploy/robotsim.h"
#include "shell.h"

static simbot *make(const simbot_options *o)
{
    hrc_error err;
    simbot *b;
    config cfg = config_default();
    ENSURE_OK(simbot_create(&b, &cfg, o, &err));
    return b;
}

/* A proper order: every joint to q, with the robot's gains. */
static wire_order order_for(const float *q)
{
    wire_order o = {.crc_ok = true, .motors_on = HRC_JOINTS, .command = {.mode_machine = 5, .on = 1}};
    for (int i = 0; i < HRC_JOINTS; i++) {
        o.command.q[i] = q ? q[i] : (float)G1_JOINT[i].q0;
        o.command.kp[i] = (float)G1_JOINT[i].kp, o.command.kd[i] = (float)G1_JOINT[i].kd;
    }
    return o;
}

static void test_strict(void)
{
    simbot_options o = {.released = true};
    simbot *b = make(&o);
    const simbot_counts *n = simbot_look(b).counts;
    wire_order good = order_for(NULL), bad;
    bad = good, bad.crc_ok = false, simbot_order(b, &bad);
    bad = good, bad.mode_pr = 1, simbot_order(b, &bad);
    bad = good, bad.motors_on = 28, simbot_order(b, &bad);
    bad = good, bad.command.mode_machine = 6, simbot_order(b, &bad);
    bad = good, bad.command.q[3] = NAN, simbot_order(b, &bad);
    ENSURE(n->orders == 5 && n->bad_crc == 1 && n->bad_mode == 2 && n->bad_machine == 1 &&
           n->bad_number == 1);
    ENSURE(simbot_look(b).target[3] == 0); /* none was obeyed */
    simbot_order(b, &good);
    ENSURE(simbot_look(b).target[3] == good.command.q[3]);
    bad = good, bad.command.q[3] += 0.2f, simbot_order(b, &bad);
    bad = good, bad.command.q[5] = 0.9f, simbot_order(b, &bad);
    ENSURE(n->big_steps == 2 && n->beyond_limits == 1);
    robot_state s;
    for (int i = 0; i < 20; i++) simbot_step(b, &s);
    simbot_order(b, &good);
    ENSURE(n->gaps == 1);
    simbot_free(b);

    o.released = false;
    b = make(&o);
    char reply[WIRE_REPLY] = "";
    simbot_order(b, &good);
    ENSURE(simbot_look(b).counts->not_released == 1);
    ENSURE(simbot_request(b, SWITCHER_CHECK, "{}", reply, sizeof reply) == 0 && strstr(reply, "\"ai\""));
    ENSURE(simbot_request(b, SWITCHER_RELEASE, "{}", reply, sizeof reply) == 0);
    ENSURE(simbot_request(b, SWITCHER_CHECK, "{}", reply, sizeof reply) == 0 &&
           strstr(reply, "\"name\":\"\""));
    simbot_order(b, &good);
    ENSURE(simbot_look(b).counts->not_released == 1 && simbot_look(b).target[3] == good.command.q[3]);
    simbot_free(b);
}

/* Hung up and held stiff it stays upright; the accelerometer feels gravity as an upward force. */
static void test_band(void)
{
    simbot_options o = {.released = true, .band = true, .noise = 1, .seed = 2};
    simbot *b = make(&o);
    robot_state s = {0};
    double up = 0;
    for (int i = 0; i < 1500; i++) {
        wire_order hold = order_for(NULL);
        simbot_order(b, &hold);
        ENSURE(simbot_step(b, &s));
        ENSURE(s.tick == 2u * (uint32_t)(i + 1) && s.mode_machine == 5);
        if (i >= 1000) up += (double)s.accel[2] / 500;
    }
    ENSURE(simbot_look(b).tilt < 0.3 && simbot_look(b).qpos[2] > 0.7);
    ENSURE_NEAR(up, 9.81, 0.3);
    ENSURE(simbot_look(b).counts->over_torque == 0 && simbot_look(b).counts->gaps == 0);
    simbot_free(b);
}

/* Damping, as after any trip, is stable: on the band the robot sinks into itself and comes to rest. */
static void test_damping(void)
{
    simbot_options o = {.released = true, .band = true};
    simbot *b = make(&o);
    robot_state s;
    float sent[HRC_JOINTS] = {0};
    for (int i = 0; i < 2000; i++) {
        wire_order damp = order_for(NULL);
        gate_damping(&damp.command, sent, NULL);
        simbot_order(b, &damp);
        simbot_step(b, &s);
        for (int k = 0; k < HRC_JOINTS; k++) ENSURE(fabsf(s.dq[k]) < 10);
    }
    double fastest = 0;
    for (int k = 0; k < HRC_JOINTS; k++) fastest = fmax(fastest, fabs((double)s.dq[k]));
    ENSURE(fastest < 1.5);
    simbot_free(b);
}

static void test_latency_and_loss(void)
{
    simbot_options o = {.released = true, .band = true, .latency_ms = 20, .loss = 0.1, .seed = 9};
    simbot *b = make(&o);
    robot_state s;
    int lost = 0;
    for (int i = 0; i < 1000; i++) {
        lost += !simbot_step(b, &s);
        if (i > 20) ENSURE(s.tick == 2u * (uint32_t)(i + 1) - 20);
    }
    ENSURE(lost > 60 && lost < 140);
    simbot_free(b);
    o = (simbot_options){.released = true, .cable_at_s = 0.5, .cable_s = 0.5};
    b = make(&o);
    for (lost = 0; lost + 1 < 1000 && simbot_step(b, &s); lost++) {}
    ENSURE(lost > 245 && lost < 255);
    simbot_free(b);
}

/* ---- Through the network, in lockstep ---- */

enum { TICKS = 500 };

typedef struct {
    robot_state state[TICKS];
    int n;
    wire *net;
    sem_t came;
} echo;

/* A controller that moves a knee, as a function of the tick alone. */
static robot_command answer(const robot_state *s)
{
    robot_command c = order_for(NULL).command;
    c.tick = s->tick;
    c.q[3] += 0.2f * sinf(0.006f * (float)s->tick);
    return c;
}

static void on_state(void *ctx, const robot_state *s)
{
    echo *e = ctx;
    if (e->n < TICKS) e->state[e->n++] = *s;
    sem_post(&e->came);
}

typedef struct {
    simbot *robot;
    robotsim_options options;
    robotsim_report report;
    hrc_status status;
    hrc_error err;
} runner;

static void *run_robot(void *arg)
{
    runner *r = arg;
    r->status = robotsim_run(r->robot, &r->options, NULL, &r->report, &r->err);
    return NULL;
}

static void test_lockstep(void)
{
    static echo e;
    static runner r;
    hrc_error err;
    pthread_t thread;
    simbot_options o = {.released = true, .band = true, .noise = 1, .seed = 5};
    memset(&e, 0, sizeof e);
    sem_init(&e.came, 0, 0);
    r = (runner){.robot = make(&o),
                 .options = {.at = {.net = "lo", .domain = 100 + (int)(getpid() % 100)},
                             .lockstep = true,
                             .seconds = (double)TICKS / ROBOT_HZ,
                             .patience_s = 5}};
    ENSURE_OK(
        wire_open_controller(&e.net, &r.options.at, &(wire_controller){.ctx = &e, .state = on_state}, &err));
    ENSURE(pthread_create(&thread, NULL, run_robot, &r) == 0);
    for (int i = 0; i < TICKS; i++) {
        while (sem_wait(&e.came)) {}
        robot_command c = answer(&e.state[i]);
        wire_send_command(e.net, &c);
    }
    pthread_join(thread, NULL);
    wire_close(e.net);
    ENSURE(r.status == HRC_OK && r.report.states == TICKS && r.report.unanswered == 0);
    ENSURE(simbot_look(r.robot).counts->orders == TICKS && simbot_look(r.robot).counts->bad_crc == 0);

    simbot *again = make(&o);
    for (int i = 0; i < TICKS; i++) {
        robot_state s;
        ENSURE(simbot_step(again, &s) && memcmp(&s, &e.state[i], sizeof s) == 0);
        wire_order order = order_for(NULL);
        order.command = answer(&s);
        simbot_order(again, &order);
    }
    ENSURE(memcmp(simbot_look(again).qpos, simbot_look(r.robot).qpos, sizeof(double) * HRC_NQ) == 0);
    simbot_free(again);
    simbot_free(r.robot);
}

/* ---- The command ---- */

static void test_command(void)
{
    ENSURE(shell("$HERACLES robot-sim --net lo") == 2 && says("--domain"));
    ENSURE(shell("$HERACLES robot-sim --domain 1") == 2 && says("--net"));
    ENSURE(shell("$HERACLES robot-sim --net nosuch0 --domain 1 --seconds 1") == 1 && says("nosuch0"));
    ENSURE(shell("$HERACLES robot-sim --net lo --domain 1 --keys 2:Nose --seconds 1") == 2 && says("Nose"));
    char line[300];
    snprintf(
        line, sizeof line,
        "$HERACLES robot-sim --net lo --domain %d --band 0 --seconds 0.5 --keys 0.1:L2+Up -o $T/hang.safetensors "
        "--json --quiet",
        100 + (int)(getpid() % 100));
    json_t *said = shell_json(line);
    ENSURE(json_integer_value(json_object_get(said, "states")) == 250);
    ENSURE(json_integer_value(json_object_get(json_object_get(said, "counts"), "orders")) == 0);
    json_decref(said);
    ENSURE(shell("$HERACLES view $T/hang.safetensors -o $T/hang.html") == 0);
}

TEST_TABLE({"simbot.strict", test_strict}, {"simbot.band", test_band}, {"simbot.damping", test_damping},
           {"simbot.latency_and_loss", test_latency_and_loss}, {"simbot.lockstep", test_lockstep},
           {"simbot.command", test_command})
