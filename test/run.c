/* Runs all tests, or those whose name begins with one of the words of argv[1] ("rot,sim"). Each has a folder
 * of its own, so that none can lean on another's files. With SKIPS=FILE a skip fails unless its reason begins
 * with a line of that file. A test that fails while the machine does not keep up (busy.h) is run again when
 * it does; one that fails on a calm machine has failed. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "busy.h"
#include "learn/gemm_library.h"
#include "test.h"

#define MAX_TABLES 128
/* Of one test: the longest takes a minute, under a sanitizer on a busy machine some; but for one whose length
 * SOAK_S or SOAK_STEPS set. */
#define LONGEST_S 900
#define SOAK_LONGEST_S 86400
#define AGAIN 5 /* times */

static const test_case *tables[MAX_TABLES];
static int ntables;
static jmp_buf leave;
static double started;
static char root[64], folder[192]; /* of this run; of the present test */
static char *accepted;             /* reasons to skip, a line each; NULL: any */

void test_register(const test_case *table)
{
    if (ntables == MAX_TABLES) abort();
    tables[ntables++] = table;
}

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("FAILED\n  %s:%d: ", file, line);
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    longjmp(leave, 1);
}

static bool is_accepted(const char *reason)
{
    for (const char *line = accepted; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        if (length && *line != '#' && strncmp(reason, line, length) == 0) return true;
    }
    return false;
}

_Noreturn void test_skip(const char *reason)
{
    if (accepted && !is_accepted(reason))
        test_fail("skipped", 0, "%s: not among the reasons of %s", reason, getenv("SKIPS"));
    printf("skipped: %s\n", reason);
    longjmp(leave, 2);
}

const char *test_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

void test_write(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    ENSURE(f);
    size_t written = fwrite(data, 1, size, f);
    ENSURE(fclose(f) == 0 && written == size);
}

int test_shell(char *output, size_t size, const char *command)
{
    char line[4096];
    snprintf(line, sizeof line, "{ %s\n} 2>&1", command);
    fflush(stdout);
    FILE *pipe = popen(line, "r");
    ENSURE(pipe);
    size_t used = 0;
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;) {
        size_t room = output ? size - 1 - used : 0, take = n < room ? n : room;
        if (take) memcpy(output + used, chunk, take);
        used += take;
    }
    if (output) output[used] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool selected(const char *name, const char *filter)
{
    if (!filter) return true;
    for (const char *word = filter; *word; word += strcspn(word, ","), word += *word == ',') {
        size_t length = strcspn(word, ",");
        if (length && strncmp(name, word, length) == 0) return true;
    }
    return false;
}

/* A test that does not end fails the run at once, with its name on the line, instead of holding it up for
 * ever. */
static void on_alarm(int signal)
{
    static const char words[] = "FAILED: no end within LONGEST_S (test/run.c); the run stops here\n";
    (void)signal;
    ssize_t written = write(STDOUT_FILENO, words, sizeof words - 1);
    _exit(written < 0 ? 2 : 1);
}

static bool read_accepted(const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f) return !path;
    size_t size = 0, length = 0;
    accepted = NULL;
    if (getdelim(&accepted, &size, 0, f) > 0) length = strlen(accepted);
    fclose(f);
    return length > 0;
}

/* 0 passed, 1 failed, 2 skipped */
static int run_once(const test_case *c, int attempt)
{
    printf("%-44s ", c->name);
    snprintf(folder, sizeof folder, attempt ? "%s/%s.%d" : "%s/%s", root, c->name, attempt);
    if (mkdir(folder, 0700)) return printf("FAILED: cannot make %s\n", folder), 1;
    setenv("T", folder, 1);
    fflush(stdout);
    started = clock_s();
    alarm(getenv("SOAK_S") || getenv("SOAK_STEPS") ? SOAK_LONGEST_S : LONGEST_S);
    int outcome = setjmp(leave);
    if (outcome == 0) {
        c->run();
        double seconds = clock_s() - started;
        printf(seconds > 1 ? "ok (%.1f s)\n" : "ok\n", seconds);
    }
    return outcome;
}

static int run_case(const test_case *c)
{
    for (int attempt = 0;; attempt++) {
        const long before = busy_moments();
        const int outcome = run_once(c, attempt);
        const long late = busy_moments() - before;
        alarm(0);
        if (outcome != 1) return outcome;
        busy_end_leftovers(folder);
        if (!late || attempt == AGAIN) return 1;
        printf("  the machine woke a sleeper late %ld times meanwhile: again when it is calm\n", late);
        busy_wait_for_calm();
    }
}

/* Said again at the end: a log may be cut to its last lines. */
static void note_failure(char **names, const char *name)
{
    char *more = NULL;
    if (asprintf(&more, "%s %s", *names, name) < 0) abort();
    free(*names);
    *names = more;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0, skipped = 0;
    char program[1100], here[1024];
    gemm_library_choose(argv);
    /* The program under test stands beside the folder of this runner. */
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    here[n < 0 ? 0 : n] = 0;
    for (int up = 0; up < 2; up++)
        if (strrchr(here, '/')) *strrchr(here, '/') = 0;
    snprintf(program, sizeof program, "%s/heracles", here);
    setenv("HERACLES", program, 1);
    if (!read_accepted(getenv("SKIPS"))) {
        fprintf(stderr, "%s: cannot read the reasons to skip, a line each\n", getenv("SKIPS"));
        return 1;
    }
    snprintf(root, sizeof root, "/tmp/heracles-test-XXXXXX");
    if (!mkdtemp(root)) return 1;
    char *names = strdup(""); /* of those that fail */
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, on_alarm);
    busy_watch();
    for (int t = 0; t < ntables; t++)
        for (const test_case *c = tables[t]; c->name; c++) {
            if (!selected(c->name, argc > 1 ? argv[1] : NULL)) continue;
            int outcome = run_case(c);
            passed += outcome == 0, failed += outcome == 1, skipped += outcome == 2;
            if (outcome == 1) note_failure(&names, c->name);
        }
    char clean[128];
    snprintf(clean, sizeof clean, "rm -rf %s", root);
    if (system(clean) != 0) failed++;
    if (*names) printf("failed:%s\n", names);
    free(names);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || passed == 0;
}
