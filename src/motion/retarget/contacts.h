/* When a person's feet stand. The heel and the ball (the toe joint) of each foot are judged apart, so that a
 * foot can roll over its toes without sliding. A plant is a stretch in which the point is slow and low, and
 * at some time hardly moves at all: two thresholds, so that neither noise chops it nor a foot that is merely
 * slow counts. */
#ifndef HRC_MOTION_RETARGET_CONTACTS_H
#define HRC_MOTION_RETARGET_CONTACTS_H

#include "motion/retarget/human.h"
#include "robot/capsules.h"

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

/* Which parts of a person the floor carries beside the soles, and with which capsules the robot has to touch
 * it there. A person who lies, kneels or leans on a hand is carried by those parts; bringing only the
 * robot's lowest point to the floor would put all of its weight on a hand that reaches further than the
 * person's. */

enum {
    TOUCH_PARTS = 11,
    TOUCH_FEET = TOUCH_PARTS - 1
}; /* hips, shoulders, knees, elbows, hands; both feet */

typedef struct {
    int n;
    double (*share)[TOUCH_PARTS]; /* (n) 1: the part is on the floor, 0: clearly above it */
} touches;

hrc_status touches_find(touches *t, const human *h, const contacts *c, arena *memory, hrc_error *err);

capsule_low touch_lowest(const capsule *c, int part); /* of the robot's capsules of that part */

/* How far the robot must rise for the parts that touch to be on the floor: their mean, in which the trunk
 * counts more than legs and legs more than arms, for arms bend to where the floor is. */
double touch_rise(const capsule *c, const double share[TOUCH_PARTS]);

#endif
