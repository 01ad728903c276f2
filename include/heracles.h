/* heracles: whole-body control of the Unitree G1. The only public header.
 *
 * Ownership: the caller frees what load and create return, nothing else.
 * Memory:    only load, create and resample allocate.
 * Threads:   one object, one thread; what is const may be shared.
 * Errors:    >= 0 is success, < 0 is an error; then nothing has changed and hrc_error.text
 *            names the thing, the place, what was found and what was expected. hrc_error may be NULL;
 *            of a call that can fail, no other pointer but those said to be optional.
 * Units:     SI, radians, quaternions w,x,y,z, int64 nanoseconds.
 *
 * The library needs libm and threads, never prints and never exits.
 *
 * In short (examples/embed.c is a whole program):
 *
 *     hrc_model_load(&tracker, "models/tracker.safetensors", &err);
 *     hrc_model_load(&planner, "models/planner.safetensors", &err);
 *     hrc_controller_create(&c, tracker, planner, NULL, &err);
 *     hrc_motion_load(&motion, "walk.csv", 0, NULL, &err);
 *     hrc_follow(c, &motion, 0, HRC_PLACE | HRC_WAIT, &err);
 *     every 20 ms: hrc_control(c, &state, &target, &err);    PD torque: kp (q - angle) - kd speed */
#ifndef HERACLES_H
#define HERACLES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HRC_VERSION "0.2.0"

#if defined(__GNUC__)
#define HRC_API __attribute__((visibility("default")))
#else
#define HRC_API
#endif

/* One list: enum, hrc_strerror and documentation derive from it. */
#define HRC_STATUS_LIST(X)                                                                                   \
    X(OK, 0, "success")                                                                                      \
    X(REFUSED, 1, "the guard refused the plan: use the reference itself")                                    \
    X(EINVAL, -1, "invalid argument")                                                                        \
    X(ENONFINITE, -2, "NaN or infinity in input")                                                            \
    X(EFILE, -3, "cannot read or write file")                                                                \
    X(EFORMAT, -4, "file content is not what was expected")                                                  \
    X(ENOMEM, -5, "out of memory")                                                                           \
    X(EINTERRUPTED, -6, "interrupted")                                                                       \
    X(EFULL, -7, "no room left, try again later")

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
HRC_API void hrc_robot_stance(double qpos[HRC_NQ]);  /* knees bent, feet on the floor, at the origin */

/* ---- What flows between the parts ---- */

#define HRC_RATE_HZ 50     /* of references and control */
#define HRC_WINDOW 10      /* frames of the reference that the tracker sees */
#define HRC_KEYFRAMES 8    /* of a plan, evenly spaced over its span */
#define HRC_PLAN_FRAMES 40 /* longest span of a plan; the default one is 10: 0.2 s */

/* The robot. The tracker needs no root position and no linear velocity; the planner needs the position, but
 * for its variant of 35 numbers. Refused is what no robot reads: a joint 1 rad beyond its hard limits or at
 * over 200 rad/s, a root over 10 km away, faster than 100 m/s or 100 rad/s, a quaternion 1 % off length 1. */
typedef struct {
    double qpos[HRC_NQ], qvel[HRC_NV];
} hrc_state;

/* One instant of a reference. */
typedef struct {
    float qpos[HRC_NQ], qvel[HRC_NV];
} hrc_frame;

/* A reference at HRC_RATE_HZ. Refused is what motors cannot follow: a joint 0.1 rad beyond its hard limits or
 * at over 1.5 times its speed limit, a root faster than 12 m/s or 50 rad/s. */
typedef struct {
    int n;
    const float *qpos; /* (n, HRC_NQ) */
    const float *qvel; /* (n, HRC_NV); hrc_velocities makes them */
} hrc_motion;

typedef struct {
    float qpos[HRC_KEYFRAMES][HRC_NQ];
    double span_s; /* from the first to the last */
} hrc_keyframes;

/* For the PD law of every joint: torque = kp (q - angle) - kd speed, within the effort. q is finite and
 * within 2 effort / kp of the joint's hard limits. */
typedef struct {
    double q[HRC_JOINTS], kp[HRC_JOINTS], kd[HRC_JOINTS];
} hrc_target;

/* qvel (n, HRC_NV) of poses (n, HRC_NQ) at HRC_RATE_HZ: central differences, one-sided at the ends. */
HRC_API void hrc_velocities(float *qvel, const float *qpos, int n);

/* What a motion file was, and how what it does not say was decided: one sentence each, "" where there was
 * nothing to decide. */
typedef struct {
    double fps; /* of the file; the motion itself has HRC_RATE_HZ */
    int frames; /* of the file */
    char format[64], rate[320], joints[320], quaternion[320];
} hrc_motion_source;

/* A motion from a file, resampled to HRC_RATE_HZ, with velocities. The content says what it is: a CSV (36
 * columns: root position, root quaternion, joints; or with a header) or one of our clips (.safetensors); the
 * program `heracles motion convert` makes these of other formats. fps: of the file; 0: what the file says, or
 * else the motion itself (docs/formats.md). source may be NULL. Free the motion with hrc_motion_free. */
HRC_API hrc_status hrc_motion_load(hrc_motion *out, const char *path, double fps, hrc_motion_source *source,
                                   hrc_error *err);

/* The same of poses (n, HRC_NQ) at fps: positions and joints linear, orientation on the sphere. */
HRC_API hrc_status hrc_motion_resample(hrc_motion *out, const float *qpos, int n, double fps, hrc_error *err);

/* Only of a motion that load or resample made, and no longer followed. NULL is fine; n becomes 0. */
HRC_API void hrc_motion_free(hrc_motion *m);

/* ---- Models: files that were trained. Immutable; share them. ---- */

typedef struct hrc_model hrc_model;
typedef enum { HRC_TRACKER, HRC_PLANNER } hrc_kind;

/* A tracker or planner that `heracles train` wrote (.safetensors): refused when it is of another robot,
 * layout or rate, or does not reproduce its recorded example. Or, by the ending .onnx, a tracker that others
 * trained or `heracles export` wrote, run by an interpreter inside the library with its own observation,
 * gains and pose; docs/onnx.md has the dialects. Both give the same hrc_model and the same promises (no
 * allocation in a step). */
HRC_API hrc_status hrc_model_load(hrc_model **out, const char *path, hrc_error *err);
HRC_API void hrc_model_free(hrc_model *m); /* NULL is fine */
HRC_API hrc_kind hrc_model_kind(const hrc_model *m);
HRC_API const char *hrc_model_trained(const hrc_model *m); /* one sentence: data, method, steps */

/* ---- The planner: from state and reference to the next 0.2 s ---- */

typedef struct hrc_planner hrc_planner;

typedef struct {
    uint64_t seed;
    int steps;     /* of the flow's integration: 5 */
    float t_start; /* where the warm start enters the flow: 0.9 */
    float noise;   /* that a plan starts from: 1, all that was learned; less stays near its middle */
    int cold;      /* no warm start: from noise alone */
    int bf16;      /* half the memory traffic, 2 to 3 digits */
    int threads;   /* 1 */
} hrc_plan_options;

typedef enum {
    HRC_FINE,
    HRC_NOT_FINITE,
    HRC_BEYOND_LIMITS,
    HRC_TOO_FAST,
    HRC_VERDICTS,
} hrc_verdict;

/* What a plan is made from. */
typedef struct {
    int64_t step; /* of the controller that asks; says how old the plan is when it comes */
    hrc_state now;
    float reference[HRC_PLAN_FRAMES + 1][HRC_NQ]; /* from now on, at HRC_RATE_HZ */
    float under_way[HRC_NQ]; /* where the plan under way has the robot now; without one, the state */
} hrc_plan_request;

HRC_API hrc_plan_options hrc_plan_defaults(void);
HRC_API const char *hrc_verdict_name(hrc_verdict verdict);
HRC_API hrc_status hrc_planner_create(hrc_planner **out, const hrc_model *m, const hrc_plan_options *options,
                                      hrc_error *err); /* options NULL: the defaults; the model is borrowed */
HRC_API void hrc_planner_free(hrc_planner *p);         /* NULL is fine */

/* HRC_REFUSED when the guard does not trust the plan; verdict (may be NULL) says why. */
HRC_API hrc_status hrc_plan(hrc_planner *p, const hrc_plan_request *request, hrc_keyframes *out,
                            hrc_verdict *verdict, hrc_error *err);

/* The dense plan t seconds after keyframe 0, a pure function. Beyond the last keyframe it goes straight on.
 */
HRC_API void hrc_sample(const hrc_keyframes *k, double t, hrc_frame *out);

/* ---- The tracker: from state and reference window to joint targets, 50 times a second ---- */

typedef struct hrc_tracker hrc_tracker;

HRC_API hrc_status hrc_tracker_create(hrc_tracker **out, const hrc_model *m, hrc_error *err);
HRC_API void hrc_tracker_free(hrc_tracker *t);      /* NULL is fine */
HRC_API void hrc_tracker_reset(hrc_tracker *t);     /* forget the history */
HRC_API int hrc_tracker_lead(const hrc_tracker *t); /* frames from now to the first of the window */

/* On error the target is safe: the last one's angles, no stiffness, damping only; the history is as it was,
 * and the next call goes on from there. */
HRC_API hrc_status hrc_step(hrc_tracker *t, const hrc_state *now, const hrc_frame window[HRC_WINDOW],
                            hrc_target *out, hrc_error *err);

/* ---- The controller: the closed loop of both, with a reference to follow ---- */

typedef struct hrc_controller hrc_controller;

typedef struct {
    hrc_plan_options plan;
    int replan;       /* control steps between plans: 2 */
    double leash_m;   /* a reference that gets farther away on the floor is pulled along; 0: never. 0.5 */
    double leash_rad; /* a reference that heads further away is turned along; 0: never. 0.7 */
    double wait_s;    /* longest wait for HRC_WAIT: 5 */
    int apart;        /* plans are made elsewhere, see hrc_plan_wanted: 0 */
    int stream;       /* frames that hrc_append may have ahead of the robot, 0 to 100000: 250, 5 s */
} hrc_options;

/* How a motion begins. */
enum {
    HRC_PLACE = 1, /* moved and turned on the floor to where the robot is; else it stays in its own world */
    HRC_WAIT = 2,  /* with the planner: held at its first frame until the robot has come there */
};

/* What the last hrc_control did. */
typedef struct {
    int64_t step;        /* control steps since create or reset */
    int frame, frames;   /* of the motion, at the robot's time; how many it has, with those appended */
    int waiting;         /* for the robot to reach the first frame */
    int planned;         /* the tracker was given a plan, not the reference */
    int replanned;       /* the plan is of this step */
    double off;          /* how far the robot is off its reference: 0 on it, 1 lost; what plans go by */
    hrc_verdict verdict; /* on the last plan */
    hrc_frame reference; /* at the robot's time, where it was placed */
    hrc_keyframes plan;  /* the last one, if planned; keyframe 0 is its anchor */
    double plan_age_s;   /* since its keyframe 0 */
    hrc_frame window[HRC_WINDOW]; /* what the tracker was given */
    double gap_rad;               /* joints of the robot against the reference, L2 over 29 */
    double rewrite_rad; /* joints of the window against the reference's own, likewise, mean over its frames */
    const float *token; /* (ntoken) of the tracker; valid until the next hrc_control */
    int ntoken;
    int64_t plans, verdicts[HRC_VERDICTS]; /* counted since create or reset */
    double plan_ms;                        /* the last plan took */
} hrc_report;

HRC_API hrc_options hrc_defaults(void);

/* planner NULL: the tracker alone. options NULL: the defaults. The models are borrowed. */
HRC_API hrc_status hrc_controller_create(hrc_controller **out, const hrc_model *tracker,
                                         const hrc_model *planner, const hrc_options *options,
                                         hrc_error *err);
HRC_API void hrc_controller_free(hrc_controller *c);                /* NULL is fine */
HRC_API void hrc_controller_reset(hrc_controller *c);               /* forget all but the motion */
HRC_API void hrc_controller_use_planner(hrc_controller *c, int on); /* at any time; on at first, if there */

/* The motion's arrays are borrowed until another is followed. Its end is held. how: HRC_PLACE, HRC_WAIT.
 * What was appended to the motion before is forgotten. */
HRC_API hrc_status hrc_follow(hrc_controller *c, const hrc_motion *motion, int first, int how,
                              hrc_error *err);

/* Frames that come while the robot runs (teleoperation, a generator): poses (n, HRC_NQ) at fps, 1 to 10000,
 * are resampled to HRC_RATE_HZ as they come, given velocities, and appended to the motion being followed;
 * copied, so that the caller's array is free again. A source begins with hrc_follow of one frame, where it
 * stands. When the frames run dry the last one is held, at rest, and the next that comes goes on from there:
 * a source that stays HRC_WINDOW frames ahead (0.2 s) shows the tracker all that it wants to see. Refused,
 * with nothing appended: a frame that a motion may not have (a jump is one: its speed), one call with more
 * than hrc_room frames (HRC_EFULL: append the rest after some hrc_control), no motion to append to. Never
 * allocates; one object, one thread: call it between two hrc_control, not beside them. */
HRC_API hrc_status hrc_append(hrc_controller *c, const float *qpos, int n, double fps, hrc_error *err);
HRC_API int hrc_ahead(const hrc_controller *c); /* frames after the one at the robot's time */
HRC_API int hrc_room(const hrc_controller *c);  /* frames at HRC_RATE_HZ that can be appended now */

/* One control period: call it HRC_RATE_HZ times a second. On error as hrc_step. */
HRC_API hrc_status hrc_control(hrc_controller *c, const hrc_state *now, hrc_target *out, hrc_error *err);
HRC_API const hrc_report *hrc_controller_report(const hrc_controller *c);

/* A planner on a thread of its own, for control loops that cannot wait for a plan: with options.apart the
 * controller never plans, but asks. After hrc_control hand the request, if there is one, to hrc_plan with a
 * planner of your own, and give its plan back before a later hrc_control; until then the last plan goes on.
 */
HRC_API int hrc_plan_wanted(hrc_controller *c, hrc_plan_request *out); /* 1: a new one; each is told once */

/* step: of the last request; a plan for another, one that the guard does not trust, one over 20 steps old, or
 * NULL: none, the reference passes through. */
HRC_API void hrc_plan_give(hrc_controller *c, int64_t step, const hrc_keyframes *plan);

#ifdef __cplusplus
}
#endif
#endif
