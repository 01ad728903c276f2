/* heracles motion retarget: human motions (BVH) onto the robot, many at once. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/pool.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "motion/retarget/retarget.h"
#include "motion/stats.h"

typedef struct {
    const char *path;
    char *out;
    hrc_status status;
    hrc_error err;
    retarget_report report;
    quality q;
    double seconds; /* of work on one core */
} job;

typedef struct {
    const args *a;
    const retarget_options *options;
    job *jobs;
    int n, done;
    progress bar;
    pthread_mutex_t lock; /* of done and bar */
} batch;

/* Time of this thread on its core: other programs on the machine do not count. */
static double thread_seconds(void)
{
    return 1e-9 * (double)clock_ns_of(CLOCK_THREAD_CPUTIME_ID);
}

static hrc_status run_job(job *j, const retarget_options *options)
{
    bvh b;
    clip c = {0};
    double start = thread_seconds();
    TRY(bvh_load(&b, j->path, NULL, &j->err));
    hrc_status status = retarget(&c, &j->report, &b, j->path, options, &j->err);
    j->seconds = thread_seconds() - start;
    /* The source is a name without folder: equal input, equal bytes, anywhere. */
    if (status >= 0) status = clip_label(&c, "", file_name(j->path), "", &j->err);
    if (status >= 0) status = quality_measure(&j->q, &c, &j->err);
    if (status >= 0) status = clip_save(&c, j->out, &j->err);
    clip_free(&c);
    bvh_free(&b);
    return status;
}

static void work(void *ctx, int item, int worker)
{
    (void)worker;
    batch *b = ctx;
    job *j = &b->jobs[item];
    if (cli_interrupted())
        j->status = fail(&j->err, HRC_EINTERRUPTED, "%s: interrupted", j->path);
    else
        j->status = run_job(j, b->options);
    pthread_mutex_lock(&b->lock);
    b->done++;
    progress_show(&b->bar, (double)b->done / b->n, j->path);
    pthread_mutex_unlock(&b->lock);
}

/* "DIR/name.safetensors", or the file itself for a single input. */
static char *out_path(const char *in, const char *out, bool folder)
{
    if (!folder) return strdup(out);
    const char *name = file_name(in), *dot = strrchr(name, '.');
    int stem = dot ? (int)(dot - name) : (int)strlen(name);
    size_t size = strlen(out) + (size_t)stem + 32;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/%.*s.safetensors", out, stem, name);
    return path;
}

static json_t *report_json(const job *j)
{
    const retarget_report *r = &j->report;
    json_t *object = json_pack("{s:s, s:s, s:b}", "in", j->path, "out", j->out, "ok", j->status >= 0);
    if (j->status < 0) {
        json_object_set_new(object, "error", json_string(j->err.text));
        return object;
    }
    json_object_update_new(object, json_pack("{s:s, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:o}", "skeleton",
                                             r->skeleton, "leg_scale", r->leg_scale, "arm_scale",
                                             r->arm_scale, "torso_scale", r->torso_scale, "key_point_error_m",
                                             r->key_error, "plants", r->plants, "flights", r->flights,
                                             "work_seconds", j->seconds, "quality", quality_json(&j->q)));
    return object;
}

static double median_key_error(const batch *b, double *scratch)
{
    int n = 0;
    for (int i = 0; i < b->n; i++)
        if (b->jobs[i].status >= 0) scratch[n++] = b->jobs[i].report.key_error;
    return median(scratch, n);
}

static int show(const batch *b)
{
    int failed = 0;
    double motion = 0, work_seconds = 0;
    double *scratch = calloc((size_t)b->n, sizeof *scratch);
    if (!scratch) abort();
    json_t *clips = json_array();
    for (int i = 0, rows = 0; i < b->n; i++) {
        const job *j = &b->jobs[i];
        if (b->a->json) json_array_append_new(clips, report_json(j));
        work_seconds += j->seconds;
        if (j->status < 0) {
            failed++;
            fflush(stdout);
            fprintf(stderr, "heracles: %s\n", j->err.text);
            continue;
        }
        motion += j->q.seconds;
        if (!b->a->json && rows++ == 0) quality_row_head();
        if (!b->a->json) quality_row(file_name(j->out), &j->q);
    }
    double key = median_key_error(b, scratch), speed = work_seconds > 0 ? motion / work_seconds : 0;
    free(scratch);
    if (b->a->json)
        cli_json(json_pack("{s:o, s:i, s:f, s:o, s:f}", "clips", clips, "failed", failed, "seconds", motion,
                           "key_point_error_median_m", json_number(key), "times_real_time", speed));
    else {
        json_decref(clips);
        if (failed < b->n)
            printf(
                "%d of %d clips, %.1f s of motion, median key-point error %.1f cm, %.0f times real time on one "
                "core\n",
                b->n - failed, b->n, motion, 100 * key, speed);
    }
    return cli_interrupted() ? EXIT_INTERRUPTED : failed ? EXIT_FAILED : EXIT_DONE;
}

static int prepare(batch *b, const char *out, hrc_error *err)
{
    struct stat info;
    bool folder = b->n > 1 || (stat(out, &info) == 0 && S_ISDIR(info.st_mode)) || out[strlen(out) - 1] == '/';
    if (folder) TRY(file_folder(out, err));
    b->jobs = calloc((size_t)b->n, sizeof *b->jobs);
    if (!b->jobs) abort();
    for (int i = 0; i < b->n; i++) {
        b->jobs[i].path = b->a->operands[i];
        b->jobs[i].out = out_path(b->a->operands[i], out, folder);
        if (!b->jobs[i].out) abort();
    }
    return HRC_OK;
}

static int run_retarget(const args *a)
{
    const char *out = arg(a, "out"), *joints = arg(a, "skeleton");
    retarget_options options = {.floor = NAN, .fps = 50};
    skeleton_map map;
    hrc_error err;
    pool *p;
    if (!out) return cli_usage(a, "-o FILE or -o DIR is missing");
    if (!out[0]) return cli_usage(a, "-o is empty, expected a file or a folder");
    if (!arg_number(a, "floor", -10, 10, &options.floor) || !arg_number(a, "fps", 10, 500, &options.fps))
        return EXIT_USAGE;
    if (joints && skeleton_map_load(&map, joints, &err) < 0) return cli_fail(&err);
    options.map = joints ? &map : NULL;
    batch b = {.a = a, .options = &options, .n = a->n, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (prepare(&b, out, &err) < 0 || pool_create(&p, a->threads, &err) < 0) {
        free(b.jobs);
        return cli_fail(&err);
    }
    b.bar = progress_begin(a, "retarget");
    pool_items(p, b.n, work, &b);
    progress_end(&b.bar);
    pool_free(p);
    int code = show(&b);
    for (int i = 0; i < b.n; i++) free(b.jobs[i].out);
    free(b.jobs);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL, "where to write (-o): a motion file, or a folder for several"},
    {"skeleton", "FILE", NULL,
     "map of joints to links, as assets/skeletons/cmu.ini; default: by the names of the joints"},
    {"floor", "M", NULL, "height of the capture's floor; default: follow what carries the person"},
    {"fps", "N", "50", "frame rate of the result"},
    {0},
};

const command CMD_MOTION_RETARGET = {
    .name = "motion retarget",
    .operands = "IN.bvh...",
    .summary = "bring human motions (BVH) onto the robot",
    .details =
        "Bones keep their directions and take the robot's lengths; standing feet stay where they are,\n"
        "nothing goes through the floor or through the robot itself, and jumps fall as bodies fall.",
    .example = "heracles motion retarget walk.bvh -o walk.safetensors",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_retarget,
};
