/* heracles robot-sim: a simulated G1 on the network, for deploy to control. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "deploy/remote.h"
#include "deploy/robotsim.h"

/* "2.5:L2+Up,6:R1+X" */
static bool parse_keys(simbot_options *o, const char *text)
{
    static const char *const NAME[16] = {"R1", "L1", "Start", "Select", "R2", "L2",    "F1",   "F2",
                                         "A",  "B",  "X",     "Y",      "Up", "Right", "Down", "Left"};
    while (*text) {
        char *end;
        simbot_press *p = &o->press[o->npresses];
        p->at_s = strtod(text, &end), p->keys = 0;
        if (end == text || *end != ':' || o->npresses == SIMBOT_PRESSES) return false;
        do {
            int key = 0;
            text = end + 1;
            size_t n = strcspn(text, "+,");
            while (key < 16 && (strncmp(text, NAME[key], n) || strlen(NAME[key]) != n)) key++;
            if (key == 16) return false;
            p->keys |= 1 << key;
            end = (char *)text + n;
        } while (*end == '+');
        text = *end ? end + 1 : end;
        o->npresses++;
    }
    return true;
}

static bool read_options(const args *a, simbot_options *o, robotsim_options *r)
{
    double cable = 0;
    *o = (simbot_options){.seed = a->seed, .band = arg_given(a, "band"), .remote = arg(a, "remote")};
    *r = (robotsim_options){.lockstep = arg(a, "lockstep"), .patience_s = 60, .stop = cli_interrupted};
    if (!deploy_address(a, &r->at)) return false;
    r->at.realtime = !r->lockstep;
    if (!arg_number(a, "noise", 0, 100, &o->noise) || !arg_int(a, "latency", 0, 126, &o->latency_ms) ||
        !arg_number(a, "loss", 0, 1, &o->loss) || !arg_number(a, "seconds", 0, 1e6, &r->seconds))
        return false;
    if (o->band && !arg_number(a, "band", 0, 1e6, &o->band_s)) return false;
    if (arg_given(a, "flat") && !arg_number(a, "flat", 0, 1e6, &r->flat_at_s)) return false;
    if (arg_given(a, "cable") && !arg_number(a, "cable", 0, 1e6, &cable)) return false;
    if (arg_given(a, "cable")) o->cable_at_s = cable, o->cable_s = 0.5;
    if (arg(a, "keys") && !parse_keys(o, arg(a, "keys")))
        return cli_refuse(a, "--keys %s: expected SECONDS:KEY+KEY,... such as 2:L2+Up,6:R1+X",
                          arg(a, "keys"));
    if (arg(a, "out") && r->seconds == 0)
        return cli_refuse(a, "--out needs --seconds, to know how much to keep");
    return true;
}

static int report(const args *a, const simbot *b, const robotsim_report *r)
{
    const simbot_truth robot = simbot_look(b);
    const simbot_counts *n = robot.counts;
    if (a->json) {
        json_t *counts = json_object();
#define COUNT_JSON(name, text) json_object_set_new(counts, #name, json_integer(n->name));
        SIMBOT_COUNTS(COUNT_JSON)
        return cli_json(json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "states", (json_int_t)r->states,
                                  "unanswered", (json_int_t)r->unanswered, "late", (json_int_t)r->late,
                                  "wall_s", r->wall_s, "robot_s", r->robot_s, "largest_tilt_rad", robot.tilt,
                                  "lowest_pelvis_m", robot.lowest, "counts", counts));
    }
    printf("%.2f s of the robot's time in %.2f s; %lld states sent, %lld ticks late, %lld unanswered\n",
           r->robot_s, r->wall_s, (long long)r->states, (long long)r->late, (long long)r->unanswered);
    printf("largest tilt %.2f rad, lowest pelvis %.2f m\n", robot.tilt, robot.lowest);
#define COUNT_LINE(name, text)                                                                               \
    if (n->name) printf("%8lld  %s\n", (long long)n->name, text);
    SIMBOT_COUNTS(COUNT_LINE)
    return EXIT_DONE;
}

static hrc_status play(const args *a, simbot *b, const robotsim_options *o, robotsim_report *r,
                       hrc_error *err)
{
    rollout frames = {0};
    const char *out = arg(a, "out");
    if (!out) return robotsim_run(b, o, NULL, r, err);
    TRY(rollout_create(&frames, (int)(o->seconds * 50) + 1, 50, "robot-sim", ROLLOUT_TARGET, 0, err));
    hrc_status status = robotsim_run(b, o, &frames, r, err);
    if (status == HRC_OK) status = rollout_save(&frames, out, err);
    rollout_free(&frames);
    return status;
}

static int run_robot_sim(const args *a)
{
    hrc_error err;
    simbot_options options;
    robotsim_options how;
    robotsim_report said;
    simbot *b;
    if (!read_options(a, &options, &how)) return EXIT_USAGE;
    if (simbot_create(&b, &a->cfg, &options, &err) < 0) return cli_fail(&err);
    cli_save_on_interrupt();
    cli_note(a, "a simulated G1 on %s, domain %d, %s; Ctrl-C ends it", how.at.net, how.at.domain,
             how.lockstep ? "lockstep" : "real time");
    int code = play(a, b, &how, &said, &err) < 0 ? cli_fail(&err) : report(a, b, &said);
    simbot_free(b);
    return code;
}

static const option OPTIONS[] = {
    {"net", "IF", NULL, "network interface, must be named: lo for this machine alone"},
    {"domain", "N", NULL, "DDS domain, must be named: any but the robot's 0 is wise"},
    {"seconds", "S", "0", "of the robot's time; 0: until Ctrl-C"},
    {"lockstep", NULL, NULL, "wait for the order that answers each state; as fast as both sides can"},
    {"band", "S", NULL, "hang it up by the torso; lowered after S seconds, 0: never"},
    {"noise", "F", "1", "factor on the sensors' noise"},
    {"latency", "MS", "0", "age of states when they leave"},
    {"loss", "P", "0", "share of states and of orders that get lost"},
    {"cable", "S", NULL, "the cable is out for half a second at this time"},
    {"flat", "S", NULL, "the battery reads 5 per cent from this time on"},
    {"remote", NULL, NULL, "there is a remote, with no key pressed"},
    {"keys", "LIST", NULL, "keys of the remote: SECONDS:KEY+KEY,..."},
    {"out", "FILE", NULL, "keep the true motion as a rollout, for `heracles view`"},
    {0}};

const command CMD_ROBOT_SIM = {
    .name = "robot-sim",
    .operands = "",
    .summary = "a simulated G1 behind the robot's own network topics",
    .details =
        "It answers the motion switcher, sends states at 500 Hz and obeys orders as strictly as the robot: wrong "
        "check\nsums, modes or machines are ignored and counted. docs/deploy.md tells how to use it.",
    .example = "heracles robot-sim --net lo --domain 1 --band 8",
    .options = OPTIONS,
    .run = run_robot_sim,
};
