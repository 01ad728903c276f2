/* heracles play: the closed loop live in the simulator, to be watched and disturbed in a browser. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "play/server.h"

#define CORPUS "motions/cmu.safetensors"
#define FIRST "wave" /* the motion it begins with, if it is there */

typedef struct {
    models models;
    catalog motions;
    clip_options reading;
    pool *threads;
    sim *physics;
    tape *record;
    playground *scene;
    play_server *server;
    double until_s; /* 0: until Ctrl-C */
} show;

static hrc_status open_motions(const args *a, show *s, hrc_error *err)
{
    static const char *const SHIPPED[] = {"motions/wave.safetensors", "motions/floor.safetensors"};
    char corpus_path[4096], own[COUNT(SHIPPED)][4096];
    const char *files[COUNT(SHIPPED)];
    int n = 0;
    for (int i = 0; i < COUNT(SHIPPED); i++)
        if (shipped_path(own[i], sizeof own[i], SHIPPED[i])) files[n++] = own[i];
    const char *from = arg(a, "corpus");
    if (!from && shipped_path(corpus_path, sizeof corpus_path, CORPUS)) from = corpus_path;
    TRY(motion_reading(a, &s->reading, err));
    if (a->n) {
        TRY(catalog_open(&s->motions, from, a->operands, a->n, &s->reading, err));
        s->motions.reading.noted = NULL; /* what was said once is not said again with every choice */
        return HRC_OK;
    }
    return catalog_open(&s->motions, from, files, n, NULL, err);
}

static hrc_status set_the_scene(const args *a, show *s, hrc_error *err)
{
    const int first = a->n ? 0 : catalog_find(&s->motions, FIRST);
    TRY(pool_create(&s->threads, PLAY_ROBOTS, err));
    TRY(sim_create(&s->physics, &a->cfg, s->threads, err));
    TRY(tape_create(&s->record, err));
    const playground_resources resources = {.tracker = s->models.tracker,
                                            .planner = s->models.planner,
                                            .physics = s->physics,
                                            .threads = s->threads,
                                            .motions = &s->motions,
                                            .record = s->record,
                                            .seed = a->seed,
                                            .cfg = &a->cfg};
    return playground_create(&s->scene, &resources, first < 0 ? 0 : first, err);
}

static void close_all(show *s)
{
    play_server_free(s->server);
    playground_free(s->scene);
    tape_free(s->record);
    sim_free(s->physics);
    pool_free(s->threads);
    catalog_close(&s->motions);
    models_free(&s->models);
}

static bool over(void *ctx)
{
    const show *s = ctx;
    return cli_interrupted() || (s->until_s > 0 && clock_s() > s->until_s);
}

/* A missing model is said here and on the page. */
static void say_models(const args *a, const show *s)
{
    if (s->models.tracker)
        cli_note(a, "tracker: %s", hrc_model_trained(s->models.tracker));
    else
        cli_note(a, "There is no tracker: the joints follow the motion by PD control alone, and a robot that "
                    "stands will fall.\nTrain one (heracles train tracker), or give --tracker FILE.");
    if (s->models.planner)
        cli_note(a, "planner: %s", hrc_model_trained(s->models.planner));
    else
        cli_note(a, "There is no planner: the tracker gets the reference itself. Train one, or give "
                    "--planner FILE.");
}

static hrc_status serve(const args *a, show *s, int port, hrc_error *err)
{
    const play_server_options o = {.scene = s->scene,
                                   .motions = &s->motions,
                                   .record = s->record,
                                   .tracker = s->models.tracker ? hrc_model_trained(s->models.tracker) : NULL,
                                   .planner = s->models.planner ? hrc_model_trained(s->models.planner) : NULL,
                                   .reading = &s->reading,
                                   .address = arg(a, "bind"),
                                   .port = port};
    TRY(play_server_create(&s->server, &o, err));
    say_models(a, s);
    const bool v6 = strchr(o.address, ':');
    fprintf(stderr, "Open http://%s%s%s:%d/ in a browser. Ctrl-C ends it.\n", v6 ? "[" : "", o.address,
            v6 ? "]" : "", play_server_port(s->server));
    cli_note(a, "From another machine: ssh -L %d:127.0.0.1:%d HOST, then the same address there.",
             play_server_port(s->server), play_server_port(s->server));
    play_server_run(s->server, over, s);
    return HRC_OK;
}

static int report(const args *a, show *s)
{
    const play_server_counts c = play_server_count(s->server);
    if (a->json)
        return cli_json(json_pack("{s:I, s:I, s:f, s:I, s:I, s:I}", "steps", (json_int_t)c.loop.steps, "late",
                                  (json_int_t)c.loop.late, "step_ms", c.loop.busy_ms, "viewers",
                                  (json_int_t)c.viewers, "messages", (json_int_t)c.messages, "refused",
                                  (json_int_t)c.refused));
    cli_note(a, "%.1f s simulated, %.2f ms a step, behind the clock %lld times; %lld viewers",
             (double)c.loop.steps / HRC_RATE_HZ, c.loop.busy_ms, (long long)c.loop.late,
             (long long)c.viewers);
    return EXIT_DONE;
}

static int run_play(const args *a)
{
    hrc_error err;
    int port = 0;
    double seconds = 0;
    show s = {0};
    if (!arg_int(a, "port", 0, 65535, &port) || !arg_number(a, "seconds", 0, 1e9, &seconds))
        return EXIT_USAGE;
    cli_save_on_interrupt();
    hrc_status status = models_load_found(&s.models, a, &err);
    if (status == HRC_OK) status = open_motions(a, &s, &err);
    if (status == HRC_OK) status = set_the_scene(a, &s, &err);
    if (seconds > 0) s.until_s = clock_s() + seconds;
    if (status == HRC_OK) status = serve(a, &s, port, &err);
    int code = status < 0 ? cli_fail(&err) : report(a, &s);
    close_all(&s);
    return code;
}

static const option OPTIONS[] = {
    {"port", "N", "8080", "where the page is; 0: any that is free"},
    {"bind", "ADDRESS", "127.0.0.1", "0.0.0.0: everyone in the network may watch, and play"},
    {"motion", "FILE...", NULL, "motions to begin with: CSV, NPZ, safetensors, CORPUS#CLIP"},
    {"corpus", "FILE", NULL, "motions to pick from; without it " CORPUS},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"seconds", "S", "0", "end after as long; 0: with Ctrl-C"},
    OPTIONS_READING,
    {0},
};

const command CMD_PLAY = {
    .name = "play",
    .operands = "[MOTION...]",
    .summary = "the live playground in the browser: push, punch and drag the robot while it moves",
    .details =
        "One page, from this machine or through SSH forwarding. Several may watch, one of them controls.\n"
        "docs/play.md tells what can be done there.",
    .example = "heracles play --port 8080",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_play,
};
