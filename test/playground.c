/* The playground without network and clock: what orders do, and that a run can be had again. */
#include <stdlib.h>
#include <string.h>

#include "playhouse.h"
#include "test.h"

static hrc_status order(playhouse *h, const char *text)
{
    hrc_error err;
    play_order o;
    json_t *value = json_loads(text, 0, NULL);
    ENSURE(value);
    hrc_status status = play_order_parse(&o, value, &h->motions, &err);
    json_decref(value);
    return status < 0 ? status : playground_order(h->scene, &o, &err);
}

static void steps(playhouse *h, int n)
{
    for (int i = 0; i < n; i++) playground_step(h->scene);
}

static const double *pose(const playhouse *h, int robot)
{
    return playground_robot(h->scene, robot)->world.qpos;
}

static bool same_pose(const double *a, const double *b)
{
    return memcmp(a, b, sizeof(double) * HRC_NQ) == 0;
}

static void test_disturb(void)
{
    static const char *const HARM[] = {
        "{\"do\": \"punch\", \"x\": 300, \"y\": 0, \"z\": 0, \"link\": 15, \"robot\": 0}",
        "{\"do\": \"push\", \"x\": 0, \"y\": 1, \"z\": 0}",
        "{\"do\": \"drag\", \"x\": 0, \"y\": 0, \"z\": 400, \"link\": 22, \"robot\": 0}",
        "{\"do\": \"friction\", \"value\": 0.05}",
        "{\"do\": \"payload\", \"value\": 15}",
        "{\"do\": \"strength\", \"value\": 0.1}",
        "{\"do\": \"motion\", \"name\": \"floor\"}",
    };
    playhouse *h = playhouse_open(true);
    double before[HRC_NQ], calm[HRC_NQ];
    for (int k = -1; k < (int)(sizeof HARM / sizeof *HARM); k++) {
        ENSURE(order(h, "{\"do\": \"restart\"}") == HRC_OK);
        if (k > 3) /* settings outlast a restart */
            ENSURE(order(h, "{\"do\": \"friction\", \"value\": 0.6}") == HRC_OK &&
                   order(h, "{\"do\": \"payload\", \"value\": 0}") == HRC_OK &&
                   order(h, "{\"do\": \"strength\", \"value\": 1}") == HRC_OK);
        steps(h, 20);
        if (k < 0) memcpy(before, pose(h, 0), sizeof before);
        if (k >= 0 && k < 4) ENSURE(same_pose(before, pose(h, 0)));
        if (k >= 0) ENSURE(order(h, HARM[k]) == HRC_OK);
        steps(h, 15);
        if (k < 0) memcpy(calm, pose(h, 0), sizeof calm);
        if (k >= 0 && same_pose(calm, pose(h, 0)))
            test_fail(__FILE__, __LINE__, "%s changes nothing", HARM[k]);
    }
    playhouse_close();
}

/* Two robots under the same pushes: without a planner they are the same, bit for bit; with it they are not.
 */
static void test_pair(void)
{
    playhouse *h = playhouse_open(true);
    ENSURE(order(h, "{\"do\": \"pair\", \"value\": true}") == HRC_OK);
    ENSURE(playground_scene(h->scene)->robots == 2 && playground_scene(h->scene)->planner);
    ENSURE(order(h, "{\"do\": \"push\", \"x\": -3, \"y\": 0, \"z\": 0}") == HRC_OK); /* until it is lost */
    steps(h, 60);
    ENSURE(!same_pose(pose(h, 0), pose(h, 1)));
    ENSURE(playground_robot(h->scene, 0)->report.planned && !playground_robot(h->scene, 1)->report.planned);
    ENSURE(order(h, "{\"do\": \"restart\"}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"planner\", \"value\": false}") == HRC_OK);
    steps(h, 20);
    ENSURE(order(h, "{\"do\": \"push\", \"x\": -1, \"y\": 0.5, \"z\": 0}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"punch\", \"x\": 9, \"y\": 400, \"z\": 0, \"link\": 3, \"robot\": 1}") ==
           HRC_OK);
    steps(h, 40);
    ENSURE(same_pose(pose(h, 0), pose(h, 1)));
    ENSURE(order(h, "{\"do\": \"pair\", \"value\": false}") == HRC_OK);
    ENSURE(playground_scene(h->scene)->robots == 1);
    playhouse_close();
}

/* A run goes through its JSON text and is the same run. */
static void test_again(void)
{
    hrc_error err;
    playhouse *h = playhouse_open(true);
    double end[HRC_NQ];
    static play_run run;
    ENSURE(order(h, "{\"do\": \"seed\", \"value\": 12}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"friction\", \"value\": 0.35}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"posture\", \"value\": 1}") == HRC_OK);
    steps(h, 12);
    ENSURE(order(h, "{\"do\": \"motion\", \"name\": \"floor\"}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"payload\", \"value\": 3.7}") == HRC_OK);
    steps(h, 9);
    ENSURE(
        order(h,
              "{\"do\": \"punch\", \"x\": 123.456789, \"y\": -70.1, \"z\": 0, \"link\": 15, \"robot\": 0}") ==
        HRC_OK);
    ENSURE(order(h, "{\"do\": \"queue\", \"name\": \"wave\"}") == HRC_OK);
    steps(h, 30);
    memcpy(end, pose(h, 0), sizeof end);
    json_t *value = play_run_json(playground_run(h->scene), &h->motions);
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(value);
    ENSURE(strstr(text, "\"whole\":true") && strstr(text, "\"posture\":1"));

    ENSURE(order(h, "{\"do\": \"seed\", \"value\": 3}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"pair\", \"value\": true}") == HRC_OK);
    steps(h, 5);
    value = json_loads(text, 0, NULL);
    ENSURE_OK(play_run_parse(&run, value, &h->motions, &err));
    json_decref(value);
    ENSURE_OK(playground_restore(h->scene, &run, &err));
    ENSURE(playground_scene(h->scene)->scripted && playground_scene(h->scene)->seed == 12);
    steps(h, 51);
    ENSURE(same_pose(end, pose(h, 0)));
    value = play_run_json(playground_run(h->scene), &h->motions);
    char *again = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(value);
    ENSURE(!strcmp(text, again));
    free(text);
    free(again);
    playhouse_close();
}

static void test_refusals(void)
{
    static const char *const BAD[] = {
        "{}",
        "[]",
        "{\"do\": 7}",
        "{\"do\": \"dance\"}",
        "{\"do\": \"motion\"}",
        "{\"do\": \"motion\", \"name\": \"../../etc/passwd\"}",
        "{\"do\": \"punch\", \"x\": 1e300, \"y\": 0, \"z\": 0, \"link\": 15, \"robot\": 0}",
        "{\"do\": \"punch\", \"x\": 1, \"y\": 0, \"z\": 0, \"link\": 30, \"robot\": 0}",
        "{\"do\": \"punch\", \"x\": 1, \"y\": 0, \"z\": 0, \"link\": -1, \"robot\": 0}",
        "{\"do\": \"punch\", \"x\": 1, \"y\": 0, \"z\": 0, \"link\": 1.5, \"robot\": 0}",
        "{\"do\": \"punch\", \"x\": 1, \"y\": 0, \"z\": 0, \"link\": 1, \"robot\": 2}",
        "{\"do\": \"push\", \"x\": 100, \"y\": 0, \"z\": 0}",
        "{\"do\": \"friction\"}",
        "{\"do\": \"friction\", \"value\": 0}",
        "{\"do\": \"friction\", \"value\": \"1\"}",
        "{\"do\": \"payload\", \"value\": -1}",
        "{\"do\": \"posture\", \"value\": 4}",
        "{\"do\": \"posture\", \"value\": 1.5}",
        "{\"do\": \"seed\", \"value\": 1e20}",
    };
    hrc_error err;
    playhouse *h = playhouse_open(false);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        if (order(h, BAD[i]) == HRC_OK) test_fail(__FILE__, __LINE__, "%s was accepted", BAD[i]);
    ENSURE(playground_run(h->scene)->n == 0);
    for (int i = 0; i < PLAY_QUEUE; i++)
        ENSURE(order(h, "{\"do\": \"queue\", \"name\": \"floor\"}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"queue\", \"name\": \"floor\"}") < 0);
    ENSURE(order(h, "{\"do\": \"planner\", \"value\": true}") < 0); /* there is none */

    static play_run run;
    static const char *const RUNS[] = {
        "{}", "{\"scene\": 1, \"orders\": 2}",
        "{\"scene\": {\"motion\": \"wave\", \"seed\": 0, \"planner\": false, \"pair\": false, \"repeat\": false, "
        "\"friction\": 1, \"payload\": 0, \"strength\": 1, \"posture\": 9, \"queue\": []}, \"orders\": []}",
        "{\"scene\": {\"motion\": \"wave\", \"seed\": 0, \"planner\": false, \"pair\": false, \"repeat\": false, "
        "\"friction\": 1, \"payload\": 0, \"strength\": 1, \"posture\": -1, \"queue\": []}, \"orders\": "
        "[[5, {\"do\": \"clear\"}], [4, {\"do\": \"clear\"}]]}",
        "{\"scene\": {\"motion\": \"wave\", \"seed\": 0, \"planner\": false, \"pair\": false, \"repeat\": false, "
        "\"friction\": 1, \"payload\": 0, \"strength\": 1, \"posture\": -1, \"queue\": []}, \"orders\": "
        "[[5, {\"do\": \"restart\"}]]}"};
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) {
        json_t *value = json_loads(RUNS[i], 0, NULL);
        ENSURE(value);
        if (play_run_parse(&run, value, &h->motions, &err) == HRC_OK)
            test_fail(__FILE__, __LINE__, "%s was accepted", RUNS[i]);
        json_decref(value);
    }
    /* Too many orders: the run says that it is not whole. */
    for (int i = 0; i < PLAY_KEPT; i++) ENSURE(order(h, "{\"do\": \"clear\"}") == HRC_OK);
    ENSURE(!playground_run(h->scene)->whole && playground_run(h->scene)->n == PLAY_KEPT);
    playhouse_close();
}

static void test_motions(void)
{
    playhouse *h = playhouse_open(false); /* PD control alone */
    const play_scene *s = playground_scene(h->scene);
    ENSURE(!s->planner && s->motion == 0);
    ENSURE(order(h, "{\"do\": \"queue\", \"name\": \"floor\"}") == HRC_OK);
    const int frames = h->motions.entries[0].frames;
    steps(h, frames + 20);
    ENSURE(s->motion == 0 && s->queued == 1);
    steps(h, 10);
    ENSURE(s->motion == 1 && s->queued == 0 && !strcmp(s->event, "floor"));
    const play_robot *r = playground_robot(h->scene, 0);
    for (int k = 0; k < 2; k++) /* placed where the robot is */
        ENSURE_NEAR((double)r->report.reference.qpos[k], r->world.qpos[k], 0.3);
    static const double LOW = 0.03, HIGH = 0.3;
    for (int i = 0; i < 4; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"do\": \"posture\", \"value\": %d}", i);
        ENSURE(order(h, text) == HRC_OK);
        ENSURE(pose(h, 0)[2] > LOW && pose(h, 0)[2] < HIGH && s->step == 0);
        steps(h, 2);
        ENSURE(r->nforces > 0);
    }
    /* Lying still, what presses on it from below is its weight. */
    ENSURE(order(h, "{\"do\": \"posture\", \"value\": 0}") == HRC_OK);
    ENSURE(order(h, "{\"do\": \"strength\", \"value\": 0.1}") == HRC_OK);
    steps(h, 150);
    double up = 0;
    for (int i = 0; i < r->nforces; i++) up += r->forces[i].force[2];
    ENSURE_NEAR(up, G1_MASS * 9.81, 0.15 * G1_MASS * 9.81);
    playhouse_close();
}

static void test_recorder(void)
{
    hrc_error err;
    tape *r;
    hrc_report report = {.reference.qpos = {0, 0, 1, 1}};
    hrc_target target = {.q = {0}};
    double torque[HRC_JOINTS] = {0};
    double qpos[HRC_NQ] = {0, 0, 1, 1};
    rollout out;
    const int n = TAPE_S * HRC_RATE_HZ + 77;
    ENSURE_OK(tape_create(&r, &err));
    ENSURE(tape_take(r, 0, "none", &out, &err) < 0 && strstr(err.text, "0 frames"));
    tape_note(r, "long ago");
    for (int i = 0; i < n; i++) {
        qpos[0] = i;
        tape_add(r, 0, qpos, &target, torque, &report);
        if (i == n - 10) tape_note(r, "lately");
        tape_next(r);
    }
    ENSURE(tape_state(r).robots == 1 && tape_state(r).seconds == TAPE_S);
    ENSURE(tape_take(r, 1, "second", &out, &err) < 0);
    ENSURE_OK(tape_take(r, 0, "all", &out, &err));
    ENSURE(out.n == TAPE_S * HRC_RATE_HZ && out.qpos[0] == 77 && out.qpos[(out.n - 1) * HRC_NQ] == n - 1);
    ENSURE(out.nevents == 1 && !strcmp(out.events[0].text, "lately"));
    ENSURE_NEAR(out.events[0].t_s, (out.n - 10) / 50.0, 1e-9);
    ENSURE_OK(rollout_save(&out, test_path("take.safetensors"), &err));
    rollout_free(&out);
    ENSURE_OK(rollout_load(&out, test_path("take.safetensors"), &err));
    rollout_free(&out);
    tape_mark(r, true);
    for (int i = 0; i < 5; i++) tape_add(r, 0, qpos, &target, torque, &report), tape_next(r);
    ENSURE_OK(tape_take(r, 0, "marked", &out, &err));
    ENSURE(out.n == 5);
    rollout_free(&out);
    tape_free(r);
}

TEST_TABLE({"playground.disturb", test_disturb}, {"playground.pair", test_pair},
           {"playground.again", test_again}, {"playground.refusals", test_refusals},
           {"playground.motions", test_motions}, {"playground.recorder", test_recorder})
