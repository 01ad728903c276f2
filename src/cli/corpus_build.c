/* heracles corpus build: many motions into one corpus file. */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "motion/corpus.h"
#include "motion/fix.h"
#include "motion/retarget/retarget.h"
#include "motion/split.h"
#include "motion/suite.h"

/* A file that clips come from. */
typedef struct {
    const char *path;
    const char *category, *description, *left_out; /* of the manifest; NULL, "", "" without one */
    double fps;                                    /* likewise; 0: not said */
} source;

/* What became of one piece of a source: an item, or the reason why not. */
typedef struct {
    corpus_item item;
    bool admitted;
    char name[128];
    char apart[256]; /* that and the file's name: where clips of several files are called the same */
    hrc_error why;
} outcome;

typedef struct {
    int n;
    outcome *outcomes;
} harvest;

typedef struct {
    const args *a;
    clip_options reading;
    fix_options steps;
    bool fix; /* any of the steps */
    int skip; /* frames of a source that are left out at its start */
    arena memory;
    manifest list;
    suite heldout, validation; /* empty unless given */
    int nsources;
    source *sources;
    harvest *harvests; /* parallel to sources */
    atomic_int done;
    progress bar;
} build;

/* ---- Which files ---- */

static bool has_ending(const char *name, const char *endings)
{
    const char *dot = strrchr(name, '.');
    size_t n = dot ? strlen(dot) : 0;
    for (const char *at = endings; dot && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && strncmp(at, dot, n) == 0) return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b); /* the same everywhere, unlike strcoll */
}

static const char *joined(build *b, const char *folder, const char *name, const char *ending)
{
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = ARENA_NEW(&b->memory, char, size);
    if (path) snprintf(path, size, "%s/%s%s", folder, name, ending);
    return path;
}

/* Names in the folder with one of the endings, sorted. */
static hrc_status list_folder(build *b, const char *folder, const char *endings, char ***names, int *n,
                              hrc_error *err)
{
    DIR *dir = opendir(folder);
    int room = 0;
    if (!dir) return fail(err, HRC_EFILE, "%s: cannot be read as a folder", folder);
    while (readdir(dir)) room++;
    rewinddir(dir);
    *names = ARENA_NEW(&b->memory, char *, room);
    *n = 0;
    for (struct dirent *e; *names && *n < room && (e = readdir(dir));)
        if (has_ending(e->d_name, endings)) {
            char *name = arena_strdup(&b->memory, e->d_name);
            if (name) (*names)[(*n)++] = name;
        }
    closedir(dir);
    if (!*names) return fail(err, HRC_ENOMEM, "%s: out of memory", folder);
    if (*n == 0) return fail(err, HRC_EINVAL, "%s: has no file with the ending %s", folder, endings);
    qsort(*names, (size_t)*n, sizeof **names, by_name);
    return HRC_OK;
}

static hrc_status grow_sources(build *b, int more, hrc_error *err)
{
    source *all = ARENA_NEW(&b->memory, source, b->nsources + more);
    if (!all) return fail(err, HRC_ENOMEM, "out of memory for %d files", more);
    if (b->nsources) memcpy(all, b->sources, (size_t)b->nsources * sizeof *all);
    b->sources = all;
    return HRC_OK;
}

/* The files of a folder: those that the manifest names, in its order, or all, by name. The first ending is
 * what the manifest's ids get. */
static hrc_status add_folder(build *b, const char *folder, const char *endings, hrc_error *err)
{
    char **names = NULL, ending[16];
    int n = 0;
    if (b->list.n) {
        snprintf(ending, sizeof ending, "%.*s", (int)strcspn(endings, " "), endings);
        TRY(grow_sources(b, b->list.n, err));
        for (int i = 0; i < b->list.n; i++) {
            const manifest_row *row = &b->list.rows[i];
            b->sources[b->nsources++] =
                (source){joined(b, folder, row->id, ending), row->category, row->description,
                         arg_given(b->a, "all") ? "" : row->left_out, row->fps};
        }
        return HRC_OK;
    }
    TRY(list_folder(b, folder, endings, &names, &n, err));
    TRY(grow_sources(b, n, err));
    for (int i = 0; i < n; i++)
        b->sources[b->nsources++] = (source){joined(b, folder, names[i], ""), NULL, "", "", 0};
    return HRC_OK;
}

static hrc_status add_sources(build *b, hrc_error *err)
{
    const args *a = b->a;
    const char *list = arg(a, "manifest"), *bvh_dir = arg(a, "bvh-dir"), *csv_dir = arg(a, "csv-dir");
    if (list) TRY(manifest_load(&b->list, list, err));
    if (bvh_dir) TRY(add_folder(b, bvh_dir, ".bvh", err));
    if (csv_dir) TRY(add_folder(b, csv_dir, ".csv .npz .pkl .safetensors", err));
    TRY(grow_sources(b, a->n, err));
    for (int i = 0; i < a->n; i++) b->sources[b->nsources++] = (source){a->operands[i], NULL, "", "", 0};
    for (int i = 0; i < b->nsources; i++)
        if (!b->sources[i].path) return fail(err, HRC_ENOMEM, "out of memory for the names of the files");
    return HRC_OK;
}

/* ---- Which clips are kept from training ---- */

static hrc_status load_suites(build *b, hrc_error *err)
{
    const char *heldout = arg(b->a, "heldout"), *validation = arg(b->a, "validation");
    if (heldout && strcmp(heldout, "quota") != 0) TRY(suite_load(&b->heldout, heldout, err));
    return validation ? suite_load(&b->validation, validation, err) : HRC_OK;
}

/* Whether the suite names the clip, or a double of it under another name. */
static bool names_clip(const suite *s, const char *clip_name)
{
    char mine[SPLIT_KEY], theirs[SPLIT_KEY];
    split_key(mine, clip_name);
    for (int i = 0; i < s->n; i++) {
        split_key(theirs, s->sequences[i].clip);
        if (strcmp(mine, theirs) == 0) return true;
    }
    return false;
}

static bool is_kept_apart(const build *b, const char *clip_name)
{
    return names_clip(&b->heldout, clip_name) || names_clip(&b->validation, clip_name);
}

/* ---- One file ---- */

static hrc_status retarget_source(const source *s, clip *out, double *keypoint_error, hrc_error *err)
{
    bvh b;
    retarget_report report;
    const retarget_options options = {.fps = CORPUS_FPS, .floor = NAN};
    TRY(bvh_load(&b, s->path, NULL, err));
    hrc_status status = retarget(out, &report, &b, s->path, &options, err);
    bvh_free(&b);
    if (status >= 0) *keypoint_error = report.key_error;
    return status;
}

static hrc_status load_source(const build *b, const source *s, clip *out, double *keypoint_error,
                              hrc_error *err)
{
    *keypoint_error = NAN;
    if (has_ending(s->path, ".bvh")) return retarget_source(s, out, keypoint_error, err);
    clip_options reading = b->reading;
    if (reading.fps == 0) reading.fps = s->fps;
    clip_decisions why = {0};
    TRY(clip_load(out, s->path, &reading, &why, err));
    /* The simulator's limits are springs: every get-up leans some joint 0.02 to 0.3 rad into one. */
    if (why.simulated) fix_clamp_within(out, QUALITY_LIMIT_BAD_RAD);
    return HRC_OK;
}

static hrc_status label(const build *b, const source *s, clip *c, hrc_error *err)
{
    const char *category = arg(b->a, "category"), *from = arg(b->a, "source"),
               *licence = arg(b->a, "licence");
    return clip_label(c,
                      s->category ? s->category
                      : category  ? category
                                  : c->category,
                      from ? from : c->source, licence ? licence : c->licence, err);
}

/* Frames first .. last of the whole, or of those the get-up. */
static hrc_status cut_piece(const build *b, clip *piece, const clip *whole, int first, int last, outcome *out)
{
    TRY(clip_cut(piece, whole, first, last, &out->why));
    piece->name = out->name;
    if (!arg_given(b->a, "get-ups")) return HRC_OK;
    clip all = *piece;
    hrc_status status = phases_get_up(&first, &last, &all, &out->why);
    if (status >= 0) status = clip_cut(piece, &all, first, last, &out->why);
    clip_free(&all);
    return status;
}

/* Frames first .. last of the whole, repaired when that was asked for, into an item. */
static hrc_status admit_piece(const build *b, const source *s, const clip *whole, int first, int last,
                              double keypoint_error, outcome *out)
{
    clip piece;
    TRY(cut_piece(b, &piece, whole, first, last, out));
    hrc_status status = b->fix ? fix_clip(&piece, &b->steps, &out->why) : HRC_OK;
    const corpus_note note = {s->description, keypoint_error,
                              is_kept_apart(b, out->name) || is_kept_apart(b, out->apart)};
    if (status >= 0) status = corpus_admit(&out->item, &piece, &note, &out->why);
    clip_free(&piece);
    return status;
}

/* A clip that is called as its file has no other name. */
static void name_apart(outcome *out, const clip *whole, const source *s)
{
    const char *file = file_name(s->path), *dot = strrchr(file, '.');
    int n = (int)(dot ? (size_t)(dot - file) : strlen(file));
    if (n == 0 || ((int)strlen(whole->name) == n && strncmp(whole->name, file, (size_t)n) == 0))
        snprintf(out->apart, sizeof out->apart, "%s", out->name);
    else
        snprintf(out->apart, sizeof out->apart, "%s-%.*s", out->name, n, file);
}

static hrc_status cut_up(const build *b, const source *s, const clip *whole, double keypoint_error,
                         harvest *h, hrc_error *err)
{
    int seam = b->a->cfg.motion_seam, pieces = 0, first, last;
    while (fix_piece(whole->n, whole->fps, seam, pieces, &first, &last)) pieces++;
    h->outcomes = calloc((size_t)(pieces ? pieces : 1), sizeof *h->outcomes);
    if (!h->outcomes) return fail(err, HRC_ENOMEM, "%s: out of memory", s->path);
    for (int i = 0; i < pieces; i++) {
        outcome *out = &h->outcomes[h->n];
        fix_piece(whole->n, whole->fps, seam, i, &first, &last);
        if (first < b->skip) first = b->skip;
        if (last - first + 1 < FIX_SHORTEST_SECONDS * whole->fps) continue;
        h->n++;
        snprintf(out->name, sizeof out->name, seam ? "%s-%d" : "%s", whole->name, i + 1);
        name_apart(out, whole, s);
        out->admitted = admit_piece(b, s, whole, first, last, keypoint_error, out) >= 0;
    }
    if (h->n == 0)
        return fail(err, HRC_EINVAL, "%s: lasts less than %g s", whole->name, FIX_SHORTEST_SECONDS);
    return HRC_OK;
}

/* A file that cannot be read leaves one outcome: why. */
static void blame(harvest *h, const source *s, const hrc_error *why)
{
    if (!h->outcomes) h->outcomes = calloc(1, sizeof *h->outcomes);
    if (!h->outcomes) abort();
    snprintf(h->outcomes[0].name, sizeof h->outcomes[0].name, "%s", file_name(s->path));
    h->outcomes[0].why = *why;
    h->n = 1;
}

static void reap(void *ctx, int item, int worker)
{
    build *b = ctx;
    const source *s = &b->sources[item];
    clip whole = {0};
    hrc_error err;
    double keypoint_error = 0;
    if (cli_interrupted()) return;
    hrc_status status = *s->left_out ? fail(&err, HRC_EINVAL, "%s: %s", file_name(s->path), s->left_out)
                                     : load_source(b, s, &whole, &keypoint_error, &err);
    if (status >= 0) {
        status = label(b, s, &whole, &err);
        if (status >= 0) status = cut_up(b, s, &whole, keypoint_error, &b->harvests[item], &err);
        clip_free(&whole);
    }
    if (status < 0) blame(&b->harvests[item], s, &err);
    int done = 1 + atomic_fetch_add(&b->done, 1);
    if (worker == 0) progress_show(&b->bar, (double)done / b->nsources, s->path);
}

/* ---- All of them ---- */

typedef struct {
    corpus_item *items; /* borrowed from the outcomes */
    corpus_left_out *left_out;
    int nitems, nleft_out;
} sheaf;

/* Whether clips of other files are called like the one of file i. */
static bool is_shared(const build *b, int i, const char *name)
{
    for (int k = 0; k < b->nsources; k++)
        for (int p = 0; k != i && p < b->harvests[k].n; p++)
            if (b->harvests[k].outcomes[p].admitted && !strcmp(b->harvests[k].outcomes[p].name, name))
                return true;
    return false;
}

static hrc_status bind(build *b, sheaf *all, hrc_error *err)
{
    int total = 0;
    for (int i = 0; i < b->nsources; i++) total += b->harvests[i].n;
    all->items = ARENA_NEW(&b->memory, corpus_item, total);
    all->left_out = ARENA_NEW(&b->memory, corpus_left_out, total);
    if (!all->items || !all->left_out) return fail(err, HRC_ENOMEM, "out of memory for %d clips", total);
    for (int i = 0; i < b->nsources; i++)
        for (int k = 0; k < b->harvests[i].n; k++) {
            outcome *o = &b->harvests[i].outcomes[k];
            if (o->admitted) {
                if (is_shared(b, i, o->name)) o->item.entry.name = o->apart;
                all->items[all->nitems++] = o->item;
            } else
                all->left_out[all->nleft_out++] = (corpus_left_out){o->name, o->why.text};
        }
    if (all->nitems == 0)
        return fail(err, HRC_EINVAL, "none of the %d files gave a clip; the first: %s", b->nsources,
                    all->nleft_out ? all->left_out[0].reason : "");
    return HRC_OK;
}

static hrc_status hold_out(build *b, sheaf *all, hrc_error *err)
{
    const char *name = arg(b->a, "heldout");
    corpus_entry **entries = ARENA_NEW(&b->memory, corpus_entry *, all->nitems);
    if (!entries) return fail(err, HRC_ENOMEM, "out of memory for %d clips", all->nitems);
    for (int i = 0; i < all->nitems; i++) entries[i] = &all->items[i].entry;
    if (name && !strcmp(name, "quota")) TRY(split_choose(entries, all->nitems, b->a->seed, err));
    for (int i = 0; i < all->nitems; i++) {
        if (names_clip(&b->validation, entries[i]->name)) entries[i]->split = CORPUS_VALIDATION;
        if (names_clip(&b->heldout, entries[i]->name)) entries[i]->split = CORPUS_HELDOUT;
    }
    return HRC_OK;
}

static int report(const build *b, const sheaf *all, const char *path)
{
    double seconds = 0, heldout = 0;
    for (int i = 0; i < all->nitems; i++) {
        double own = all->items[i].entry.n / CORPUS_FPS;
        seconds += own;
        if (all->items[i].entry.split != CORPUS_TRAIN) heldout += own;
    }
    for (int i = 0; i < all->nleft_out; i++) cli_note(b->a, "left out: %s", all->left_out[i].reason);
    cli_note(b->a, "%s: %d clip%s, %.1f min (%.1f min held out); %d left out", path, all->nitems,
             all->nitems == 1 ? "" : "s", seconds / 60, heldout / 60, all->nleft_out);
    if (!b->a->json) return EXIT_DONE;
    json_t *out = json_array();
    for (int i = 0; i < all->nleft_out; i++)
        json_array_append_new(
            out, json_pack("{s:s, s:s}", "name", all->left_out[i].name, "reason", all->left_out[i].reason));
    return cli_json(json_pack("{s:s, s:i, s:f, s:f, s:o}", "file", path, "clips", all->nitems, "seconds",
                              seconds, "heldout_seconds", heldout, "left_out", out));
}

static int finish(build *b, const char *path)
{
    sheaf all = {0};
    hrc_error err;
    const char *text = arg(b->a, "acknowledgement");
    const tensor_meta meta[] = {{"acknowledgement", text ? text : ""}};
    if (bind(b, &all, &err) < 0 || hold_out(b, &all, &err) < 0 ||
        corpus_write(path, all.items, all.nitems, all.left_out, all.nleft_out, meta, 1, &err) < 0)
        return cli_fail(&err);
    return report(b, &all, path);
}

static void build_free(build *b)
{
    for (int i = 0; b->harvests && i < b->nsources; i++) {
        for (int k = 0; k < b->harvests[i].n; k++) corpus_item_free(&b->harvests[i].outcomes[k].item);
        free(b->harvests[i].outcomes);
    }
    manifest_free(&b->list);
    suite_free(&b->heldout);
    suite_free(&b->validation);
    arena_free(&b->memory);
}

static int run_all(build *b, const char *path)
{
    hrc_error err;
    pool *threads;
    if (load_suites(b, &err) < 0 || add_sources(b, &err) < 0) return cli_fail(&err);
    b->harvests = ARENA_NEW(&b->memory, harvest, b->nsources);
    if (!b->harvests) abort();
    if (pool_create(&threads, b->a->threads, &err) < 0) return cli_fail(&err);
    b->bar = progress_begin(b->a, "building");
    pool_items(threads, b->nsources, reap, b);
    progress_end(&b->bar);
    pool_free(threads);
    return cli_interrupted() ? EXIT_INTERRUPTED : finish(b, path);
}

static int run_corpus_build(const args *a)
{
    bool all = arg_given(a, "fix"), lift = all || arg_given(a, "lift");
    build b = {.a = a, .fix = lift, .steps = {all, all, all, lift, a->cfg.motion_lowpass_hz}};
    int code = motion_options(a, &b.reading);
    if (code != EXIT_DONE || !arg_int(a, "skip-start", 0, CLIP_MAX_FRAMES, &b.skip)) return EXIT_USAGE;
    const char *path = motion_out(a);
    if (!path) return EXIT_USAGE;
    if (!arg(a, "bvh-dir") && !arg(a, "csv-dir") && a->n == 0)
        return cli_usage(a, "no motions given, expected files, --csv-dir or --bvh-dir");
    if (arg(a, "manifest") && !arg(a, "bvh-dir") == !arg(a, "csv-dir"))
        return cli_usage(a, "--manifest describes one folder, expected --csv-dir or --bvh-dir with it");
    code = run_all(&b, path);
    build_free(&b);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL, "where to write the corpus (-o)"},
    {"bvh-dir", "DIR", NULL, "folder of human motion (.bvh), which is retargeted"},
    {"csv-dir", "DIR", NULL, "folder of motions of the robot (.csv, .npz, .safetensors)"},
    {"manifest", "FILE", NULL,
     "CSV with id, category, description, left_out: which files of the folder, and what they are"},
    {"all", NULL, NULL, "also what the manifest leaves out"},
    {"category", "TEXT", NULL, "category of what has none"},
    {"source", "TEXT", NULL, "label: where the motions come from"},
    {"licence", "TEXT", NULL, "label: under which terms"},
    {"acknowledgement", "TEXT", NULL, "text that the file carries for its authors"},
    {"heldout", "SUITE", NULL,
     "keep the clips of this suite from training; quota: choose as docs/corpus.md says"},
    {"validation", "SUITE", NULL, "and those of this one, by which choices are made"},
    {"fix", NULL, NULL, "repair every clip as `motion fix` does"},
    {"lift", NULL, NULL, "of that repair only the last step: raise what is under the floor"},
    {"get-ups", NULL, NULL, "of every motion only the get-up, until it has stood for a second"},
    {"skip-start", "N", "0", "drop the first N frames of every file (LAFAN1-G1: 100, a T-pose)"},
    OPTIONS_READING,
    {0},
};

const command CMD_CORPUS_BUILD = {
    .name = "corpus build",
    .operands = "[FILE...] -o OUT",
    .summary = "many motions into one file: 50 Hz, measured, with phases of falls and a training split",
    .details =
        "Files are cut at multiples of motion.seam frames (pieces are then called NAME-1, NAME-2, ...). What\n"
        "is too short, beyond joint limits or bad by `motion info` is left out, and the corpus says why.\n"
        "Clips of several files with one name are called NAME-FILE.\n"
        "The same input gives the same bytes, whatever the number of threads.",
    .example =
        "heracles corpus build --csv-dir lafan1 --quat xyzw --motion.seam=999 --skip-start 100 --fix -o "
        "lafan1.safetensors",
    .options = OPTIONS,
    .min_operands = 0,
    .max_operands = -1,
    .run = run_corpus_build,
};
