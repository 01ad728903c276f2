/* heracles replay: a recording of deploy done again, and compared bit by bit. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "deploy/reflight.h"
#include "eval/page.h"

static const char *either(const args *a, const reflight *r, const char *name)
{
    const char *noted = reflight_note(r, name);
    return arg_given(a, name) ? arg(a, name) : noted ? noted : "";
}

static hrc_status again(const args *a, reflight *r, reflight_result *out, hrc_error *err)
{
    models nets;
    brain *b = NULL;
    config cfg;
    pilot_plan course;
    const char *planner = either(a, r, "planner"), *seed = reflight_note(r, "seed");
    TRY(reflight_course(r, &cfg, &course, err));
    TRY(models_open(&nets, either(a, r, "tracker"), strcmp(planner, "off") ? planner : NULL, err));
    brain_setup setup = setup_of(&nets, either(a, r, "motion"), &cfg, seed ? strtoull(seed, NULL, 10) : 0);
    const char *fps = reflight_note(r, "in_fps"), *quat = reflight_note(r, "quat");
    setup.reading = (clip_options){.fps = fps ? strtod(fps, NULL) : 0, .quat = quat && *quat ? quat : NULL};
    hrc_status status = brain_create(&b, &setup, err);
    if (status == HRC_OK) status = reflight_run(r, b, &course, out, err);
    brain_free(b);
    models_free(&nets);
    return status;
}

static hrc_status write_page(const args *a, const reflight *r, hrc_error *err)
{
    rollout frames;
    if (!arg(a, "out")) return HRC_OK;
    TRY(reflight_rollout(r, &frames, err));
    page_item item = page_item_of(&frames);
    hrc_status status = page_write(arg(a, "out"), &item, 1, NULL, err);
    rollout_free(&frames);
    return status;
}

static int report(const args *a, const reflight_result *r)
{
    bool same = r->commands_differ + r->targets_differ + r->plans_differ == 0;
    if (a->json)
        cli_json(json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:f, s:o}", "identical", same,
                           "states", (json_int_t)r->states, "commands", (json_int_t)r->ticks, "targets",
                           (json_int_t)r->targets, "plans", (json_int_t)r->plans, "commands_differ",
                           (json_int_t)r->commands_differ, "targets_differ", (json_int_t)r->targets_differ,
                           "plans_differ", (json_int_t)r->plans_differ, "cut", r->cut, "seconds", r->seconds,
                           "joint_rad", json_number(r->joint_rad)));
    else {
        printf("%.1f s: %" PRId64 " commands, %" PRId64 " targets, %" PRId64 " plans from %" PRId64
               " states%s\n",
               r->seconds, r->ticks, r->targets, r->plans, r->states,
               r->cut ? " (the file was cut off)" : "");
        if (isfinite(r->joint_rad))
            printf("joints %.3f rad from the reference on the way (L2 over 29, mean)\n", r->joint_rad);
        if (same)
            printf("identical, bit for bit\n");
        else
            printf("%" PRId64 " commands, %" PRId64 " targets and %" PRId64
                   " plans differ, the first at number %" PRId64 "\n",
                   r->commands_differ, r->targets_differ, r->plans_differ, r->first);
    }
    return same ? EXIT_DONE : EXIT_MISSED;
}

static int run_replay(const args *a)
{
    hrc_error err;
    reflight *r;
    reflight_result result = {0};
    if (reflight_load(&r, a->operands[0], &err) < 0) return cli_fail(&err);
    hrc_status status = write_page(a, r, &err);
    if (status == HRC_OK) status = again(a, r, &result, &err);
    reflight_free(r);
    return status < 0 ? cli_fail(&err) : report(a, &result);
}

static const option OPTIONS[] = {
    {"tracker", "FILE", NULL, "where the tracker is now; default: where it was"},
    {"planner", "FILE", NULL, "likewise"},
    {"motion", "FILE", NULL, "likewise"},
    {"out", "FILE", NULL, "also write a page that shows what the robot did (-o)"},
    {0},
};

const command CMD_REPLAY = {
    .name = "replay",
    .operands = "FILE.mcap",
    .summary = "a recording of deploy done again: every command must come out the same",
    .details = "The recording itself is an MCAP file: open it in Foxglove, PlotJuggler or rerun.\n"
               "Exit code 3: something came out differently.",
    .example = "heracles replay deploy-20261116-033000.mcap -o deploy.html",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_replay,
};
