/* heracles run through the program, with small untrained models; its page in a browser. */
#include <stdlib.h>

#include "eval/rollout.h"
#include "shell.h"
#include "small.h"

#define MODELS "--tracker $T/t.safetensors --planner $T/p.safetensors "
#define RUN "$HERACLES run motions/wave.safetensors " MODELS "-o $T/run.html "

static void make_models(void)
{
    small_tracker("t.safetensors", "reference");
    small_planner("p.safetensors", 38);
}

static bool has_event(const rollout *r, const char *text, double t_s)
{
    for (int i = 0; i < r->nevents; i++)
        if (!strcmp(r->events[i].text, text) && fabs(r->events[i].t_s - t_s) < 1e-6) return true;
    return false;
}

static void test_record(void)
{
    hrc_error err;
    rollout r;
    make_models();
    json_t *j = shell_json(RUN "motions/floor.safetensors --push '1:1.5,0;0.5:0,-1' --punch '2:-100,0' "
                               "--hold 0.2 --record $T/run.safetensors --json");
    double seconds = json_number_value(json_object_get(j, "seconds"));
    double plans = json_number_value(json_object_get(j, "plans"));
    bool figures = json_object_get(j, "cr") && json_object_get(j, "joint_rad");
    json_decref(j);
    ENSURE(figures);
    ENSURE_OK(rollout_load(&r, test_path("run.safetensors"), &err));
    ENSURE(r.ref && r.plan && r.signals && r.target && r.torque && r.n == (int)(seconds * 50 + 0.5));
    ENSURE(has_event(&r, "push 1.5 m/s ahead", 1) && has_event(&r, "push 1 m/s to the right", 0.5));
    ENSURE(has_event(&r, "punch 100 N for 0.08 s back", 2));
    ENSURE(fabs(plans - r.n / 2.0) < 4);
    int second = -1;
    for (int i = 0; i < r.nevents; i++)
        if (!strcmp(r.events[i].text, "floor")) second = (int)(r.events[i].t_s * 50 + 0.5);
    ENSURE(second > 100 && second < r.n);
    for (int k = 0; k < 2; k++) /* placed where the robot was */
        ENSURE_NEAR((double)r.ref[second * HRC_NQ + k], (double)r.qpos[second * HRC_NQ + k], 1e-3);
    for (int k = 0; k < 3; k++) /* a plan begins where the robot is */
        ENSURE_NEAR((double)r.plan[second * HRC_KEYFRAMES * HRC_NQ + k], (double)r.qpos[second * HRC_NQ + k],
                    1e-5);
    rollout_free(&r);
    ENSURE(shell("$HERACLES view $T/run.safetensors -o $T/view.html") == 0);
}

static void test_starts(void)
{
    static const char *const POSTURE[] = {"lying-back", "lying-front", "lying-left", "lying-right"};
    hrc_error err;
    make_models();
    for (int i = 0; i < 4; i++) {
        char line[512];
        rollout r;
        snprintf(line, sizeof line, RUN "--planner off --start %s --record $T/r.safetensors", POSTURE[i]);
        ENSURE(shell(line) == 0);
        ENSURE_OK(rollout_load(&r, test_path("r.safetensors"), &err));
        float height = r.qpos[2];
        rollout_free(&r);
        ENSURE(height > 0.03f && height < 0.3f);
    }
    ENSURE(shell(RUN "--start 100 --record $T/r.safetensors") == 0);
    ENSURE(shell(RUN "--start upside-down") == 1 && says("there is no posture \"upside-down\""));
    ENSURE(shell(RUN "--start 1x") == 2);
    ENSURE(shell(RUN "--start 100000") == 1 && says("cannot start at frame 100000"));
    ENSURE(shell(RUN "--push 3") == 2 && says("SECONDS:AHEAD,LEFT"));
    ENSURE(shell("$HERACLES run " MODELS) == 2 && says("which motion?"));
}

/* Keyframes are drawn, spans stand on the timeline, four plots, nothing on the console. */
static void test_page(void)
{
    if (test_shell(NULL, 0, "command -v chromium") != 0) SKIP("chromium is not installed");
    make_models();
    ENSURE(shell(RUN "--hold 0 --quiet") == 0);
    ENSURE(shell("cat >> $T/run.html <<'END'\n<script>replay.advance(0);\n"
                 "document.title = [replay.keyframes.filter(x => x.robot.root.visible).length,\n"
                 "document.querySelectorAll('.timeline-span').length > 0,\n"
                 "document.querySelectorAll('.plot:not([hidden])').length].join();</script>\nEND\n"
                 "tools/browser \"file://$T/run.html#t=3&play=0\" --dump-dom > $T/dom 2>&1\n"
                 "grep -o '<title>[^<]*\\|console:.*' $T/dom") == 0);
    if (strcmp(shell_output, "<title>2,true,4\n")) test_fail(__FILE__, __LINE__, "%s", shell_output);
}

TEST_TABLE({"run.record", test_record}, {"run.starts", test_starts}, {"run.page", test_page})
