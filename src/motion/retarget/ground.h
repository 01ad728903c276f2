/* The height of the root. A person is always carried by something, except in free flight: outside of flights
 * what carries the person comes down (or up) to z = 0 with the robot, slowly enough that steps and bows keep
 * their shape; in flights the centre of mass falls with 9.81 m/s^2. Scaling the person's heights alone would
 * give neither: floors drift, soles differ, and heights scaled by s fall with s g. */
#ifndef HRC_MOTION_RETARGET_GROUND_H
#define HRC_MOTION_RETARGET_GROUND_H

#include "motion/retarget/targets.h"
#include "robot/capsules.h"

/* When a person's feet stand. The heel and the ball (the toe joint) of each foot are judged apart, so that a
 * foot can roll over its toes without sliding. A plant is a stretch in which the point is slow and low, and
 * at some time hardly moves at all: two thresholds, so that neither noise chops it nor a foot that is merely
 * slow counts. */
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

typedef struct {
    int first, last;
    double accel; /* of the person's centre of mass, m/s^2 */
} flight;

typedef struct {
    int nflights;
    flight *flights;
    bool *airborne; /* (n) */
} ground;

/* Changes heights only: of the targets' root and of qpos (n, HRC_NQ), poses that already look like the
 * targets. floor: NAN to follow what carries the person, else the level of the capture's floor, m. */
hrc_status ground_find(ground *g, targets *t, double (*qpos)[HRC_NQ], const human *h, const contacts *c,
                       const touches *touching, double floor, arena *memory, hrc_error *err);

#endif
