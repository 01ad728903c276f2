/* heracles run: motions in the simulator under the trained controller, one after the other; a page to watch.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "control/library.h"
#include "eval/course.h"
#include "eval/courses.h"
#include "eval/page.h"

/* ---- A performance ---- */

/* A performance: motions one after the other in one go, recorded with reference, plans and events. The second
 * and later ones begin where the robot is; with a planner, they wait until it has come to their first pose.
 */
typedef struct {
    const course *courses; /* the motions, the first one's first frame; nothing else of them */
    int n;
    const double *start;        /* (HRC_NQ), at rest; NULL: the first frame, in motion */
    double hold_s;              /* after the end of each motion its last frame is held */
    const disturbance *disturb; /* in order of time since the start */
    int ndisturb;
    void (*tick)(void *ctx, double t_s, const char *motion, const hrc_report *report); /* may be NULL */
    void *ctx;
} performance;

#define ARRAYS (ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_TORQUE | ROLLOUT_SIGNALS | ROLLOUT_PLAN)
#define WAIT_S 6.0 /* more than a controller waits */

typedef struct {
    const performance *p;
    hrc_controller *control;
    sim *physics;
    sim_world world;
    rollout *out;
    course_result *result;
    tally sums;
    int i, next; /* frame of the record; disturbance */
    double plan_ms;
} stage;

static hrc_status step(stage *s, const char *motion, hrc_error *err)
{
    const double t_s = (double)s->i / HRC_RATE_HZ;
    const hrc_report *r = hrc_controller_report(s->control);
    hrc_target target;
    disturb_due(s->p->disturb, s->p->ndisturb, &s->next, t_s, &s->world, s->out);
    const sim_world before = s->world;
    TRY(loop_step(s->control, s->physics, &s->world, 0, &target, err));
    if (!r->waiting) tally_judge(&s->sums, &before, r->reference.qpos, r->reference.qvel, s->out, t_s);
    rollout_robot(s->out, s->i, before.qpos, &target, s->world.torque);
    rollout_control(s->out, s->i, r);
    if (r->replanned) s->plan_ms += r->plan_ms;
    if (s->p->tick && s->i % 10 == 0) s->p->tick(s->p->ctx, t_s, motion, r);
    s->i++;
    return HRC_OK;
}

static hrc_status play_motion(stage *s, int k, hrc_error *err)
{
    const course *c = &s->p->courses[k];
    const hrc_motion motion = course_motion(c);
    const hrc_report *r = hrc_controller_report(s->control);
    const int how = k > 0 || s->p->start ? HRC_PLACE | HRC_WAIT : 0;
    const int held = (int)lrint(s->p->hold_s * HRC_RATE_HZ);
    TRY(hrc_follow(s->control, &motion, c->first, how, err));
    if (k > 0) rollout_note(s->out, (double)s->i / HRC_RATE_HZ, c->name);
    int at_end = 0;
    while (at_end <= held && s->i < s->out->n) {
        TRY(step(s, c->name, err));
        at_end += r->frame >= r->frames - 1;
    }
    return HRC_OK;
}

static hrc_status play_all(stage *s, hrc_error *err)
{
    course_world(&s->p->courses[0], s->p->start, s->physics, &s->world);
    hrc_controller_reset(s->control);
    for (int k = 0; k < s->p->n; k++) TRY(play_motion(s, k, err));
    s->out->n = s->i;
    const hrc_report *r = hrc_controller_report(s->control);
    course_result *result = s->result;
    *result = (course_result){.frames = s->i, .diverged = s->world.diverged, .plans = r->plans};
    if (s->sums.frames) tally_figures(&result->figures, &s->sums);
    memcpy(result->verdicts, r->verdicts, sizeof result->verdicts);
    result->plan_ms = r->plans ? s->plan_ms / (double)r->plans : 0;
    return HRC_OK;
}

/* out->figures: against the reference where it was placed, over all control steps that did not wait. */
static hrc_status perform(rollout *out, course_result *result, const performance *p, hrc_controller *c,
                          sim *physics, hrc_error *err)
{
    double seconds = 0;
    for (int k = 0; k < p->n; k++)
        seconds += (double)p->courses[k].motion.n / HRC_RATE_HZ + p->hold_s + WAIT_S;
    stage s = {.p = p, .control = c, .physics = physics, .out = out, .result = result};
    TRY(rollout_create(out, (int)(seconds * HRC_RATE_HZ), HRC_RATE_HZ, p->courses[0].name, ARRAYS,
                       p->ndisturb + p->n + 1, err));
    hrc_status status = play_all(&s, err);
    if (status < 0) rollout_free(out);
    return status;
}

#define MAX_DISTURBANCES 64
#define PUNCH_S 0.08

typedef struct {
    models models;
    course_list list;
    performance p;
    disturbance disturb[MAX_DISTURBANCES];
    double start[HRC_NQ];
    int first; /* frame of the first motion */
    rollout record;
    course_result result;
} show;

/* ---- Words of the command line ---- */

static int later(const void *a, const void *b)
{
    const double x = ((const disturbance *)a)->t_s, y = ((const disturbance *)b)->t_s;
    return (x > y) - (x < y);
}

/* "T:X,Y,..." joined by ';': at T seconds, so much ahead and to the left. */
static int parse_disturbances(const args *a, show *s, const char *name, disturb_kind kind)
{
    const char *at = arg(a, name);
    while (at && *at) {
        disturbance d = {.kind = kind, .link = G1_TORSO, .seconds = PUNCH_S};
        int used = 0;
        if (sscanf(at, "%lf:%lf,%lf%n", &d.t_s, &d.xyz[0], &d.xyz[1], &used) != 3 ||
            (at[used] && at[used] != ';') ||
            !(d.t_s >= 0 && fabs(d.xyz[0]) <= 1e5 && fabs(d.xyz[1]) <= 1e5) ||
            s->p.ndisturb == MAX_DISTURBANCES)
            return cli_usage(a, "--%s is \"%.60s\", expected SECONDS:AHEAD,LEFT and ';' between several",
                             name, arg(a, name));
        s->disturb[s->p.ndisturb++] = d;
        at += used + (at[used] == ';');
    }
    s->p.disturb = s->disturb;
    qsort(s->disturb, (size_t)s->p.ndisturb, sizeof *s->disturb, later);
    return EXIT_DONE;
}

/* A frame of the first motion, or a posture, which the simulator finds later. */
static int parse_start(const args *a, show *s)
{
    const char *text = arg(a, "start");
    char *end;
    long frame = strtol(text, &end, 10);
    if (end != text && *end)
        return cli_usage(a, "--start is \"%.40s\", expected a frame or one of " LYING_STARTS, text);
    if (end == text) s->p.start = s->start;
    if (end != text && (frame < 0 || frame >= CLIP_MAX_FRAMES))
        return cli_usage(a, "--start is frame %ld, expected at least 0", frame);
    s->first = end == text ? 0 : (int)frame;
    return EXIT_DONE;
}

/* ---- Doing it ---- */

static void status_line(void *ctx, double t_s, const char *motion, const hrc_report *r)
{
    char words[160];
    snprintf(words, sizeof words, "%6.2f s  %s %d/%d%s  joints %.2f rad off  %lld plans, %lld refused", t_s,
             motion, r->frame, r->frames - 1,
             r->waiting      ? " (waits)"
             : r->off > 0.99 ? " (lost)"
                             : "",
             r->gap_rad, (long long)r->plans, (long long)(r->plans - r->verdicts[HRC_FINE]));
    progress_show(ctx, r->frames > 1 ? (double)r->frame / (r->frames - 1) : 0, words);
}

static hrc_status load_motions(const args *a, show *s, hrc_error *err)
{
    course_options o = {.limit_s = 3600, .starts = 1};
    TRY(motion_reading(a, &o.reading, err));
    TRY(courses_of_motions(&s->list, a->operands, a->n, &o, err));
    course *first = &s->list.courses[0];
    if (s->first >= first->motion.n - 1)
        return fail(err, HRC_EINVAL, "%s: cannot start at frame %d, it has 0 to %d (at 50 fps)", first->name,
                    s->first, first->motion.n - 1);
    first->first = s->first;
    s->p.courses = s->list.courses;
    s->p.n = s->list.n;
    return HRC_OK;
}

static hrc_status play(const args *a, show *s, hrc_error *err)
{
    pool *threads = NULL;
    sim *physics = NULL;
    hrc_controller *c = NULL;
    const hrc_options options = control_options(&a->cfg, a->seed);
    progress bar = progress_begin(a, "run");
    s->p.tick = status_line, s->p.ctx = &bar;
    hrc_status status = pool_create(&threads, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, &a->cfg, threads, err);
    if (status == HRC_OK && s->p.start)
        status = posture_lying(s->start, arg(a, "start"), 0, 0, physics, 0, err);
    if (status == HRC_OK)
        status = hrc_controller_create(&c, s->models.tracker, s->models.planner, &options, err);
    if (status == HRC_OK) status = perform(&s->record, &s->result, &s->p, c, physics, err);
    progress_end(&bar);
    hrc_controller_free(c);
    sim_free(physics);
    pool_free(threads);
    return status;
}

static hrc_status write_files(const args *a, const show *s, hrc_error *err)
{
    const page_item item = page_item_of(&s->record);
    if (arg(a, "record")) TRY(rollout_save(&s->record, arg(a, "record"), err));
    return page_write(arg(a, "out"), &item, 1, NULL, err);
}

/* ---- What came of it ---- */

static int report(const args *a, const show *s)
{
    const course_result *r = &s->result;
    const double seconds = (double)r->frames / HRC_RATE_HZ;
    const long long refused = (long long)(r->plans - r->verdicts[HRC_FINE]);
    if (a->json) {
        json_t *out =
            json_pack("{s:s, s:f, s:I, s:I, s:b}", "page", arg(a, "out"), "seconds", seconds, "plans",
                      (json_int_t)r->plans, "refused", (json_int_t)refused, "diverged", r->diverged);
        for (int f = 0; f < FIGURE_COUNT; f++)
            json_object_set_new(out, FIGURE[f].name, json_number(figure_of(&r->figures, f)));
        cli_json(out);
        return r->diverged ? EXIT_FAILED : EXIT_DONE;
    }
    printf("%.1f s: completion %.1f %%, joints %.2f rad, height %.3f m, tilt %.2f rad off\n", seconds,
           100 * r->figures.cr, r->figures.joint_rad, r->figures.height_m, r->figures.ori_rad);
    if (r->plans)
        printf("%lld plans, %lld refused, %.1f ms each\n", (long long)r->plans, refused, r->plan_ms);
    printf("Open %s in a browser to watch.\n", arg(a, "out"));
    if (!r->diverged) return EXIT_DONE;
    fprintf(stderr, "heracles: the simulation diverged: from there on the figures mean nothing\n");
    return EXIT_FAILED;
}

static int run_run(const args *a)
{
    hrc_error err;
    if (a->n == 0) return cli_usage(a, "which motion? give --motion FILE");
    show *s = calloc(1, sizeof *s);
    if (!s) abort();
    int code = parse_start(a, s);
    if (code == EXIT_DONE) code = parse_disturbances(a, s, "push", DISTURB_PUSH);
    if (code == EXIT_DONE) code = parse_disturbances(a, s, "punch", DISTURB_PUNCH);
    if (code == EXIT_DONE && !arg_number(a, "hold", 0, 3600, &s->p.hold_s)) code = EXIT_USAGE;
    if (code == EXIT_DONE) {
        hrc_status status = models_load(&s->models, a, true, &err);
        if (status == HRC_OK) status = load_motions(a, s, &err);
        if (status == HRC_OK) status = play(a, s, &err);
        if (status == HRC_OK) status = write_files(a, s, &err);
        code = status < 0 ? cli_fail(&err) : report(a, s);
    }
    rollout_free(&s->record);
    courses_free(&s->list);
    models_free(&s->models);
    free(s);
    return code;
}

static const option OPTIONS[] = {
    {"motion", "FILE...", NULL, "motions, one after the other: CSV, NPZ, safetensors, CORPUS#CLIP"},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"start", "WHERE", "0", "a frame of the first motion, or " LYING_STARTS},
    {"push", "T:X,Y", NULL, "at T s push by X m/s ahead and Y to the left; ';' between several"},
    {"punch", "T:X,Y", NULL, "likewise with X and Y newtons on the torso for 0.08 s"},
    {"hold", "SECONDS", "1", "hold the last frame of each motion"},
    {"record", "FILE", NULL, "write the rollout (safetensors), for 'heracles view'"},
    {"out", "FILE", "run.html", "the page (-o)"},
    OPTIONS_READING,
    {0},
};

const command CMD_RUN = {
    .name = "run",
    .operands = "[MOTION...]",
    .summary = "motions in the simulator under the trained controller, a page to watch",
    .details =
        "On the page: the robot, its reference as a blue ghost, the planner's keyframes as green ones,\n"
        "and on the timeline green where the planner rewrote the reference.",
    .example = "heracles run --motion motions/wave.safetensors --push '2:1.5,0' -o run.html",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_run,
};
