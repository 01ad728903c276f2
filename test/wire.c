/* The wire: check sums against known vectors, the types' identity, the topics over real DDS on the loopback
 * interface, and what is refused. */
#include "deploy/wire.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/wire_convert.h"
#include "shell.h"

/* One domain for each test process, so that tests side by side do not hear each other. */
static wire_address here(void)
{
    return (wire_address){.net = "lo", .domain = 100 + (int)(getpid() % 100)};
}

static void test_crc(void)
{
    static hg_command c;
    static hg_state s;
    uint32_t zero = 0;
    memset(&c, 0, sizeof c), memset(&s, 0, sizeof s);
    ENSURE(crc_words(&zero, 1) == 0xc704dd7b);
    ENSURE(crc_words(&c, 250) == 0xfe172f9f);
    ENSURE(crc_words(&s, 522) == 0xd64bb04a);
    robot_command r = {.mode_machine = 5, .on = 1};
    for (int i = 0; i < HRC_JOINTS; i++) r.kd[i] = 8;
    hg_command_write(&c, &r);
    ENSURE(c.crc == 0xe61896d2);
    for (int i = 0; i < HRC_JOINTS; i++) r.q[i] = 0.01f * (float)i, r.kp[i] = 40, r.kd[i] = 1;
    hg_command_write(&c, &r);
    ENSURE(c.crc == 0x6ca2fb6c);
}

static void test_type_identity(void)
{
    static const unsigned char ID[] = {0xf1, 0x2f, 0x38, 0x29, 0x6b, 0x52, 0xaa, 0x02,
                                       0x30, 0xb9, 0x2d, 0x37, 0x8b, 0x1e, 0x39};
    size_t size;
    const unsigned char *data = wire_type_information(&size);
    ENSURE(memmem(data, size, ID, sizeof ID) != NULL);
}

static void test_refusals(void)
{
    hrc_error err;
    wire *w = NULL;
    ENSURE(wire_open_controller(&w, &(wire_address){"", 1, false}, &(wire_controller){0}, &err) ==
           HRC_EINVAL);
    ENSURE(wire_open_controller(&w, &(wire_address){"nosuch0", 1, false}, &(wire_controller){0}, &err) ==
           HRC_EINVAL);
    ENSURE(strstr(err.text, "nosuch0") && strstr(err.text, "lo"));
    ENSURE(wire_open_controller(&w, &(wire_address){"lo", 231, false}, &(wire_controller){0}, &err) ==
           HRC_EINVAL);
    ENSURE(w == NULL);
}

/* ---- Both ends in one process: two participants of one domain ---- */

typedef struct {
    atomic_int states, bad, orders, others, battery;
    robot_state state;
    wire_order order;
} heard;

static void on_state(void *ctx, const robot_state *s)
{
    heard *h = ctx;
    h->state = *s;
    h->states++;
}

static void on_bad(void *ctx)
{
    ((heard *)ctx)->bad++;
}

static void on_battery(void *ctx, int percent)
{
    ((heard *)ctx)->battery = percent;
}

static void on_other(void *ctx)
{
    ((heard *)ctx)->others++;
}

static void on_order(void *ctx, const wire_order *o)
{
    heard *h = ctx;
    h->order = *o;
    h->orders++;
}

static int on_request(void *ctx, int64_t api, const char *parameter, char *reply, size_t size)
{
    (void)ctx, (void)parameter;
    snprintf(reply, size, "{\"form\":\"0\",\"name\":\"%s\"}", api == SWITCHER_CHECK ? "ai" : "");
    return api == SWITCHER_CHECK ? 0 : 7002;
}

/* At most five seconds until it becomes true. */
#define WAIT_FOR(condition)                                                                                  \
    do {                                                                                                     \
        for (int tries_ = 0; !(condition) && tries_ < 5000; tries_++) usleep(1000);                          \
        ENSURE(condition);                                                                                   \
    } while (0)

static robot_state some_state(void)
{
    robot_state s = {.tick = 12, .mode_machine = 5, .quat = {1, 0, 0, 0}, .accel = {0, 0, 9.8f}};
    for (int i = 0; i < HRC_JOINTS; i++) {
        s.q[i] = 0.1f * (float)i, s.dq[i] = -0.2f * (float)i, s.tau[i] = (float)i;
        s.temp[2 * i] = (int16_t)(30 + i), s.temp[2 * i + 1] = (int16_t)(60 + i), s.fault[i] = (uint32_t)i;
    }
    for (int i = 0; i < ROBOT_REMOTE; i++) s.remote[i] = (uint8_t)(3 * i);
    return s;
}

static void test_round_trip(void)
{
    hrc_error err;
    static heard at_robot, at_controller;
    wire *robot, *controller;
    wire_address at = here();
    memset(&at_robot, 0, sizeof at_robot), memset(&at_controller, 0, sizeof at_controller);
    setenv("CYCLONEDDS_URI", "<this is not XML", 1); /* never read */
    ENSURE_OK(wire_open_robot(&robot, &at, &(wire_robot){&at_robot, on_order, on_request}, &err));
    wire_controller handlers = {&at_controller, on_state, on_bad, NULL, on_battery, on_other};
    ENSURE_OK(wire_open_controller(&controller, &at, &handlers, &err));
    unsetenv("CYCLONEDDS_URI");
    WAIT_FOR(wire_peers(robot) == 1 && wire_peers(controller) == 1);

    robot_state s = some_state();
    ENSURE(wire_send_state(robot, &s));
    WAIT_FOR(at_controller.states == 1);
    ENSURE(memcmp(&at_controller.state, &s, sizeof s) == 0);
    wire_corrupt(robot, 1);
    ENSURE(wire_send_state(robot, &s) && wire_send_state(robot, &s));
    WAIT_FOR(at_controller.states == 2);
    ENSURE(at_controller.bad == 1);

    robot_command c = {.tick = 7, .mode_machine = 5, .on = 1};
    for (int i = 0; i < HRC_JOINTS; i++)
        c.q[i] = (float)i, c.kp[i] = 2, c.kd[i] = 3, c.dq[i] = 4, c.tau[i] = 5;
    ENSURE(wire_send_command(controller, &c));
    WAIT_FOR(at_robot.orders == 1);
    ENSURE(at_robot.order.crc_ok && memcmp(&at_robot.order.command, &c, sizeof c) == 0);

    ENSURE(wire_send_battery(robot, 55));
    WAIT_FOR(at_controller.battery == 55);
    int code;
    char reply[WIRE_REPLY];
    ENSURE_OK(wire_call(controller, SWITCHER_CHECK, "{}", 5000, &code, reply, &err));
    ENSURE(code == 0 && strstr(reply, "\"ai\""));
    ENSURE_OK(wire_call(controller, SWITCHER_RELEASE, "{}", 5000, &code, reply, &err));
    ENSURE(code == 7002);

    /* somebody else's commands are heard, one's own are not */
    ENSURE(at_controller.others == 0);
    wire *second;
    ENSURE_OK(wire_open_controller(&second, &at, &(wire_controller){0}, &err));
    WAIT_FOR(wire_peers(robot) == 2);
    for (int i = 0; i < 50 && at_controller.others == 0; i++) wire_send_command(second, &c), usleep(20000);
    ENSURE(at_controller.others > 0);
    wire_close(second);
    wire_close(controller);
    wire_close(robot);
}

static void test_silence(void)
{
    hrc_error err;
    wire *w;
    wire_address at = here();
    int code;
    char reply[WIRE_REPLY];
    ENSURE_OK(wire_open_controller(&w, &at, &(wire_controller){0}, &err));
    ENSURE(wire_call(w, SWITCHER_CHECK, "{}", 50, &code, reply, &err) == HRC_EFILE);
    ENSURE(strstr(err.text, "no answer"));
    wire_close(w);
}

TEST_TABLE({"wire.crc", test_crc}, {"wire.type_identity", test_type_identity},
           {"wire.refusals", test_refusals}, {"wire.round_trip", test_round_trip},
           {"wire.silence", test_silence})
