/* Plausible sensor faults: each class at several sizes, joints, motions and times, in the simulated robot
 * with noise under the shipped tracker. Damping must follow within the bound that stands beside the fault.
 * Where the bound follows from the detector's maths it is that time and a third, for noise and motion; a
 * reading that is stuck shows when the joint should move, and its bound is what moving joints take. */
#include "deploy/sensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "mishap.h"
#include "test.h"

#define WRONG_BY_THEN 3.0 /* s: stuck readings of joints that move */

/* When a leaky sum over T with drift d passes h. */
static double drift_s(double T, double h, double d)
{
    return -1.33 * T * log(1 - h / (d * T)) + 0.05;
}

typedef struct {
    mishap_kind kind;
    double size;
    bool joints;    /* of one joint at a time; else all, or not of joints */
    double bound_s; /* 0: drift_s of the size, see below */
    trip expected;  /* what most of them trip by (a stuck leg may tilt the robot first); NONE: the fall */
} fault;

static const fault FAULT[] = {
    {MISHAP_ANGLE_STUCK, 0, true, WRONG_BY_THEN, TRIP_JOINT_DRIFT},
    {MISHAP_ENCODER_STUCK, 0, true, WRONG_BY_THEN, TRIP_JOINT_STAYS},
    {MISHAP_JOINT_FROZEN, 0, true, WRONG_BY_THEN, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_OFFSET, 0.14, true, 0.006, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_OFFSET, -0.12, true, 0.006, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_OFFSET, 0.14, false, 0.006, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_OFFSET, -0.14, false, 0.006, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_OFFSET, 0.07, false, 0.006, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_DRIFT, 0.1, true, 0, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_DRIFT, -0.5, true, 0, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_DRIFT, 2, true, 0, TRIP_JOINT_DRIFT},
    {MISHAP_ANGLE_DRIFT, 0.5, false, 0, TRIP_JOINT_DRIFT},
    {MISHAP_SPEED_OFFSET, 0.5, true, 0, TRIP_JOINT_DRIFT},
    {MISHAP_SPEED_OFFSET, -3, true, 0, TRIP_JOINT_DRIFT},
    {MISHAP_SPEED_FACTOR, 0, true, WRONG_BY_THEN, TRIP_JOINT_DRIFT},
    {MISHAP_SPEED_FACTOR, -1, true, 1, TRIP_JOINT_DRIFT},
    {MISHAP_SPEED_SPIKE, 15, true, 1, TRIP_JOINT_DRIFT},
    {MISHAP_SLOW_STATES, 50, false, 0.15, TRIP_STATE_RATE},
    {MISHAP_SLOW_STATES, 100, false, 0.18, TRIP_STATE_RATE},
    {MISHAP_SLOW_STATES, 125, false, 0.22, TRIP_STATE_RATE},
    {MISHAP_YAW_DRIFT, 0.05, false, 0, TRIP_IMU_DRIFT},
    {MISHAP_YAW_DRIFT, -0.3, false, 0, TRIP_IMU_DRIFT},
    {MISHAP_TILT_DRIFT, 0.05, false, 0, TRIP_IMU_DRIFT},
    {MISHAP_TILT_DRIFT, 0.2, false, 0, TRIP_IMU_DRIFT},
    {MISHAP_GYRO_OFFSET, -0.05, false, 0, TRIP_IMU_DRIFT},
    {MISHAP_GYRO_OFFSET, 1, false, 0, TRIP_IMU_DRIFT},
    {MISHAP_GYRO_FACTOR, -1, false, WRONG_BY_THEN, TRIP_IMU_DRIFT},
    {MISHAP_IMU_DRIFT, 0.1, false, 6, TRIP_NONE},
    {MISHAP_IMU_DRIFT, -0.2, false, 4, TRIP_NONE},
};

static double bound_of(const fault *f)
{
    double d = fabs(f->size);
    bool imu = f->kind == MISHAP_YAW_DRIFT || f->kind == MISHAP_TILT_DRIFT || f->kind == MISHAP_GYRO_OFFSET;
    if (f->bound_s > 0) return f->bound_s;
    double fast = imu ? SENSORS_TURN_FAST : SENSORS_JOINT_FAST,
           slow = imu ? SENSORS_TURN_SLOW : SENSORS_JOINT_SLOW;
    double late = drift_s(SENSORS_SLOW_S, slow, d);
    return d * SENSORS_FAST_S > 1.5 * fast ? fmin(late, drift_s(SENSORS_FAST_S, fast, d)) : late;
}

static const char *const MOTION[] = {"05_02", "02_01", "49_02", "13_11"}; /* dance, walk, acrobatics, jump */
static const int JOINT[] = {0, 3, 4, 9, 15, 18, 22, 25}; /* hip, knees, ankle, shoulders, elbows */

typedef struct {
    int runs, expected;
    double longest;
} outcome;

/* One flight: the fault begins 1.2 to 1.9 s after the start. */
static void fly(rig *r, const fault *f, int motion, int joint, int64_t at, outcome *o)
{
    char name[4200], corpus[4096];
    shipped_path(corpus, sizeof corpus, "motions/cmu.safetensors");
    snprintf(name, sizeof name, "%s#%s", corpus, MOTION[motion]);
    mishap m = {.kind = f->kind, .joint = joint, .size = f->size, .at = at};
    double bound = bound_of(f);
    rig_start(r, name);
    mishap_put(r, &m);
    while (mishap_age(&m, r) < 0) {
        rig_tick(r);
        if (r->p.mode == PILOT_TRIPPED)
            test_fail(__FILE__, __LINE__, "%s: tripped without a fault: %s", MOTION[motion],
                      trip_text(r->p.why));
    }
    while (r->p.mode != PILOT_TRIPPED && mishap_age(&m, r) < bound) rig_tick(r);
    if (r->p.mode != PILOT_TRIPPED)
        test_fail(__FILE__, __LINE__, "%s %g, %s, joint %d, at %.2f s: not seen within %.3f s",
                  mishap_text(f->kind), f->size, MOTION[motion], joint, (double)at / ROBOT_HZ, bound);
    o->runs++;
    o->expected += r->p.why == f->expected;
    o->longest = fmax(o->longest, mishap_age(&m, r));
}

/* SENSORS_VERBOSE=1 prints the longest time of each. */
static void test_faults(void)
{
    static rig r;
    rig_open(&r, false, 1, 7);
    if (getenv("SENSORS_VERBOSE")) printf("\n");
    for (int k = 0; k < (int)(sizeof FAULT / sizeof *FAULT); k++) {
        const fault *f = &FAULT[k];
        outcome o = {0};
        for (int n = 0; n < 8; n++)
            fly(&r, f, (n + k) % 4, f->joints ? JOINT[n] : -1, 600 + 47 * ((n + 3 * k) % 8), &o);
        if (f->expected && 2 * o.expected < o.runs)
            test_fail(__FILE__, __LINE__, "%s %g: only %d of %d were seen as \"%s\"", mishap_text(f->kind),
                      f->size, o.expected, o.runs, trip_text(f->expected));
        if (getenv("SENSORS_VERBOSE"))
            printf("| %s %g%s | %.3f | %.3f | %d/%d |\n", mishap_text(f->kind), f->size,
                   f->joints ? ", one joint" : "", bound_of(f), o.longest, o.expected, o.runs);
    }
    rig_close(&r);
}

TEST_TABLE({"sensors.faults", test_faults})
