/* heracles motion convert, heracles motion cut: from one file to another. */
#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/motion.h"

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
