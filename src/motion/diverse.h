/* How much a motion adds to others: the share of its moments that none of theirs is near to.
 *
 * A moment is 0.6 s long: the posture (posture.h: joints, tilt and height of the pelvis, whatever the
 * heading) at its beginning, middle and end, and the pelvis' velocity over the floor and turning between
 * them. Two moments are as far apart as the root of: the mean of the three distances of posture, plus the
 * squares of the differences in velocity (0.5 m/s counts 1) and turning (1 rad/s counts 1). About 0.2 rad in
 * every joint make 0.4. */
#ifndef HRC_MOTION_DIVERSE_H
#define HRC_MOTION_DIVERSE_H

#include "motion/clip.h"
#include "robot/posture.h"

enum { MOMENT_FEATURES = 3 * POSTURE_FEATURES + 3 };

typedef struct {
    int n, room;
    float (*features)[MOMENT_FEATURES]; /* (n): their Euclidean distance is that of the moments */
} moments;

/* Appends a clip's, two a second; one of a clip that is shorter than a moment. 50 Hz. */
hrc_status moments_add(moments *m, const clip *c, hrc_error *err);
void moments_free(moments *m);

/* Share of a's moments that are further than `near` from all of b's. */
double moments_new(const moments *a, const moments *b, double near);

#endif
