#include <stdlib.h>
#include <string.h>

#include "motion/split.h"
#include "synthetic.h"
#include "test.h"

static hrc_status parse(suite *s, const char *text, hrc_error *err)
{
    return suite_parse(s, "x.csv", (file_view){text, strlen(text)}, err);
}

static void test_parse(void)
{
    hrc_error err;
    suite s;
    ENSURE_OK(parse(&s,
                    "# made by hand\n"
                    "clip,first,last,category,hold\r\n"
                    "02_01,0,142,locomotion,0\n"
                    "\n"
                    "own/walk.csv,5,5,daily,0.25",
                    &err));
    ENSURE(s.n == 2 && !strcmp(s.sequences[0].clip, "02_01") && s.sequences[0].last == 142);
    ENSURE(!strcmp(s.sequences[1].category, "daily") && s.sequences[1].hold == 0.25);
    ENSURE_OK(suite_write(&s, test_path("again.csv"), &err));
    suite_free(&s);
    ENSURE_OK(suite_load(&s, test_path("again.csv"), &err));
    ENSURE(s.n == 2 && !strcmp(s.sequences[1].clip, "own/walk.csv") && s.sequences[1].first == 5);
    suite_free(&s);
}

static void test_errors(void)
{
    static const char *const CASES[][2] = {
        {"", "x.csv:1: \"\", expected the header"},
        {"clip,first,last\n", "x.csv:1: \"clip,first,last\", expected the header"},
        {"clip,first,last,category,hold\n", "x.csv: has no sequences"},
        {"clip,first,last,category,hold\na,0,1,walk\n", "x.csv:2: 4 columns, expected 5"},
        {"clip,first,last,category,hold\n\na,x,1,walk,0\n", "x.csv:3: first is \"x\""},
        {"clip,first,last,category,hold\na,-1,1,walk,0\n", "x.csv:2: first is \"-1\""},
        {"clip,first,last,category,hold\na,0,9999999999,walk,0\n", "x.csv:2: last is \"9999999999\""},
        {"clip,first,last,category,hold\na,3,2,walk,0\n", "x.csv:2: last frame 2 lies before the first, 3"},
        {"clip,first,last,category,hold\na,3,4,walk,nan\n", "x.csv:2: hold is \"nan\""},
        {"clip,first,last,category,hold\na,3,4,walk,-1\n", "x.csv:2: hold is \"-1\""},
        {"clip,first,last,category,hold\n,3,4,walk,0\n", "x.csv:2: the clip is empty"},
        {"clip,first,last,category,hold\na,3,4,,0\n", "x.csv:2: the category is empty"},
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        suite s;
        hrc_error err = {0};
        hrc_status status = parse(&s, CASES[i][0], &err);
        if (status >= 0 || !strstr(err.text, CASES[i][1]) || s.sequences)
            test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", CASES[i][1], status, err.text);
    }
    suite s;
    hrc_error err;
    ENSURE(suite_load(&s, "nosuch", &err) == HRC_EFILE && strstr(err.text, "no suite \"nosuch\""));
}

/* ---- Sequences as clips ---- */

static void write_corpus_of_one(const char *path)
{
    hrc_error err;
    clip c;
    corpus_item item;
    synthetic_turn(&c, 200, 50);
    ENSURE_OK(corpus_admit(&item, &c, &(corpus_note){"", NAN, false}, &err));
    ENSURE_OK(corpus_write(path, &item, 1, NULL, 0, NULL, 0, &err));
    corpus_item_free(&item);
    clip_free(&c);
}

static void test_clips(void)
{
    hrc_error err;
    suite s;
    corpus all;
    clip c, file, sequence;
    write_corpus_of_one(test_path("one.safetensors"));
    ENSURE_OK(corpus_open(&all, test_path("one.safetensors"), &err));
    synthetic_turn(&file, 50, 25);
    ENSURE_OK(clip_save(&file, test_path("slow.safetensors"), &err));
    char text[] = "clip,first,last,category,hold\n"
                  "turn,10,109,daily,0\n"
                  "turn,10,109,daily,0.4\n"
                  "slow.safetensors,2,97,daily,0\n"
                  "one.safetensors#turn,0,9,daily,0\n"
                  "other,0,9,daily,0\n"
                  "turn,100,200,daily,0\n";
    test_write(test_path("s.csv"), text, sizeof text - 1);
    ENSURE_OK(suite_load(&s, test_path("s.csv"), &err));
    ENSURE_OK(corpus_clip(&all, 0, &c, &err));
    ENSURE_OK(suite_clip(&s, 0, &all, &sequence, &err));
    ENSURE(sequence.n == 100 && sequence.fps == 50);
    ENSURE(memcmp(sequence.qpos, clip_frame(&c, 10), 100 * HRC_NQ * sizeof(float)) == 0);
    clip_free(&sequence);
    ENSURE_OK(suite_clip(&s, 1, &all, &sequence, &err));
    for (int i = 0; i < 100; i++)
        ENSURE(memcmp(clip_frame(&sequence, i), clip_frame(&c, 10 + i - i % 20), HRC_NQ * sizeof(float)) ==
               0);
    clip_free(&sequence);
    ENSURE_OK(suite_clip(&s, 2, &all, &sequence, &err)); /* 25 fps: frames count at 50 */
    ENSURE(sequence.n == 96 && sequence.fps == 50);
    ENSURE(memcmp(clip_frame(&sequence, 0), clip_frame(&file, 1), HRC_NQ * sizeof(float)) == 0);
    clip_free(&sequence);
    ENSURE_OK(suite_clip(&s, 3, NULL, &sequence, &err));
    ENSURE(sequence.n == 10);
    clip_free(&sequence);
    ENSURE(suite_clip(&s, 4, &all, &sequence, &err) < 0 && strstr(err.text, "\"other\" is not in"));
    ENSURE(suite_clip(&s, 0, NULL, &sequence, &err) < 0 && strstr(err.text, "none is given"));
    ENSURE(suite_clip(&s, 5, &all, &sequence, &err) < 0 && strstr(err.text, "frames 0 to 199"));
    suite_free(&s);
    corpus_close(&all);
    clip_free(&c);
    clip_free(&file);
}

/* A CSV of 61 frames is 1 s at the rate that was asked for, 2 s at the one that is assumed. */
static void test_reading(void)
{
    static const char TEXT[] = "clip,first,last,category,hold\nquick.csv,0,60,daily,0\n";
    hrc_error err;
    suite s;
    clip file, sequence;
    synthetic_turn(&file, 61, 60);
    ENSURE_OK(clip_save(&file, test_path("quick.csv"), &err));
    test_write(test_path("s.csv"), TEXT, sizeof TEXT - 1);
    ENSURE_OK(suite_load(&s, test_path("s.csv"), &err));
    s.reading.quat = "xyzw";
    ENSURE_OK(suite_clip(&s, 0, NULL, &sequence, &err));
    clip_free(&sequence);
    s.reading.fps = 60;
    ENSURE(suite_clip(&s, 0, NULL, &sequence, &err) < 0 && strstr(err.text, "0 to 50"));
    clip_free(&file);
    suite_free(&s);
}

/* ---- The split ---- */

static void expect_key(const char *name, const char *key)
{
    char found[SPLIT_KEY];
    split_key(found, name);
    if (strcmp(found, key) != 0) test_fail(__FILE__, __LINE__, "%s: %s, expected %s", name, found, key);
}

static void test_keys(void)
{
    expect_key("139_16", "77_16");
    expect_key("77_16", "77_16");
    expect_key("123_01", "70_01");
    expect_key("73_01", "70_01");
    expect_key("64_02", "63_02");
    expect_key("117_05-2", "85_05");
    expect_key("02_01", "02_01");
    expect_key("dance1_subject2-7", "dance1_subject2");
    expect_key("90twists", "90twists");
    expect_key("-3", "-3");
    expect_key("walk-slow", "walk-slow");
}

/* 300 clips in the categories of the quotas and one more, some under two numbers. */
#define MANY 300

typedef struct {
    corpus_entry entries[MANY], *list[MANY];
    char names[MANY][16];
    phase phases[MANY][3];
} population;

static void populate(population *p)
{
    static const phase_posture LYING[] = {POSTURE_SUPINE, POSTURE_PRONE, POSTURE_SIDE_LEFT, POSTURE_SIT};
    for (int i = 0; i < MANY; i++) {
        int take = i / 2, kind = take % (SPLIT_CATEGORIES + 1), n = 100 + 37 * (i % 50);
        /* even and odd neighbours are the same recording under 77 and 139 whenever 3 divides the take */
        snprintf(p->names[i], sizeof p->names[i], "%d_%02d", take % 3 ? i % 40 + 1 : i % 2 ? 139 : 77, take);
        p->phases[i][0] = (phase){PHASE_DOWN, LYING[i / 14 % 4], 0, 69};
        p->phases[i][1] = (phase){PHASE_GETTING_UP, POSTURE_NONE, 70, 79};
        p->phases[i][2] = (phase){PHASE_STANDING, POSTURE_NONE, 80, n - 1};
        p->entries[i] =
            (corpus_entry){.name = p->names[i],
                           .category = kind < SPLIT_CATEGORIES ? SPLIT_QUOTA[kind].category : "balance",
                           .source = "",
                           .licence = "",
                           .description = "",
                           .n = n,
                           .nphases = 3,
                           .phases = p->phases[i]};
        p->list[i] = &p->entries[i];
    }
}

static void test_split(void)
{
    hrc_error err;
    population *p = calloc(1, sizeof *p);
    ENSURE(p);
    populate(p);
    ENSURE_OK(split_choose(p->list, MANY, 0, &err));
    int heldout = 0, lying[POSTURES][2] = {{0}}, pairs = 0;
    for (int i = 0; i < MANY; i++) {
        heldout += p->entries[i].split == CORPUS_HELDOUT;
        if (!strcmp(p->entries[i].category, "fall_recovery"))
            lying[p->phases[i][0].posture][p->entries[i].split]++;
        if (!strcmp(p->entries[i].category, "balance")) ENSURE(p->entries[i].split == CORPUS_TRAIN);
        for (int k = 0; k < i; k++) {
            char a[SPLIT_KEY], b[SPLIT_KEY];
            split_key(a, p->names[i]);
            split_key(b, p->names[k]);
            if (strcmp(a, b) != 0) continue;
            pairs++;
            ENSURE(p->entries[i].split == p->entries[k].split);
        }
    }
    ENSURE(pairs > 20 && heldout > 40 && heldout < MANY / 2);
    for (int i = 1; i < POSTURES; i++)
        if (lying[i][CORPUS_TRAIN] + lying[i][CORPUS_HELDOUT] > 3)
            ENSURE(lying[i][CORPUS_TRAIN] > 0 && lying[i][CORPUS_HELDOUT] > 0);
    free(p);
}

/* Another seed, another choice; the same seed, the same; the order of the clips changes nothing. */
static void test_split_seed(void)
{
    hrc_error err;
    population *p = calloc(2, sizeof *p), *q = p + 1;
    ENSURE(p);
    populate(p);
    populate(q);
    for (int i = 0; i < MANY; i++) q->list[i] = &q->entries[MANY - 1 - i];
    int differ[3] = {0};
    ENSURE_OK(split_choose(p->list, MANY, 0, &err));
    for (int round = 0; round < 3; round++) {
        if (round == 1) {
            for (int i = 0; i < MANY; i++) q->list[i] = &q->entries[i];
        }
        ENSURE_OK(split_choose(q->list, MANY, round == 2, &err));
        for (int i = 0; i < MANY; i++) differ[round] += p->entries[i].split != q->entries[i].split;
    }
    ENSURE(differ[0] == 0 && differ[1] == 0 && differ[2] > 10);
    free(p);
}

static int of_category(const suite *s, const char *category)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) n += !strcmp(s->sequences[i].category, category);
    return n;
}

static void check_sequences(const suite *s, const corpus *c)
{
    for (int i = 0; i < s->n; i++) {
        const suite_sequence *q = &s->sequences[i];
        int at = corpus_find(c, q->clip);
        ENSURE(at >= 0 && c->clips[at].split == CORPUS_HELDOUT);
        ENSURE(q->first >= 0 && q->last >= q->first && q->last < c->clips[at].n);
        ENSURE(q->last - q->first < SPLIT_SEQUENCE_FRAMES);
        for (int k = 0; k < i; k++) { /* no frame is in two continuous sequences of one category */
            const suite_sequence *r = &s->sequences[k];
            if (q->hold == 0 && r->hold == 0 && !strcmp(q->clip, r->clip) &&
                !strcmp(q->category, r->category))
                ENSURE(q->first > r->last || r->first > q->last);
        }
    }
}

static void test_suites(void)
{
    hrc_error err;
    population *p = calloc(1, sizeof *p);
    split_suites s;
    ENSURE(p);
    populate(p);
    ENSURE_OK(split_choose(p->list, MANY, 0, &err));
    corpus c = {.nclips = MANY, .clips = p->entries};
    ENSURE_OK(split_make_suites(&s, &c, &err));
    ENSURE(s.heldout.n == 101 && of_category(&s.heldout, "discretized") == 10 && s.smoke.n == 8);
    for (int i = 0; i < SPLIT_CATEGORIES; i++)
        ENSURE(of_category(&s.heldout, SPLIT_QUOTA[i].category) == SPLIT_QUOTA[i].sequences);
    check_sequences(&s.heldout, &c);
    check_sequences(&s.recovery, &c);
    check_sequences(&s.smoke, &c);
    for (int i = 0; i < s.heldout.n; i++) {
        const suite_sequence *q = &s.heldout.sequences[i];
        bool held = !strcmp(q->category, "discretized");
        ENSURE(held ? q->hold >= 0.2 && q->hold <= 1 : q->hold == 0);
    }
    static const char *const WAYS[] = {"lie-to-stand", "prone-to-stand", "side-to-stand"};
    for (int i = 0; i < 3; i++) ENSURE(of_category(&s.recovery, WAYS[i]) >= 2);
    split_suites_free(&s);
    for (int i = 0; i < MANY; i++) p->entries[i].split = CORPUS_TRAIN;
    c.file.path = "mine";
    ENSURE(split_make_suites(&s, &c, &err) == HRC_EINVAL && strstr(err.text, "mine: holds out no clip"));
    free(p);
}

/* A window that would end in mid-fall ends where the robot stands. */
static void test_windows(void)
{
    hrc_error err;
    split_suites s;
    phase phases[] = {{PHASE_STANDING, POSTURE_NONE, 0, 399},
                      {PHASE_FALLING, POSTURE_NONE, 400, 420},
                      {PHASE_DOWN, POSTURE_PRONE, 421, 799},
                      {PHASE_GETTING_UP, POSTURE_NONE, 800, 849},
                      {PHASE_STANDING, POSTURE_NONE, 850, 1299}};
    corpus_entry e = {.name = "77_01",
                      .category = "fall_recovery",
                      .split = CORPUS_HELDOUT,
                      .n = 1300,
                      .nphases = COUNT(phases),
                      .phases = phases};
    corpus c = {.nclips = 1, .clips = &e};
    ENSURE_OK(split_make_suites(&s, &c, &err));
    ENSURE(of_category(&s.heldout, "fall_recovery") == 2);
    ENSURE(s.heldout.sequences[0].first == 0 && s.heldout.sequences[0].last == 849);
    ENSURE(s.heldout.sequences[1].first == 850 && s.heldout.sequences[1].last == 1299);
    ENSURE(s.recovery.n == 4); /* down and up, continuous and held */
    ENSURE(of_category(&s.recovery, "stand-to-lie") == 2 && of_category(&s.recovery, "prone-to-stand") == 2);
    ENSURE(s.recovery.sequences[1].hold == 0.5 && s.recovery.sequences[0].first == 349);
    split_suites_free(&s);
}

TEST_TABLE({"suite.parse", test_parse}, {"suite.errors", test_errors}, {"suite.clips", test_clips},
           {"suite.reading", test_reading}, {"suite.keys", test_keys}, {"suite.split", test_split},
           {"suite.split_seed", test_split_seed}, {"suite.suites", test_suites},
           {"suite.windows", test_windows})
