/* The Unitree G1 with 29 joints, as tables: the one place that knows its shape. Joint i moves link i+1;
 * link 0 is the pelvis, which floats. Parents come before children. */
#ifndef HRC_ROBOT_G1_H
#define HRC_ROBOT_G1_H

#include "base/status.h"

#define G1_LINKS 30   /* pelvis and one link per joint */
#define G1_TRACKED 14 /* links that rewards and errors look at */
#define G1_GEOMS 33   /* collision shapes with the exact feet: 19 of the body and 7 a foot */
#define G1_SITES 6
#define G1_MASS 33.341142 /* kg */

typedef struct {
    const char *name;
    int parent;     /* -1 for the pelvis */
    double pos[3];  /* origin in the parent's frame, m (pelvis: where it spawns) */
    double quat[4]; /* orientation in the parent's frame at joint angle 0 */
    double axis[3]; /* joint axis in the link's own frame; zero for the pelvis */
    double mass;    /* kg */
    double com[3];  /* centre of mass in the link's frame */
    double inertia_quat[4];
    double inertia[3]; /* principal, kg m^2 */
} g1_link;

/* A sphere has a == b. Ends are in the frame of its link. */
typedef struct {
    const char *name;
    int link;
    double radius;
    double a[3], b[3];
} g1_capsule;

typedef enum { G1_DARK, G1_LIGHT } g1_colour;
typedef enum { G1_BOX, G1_CAPSULE, G1_CYLINDER, G1_ELLIPSOID } g1_shape;

/* What the viewer draws; it never collides. A capsule or cylinder lies along its own z axis. */
typedef struct {
    int link;
    g1_shape shape;
    g1_colour colour;
    double size[3]; /* half sizes; capsule and cylinder: radius, half length, 0 */
    double pos[3];
    double euler[3]; /* intrinsic x, y, z, rad */
} g1_visual;

typedef struct {
    const char *name;
    int link;
    double pos[3];
} g1_site;

extern const g1_link G1_LINK[G1_LINKS];
extern const hrc_joint G1_JOINT[HRC_JOINTS];
extern const int G1_TRACKED_LINK[G1_TRACKED];    /* pelvis first; rewards and critic use this order */
extern const int G1_ISAAC_TO_MUJOCO[HRC_JOINTS]; /* mujoco[i] = isaac[G1_ISAAC_TO_MUJOCO[i]] */
extern const g1_site G1_SITE[G1_SITES];
extern const g1_visual G1_VISUAL[];
extern const int G1_NVISUAL;

enum { /* links named in the code */
       G1_PELVIS = 0,
       G1_LEFT_ANKLE = 6,
       G1_RIGHT_ANKLE = 12,
       G1_TORSO = 15,
       G1_LEFT_WRIST = 22,
       G1_RIGHT_WRIST = 29,
};

typedef enum { G1_FEET_EXACT, G1_FEET_LIGHT } g1_feet;

const g1_capsule *g1_body_capsules(int *n);
const g1_capsule *g1_foot_capsules(g1_feet feet, int *n); /* left before right */

int g1_link_index(const char *name);       /* -1 when there is none of that name */
void g1_default_qpos(double qpos[HRC_NQ]); /* knees-bent stance, feet on the floor, at the origin */

/* The joint and sign that joint i becomes under left-right mirroring (the plane y = 0). */
int g1_mirror_joint(int joint, double *sign);

/* The joint names inside every file of ours: separated by commas, in the G1's order. */
#define G1_NAMES_BYTES 1024

void g1_joint_names(char out[G1_NAMES_BYTES]);

/* names: the metadata "joint_names" of the file at path, or NULL when it is missing. Says which differs. */
hrc_status g1_check_joint_names(const char *names, const char *path, hrc_error *err);

/* Words of a list "a, b" or "["a", "b"]" of another program's file: the next one, without spaces, quotes and
 * brackets; false at the end. */
bool list_word(const char **list, char *out, size_t size);

/* Such a list of the G1's joints in any order: entry i is joint[i] of the G1. Says which differs. */
hrc_status g1_joint_order(int joint[HRC_JOINTS], const char *list, const char *path, hrc_error *err);

#endif
