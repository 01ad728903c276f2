/* More motions of getting down and up than were recorded: the same ones otherwise. They follow the recordings
 * in the order of variant_options; the seconds stay those of the recordings. */
#ifndef HRC_LEARN_VARIANTS_H
#define HRC_LEARN_VARIANTS_H

#include "learn/motions.h"

typedef struct {
    int copies;        /* of the clips in which somebody gets up (rises.h), varied (vary.h) ... */
    double pace, bend; /* ... with paces of 1 -+ pace */
    bool backwards; /* of slow clips that go to the ground: the way back, which the floor carries as well */
    int blurred;    /* copies of clips on the ground, paces as above, shown blurred (vary.h) ... */
    double blur;    /* ... by so many rad */
    double held_s;  /* > 0: clips on the ground shown piecewise constant, as suites do, to be done smoothly */
    bool heldout;   /* of held-out clips too */
    uint64_t seed;
} variant_options;

hrc_status motions_vary(motions *m, const variant_options *o, hrc_error *err);

#endif
