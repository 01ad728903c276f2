#include "robot/selfcollision.h"

#include <string.h>

self_collision self_collision_mode(const char *word)
{
    if (!strcmp(word, "all")) return SELF_ALL;
    return strcmp(word, "none") ? SELF_FILTERED : SELF_NONE;
}

enum { /* links of the left side and their mates of the right */
       HIP_ROLL = 2,
       HIP_YAW = 3, /* the thigh */
       SHOULDER_YAW = 18,
       ELBOW = 19,
       WRIST_PITCH = 21,
       WRIST_YAW = 22, /* the hand */
       RIGHT_WRIST_PITCH = 28,
       RIGHT_WRIST_YAW = 29,
};

typedef struct {
    int a, b;
} link_pair;

static const link_pair STRUCTURAL[] = {{ELBOW, WRIST_PITCH}, {G1_PELVIS, HIP_ROLL}};

/* People carry their hands at the hips and thighs, before the chest or in one another; retargeted to a robot
 * with longer hands, wider hips and arms further apart they end up inside. Hand and wrist count as one. */
static const link_pair HABITUAL[] = {
    {G1_PELVIS, WRIST_PITCH},
    {G1_PELVIS, WRIST_YAW},
    {HIP_ROLL, WRIST_PITCH},
    {HIP_ROLL, WRIST_YAW},
    {HIP_YAW, WRIST_PITCH},
    {HIP_YAW, WRIST_YAW},
    {G1_TORSO, WRIST_PITCH},
    {G1_TORSO, WRIST_YAW},
    {G1_TORSO, ELBOW},
    {G1_TORSO, SHOULDER_YAW},
    {WRIST_PITCH, RIGHT_WRIST_PITCH},
    {WRIST_PITCH, RIGHT_WRIST_YAW},
    {WRIST_YAW, RIGHT_WRIST_YAW},
};

static int mirror_link(int link)
{
    double sign;
    return link == G1_PELVIS ? G1_PELVIS : 1 + g1_mirror_joint(link - 1, &sign);
}

static bool is_pair(int a, int b, link_pair p)
{
    return (a == p.a && b == p.b) || (a == p.b && b == p.a);
}

/* In the list as it is, or seen in the mirror. */
static bool listed(int a, int b, const link_pair *list, int n)
{
    for (int i = 0; i < n; i++) {
        link_pair mirrored = {mirror_link(list[i].a), mirror_link(list[i].b)};
        if (is_pair(a, b, list[i]) || is_pair(a, b, mirrored)) return true;
    }
    return false;
}

bool g1_pair_structural(int link_a, int link_b)
{
    if (link_a == link_b || G1_LINK[link_a].parent == link_b || G1_LINK[link_b].parent == link_a) return true;
    return listed(link_a, link_b, STRUCTURAL, COUNT(STRUCTURAL));
}

bool g1_pair_collides(int link_a, int link_b, self_collision mode)
{
    if (mode == SELF_NONE || g1_pair_structural(link_a, link_b)) return false;
    return mode == SELF_ALL || !listed(link_a, link_b, HABITUAL, COUNT(HABITUAL));
}
