/* heracles motion convert, cut, fix: from one file to another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "motion/fix.h"

/* What stands in --category, --source, --licence, --name replaces what the file said. */
static hrc_status relabel(const args *a, clip *c, hrc_error *err)
{
    const char *category = arg(a, "category"), *source = arg(a, "source"), *licence = arg(a, "licence"),
               *name = arg(a, "name");
    if (name) {
        name = arena_strdup(&c->memory, name);
        if (!name) return fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
        c->name = name;
    }
    return clip_label(c, category ? category : c->category, source ? source : c->source,
                      licence ? licence : c->licence, err);
}

static int report(const args *a, const clip *c, const char *path)
{
    if (!a->json) return EXIT_DONE;
    return cli_json(json_pack("{s:s, s:s, s:i, s:f, s:f}", "file", path, "name", c->name, "frames", c->n,
                              "fps", c->fps, "seconds", (c->n - 1) / c->fps));
}

/* Label, write, report; frees the clip. */
static int finish(const args *a, clip *c, const char *path)
{
    hrc_error err;
    int code;
    if (relabel(a, c, &err) < 0 || motion_save(a, c, path, &err) < 0)
        code = cli_fail(&err);
    else
        code = report(a, c, path);
    clip_free(c);
    return code;
}

/* The input, ready to be worked on; EXIT_DONE, or says why not. */
static int open_input(const args *a, clip *c, const char **out)
{
    clip_options options;
    hrc_error err;
    int code = motion_options(a, &options);
    if (code != EXIT_DONE) return code;
    *out = motion_out(a);
    if (!*out) return EXIT_USAGE;
    if (clip_load(c, a->operands[0], &options, NULL, &err) < 0) return cli_fail(&err);
    return EXIT_DONE;
}

static int run_motion_convert(const args *a)
{
    clip in, resampled;
    const char *path;
    hrc_error err;
    double fps = 0;
    if (!arg_number(a, "fps", 0.1, 10000, &fps)) return EXIT_USAGE;
    int code = open_input(a, &in, &path);
    if (code != EXIT_DONE || fps == 0 || fps == in.fps)
        return code != EXIT_DONE ? code : finish(a, &in, path);
    hrc_status status = clip_resample(&resampled, &in, fps, &err);
    clip_free(&in);
    return status < 0 ? cli_fail(&err) : finish(a, &resampled, path);
}

/* A frame number; false after saying what is wrong. */
static bool frame_option(const args *a, const char *name, int *frame)
{
    double x = *frame;
    if (!arg_number(a, name, 0, CLIP_MAX_FRAMES - 1, &x)) return false;
    *frame = (int)x;
    return x == floor(x) || cli_refuse(a, "--%s is %g, expected a whole number of frames", name, x);
}

static int run_motion_cut(const args *a)
{
    clip in, piece;
    const char *path;
    hrc_error err;
    int first = 0, last = -1;
    if (!frame_option(a, "first", &first) || (arg_given(a, "last") && !frame_option(a, "last", &last)))
        return EXIT_USAGE;
    int code = open_input(a, &in, &path);
    if (code != EXIT_DONE) return code;
    hrc_status status = clip_cut(&piece, &in, first, last < 0 ? in.n - 1 : last, &err);
    clip_free(&in);
    return status < 0 ? cli_fail(&err) : finish(a, &piece, path);
}

#define OPTIONS_LABEL                                                                                        \
    {"name", "TEXT", NULL, "name of the clip; default: the input's"},                                        \
        {"category", "TEXT", NULL, "label: kind of motion"},                                                 \
        {"source", "TEXT", NULL, "label: where it comes from"},                                              \
        {"licence", "TEXT", NULL, "label: under which terms"}, OPTIONS_READING

static const option CONVERT_OPTIONS[] = {
    OPTION_OUT,
    {"fps", "N", NULL, "resample to this rate; default: keep"},
    OPTIONS_LABEL,
    {0},
};

static const option CUT_OPTIONS[] = {
    OPTION_OUT,
    {"first", "A", "0", "first frame, counted from 0"},
    {"last", "B", NULL, "last frame, included; default: the end"},
    OPTIONS_LABEL,
    {0},
};

const command CMD_MOTION_CONVERT = {
    .name = "motion convert",
    .operands = "IN -o OUT",
    .summary = "rewrite a motion in another format, at another rate, with labels",
    .details = "The input's format is found by its content, the output's by its ending.",
    .example =
        "heracles motion convert walk.csv --quat xyzw --fps 50 --category locomotion -o walk.safetensors",
    .options = CONVERT_OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_motion_convert,
};

const command CMD_MOTION_CUT = {
    .name = "motion cut",
    .operands = "IN -o OUT",
    .summary = "a stretch of a motion as a file of its own",
    .example = "heracles motion cut walk.csv --first 100 --last 400 -o stretch.safetensors",
    .options = CUT_OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_motion_cut,
};

/* ---- Repair ---- */

/* heracles motion fix: repair a motion; what it was before and is after. */

typedef struct {
    clip c;
    quality q;
    int first, last; /* frames of the input */
    char *path;
} piece;

typedef struct {
    clip in;
    quality before;
    int n;
    piece *pieces;
} repair;

static void repair_free(repair *r)
{
    for (int i = 0; i < r->n; i++) {
        clip_free(&r->pieces[i].c);
        free(r->pieces[i].path);
    }
    free(r->pieces);
    clip_free(&r->in);
}

/* "walk.csv" and 2 make "walk-2.csv". */
static char *numbered(const char *path, int number)
{
    const char *dot = strrchr(file_name(path), '.');
    int stem = dot && dot > path ? (int)(dot - path) : (int)strlen(path);
    size_t size = strlen(path) + 16;
    char *out = malloc(size);
    if (out) snprintf(out, size, "%.*s-%d%s", stem, path, number, path + stem);
    return out;
}

static hrc_status repair_piece(piece *p, const repair *r, const fix_options *options, int number,
                               const char *out, hrc_error *err)
{
    TRY(clip_cut(&p->c, &r->in, p->first, p->last, err));
    p->path = number ? numbered(out, number) : strdup(out);
    char name[256];
    snprintf(name, sizeof name, number ? "%s-%d" : "%s", r->in.name, number);
    p->c.name = arena_strdup(&p->c.memory, name);
    if (!p->path || !p->c.name) return fail(err, HRC_ENOMEM, "%s: out of memory", r->in.name);
    TRY(fix_clip(&p->c, options, err));
    return quality_measure(&p->q, &p->c, err);
}

static hrc_status repair_all(repair *r, const fix_options *options, int seam, const char *out, hrc_error *err)
{
    int first, last, total = 0;
    TRY(quality_measure(&r->before, &r->in, err));
    while (fix_piece(r->in.n, r->in.fps, seam, total, &first, &last)) total++;
    if (total == 0)
        return fail(err, HRC_EINVAL, "%s: no piece between seams of %d frames lasts %g s", r->in.name, seam,
                    FIX_SHORTEST_SECONDS);
    r->pieces = calloc((size_t)total, sizeof *r->pieces);
    if (!r->pieces) return fail(err, HRC_ENOMEM, "%s: out of memory", r->in.name);
    for (int i = 0; i < total; i++) {
        piece *p = &r->pieces[r->n++];
        fix_piece(r->in.n, r->in.fps, seam, i, &p->first, &p->last);
        TRY(repair_piece(p, r, options, seam > 0 ? i + 1 : 0, out, err));
    }
    return HRC_OK;
}

/* All files or none: what was written before a failure goes again. */
static hrc_status write_all(const args *a, repair *r, hrc_error *err)
{
    for (int i = 0; i < r->n; i++) {
        hrc_status status = motion_save(a, &r->pieces[i].c, r->pieces[i].path, err);
        if (status >= 0) continue;
        while (i-- > 0) unlink(r->pieces[i].path);
        return status;
    }
    return HRC_OK;
}

static int show(const args *a, const repair *r)
{
    if (a->json) {
        json_t *clips = json_array();
        for (int i = 0; i < r->n; i++) {
            const piece *p = &r->pieces[i];
            json_array_append_new(clips,
                                  json_pack("{s:s, s:i, s:i, s:o}", "file", p->path, "first_frame", p->first,
                                            "last_frame", p->last, "after", quality_json(&p->q)));
        }
        return cli_json(json_pack("{s:s, s:o, s:o}", "file", a->operands[0], "before",
                                  quality_json(&r->before), "clips", clips));
    }
    quality_row_head();
    quality_row("before", &r->before);
    for (int i = 0; i < r->n; i++) {
        const quality *q = &r->pieces[i].q;
        quality_row(r->pieces[i].c.name, q);
        for (int k = 0; k < q->nreasons; k++) printf("    - %s\n", q->reasons[k]);
    }
    return EXIT_DONE;
}

static int run_motion_fix(const args *a)
{
    repair r = {0};
    hrc_error err;
    clip_options reading;
    fix_options steps = {.median = !arg_given(a, "no-median"),
                         .lowpass = !arg_given(a, "no-lowpass"),
                         .clamp = !arg_given(a, "no-clamp"),
                         .lift = !arg_given(a, "no-lift"),
                         .lowpass_hz = a->cfg.motion_lowpass_hz};
    int code = motion_options(a, &reading);
    if (code != EXIT_DONE) return code;
    const char *out = motion_out(a);
    if (!out) return EXIT_USAGE;
    if (clip_load(&r.in, a->operands[0], &reading, NULL, &err) < 0 ||
        repair_all(&r, &steps, a->cfg.motion_seam, out, &err) < 0 || write_all(a, &r, &err) < 0)
        code = cli_fail(&err);
    else
        code = show(a, &r);
    repair_free(&r);
    return code;
}

static const option FIX_OPTIONS[] = {
    OPTION_OUT,
    {"no-median", NULL, NULL, "keep single-frame spikes"},
    {"no-lowpass", NULL, NULL, "keep what is faster than motion.lowpass_hz"},
    {"no-clamp", NULL, NULL, "keep joints beyond their limits"},
    {"no-lift", NULL, NULL, "keep what is under the floor"},
    OPTIONS_READING,
    {0},
};

const command CMD_MOTION_FIX = {
    .name = "motion fix",
    .operands = "IN -o OUT",
    .summary = "repair a motion: spikes, noise, joint limits, floor, seams",
    .details =
        "In this order: cut at multiples of motion.seam frames (then OUT becomes OUT-1, OUT-2, ...; pieces\n"
        "under 0.5 s are dropped), median of 3 frames, zero-phase low-pass at motion.lowpass_hz, joints to\n"
        "their limits, root raised until nothing is deeper than 5 mm. Prints the figures before and after.",
    .example = "heracles motion fix walk.csv --motion.seam=999 --motion.lowpass_hz=6 -o walk.safetensors",
    .options = FIX_OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_motion_fix,
};
