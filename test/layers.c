/* The order of the folders: each uses only those before it, only src/sim knows MuJoCo, only src/cli prints or
 * exits, and what is in libheracles does not reach outside of it. */
#include <stdlib.h>

#include "shell.h"

static const char *const ORDER[] = {"base",    "nn",  "onnx", "robot", "motion", "plan", "track",
                                    "control", "sim", "eval", "learn", "deploy", "cli"};
enum { FOLDERS = sizeof ORDER / sizeof *ORDER };

static int rank(const char *name)
{
    for (int i = 0; i < FOLDERS; i++)
        if (!strcmp(ORDER[i], name)) return i;
    return -1;
}

static bool in_library(const char *name)
{
    static const char *const LIBRARY[] = {"base", "nn", "onnx", "robot", "plan", "track", "control"};
    for (size_t i = 0; i < sizeof LIBRARY / sizeof *LIBRARY; i++)
        if (!strcmp(LIBRARY[i], name)) return true;
    return false;
}

static void test_includes(void)
{
    ENSURE(shell("grep -rHo --include=*.[ch] --include=*.inc '#include \"[a-z]*/' src") == 0);
    int seen = 0;
    for (char *line = strtok(shell_output, "\n"); line; line = strtok(NULL, "\n")) {
        char user[16], used[16];
        if (sscanf(line, "src/%15[a-z]/%*[^:]:#include \"%15[a-z]/", user, used) != 2 || rank(used) < 0)
            continue;
        seen++;
        if (rank(used) > rank(user))
            test_fail(__FILE__, __LINE__, "%s: %s stands above %s", line, used, user);
        if (in_library(user) && !in_library(used))
            test_fail(__FILE__, __LINE__, "%s: not in libheracles", line);
    }
    ENSURE(seen > 200);
}

static void test_who_may(void)
{
    ENSURE(shell("grep -rl 'mujoco.h' src | grep -v '^src/sim/'") == 1);
    ENSURE(shell("grep -rnE --include=*.[ch] '(^|[^a-z_])(printf|puts|exit)\\(' src | grep -v '^src/cli/'") ==
           1);
}

TEST_TABLE({"layers.includes", test_includes}, {"layers.who_may", test_who_may})
