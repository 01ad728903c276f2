/* heracles demo: motions played in the simulator, figures on the terminal, a page to look at. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "eval/page.h"
#include "eval/pd.h"

typedef struct {
    rollout run;
    pd_result result;
} performance;

static hrc_status play_file(performance *p, sim *s, const char *path, hrc_error *err)
{
    clip original, c;
    TRY(clip_load(&original, path, NULL, NULL, err));
    hrc_status status = clip_resample(&c, &original, 1 / sim_period(s), err);
    clip_free(&original);
    TRY(status);
    status = pd_play(&p->run, &p->result, s, &c, err);
    clip_free(&c);
    return status;
}

static json_t *result_json(const performance *p)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "name", p->run.name, "seconds",
                     (p->run.n - 1) / p->run.fps, "joint_rad", p->result.joint_rad, "height_m",
                     p->result.height_m, "ori_rad", p->result.tilt_rad, "held_s", p->result.upright_s);
}

static int report(const args *a, const performance *played, const char *path)
{
    if (a->json) {
        json_t *list = json_array();
        for (int i = 0; i < a->n; i++) json_array_append_new(list, result_json(&played[i]));
        return cli_json(json_pack("{s:s, s:o}", "page", path, "motions", list));
    }
    printf("Plain PD tracking, no balance controller:\n");
    printf("  %-16s %8s %12s %10s %10s %10s\n", "motion", "length", "held for", "joints", "height", "tilt");
    for (int i = 0; i < a->n; i++) {
        const performance *p = &played[i];
        printf("  %-16s %6.1f s %10.1f s %6.2f rad %8.2f m %6.2f rad\n", p->run.name,
               (p->run.n - 1) / p->run.fps, p->result.upright_s, p->result.joint_rad, p->result.height_m,
               p->result.tilt_rad);
    }
    printf("Open %s in a browser to watch; the ghost is the reference.\n", path);
    return EXIT_DONE;
}

static hrc_status perform(const args *a, performance *played, page_item *items, const char *path,
                          hrc_error *err)
{
    pool *threads = NULL;
    sim *s = NULL;
    hrc_status status = pool_create(&threads, 1, err);
    if (status == HRC_OK) status = sim_create(&s, &a->cfg, threads, err);
    for (int i = 0; i < a->n && status == HRC_OK; i++) {
        cli_note(a, "playing %s", a->operands[i]);
        status = play_file(&played[i], s, a->operands[i], err);
        if (status == HRC_OK) items[i] = page_item_of(&played[i].run);
    }
    sim_free(s);
    pool_free(threads);
    if (status == HRC_OK) status = page_write(path, items, a->n, NULL, err);
    return status;
}

static int run_demo(const args *a)
{
    const char *path = arg(a, "out");
    hrc_error err;
    performance *played = calloc((size_t)a->n, sizeof *played);
    page_item *items = calloc((size_t)a->n, sizeof *items);
    if (!played || !items) abort();
    int code = perform(a, played, items, path, &err) < 0 ? cli_fail(&err) : report(a, played, path);
    for (int i = 0; i < a->n; i++) rollout_free(&played[i].run);
    free(played);
    free(items);
    return code;
}

static const option OPTIONS[] = {{"out", "FILE", "demo.html", "the page to write"}, {0}};

const command CMD_DEMO = {
    .name = "demo",
    .operands = "FILE...",
    .summary = "play motions in the simulator under plain PD tracking, write a page",
    .example = "heracles demo motions/wave.safetensors motions/floor.safetensors -o demo.html",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_demo,
};
