/* The supervisor: which kind of command the robot gets, tick by tick, 500 times a second.
 *
 *   WAIT     no state yet: nothing is sent
 *   DAMP     damping; the operator may ask for the ramp when nothing is wrong
 *   RAMP     from the pose recorded at its start to the first pose of the motion, on a smooth curve in time
 *   HOLD     that pose
 *   POLICY   the policy's targets, blended in from the hold; at the motion's end it holds the last frame
 *   LOWER    something is wrong that leaves the robot its balance: the policy brings it to the stance
 *            and down into a crouch (lower.h), then TRIPPED
 *   TRIPPED  damping for good: something was wrong while the robot was held or moved
 *
 * Every command goes through the gate. A tick depends on nothing but the pilot and its input, both plain
 * data, so a recorded run can be flown again and must give the same bits. While states are late, the ramp and
 * the blend stand still. */
#ifndef HRC_DEPLOY_PILOT_H
#define HRC_DEPLOY_PILOT_H

#include "deploy/gate.h"
#include "deploy/remote.h"

typedef enum {
    PILOT_WAIT,
    PILOT_DAMP,
    PILOT_RAMP,
    PILOT_HOLD,
    PILOT_POLICY,
    PILOT_LOWER,
    PILOT_TRIPPED,
    PILOT_MODES
} pilot_mode;

const char *pilot_mode_name(pilot_mode mode);

/* What the policy gives, 50 times a second. */
enum {
    TARGET_ENDED = 1, /* the motion is over, its last frame is held */
    TARGET_LATE = 2,  /* plans have been late for too long */
    TARGET_DAMP = 4,  /* the policy failed */
};

#define EPOCH_LOWER 0x80000000u /* this bit of an epoch: the policy is to lower the robot */

typedef struct {
    int64_t ns;     /* when it was made */
    uint32_t seq;   /* 1, 2, ...; 0: none yet */
    uint32_t epoch; /* of the pilot's request that it answers */
    uint32_t state; /* number of the state it was made from */
    uint32_t flags;
    float q[HRC_JOINTS], kp[HRC_JOINTS], kd[HRC_JOINTS];
} pilot_target;

typedef struct {
    watch_input robot;
    const pilot_target *target; /* the latest, NULL: none */
    uint32_t asks; /* ASK_ bits of the operator at the keyboard; the remote's come with the state */
} pilot_input;

typedef struct {
    gate_limits limits;
    float first[HRC_JOINTS]; /* first pose of the motion, rad */
    double ramp_s, blend_s;
    double hold_s;   /* after the motion's end, then damping by itself; < 0: for the operator to end */
    bool automatic;  /* no operator: ramp and policy follow by themselves; for simulated robots */
    double settle_s; /* how long an automatic hold lasts */
} pilot_plan;

/* Plain data. */
typedef struct {
    pilot_plan plan;
    watch eyes;
    gate_counts counts;
    pilot_mode mode;
    trip why;                /* of LOWER and TRIPPED; else what is wrong now, or TRIP_NONE */
    int joint;               /* of why, or -1 */
    int64_t since_ns;        /* in this mode */
    int64_t ended_ns;        /* the motion's end was seen; 0: not yet */
    int64_t tick_ns;         /* of the tick before */
    double progress_s;       /* of ramp and blend; stands still while states are late */
    uint32_t epoch;          /* counts starts of the policy; EPOCH_LOWER */
    int32_t keys;            /* of the remote, at the tick before */
    uint32_t asks;           /* heard in this tick */
    uint32_t refused;        /* asks that were not obeyed because of `why` */
    robot_command last;      /* that was sent */
    gate_memory sent;        /* of the gate */
    float start[HRC_JOINTS]; /* where the ramp began */
    float hold[HRC_JOINTS];  /* where the hold and the blend begin */
} pilot;

void pilot_init(pilot *p, const pilot_plan *plan);

/* One tick. False: nothing is to be sent (WAIT). */
bool pilot_tick(pilot *p, const pilot_input *in, robot_command *out);

/* The policy is wanted: its targets must carry this epoch. 0: not wanted. */
uint32_t pilot_wants(const pilot *p);

#endif
