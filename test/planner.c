/* The planner as a whole: model files, determinism, what holds for every plan. */
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "test.h"

/* A small network with random weights: enough for everything but good plans. */
static void make_model_of(plan_model *m, int D, bool timed)
{
    hrc_error err;
    rng r = rng_make(5, 0);
    *m = (plan_model){.config = "", .trained = "on nothing"};
    ENSURE_OK(field_init(&m->net, plan_shape((field_shape){2, 2, 32, 2, PLAN_K, D, 0, 0}, timed), &err));
    m->params = ARENA_NEW(&m->memory, float, m->net.layout.count);
    for (size_t i = 0; i < m->net.layout.count; i++) m->params[i] = 0.05f * rng_normal(&r);
    for (int d = 0; d < m->net.shape.cond; d++) m->scales.cond_std[d] = 1;
    for (int i = 0; i < PLAN_K * D; i++) m->scales.residual_std[i] = 0.1f;
}

static void make_model(plan_model *m, int D)
{
    make_model_of(m, D, true);
}

static void poses(float state[HRC_NQ], float target[HRC_NQ])
{
    double stance[HRC_NQ];
    g1_default_qpos(stance);
    for (int i = 0; i < HRC_NQ; i++) state[i] = target[i] = (float)stance[i];
    state[0] = 3, state[1] = -2;
    quat_from_yawf(state + 3, 1.1f);
    target[0] = 3.2f, target[1] = -1.9f;
    quat_from_yawf(target + 3, 1.4f);
    target[7 + 3] += 0.3f;
}

static void test_plans(void)
{
    static const int DIMS[] = {PLAN_D_MAX, PLAN_D_BLIND};
    for (int i = 0; i < 2; i++) {
        hrc_error err;
        plan_model m;
        planner *p;
        planner_options o = planner_defaults();
        float state[HRC_NQ], target[HRC_NQ], a[PLAN_K][HRC_NQ], b[PLAN_K][HRC_NQ], moved[PLAN_K][HRC_NQ];
        make_model(&m, DIMS[i]);
        poses(state, target);
        ENSURE_OK(planner_create(&p, &m, &o, &err));
        planner_plan(p, state, target, a);
        planner_plan(p, target, state, b);
        planner_plan(p, state, target, b); /* what was planned before leaves no trace */
        ENSURE(!memcmp(a, b, sizeof a));
        ENSURE(!memcmp(a[0], state, sizeof state));
        ENSURE(plan_guard(a, state, plan_has_position(DIMS[i])) != PLAN_NONFINITE);
        planner_seed(p, 1);
        planner_plan(p, state, target, b);
        ENSURE(memcmp(a, b, sizeof a));
        /* The same scene elsewhere gives the same plan there. */
        planner_seed(p, 0);
        state[0] += 5, target[0] += 5;
        planner_plan(p, state, target, moved);
        for (int k = 0; k < PLAN_K; k++) {
            ENSURE_NEAR(moved[k][0], a[k][0] + 5, 1e-4);
            for (int j = 7; j < HRC_NQ; j++) ENSURE_NEAR(moved[k][j], a[k][j], 1e-4);
        }
        planner_free(p);
        plan_model_free(&m);
    }
}

static void test_file_proves_itself(void)
{
    for (int bf16 = 0; bf16 < 2; bf16++) {
        hrc_error err;
        plan_model m, back;
        plan_pair pair;
        make_model(&m, PLAN_D_MAX);
        if (bf16) plan_model_round(&m);
        ENSURE_OK(planner_record(&pair, &m, &err));
        const char *path = test_path("planner.safetensors");
        ENSURE_OK(plan_model_save(&m, &pair, bf16, path, &err));
        ENSURE_OK(plan_model_load(&back, path, &err));
        ENSURE(!memcmp(m.params, back.params, sizeof(float) * m.net.layout.count));
        ENSURE_OK(planner_verify(&back, &err));
        back.params[back.net.layout.count / 2] += 3; /* one weight astray */
        for (size_t i = 0; i < back.net.layout.count; i += 7) back.params[i] *= 4;
        ENSURE(planner_verify(&back, &err) < 0 && strstr(err.text, "the recorded plan comes out"));
        plan_model_free(&back);
        plan_model_free(&m);
    }
}

static void test_file_refuses(void)
{
    hrc_error err;
    plan_model m, back;
    plan_pair pair;
    const char *path = test_path("planner.safetensors");
    make_model(&m, PLAN_D_MAX);
    ENSURE_OK(planner_record(&pair, &m, &err));
    ENSURE_OK(plan_model_save(&m, &pair, false, path, &err));
    plan_model_free(&m);
    ENSURE(test_shell(
               NULL, 0,
               "sed 's/left_knee_joint/left_knie_joint/' $T/planner.safetensors > $T/other.safetensors") ==
           0);
    ENSURE(plan_model_load(&back, test_path("other.safetensors"), &err) < 0);
    ENSURE(strstr(err.text, "joint 3 is \"left_knie_joint\", expected \"left_knee_joint\""));
    ENSURE(test_shell(
               NULL, 0,
               "sed 's/heracles-planner/heracles-pianner/' $T/planner.safetensors > $T/other.safetensors") ==
           0);
    ENSURE(plan_model_load(&back, test_path("other.safetensors"), &err) < 0 && strstr(err.text, "format is"));
    ENSURE(plan_model_load(&back, test_path("missing.safetensors"), &err) < 0);
}

static void test_options(void)
{
    hrc_error err;
    plan_model m;
    planner *p;
    float state[HRC_NQ], target[HRC_NQ], warm[PLAN_K][HRC_NQ], cold[PLAN_K][HRC_NQ];
    make_model(&m, PLAN_D_MAX);
    poses(state, target);
    planner_options o = planner_defaults();
    ENSURE_OK(planner_create(&p, &m, &o, &err));
    planner_plan(p, state, target, warm);
    planner_free(p);
    o.warm_start = false;
    ENSURE_OK(planner_create(&p, &m, &o, &err));
    planner_plan(p, state, target, cold);
    planner_free(p);
    ENSURE(memcmp(warm, cold, sizeof warm));
    o.t_start = 1.5f;
    ENSURE(planner_create(&p, &m, &o, &err) < 0 && strstr(err.text, "t_start is 1.5"));
    o = planner_defaults();
    o.steps = 99;
    ENSURE(planner_create(&p, &m, &o, &err) < 0);
    plan_model_free(&m);
}

/* A timed planner arrives at the target when it is due, on average over the noise of its plans; from the
 * ground it takes 2 s; the paper's does not listen. */
static void test_due(void)
{
    hrc_error err;
    float state[HRC_NQ], target[HRC_NQ], soon[PLAN_K][HRC_NQ], late[PLAN_K][HRC_NQ], own[PLAN_K][HRC_NQ];
    const int knee = 7 + 3;
    poses(state, target);
    for (int timed = 0; timed < 2; timed++) {
        plan_model m;
        planner *p;
        make_model_of(&m, PLAN_D_MAX, timed);
        planner_options o = planner_defaults();
        ENSURE_OK(planner_create(&p, &m, &o, &err));
        planner_plan(p, state, target, own);
        planner_due(p, 0.2f);
        planner_plan(p, state, target, soon);
        ENSURE(!memcmp(own, soon, sizeof own)); /* the target is near: 0.2 s */
        planner_due(p, 2);
        planner_plan(p, state, target, late);
        ENSURE(timed == (memcmp(soon, late, sizeof soon) != 0));
        if (timed) {
            ENSURE_NEAR(soon[7][knee], target[knee], 0.02);
            ENSURE_NEAR(late[7][knee] - state[knee], 0.03, 0.15); /* a tenth of the way, and the noise */
            state[2] = 0.15f;                                     /* on the ground */
            planner_plan(p, state, target, late);
            planner_due(p, 0);
            planner_plan(p, state, target, own);
            ENSURE(!memcmp(own, late, sizeof own));
        }
        planner_free(p);
        plan_model_free(&m);
    }
}

TEST_TABLE({"planner.plans", test_plans}, {"planner.file_proves_itself", test_file_proves_itself},
           {"planner.file_refuses", test_file_refuses}, {"planner.options", test_options},
           {"planner.due", test_due})
