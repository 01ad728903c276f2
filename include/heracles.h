/* heracles: whole-body control of the Unitree G1. The only public header.
 *
 * Ownership: the caller frees what load and create return, nothing else.
 * Memory:    only load and create allocate.
 * Threads:   one object, one thread; what is const may be shared.
 * Errors:    >= 0 is success, < 0 is an error; then nothing has changed and hrc_error.text
 *            names the thing, the place, what was found and what was expected.
 * Units:     SI, radians, quaternions w,x,y,z, int64 nanoseconds.
 *
 * The library needs libm and threads, never prints and never exits. */
#ifndef HERACLES_H
#define HERACLES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HRC_VERSION "0.1.0"

#if defined(__GNUC__)
#define HRC_API __attribute__((visibility("default")))
#else
#define HRC_API
#endif

/* One list: enum, hrc_strerror and documentation derive from it. */
#define HRC_STATUS_LIST(X)                                                                                   \
    X(OK, 0, "success")                                                                                      \
    X(EINVAL, -1, "invalid argument")                                                                        \
    X(ENONFINITE, -2, "NaN or infinity in input")                                                            \
    X(EFILE, -3, "cannot read or write file")                                                                \
    X(EFORMAT, -4, "file content is not what was expected")                                                  \
    X(ENOMEM, -5, "out of memory")                                                                           \
    X(EINTERRUPTED, -6, "interrupted")

typedef enum {
#define HRC_STATUS_ENUM(name, value, text) HRC_##name = value,
    HRC_STATUS_LIST(HRC_STATUS_ENUM)
#undef HRC_STATUS_ENUM
} hrc_status;

/* A failed call leaves one sentence here. The caller owns it; it never needs freeing. */
typedef struct {
    char text[512];
} hrc_error;

HRC_API const char *hrc_version(void);
HRC_API const char *hrc_strerror(hrc_status status);

/* ---- The robot: 29 joints in MuJoCo / URDF / hardware order. ---- */

#define HRC_JOINTS 29
#define HRC_NQ (7 + HRC_JOINTS) /* qpos: root position 3, root quaternion 4 (wxyz), joints 29 */
#define HRC_NV (6 + HRC_JOINTS) /* qvel: linear (world), angular (body frame), joints 29 */

typedef struct {
    const char *name;        /* as in the URDF, e.g. "left_hip_pitch_joint" */
    double q0;               /* default pose, rad */
    double armature;         /* reflected rotor inertia, kg m^2 */
    double kp, kd;           /* PD gains, N m / rad and N m s / rad */
    double effort;           /* torque limit, N m */
    double velocity;         /* speed limit, rad / s */
    double action_scale;     /* rad per unit of policy output = 0.25 effort / kp */
    double lo, hi;           /* hard limits, rad */
    double soft_lo, soft_hi; /* middle -+ 0.9 of the half range */
} hrc_joint;

HRC_API const hrc_joint *hrc_robot_joints(void);     /* HRC_JOINTS entries */
HRC_API int hrc_robot_joint_index(const char *name); /* -1 when there is none of that name */

#ifdef __cplusplus
}
#endif
#endif
