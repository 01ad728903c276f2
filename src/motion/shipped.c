#include "motion/shipped.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool shipped_path(char *out, size_t size, const char *relative)
{
    static const char *const UNDER[] = {"..", "../share/heracles"};
    char program[4096];
    if (access(relative, R_OK) == 0) return (size_t)snprintf(out, size, "%s", relative) < size;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n < 0 ? 0 : n] = 0;
    char *slash = strrchr(program, '/');
    if (slash) *slash = 0;
    for (int i = 0; slash && i < 2; i++) {
        int length = snprintf(out, size, "%s/%s/%s", program, UNDER[i], relative);
        if (length > 0 && (size_t)length < size && access(out, R_OK) == 0) return true;
    }
    snprintf(out, size, "%s", relative);
    return false;
}
