/* The order of the folders: each uses only those before it, only src/sim knows MuJoCo, only src/cli prints or
 * exits, and what is in libheracles does not reach outside of it. */
#include <stdlib.h>

#include "shell.h"

static const char *const ORDER[] = {
    "base",  "nn",      "onnx", "robot", "motion", "motion/import", "motion/retarget", "plan",
    "track", "control", "sim",  "eval",  "learn",  "play",          "deploy",          "cli"};
enum { FOLDERS = sizeof ORDER / sizeof *ORDER };

/* The folder of a path "motion/import/npz.c"; false for a file that stands in none. */
static bool folder_of(char folder[32], const char *path)
{
    const char *end = strrchr(path, '/');
    if (!end || end - path >= 32) return false;
    memcpy(folder, path, (size_t)(end - path));
    folder[end - path] = 0;
    return true;
}

static int rank(const char *folder)
{
    for (int i = 0; i < FOLDERS; i++)
        if (!strcmp(ORDER[i], folder)) return i;
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
    ENSURE(shell("grep -rHo --include=*.[ch] --include=*.inc '#include \"[a-z/]*/[^\"]*' src") == 0);
    int seen = 0;
    for (char *line = strtok(shell_output, "\n"); line; line = strtok(NULL, "\n")) {
        char file[64], header[64], user[32], used[32];
        ENSURE(sscanf(line, "src/%63[^:]:#include \"%63s", file, header) == 2);
        ENSURE(folder_of(user, file) && folder_of(used, header));
        if (rank(user) < 0) test_fail(__FILE__, __LINE__, "src/%s is in no known folder", file);
        if (rank(used) < 0) continue; /* not ours: cyclonedds */
        seen++;
        if (rank(used) > rank(user))
            test_fail(__FILE__, __LINE__, "%s: %s stands above %s", line, used, user);
        const bool reads = !strcmp(user, "control") && !strncmp(used, "motion", 6); /* the plain readers */
        if (in_library(user) && !in_library(used) && !reads)
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
