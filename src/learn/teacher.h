/* Recorded ways up from the ground, to teach the planner with: every time that a training clip lies
 * and then stands (motion/phases.h). A robot that lies is led along a way from its moment most like the
 * robot: along the way with the nearest such moment or, when trials have given an order (practice.h), along
 * the first of that. They teach in practice only; no motion is in the planner's file. */
#ifndef HRC_LEARN_TEACHER_H
#define HRC_LEARN_TEACHER_H

#include "control/follow.h"
#include "motion/clip.h"
#include "robot/posture.h"

typedef struct {
    posture at;
    int way, frame;
    float cost; /* for the time that is left of the way */
} teacher_moment;

#define TEACHER_ORDER 4

typedef struct {
    arena memory;
    int norder, order[TEACHER_ORDER]; /* ways to try, the best first; none: the nearest first */
    int nways;
    hrc_motion *ways;
    int nmoments;
    teacher_moment *moments;
} teacher;

/* Clips of 50 Hz; what is needed of them is copied. */
hrc_status teacher_create(teacher *t, const clip *const *clips, int n, hrc_error *err);
void teacher_free(teacher *t);

/* The same teacher with one way only; borrows everything. */
teacher teacher_only(const teacher *t, int way);

/* The way of this rank for a robot that lies like this: 0 is the best. False when there are no more; an order
 * begins again. */
bool teacher_choose(const teacher *t, const float qpos[HRC_NQ], int rank, follower *out);

/* The leading of one robot. */
typedef struct {
    const teacher *knows;
    follower way;
    bool leads;
    int rank; /* of the way to try next */
    int stuck, down;
} teaching;

/* Looks at the robot and its reference: takes the lead of one that has lain for a while and is wanted up,
 * lets go of one that stands or is back, tries the next way when one does not help. True when what leads
 * changed. */
bool teaching_step(teaching *t, const float qpos[HRC_NQ], const float reference[HRC_NQ]);

#endif
