/* Contact sheet: a grid of poses over time as one SVG picture, for the eye that no figure replaces. Each cell
 * shows the robot's collision capsules from a fixed direction (its own left side orange, its right blue,
 * the trunk grey), standing on a line that is the floor, and under it, when the source is given, the person's
 * skeleton in the same colours and at the robot's size. */
#ifndef HRC_MOTION_RETARGET_SHEET_H
#define HRC_MOTION_RETARGET_SHEET_H

#include "motion/clip.h"
#include "motion/retarget/skeleton_map.h"

typedef struct {
    int poses, columns;
    double
        azimuth; /* where the viewer stands, rad from the direction the robot faces at first, to its left */
} sheet_options;

/* b may be NULL; map NULL: the known one that fits. *svg is the caller's to free. */
hrc_status sheet_draw(char **svg, const clip *c, const bvh *b, const skeleton_map *map,
                      const sheet_options *options, hrc_error *err);

#endif
