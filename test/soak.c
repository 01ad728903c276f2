/* The long run, in simulated time: hard motions of the corpus with pushes in the simulated robot with noise.
 * SOAK_S sets how many seconds (`make soak`: an hour); a minute of it is in `make test`. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rot.h"
#include "mishap.h"
#include "motion/corpus.h"
#include "promise.h"
#include "robot/posture.h"
#include "test.h"

#define CLIP_S 20.0 /* longest stretch of one motion */

typedef struct {
    corpus motions;
    char path[4096];
    rng dice;
    int64_t push_at; /* tick of the next push */
} course;

static double soak_s(void)
{
    return getenv("SOAK_S") ? atof(getenv("SOAK_S")) : 60;
}

static bool talkative(void)
{
    return getenv("SOAK_S") != NULL;
}

/* SOAK_SEED: other motions, pushes, noise and faults. */
static uint64_t soak_seed(uint64_t seed)
{
    return getenv("SOAK_SEED") ? 1000 * strtoull(getenv("SOAK_SEED"), NULL, 10) + seed : seed;
}

static void course_open(course *c, uint64_t seed)
{
    hrc_error err;
    if (!shipped_path(c->path, sizeof c->path, "motions/cmu.safetensors"))
        SKIP("the shipped motions are not here");
    ENSURE_OK(corpus_open(&c->motions, c->path, &err));
    c->dice = rng_make(soak_seed(seed), 0);
}

/* Dance, martial arts, jumps, falls and get-ups: of the training split, so that nothing is tuned on what is
 * held out. */
static bool hard(const corpus_entry *e)
{
    static const char *const KIND[] = {"dance", "martial", "jumps_acro", "fall_recovery"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(e->category, KIND[i])) return e->split == CORPUS_TRAIN;
    return false;
}

/* Starts the rig on a random one; returns for how many seconds. */
static double course_next(course *c, rig *r)
{
    char name[4200];
    const corpus_entry *e;
    do e = &c->motions.clips[rng_below(&c->dice, (uint32_t)c->motions.nclips)];
    while (!hard(e));
    snprintf(name, sizeof name, "%s#%s", c->path, e->name);
    rig_start(r, name);
    c->push_at = 500 + rng_below(&c->dice, 1500);
    return fmin(CLIP_S, (double)e->n / HRC_RATE_HZ + 1);
}

/* 5 N s to `hardest` every one to four seconds: from 30 on they throw the robot over. */
static void course_push(course *c, rig *r, float hardest)
{
    if (r->tick != c->push_at) return;
    rig_push(r, (double)rng_uniform(&c->dice, 5, hardest), (double)rng_uniform(&c->dice, 0, 6.2832f));
    c->push_at += 500 + rng_below(&c->dice, 1500);
}

/* How often the robot came to lie on the ground, and stood again afterwards. */
typedef struct {
    bool down;
    int falls, rises;
} fortune;

static void note_fortune(fortune *f, const rig *r)
{
    float qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)simbot_look(r->robot).qpos[k];
    const posture p = posture_of(qpos);
    if (!f->down && posture_down(&p)) f->down = true, f->falls++;
    if (f->down && posture_stands(&p)) f->down = false, f->rises++;
}

/* ---- No false trip ---- */

/* The largest values of the detectors, in units of their thresholds. */
typedef struct {
    double joint, slow, all, stays, turn, turn_slow, lean, rate;
} margins;

static double norm3(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void note_margins(margins *m, const watch *w)
{
    const sensors *s = &w->senses;
    for (int i = 0; i < HRC_JOINTS; i++) {
        m->joint = fmax(m->joint, fabs(s->fast[i]) / SENSORS_JOINT_FAST);
        m->slow = fmax(m->slow, fabs(s->slow[i]) / SENSORS_JOINT_SLOW);
        m->stays = fmax(m->stays, fabs(s->due[i]) / SENSORS_STAYS);
    }
    m->all = fmax(m->all, s->all / SENSORS_JOINT_ALL);
    m->turn = fmax(m->turn, norm3(s->turn_fast) / SENSORS_TURN_FAST);
    m->turn_slow = fmax(m->turn_slow, norm3(s->turn_slow) / SENSORS_TURN_SLOW);
    if (s->force_s >= SENSORS_UP_S)
        m->lean = fmax(m->lean, atan2(hypot(s->force[0], s->force[1]), s->force[2]) / SENSORS_UP);
    m->rate = fmax(m->rate, SENSORS_RATE_MIN / w->rate);
}

static void say_margins(const margins *m, const fortune *f, double done, int motions)
{
    printf(
        "\n%.0f s of %d hard motions, no trip, %d times on the ground, %d times up again; largest in units of the "
        "threshold: joints %.2f slow %.2f all %.2f stays %.2f, turn %.2f slow %.2f, lean %.2f, rate %.2f\n",
        done, motions, f->falls, f->rises, m->joint, m->slow, m->all, m->stays, m->turn, m->turn_slow,
        m->lean, m->rate);
}

/* Healthy sensors are believed, whatever the robot does: postures and speeds are free here, so that it goes
 * on through falls and gets up again. */
static void test_healthy(void)
{
    static rig r;
    static course c;
    margins m = {0};
    fortune luck = {0};
    double done = 0;
    int motions = 0, said = 0;
    course_open(&c, 11);
    rig_open(&r, false, 1, soak_seed(12));
    while (done < soak_s()) {
        double seconds = course_next(&c, &r);
        rig_open_limits(&r);
        luck.down = false;
        while (rig_seconds(&r) < seconds && r.p.mode != PILOT_TRIPPED) {
            rig_tick(&r);
            course_push(&c, &r, 60);
            note_margins(&m, &r.p.eyes);
            note_fortune(&luck, &r);
        }
        ENSURE(!simbot_look(r.robot).diverged);
        if (r.p.mode == PILOT_TRIPPED)
            test_fail(__FILE__, __LINE__, "after %.0f s a healthy robot tripped: %s, joint %d",
                      done + rig_seconds(&r), trip_text(r.p.why), r.p.joint);
        done += rig_seconds(&r), motions++;
        if (talkative() && done / 600 > said + 1) said++, say_margins(&m, &luck, done, motions);
    }
    if (talkative()) say_margins(&m, &luck, done, motions);
    corpus_close(&c.motions);
    rig_close(&r);
}

/* ---- Random faults ---- */

/* bound_s: damping, or the way down, must follow within it; 0: a fault that shows only when the joint should
 * move, or not at all. lo .. hi: sizes, with either sign where `both`. */
typedef struct {
    mishap_kind kind;
    double lo, hi;
    bool both;
    double bound_s;
} kind;

static const kind KIND[] = {
    {MISHAP_ANGLE_STUCK, 0, 0, false, 0},       {MISHAP_ENCODER_STUCK, 0, 0, false, 0},
    {MISHAP_JOINT_FROZEN, 0, 0, false, 0},      {MISHAP_ANGLE_OFFSET, 0.12, 0.6, true, 0.006},
    {MISHAP_ANGLE_DRIFT, 0.1, 2, true, 2.5},    {MISHAP_SPEED_OFFSET, 0.5, 5, true, 0.5},
    {MISHAP_SPEED_FACTOR, -1, 0, false, 0},     {MISHAP_SPEED_SPIKE, 10, 18, true, 0},
    {MISHAP_SLOW_STATES, 50, 125, false, 0.25}, {MISHAP_YAW_DRIFT, 0.05, 0.5, true, 4.5},
    {MISHAP_TILT_DRIFT, 0.05, 0.5, true, 4.5},  {MISHAP_GYRO_OFFSET, 0.05, 0.5, true, 4.5},
    {MISHAP_IMU_DRIFT, 0.1, 0.3, true, 0},      {MISHAP_STATES_STOP, 0, 0, false, 0.06},
    {MISHAP_NOT_FINITE, 0, 0, false, 0.004},    {MISHAP_BAD_CHECKSUMS, 0, 0, false, 0.06},
    {MISHAP_OTHER_WRITER, 0, 0, false, 0.004},  {MISHAP_MACHINE, 0, 0, false, 0.004},
    {MISHAP_MOTOR_FAULT, 0, 0, false, 0.004},   {MISHAP_CLOCK_STANDS, 0, 0, false, 0.06},
    {MISHAP_POLICY_DEAD, 0, 0, false, 0.09},    {MISHAP_POLICY_NAN, 0, 0, false, 0.03},
    {MISHAP_POLICY_WILD, 0.1, 3, false, 0},     {MISHAP_PLANS_STOP, 0, 0, false, 1.3},
    {MISHAP_HOT_MOTOR, 121, 150, false, 0.004}, {MISHAP_BATTERY_LOW, 0, 19, false, 0.004},
    {MISHAP_REMOTE_LOST, 0, 0, false, 3.1},     {MISHAP_STATES_PAUSE, 0.01, 0.044, false, 0},
};
enum { KINDS = sizeof KIND / sizeof *KIND, MOST = 4096, STARTED = 100 /* ticks: ramp and hold are over */ };

/* BOUNDED: the gate's limits as they are, a fall trips. FREE: recovery is on (deploy.tilt and the like are
 * open), pushes throw the robot over, and there is time to get up before the fault comes. */
typedef struct {
    bool free;
    float hardest;   /* push, N s */
    uint32_t latest; /* tick at which the fault begins */
} manner;
static const manner BOUNDED = {false, 25, 2000}, FREE = {true, 60, 5000};

typedef struct {
    int begun, answered, fell; /* fell: tripped before the fault came */
    int n;
    double time[MOST]; /* to the answer, s */
} tally;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* It begins 1 s after the start at the earliest. */
static mishap draw(rng *r, const kind *k, uint32_t latest)
{
    double size = k->lo + (k->hi - k->lo) * (double)rng_uniform(r, 0, 1);
    if (k->both && rng_below(r, 2)) size = -size;
    return (mishap){.kind = k->kind,
                    .joint = (int)rng_below(r, HRC_JOINTS),
                    .size = size,
                    .at = 500 + rng_below(r, latest - 500)};
}

/* A command for every state, and none that breaks a promise; once tripped, damping for good. */
static void checked_tick(rig *r, promise *kept, const mishap *m)
{
    bool tripped = r->p.mode == PILOT_TRIPPED;
    rig_tick(r);
    const char *what =
        !r->sent ? "nothing in it" : promise_broken(kept, &r->command, &r->seen, &r->p.plan.limits);
    if (!what && r->p.mode == PILOT_TRIPPED && !promise_damping(&r->command)) what = "stiffness after a trip";
    if (!what && tripped && r->p.mode != PILOT_TRIPPED) what = "left the trip";
    if (what)
        test_fail(__FILE__, __LINE__, "%s %g, joint %d, %.3f s after it began: a command left that has %s",
                  mishap_text(m->kind), m->size, m->joint, mishap_age(m, r), what);
}

static bool answered(const rig *r)
{
    return r->p.mode == PILOT_TRIPPED || r->p.mode == PILOT_LOWER;
}

/* One flight with one fault; damping, or the way down and then damping, is watched to its end. */
static void fly(rig *r, course *c, const kind *k, const manner *how, tally *t, fortune *luck)
{
    mishap m = draw(&c->dice, k, how->latest);
    promise kept = {0};
    do { /* a motion that begins on the ground is refused: damping goes on */
        memset(&kept, 0, sizeof kept);
        mishap_put(r, NULL);
        course_next(c, r);
        if (how->free) rig_open_limits(r);
        mishap_put(r, &m);
        while (r->tick < STARTED) checked_tick(r, &kept, &m);
    } while (r->p.mode != PILOT_POLICY);
    luck->down = false;
    while (mishap_age(&m, r) < 0 && !answered(r)) {
        checked_tick(r, &kept, &m);
        course_push(c, r, how->hardest);
        note_fortune(luck, r);
    }
    bool fell = answered(r);
    double longest = k->bound_s > 0 ? k->bound_s : 4;
    while (!fell && !answered(r) && mishap_age(&m, r) < longest)
        checked_tick(r, &kept, &m), course_push(c, r, how->hardest);
    t->begun++, t->fell += fell;
    if (!fell && answered(r)) {
        t->answered++;
        if (t->n < MOST) t->time[t->n++] = mishap_age(&m, r);
    } else if (!fell && k->bound_s > 0) {
        test_fail(__FILE__, __LINE__, "%s %g, joint %d: no answer within %g s", mishap_text(m.kind), m.size,
                  m.joint, k->bound_s);
    }
    while (r->p.mode == PILOT_LOWER) checked_tick(r, &kept, &m);
    for (int n = 0; n < ROBOT_HZ / 2; n++) checked_tick(r, &kept, &m);
    mishap_put(r, NULL);
}

static void say(const char *name, tally *t)
{
    qsort(t->time, (size_t)t->n, sizeof *t->time, by_size);
    printf("| %s | %d | %d | %d | ", name, t->begun, t->fell, t->answered);
    if (t->n)
        printf("%.0f | %.0f |\n", 1e3 * t->time[t->n / 2], 1e3 * t->time[t->n - 1]);
    else
        printf("- | - |\n");
}

static void say_all(const tally *of, const fortune *luck, int faults, int64_t ticks)
{
    static tally all, one;
    memset(&all, 0, sizeof all);
    printf(
        "\n%d faults in %.0f s, %lld commands, all within their bounds; before a fault %d times on the ground, %d "
        "times up again\n",
        faults, (double)ticks / ROBOT_HZ, (long long)ticks, luck->falls, luck->rises);
    printf("| fault | flights | fell before | answered | p50, ms | max, ms |\n");
    for (int k = 0; k < KINDS; k++) {
        one = of[k];
        for (int i = 0; KIND[k].bound_s > 0 && i < one.n && all.n < MOST; i++)
            all.time[all.n++] = one.time[i];
        all.begun += one.begun, all.fell += one.fell, all.answered += one.answered;
        say(mishap_text(KIND[k].kind), &one);
    }
    say("all; times of those with a bound", &all);
}

/* The planner is on; pushes go on too. The table is said every ten minutes of the robot's time. */
static void soak_faults(const manner *how, uint64_t seed)
{
    static rig r;
    static course c;
    static tally of[KINDS];
    fortune luck = {0};
    int64_t ticks = 0, said = 0;
    int n = 0;
    course_open(&c, seed);
    rig_open(&r, true, 1, soak_seed(seed + 1));
    memset(of, 0, sizeof of);
    for (; (double)ticks < soak_s() * ROBOT_HZ; n++) {
        fly(&r, &c, &KIND[n % KINDS], how, &of[n % KINDS], &luck);
        ticks += r.tick;
        if (talkative() && ticks / (600 * ROBOT_HZ) > said) said++, say_all(of, &luck, n + 1, ticks);
    }
    const simbot_counts *counts = simbot_look(r.robot).counts;
    ENSURE(counts->bad_number == 0 && counts->bad_mode == 0 && counts->bad_crc == 0);
    if (talkative()) say_all(of, &luck, n, ticks);
    corpus_close(&c.motions);
    rig_close(&r);
}

static void test_faults(void)
{
    soak_faults(&BOUNDED, 41);
}

static void test_recovery(void)
{
    soak_faults(&FREE, 51);
}

/* ---- What the bounds on targets cost ---- */

/* Share of frames in which height and tilt of the root are the reference's within 0.3 m and 1.2 rad, up to 10
 * s. */
static double completion(rig *r, const char *motion, const slew_limits *bound)
{
    int good = 0, all = 0;
    rig_start(r, motion);
    rig_open_limits(r);
    r->p.plan.limits.slew = *bound;
    double seconds = fmin(10, (double)brain_frames(r->mind) / HRC_RATE_HZ);
    while (rig_seconds(r) < seconds) {
        rig_tick(r);
        if (r->tick % 10 || r->p.mode != PILOT_POLICY) continue;
        const float *ref = brain_reference(r->mind) + (size_t)r->out.frame * HRC_NQ;
        const double *is = simbot_look(r->robot).qpos;
        double up[3], want[3], z[3] = {0, 0, 1}, quat[4];
        for (int k = 0; k < 4; k++) quat[k] = (double)ref[3 + k];
        quat_rotate_inv(up, is + 3, z);
        quat_rotate_inv(want, quat, z);
        double angle = acos(fmax(-1, fmin(1, vec_dot(up, want))));
        good += fabs(is[2] - (double)ref[2]) < 0.3 && angle < 1.2;
        all++;
    }
    return all ? (double)good / all : 0;
}

/* SOAK_SLEW=speed,accel,jerk tries others than the shipped. */
static void test_completion(void)
{
    static const slew_limits OPEN = {1000, 1e6, 1e9};
    static rig r;
    static course c;
    course_open(&c, 21);
    rig_open(&r, false, 1, soak_seed(22));
    slew_limits bound = gate_from_config(&r.cfg).slew;
    if (getenv("SOAK_SLEW"))
        sscanf(getenv("SOAK_SLEW"), "%lf,%lf,%lf", &bound.speed, &bound.accel, &bound.jerk);
    int n = 0, most = getenv("SOAK_CLIPS") ? atoi(getenv("SOAK_CLIPS")) : 4;
    double with = 0, without = 0;
    for (int i = 0; i < c.motions.nclips && n < most; i += 3) {
        char name[4200];
        const corpus_entry *e = &c.motions.clips[i];
        if (e->split != CORPUS_TRAIN) continue;
        snprintf(name, sizeof name, "%s#%s", c.path, e->name);
        with += completion(&r, name, &bound);
        without += completion(&r, name, &OPEN);
        n++;
    }
    if (getenv("SOAK_CLIPS"))
        printf("\n%d training clips: completion %.4f with speed %g, acceleration %g, jerk %g; %.4f without\n",
               n, with / n, bound.speed, bound.accel, bound.jerk, without / n);
    ENSURE(with / n > without / n - 0.05);
    corpus_close(&c.motions);
    rig_close(&r);
}

TEST_TABLE({"soak.healthy", test_healthy}, {"soak.faults", test_faults}, {"soak.recovery", test_recovery},
           {"soak.completion", test_completion})
