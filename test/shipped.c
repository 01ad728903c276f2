/* The corpus and the suites in the repository: that they are whole, good, and apart from each other. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "motion/diverse.h"
#include "motion/split.h"
#include "motion/stats.h"
#include "test.h"

#define CORPUS "motions/cmu.safetensors"

static corpus open_corpus(void)
{
    hrc_error err;
    corpus c;
    ENSURE_OK(corpus_open(&c, CORPUS, &err));
    return c;
}

static bool same_motion(const char *a, const char *b)
{
    char p[SPLIT_KEY], q[SPLIT_KEY];
    split_key(p, a);
    split_key(q, b);
    return strcmp(p, q) == 0;
}

static void test_whole(void)
{
    corpus c = open_corpus();
    struct stat info;
    ENSURE(stat(CORPUS, &info) == 0);
    const double hours = corpus_seconds(&c) / 3600, megabytes = (double)info.st_size * 1e-6;
    printf("(%.2f h, %.2f MB an hour) ", hours, megabytes / hours);
    ENSURE(hours >= 3.5 && megabytes <= 5 * hours);
    const char *thanks = tensorfile_meta(&c.file, "acknowledgement");
    ENSURE(thanks && strstr(thanks, "mocap.cs.cmu.edu") && strstr(thanks, "NSF EIA-0196217"));
    ENSURE(c.nclips + c.nleft_out == 1500);
    for (int i = 0; i < c.nclips; i++) {
        const corpus_entry *e = &c.clips[i];
        ENSURE(*e->category && *e->description && strstr(e->source, "CMU") && *e->licence);
        ENSURE(e->n >= 25 && e->quality.verdict != QUALITY_BAD);
    }
    corpus_close(&c);
}

/* All of it is read in less than a second an hour: by the processor's time, since others may be busy too. */
static void test_reading(void)
{
    hrc_error err;
    const clock_t begin = clock();
    corpus c = open_corpus();
    for (int i = 0; i < c.nclips; i++) {
        clip motion;
        ENSURE_OK(corpus_clip(&c, i, &motion, &err));
        clip_free(&motion);
    }
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC, hours = corpus_seconds(&c) / 3600;
    printf("(%.2f s an hour) ", seconds / hours);
    ENSURE(seconds < hours);
    corpus_close(&c);
}

/* What the file says of a clip is what is measured on its frames, up to the grain. */
static void test_figures(void)
{
    hrc_error err;
    corpus c = open_corpus();
    for (int i = 0; i < c.nclips; i += 101) {
        clip motion;
        quality q;
        ENSURE_OK(corpus_clip(&c, i, &motion, &err));
        ENSURE_OK(quality_measure(&q, &motion, &err));
        ENSURE_NEAR(q.low_min, c.clips[i].quality.low_min, 0.3e-3);
        ENSURE_NEAR(q.speed_max, c.clips[i].quality.speed_max, 0.01);
        ENSURE_OK(clip_check(&motion, "clip", &err));
        clip_free(&motion);
    }
    corpus_close(&c);
}

static void test_bars(void)
{
    corpus c = open_corpus();
    int above = 0, locomotion = 0, errors = 0, steady = 0;
    double fast = 0, *skate = calloc((size_t)c.nclips, sizeof *skate),
           *keypoint = calloc((size_t)c.nclips, sizeof *keypoint);
    ENSURE(skate && keypoint);
    for (int i = 0; i < c.nclips; i++) {
        const corpus_quality *q = &c.clips[i].quality;
        ENSURE(q->limit_excess == 0);
        above += q->low_min >= -0.01;
        fast += q->speed_share * c.clips[i].n;
        if (!isnan(q->keypoint_error)) keypoint[errors++] = q->keypoint_error;
        if (!strcmp(c.clips[i].category, "locomotion")) skate[locomotion++] = q->skate_p90;
    }
    for (int i = 0; i < locomotion; i++) steady += skate[i] < 0.15;
    printf(
        "(above -1 cm %.1f %% of clips; too fast %.3f %% of frames; key points %.1f cm; skate p90 %.3f m/s, "
        "under 0.15 in %d of %d) ",
        100.0 * above / c.nclips, 100 * fast / (double)c.nframes, 100 * median(keypoint, errors),
        median(skate, locomotion), steady, locomotion);
    ENSURE(above >= 0.95 * c.nclips && fast <= 0.001 * (double)c.nframes);
    ENSURE(errors == c.nclips && median(keypoint, errors) < 0.06);
    ENSURE(steady >= 0.9 * locomotion);
    free(skate);
    free(keypoint);
    corpus_close(&c);
}

/* What touches carries: raising the robot onto its lowest hand would leave half of the falls without a
 * support for a second and more, and the person's path over the floor every slow kick. */
static void test_carried(void)
{
    static const char *const CATEGORIES[] = {"locomotion", "daily", "martial", "dance", "fall_recovery"};
    corpus c = open_corpus();
    for (int k = 0; k < COUNT(CATEGORIES); k++) {
        int clips = 0, carried = 0;
        for (int i = 0; i < c.nclips; i++) {
            if (strcmp(c.clips[i].category, CATEGORIES[k]) != 0) continue;
            clips++;
            carried += c.clips[i].quality.uncarried_s < 0.4;
        }
        printf("(%s %d of %d) ", CATEGORIES[k], carried, clips);
        ENSURE(clips >= 30 && carried >= 0.9 * clips);
    }
    corpus_close(&c);
}

/* By the phases, not by names: all sides get up from the back, the front and the side. */
static void test_recoveries(void)
{
    corpus c = open_corpus();
    int rises[CORPUS_SPLITS][POSTURES] = {{0}};
    for (int i = 0; i < c.nclips; i++)
        for (int k = 0; k < c.clips[i].nphases; k++) {
            const phase *p = &c.clips[i].phases[k];
            bool stands_later = c.clips[i].phases[c.clips[i].nphases - 1].kind == PHASE_STANDING;
            if (p->kind == PHASE_DOWN && p->last - p->first >= 50 && stands_later)
                rises[c.clips[i].split][p->posture]++;
        }
    for (int side = 0; side < CORPUS_SPLITS; side++) {
        ENSURE(rises[side][POSTURE_SUPINE] >= 1 && rises[side][POSTURE_PRONE] >= 1);
        ENSURE(rises[side][POSTURE_SIDE_LEFT] + rises[side][POSTURE_SIDE_RIGHT] >= 1);
    }
    static const struct {
        const char *clip;
        phase_posture posture;
    } KNOWN[] = {{"140_08", POSTURE_SUPINE}, {"140_09", POSTURE_SUPINE}, {"140_01", POSTURE_PRONE},
                 {"140_02", POSTURE_PRONE},  {"77_16", POSTURE_PRONE},   {"90_16", POSTURE_PRONE},
                 {"111_12", POSTURE_SUPINE}};
    for (int i = 0; i < COUNT(KNOWN); i++) {
        int at = corpus_find(&c, KNOWN[i].clip), frames = 0;
        for (int k = 0; at >= 0 && k < c.clips[at].nphases; k++)
            if (c.clips[at].phases[k].posture == KNOWN[i].posture)
                frames += c.clips[at].phases[k].last - c.clips[at].phases[k].first + 1;
        if (frames < 40) test_fail(__FILE__, __LINE__, "%s: %d frames", KNOWN[i].clip, frames);
    }
    corpus_close(&c);
}

/* No clip of a suite, and no other recording of its motion, is anywhere but in the suite's own split. */
static void check_apart(const corpus *c, const char *name, int at_least, corpus_split split)
{
    hrc_error err;
    suite s;
    ENSURE_OK(suite_load(&s, name, &err));
    ENSURE(s.n >= at_least);
    for (int i = 0; i < s.n; i++) {
        clip sequence;
        ENSURE_OK(suite_clip(&s, i, c, &sequence, &err));
        ENSURE(sequence.n <= SPLIT_SEQUENCE_FRAMES && sequence.n >= 50);
        clip_free(&sequence);
        for (int k = 0; k < c->nclips; k++)
            if (c->clips[k].split != split && same_motion(c->clips[k].name, s.sequences[i].clip))
                test_fail(__FILE__, __LINE__, "%s of %s is the %s clip %s", s.sequences[i].clip, name,
                          corpus_split_word(c->clips[k].split), c->clips[k].name);
    }
    suite_free(&s);
}

static void test_apart(void)
{
    corpus c = open_corpus();
    double heldout = 0;
    check_apart(&c, "heldout101", 101, CORPUS_HELDOUT);
    check_apart(&c, "recovery", 16, CORPUS_HELDOUT);
    check_apart(&c, "smoke", 8, CORPUS_HELDOUT);
    check_apart(&c, "validation", 60, CORPUS_VALIDATION);
    for (int i = 0; i < c.nclips; i++) heldout += c.clips[i].split != CORPUS_TRAIN ? c.clips[i].n : 0;
    ENSURE(heldout < 0.2 * (double)c.nframes);
    corpus_close(&c);
}

/* By the motion, whatever the numbers say: none that is kept from training is there under another name. Two
 * takes of a motion are further apart than this everywhere but where the robot only stands. */
#define SAME_RECORDING 0.05

static void test_no_double(void)
{
    hrc_error err;
    corpus c = open_corpus();
    moments train = {0}, own = {0};
    double most = 0;
    for (int i = 0; i < c.nclips; i++) {
        clip motion;
        if (c.clips[i].split != CORPUS_TRAIN) continue;
        ENSURE_OK(corpus_clip(&c, i, &motion, &err));
        ENSURE_OK(moments_add(&train, &motion, &err));
        clip_free(&motion);
    }
    for (int i = 0; i < c.nclips; i++) {
        clip motion;
        if (c.clips[i].split == CORPUS_TRAIN) continue;
        ENSURE_OK(corpus_clip(&c, i, &motion, &err));
        own.n = 0;
        ENSURE_OK(moments_add(&own, &motion, &err));
        const double known = 1 - moments_new(&own, &train, SAME_RECORDING);
        if (known > 0.3) test_fail(__FILE__, __LINE__, "%.0f %% of %s trains", 100 * known, motion.name);
        most = known > most ? known : most;
        clip_free(&motion);
    }
    printf("(at most %.0f %% of a clip) ", 100 * most);
    moments_free(&train);
    moments_free(&own);
    corpus_close(&c);
}

/* The suites are those that the corpus gives, and have the categories that were promised. */
static void test_suites(void)
{
    hrc_error err;
    corpus c = open_corpus();
    split_suites made;
    ENSURE_OK(split_make_suites(&made, &c, &err));
    const suite *all[] = {&made.heldout, &made.recovery, &made.smoke};
    static const char *const NAMES[] = {"heldout101", "recovery", "smoke"};
    for (int i = 0; i < 3; i++) {
        suite s;
        ENSURE_OK(suite_load(&s, NAMES[i], &err));
        ENSURE(s.n == all[i]->n);
        for (int k = 0; k < s.n; k++) {
            const suite_sequence *p = &s.sequences[k], *q = &all[i]->sequences[k];
            ENSURE(!strcmp(p->clip, q->clip) && p->first == q->first && p->last == q->last &&
                   p->hold == q->hold);
        }
        suite_free(&s);
    }
    static const char *const WAYS[] = {"lie-to-stand", "prone-to-stand", "side-to-stand", "stand-to-lie"};
    for (int i = 0; i < COUNT(WAYS); i++) {
        int continuous = 0, held = 0;
        for (int k = 0; k < made.recovery.n; k++)
            if (!strcmp(made.recovery.sequences[k].category, WAYS[i]))
                *(made.recovery.sequences[k].hold > 0 ? &held : &continuous) += 1;
        ENSURE(continuous >= 1 && held >= 1);
    }
    for (int i = 0; i < SPLIT_CATEGORIES; i++) {
        int n = 0;
        for (int k = 0; k < made.heldout.n; k++)
            n += !strcmp(made.heldout.sequences[k].category, SPLIT_QUOTA[i].category);
        ENSURE(n == SPLIT_QUOTA[i].sequences);
    }
    split_suites_free(&made);
    corpus_close(&c);
}

TEST_TABLE({"shipped.whole", test_whole}, {"shipped.reading", test_reading},
           {"shipped.figures", test_figures}, {"shipped.bars", test_bars}, {"shipped.carried", test_carried},
           {"shipped.recoveries", test_recoveries}, {"shipped.apart", test_apart},
           {"shipped.no_double", test_no_double}, {"shipped.suites", test_suites})
