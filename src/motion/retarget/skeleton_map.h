/* Which joint of a human skeleton drives which link of the robot: a small INI file for each family of BVH
 * files (assets/skeletons; the known ones are inside the program). The robot's side of the map is fixed:
 * fourteen bodies, each with a link whose orientation and a key point whose position follow the human. */
#ifndef HRC_MOTION_RETARGET_SKELETON_MAP_H
#define HRC_MOTION_RETARGET_SKELETON_MAP_H

#include "motion/import/bvh.h"
#include "robot/fk.h"

/* What a BVH of a person holds, in figures: size, length of the motion, how far it goes; and which unit
 * of length the file uses, which BVH does not say. */
typedef struct {
    char name[128], root[64]; /* of the clip, of the first joint */
    int joints, frames;
    double fps, seconds;
    double unit; /* metres per unit of the file */
    char unit_why[200];
    double height;           /* top to bottom in m; 95 % of the frames are less tall */
    double root_lo, root_hi; /* height of the root, m */
    double travelled;        /* path of the root over the floor, m */
} skeleton;

bool skeleton_is_bvh(file_view bytes);

/* fps 0: as the file says. */
hrc_status skeleton_describe(skeleton *s, const char *path, file_view bytes, double fps, hrc_error *err);

typedef enum {
    BODY_PELVIS,
    BODY_LEFT_THIGH,
    BODY_LEFT_SHIN,
    BODY_LEFT_FOOT,
    BODY_RIGHT_THIGH,
    BODY_RIGHT_SHIN,
    BODY_RIGHT_FOOT,
    BODY_TORSO,
    BODY_LEFT_UPPER_ARM,
    BODY_LEFT_FOREARM,
    BODY_LEFT_HAND,
    BODY_RIGHT_UPPER_ARM,
    BODY_RIGHT_FOREARM,
    BODY_RIGHT_HAND,
    BODIES,
} body_id;

/* The robot's side, in its zero pose: legs straight, upper arms hanging, forearms forward. */
typedef struct {
    int link;        /* whose orientation follows */
    int point_link;  /* whose origin is the key point */
    int parent;      /* body; -1 for the pelvis */
    double start[3]; /* of the bone, from the start of the parent's bone */
    double bone[3];  /* from start to the key point of the next body; zero where there is none */
    double rest[3];  /* unit direction that the human's rest bone is brought onto */
    double along[4]; /* orientation of the link */
} robot_body;

const robot_body *robot_bodies(void); /* BODIES entries */

#define MAP_NAME 64

typedef struct {
    char place[MAP_NAME], turn[MAP_NAME]; /* joints that give position and orientation */
    char rest[MAP_NAME];                  /* joint at the far end of the rest bone, "" for none */
    double position[2], orientation[2];   /* weights of the two stages */
    double offset[4];                     /* axes of the robot in its zero pose -> axes of the joint */
} map_body;

typedef struct {
    char name[MAP_NAME];
    double unit; /* metres per unit of the file */
    bvh_up up;
    map_body bodies[BODIES];
    char toe[2][MAP_NAME]; /* left, right; where a file has none, the End Site of the foot is taken */
} skeleton_map;

hrc_status skeleton_map_parse(skeleton_map *map, const char *name, file_view text, hrc_error *err);
hrc_status skeleton_map_load(skeleton_map *map, const char *path, hrc_error *err);

/* The known map whose joints the file has; when none fits, the sentence says what each one misses. */
hrc_status skeleton_map_find(skeleton_map *map, const bvh *b, const char *path, hrc_error *err);

/* The toe of side 0, 1: its joint, or -1 where it is the End Site of the foot. False: the file has neither.
 */
bool skeleton_map_toe(const skeleton_map *map, const bvh *b, int side, int *joint);

/* Every joint of the map is in the file, or a sentence that names the first missing one. */
hrc_status skeleton_map_check(const skeleton_map *map, const bvh *b, const char *path, hrc_error *err);

#endif
