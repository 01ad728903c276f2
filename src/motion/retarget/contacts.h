/* When a person's feet stand. The heel and the ball (the toe joint) of each foot are judged apart, so that a
 * foot can roll over its toes without sliding. A plant is a stretch in which the point is slow and low, and
 * at some time hardly moves at all: two thresholds, so that neither noise chops it nor a foot that is merely
 * slow counts. */
#ifndef HRC_MOTION_RETARGET_CONTACTS_H
#define HRC_MOTION_RETARGET_CONTACTS_H

#include "motion/retarget/human.h"

enum { END_LEFT_HEEL, END_LEFT_TOE, END_RIGHT_HEEL, END_RIGHT_TOE, FOOT_ENDS };

typedef struct {
    int n;
    int nplants;
    int (*plant)[FOOT_ENDS]; /* (n) which plant the point is in, -1 for none; numbers 0 .. nplants-1 */
    bool (*swing)[2];        /* (n) the foot travels */
    double rest[FOOT_ENDS];  /* heights of the points over the floor level when they stand, m */
    double *floor;           /* (n) level of the toe joints over the last and next second, m */
} contacts;

/* Any end of a foot stands in frame i. */
static inline bool contacts_stands(const contacts *c, int i)
{
    for (int end = 0; end < FOOT_ENDS; end++)
        if (c->plant[i][end] >= 0) return true;
    return false;
}

hrc_status contacts_find(contacts *c, const human *h, arena *memory, hrc_error *err);

/* Turn the orientation of both feet, by a constant each, so that on average they are level while heel and
 * toe stand: the rest pose of a file says little about its soles. Returns how many frames that rests on. */
int contacts_level_feet(human *h, const contacts *c);

#endif
