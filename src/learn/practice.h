/* Practice: the closed loop in MuJoCo, in situations where the reference alone does not help, tried several
 * times each; moments of the attempts that came back to the reference are lessons for the planner
 * (lessons.h).
 *
 * An attempt is the planner's own (as in use, or with more noise), the base of plans alone, or led by
 * recorded ways up (teacher.h), from the start or after the planner has tried for a while. Trials decide
 * which ways: of three dozen recorded ones two or three get up nearly every robot, and a planner that is
 * shown few learns them sooner. Of a situation the quickest successes are kept, the base alone before what
 * the planner writes: where that suffices the planner shall write nothing.
 *
 * A situation and its attempts depend on its number and the seed alone. */
#ifndef HRC_LEARN_PRACTICE_H
#define HRC_LEARN_PRACTICE_H

#include "base/config.h"
#include "base/pool.h"
#include "learn/lessons.h"
#include "motion/clip.h"

#define SITUATION_LIST(X)                                                                                    \
    X(LYING, "lying, the reference stands")                                                                  \
    X(BEHIND, "lying, the reference moves on")                                                               \
    X(PUSHED, "pushed")                                                                                      \
    X(FAILING, "shortly before a failure")                                                                   \
    X(GROUND, "the reference goes to the ground")

typedef enum {
#define SITUATION_ENUM(name, words) SITUATION_##name,
    SITUATION_LIST(SITUATION_ENUM)
#undef SITUATION_ENUM
        SITUATIONS
} situation_kind;

extern const char *const SITUATION_WORDS[SITUATIONS];
extern const char *const LESSON_POSTURE[LESSON_POSTURES]; /* "standing", "low", "on the back", ... */

typedef struct {
    uint64_t seed;
    int attempts;     /* at the most, of a situation */
    int kept;         /* successes at the most, likewise */
    float noise;      /* largest of an attempt */
    double attempt_s; /* longest attempt */
    bool taught;      /* recorded ways up may lead ... */
    bool guided;      /* ... and are tried first, before the planner has learned anything */
    int trials;       /* robots on which the ways are tried; 0: they are not, the nearest leads */
} practice_options;

typedef struct {
    int tried[SITUATIONS];    /* situations */
    int own[SITUATIONS];      /* ... that the planner came back from as in use, at the first attempt */
    int returned[SITUATIONS]; /* ... in any attempt */
    double own_s[SITUATIONS]; /* seconds until back, summed over `own` */
    int lessons[SITUATIONS][LESSON_POSTURES];
} practice_counts;

typedef struct practice practice;

/* What the trials found: recorded ways, those in use, and the share of robots that each of these got up by
 * itself. */
typedef struct {
    int known, used;
    float up[4];
} practice_ways;

/* Models, clips (50 Hz) and pool are borrowed. */
hrc_status practice_create(practice **out, const config *cfg, const hrc_model *tracker,
                           const hrc_model *planner, const clip *const *clips, int nclips,
                           const practice_options *options, pool *threads, hrc_error *err);
void practice_free(practice *p); /* NULL is fine */
practice_ways practice_ways_of(const practice *p);

/* Situations first .. first + n - 1, in parallel; their lessons are appended in order and counted. */
hrc_status practice_run(practice *p, int first, int n, lessons *out, practice_counts *counts, hrc_error *err);

#endif
