/* How natural a rollout is: how near its motion is to any that people did, and how hard the joints work.
 *
 * A window is half a second: 6 poses, 0.1 s apart. A pose has 33 channels: 29 joint angles (rad), twice the
 * root's height (m), twice the vertical in the root frame: neither heading nor place. The distance of two
 * windows is the root of the summed squared differences over 6 poses and 29 joints, so that it reads in rad a
 * joint: 0.1 is as if every joint were off by 0.1 rad all the time; lying instead of standing with the same
 * limbs is about 0.6. */
#ifndef HRC_EVAL_NATURAL_H
#define HRC_EVAL_NATURAL_H

#include "eval/evaluate.h"
#include "motion/corpus.h"

/* Figures of a rollout, or of its recoveries: name, heading, unit. */
#define NATURALS(X)                                                                                          \
    X(nearest_rad, "nearest", "rad")          /* distance to the nearest window of the corpus, mean */       \
    X(nearest_p95_rad, "near. p95", "rad")    /* 95th percentile over windows */                             \
    X(reference_rad, "reference", "rad")      /* the same of the reference's own windows, mean */            \
    X(speed_p99_radps, "speed p99", "rad/s")  /* joint speeds, 99th percentile over joints and frames */     \
    X(speed_peak, "speed peak", "of limit")   /* the largest share of a motor's speed limit */               \
    X(torque_p99, "torque p99", "of effort")  /* share of a joint's effort limit, 99th percentile */         \
    X(torque_peak, "torq. peak", "of effort") /* the largest */                                              \
    X(jerk_rms_radps3, "jerk", "rad/s^3")     /* root mean square over joints and frames */

/* NAN where there is nothing to measure. */
typedef struct {
#define X(name, heading, unit) double name;
    NATURALS(X)
#undef X
} naturalness;

typedef enum {
#define X(name, heading, unit) NATURAL_##name,
    NATURALS(X)
#undef X
        NATURAL_COUNT
} natural_index;

typedef struct {
    const char *name, *heading, *unit;
} natural_info;

extern const natural_info NATURAL[NATURAL_COUNT];

static inline double natural_at(const naturalness *n, int i)
{
    return ((const double *)n)[i];
}

/* The windows of the training clips of a corpus, one begun every 0.1 s. Immutable: any thread may search. */
typedef struct natural_corpus natural_corpus;

hrc_status natural_corpus_create(natural_corpus **out, const corpus *c, hrc_error *err);
void natural_corpus_free(natural_corpus *c); /* NULL is fine */

typedef struct {
    naturalness whole;
    naturalness recovery; /* while it recovers: from the first frame out of the bounds of completion until it
                             is within them for a second, or to the end; every time that happens */
    bool recovers;        /* there was such a time */
} natural_result;

/* r at 50 Hz; without reference it never recovers, without torques there are none. */
hrc_status natural_measure(natural_result *out, const rollout *r, const natural_corpus *c, hrc_error *err);

/* Every rollout of an evaluation with records; out (nmethods, ncourses). */
hrc_status natural_evaluate(natural_result *out, const evaluation *e, const natural_corpus *c, pool *threads,
                            hrc_error *err);

/* Means of method m over the courses of a category (NULL: of all), of their recoveries or as a whole. Returns
 * how many there are: courses that recover, or all. */
int natural_mean(naturalness *out, const natural_result *results, const evaluation *e, int m,
                 const course *courses, const char *category, bool recovery);

#endif
