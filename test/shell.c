#include "shell.h"

char shell_output[1 << 18];

int shell(const char *command)
{
    return test_shell(shell_output, sizeof shell_output, command);
}

json_t *shell_json(const char *command)
{
    int code = shell(command);
    if (code != 0) test_fail(__FILE__, __LINE__, "%s: exit %d: %.400s", command, code, shell_output);
    json_error_t problem;
    json_t *object = json_loads(shell_output, 0, &problem);
    if (!object) test_fail(__FILE__, __LINE__, "%s gave no JSON: %s", command, problem.text);
    return object;
}
