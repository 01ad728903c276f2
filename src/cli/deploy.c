/* heracles deploy: the trained controller on a G1, real or simulated. The control threads are in src/deploy;
 * here are the start, what is said meanwhile and the decision when to end. Nothing of it waits for the
 * terminal: keys, signals and output in operator.h. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "cli/operator.h"
#include "deploy/clock.h"
#include "deploy/deploy.h"
#include "deploy/reflight.h"

#define LOOK_MS 20
#define STATUS_S 0.2
#define REPORT_S 2

typedef struct {
    const args *a;
    deploy_options options;
    models nets;
    brain *b;
    deploy *run;
    recorder *recording;
    char path[512]; /* of the recording; "" none */
    deploy_status last;
    bool asked_to_end;
    double ending_since;
    uint64_t dropped, unshown; /* records, lines */
    printer *out;              /* NULL: quiet */
} session;

/* ---- Options ---- */

static bool read_course(const args *a, session *s)
{
    pilot_plan *c = &s->options.course;
    c->limits = gate_from_config(&a->cfg);
    c->automatic = arg(a, "auto") != NULL;
    c->settle_s = 0.5;
    c->hold_s = -1;
    if (!arg_number(a, "ramp", 0.5, 60, &c->ramp_s) || !arg_number(a, "blend", 0, 10, &c->blend_s) ||
        !arg_number(a, "damp", 0, 1e6, &s->options.damp_s))
        return false;
    if (c->automatic && !arg_number(a, "hold", 0, 1e6, &c->hold_s)) return false;
    return true;
}

static bool read_options(const args *a, session *s)
{
    deploy_options *o = &s->options;
    o->armed = arg(a, "arm"), o->lockstep = arg(a, "lockstep");
    o->realtime = !o->lockstep && !arg(a, "no-realtime");
    o->no_switcher = arg(a, "no-switcher");
    o->freeze_policy = arg(a, "freeze-policy");
    o->allocations = cli_allocations;
    if (!deploy_address(a, &o->at) || !read_course(a, s) || !arg_int(a, "machine", 0, 255, &o->machine) ||
        !arg_number(a, "patience", 0.1, 3600, &o->patience_s))
        return false;
    o->at.realtime = o->realtime;
    bool simulated = !strcmp(o->at.net, "lo");
    if ((o->course.automatic || o->lockstep) && !simulated)
        return cli_refuse(a, "--%s is for simulated robots on --net lo: a real one needs an operator",
                          o->course.automatic ? "auto" : "lockstep");
    if (o->lockstep && !o->armed)
        return cli_refuse(a, "--lockstep waits for commands, and without --arm none are sent");
    if (!arg(a, "motion")) return cli_refuse(a, "which motion? give --motion FILE");
    return true;
}

/* ---- Start ---- */

static hrc_status open_recording(session *s, const brain_setup *setup, hrc_error *err)
{
    mcap_note notes[REFLIGHT_NOTES];
    arena memory = {0};
    const char *name = arg(s->a, "record");
    if (name && !strcmp(name, "off")) return HRC_OK;
    time_t now = time(NULL);
    if (name)
        snprintf(s->path, sizeof s->path, "%s", name);
    else
        strftime(s->path, sizeof s->path, "deploy-%Y%m%d-%H%M%S.mcap", localtime(&now));
    int n = reflight_notes(notes, &memory, s->b, setup, &s->options.course);
    hrc_status status = recorder_open(&s->recording, s->path, notes, n, s->options.realtime, err);
    arena_free(&memory);
    s->options.recording = s->recording;
    return status;
}

/* What was rehearsed is what is run: tracker, planner and motion by their hashes. */
static hrc_status check_rehearsal(const session *s, hrc_error *err)
{
    reflight *r;
    if (!arg(s->a, "rehearsed")) return HRC_OK;
    TRY(reflight_load(&r, arg(s->a, "rehearsed"), err));
    hrc_status status = reflight_same_files(r, s->b, err);
    reflight_free(r);
    return status;
}

/* ---- What is said meanwhile ---- */

static void tell(session *s, const char *format, ...) HRC_PRINTF(2, 3);
static void tell(session *s, const char *format, ...)
{
    char line[240];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    printer_line(s->out, line);
    if (!s->options.lockstep) record_event(s->recording, RING_MAIN, clock_now_ns(), line);
}

static hrc_status start(session *s, hrc_error *err)
{
    const args *a = s->a;
    TRY(deploy_models(a, &s->nets, err));
    brain_setup setup = setup_of(&s->nets, arg(a, "motion"), &a->cfg, a->seed);
    TRY(motion_reading(a, &setup.reading, err));
    TRY(brain_create(&s->b, &setup, err));
    TRY(check_rehearsal(s, err));
    TRY(open_recording(s, &setup, err));
    cli_note(a, "waiting for a robot on %s, domain %d", s->options.at.net, s->options.at.domain);
    TRY(deploy_open(&s->run, s->b, &s->options, err));
    if (!a->quiet) TRY(printer_open(&s->out, err));
    bool keys = operator_begin(s->run, s->options.realtime); /* before anything can be sent */
    TRY(deploy_start(s->run, err));
    tell(s, "%s",
         s->options.armed ? "ARMED: commands are sent" : "dry run: nothing is sent (--arm moves the robot)");
    if (!s->options.course.automatic)
        tell(s, "%sremote: L2+Up, R1+X, Select",
             keys ? "keys: r ramp to the first pose, g go, space or d damping, Ctrl-C damping and then again "
                    "to leave; "
                  : "no terminal to read keys from; ");
    return HRC_OK;
}

static const char *joint_name(int i)
{
    return i >= 0 && i < HRC_JOINTS ? G1_JOINT[i].name : "";
}

static void tell_changes(session *s, const deploy_status *now)
{
    const deploy_status *last = &s->last;
    if (now->mode != last->mode)
        tell(s, "%s%s%s%s%s", pilot_mode_name(now->mode), now->mode >= PILOT_LOWER ? ": " : "",
             now->mode >= PILOT_LOWER ? trip_text(now->why) : "", now->joint >= 0 ? ", " : "",
             joint_name(now->joint));
    if (now->refused != last->refused) tell(s, "not now: %s", trip_text(now->why));
    if (now->ended && !last->ended && now->mode == PILOT_POLICY)
        tell(s, "the motion is over, its last frame is held");
    if (now->late_ticks / 50 != last->late_ticks / 50)
        tell(s, "cannot hold the rate: %lld commands left late so far", (long long)now->late_ticks);
    if (now->missed_plans / 10 != last->missed_plans / 10)
        tell(s, "cannot hold the rate: %lld plans came late so far", (long long)now->missed_plans);
    s->last = *now;
}

static void status_line(const session *s, const deploy_status *now)
{
    char line[240];
    if (!s->out || !isatty(STDERR_FILENO)) return;
    snprintf(
        line, sizeof line,
        "%-8s %6.1f s  states %4.0f Hz  frame %d/%d  plan %s  gate %u/%u/%u  torque %3.0f %%  %2.0f C  battery %d %%   ",
        pilot_mode_name(now->mode), now->in_mode_s, now->state_hz, now->frame, now->frames,
        now->planned ? "yes" : "no ", now->gate.limited, now->gate.stepped, now->gate.weakened,
        100 * (double)now->largest_torque, (double)now->hottest, now->battery);
    printer_status(s->out, line);
}

/* ---- Run ---- */

/* Ctrl-C: damping until a second one. Another signal, or the end of an automatic run: damping for damp_s. */
static bool over(session *s, const deploy_status *now)
{
    const int interrupts = operator_interrupts(), ended_by = operator_ended_by();
    bool damped = now->mode == PILOT_DAMP || now->mode == PILOT_TRIPPED;
    bool by_itself = s->options.course.automatic && damped && (now->ended || now->mode == PILOT_TRIPPED);
    if ((interrupts || ended_by) && !s->asked_to_end) {
        s->asked_to_end = true;
        tell(s, "damping is being sent%s%s", ended_by ? ", then the end: " : "; Ctrl-C again to leave",
             ended_by ? strsignal(ended_by) : "");
    }
    if (interrupts > 1) return true;
    if (now->gone && (s->options.course.automatic || s->options.lockstep)) return true;
    if (s->options.lockstep) return damped && (by_itself || ended_by) && now->in_mode_s >= s->options.damp_s;
    if (!by_itself && !ended_by) s->ending_since = clock_s();
    return clock_s() - s->ending_since > s->options.damp_s;
}

static void watch_run(session *s)
{
    double shown = 0;
    s->ending_since = clock_s();
    for (;;) {
        deploy_status now = deploy_look(s->run);
        tell_changes(s, &now);
        if (over(s, &now)) break;
        if (clock_s() - shown > STATUS_S) status_line(s, &now), shown = clock_s();
        clock_sleep_until(clock_now_ns() + LOOK_MS * NS_PER_MS);
    }
}

static void leave(int number)
{
    (void)number;
    _exit(EXIT_INTERRUPTED);
}

static int report(const session *s, const deploy_report *r)
{
    const deploy_status *n = &s->last;
    if (s->asked_to_end) { /* the process that asked does not wait for a terminal that is not read */
        signal(SIGALRM, leave);
        alarm(REPORT_S);
    }
    if (s->a->json) {
        json_t *out = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s}", "mode",
                                pilot_mode_name(n->mode), "why", trip_text(n->why), "states",
                                (json_int_t)n->states, "sent", (json_int_t)n->sent, "policy_steps",
                                (json_int_t)n->policy_steps, "plans", (json_int_t)n->plans, "missed_plans",
                                (json_int_t)n->missed_plans, "late_ticks", (json_int_t)n->late_ticks,
                                "bad_states", (json_int_t)n->bad_states, "unrecorded", (json_int_t)s->dropped,
                                "unshown", (json_int_t)s->unshown, "ended", n->ended, "recording", s->path);
        json_object_set_new(out, "gate",
                            json_pack("{s:i, s:i, s:i}", "limited", (int)n->gate.limited, "stepped",
                                      (int)n->gate.stepped, "weakened", (int)n->gate.weakened));
        json_object_set_new(out, "policy", times_json(&r->policy));
        json_object_set_new(out, "plan", times_json(&r->plan));
        json_object_set_new(out, "tick", times_json(&r->tick));
        cli_json(out);
    } else {
        printf("%u states, %u commands sent, %u policy steps, %u plans (%lld late), %lld ticks late\n",
               n->states, n->sent, n->policy_steps, n->plans, (long long)n->missed_plans,
               (long long)n->late_ticks);
        printf("the gate bounded %u commands by limits, %u by step, %u by torque\n", n->gate.limited,
               n->gate.stepped, n->gate.weakened);
        if (s->path[0]) printf("recorded in %s; heracles replay %s\n", s->path, s->path);
    }
    if (n->mode == PILOT_TRIPPED) return EXIT_MISSED;
    return s->asked_to_end ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int run_deploy(const args *a)
{
    hrc_error err;
    session *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->a = a;
    int code = read_options(a, s) ? EXIT_DONE : EXIT_USAGE;
    if (code == EXIT_DONE) {
        deploy_report r = {0};
        hrc_status status = start(s, &err);
        if (status == HRC_OK) {
            watch_run(s);
            deploy_stop(s->run, &r);
            s->last = deploy_look(s->run);
        }
        operator_end(); /* nothing is sent any more */
        s->unshown = printer_close(s->out);
        deploy_close(s->run);
        hrc_status kept = recorder_close(s->recording, &s->dropped, status == HRC_OK ? &err : NULL);
        code = status < 0 || kept < 0 ? cli_fail(&err) : report(s, &r);
    }
    brain_free(s->b);
    models_free(&s->nets);
    free(s);
    return code;
}

static const option OPTIONS[] = {
    {"net", "IF", NULL, "network interface to the robot, must be named: eth0, or lo for robot-sim"},
    {"domain", "N", NULL, "DDS domain, must be named: 0 on the robot"},
    {"motion", "FILE", NULL, "the motion to follow: CSV, NPZ, safetensors, CORPUS#CLIP"},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"rehearsed", "FILE", NULL, "refuse unless models and motion are, by hash, those of this recording"},
    {"arm", NULL, NULL, "send commands; without it everything but that happens"},
    {"ramp", "S", "3", "duration of the ramp to the first pose"},
    {"blend", "S", "0.5", "the policy is blended in over this time"},
    {"record", "FILE", NULL, "the recording; default deploy-DATE-TIME.mcap, off: none"},
    {"machine", "N", "5", "mode_machine that the model's gains are for"},
    {"patience", "S", "10", "how long to wait for the robot"},
    {"auto", NULL, NULL, "no operator: ramp, go, hold, damp by themselves; on lo only"},
    {"hold", "S", "1", "auto: hold after the motion's end"},
    {"damp", "S", "3", "damping that is sent before it leaves by itself, or by the watchdog when it died"},
    {"lockstep", NULL, NULL, "one command for each state, time is the robot's; on lo only"},
    {"no-realtime", NULL, NULL, "do not lock memory nor ask for real-time priorities"},
    {"no-switcher", NULL, NULL, "do not ask the motion switcher to release the robot"},
    {"freeze-policy", NULL, NULL, "for a test of the gate: the policy's thread stops after a second"},
    OPTIONS_READING,
    {0},
};

const command CMD_DEPLOY = {
    .name = "deploy",
    .operands = "",
    .summary = "the trained controller on a G1 over DDS; a dry run unless --arm",
    .details =
        "Exit code 3: the safety gate ended the run; 130: Ctrl-C or a signal did. docs/robot.md has the steps of a first day on a robot.",
    .example = "heracles deploy --net lo --domain 1 --motion motions/wave.safetensors --arm --auto",
    .options = OPTIONS,
    .run = run_deploy,
};
