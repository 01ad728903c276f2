/* The simulator, and our kinematics against MuJoCo's. */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "robot/fk.h"
#include "robot/mjcf.h"
#include "robot/state.h"
#include "test.h"

typedef struct {
    pool *threads;
    sim *s;
} bed;

static bed bed_make(int threads, const char *setting)
{
    hrc_error err;
    bed b;
    config cfg = config_default();
    if (setting) ENSURE_OK(config_override(&cfg, setting, &err));
    ENSURE_OK(pool_create(&b.threads, threads, &err));
    ENSURE_OK(sim_create(&b.s, &cfg, b.threads, &err));
    return b;
}

static void bed_free(bed *b)
{
    sim_free(b->s);
    pool_free(b->threads);
}

static void random_state(double *qpos, double *qvel, rng *r)
{
    for (int i = 0; i < 3; i++) qpos[i] = (double)rng_uniform(r, -2, 2);
    for (int i = 3; i < 7; i++) qpos[i] = (double)rng_normal(r);
    quat_normalize(qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++)
        qpos[7 + i] = (double)rng_uniform(r, (float)G1_JOINT[i].lo, (float)G1_JOINT[i].hi);
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)rng_uniform(r, -5, 5);
}

static void test_fk_against_mujoco(void)
{
    bed b = bed_make(1, NULL);
    rng r = rng_make(11, 0);
    double worst = 0;
    for (int n = 0; n < 1000; n++) {
        double qpos[HRC_NQ], qvel[HRC_NV];
        double pos[G1_LINKS][3], quat[G1_LINKS][4], lin[G1_LINKS][3], ang[G1_LINKS][3];
        fk_pose pose;
        fk_velocity velocity;
        random_state(qpos, qvel, &r);
        sim_kinematics(b.s, qpos, qvel, pos, quat, lin, ang);
        fk(&pose, qpos);
        fk_velocities(&velocity, &pose, qvel);
        for (int i = 0; i < G1_LINKS; i++) {
            worst = fmax(worst, quat_angle(pose.quat[i], quat[i]));
            for (int k = 0; k < 3; k++) {
                worst = fmax(worst, fabs(pose.pos[i][k] - pos[i][k]));
                worst = fmax(worst, fabs(velocity.lin[i][k] - lin[i][k]));
                worst = fmax(worst, fabs(velocity.ang[i][k] - ang[i][k]));
            }
        }
    }
    bed_free(&b);
    ENSURE_NEAR(worst, 0, 1e-9);
}

static void test_fk_jacobian(void)
{
    rng r = rng_make(12, 0);
    for (int n = 0; n < 16; n++) {
        fk_pose pose, moved;
        double qpos[HRC_NQ], qvel[HRC_NV];
        random_state(qpos, qvel, &r);
        fk(&pose, qpos);
        /* d hand / d shoulder pitch = axis x (hand - shoulder), against a central difference */
        int shoulder = 16, hand = G1_LEFT_WRIST;
        double arm[3], column[3], step = 1e-6, ahead[3];
        for (int k = 0; k < 3; k++) arm[k] = pose.pos[hand][k] - pose.pos[shoulder][k];
        vec_cross(column, pose.axis[shoulder], arm);
        qpos[7 + shoulder - 1] += step;
        fk(&moved, qpos);
        memcpy(ahead, moved.pos[hand], sizeof ahead);
        qpos[7 + shoulder - 1] -= 2 * step;
        fk(&moved, qpos);
        for (int k = 0; k < 3; k++)
            ENSURE_NEAR((ahead[k] - moved.pos[hand][k]) / (2 * step), column[k], 1e-8);
    }
}

static void test_model_is_the_robot(void)
{
    static const char *const SETTINGS[] = {NULL, "sim.feet=light", "sim.self_collision=all",
                                           "sim.self_collision=none"};
    for (int i = 0; i < COUNT(SETTINGS); i++) {
        bed b = bed_make(1, SETTINGS[i]);
        sim_info info = sim_describe(b.s);
        bed_free(&b);
        ENSURE(info.warnings == 0);
        ENSURE(info.links == 30 && info.motors == 29);
        ENSURE(info.collision_geoms == (i == 1 ? 23 : 33));
        ENSURE_NEAR(info.mass, 33.341142, 1e-6);
        ENSURE(info.friction_min == 0.6 && info.friction_max == 0.6);
    }
}

static void test_asset_is_current(void)
{
    hrc_error err;
    config cfg = config_default();
    mjcf_options options = mjcf_from_config(&cfg);
    text xml = {0};
    file_view asset;
    mjcf_write(&xml, &options);
    ENSURE_OK(file_map("assets/g1.xml", &asset, &err)); /* 'make assets' writes it anew */
    ENSURE(asset.size == xml.size && !memcmp(asset.data, xml.data, xml.size));
    file_unmap(&asset);
    text_free(&xml);
}

static void stand(const sim *s, sim_world *w)
{
    double qpos[HRC_NQ];
    g1_default_qpos(qpos);
    sim_reset(s, w, qpos, NULL);
}

static void default_targets(double target[HRC_JOINTS])
{
    for (int i = 0; i < HRC_JOINTS; i++) target[i] = G1_JOINT[i].q0;
}

static void test_stands_on_its_feet(void)
{
    bed b = bed_make(1, NULL);
    sim_world w = {.want_contact = true};
    double target[HRC_JOINTS];
    default_targets(target);
    stand(b.s, &w);
    for (int i = 0; i < 10; i++) sim_step_one(b.s, &w, target, 0);
    g1_state state;
    g1_state_read(&state, w.qpos, w.qvel);
    double feet = w.contact[G1_LEFT_ANKLE] + w.contact[G1_RIGHT_ANKLE];
    bed_free(&b);
    ENSURE_NEAR(w.time, 0.2, 1e-12);
    ENSURE_NEAR(w.qpos[2], 0.76, 0.03);
    ENSURE(state.gravity[2] < -0.99);
    ENSURE(feet > 200 && feet < 600); /* weight is 327 N */
    ENSURE(w.contact[G1_TORSO] == 0);
}

/* A torque law that forgot a limit or a sign would not pass: far target, so every motor saturates. */
static void test_effort_limits(void)
{
    bed b = bed_make(1, NULL);
    sim_world w = {0};
    double target[HRC_JOINTS];
    for (int i = 0; i < HRC_JOINTS; i++) target[i] = G1_JOINT[i].q0 + (i % 2 ? 50 : -50);
    stand(b.s, &w);
    w.params.strength = 0.5;
    sim_step_one(b.s, &w, target, 0);
    for (int i = 0; i < HRC_JOINTS; i++)
        ENSURE_NEAR(w.torque[i], 0.5 * (i % 2 ? 1 : -1) * G1_JOINT[i].effort, 1e-12);
    /* At rest at the first step the law is kp (target - q) exactly. */
    config cfg = config_default();
    hrc_error err;
    cfg.sim_substeps = 1;
    sim *single;
    ENSURE_OK(sim_create(&single, &cfg, b.threads, &err));
    default_targets(target);
    target[3] += 0.1;
    stand(single, &w);
    sim_step_one(single, &w, target, 0);
    ENSURE_NEAR(w.torque[3], 0.1 * G1_JOINT[3].kp, 1e-9);
    sim_free(single);
    bed_free(&b);
}

static void test_push_and_hit(void)
{
    bed b = bed_make(1, NULL);
    sim_world w = {0};
    double qpos[HRC_NQ], target[HRC_JOINTS], still_x;
    g1_default_qpos(qpos);
    qpos[2] = 2; /* in the air: momentum is the impulse, nothing else acts sideways */
    default_targets(target);
    sim_reset(b.s, &w, qpos, NULL);
    for (int i = 0; i < 5; i++) sim_step_one(b.s, &w, target, 0);
    still_x = w.qpos[0];
    sim_reset(b.s, &w, qpos, NULL);
    sim_hit(&w, G1_TORSO, (double[3]){300, 0, 0}, 0.08);
    for (int i = 0; i < 5; i++) sim_step_one(b.s, &w, target, 0);
    ENSURE(w.punch.left_s == 0);
    fk_pose pose;
    fk_velocity velocity;
    fk(&pose, w.qpos);
    fk_velocities(&velocity, &pose, w.qvel);
    double momentum = 0;
    for (int i = 0; i < G1_LINKS; i++) {
        double arm[3], com[3], turn[3];
        fk_point(com, &pose, i, G1_LINK[i].com);
        for (int k = 0; k < 3; k++) arm[k] = com[k] - pose.pos[i][k];
        vec_cross(turn, velocity.ang[i], arm);
        momentum += G1_LINK[i].mass * (velocity.lin[i][0] + turn[0]);
    }
    ENSURE_NEAR(momentum, 300 * 0.08, 0.25); /* one physics step of 16; armature is not in this sum */
    ENSURE(fabs(w.qpos[0] - still_x) > 0.005);
    sim_reset(b.s, &w, qpos, NULL);
    double turned[4], half[3] = {0, 0, 1.5707963267948966};
    quat_exp(turned, half);
    memcpy(w.qpos + 3, turned, sizeof turned);
    sim_push(&w, (double[3]){0.5, 0, 0}, (double[3]){1, 0, 0});
    bed_free(&b);
    ENSURE_NEAR(w.qvel[0], 0.5, 1e-12);
    ENSURE_NEAR(w.qvel[4], -1, 1e-9); /* a turn about the world's x is one about -y of a robot facing +y */
}

/* Same bits for any number of threads, with every world its own parameters. */
static void run_worlds(int threads, sim_world *worlds, int n)
{
    bed b = bed_make(threads, NULL);
    double *targets = malloc(sizeof(double) * HRC_JOINTS * (size_t)n);
    for (int i = 0; i < n; i++) {
        stand(b.s, &worlds[i]);
        worlds[i].params.friction = 0.3 + 0.1 * i;
        worlds[i].params.torso_com[0] = 0.01 * i;
        worlds[i].params.payload = 0.2 * (i % 3);
        worlds[i].params.armature[3] = 1 + 0.05 * i;
        worlds[i].params.kp[4] = 1 - 0.02 * i;
        worlds[i].want_contact = i % 2;
    }
    rng r = rng_make(5, 0);
    for (int step = 0; step < 40; step++) {
        for (int i = 0; i < n * HRC_JOINTS; i++)
            targets[i] = G1_JOINT[i % HRC_JOINTS].q0 + (double)rng_uniform(&r, -0.3f, 0.3f);
        if (step == 10) sim_hit(&worlds[1], G1_TORSO, (double[3]){0, 200, 0}, 0.05);
        sim_step(b.s, worlds, targets, n);
    }
    free(targets);
    bed_free(&b);
}

static void test_threads_do_not_matter(void)
{
    enum { N = 7 };
    static sim_world one[N], two[N], three[N];
    run_worlds(1, one, N);
    run_worlds(2, two, N);
    run_worlds(3, three, N);
    ENSURE(!memcmp(one, two, sizeof one));
    ENSURE(!memcmp(one, three, sizeof one));
    for (int i = 1; i < N; i++) ENSURE(memcmp(one[0].qpos, one[i].qpos, sizeof one[0].qpos));
}

static void test_parameters_matter(void)
{
    bed b = bed_make(1, NULL);
    sim_world base = {0}, w = {0};
    double target[HRC_JOINTS];
    default_targets(target);
    for (int which = 0; which < 7; which++) {
        stand(b.s, &w);
        sim_push(&w, (double[3]){0.5, 0, 0}, (double[3]){0, 0, 0});
        if (which == 1) w.params.friction = 0.05;
        if (which == 2) w.params.torso_com[0] = 0.05;
        if (which == 3) w.params.payload = 3;
        if (which == 4) w.params.armature[0] = 1.5;
        if (which == 5) w.params.kd[3] = 0.5;
        if (which == 6) w.params.kp[3] = 1.2;
        for (int i = 0; i < 20; i++) sim_step_one(b.s, &w, target, 0);
        if (which == 0) base = w;
        if (which > 0) ENSURE(memcmp(base.qpos, w.qpos, sizeof w.qpos));
    }
    bed_free(&b);
}

/* The root's acceleration in free fall, in parts of gravity; low: flat on its back, 0.28 m up, else 2 m. */
static double weight_felt(sim *s, bool low, double light)
{
    sim_world w = {0};
    double target[HRC_JOINTS];
    default_targets(target);
    stand(s, &w);
    w.qpos[2] = low ? 0.28 : 2;
    if (low) w.qpos[3] = sqrt(0.5), w.qpos[5] = -sqrt(0.5);
    w.params.light = light;
    sim_step_one(s, &w, target, 0);
    return w.qvel[2] / (-9.81 * sim_period(s));
}

static void test_light_on_the_ground(void)
{
    bed b = bed_make(1, NULL);
    ENSURE_NEAR(weight_felt(b.s, true, 0), 1, 0.02);
    ENSURE_NEAR(weight_felt(b.s, true, 0.6), 0.4, 0.02);
    ENSURE_NEAR(weight_felt(b.s, false, 0.6), 1, 0.02);
    bed_free(&b);
}

static void stand_for(sim_world *w, double timestep, const char *damping)
{
    hrc_error err;
    config cfg = config_default();
    cfg.sim_timestep = timestep;
    cfg.sim_substeps = (int)(0.02 / timestep + 0.5);
    snprintf(cfg.sim_damping, sizeof cfg.sim_damping, "%s", damping);
    pool *threads;
    sim *s;
    double target[HRC_JOINTS];
    default_targets(target);
    ENSURE_OK(pool_create(&threads, 1, &err));
    ENSURE_OK(sim_create(&s, &cfg, threads, &err));
    stand(s, w);
    for (int i = 0; i < 10; i++) sim_step_one(s, w, target, 0);
    sim_free(s);
    pool_free(threads);
}

static double joint_distance(const sim_world *a, const sim_world *b)
{
    double sum = 0;
    for (int i = 0; i < HRC_JOINTS; i++)
        sum += (a->qpos[7 + i] - b->qpos[7 + i]) * (a->qpos[7 + i] - b->qpos[7 + i]);
    return sqrt(sum);
}

/* Steps of 10 ms shake with explicit damping (kd dt / armature = 2.5 > 2) and hold with implicit. */
static void test_implicit_damping(void)
{
    sim_world fine = {0}, coarse = {0}, shaking = {0};
    stand_for(&fine, 0.001, "explicit");
    stand_for(&coarse, 0.01, "implicit");
    stand_for(&shaking, 0.01, "explicit");
    ENSURE(joint_distance(&coarse, &fine) < 0.1);
    ENSURE(joint_distance(&shaking, &fine) > 3 * joint_distance(&coarse, &fine));
}

static void test_divergence_is_told(void)
{
    bed b = bed_make(1, NULL);
    sim_world w = {0};
    double target[HRC_JOINTS], before;
    default_targets(target);
    stand(b.s, &w);
    sim_step_one(b.s, &w, target, 0);
    before = w.qpos[2];
    target[5] = NAN;
    sim_step_one(b.s, &w, target, 0);
    ENSURE(w.diverged && w.qpos[2] == before);
    default_targets(target);
    sim_world other = {0};
    stand(b.s, &other); /* the next world on the same thread is not harmed */
    sim_step_one(b.s, &other, target, 0);
    bed_free(&b);
    ENSURE(!other.diverged && isfinite(other.qpos[2]));
}

TEST_TABLE({"fk.against_mujoco", test_fk_against_mujoco}, {"fk.jacobian", test_fk_jacobian},
           {"sim.model_is_the_robot", test_model_is_the_robot},
           {"sim.asset_is_current", test_asset_is_current},
           {"sim.stands_on_its_feet", test_stands_on_its_feet}, {"sim.effort_limits", test_effort_limits},
           {"sim.push_and_hit", test_push_and_hit}, {"sim.threads_do_not_matter", test_threads_do_not_matter},
           {"sim.parameters_matter", test_parameters_matter},
           {"sim.light_on_the_ground", test_light_on_the_ground},
           {"sim.implicit_damping", test_implicit_damping},
           {"sim.divergence_is_told", test_divergence_is_told})
