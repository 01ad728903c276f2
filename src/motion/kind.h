/* What a clip is, by what the robot does in it, where that is plain; what it was called otherwise. */
#ifndef HRC_MOTION_KIND_H
#define HRC_MOTION_KIND_H

#include "motion/phases.h"

/* In this order:
 *   fall_recovery  what is called so; not standing (phases.h) for 40 % of its time
 *   jumps_acro     what is called so; turns over: pelvis tilted by more than 110 degrees while over 0.4 m
 *   running        some second (all of a shorter one) faster than 1.8 m/s
 *   locomotion     what is daily and covers more than 0.5 m/s in the mean
 *   daily          what is locomotion and covers less than 0.05 m/s */
const char *kind_of(const clip *c, const phase *phases, int nphases, const char *called);

#endif
