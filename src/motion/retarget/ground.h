/* The height of the root. A person is always carried by something, except in free flight: outside of flights
 * what carries the person comes down (or up) to z = 0 with the robot, slowly enough that steps and bows keep
 * their shape; in flights the centre of mass falls with 9.81 m/s^2. Scaling the person's heights alone would
 * give neither: floors drift, soles differ, and heights scaled by s fall with s g. */
#ifndef HRC_MOTION_RETARGET_GROUND_H
#define HRC_MOTION_RETARGET_GROUND_H

#include "motion/retarget/contacts.h"
#include "motion/retarget/targets.h"

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
