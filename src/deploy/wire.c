#include "deploy/wire.h"

#include <ctype.h>
#include <dds/dds.h>
#include <math.h>
#include <net/if.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/clock.h"
#include "deploy/wire_convert.h"

/* ---- Checksum ---- */

/* CRC of the sixteen half bytes. */
static const uint32_t NIBBLE[16] = {0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
                                    0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
                                    0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};

uint32_t crc_words(const void *data, size_t words)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, (const char *)data + 4 * i, 4);
        crc ^= word;
        for (int k = 0; k < 8; k++) crc = (crc << 4) ^ NIBBLE[crc >> 28];
    }
    return crc;
}

_Static_assert(sizeof(hg_state) == 2092 && offsetof(hg_state, crc) == 2088, "layout of LowState");
_Static_assert(sizeof(hg_command) == 1004 && offsetof(hg_command, crc) == 1000, "layout of LowCmd");

#define WORDS(message) (offsetof(message, crc) / 4)

/* Roll, pitch, yaw of a quaternion: for other tools that read the topic. */
static void euler(float rpy[3], const float q[4])
{
    float s = 2 * (q[0] * q[2] - q[3] * q[1]);
    rpy[0] = atan2f(2 * (q[0] * q[1] + q[2] * q[3]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
    rpy[1] = asinf(s > 1 ? 1 : s < -1 ? -1 : s);
    rpy[2] = atan2f(2 * (q[0] * q[3] + q[1] * q[2]), 1 - 2 * (q[2] * q[2] + q[3] * q[3]));
}

static void hg_state_write(hg_state *out, const robot_state *s)
{
    memset(out, 0, sizeof *out); /* padding is part of the sum */
    out->mode_machine = (uint8_t)s->mode_machine;
    out->tick = s->tick;
    memcpy(out->imu_state.quaternion, s->quat, sizeof s->quat);
    memcpy(out->imu_state.gyroscope, s->gyro, sizeof s->gyro);
    memcpy(out->imu_state.accelerometer, s->accel, sizeof s->accel);
    euler(out->imu_state.rpy, s->quat);
    for (int i = 0; i < HRC_JOINTS; i++) {
        unitree_hg_msg_dds__MotorState_ *m = &out->motor_state[i];
        m->mode = 1;
        m->q = s->q[i], m->dq = s->dq[i], m->tau_est = s->tau[i];
        m->temperature[0] = s->temp[2 * i], m->temperature[1] = s->temp[2 * i + 1];
        m->motorstate = s->fault[i];
    }
    memcpy(out->wireless_remote, s->remote, sizeof s->remote);
    out->crc = crc_words(out, WORDS(hg_state));
}

static bool hg_state_crc_ok(const hg_state *m)
{
    return m->crc == crc_words(m, WORDS(hg_state));
}

static void hg_state_read(robot_state *out, const hg_state *m)
{
    memset(out, 0, sizeof *out);
    out->tick = m->tick;
    out->mode_machine = m->mode_machine;
    memcpy(out->quat, m->imu_state.quaternion, sizeof out->quat);
    memcpy(out->gyro, m->imu_state.gyroscope, sizeof out->gyro);
    memcpy(out->accel, m->imu_state.accelerometer, sizeof out->accel);
    for (int i = 0; i < HRC_JOINTS; i++) {
        const unitree_hg_msg_dds__MotorState_ *from = &m->motor_state[i];
        out->q[i] = from->q, out->dq[i] = from->dq, out->tau[i] = from->tau_est;
        out->temp[2 * i] = from->temperature[0], out->temp[2 * i + 1] = from->temperature[1];
        out->fault[i] = from->motorstate;
    }
    memcpy(out->remote, m->wireless_remote, sizeof out->remote);
}

void hg_command_write(hg_command *out, const robot_command *c)
{
    memset(out, 0, sizeof *out);
    out->mode_machine = (uint8_t)c->mode_machine;
    for (int i = 0; i < HRC_JOINTS; i++) {
        unitree_hg_msg_dds__MotorCmd_ *m = &out->motor_cmd[i];
        m->mode = c->on ? 1 : 0;
        m->q = c->q[i], m->dq = c->dq[i], m->tau = c->tau[i], m->kp = c->kp[i], m->kd = c->kd[i];
    }
    out->reserve[3] = c->tick;
    out->crc = crc_words(out, WORDS(hg_command));
}

static void hg_command_read(wire_order *out, const hg_command *m)
{
    memset(out, 0, sizeof *out);
    out->crc_ok = m->crc == crc_words(m, WORDS(hg_command));
    out->mode_pr = m->mode_pr;
    robot_command *c = &out->command;
    c->tick = m->reserve[3];
    c->mode_machine = m->mode_machine;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const unitree_hg_msg_dds__MotorCmd_ *from = &m->motor_cmd[i];
        out->motors_on += from->mode == 1;
        c->q[i] = from->q, c->dq[i] = from->dq, c->tau[i] = from->tau, c->kp[i] = from->kp,
        c->kd[i] = from->kd;
    }
    c->on = out->motors_on == HRC_JOINTS;
}

/* ---- Topics ---- */

#define RECEIVE_PRIORITY 75

struct wire {
    bool entered; /* the process's domain */
    bool realtime;
    dds_entity_t participant;
    dds_entity_t states, commands, torso, battery; /* reader or writer, by side */
    dds_entity_t requests, responses;
    wire_controller controller;
    wire_robot robot;
    bool is_robot, only_writes;
    hg_state state_out, state_in; /* each touched by one thread */
    hg_command command_out, command_in;
    int corrupt;
    int64_t calls;
};

/* The middleware's complaints end here instead of on the terminal; the last one goes into an error's
 * sentence. */
static char complaint[200];

static void hear(void *ctx, const dds_log_data_t *data)
{
    (void)ctx;
    if (data->priority & (DDS_LC_ERROR | DDS_LC_FATAL)) {
        snprintf(complaint, sizeof complaint, "%.190s", data->message);
        complaint[strcspn(complaint, "\n")] = 0;
    }
}

/* ---- Domain ---- */

static hrc_status check_address(const wire_address *at, hrc_error *err)
{
    if (!at->net || !at->net[0])
        return fail(err, HRC_EINVAL, "network interface: none was named, expected one such as lo or eth0");
    bool known = if_nametoindex(at->net) != 0;
    for (const char *c = at->net; *c; c++)
        known = known && (isalnum((unsigned char)*c) || strchr("-_.:@", *c));
    if (!known) {
        char there[256] = "";
        struct if_nameindex *list = if_nameindex();
        for (int i = 0; list && list[i].if_name; i++) {
            size_t used = strlen(there);
            snprintf(there + used, sizeof there - used, "%s%s", used ? ", " : "", list[i].if_name);
        }
        if (list) if_freenameindex(list);
        return fail(err, HRC_EINVAL, "network interface %.60s: this machine has none of that name, it has %s",
                    at->net, there);
    }
    if (at->domain < 0 || at->domain > 230)
        return fail(err, HRC_EINVAL, "domain %d: expected 0 to 230", at->domain);
    return HRC_OK;
}

/* A process has a domain once, so wires of one process that name the same one share it. */
static struct {
    pthread_mutex_t lock;
    dds_entity_t entity;
    int domain, users;
    char net[64];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Without multicast (lo has none) the participants' ports are tried in turn, and the default stops after
 * nine. */
static dds_entity_t create_domain(const wire_address *at)
{
    char xml[600];
    snprintf(
        xml, sizeof xml,
        "<CycloneDDS><Domain id=\"any\"><General><Interfaces><NetworkInterface name=\"%s\"/></Interfaces>"
        "</General><Discovery><MaxAutoParticipantIndex>60</MaxAutoParticipantIndex></Discovery></Domain>"
        "</CycloneDDS>",
        at->net);
    complaint[0] = 0;
    dds_set_log_sink(hear, NULL);
    return dds_create_domain((dds_domainid_t)at->domain, xml);
}

static hrc_status enter_domain(const wire_address *at, hrc_error *err)
{
    if (shared.users && (shared.domain != at->domain || strcmp(shared.net, at->net)))
        return fail(err, HRC_EINVAL, "DDS domain %d on %s: this process is in domain %d on %s already",
                    at->domain, at->net, shared.domain, shared.net);
    if (!shared.users) {
        shared.entity = create_domain(at);
        if (shared.entity < 0)
            return fail(err, HRC_EFILE, "DDS domain %d on %s: %s%s%s", at->domain, at->net,
                        dds_strretcode(-shared.entity), complaint[0] ? ": " : "", complaint);
        shared.domain = at->domain;
        snprintf(shared.net, sizeof shared.net, "%s", at->net);
    }
    shared.users++;
    return HRC_OK;
}

static hrc_status open_domain(wire *w, const wire_address *at, hrc_error *err)
{
    pthread_mutex_lock(&shared.lock);
    hrc_status status = enter_domain(at, err);
    pthread_mutex_unlock(&shared.lock);
    TRY(status);
    w->entered = true;
    w->participant = dds_create_participant((dds_domainid_t)at->domain, NULL, NULL);
    if (w->participant < 0)
        return fail(err, HRC_EFILE, "DDS participant in domain %d on %s: %s%s%s", at->domain, at->net,
                    dds_strretcode(-w->participant), complaint[0] ? ": " : "", complaint);
    return HRC_OK;
}

typedef struct {
    const char *name;
    const dds_topic_descriptor_t *type;
} topic;

static const topic STATES = {"rt/lowstate", &unitree_hg_msg_dds__LowState__desc};
static const topic COMMANDS = {"rt/lowcmd", &unitree_hg_msg_dds__LowCmd__desc};
static const topic TORSO = {"rt/secondary_imu", &unitree_hg_msg_dds__IMUState__desc};
static const topic BATTERY = {"rt/lf/bmsstate", &unitree_hg_msg_dds__BmsState__desc};
static const topic REQUESTS = {"rt/api/motion_switcher/request", &unitree_api_msg_dds__Request__desc};
static const topic RESPONSES = {"rt/api/motion_switcher/response", &unitree_api_msg_dds__Response__desc};

/* Everything is created inside the participant and goes with it. The robot's own quality of service is the
 * middleware's default, so ours is too: reliable writers, best-effort readers, last value kept. Readers keep
 * eight, so that a slow moment loses nothing. */
static hrc_status create(dds_entity_t *out, wire *w, const topic *t, bool writer,
                         dds_on_data_available_fn heard, hrc_error *err)
{
    dds_entity_t on = dds_create_topic(w->participant, t->type, t->name, NULL, NULL);
    if (on < 0) return fail(err, HRC_EFILE, "DDS topic %s: %s", t->name, dds_strretcode(-on));
    dds_qos_t *qos = dds_create_qos();
    dds_listener_t *listener = heard ? dds_create_listener(w) : NULL;
    if (!writer) dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 8);
    if (!writer) dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
    if (t == &REQUESTS || t == &RESPONSES)
        dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    if (listener) dds_lset_data_available(listener, heard);
    *out = writer ? dds_create_writer(w->participant, on, qos, NULL)
                  : dds_create_reader(w->participant, on, qos, listener);
    dds_delete_qos(qos);
    if (listener) dds_delete_listener(listener);
    if (*out < 0)
        return fail(err, HRC_EFILE, "DDS %s of %s: %s", writer ? "writer" : "reader", t->name,
                    dds_strretcode(-*out));
    return HRC_OK;
}

/* ---- Hearing ---- */

/* The middleware's own settings know only some of its receiving threads, so each raises itself when it first
 * hears. */
static void raise_receiver(const wire *w)
{
    static _Thread_local bool done;
    if (w->realtime && !done) realtime_take(RECEIVE_PRIORITY);
    done = true;
}

/* The next sample into the caller's memory; false when there is no more. */
static bool take(dds_entity_t reader, void *sample)
{
    dds_sample_info_t info;
    void *into[1] = {sample};
    while (dds_take(reader, into, &info, 1, 1) == 1)
        if (info.valid_data) return true;
    return false;
}

static void hear_state(dds_entity_t reader, void *arg)
{
    wire *w = arg;
    robot_state s;
    raise_receiver(w);
    while (take(reader, &w->state_in))
        if (!hg_state_crc_ok(&w->state_in)) {
            if (w->controller.bad_state) w->controller.bad_state(w->controller.ctx);
        } else if (w->controller.state) {
            hg_state_read(&s, &w->state_in);
            w->controller.state(w->controller.ctx, &s);
        }
}

static void hear_other_command(dds_entity_t reader, void *arg)
{
    wire *w = arg;
    while (take(reader, &w->command_in))
        if (w->controller.other_writer) w->controller.other_writer(w->controller.ctx);
}

static void hear_torso(dds_entity_t reader, void *arg)
{
    wire *w = arg;
    unitree_hg_msg_dds__IMUState_ imu;
    while (take(reader, &imu))
        if (w->controller.torso) w->controller.torso(w->controller.ctx, imu.quaternion, imu.gyroscope);
}

static void hear_battery(dds_entity_t reader, void *arg)
{
    wire *w = arg;
    unitree_hg_msg_dds__BmsState_ bms;
    while (take(reader, &bms))
        if (w->controller.battery) w->controller.battery(w->controller.ctx, bms.soc);
}

static void hear_command(dds_entity_t reader, void *arg)
{
    wire *w = arg;
    wire_order order;
    raise_receiver(w);
    while (take(reader, &w->command_in)) {
        hg_command_read(&order, &w->command_in);
        if (w->robot.command) w->robot.command(w->robot.ctx, &order);
    }
}

static void hear_request(dds_entity_t reader, void *arg)
{
    wire *w = arg;
    unitree_api_msg_dds__Request_ request;
    memset(&request, 0, sizeof request);
    while (take(reader, &request)) {
        char reply[WIRE_REPLY] = "";
        unitree_api_msg_dds__Response_ response;
        memset(&response, 0, sizeof response);
        response.header.identity = request.header.identity;
        response.header.status.code =
            w->robot.request(w->robot.ctx, request.header.identity.api_id,
                             request.parameter ? request.parameter : "", reply, sizeof reply);
        response.data = reply;
        if (!request.header.policy.noreply) dds_write(w->responses, &response);
        dds_sample_free(&request, &unitree_api_msg_dds__Request__desc, DDS_FREE_CONTENTS);
        memset(&request, 0, sizeof request);
    }
}

/* ---- Open and close ---- */

static hrc_status open_controller_topics(wire *w, hrc_error *err)
{
    TRY(create(&w->commands, w, &COMMANDS, true, NULL, err));
    if (w->only_writes) return HRC_OK;
    TRY(create(&w->requests, w, &REQUESTS, true, NULL, err));
    TRY(create(&w->responses, w, &RESPONSES, false, NULL, err));
    dds_entity_t others;
    TRY(create(&others, w, &COMMANDS, false, hear_other_command, err));
    TRY(create(&w->torso, w, &TORSO, false, hear_torso, err));
    TRY(create(&w->battery, w, &BATTERY, false, hear_battery, err));
    return create(&w->states, w, &STATES, false, hear_state, err);
}

static hrc_status open_robot_topics(wire *w, hrc_error *err)
{
    TRY(create(&w->states, w, &STATES, true, NULL, err));
    TRY(create(&w->torso, w, &TORSO, true, NULL, err));
    TRY(create(&w->battery, w, &BATTERY, true, NULL, err));
    TRY(create(&w->responses, w, &RESPONSES, true, NULL, err));
    if (w->robot.request) TRY(create(&w->requests, w, &REQUESTS, false, hear_request, err));
    return create(&w->commands, w, &COMMANDS, false, hear_command, err);
}

static hrc_status open_wire(wire **out, const wire_address *at, const wire *handlers, hrc_error *err)
{
    TRY(check_address(at, err));
    wire *w = calloc(1, sizeof *w);
    if (!w) return fail(err, HRC_ENOMEM, "DDS: out of memory");
    *w = *handlers;
    w->realtime = at->realtime;
    hrc_status status = open_domain(w, at, err);
    if (status == HRC_OK) status = w->is_robot ? open_robot_topics(w, err) : open_controller_topics(w, err);
    if (status < 0)
        wire_close(w);
    else
        *out = w;
    return status;
}

hrc_status wire_open_controller(wire **out, const wire_address *at, const wire_controller *handlers,
                                hrc_error *err)
{
    return open_wire(out, at, &(wire){.controller = *handlers}, err);
}

hrc_status wire_open_writer(wire **out, const wire_address *at, hrc_error *err)
{
    return open_wire(out, at, &(wire){.only_writes = true}, err);
}

hrc_status wire_open_robot(wire **out, const wire_address *at, const wire_robot *handlers, hrc_error *err)
{
    return open_wire(out, at, &(wire){.robot = *handlers, .is_robot = true}, err);
}

void wire_close(wire *w)
{
    if (!w) return;
    if (w->participant > 0) dds_delete(w->participant); /* and all inside */
    pthread_mutex_lock(&shared.lock);
    if (w->entered && --shared.users == 0) dds_delete(shared.entity);
    pthread_mutex_unlock(&shared.lock);
    free(w);
}

/* ---- Saying ---- */

bool wire_send_command(wire *w, const robot_command *c)
{
    hg_command_write(&w->command_out, c);
    return dds_write(w->commands, &w->command_out) == DDS_RETCODE_OK;
}

bool wire_send_state(wire *w, const robot_state *s)
{
    hg_state_write(&w->state_out, s);
    if (w->corrupt > 0) {
        w->corrupt--;
        w->state_out.motor_state[3].vol += 1;
    }
    return dds_write(w->states, &w->state_out) == DDS_RETCODE_OK;
}

void wire_corrupt(wire *w, int states)
{
    w->corrupt = states;
}

bool wire_send_torso(wire *w, const float quat[4], const float gyro[3])
{
    unitree_hg_msg_dds__IMUState_ imu;
    memset(&imu, 0, sizeof imu);
    memcpy(imu.quaternion, quat, sizeof imu.quaternion);
    memcpy(imu.gyroscope, gyro, sizeof imu.gyroscope);
    return dds_write(w->torso, &imu) == DDS_RETCODE_OK;
}

bool wire_send_battery(wire *w, int percent)
{
    unitree_hg_msg_dds__BmsState_ bms;
    memset(&bms, 0, sizeof bms);
    bms.soc = bms.soh = (uint8_t)percent;
    return dds_write(w->battery, &bms) == DDS_RETCODE_OK;
}

/* ---- Calls ---- */

/* True when the answer to `id` has come. */
static bool answered(wire *w, int64_t id, int *code, char reply[WIRE_REPLY])
{
    bool found = false;
    unitree_api_msg_dds__Response_ response;
    memset(&response, 0, sizeof response);
    while (!found && take(w->responses, &response)) {
        found = response.header.identity.id == id;
        if (found) {
            *code = response.header.status.code;
            snprintf(reply, WIRE_REPLY, "%s", response.data ? response.data : "");
        }
        dds_sample_free(&response, &unitree_api_msg_dds__Response__desc, DDS_FREE_CONTENTS);
        memset(&response, 0, sizeof response);
    }
    return found;
}

hrc_status wire_call(wire *w, int64_t api, const char *parameter, int timeout_ms, int *code,
                     char reply[WIRE_REPLY], hrc_error *err)
{
    unitree_api_msg_dds__Request_ request;
    memset(&request, 0, sizeof request);
    int64_t id = clock_now_ns() / NS_PER_MS * 1000 + ++w->calls;
    request.header.identity.id = id;
    request.header.identity.api_id = api;
    char copy[WIRE_REPLY];
    snprintf(copy, sizeof copy, "%s", parameter);
    request.parameter = copy;
    int sent = dds_write(w->requests, &request);
    if (sent < 0)
        return fail(err, HRC_EFILE, "motion switcher: call %lld was not sent: %s", (long long)api,
                    dds_strretcode(-sent));
    for (int64_t until = clock_now_ns() / NS_PER_MS + timeout_ms; clock_now_ns() / NS_PER_MS < until;) {
        if (answered(w, id, code, reply)) return HRC_OK;
        dds_sleepfor(DDS_MSECS(1));
    }
    return fail(err, HRC_EFILE, "motion switcher: no answer to call %lld within %d ms", (long long)api,
                timeout_ms);
}

int wire_peers(const wire *w)
{
    if (w->is_robot) {
        dds_subscription_matched_status_t status = {0};
        dds_get_subscription_matched_status(w->commands, &status);
        return (int)status.current_count;
    }
    dds_publication_matched_status_t status = {0};
    dds_get_publication_matched_status(w->commands, &status);
    return (int)status.current_count;
}

const unsigned char *wire_type_information(size_t *size)
{
    *size = STATES.type->type_information.sz;
    return STATES.type->type_information.data;
}
