/* Practice: lessons and their files, the recorded ways up, situations and attempts. */
#include "learn/practice.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "learn/motions.h"
#include "learn/planner_train.h"
#include "learn/teacher.h"
#include "plan/planner.h"
#include "small.h"
#include "test.h"

#define CORPUS "motions/cmu.safetensors"

/* ---- Lessons ---- */

static lesson random_lesson(uint64_t number)
{
    lesson one;
    rng r = rng_make(30, number);
    float *x = (float *)&one;
    for (int i = 0; i < LESSON_FLOATS; i++) x[i] = rng_normal(&r);
    quat_normalizef(one.state + 3);
    for (int i = 0; i < LESSON_WINDOW; i++) quat_normalizef(one.reference[i] + 3);
    return one;
}

static lessons some_lessons(int n)
{
    hrc_error err;
    lessons l = {.horizon = PLAN_H};
    for (int i = 0; i < n; i++) {
        const lesson one = random_lesson((uint64_t)i);
        ENSURE_OK(lessons_add(&l, &one, i % 7, (i * 5) % 11, &err));
    }
    return l;
}

static void ensure_same(const lessons *a, const lessons *b)
{
    const size_t n = (size_t)a->n;
    ENSURE(a->n == b->n && a->horizon == b->horizon);
    ENSURE(!n || !memcmp(a->list, b->list, sizeof *a->list * n));
    ENSURE(!n || !memcmp(a->label, b->label, sizeof *a->label * n));
    ENSURE(!n || !memcmp(a->situation, b->situation, sizeof *a->situation * n));
}

static void test_lessons_file(void)
{
    hrc_error err;
    const char *path = test_path("lessons.safetensors");
    for (int n = 0; n < 40; n += 13) {
        lessons l = some_lessons(n), back = {0};
        const tensor_meta meta[] = {{"next", "12"}};
        ENSURE_OK(lessons_save(&l, path, meta, 1, &err));
        ENSURE_OK(lessons_load(&back, path, &err));
        ensure_same(&l, &back);
        ENSURE_OK(lessons_load(&back, path, &err)); /* a second file is appended */
        ENSURE(back.n == 2 * n && (!n || !memcmp(back.list + n, l.list, sizeof(lesson) * (size_t)n)));
        lessons_free(&l);
        lessons_free(&back);
    }
}

/* By situation; within one they stay in order. */
static void test_lessons_sort(void)
{
    hrc_error err;
    lessons l = some_lessons(50), was = some_lessons(50);
    ENSURE_OK(lessons_sort(&l, &err));
    ENSURE(l.n == 50 && l.horizon == PLAN_H);
    int at = 0;
    for (int situation = 0; situation < 11; situation++)
        for (int i = 0; i < 50; i++) {
            if (was.situation[i] != situation) continue;
            ENSURE(l.situation[at] == situation && l.label[at] == was.label[i]);
            ENSURE(!memcmp(&l.list[at], &was.list[i], sizeof(lesson)));
            at++;
        }
    ENSURE(at == 50);
    lessons_free(&l);
    lessons_free(&was);
}

static void save_with(const lessons *l, const char *path, const char *format, const char *horizon,
                      int columns)
{
    hrc_error err;
    const tensor_meta meta[] = {{"format", format}, {"horizon", horizon}};
    const tensor tensors[] = {{"lessons", DT_F32, 2, {l->n, columns}, (int64_t)l->n * columns, l->list},
                              {"label", DT_I32, 1, {l->n}, l->n, l->label},
                              {"situation", DT_I32, 1, {l->n}, l->n, l->situation}};
    ENSURE_OK(tensorfile_write(path, tensors, COUNT(tensors), meta, COUNT(meta), &err));
}

static void ensure_refused(const char *path, const char *words)
{
    hrc_error err;
    lessons l = some_lessons(3), was = some_lessons(3);
    hrc_status status = lessons_load(&l, path, &err);
    if (status >= 0 || !strstr(err.text, words) || !strstr(err.text, path))
        test_fail(__FILE__, __LINE__, "\"%s\", expected \"%s\"", status < 0 ? err.text : "loaded", words);
    ensure_same(&l, &was); /* nothing of it stays */
    lessons_free(&l);
    lessons_free(&was);
}

static void test_lessons_refused(void)
{
    hrc_error err;
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("bad.safetensors"));
    lessons l = some_lessons(4);
    save_with(&l, path, "heracles-lessons", "10", LESSON_FLOATS);
    ensure_refused(path, "format is \"heracles-lessons\", expected \"heracles-practice\"");
    save_with(&l, path, "heracles-practice", "11", LESSON_FLOATS);
    ensure_refused(path, "horizon is \"11\" frames, expected 10");
    save_with(&l, path, "heracles-practice", "4000000000", LESSON_FLOATS);
    ensure_refused(path, "horizon is \"4000000000\" frames");
    save_with(&l, path, "heracles-practice", "", LESSON_FLOATS);
    ensure_refused(path, "horizon is \"\"");
    save_with(&l, path, "heracles-practice", "10", LESSON_FLOATS - 1);
    ensure_refused(path, "lessons");
    static const int LABELS[] = {-1, LESSON_LABELS, INT32_MIN};
    for (int i = 0; i < COUNT(LABELS); i++) {
        l.label[2] = LABELS[i];
        save_with(&l, path, "heracles-practice", "10", LESSON_FLOATS);
        ensure_refused(path, "label 2 is ");
    }
    l.label[2] = 0;
    l.list[1].guide[3][5] = NAN;
    save_with(&l, path, "heracles-practice", "10", LESSON_FLOATS);
    ensure_refused(path, "lesson 1, number ");
    const tensor alone[] = {{"label", DT_I32, 1, {l.n}, l.n, l.label}};
    const tensor_meta meta[] = {{"format", "heracles-practice"}, {"horizon", "10"}};
    ENSURE_OK(tensorfile_write(path, alone, 1, meta, 2, &err));
    ensure_refused(path, "lessons");
    test_write(path, "{}", 2);
    ensure_refused(path, path);
    lessons_free(&l);
}

/* Three frames of the reference are kept; those between are on the way from one to the next. */
static void test_lesson_question(void)
{
    const lesson one = random_lesson(3);
    plan_question q;
    float half[4];
    lesson_question(&q, &one, PLAN_H);
    ENSURE(!memcmp(q.state, one.state, sizeof q.state) && !memcmp(q.qvel, one.qvel, sizeof q.qvel));
    ENSURE(!memcmp(q.under_way, one.under_way, sizeof q.under_way));
    for (int i = 0; i < 3; i++) {
        const float *kept = one.reference[i], *filled = q.reference[i * PLAN_H / 2];
        const float sign = kept[3] * filled[3] < 0 ? -1 : 1; /* of a quaternion, says nothing */
        for (int k = 0; k < HRC_NQ; k++)
            ENSURE_NEAR(filled[k], k >= 3 && k < 7 ? sign * kept[k] : kept[k], 1e-6);
    }
    for (int k = 7; k < HRC_NQ; k++)
        ENSURE_NEAR(q.reference[2][k], 0.6f * one.reference[0][k] + 0.4f * one.reference[1][k], 1e-5);
    quat_slerpf(half, one.reference[1] + 3, one.reference[2] + 3, 0.4f);
    ENSURE_NEAR(quat_anglef(q.reference[7] + 3, half), 0, 2e-3);
}

/* ---- The teacher ---- */

typedef struct {
    motions data;
    const clip **train;
    int n;
} school;

static school school_open(bool mirror)
{
    hrc_error err;
    school s = {0};
    ENSURE_OK(motions_load(&s.data, CORPUS, NULL, 0, NULL, mirror, &err));
    s.train = calloc((size_t)s.data.n, sizeof *s.train);
    ENSURE(s.train);
    for (int i = 0; i < s.data.n; i++)
        if (!s.data.heldout[i]) s.train[s.n++] = &s.data.clips[i];
    return s;
}

static void school_close(school *s)
{
    free(s->train);
    motions_free(&s->data);
}

/* How a way's frame lies there, turned and moved, with other joints. */
static void lie_like(float qpos[HRC_NQ], const hrc_motion *way, int frame, rng *r)
{
    float turn[4];
    memcpy(qpos, way->qpos + (size_t)frame * HRC_NQ, sizeof(float) * HRC_NQ);
    quat_from_yawf(turn, rng_uniform(r, -3, 3));
    quat_mulf(qpos + 3, turn, qpos + 3);
    for (int i = 0; i < 2; i++) qpos[i] = rng_uniform(r, -5, 5);
    for (int i = 7; i < HRC_NQ; i++) qpos[i] += 0.1f * rng_normal(r);
}

static float cost_of(const teacher *t, const teacher_moment *m, const float qpos[HRC_NQ])
{
    const posture now = posture_of(qpos);
    (void)t;
    return posture_distance(&now, &m->at) + m->cost;
}

static const teacher_moment *moment_of(const teacher *t, const follower *f)
{
    for (int i = 0; i < t->nmoments; i++)
        if (t->ways[t->moments[i].way].qpos == f->motion.qpos && t->moments[i].frame == f->frame)
            return &t->moments[i];
    test_fail(__FILE__, __LINE__, "frame %d is no moment of a way", f->frame);
}

static void test_ways(void)
{
    hrc_error err;
    school s = school_open(false);
    teacher t;
    ENSURE_OK(teacher_create(&t, s.train, s.n, &err));
    printf("(%d ways, %d moments) ", t.nways, t.nmoments);
    ENSURE(t.nways >= 10 && t.nmoments >= 20 * t.nways);
    for (int w = 0; w < t.nways; w++) {
        const hrc_motion *way = &t.ways[w];
        int lies = 0, stands = 0;
        for (int i = 0; i < way->n; i++) {
            const posture p = posture_of(way->qpos + (size_t)i * HRC_NQ);
            lies += posture_down(&p) && p.up[2] < 0.7f;
            stands += i >= way->n - 51 && p.height > POSTURE_STAND_M && p.up[2] > 0.7f;
        }
        if (lies < 5 || !stands)
            test_fail(__FILE__, __LINE__, "way %d: lies for %d frames, stands for %d of the last", w, lies,
                      stands);
    }
    for (int i = 0; i < t.nmoments; i++) ENSURE(posture_down(&t.moments[i].at));
    teacher_free(&t);
    school_close(&s);
}

/* Of every way the moment most like the robot, the best way first, where the robot is; and no way twice. */
static void test_chooses(void)
{
    hrc_error err;
    school s = school_open(false);
    teacher t;
    ENSURE_OK(teacher_create(&t, s.train, s.n, &err));
    rng r = rng_make(31, 0);
    for (int n = 0; n < 20; n++) {
        float qpos[HRC_NQ], last = -1;
        bool taken[1000] = {false};
        const hrc_motion *like = &t.ways[rng_below(&r, (uint32_t)t.nways)];
        follower f;
        int rank = 0;
        lie_like(qpos, like, (int)rng_below(&r, (uint32_t)like->n / 2), &r);
        for (; teacher_choose(&t, qpos, rank, &f); rank++) {
            const teacher_moment *m = moment_of(&t, &f);
            const float cost = cost_of(&t, m, qpos);
            hrc_frame now;
            ENSURE(!taken[m->way] && cost >= last);
            taken[m->way] = true;
            last = cost;
            for (int i = 0; i < t.nmoments; i++)
                if (t.moments[i].way == m->way) ENSURE(cost_of(&t, &t.moments[i], qpos) >= cost);
            follow_frame(&f, 0, &now);
            for (int i = 0; i < 2; i++) ENSURE_NEAR(now.qpos[i], qpos[i], 1e-4);
            ENSURE_NEAR(heading_between(now.qpos + 3, qpos + 3), 0, 2e-3);
        }
        float best = INFINITY;
        for (int i = 0; i < t.nmoments; i++) best = fminf(best, cost_of(&t, &t.moments[i], qpos));
        ENSURE(teacher_choose(&t, qpos, 0, &f) && cost_of(&t, moment_of(&t, &f), qpos) == best);
        ENSURE(rank >= t.nways / 2 && rank <= t.nways);
    }
    teacher_free(&t);
    school_close(&s);
}

static int lying_frame(const hrc_motion *way)
{
    for (int i = 0; i < way->n; i++) {
        const posture p = posture_of(way->qpos + (size_t)i * HRC_NQ);
        if (posture_down(&p) && p.up[2] < 0.6f) return i;
    }
    test_fail(__FILE__, __LINE__, "no robot lies");
}

/* One who lies and is wanted up is led after a moment, and let go when standing; one who stays where it is is
 * led another way; one who stands, or is to lie, is left alone. */
static void test_leads(void)
{
    hrc_error err;
    school s = school_open(false);
    teacher t;
    ENSURE_OK(teacher_create(&t, s.train, s.n, &err));
    rng r = rng_make(32, 0);
    double stance[HRC_NQ];
    float stands[HRC_NQ], lies[HRC_NQ];
    g1_default_qpos(stance);
    for (int i = 0; i < HRC_NQ; i++) stands[i] = (float)stance[i];
    for (int n = 0; n < 8; n++) {
        const hrc_motion *like = &t.ways[n % t.nways];
        const int first = lying_frame(like);
        lie_like(lies, like, first, &r);
        teaching idle = {.knows = &t}, lead = {.knows = &t}, stuck = {.knows = &t};
        for (int i = 0; i < 200; i++) {
            ENSURE(!teaching_step(&idle, stands, stands) && !idle.leads);
            ENSURE(!teaching_step(&idle, lies, lies) && !idle.leads);
        }
        int patience = 0;
        while (!teaching_step(&lead, lies, stands)) ENSURE(++patience < 50);
        ENSURE(patience >= 10 && lead.leads && lead.rank == 1);
        float robot[HRC_NQ];
        int steps = 0;
        memcpy(robot, lies, sizeof robot);
        while (lead.leads) { /* a robot that does what it is shown */
            hrc_frame frame;
            ENSURE(++steps < 1000);
            follow_frame(&lead.way, 0, &frame);
            follow_advance(&lead.way);
            memcpy(robot, frame.qpos, sizeof robot);
            teaching_step(&lead, robot, stands);
        }
        ENSURE(robot[2] > POSTURE_STAND_M && lead.rank == 1);
        int ways = 0;
        for (int i = 0; i < 2000; i++) { /* one that cannot */
            if (teaching_step(&stuck, lies, stands)) ways += stuck.leads;
            if (stuck.leads) follow_advance(&stuck.way);
        }
        ENSURE(ways >= 2 && stuck.rank >= ways);
    }
    teacher_free(&t);
    school_close(&s);
}

/* An order is kept to, and begins again; of a way still the moment most like the robot. */
static void test_order(void)
{
    hrc_error err;
    school s = school_open(false);
    teacher t;
    ENSURE_OK(teacher_create(&t, s.train, s.n, &err));
    t.norder = 2, t.order[0] = 5, t.order[1] = 2;
    rng r = rng_make(32, 0);
    for (int n = 0; n < 10; n++) {
        float qpos[HRC_NQ];
        const hrc_motion *like = &t.ways[rng_below(&r, (uint32_t)t.nways)];
        lie_like(qpos, like, (int)rng_below(&r, (uint32_t)like->n / 2), &r);
        for (int rank = 0; rank < 5; rank++) {
            follower f;
            ENSURE(teacher_choose(&t, qpos, rank, &f));
            const teacher_moment *m = moment_of(&t, &f);
            ENSURE(m->way == t.order[rank % 2]);
            for (int i = 0; i < t.nmoments; i++)
                if (t.moments[i].way == m->way)
                    ENSURE(cost_of(&t, &t.moments[i], qpos) >= cost_of(&t, m, qpos));
        }
    }
    teacher_free(&t);
    school_close(&s);
}

/* ---- Practice ---- */

typedef struct {
    school s;
    hrc_model *tracker, *planner;
    config cfg;
} gym;

static gym gym_open(void)
{
    hrc_error err;
    gym g = {.s = school_open(true), .cfg = config_default()};
    small_planner("p.safetensors", 38);
    ENSURE_OK(hrc_model_load(&g.planner, test_path("p.safetensors"), &err));
    ENSURE_OK(hrc_model_load(&g.tracker, "models/tracker.safetensors", &err));
    return g;
}

static void gym_close(gym *g)
{
    school_close(&g->s);
    hrc_model_free(g->tracker);
    hrc_model_free(g->planner);
}

static practice_options quick(uint64_t seed)
{
    return (practice_options){
        .seed = seed, .attempts = 2, .kept = 2, .noise = 1, .attempt_s = 8, .taught = true, .guided = true};
}

static void practise(const gym *g, const practice_options *o, int threads, int first, int n, lessons *out,
                     practice_counts *counts)
{
    hrc_error err;
    pool *p;
    practice *room;
    ENSURE_OK(pool_create(&p, threads, &err));
    ENSURE_OK(practice_create(&room, &g->cfg, g->tracker, g->planner, g->s.train, g->s.n, o, p, &err));
    ENSURE_OK(practice_run(room, first, n, out, counts, &err));
    practice_free(room);
    pool_free(p);
}

/* A situation depends on its number and the seed alone. */
static void test_same_lessons(void)
{
    gym g = gym_open();
    lessons whole = {0}, parts = {0}, other = {0};
    practice_counts a = {0}, b = {0}, c = {0};
    const practice_options o = quick(1), another = quick(2);
    practise(&g, &o, 2, 0, 10, &whole, &a);
    practise(&g, &o, 1, 0, 4, &parts, &b);
    practise(&g, &o, 1, 4, 6, &parts, &b);
    ENSURE(whole.n > 100);
    ensure_same(&whole, &parts);
    ENSURE(!memcmp(&a, &b, sizeof a));
    int tried = 0, kinds = 0, counted = 0;
    for (int k = 0; k < SITUATIONS; k++) {
        tried += a.tried[k], kinds += a.tried[k] > 0;
        ENSURE(a.own[k] <= a.returned[k] && a.returned[k] <= a.tried[k]);
        for (int i = 0; i < LESSON_POSTURES; i++) counted += a.lessons[k][i];
    }
    ENSURE(tried <= 10 && tried >= 7 && kinds >= 3 && counted == whole.n);
    for (int i = 1; i < whole.n; i++) ENSURE(whole.situation[i] >= whole.situation[i - 1]);
    practise(&g, &another, 2, 0, 2, &other, &c);
    ENSURE(!other.n || memcmp(&other.list[0], &whole.list[0], sizeof(lesson)));
    lessons_free(&whole);
    lessons_free(&parts);
    lessons_free(&other);
    gym_close(&g);
}

/* Every lesson is one the planner can be trained on: a robot some way off, keyframes that the guard trusts.
 */
static void test_lessons_are_plans(void)
{
    gym g = gym_open();
    lessons l = {0};
    practice_counts counts = {0};
    const practice_options o = quick(3);
    practise(&g, &o, 2, 0, 8, &l, &counts);
    int fine = 0;
    ENSURE(l.n > 100 && l.horizon == PLAN_H);
    for (int i = 0; i < l.n; i++) {
        lesson one = l.list[i];
        ENSURE(l.label[i] >= 0 && l.label[i] < SITUATIONS * LESSON_POSTURES);
        ENSURE(l.situation[i] >= 0 && l.situation[i] < 8);
        const posture p = posture_of(one.state);
        ENSURE((l.label[i] % LESSON_POSTURES == 0) == (p.height > POSTURE_STAND_M));
        fine += plan_guard(one.guide, 1.0f / 35) == PLAN_FINE;
    }
    ENSURE(fine > 0.98 * l.n);
    lessons_free(&l);
    gym_close(&g);
}

/* Recorded ways up bring robots back that neither the reference nor a planner that has learned nothing does.
 */
static void test_taught(void)
{
    gym g = gym_open();
    lessons l = {0};
    practice_counts taught = {0}, untaught = {0};
    practice_options o = quick(4);
    o.attempts = 3, o.kept = 1;
    practise(&g, &o, 2, 0, 14, &l, &taught);
    o.taught = o.guided = false;
    o.attempts = 2;
    practise(&g, &o, 2, 0, 14, &l, &untaught);
    int with = 0, without = 0, tried = 0;
    for (int k = SITUATION_LYING; k <= SITUATION_BEHIND; k++) {
        with += taught.returned[k], without += untaught.returned[k], tried += taught.tried[k];
        ENSURE(taught.tried[k] == untaught.tried[k]); /* the same situations */
    }
    printf("(of %d lying: %d led, %d alone) ", tried, with, without);
    ENSURE(tried >= 4 && with >= 0.5 * tried && with > without);
    lessons_free(&l);
    gym_close(&g);
}

/* ---- Learning from it ---- */

static planner_trainer *train_on(const gym *g, const config *cfg, const lessons *l, int steps, pool *p,
                                 tuple_set **set)
{
    hrc_error err;
    planner_trainer *t;
    enum { CLIPS = 12 };
    tuple_clip clips[CLIPS];
    for (int i = 0; i < CLIPS; i++) clips[i] = (tuple_clip){g->s.train[i]->qpos, g->s.train[i]->n};
    const tuple_options o = planner_tuple_options(cfg);
    ENSURE_OK(tuples_create(set, clips, CLIPS, l, &o, p, &err));
    ENSURE_OK(planner_trainer_create(&t, cfg, *set, NULL, 1, p, &err));
    for (int i = 0; i < steps; i++) planner_trainer_step(t);
    return t;
}

/* Of robots on the ground: joints at the end of the plan against what led them up, mean over lessons. */
static double distance_to_guides(planner_trainer *t, const lessons *l)
{
    plan_model m = {.net = *planner_trainer_field(t),
                    .layout = *planner_trainer_layout(t),
                    .scales = *planner_trainer_scales(t),
                    .path = "trained",
                    .params = (float *)planner_trainer_averaged(t)};
    hrc_error err;
    planner *p;
    const planner_options o = planner_defaults();
    double sum = 0;
    int n = 0;
    ENSURE_OK(planner_create(&p, &m, &o, &err));
    for (int i = 0; i < l->n; i++) {
        plan_question q;
        float keyframes[PLAN_K][HRC_NQ], square = 0;
        if (l->label[i] % LESSON_POSTURES < 2) continue;
        lesson_question(&q, &l->list[i], PLAN_H);
        planner_plan(p, &q, keyframes);
        for (int k = 7; k < HRC_NQ; k++)
            square += powf(keyframes[PLAN_K - 1][k] - l->list[i].guide[PLAN_K - 1][k], 2);
        sum += (double)sqrtf(square), n++;
    }
    planner_free(p);
    ENSURE(n > 50);
    return sum / n;
}

/* A round in small: what led robots up in some situations brings plans nearer to it in others. */
static void test_learns(void)
{
    static const char *const SETTINGS[] = {"planner.width=64",    "planner.depth=2",      "planner.batch=64",
                                           "planner.steps=200",   "planner.warmup=5",     "planner.rate=3e-3",
                                           "planner.average=0.9", "train.precision=float"};
    gym g = gym_open();
    hrc_error err;
    lessons seen = {0}, unseen = {0};
    practice_counts counts = {0};
    practice_options o = quick(5);
    pool *p;
    for (int i = 0; i < COUNT(SETTINGS); i++) ENSURE_OK(config_override(&g.cfg, SETTINGS[i], &err));
    practise(&g, &o, 2, 0, 24, &seen, &counts);
    o.seed = 6;
    practise(&g, &o, 2, 0, 8, &unseen, &counts);
    ENSURE_OK(pool_create(&p, 2, &err));
    double distance[2];
    for (int i = 0; i < 2; i++) { /* on clips alone, with practice */
        tuple_set *set;
        planner_trainer *t = train_on(&g, &g.cfg, i ? &seen : NULL, 200, p, &set);
        distance[i] = distance_to_guides(t, &unseen);
        planner_trainer_free(t);
        tuples_free(set);
    }
    printf("(clips alone %.2f rad off, with practice %.2f) ", distance[0], distance[1]);
    pool_free(p);
    lessons_free(&seen);
    lessons_free(&unseen);
    gym_close(&g);
    ENSURE(distance[1] < 0.8 * distance[0]);
}

/* The first n clips that somebody gets up in. */
static void get_ups(const clip **out, int n, const school *s)
{
    hrc_error err;
    int found = 0;
    for (int i = 0; i < s->n && found < n; i++) {
        teacher t;
        ENSURE_OK(teacher_create(&t, &s->train[i], 1, &err));
        if (t.nways) out[found++] = s->train[i];
        teacher_free(&t);
    }
    ENSURE(found == n);
}

/* The ways up of a few clips, tried on three robots: the same order whatever the threads and the round. */
static void test_contest(void)
{
    hrc_error err;
    gym g = gym_open();
    enum { CLIPS = 5 };
    const clip *few[CLIPS];
    get_ups(few, CLIPS, &g.s);
    practice_ways found[2];
    practice_options o = quick(7);
    o.trials = 3;
    for (int i = 0; i < 2; i++) {
        pool *threads;
        practice *room;
        o.seed = (uint64_t)i;
        ENSURE_OK(pool_create(&threads, 1 + i, &err));
        ENSURE_OK(practice_create(&room, &g.cfg, g.tracker, g.planner, few, CLIPS, &o, threads, &err));
        found[i] = practice_ways_of(room);
        practice_free(room);
        pool_free(threads);
    }
    printf("(%d ways, %d lead, %.0f %%) ", found[0].known, found[0].used, 100 * (double)found[0].up[0]);
    ENSURE(!memcmp(&found[0], &found[1], sizeof found[0]));
    ENSURE(found[0].used >= 1 && found[0].used < found[0].known);
    for (int i = 0; i < found[0].used; i++) ENSURE(found[0].up[i] > 0 && found[0].up[i] <= 1);
    gym_close(&g);
}

TEST_TABLE({"practice.lessons_file", test_lessons_file}, {"practice.lessons_sort", test_lessons_sort},
           {"practice.lessons_refused", test_lessons_refused},
           {"practice.lesson_question", test_lesson_question}, {"practice.ways", test_ways},
           {"practice.chooses", test_chooses}, {"practice.leads", test_leads}, {"practice.order", test_order},
           {"practice.contest", test_contest}, {"practice.same_lessons", test_same_lessons},
           {"practice.lessons_are_plans", test_lessons_are_plans}, {"practice.taught", test_taught},
           {"practice.learns", test_learns})
