/* Exports in ONNX Runtime, an implementation of ONNX that is not ours: over the observations of a rollout of
 * the shipped tracker it must give the actions of our own runner. `make npm` fetches it. */
#include "shell.h" /* before anything that has a type named text */

#include <stdlib.h>
#include <unistd.h>

#include "eval/course.h"
#include "track/others_parts.h"

#define SECONDS 3
#define TRACKER "models/tracker.safetensors"
#define MOTION "motions/wave.safetensors"

typedef struct {
    others_model model;
    onnx_runner *runner;
    others_memory memory;
    FILE *steps; /* inputs and outputs of every step, as tools/replay_onnx.mjs reads them */
} subject;

static void put(subject *p, const float *values, size_t n)
{
    ENSURE(fwrite(values, sizeof *values, n, p->steps) == n);
}

/* One step of our own runner, written down. */
static void step(subject *p, const g1_state *s, const hrc_frame window[HRC_WINDOW])
{
    const others_model *m = &p->model;
    float *observation = onnx_runner_input(p->runner, m->observation);
    if (m->dialect == OTHERS_PLAIN)
        plain_observe(m, &p->memory, observation, onnx_runner_input(p->runner, m->window), s, window);
    else
        mimic_observe(m, &p->memory, observation, s, window);
    if (m->time >= 0) onnx_runner_input(p->runner, m->time)[0] = (float)p->memory.steps;
    onnx_run(p->runner);
    for (int i = 0; i < m->file.ninputs; i++)
        put(p, onnx_runner_input(p->runner, i), onnx_input_count(m->program, i));
    const int token = onnx_program_output(m->program, "token");
    const float *action = onnx_runner_output(p->runner, m->action);
    put(p, action, HRC_JOINTS);
    put(p, onnx_runner_output(p->runner, token), onnx_output_count(m->program, token));
    memcpy(p->memory.last, action, sizeof p->memory.last);
    p->memory.begun = true;
    p->memory.steps++;
}

/* The shipped tracker leads a robot through the motion; the subject sees what it sees. */
static void record(subject *p, sim *physics, const course *c, hrc_controller *lead)
{
    hrc_error err;
    sim_world w;
    const hrc_motion motion = course_motion(c);
    course_world(c, NULL, physics, &w);
    ENSURE_OK(hrc_follow(lead, &motion, 0, 0, &err));
    for (int i = 0; i < SECONDS * HRC_RATE_HZ; i++) {
        hrc_target target;
        hrc_frame window[HRC_WINDOW];
        g1_state s;
        g1_state_read(&s, w.qpos, w.qvel);
        ENSURE_OK(loop_step(lead, physics, &w, 0, &target, &err));
        const hrc_report *r = hrc_controller_report(lead);
        memcpy(window, r->window, sizeof window);
        if (p->model.lead == 0) window[0] = r->reference;
        step(p, &s, window);
    }
}

/* How many numbers its token has. */
static int record_rollout(const char *policy, const char *steps)
{
    static subject p;
    hrc_error err;
    config cfg = config_default();
    clip original, at_rate;
    course c;
    pool *threads;
    sim *physics;
    hrc_model *tracker;
    hrc_controller *lead;
    p = (subject){.steps = fopen(steps, "wb")};
    ENSURE(p.steps);
    ENSURE_OK(others_load(&p.model, policy, &err));
    ENSURE_OK(onnx_runner_create(&p.runner, p.model.program, &err));
    ENSURE_OK(clip_load(&original, MOTION, NULL, NULL, &err));
    ENSURE_OK(clip_resample(&at_rate, &original, HRC_RATE_HZ, &err));
    ENSURE_OK(course_create(&c, "wave", "", &at_rate, false, 0, SECONDS, &err));
    ENSURE_OK(pool_create(&threads, 1, &err));
    ENSURE_OK(sim_create(&physics, &cfg, threads, &err));
    ENSURE_OK(hrc_model_load(&tracker, TRACKER, &err));
    ENSURE_OK(hrc_controller_create(&lead, tracker, NULL, NULL, &err));
    record(&p, physics, &c, lead);
    ENSURE(fclose(p.steps) == 0);
    const int token = (int)onnx_output_count(p.model.program, onnx_program_output(p.model.program, "token"));
    hrc_controller_free(lead);
    hrc_model_free(tracker);
    sim_free(physics);
    pool_free(threads);
    course_free(&c);
    clip_free(&original);
    onnx_runner_free(p.runner);
    others_model_free(&p.model);
    return token;
}

/* Where `make npm` puts it, from the folder of the program. */
#define MODULES "$(dirname $HERACLES)/npm"

static void need_runtime(void)
{
    if (shell("command -v node") != 0) SKIP("node is not installed");
    if (shell("test -d " MODULES "/node_modules/onnxruntime-node") != 0)
        SKIP("onnxruntime-node is not installed: make npm");
}

/* `inputs` in the order of the graph. */
static void compare(const char *options, const char *inputs)
{
    char command[1024], policy[512], steps[512];
    need_runtime();
    snprintf(command, sizeof command, "$HERACLES export " TRACKER " -o $T/p.onnx --quiet %s", options);
    if (shell(command) != 0) test_fail(__FILE__, __LINE__, "%s", shell_output);
    snprintf(policy, sizeof policy, "%s", test_path("p.onnx"));
    snprintf(steps, sizeof steps, "%s", test_path("steps.f32"));
    const int token = record_rollout(policy, steps);
    snprintf(command, sizeof command,
             "node tools/replay_onnx.mjs " MODULES " $T/p.onnx $T/steps.f32 %s actions:29,token:%d", inputs,
             token);
    json_t *said = shell_json(command);
    const double worst = json_number_value(json_object_get(said, "worst"));
    const json_int_t ties = json_integer_value(json_object_get(said, "ties"));
    ENSURE(json_integer_value(json_object_get(said, "steps")) == SECONDS * HRC_RATE_HZ);
    printf("(%.1e, %d) ", worst, (int)ties);
    if (!(worst <= 1e-4) || ties > SECONDS * HRC_RATE_HZ / 50)
        test_fail(__FILE__, __LINE__, "largest difference %g, %d steps with another token", worst, (int)ties);
    json_decref(said);
}

static void test_plain(void)
{
    compare("", "proprio:930,window:410");
}

static void test_beyondmimic(void)
{
    compare("--dialect beyondmimic --motion " MOTION, "obs:994,time_step:1");
}

static void test_unitree(void)
{
    compare("--dialect unitree --motion " MOTION, "obs:994");
}

TEST_TABLE({"runtime.plain", test_plain}, {"runtime.beyondmimic", test_beyondmimic},
           {"runtime.unitree", test_unitree})
