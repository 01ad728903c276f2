/* heracles view: motions, rollouts and recordings as one 3D page, and pictures and films of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "deploy/reflight.h"
#include "eval/film.h"
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

static hrc_status load_recording(rollout *out, const char *path, hrc_error *err)
{
    reflight *r;
    TRY(reflight_load(&r, path, err));
    hrc_status status = reflight_rollout(r, out, err);
    reflight_free(r);
    return status;
}

static hrc_status load_source(source *s, page_item *item, const args *a, const char *path,
                              const clip_options *reading, hrc_error *err)
{
    const char *ref = arg(a, "ref");
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
    TRY(clip_load_at(&s->ref, ref, item->fps, reading, err)); /* at the rate of what it is shown with */
    item->ref = s->ref.qpos;
    item->nref = s->ref.n;
    return HRC_OK;
}

/* ---- Pictures and films ---- */

#define MOMENTS 24

/* --at, --size, --fps, --look. False: said why. */
static bool film_of(const args *a, film_options *o, double at_s[MOMENTS])
{
    char end = 0;
    *o = (film_options){.look = arg(a, "look"), .at_s = at_s};
    if (sscanf(arg(a, "size"), "%dx%d%c", &o->width, &o->height, &end) != 2 || o->width < 16 ||
        o->height < 16 || o->width > 4096 || o->height > 4096)
        return cli_refuse(a, "--size is \"%.40s\", expected WIDTHxHEIGHT, each 16 to 4096", arg(a, "size"));
    const char *at = arg(a, "at") ? arg(a, "at") : "";
    for (char *after; *at; at = after + (*after == ',')) {
        const double t = strtod(at, &after);
        if (after == at || (*after && *after != ',') || !(t >= 0 && t < 1e6) || o->n == MOMENTS)
            return cli_refuse(a, "--at is \"%.60s\", expected up to %d seconds with commas between",
                              arg(a, "at"), MOMENTS);
        at_s[o->n++] = t;
    }
    return arg_number(a, "fps", 1, 120, &o->fps);
}

/* The page goes into a file of its own, which is there as long as the browser needs it. */
static hrc_status write_film(const args *a, film_options *o, const page_item *items, hrc_error *err)
{
    char page[] = "/tmp/heracles-view-XXXXXX.html";
    const int file = mkstemps(page, (int)strlen(".html"));
    if (file < 0) return fail(err, HRC_EFILE, "%s: cannot write", page);
    close(file);
    progress bar = progress_begin(a, "drawing");
    o->progress = progress_fraction, o->ctx = &bar;
    hrc_status status = page_write(page, items, a->n, NULL, err);
    if (status == HRC_OK) status = film_write(arg(a, "out"), page, o, err);
    progress_end(&bar);
    o->ctx = NULL;
    unlink(page);
    return status;
}

/* ---- The command ---- */

static int report(const args *a, const char *out, size_t bytes, const page_item *items)
{
    if (!a->json && film_kind_of(out) != FILM_NONE) {
        printf("%s: %s\n", out, film_kind_of(out) == FILM_PNG ? "a picture" : "a film");
        return EXIT_DONE;
    }
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
    const film_kind kind = film_kind_of(out);
    double at_s[MOMENTS];
    film_options film;
    clip_options reading;
    int usage = motion_options(a, &reading);
    if (usage != EXIT_DONE) return usage;
    if (!film_of(a, &film, at_s)) return EXIT_USAGE;
    if (kind != FILM_NONE && film_check(kind, &err) < 0) return cli_fail(&err);
    source *sources = calloc((size_t)a->n, sizeof *sources);
    page_item *items = calloc((size_t)a->n, sizeof *items);
    if (!sources || !items) abort();
    hrc_status status = HRC_OK;
    for (int i = 0; i < a->n && status == HRC_OK; i++)
        status = load_source(&sources[i], &items[i], a, a->operands[i], &reading, &err);
    if (status == HRC_OK)
        status = kind == FILM_NONE ? page_write(out, items, a->n, &bytes, &err)
                                   : write_film(a, &film, items, &err);
    int code = status == HRC_OK ? report(a, out, bytes, items) : cli_fail(&err);
    for (int i = 0; i < a->n; i++) source_free(&sources[i]);
    free(sources);
    free(items);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", "replay.html",
     "the page to write (-o); FILE.png a picture of it, FILE.mp4 or FILE.gif a film"},
    {"at", "S[,S]", NULL, "moments of a picture, side by side, in seconds; of a film the first and the last"},
    {"size", "WxH", "640x480", "pixels of a film, or of each moment"},
    {"fps", "N", "25", "pictures a second of a film"},
    {"look", "ADDRESS", "", "how pictures look: what stands after # in the page's address"},
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
        "step, g ghost, f follow, + and - speed. Pictures and films need Chromium, films also ffmpeg; they are\n"
        "drawn by the page: --look 'item=1&view=0.8,0.2,3&ghost=0' has the second FILE from azimuth 0.8 rad,\n"
        "elevation 0.2 rad, 3 m away, without its reference.",
    .example = "heracles view run.safetensors -o getup.png --at 1,2,3.5,5 --size 320x360",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_view,
};
