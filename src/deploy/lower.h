/* A way down for a robot that can still balance: from where the reference is to the stance, held, and slowly
 * into a deep crouch, from which damping lets the pelvis drop by a hand's breadth instead of a leg's length.
 * It is a motion like any other, made by formula, for the tracker to follow.
 *
 *   0 .. LOWER_STANCE_S   joints, height and tilt go from the reference to the stance (cubics that begin
 *                         with its speed and end at rest); the root runs out over the floor
 *   .. LOWER_HOLD_S       the stance
 *   .. LOWER_DOWN_S       the crouch: knees and ankles bend, the hips give way so that the centre of
 *                         mass stays over the same place between heel and toe
 *
 * A reference that is not on its feet (it lies, sits, kneels) stays as it is: there is nothing to lower. */
#ifndef HRC_DEPLOY_LOWER_H
#define HRC_DEPLOY_LOWER_H

#include "robot/g1.h"

#define LOWER_STANCE_S 1.0
#define LOWER_HOLD_S 1.0
#define LOWER_DOWN_S 3.5

enum {
    LOWER_STANCE = (int)(LOWER_STANCE_S * HRC_RATE_HZ), /* frames */
    LOWER_HOLD = (int)(LOWER_HOLD_S * HRC_RATE_HZ),
    LOWER_DOWN = (int)(LOWER_DOWN_S * HRC_RATE_HZ),
    LOWER_FRAMES = LOWER_STANCE + LOWER_HOLD + LOWER_DOWN,
};

typedef struct {
    double crouch[LOWER_DOWN][HRC_NQ]; /* at the origin, facing x */
    float qpos[LOWER_FRAMES][HRC_NQ], qvel[LOWER_FRAMES][HRC_NV];
    hrc_motion motion; /* of these two */
} lowering;

void lower_init(lowering *l);

/* The motion from this instant of a reference on. */
void lower_from(lowering *l, const hrc_frame *from);

#endif
