/* What the tracker's tokens know of motions: tokens of reference frames, by category, brought to three
 * dimensions by principal components; how pure neighbourhoods are; how much of the code is used. */
#ifndef HRC_EVAL_CODEBOOK_H
#define HRC_EVAL_CODEBOOK_H

#include "eval/course.h"

typedef struct {
    arena memory;
    int n;
    float (*xyz)[3];     /* (n), scaled so that the widest component has variance 1 */
    int *course;         /* (n): of which course the frame is */
    double explained[3]; /* share of the variance */
    double purity;       /* share of the 10 nearest tokens, of other courses, that have the same category */
    double chance;       /* what tokens drawn at random would give */
    double used, entropy, saturated; /* of the code's values, mean over its dimensions (track/quantize.h) */
} codebook;

/* About `points` frames, evenly spread over the courses; the robot is taken to be on the reference. */
hrc_status codebook_make(codebook *out, const hrc_model *tracker, const course *courses, int n, int points,
                         hrc_error *err);
void codebook_free(codebook *c);

#endif
