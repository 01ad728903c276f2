/* How the G1 looks: simple shapes fixed to its links, drawn by the viewer and by MuJoCo, never colliding.
 * Motor housings are cylinders along the axis they drive; shells are light, what lies inside is dark.
 * Pairs are written for the left side and mirrored in the plane y = 0. */
#include "robot/g1.h"

enum {
    HIP_PITCH = 1,
    HIP_ROLL,
    HIP_YAW,
    KNEE,
    ANKLE_PITCH,
    ANKLE_ROLL,
    WAIST_YAW = 13,
    WAIST_ROLL,
    TORSO,
    SHOULDER_PITCH,
    SHOULDER_ROLL,
    SHOULDER_YAW,
    ELBOW,
    WRIST_ROLL,
    WRIST_PITCH,
    WRIST_YAW,
};

#define QUARTER 1.5707963267948966
#define ALONG_X 0, QUARTER, 0
#define ALONG_Y QUARTER, 0, 0
#define ALONG_Z 0, 0, 0
#define TILTED(angle) 0, angle, 0

/* link, shape, colour, sizes 3, position 3, euler angles 3 */
#define ONE_(link, shape, colour, a, b, c, x, y, z, ex, ey, ez)                                              \
    {                                                                                                        \
        link, G1_##shape, G1_##colour, {a, b, c}, {x, y, z},                                                 \
        {                                                                                                    \
            ex, ey, ez                                                                                       \
        }                                                                                                    \
    }
/* The mirror keeps turns about y and reverses those about x and z. */
#define PAIR_(link, shape, colour, a, b, c, x, y, z, ex, ey, ez)                                             \
    ONE_(link, shape, colour, a, b, c, x, y, z, ex, ey, ez),                                                 \
        ONE_((link) < WAIST_YAW ? (link) + 6 : (link) + 7, shape, colour, a, b, c, x, -(y), z, -(ex), ey,    \
             -(ez))
#define ONE(...) ONE_(__VA_ARGS__)
#define PAIR(...) PAIR_(__VA_ARGS__)

const g1_visual G1_VISUAL[] = {
    /* pelvis: a slim block between the two hip pitch motors, the waist's motor on top */
    ONE(G1_PELVIS, CYLINDER, DARK, 0.052, 0.016, 0, 0, 0, -0.012, ALONG_Z),
    ONE(G1_PELVIS, BOX, LIGHT, 0.052, 0.06, 0.034, 0.002, 0, -0.058, ALONG_Z),
    ONE(G1_PELVIS, BOX, LIGHT, 0.018, 0.042, 0.05, 0.046, 0, -0.09, TILTED(0.14)),
    ONE(G1_PELVIS, BOX, LIGHT, 0.016, 0.04, 0.046, -0.046, 0, -0.086, TILTED(-0.14)),
    ONE(G1_PELVIS, BOX, DARK, 0.036, 0.036, 0.034, 0, 0, -0.125, ALONG_Z),
    ONE(G1_PELVIS, CYLINDER, DARK, 0.05, 0.062, 0, 0, 0, -0.1027, ALONG_Y),

    /* hips: pitch disc, roll motor lying along x, yaw motor hanging below it */
    PAIR(HIP_PITCH, CYLINDER, LIGHT, 0.049, 0.012, 0, 0, 0.012, 0, ALONG_Y),
    PAIR(HIP_PITCH, CYLINDER, DARK, 0.052, 0.042, 0, 0, 0.052, -0.0305, ALONG_X),
    PAIR(HIP_PITCH, CYLINDER, LIGHT, 0.038, 0.048, 0, 0, 0.052, -0.0305, ALONG_X),
    PAIR(HIP_ROLL, ELLIPSOID, LIGHT, 0.026, 0.042, 0.066, 0.05, 0, -0.05, TILTED(-0.06)),
    PAIR(HIP_ROLL, ELLIPSOID, LIGHT, 0.022, 0.04, 0.064, -0.04, 0, -0.05, TILTED(-0.3)),
    PAIR(HIP_ROLL, CYLINDER, DARK, 0.05, 0.03, 0, 0.018, 0, -0.088, ALONG_Z),

    /* thighs: from the hip yaw axis back and down to the knee's motor */
    PAIR(HIP_YAW, CYLINDER, LIGHT, 0.055, 0.012, 0, 0, 0, -0.01, ALONG_Z),
    PAIR(HIP_YAW, ELLIPSOID, LIGHT, 0.061, 0.057, 0.108, -0.022, 0, -0.076, TILTED(0.415)),
    PAIR(HIP_YAW, CAPSULE, LIGHT, 0.046, 0.05, 0, -0.044, 0.001, -0.115, TILTED(0.415)),
    PAIR(HIP_YAW, CYLINDER, DARK, 0.056, 0.044, 0, -0.078273, 0.0021489, -0.17734, ALONG_Y),
    PAIR(HIP_YAW, CYLINDER, LIGHT, 0.038, 0.05, 0, -0.078273, 0.0021489, -0.17734, ALONG_Y),
    PAIR(HIP_YAW, CYLINDER, DARK, 0.014, 0.053, 0, -0.078273, 0.0021489, -0.17734, ALONG_Y),

    /* shins: a tapering shell in front, the ankle's two push rods behind */
    PAIR(KNEE, ELLIPSOID, LIGHT, 0.046, 0.045, 0.1, 0.015, 0, -0.088, TILTED(0.03)),
    PAIR(KNEE, ELLIPSOID, LIGHT, 0.035, 0.034, 0.135, 0.012, 0, -0.15, TILTED(0.05)),
    PAIR(KNEE, CAPSULE, LIGHT, 0.023, 0.06, 0, 0.005, 0, -0.22, TILTED(0.08)),
    PAIR(KNEE, BOX, DARK, 0.022, 0.033, 0.05, -0.026, 0, -0.105, TILTED(0.1)),
    PAIR(KNEE, CAPSULE, DARK, 0.007, 0.075, 0, -0.032, 0.018, -0.21, TILTED(-0.08)),
    PAIR(KNEE, CAPSULE, DARK, 0.007, 0.075, 0, -0.032, -0.018, -0.21, TILTED(-0.08)),
    PAIR(ANKLE_PITCH, CYLINDER, DARK, 0.021, 0.03, 0, 0, 0, 0, ALONG_Y),

    /* feet: dark sole, light instep; the sole's lower face is that of the collision shapes */
    PAIR(ANKLE_ROLL, CYLINDER, DARK, 0.016, 0.03, 0, 0, 0, -0.002, ALONG_X),
    PAIR(ANKLE_ROLL, BOX, DARK, 0.08, 0.033, 0.0075, 0.036, 0, -0.0275, ALONG_Z),
    PAIR(ANKLE_ROLL, CYLINDER, DARK, 0.033, 0.0075, 0, 0.109, 0, -0.0275, ALONG_Z),
    PAIR(ANKLE_ROLL, CYLINDER, DARK, 0.027, 0.0075, 0, -0.038, 0, -0.0275, ALONG_Z),
    PAIR(ANKLE_ROLL, ELLIPSOID, LIGHT, 0.085, 0.03, 0.02, 0.04, 0, -0.019, TILTED(0.09)),
    PAIR(ANKLE_ROLL, BOX, LIGHT, 0.03, 0.024, 0.013, -0.008, 0, -0.012, ALONG_Z),

    /* waist: narrow, with the crossed axes of roll and pitch */
    ONE(WAIST_YAW, CYLINDER, DARK, 0.046, 0.02, 0, 0, 0, 0.016, ALONG_Z),
    ONE(WAIST_ROLL, CYLINDER, DARK, 0.028, 0.046, 0, 0, 0, 0, ALONG_X),
    ONE(TORSO, CYLINDER, DARK, 0.028, 0.054, 0, 0, 0, 0, ALONG_Y),
    ONE(TORSO, BOX, DARK, 0.044, 0.05, 0.034, 0, 0, 0.04, ALONG_Z),

    /* chest: a core, flanks that lean outwards, front plates tilted against each other, a dark back */
    ONE(TORSO, BOX, LIGHT, 0.058, 0.062, 0.05, 0, 0, 0.1, ALONG_Z),
    ONE(TORSO, BOX, LIGHT, 0.064, 0.085, 0.062, 0, 0, 0.208, ALONG_Z),
    ONE(TORSO, BOX, LIGHT, 0.058, 0.024, 0.095, 0, 0.065, 0.152, -0.2, 0, 0),
    ONE(TORSO, BOX, LIGHT, 0.058, 0.024, 0.095, 0, -0.065, 0.152, 0.2, 0, 0),
    ONE(TORSO, BOX, LIGHT, 0.02, 0.078, 0.052, 0.056, 0, 0.222, TILTED(-0.2)),
    ONE(TORSO, BOX, LIGHT, 0.018, 0.058, 0.062, 0.054, 0, 0.132, TILTED(0.2)),
    ONE(TORSO, BOX, DARK, 0.006, 0.03, 0.006, 0.0735, 0, 0.178, ALONG_Z),
    ONE(TORSO, BOX, DARK, 0.024, 0.066, 0.09, -0.058, 0, 0.18, ALONG_Z),
    ONE(TORSO, CAPSULE, LIGHT, 0.045, 0.052, 0, 0, 0, 0.256, ALONG_Y),

    /* head: a light shell behind a dark smooth face, on a short collar */
    ONE(TORSO, CYLINDER, LIGHT, 0.052, 0.014, 0, 0, 0, 0.298, ALONG_Z),
    ONE(TORSO, CAPSULE, DARK, 0.04, 0.02, 0, 0, 0, 0.33, ALONG_Z),
    ONE(TORSO, ELLIPSOID, LIGHT, 0.063, 0.058, 0.082, -0.006, 0, 0.405, ALONG_Z),
    ONE(TORSO, ELLIPSOID, DARK, 0.044, 0.05, 0.069, 0.022, 0, 0.404, TILTED(0.06)),

    /* arms: shoulder pitch along y, roll along x, yaw down the upper arm, elbow along y */
    PAIR(SHOULDER_PITCH, CYLINDER, DARK, 0.043, 0.022, 0, 0, 0.012, 0, ALONG_Y),
    PAIR(SHOULDER_PITCH, CYLINDER, DARK, 0.04, 0.036, 0, 0, 0.04, -0.0138, ALONG_X),
    PAIR(SHOULDER_PITCH, CYLINDER, LIGHT, 0.029, 0.041, 0, 0, 0.04, -0.0138, ALONG_X),
    PAIR(SHOULDER_ROLL, ELLIPSOID, LIGHT, 0.038, 0.044, 0.052, 0, 0.012, -0.014, ALONG_Z),
    PAIR(SHOULDER_ROLL, CAPSULE, LIGHT, 0.037, 0.026, 0, 0, 0.006, -0.052, ALONG_Z),
    PAIR(SHOULDER_ROLL, CYLINDER, DARK, 0.034, 0.012, 0, 0, 0.006, -0.096, ALONG_Z),
    PAIR(SHOULDER_YAW, CYLINDER, LIGHT, 0.036, 0.024, 0, 0.002, 0, -0.03, ALONG_Z),
    PAIR(SHOULDER_YAW, BOX, LIGHT, 0.026, 0.03, 0.03, 0.008, 0, -0.06, ALONG_Z),
    PAIR(SHOULDER_YAW, CYLINDER, DARK, 0.036, 0.036, 0, 0.015783, 0, -0.080518, ALONG_Y),
    PAIR(SHOULDER_YAW, CYLINDER, LIGHT, 0.024, 0.041, 0, 0.015783, 0, -0.080518, ALONG_Y),
    PAIR(ELBOW, CAPSULE, LIGHT, 0.034, 0.028, 0, 0.046, 0.001, -0.01, ALONG_X),
    PAIR(ELBOW, CYLINDER, LIGHT, 0.031, 0.02, 0, 0.076, 0.002, -0.01, ALONG_X),
    PAIR(WRIST_ROLL, CYLINDER, DARK, 0.028, 0.012, 0, 0.006, 0, 0, ALONG_X),
    PAIR(WRIST_ROLL, BOX, DARK, 0.014, 0.022, 0.022, 0.024, 0, 0, ALONG_Z),
    PAIR(WRIST_PITCH, CYLINDER, DARK, 0.026, 0.028, 0, 0, 0, 0, ALONG_Y),
    PAIR(WRIST_PITCH, BOX, LIGHT, 0.02, 0.024, 0.024, 0.022, 0, 0, ALONG_Z),
    PAIR(WRIST_YAW, CYLINDER, DARK, 0.022, 0.026, 0, 0, 0, 0, ALONG_Z),

    /* hands: palm, four fingers bent towards the thigh, a thumb above */
    PAIR(WRIST_YAW, BOX, LIGHT, 0.036, 0.016, 0.032, 0.052, 0.002, 0, ALONG_Z),
    PAIR(WRIST_YAW, CAPSULE, DARK, 0.009, 0.024, 0, 0.106, -0.002, 0.024, QUARTER, 1.37, 0),
    PAIR(WRIST_YAW, CAPSULE, DARK, 0.009, 0.027, 0, 0.108, -0.002, 0.008, QUARTER, 1.37, 0),
    PAIR(WRIST_YAW, CAPSULE, DARK, 0.009, 0.025, 0, 0.107, -0.002, -0.008, QUARTER, 1.37, 0),
    PAIR(WRIST_YAW, CAPSULE, DARK, 0.009, 0.021, 0, 0.104, -0.002, -0.024, QUARTER, 1.37, 0),
    PAIR(WRIST_YAW, CAPSULE, DARK, 0.01, 0.022, 0, 0.066, -0.02, 0.026, QUARTER, 1.1, 0),
};

const int G1_NVISUAL = COUNT(G1_VISUAL);
