/* The way down: a motion that the robot can do from wherever a reference is, and, on the simulated robot
 * under the shipped tracker, one that ends low and without a hard impact, where damping at once drops it. */
#include "deploy/lower.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mishap.h"
#include "motion/clip.h"
#include "robot/capsules.h"
#include "shell.h"
#include "small.h"
#include "synthetic.h"

#define FASTEST 8.0 /* rad/s of a joint: far under every motor's limit */

static void random_instant(hrc_frame *from, rng *r)
{
    double qpos[HRC_NQ];
    memset(from, 0, sizeof *from);
    g1_default_qpos(qpos);
    for (int k = 0; k < HRC_NQ; k++) from->qpos[k] = (float)qpos[k];
    from->qpos[3] = cosf(1.5f), from->qpos[6] = sinf(1.5f);
    for (int i = 0; i < HRC_JOINTS; i++) {
        float q = from->qpos[7 + i] + rng_uniform(r, -0.5f, 0.5f);
        from->qpos[7 + i] = fminf(fmaxf(q, (float)G1_JOINT[i].lo), (float)G1_JOINT[i].hi);
        from->qvel[6 + i] = rng_uniform(r, -3, 3);
    }
    from->qvel[0] = rng_uniform(r, -1, 1);
}

/* From random standing poses with random speeds: within limits, on the floor, continuous, and low at the end.
 */
static void test_motion(void)
{
    static lowering l;
    rng r = rng_make(3, 0);
    lower_init(&l);
    for (int n = 0; n < 100; n++) {
        hrc_frame from;
        double qpos[HRC_NQ];
        random_instant(&from, &r);
        lower_from(&l, &from);
        ENSURE(l.motion.n == LOWER_FRAMES);
        for (int i = 0; i < LOWER_FRAMES; i++) {
            for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)l.qpos[i][k];
            for (int k = 0; k < HRC_JOINTS; k++) {
                ENSURE(qpos[7 + k] >= G1_JOINT[k].lo - 1e-6 && qpos[7 + k] <= G1_JOINT[k].hi + 1e-6);
                double before = i ? (double)l.qpos[i - 1][7 + k] : (double)from.qpos[7 + k];
                ENSURE(fabs(qpos[7 + k] - before) <= FASTEST / HRC_RATE_HZ);
            }
            if (i >= LOWER_STANCE) ENSURE(fabs(pose_lowest(qpos)) < 1e-5);
        }
        ENSURE(qpos[2] < 0.3 && fabs((double)l.qpos[0][2] - (double)from.qpos[2]) < 0.1);
    }
}

/* A reference that lies stays as it is. */
static void test_on_the_ground(void)
{
    static lowering l;
    hrc_frame from = {.qpos = {1, 2, 0.1f, 0.7071068f, 0, -0.7071068f, 0}};
    lower_init(&l);
    lower_from(&l, &from);
    for (int i = 0; i < LOWER_FRAMES; i++) ENSURE(memcmp(l.qpos[i], from.qpos, sizeof from.qpos) == 0);
}

typedef struct {
    double pelvis, impact; /* when damping begins, m; the hardest until two seconds later, N */
    bool down;             /* the way down was gone to its end */
} landing;

static landing land(rig *r, const char *motion, mishap_kind kind, double size, int64_t at)
{
    mishap m = {.kind = kind, .size = size, .at = at};
    rig_start(r, motion);
    mishap_put(r, &m);
    while (r->p.mode != PILOT_TRIPPED && mishap_age(&m, r) < 15) {
        rig_tick(r);
        ENSURE(mishap_age(&m, r) >= 0 || r->p.mode != PILOT_TRIPPED);
    }
    landing out = {.pelvis = simbot_look(r->robot).qpos[2],
                   .down = r->p.mode == PILOT_TRIPPED && r->p.ended_ns};
    for (int n = 0; n < 2 * ROBOT_HZ; n++) rig_tick(r);
    out.impact = simbot_look(r->robot).impact;
    return out;
}

/* Every fault that is answered by the way down, in several motions and moments; and damping at once beside
 * it. LOWER_VERBOSE=1 prints the impacts. */
static void test_robot(void)
{
    static const struct {
        mishap_kind kind;
        double size;
    } FAULT[] = {
        {MISHAP_BATTERY_LOW, 10}, {MISHAP_HOT_MOTOR, 125}, {MISHAP_REMOTE_LOST, 0}, {MISHAP_PLANS_STOP, 0}};
    static const char *const MOTION[] = {"motions/wave.safetensors", "#02_01", "#05_02"};
    static rig r;
    char corpus[4000], path[4096];
    rig_open(&r, true, 1, 31);
    shipped_path(corpus, sizeof corpus, "motions/cmu.safetensors");
    for (int k = 0; k < 3; k++) {
        shipped_path(path, sizeof path, MOTION[k]);
        if (MOTION[k][0] == '#') snprintf(path, sizeof path, "%s%s", corpus, MOTION[k]);
        landing hard = land(&r, path, MISHAP_MOTOR_FAULT, 0, 700);
        ENSURE(!hard.down && hard.pelvis > 0.5);
        for (int i = 0; i < 4; i++) {
            landing soft = land(&r, path, FAULT[i].kind, FAULT[i].size, 600 + 70 * (k + i));
            if (getenv("LOWER_VERBOSE"))
                printf("\n%s, %s: pelvis %.2f m, impact %.0f N, of damping at once %.0f N", MOTION[k],
                       mishap_text(FAULT[i].kind), soft.pelvis, soft.impact, hard.impact);
            if (!soft.down || soft.pelvis > 0.35 || soft.impact > 0.5 * hard.impact)
                test_fail(__FILE__, __LINE__,
                          "%s, %s: %s, pelvis %.2f m, impact %.0f N, of damping at once %.0f N", MOTION[k],
                          mishap_text(FAULT[i].kind), trip_text(r.p.why), soft.pelvis, soft.impact,
                          hard.impact);
        }
    }
    rig_close(&r);
}

/* As two processes over DDS, the robot on its band: the battery falls while the policy flies, deploy goes the
 * way down to its end, exits with 3, and the recording of it replays bit for bit. */
static void test_over_dds(void)
{
    hrc_error err;
    clip motion;
    char line[2000];
    small_tracker("t.safetensors", "default");
    synthetic_turn(&motion, 50, 50);
    ENSURE_OK(clip_save(&motion, test_path("turn.safetensors"), &err));
    clip_free(&motion);
    int domain = 100 + (int)(getpid() % 100);
    snprintf(
        line, sizeof line,
        "$HERACLES robot-sim --net lo --domain %d --band 0 --seed 4 --seconds 60 --lockstep --flat 2 --quiet > "
        "$T/sim.txt & sim=$!\n"
        "timeout 300 $HERACLES deploy --net lo --domain %d --motion $T/turn.safetensors --tracker $T/t.safetensors "
        "--planner off --auto --lockstep --arm --patience 50 --ramp 0.5 --hold 30 --damp 0.2 --json --quiet "
        "--deploy.joint_speed=50 --deploy.gyro=50 --deploy.tilt=3.2 --record $T/run.mcap; code=$?\n"
        "wait $sim; exit $code",
        domain, domain);
    ENSURE(shell(line) == 3 && says("the battery is low"));
    json_t *said = shell_json("$HERACLES replay $T/run.mcap --json");
    ENSURE(json_integer_value(json_object_get(said, "targets")) >
           LOWER_FRAMES); /* not tripped before its end */
    json_decref(said);
}

TEST_TABLE({"lower.over_dds", test_over_dds}, {"lower.motion", test_motion},
           {"lower.on_the_ground", test_on_the_ground}, {"lower.robot", test_robot})
