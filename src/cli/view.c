/* heracles view: motions, rollouts and recordings as one 3D page. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "deploy/reflight.h"
#include "eval/page.h"
#include "motion/clip.h"

/* A file on the page: a rollout (or a recording of deploy, as one), or a clip with, perhaps, another clip as
 * its reference. */
typedef struct {
    rollout run;
    clip motion, ref;
} source;

static void source_free(source *s)
{
    rollout_free(&s->run);
    clip_free(&s->motion);
    clip_free(&s->ref);
}

/* The reference at the rate of what it is shown with. */
static hrc_status load_ref(clip *out, const char *path, double fps, const clip_options *reading,
                           hrc_error *err)
{
    clip original;
    TRY(clip_load(&original, path, reading, NULL, err));
    hrc_status status = clip_resample(out, &original, fps, err);
    clip_free(&original);
    return status;
}

static hrc_status load_recording(rollout *out, const char *path, hrc_error *err)
{
    reflight *r;
    TRY(reflight_load(&r, path, err));
    hrc_status status = reflight_rollout(r, out, err);
    reflight_free(r);
    return status;
}

static hrc_status load_source(source *s, page_item *item, const char *path, const char *ref,
                              const clip_options *reading, hrc_error *err)
{
    const bool recording = mcap_is_file(path);
    if (recording || rollout_is_file(path)) {
        TRY(recording ? load_recording(&s->run, path, err) : rollout_load(&s->run, path, err));
        *item = page_item_of(&s->run);
    } else {
        TRY(clip_load(&s->motion, path, reading, NULL, err));
        *item = (page_item){
            .name = s->motion.name, .fps = s->motion.fps, .n = s->motion.n, .qpos = s->motion.qpos};
    }
    if (!ref) return HRC_OK;
    TRY(load_ref(&s->ref, ref, item->fps, reading, err));
    item->ref = s->ref.qpos;
    item->nref = s->ref.n;
    return HRC_OK;
}

static int report(const args *a, const char *out, size_t bytes, const page_item *items)
{
    if (!a->json) {
        printf("%s: %d motion%s, %.1f MB; open it in a browser\n", out, a->n, a->n == 1 ? "" : "s",
               1e-6 * (double)bytes);
        return EXIT_DONE;
    }
    json_t *list = json_array();
    for (int i = 0; i < a->n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:f, s:f, s:b, s:i}", "name", items[i].name,
                                              "file", a->operands[i], "frames", items[i].n, "fps",
                                              items[i].fps, "seconds", (items[i].n - 1) / items[i].fps,
                                              "reference", items[i].ref != NULL, "events", items[i].nevents));
    return cli_json(json_pack("{s:s, s:I, s:o}", "path", out, "bytes", (json_int_t)bytes, "items", list));
}

static int run_view(const args *a)
{
    hrc_error err;
    size_t bytes = 0;
    const char *out = arg(a, "out");
    clip_options reading;
    int usage = motion_options(a, "in-fps", &reading);
    if (usage != EXIT_DONE) return usage;
    source *sources = calloc((size_t)a->n, sizeof *sources);
    page_item *items = calloc((size_t)a->n, sizeof *items);
    if (!sources || !items) abort();
    hrc_status status = HRC_OK;
    for (int i = 0; i < a->n && status == HRC_OK; i++)
        status = load_source(&sources[i], &items[i], a->operands[i], arg(a, "ref"), &reading, &err);
    if (status == HRC_OK) status = page_write(out, items, a->n, &bytes, &err);
    int code = status == HRC_OK ? report(a, out, bytes, items) : cli_fail(&err);
    for (int i = 0; i < a->n; i++) source_free(&sources[i]);
    free(sources);
    free(items);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", "replay.html", "the page to write"},
    {"ref", "FILE", NULL, "a clip to show as a ghost beside every motion"},
    OPTIONS_READING,
    {0},
};

const command CMD_VIEW = {
    .name = "view",
    .operands = "FILE...",
    .summary = "a 3D page of motions, rollouts and recordings, for any browser",
    .details =
        "FILE is a motion (CSV, NPZ, safetensors), a rollout, or a recording of deploy (MCAP); rollouts\n"
        "and recordings bring their own reference and events. The page needs no network;\n"
        "#item=0&t=1.25&play=0 at the end of its address leads to a moment. Keys: space plays, arrows\n"
        "step, g ghost, f follow, + and - speed.",
    .example = "heracles view walk.csv -o replay.html",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_view,
};
