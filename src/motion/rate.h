/* The frame rate of a motion: who says so, and what the motion itself says. */
#ifndef HRC_MOTION_RATE_H
#define HRC_MOTION_RATE_H

#include "motion/clip.h"

typedef struct {
    const char *path;
    double asked, file; /* by the user, by the file; 0: not */
    double usual;       /* of files of this kind that do not say */
} rate_source;

/* Sets c->fps and why->fps. */
void rate_settle(clip *c, const rate_source *s, clip_decisions *why);

#endif
