/* The program's frame: help, exit codes, JSON, configuration. Each command has tests of its own beside its
 * subject; here every command is asked for its help. */
#include "cli/cli.h"

#include <stdlib.h>

#include "shell.h"
#include "small.h"

static void ensure_says(const char *words)
{
    if (!says(words)) test_fail(__FILE__, __LINE__, "\"%s\" is not in: %.600s", words, shell_output);
}

static int count_lines(const char *s)
{
    int n = 0;
    for (; *s; s++) n += *s == '\n';
    return n;
}

static void test_help_on_one_screen(void)
{
    ENSURE(shell("$HERACLES --help") == 0);
    ENSURE(count_lines(shell_output) <= 44);
    for (int i = 0; COMMANDS[i]; i++) ensure_says(COMMANDS[i]->name);
    ENSURE(shell("$HERACLES") == 2);
    ENSURE(shell("$HERACLES --version") == 0);
    ensure_says("heracles " HRC_VERSION);
}

static void test_every_command_explains_itself(void)
{
    for (int i = 0; COMMANDS[i]; i++) {
        char line[256];
        snprintf(line, sizeof line, "$HERACLES %s --help", COMMANDS[i]->name);
        ENSURE(shell(line) == 0);
        ensure_says("usage: heracles ");
        ensure_says("example:\n  heracles ");
        for (const option *o = COMMANDS[i]->options; o && o->name; o++) ensure_says(o->name);
        snprintf(line, sizeof line, "$HERACLES %s --no-such-option", COMMANDS[i]->name);
        ENSURE(shell(line) == 2);
        ensure_says("there is no option --no-such-option; try 'heracles ");
        ENSURE(count_lines(shell_output) == 1);
    }
}

static void test_usage_errors(void)
{
    ENSURE(shell("$HERACLES nonsense") == 2);
    ensure_says("there is no command \"nonsense\"");
    ENSURE(shell("$HERACLES robot file") == 2);
    ensure_says("1 file given, expected none");
    ENSURE(shell("$HERACLES robot --threads two") == 2);
    ensure_says("--threads is \"two\", expected a number from 0 to 1024");
    ENSURE(shell("$HERACLES robot --sim.friction=9") == 2);
    ensure_says("sim.friction = 9 is out of range, expected 0 to 5");
    ENSURE(shell("$HERACLES robot --seed") == 2);
    ensure_says("--seed needs a value");
    ENSURE(shell("$HERACLES robot --json=1") == 2);
}

static void test_config_file(void)
{
    ENSURE(shell("$HERACLES help config") == 0);
    ensure_says("[sim]");
    ensure_says("friction");
    ENSURE(
        shell("printf '[sim]\\nfriction = 0.85\\n' > $T/c.ini; $HERACLES robot --mjcf --config $T/c.ini") ==
        0);
    ensure_says("friction=\"0.85 ");
    ENSURE(
        shell(
            "printf '[sim]\\n\\nfrictoin = 0.85\\n' > $T/c.ini; $HERACLES robot --mjcf --config $T/c.ini") ==
        1);
    ensure_says("c.ini:3: there is no setting sim.frictoin");
    ENSURE(shell("$HERACLES robot --config $T/none.ini") == 1);
}

static void test_robot_json(void)
{
    json_t *j = shell_json("$HERACLES robot --json");
    bool right = json_array_size(json_object_get(j, "joints")) == 29 &&
                 json_array_size(json_object_get(j, "tracked_links")) == 14;
    json_decref(j);
    ENSURE(right);
}

static void test_files_json(void)
{
    json_t *j = shell_json("$HERACLES motion sheet motions/wave.safetensors -o $T/s.svg --json 2>/dev/null");
    bool named = json_is_string(json_object_get(j, "file"));
    json_decref(j);
    j = shell_json("$HERACLES robot --mjcf --json");
    bool written = json_string_length(json_object_get(j, "mjcf")) > 10000;
    json_decref(j);
    ENSURE(named && written);
}

static void test_bench_json(void)
{
    double share = 0;
    for (int tries = 0; tries < 5 && !(share > 0.5 && share < 1.5);
         tries++) { /* other work may disturb one */
        json_t *j = shell_json("$HERACLES bench sim --seconds 0.2 --json --quiet");
        share = json_real_value(json_object_get(j, "share_of_bare"));
        json_decref(j);
    }
    ENSURE(share > 0.5 && share < 1.5);
}

static void test_demo(void)
{
    small_tracker("t.safetensors", "reference");
    json_t *j = shell_json("$HERACLES demo motions/floor.safetensors motions/wave.safetensors --tracker "
                           "$T/t.safetensors --planner off -o $T/demo.html --json --quiet");
    json_t *method = json_array_get(json_object_get(j, "methods"), 0),
           *motions = json_object_get(method, "motions");
    double lying = json_real_value(json_object_get(json_array_get(motions, 0), "held_s"));
    double standing = json_real_value(json_object_get(json_array_get(motions, 1), "held_s"));
    json_decref(j);
    ENSURE_NEAR(lying, 8, 1e-6);            /* on its back nothing can fall over */
    ENSURE(standing > 0.3 && standing < 7); /* an untrained tracker does not balance */
    ENSURE(shell("test -s $T/demo.html") == 0);
    ENSURE(shell("grep -c '\"beside\"' $T/demo.html") == 1); /* one method: none stands beside */
    small_planner("p.safetensors", 38);
    ENSURE(
        shell("$HERACLES demo motions/wave.safetensors --tracker $T/t.safetensors --planner $T/p.safetensors "
              "-o $T/both.html --quiet") == 0);
    ENSURE(
        shell(
            "grep -o '\"beside\": *{\"label\": *\"planner on\", *\"besideLabel\": *\"planner off\"' $T/both.html | wc -l") ==
        0);
    ENSURE(atoi(shell_output) == 1);
    ENSURE(shell("$HERACLES demo $T/none.safetensors -o $T/no.html") == 1);
    ensure_says("none.safetensors: cannot open");
    ENSURE(shell("test -e $T/no.html") == 1);
}

static void test_closed_stdout(void)
{
    ENSURE(shell("$HERACLES robot --mjcf > /dev/full") == 1);
    ensure_says("cannot write to stdout");
}

static void test_interrupt(void)
{
    ENSURE(shell("timeout --preserve-status -s INT 0.5 $HERACLES bench sim --seconds 60 --quiet") == 130);
}

TEST_TABLE({"cli.interrupt", test_interrupt}, {"cli.help_on_one_screen", test_help_on_one_screen},
           {"cli.every_command_explains_itself", test_every_command_explains_itself},
           {"cli.usage_errors", test_usage_errors}, {"cli.config_file", test_config_file},
           {"cli.robot_json", test_robot_json}, {"cli.files_json", test_files_json},
           {"cli.bench_json", test_bench_json}, {"cli.demo", test_demo},
           {"cli.closed_stdout", test_closed_stdout})
