/* The test runner's one header. A file of tests ends in a table:
 *     TEST_TABLE({"rot.log_exp", test_log_exp}, {"rot.slerp", test_slerp})
 * and is found by itself. A failed ENSURE ends that test; SKIP says why and counts as skipped. */
#ifndef HRC_TEST_H
#define HRC_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    const char *name;
    void (*run)(void);
} test_case;

void test_register(const test_case *table);

#define TEST_TABLE(...)                                                                                      \
    static const test_case table_of_tests[] = {__VA_ARGS__, {0}};                                            \
    __attribute__((constructor)) static void register_tests(void)                                            \
    {                                                                                                        \
        test_register(table_of_tests);                                                                       \
    }

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *reason);

#define ENSURE(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) test_fail(__FILE__, __LINE__, "%s", #condition);                                   \
    } while (0)

#define ENSURE_NEAR(a, b, tolerance)                                                                         \
    do {                                                                                                     \
        double a_ = (a), b_ = (b), t_ = (tolerance);                                                         \
        if (!(fabs(a_ - b_) <= t_))                                                                          \
            test_fail(__FILE__, __LINE__, "%s = %.12g, expected %s = %.12g within %g", #a, a_, #b, b_, t_);  \
    } while (0)

/* A call that must succeed; its sentence is shown when it does not. Wants `hrc_error err` in scope. */
#define ENSURE_OK(call)                                                                                      \
    do {                                                                                                     \
        if ((call) < 0) test_fail(__FILE__, __LINE__, "%s: %s", #call, err.text);                            \
    } while (0)

#define SKIP(reason) test_skip(reason)

/* A file in the folder of this test alone ($T of its shell commands), removed after the run; the path stays
 * valid until the next call. */
const char *test_path(const char *name);

/* Run a shell command with the built program as $HERACLES; returns its exit code. Output (stdout and
 * stderr together, at most size-1 bytes) goes to `output` when it is not NULL. */
int test_shell(char *output, size_t size, const char *command);

/* Write bytes to a file of test_path; fails the test when it cannot. */
void test_write(const char *path, const void *data, size_t size);

#endif
