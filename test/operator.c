/* What stands between the operator's start and the robot: a robot that is not as it should be is not armed,
 * and no gain leaves that no one uses. The robot here is the test: states at any rate, a motion switcher of
 * any stubbornness. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/clock.h"
#include "deploy/gate.h"
#include "desk.h"
#include "shell.h"

#define ATTEMPTS 3

/* ---- A robot ---- */

typedef enum { LETS_GO, KEEPS, REFUSES, DEAF } switcher;

static struct {
    wire *net;
    double hz;
    switcher kind;
    atomic_bool stop, released;
    atomic_int orders;
    pthread_t thread;
    bool runs;
} robot;

static wire_address here(void)
{
    return (wire_address){.net = "lo", .domain = 100 + (int)(getpid() % 100), .realtime = true};
}

static int on_request(void *ctx, int64_t api, const char *parameter, char *reply, size_t size)
{
    (void)ctx, (void)parameter;
    if (api == SWITCHER_RELEASE && robot.kind == REFUSES) return 7002;
    if (api == SWITCHER_RELEASE && robot.kind == LETS_GO) robot.released = true;
    snprintf(reply, size, "{\"form\":\"0\",\"name\":\"%s\"}", robot.released ? "" : "ai");
    return 0;
}

static void on_order(void *ctx, const wire_order *order)
{
    (void)ctx, (void)order;
    robot.orders++;
}

/* It stands still, but for the noise that sensors have. */
static void *send_states(void *arg)
{
    (void)arg;
    const int64_t begun = clock_now_ns(), period = (int64_t)(NS_PER_S / robot.hz);
    realtime_take(78);
    for (int64_t n = 0; !robot.stop; n++) {
        robot_state s = {.mode_machine = 5, .quat = {1, 0, 0, 0}, .accel = {0, 0, 9.8f}};
        float noise = 1e-4f * (float)(n % 7);
        s.tick = (uint32_t)(n * period / NS_PER_MS);
        s.gyro[0] = s.quat[1] = noise;
        for (int i = 0; i < HRC_JOINTS; i++) s.q[i] = (float)G1_JOINT[i].q0 + noise, s.dq[i] = noise;
        wire_send_state(robot.net, &s);
        clock_sleep_until(begun + (n + 1) * period);
    }
    return NULL;
}

static void stop_robot(void)
{
    robot.stop = true;
    if (robot.runs) pthread_join(robot.thread, NULL);
    wire_close(robot.net);
    memset(&robot, 0, sizeof robot);
}

static void start_thread(void *(*run)(void *))
{
    ENSURE(pthread_create(&robot.thread, NULL, run, NULL) == 0);
    robot.runs = true;
}

static void start_robot(double hz, switcher kind)
{
    hrc_error err;
    wire_address at = here();
    stop_robot(); /* of a test that failed */
    robot.hz = hz, robot.kind = kind;
    wire_robot handlers = {.command = on_order, .request = kind == DEAF ? NULL : on_request};
    ENSURE_OK(wire_open_robot(&robot.net, &at, &handlers, &err));
    start_thread(send_states);
}

/* ---- Refusals ---- */

#define ARM "--arm --damp 0.2 --motion motions/wave.safetensors --patience 20"

/* Exit code 1, the sentence, and nothing was sent. A machine that others keep busy may not reach the rate. */
static void ensure_refused(double hz, switcher kind, const char *sentence)
{
    bool busy = true;
    for (int i = 0; i < ATTEMPTS && busy; i++) {
        desk_open(NULL);
        start_robot(hz, kind);
        desk_deploy(ARM, NULL);
        int status = desk_wait(40), orders = robot.orders;
        desk_waits_for("heracles: ", 1);
        stop_robot();
        busy = strstr(desk_output(), "times a second") && !strstr(sentence, "times a second");
        if (busy) continue;
        if (orders || status != 1 << 8 || !strstr(desk_output(), sentence))
            test_fail(__FILE__, __LINE__, "expected \"%s\" and no command; %d commands, status %x: %s",
                      sentence, orders, (unsigned)status, desk_output());
    }
    ENSURE(!busy);
    desk_close();
}

static void test_rate(void)
{
    ensure_refused(250, LETS_GO, "times a second, expected 500");
}

static void test_takeover(void)
{
    ensure_refused(500, REFUSES, "answered with error 7002");
    ensure_refused(500, DEAF, "no answer to call");
    ensure_refused(500, KEEPS, "mode ai does not let go of the robot");
}

/* The same robot, at its rate and willing, is armed: what is refused above is refused for its reason. Another
 * that a failed test left running does not matter. */
static void test_armed(void)
{
    bool armed = false;
    start_robot(500, KEEPS);
    for (int i = 0; i < ATTEMPTS && !armed; i++) {
        desk_open(NULL);
        start_robot(500, LETS_GO);
        armed = desk_deploy(ARM, "ARMED") && desk_waits_for("damp\r\n", 5);
        desk_sleep(0.1);
        armed = armed && robot.orders > 0;
        desk_close();
        stop_robot();
    }
    ENSURE(armed);
}

static void *send_commands(void *arg)
{
    (void)arg;
    while (!robot.stop) {
        robot_command c = {.mode_machine = 5, .on = 1};
        wire_send_command(robot.net, &c);
        desk_sleep(0.01);
    }
    return NULL;
}

/* Commands of another program: before arming they are refused, later they trip. */
static void test_other_writer(void)
{
    hrc_error err;
    wire_address at = here();
    desk_open("");
    stop_robot();
    ENSURE_OK(wire_open_writer(&robot.net, &at, &err));
    start_thread(send_commands);
    desk_deploy(ARM, NULL);
    int status = desk_wait(40);
    desk_waits_for("heracles: ", 1);
    stop_robot();
    if (status != 1 << 8 || !strstr(desk_output(), "another program sends commands"))
        test_fail(__FILE__, __LINE__, "status %x: %s", (unsigned)status, desk_output());
    desk_close();
}

/* ---- Gains ---- */

/* However wild: not more than anyone uses on this robot, at rest too, where torque bounds nothing. */
static void test_gains(void)
{
    config cfg = config_default();
    gate_limits limits = gate_from_config(&cfg);
    static const float WILD[] = {21, 1e3f, 1e6f, 3e38f};
    for (int k = 0; k < 4; k++) {
        robot_command c = {.on = 1};
        robot_state s = {0};
        gate_memory sent = {0};
        gate_counts counts = {0};
        for (int i = 0; i < HRC_JOINTS; i++) c.kp[i] = 30 * WILD[k], c.kd[i] = WILD[k];
        gate_pass(&c, &sent, &s, &limits, &counts);
        for (int i = 0; i < HRC_JOINTS; i++) ENSURE(c.kp[i] <= 500 && c.kd[i] <= 20 && c.kd[i] > 0);
    }
}

TEST_TABLE({"operator.rate", test_rate}, {"operator.takeover", test_takeover}, {"operator.armed", test_armed},
           {"operator.other_writer", test_other_writer}, {"operator.gains", test_gains})
