/* A motion with the poses of bodies beside the joint angles (BeyondMimic, holosoma, SONIC): the file can be
 * asked for its own orders. Forward kinematics of the right joint angles meets the body positions that stand
 * beside them, that of wrong ones misses by decimetres; the order of the quaternion is settled in the same
 * way. */
#ifndef HRC_MOTION_IMPORT_TRACKED_H
#define HRC_MOTION_IMPORT_TRACKED_H

#include "motion/clip.h"
#include "motion/import/npy.h"

typedef enum { ORDER_MUJOCO, ORDER_ISAAC, ORDER_NAMED, ORDERS } order;

typedef struct {
    const char *path, *format; /* what the format is called */
    npy joint_pos,
        joint_vel; /* (T, 29), or with the root pose (T, 36); joint_vel: count 0 when there is none */
    npy body_pos, body_quat; /* (T, B, 3), (T, B, 4) */
    double fps, usual_fps;   /* of the file, 0 where it does not say; of its kind */
    int n, columns, bodies;
    int root; /* columns of joint_pos before the joints: 0 or 7 */
    bool named_joints, named_bodies;
    int joint[ORDERS][HRC_JOINTS]; /* column of joint i behind the root's */
    int body[ORDERS][G1_LINKS];    /* index of link l in body_pos; -1: not there */
} tracked;

void tracked_orders(tracked *m); /* fills in what is known of MuJoCo and Isaac */

/* The orders settled, said in `why`, and the clip made. */
hrc_status tracked_clip(clip *c, const tracked *m, const clip_options *options, clip_decisions *why,
                        hrc_error *err);

#endif
