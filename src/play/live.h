/* The playground in real time: its own thread steps it 50 times a second of the chosen speed. Others leave
 * orders in a box and read the newest frame; neither ever makes it wait. */
#ifndef HRC_PLAY_LIVE_H
#define HRC_PLAY_LIVE_H

#include "play/playground.h"

/* A frame as float32: LIVE_HEAD numbers, then LIVE_ROBOT for each robot. */
enum {
    LIVE_STEP, /* of the scene */
    LIVE_ROBOTS,
    LIVE_PACE,    /* simulated seconds for each second asked for; below 1 the machine is too slow */
    LIVE_BUSY_MS, /* a step takes */
    LIVE_HEAD = 8,
};
enum {
    LIVE_GAP,     /* robot against reference, rad */
    LIVE_REWRITE, /* plan against reference, rad */
    LIVE_PLANNED, /* the tracker was given a plan */
    LIVE_REFUSED, /* the guard refused the last plan */
    LIVE_PLAN_MS, /* the last plan took */
    LIVE_AT,      /* frame of the motion */
    LIVE_FRAMES,  /* of the motion */
    LIVE_WAITING, /* for the robot to come to the motion's first frame */
    LIVE_PLANNER, /* on */
    LIVE_STUCK,   /* there is a problem */
    LIVE_HIT,     /* it is being punched or dragged */
    LIVE_OFF,     /* the reference: 0 on it, 1 lost */
    LIVE_FORCES,  /* how many contact forces follow */
    LIVE_SIGNALS,
    LIVE_SHOWN = 2, /* keyframes of the plan: the 5th and the last */
    LIVE_ROBOT = (2 + LIVE_SHOWN) * HRC_NQ + LIVE_SIGNALS + 6 * PLAY_FORCES,
    LIVE_FRAME = LIVE_HEAD + PLAY_ROBOTS * LIVE_ROBOT,
};

typedef struct {
    play_scene scene;
    bool paused;
    double speed;
    char problem[PLAY_ROBOTS][200];
    char refusal[200]; /* of the last order that could not be followed */
    int refusals;
    int64_t version; /* rises with every change of the above, `scene.step` apart */
} live_status;

typedef struct live live;

/* wake is called from the live thread after each new frame. The playground is the thread's until live_free.
 */
hrc_status live_start(live **out, playground *p, void (*wake)(void *), void *ctx, hrc_error *err);
void live_free(live *l); /* NULL is fine */

bool live_order(live *l, const play_order *o); /* false: the box is full */
void live_restore(live *l, const play_run *run);
void live_pause(live *l, bool on);
void live_speed(live *l, double speed);
void live_single(live *l); /* one step, while it pauses */

/* The newest frame, if it is newer than *seen; returns how many floats, 0: nothing new. */
int live_frame(live *l, float out[LIVE_FRAME], int64_t *seen);
live_status live_state(live *l);
void live_run(live *l, play_run *out);

typedef struct {
    int64_t steps, late; /* late: the clock was given up because the machine was too slow */
    double busy_ms;      /* mean of a step */
} live_counts;

live_counts live_count(live *l);

#endif
