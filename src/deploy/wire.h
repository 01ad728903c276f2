/* The robot's topics over CycloneDDS; nothing else includes it. One wire is one participant of one domain on
 * one network interface, both named by the caller: nothing is sent on any other interface, and neither
 * environment nor files configure it. States carry their check sum; a message whose sum is wrong is counted
 * and dropped.
 *
 * Handlers run on the middleware's receiving thread: short, no waiting. */
#ifndef HRC_DEPLOY_WIRE_H
#define HRC_DEPLOY_WIRE_H

#include "deploy/messages.h"

typedef struct wire wire;

typedef struct {
    const char *net; /* "lo", "eth0" */
    int domain;      /* 0 on the robot; 0 .. 230 */
    bool realtime;   /* the receiving threads get a real-time priority, where that is allowed */
} wire_address;

/* On the controller's side. NULL: not wanted. */
typedef struct {
    void *ctx;
    void (*state)(void *ctx, const robot_state *s);
    void (*bad_state)(void *ctx); /* check sum wrong */
    void (*torso)(void *ctx, const float quat[4], const float gyro[3]);
    void (*battery)(void *ctx, int percent);
    void (*other_writer)(void *ctx); /* another program sends commands */
} wire_controller;

/* A command as it came: what a robot looks at before it obeys. */
typedef struct {
    robot_command command;
    bool crc_ok;
    int mode_pr;
    int motors_on; /* of 29 */
} wire_order;

/* On the robot's side. `request` answers a call of the motion switcher: returns the status code and writes
 * the answer's data (JSON) into reply. */
typedef struct {
    void *ctx;
    void (*command)(void *ctx, const wire_order *order);
    int (*request)(void *ctx, int64_t api, const char *parameter, char *reply, size_t size);
} wire_robot;

hrc_status wire_open_controller(wire **out, const wire_address *at, const wire_controller *handlers,
                                hrc_error *err);
hrc_status wire_open_writer(wire **out, const wire_address *at, hrc_error *err); /* commands and no ears */
hrc_status wire_open_robot(wire **out, const wire_address *at, const wire_robot *handlers, hrc_error *err);
void wire_close(wire *w); /* NULL is fine; no handler runs after it */

/* Send. One thread each. False: the middleware refused. */
bool wire_send_command(wire *w, const robot_command *c);
bool wire_send_state(wire *w, const robot_state *s);
bool wire_send_torso(wire *w, const float quat[4], const float gyro[3]);
bool wire_send_battery(wire *w, int percent);

/* A bad cable: this many of the next states leave with a wrong sum. */
void wire_corrupt(wire *w, int states);

/* The motion switcher, which owns the robot until it is released. */
enum { SWITCHER_CHECK = 1001, SWITCHER_SELECT = 1002, SWITCHER_RELEASE = 1003 };
enum { WIRE_REPLY = 512 };

/* One call; waits for the answer. HRC_EFILE when none came in time. */
hrc_status wire_call(wire *w, int64_t api, const char *parameter, int timeout_ms, int *code,
                     char reply[WIRE_REPLY], hrc_error *err);

/* How many endpoints are matched on the main topic: robots a controller sees, controllers a robot sees. */
int wire_peers(const wire *w);

/* Bytes of the middleware's type information of LowState, for the test of its identity. */
const unsigned char *wire_type_information(size_t *size);

#endif
