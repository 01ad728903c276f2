#include "eval/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_is_there(const char *name)
{
    const char *folders = getenv("PATH");
    for (const char *at = folders; at && *at;) {
        const size_t length = strcspn(at, ":");
        char path[4096];
        const int size = snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (size > 0 && size < (int)sizeof path && access(path, X_OK) == 0) return true;
        at += length + (at[length] == ':');
    }
    return false;
}
