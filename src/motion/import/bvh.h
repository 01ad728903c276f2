/* BVH: a human skeleton and its motion. Joints keep the axes of the file; poses come out in our world: z up,
 * metres. A file with y up is turned by +90 degrees about x, (x,y,z) -> (x,-z,y), so a joint that does not
 * turn has this quarter turn as its orientation, and
 *     position of a joint = position of its parent + quat_rotate(orientation of its parent, offset). */
#ifndef HRC_MOTION_IMPORT_BVH_H
#define HRC_MOTION_IMPORT_BVH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"

#define BVH_CENTIMETRES 0.01
#define BVH_CMU 0.056444 /* metres per unit in the conversions of the CMU database: an inch / 0.45 */
#define BVH_REST (-1)    /* as a frame: offsets only, no motion */

typedef enum { BVH_X_POS, BVH_Y_POS, BVH_Z_POS, BVH_X_ROT, BVH_Y_ROT, BVH_Z_ROT } bvh_channel;
typedef enum { BVH_Y_UP, BVH_Z_UP } bvh_up;

typedef struct {
    const char *name;
    int parent;       /* -1 for a root; parents come before children */
    double offset[3]; /* from the parent, in the parent's axes, m */
    int nchannels;    /* 0 to 6, in the order they are applied */
    bvh_channel channel[6];
    int first;     /* its first channel in a frame of values */
    bool has_end;  /* it has an End Site ... */
    double end[3]; /* ... here, in its own axes, m */
} bvh_joint;

typedef struct {
    arena memory;     /* owns everything below */
    const char *name; /* file name without folder and ending */
    int njoints, nchannels;
    bvh_joint *joints;
    double fps; /* 1 / frame time; a whole number when it is one but for rounding */
    int n;
    float *values; /* (n, nchannels) as in the file: degrees, and its unit of length */
    double unit;   /* metres per unit of the file */
    bvh_up up;
} bvh;

typedef struct {
    double unit; /* metres per unit of the file; 0: BVH_CENTIMETRES */
    bvh_up up;
} bvh_options;

hrc_status bvh_parse(bvh *b, const char *path, file_view bytes, const bvh_options *options, hrc_error *err);
hrc_status bvh_load(bvh *b, const char *path, const bvh_options *options, hrc_error *err); /* may be NULL */
void bvh_free(bvh *b);

int bvh_find(const bvh *b, const char *joint); /* -1 when there is none of that name */
                                               /* an exact name first, else one with another prefix or case */

/* World pose of every joint in a frame, or in BVH_REST. pos (njoints, 3), quat (njoints, 4). A position
 * channel takes the place of that part of the offset; rotations apply in the order of the channels. */
void bvh_pose(const bvh *b, int frame, double (*pos)[3], double (*quat)[4]);

#endif
