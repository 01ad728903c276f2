/* For tests of commands: what the last one printed, and its output as JSON. */
#ifndef HRC_TEST_SHELL_H
#define HRC_TEST_SHELL_H

#include <jansson.h>
#include <string.h>

#include "test.h"

extern char shell_output[1 << 18]; /* stdout and stderr of the last command */

int shell(const char *command);          /* its exit code */
json_t *shell_json(const char *command); /* it must succeed and print one JSON object; the caller frees it */

static inline bool says(const char *words)
{
    return strstr(shell_output, words) != NULL;
}

#endif
