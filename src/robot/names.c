#include "robot/names.h"

#include <stdio.h>
#include <string.h>

void g1_joint_names(char out[G1_NAMES_BYTES])
{
    for (int i = 0, used = 0; i < HRC_JOINTS; i++)
        used += snprintf(out + used, (size_t)(G1_NAMES_BYTES - used), "%s%s", i ? "," : "", G1_JOINT[i].name);
}

hrc_status g1_check_joint_names(const char *names, const char *path, hrc_error *err)
{
    if (!names) return fail(err, HRC_EFORMAT, "%s: metadata \"joint_names\" is missing", path);
    for (int i = 0; i < HRC_JOINTS; i++) {
        size_t n = strcspn(names, ",");
        const char *expected = G1_JOINT[i].name;
        if (n != strlen(expected) || memcmp(names, expected, n) != 0)
            return fail(err, HRC_EFORMAT, "%s: metadata joint_names: joint %d is \"%.*s\", expected \"%s\"",
                        path, i, (int)(n < 80 ? n : 80), names, expected);
        names += n + (names[n] == ',');
    }
    if (*names)
        return fail(err, HRC_EFORMAT, "%s: metadata joint_names: \"%.80s\" follows the %d joints of the G1",
                    path, names, HRC_JOINTS);
    return HRC_OK;
}
