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

bool list_word(const char **list, char *out, size_t size)
{
    static const char BETWEEN[] = " ,\t\n\r[]\"'";
    *list += strspn(*list, BETWEEN);
    const size_t n = strcspn(*list, BETWEEN);
    if (!n) return false;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), *list);
    *list += n;
    return true;
}

hrc_status g1_joint_order(int joint[HRC_JOINTS], const char *list, const char *path, hrc_error *err)
{
    char word[80];
    bool seen[HRC_JOINTS] = {0};
    int n = 0;
    for (; list_word(&list, word, sizeof word); n++) {
        const int j = hrc_robot_joint_index(word);
        if (j < 0 || n == HRC_JOINTS || seen[j])
            return fail(err, HRC_EFORMAT,
                        "%s: joint %d is \"%s\", expected the %d joints of the G1, each once", path, n, word,
                        HRC_JOINTS);
        seen[j] = true;
        joint[n] = j;
    }
    if (n == HRC_JOINTS) return HRC_OK;
    return fail(err, HRC_EFORMAT, "%s: %d joints, expected the %d of the G1", path, n, HRC_JOINTS);
}
