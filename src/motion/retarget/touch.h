/* Which parts of a person the floor carries beside the soles, and with which capsules the robot has to touch
 * it there. Somebody who lies, kneels or leans on a hand is carried by those parts; bringing only the
 * robot's lowest point to the floor would put all of its weight on a hand that reaches further than the
 * person's. */
#ifndef HRC_MOTION_RETARGET_TOUCH_H
#define HRC_MOTION_RETARGET_TOUCH_H

#include "motion/retarget/contacts.h"
#include "robot/capsules.h"

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
