#include "motion/import/layout.h"

#include <string.h>

#define WITHOUT_WRISTS 23 /* legs, waist of 3, arms of 4; or legs, waist of 1, arms of 5 */

enum { WAIST = 12, ARMS = 15, ARM = 7 }; /* first joints; joints of an arm */

/* Legs, the first `waist` joints of the waist and the first `arm` of each arm, in MuJoCo's order. */
static joint_layout shorter(const char *name, int waist, int arm)
{
    joint_layout l = {.name = name};
    for (int i = 0; i < HRC_JOINTS; i++) {
        bool there = i < WAIST || (i < ARMS ? i - WAIST < waist : (i - ARMS) % ARM < arm);
        l.column[i] = there ? l.columns++ : -1;
    }
    return l;
}

int layouts_of(joint_layout out[LAYOUTS_MAX], int columns)
{
    if (columns == WITHOUT_WRISTS) {
        out[0] = shorter("23 joints (waist of 3, arms of 4)", 3, 4);
        out[1] = shorter("23 joints (waist of 1, arms of 5)", 1, 5);
        return 2;
    }
    if (columns != HRC_JOINTS) return 0;
    out[0] = (joint_layout){.name = "MuJoCo's depth-first order", .columns = columns};
    out[1] = (joint_layout){.name = "Isaac's breadth-first order", .columns = columns};
    for (int i = 0; i < HRC_JOINTS; i++) {
        out[0].column[i] = i;
        out[1].column[i] = G1_ISAAC_TO_MUJOCO[i];
    }
    return 2;
}

static bool ends(const char *text, size_t n, const char *ending)
{
    size_t k = strlen(ending);
    return n > k && memcmp(text + n - k, ending, k) == 0;
}

int layout_joint(const char *name)
{
    size_t n = strlen(name);
    if (ends(name, n, "_dof")) n -= 4;
    if (ends(name, n, "_joint")) n -= 6;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const char *known = G1_JOINT[i].name;
        if (strlen(known) == n + 6 && memcmp(known, name, n) == 0) return i;
    }
    return -1;
}
