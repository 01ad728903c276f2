/* From a person's motion (BVH) to the robot's: targets for every link, one inverse kinematics along the
 * frames to get near, then one least-squares problem over whole stretches of frames that adds what single
 * frames cannot know: smoothness, feet that stay where they stand, the floor, the body's own surface, the
 * speed of the motors; and once more with the body moved over what carries it. Deterministic; a clip does not
 * depend on any other. */
#ifndef HRC_MOTION_RETARGET_RETARGET_H
#define HRC_MOTION_RETARGET_RETARGET_H

#include "motion/clip.h"
#include "motion/retarget/skeleton_map.h"

typedef struct {
    const skeleton_map *map; /* NULL: the known one that fits */
    double fps;              /* of the result; 0: 50 */
    double floor;            /* level of the capture's floor in m, NAN to follow what carries the person */
} retarget_options;

typedef struct {
    char skeleton[MAP_NAME];
    double leg_scale, arm_scale, torso_scale; /* robot / human */
    double key_error;                         /* mean distance of key points from their targets, m */
    int plants, flights;
} retarget_report;

hrc_status retarget(clip *out, retarget_report *report, const bvh *b, const char *path,
                    const retarget_options *options, hrc_error *err);

#endif
