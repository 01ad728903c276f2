/* How good a clip is as a reference for the robot: figures that need only its kinematics, and a verdict in
 * words. What is normal for retargeted motion capture stands beside the thresholds in quality.c.
 *
 * Floor: the plane z = 0. "Lowest point" is over all collision capsules (robot/capsules.h).
 *
 * A foot is planted in a frame when its lowest sole point is under 2 cm and that point of the foot moves up
 * or down slower than 0.15 m/s. Skate is the horizontal speed of that same point: a foot that rolls over
 * its toes does not skate. Speeds are central differences.
 *
 * The robot is airborne while its lowest point is over 2 cm. A flight is an airborne phase of 0.12 to 1 s
 * that gets over 4 cm; a parabola through the heights of the centre of mass gives its acceleration. Floating
 * is nothing within 4 cm of the floor without falling freely (acceleration within -12 .. -7.5 m/s^2).
 *
 * The floor carries the robot where the point on which its force must act for the centre of mass to move as
 * it does lies within 10 cm of the hull of everything that is under 3 cm; frames of flight are not asked.
 *
 * A jump is a single frame off the mean of its two neighbours, much further than the frames around it. */
#ifndef HRC_MOTION_QUALITY_H
#define HRC_MOTION_QUALITY_H

#include <stdbool.h>

#include "motion/clip.h"
#include "robot/capsules.h"

#define QUALITY_REASONS 12
#define QUALITY_LIMIT_BAD_RAD 0.35 /* 20 degrees beyond a limit: another joint order or other units */
#define QUALITY_FREE_FALL_LO -12.0 /* m/s^2; arms and filters move the estimate this far from -9.81 */
#define QUALITY_FREE_FALL_HI -7.5

typedef enum { QUALITY_GOOD, QUALITY_USABLE, QUALITY_BAD } quality_verdict;

typedef struct {
    int count;
    int frame;   /* of the worst, -1 when there is none */
    int joint;   /* of the worst; -1 for the root */
    double size; /* of the worst: rad (joints, root orientation) or m (root position) */
} quality_jumps;

typedef struct {
    double share;      /* of frames more than 1 cm inside itself */
    double depth;      /* worst, m; 0 when nothing touches */
    capsule_pair pair; /* of the worst */
    int frame;         /* of the worst */
} quality_self;

typedef struct {
    double seconds, fps;
    int frames;
    double root_lo, root_hi; /* height of the pelvis, m */

    double limit_excess; /* worst beyond the hard limits, rad; 0 when inside */
    int limit_joint;
    double limit_share; /* share of frames with any joint outside */

    double speed_max; /* rad/s */
    int speed_joint, speed_frame;
    double speed_p999;  /* 99.9 % of all joints and frames are slower */
    double speed_share; /* share of frames with a joint over its motor's limit */

    double planted_share;                      /* share of foot-frames that are planted */
    double skate_median, skate_p90, skate_max; /* m/s; NAN when no foot is ever planted */

    double low_min, low_p1; /* height of the lowest point: worst and 1st percentile, m */
    int low_frame, low_capsule;
    double low_share_1cm, low_share_2cm; /* share of frames deeper than that */

    double floating_s; /* longest */
    int floating_first, floating_last;
    double floating_share;

    double uncarried_s; /* longest time without such a support */
    int uncarried_first, uncarried_last;
    double uncarried_share; /* of the frames that are not in flight */

    int flights;
    double flight_accel; /* median, m/s^2; NAN without flights */

    quality_jumps joint_jumps, root_jumps, turn_jumps; /* joints, root position, root orientation */

    quality_self self_all;       /* over all pairs but the structural ones */
    quality_self self_simulated; /* over the pairs that collide in the simulator by default */

    quality_verdict verdict;
    int nreasons;
    char reasons[QUALITY_REASONS][160]; /* why not better; the worst first */
} quality;

const char *quality_word(quality_verdict verdict); /* "good", "usable", "bad" */

hrc_status quality_measure(quality *q, const clip *c, hrc_error *err);

#endif
