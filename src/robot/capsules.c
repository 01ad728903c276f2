#include "robot/capsules.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

/* ---- Which pairs may touch ---- */

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

const g1_capsule *capsule_info(int i)
{
    int nbody, nfoot;
    const g1_capsule *body = g1_body_capsules(&nbody), *feet = g1_foot_capsules(G1_FEET_EXACT, &nfoot);
    return i < nbody ? body + i : feet + (i - nbody);
}

void capsules_place(capsule out[G1_GEOMS], const fk_pose *pose)
{
    for (int i = 0; i < G1_GEOMS; i++) {
        const g1_capsule *local = capsule_info(i);
        fk_point(out[i].a, pose, local->link, local->a);
        fk_point(out[i].b, pose, local->link, local->b);
        out[i].radius = local->radius;
        out[i].link = local->link;
    }
}

capsule_low capsules_lowest(const capsule *c, int first, int n)
{
    capsule_low low = {INFINITY, first, 0};
    for (int i = first; i < first + n; i++) {
        int end = c[i].b[2] < c[i].a[2];
        double z = (end ? c[i].b[2] : c[i].a[2]) - c[i].radius;
        if (z < low.z) low = (capsule_low){z, i, end};
    }
    return low;
}

double pose_lowest(const double qpos[HRC_NQ])
{
    fk_pose pose;
    capsule c[G1_GEOMS];
    fk(&pose, qpos);
    capsules_place(c, &pose);
    return capsules_lowest(c, 0, G1_GEOMS).z;
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* With u, v the segments and w = a0 - b0, minimise |w + s u - t v|^2 over the unit square: the free
 * minimum in s, then the best t for it, and when that leaves [0,1] the best s for the clamped t. */
double segment_nearest(double p[3], double q[3], const double a0[3], const double a1[3], const double b0[3],
                       const double b1[3])
{
    const double TINY = 1e-18; /* squared length below which a segment is a point: 1 nm */
    double u[3], v[3], w[3];
    for (int k = 0; k < 3; k++) u[k] = a1[k] - a0[k], v[k] = b1[k] - b0[k], w[k] = a0[k] - b0[k];
    double uu = vec_dot(u, u), vv = vec_dot(v, v), uv = vec_dot(u, v), uw = vec_dot(u, w), vw = vec_dot(v, w);
    double s = 0, t = 0;
    if (uu <= TINY && vv > TINY) t = clamp01(vw / vv);
    if (uu > TINY && vv <= TINY) s = clamp01(-uw / uu);
    if (uu > TINY && vv > TINY) {
        double denominator = uu * vv - uv * uv;
        /* Parallel: every s is as good as another before clamping. */
        s = denominator > 1e-12 * uu * vv ? clamp01((uv * vw - uw * vv) / denominator) : 0;
        t = (vw + s * uv) / vv;
        if (t < 0 || t > 1) {
            t = clamp01(t);
            s = clamp01((t * uv - uw) / uu);
        }
    }
    double d[3];
    for (int k = 0; k < 3; k++) {
        p[k] = a0[k] + s * u[k], q[k] = b0[k] + t * v[k];
        d[k] = w[k] + s * u[k] - t * v[k];
    }
    return vec_norm(d);
}

double segment_distance(const double a0[3], const double a1[3], const double b0[3], const double b1[3])
{
    double p[3], q[3];
    return segment_nearest(p, q, a0, a1, b0, b1);
}

double capsule_distance(const capsule *p, const capsule *q)
{
    return segment_distance(p->a, p->b, q->a, q->b) - p->radius - q->radius;
}

int capsule_pairs(capsule_pair out[CAPSULE_PAIRS], self_collision mode)
{
    int n = 0;
    for (int i = 0; i < G1_GEOMS; i++)
        for (int j = i + 1; j < G1_GEOMS; j++)
            if (g1_pair_collides(capsule_info(i)->link, capsule_info(j)->link, mode))
                out[n++] = (capsule_pair){i, j};
    return n;
}

/* A lower bound of the gap that needs no square root of a minimum: midpoints less half lengths. */
static double rough_distance(const capsule *p, const capsule *q, double reach)
{
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = 0.5 * (p->a[k] + p->b[k] - q->a[k] - q->b[k]);
    return vec_norm(d) - reach;
}

double capsules_deepest(capsule_pair *which, const capsule *c, const capsule_pair *pairs, int n)
{
    double best = 1, reach[G1_GEOMS]; /* radius of the sphere around a capsule */
    for (int i = 0; i < G1_GEOMS; i++) {
        double half[3];
        for (int k = 0; k < 3; k++) half[k] = 0.5 * (c[i].a[k] - c[i].b[k]);
        reach[i] = vec_norm(half) + c[i].radius;
    }
    *which = (capsule_pair){0, 0};
    for (int p = 0; p < n; p++) {
        const capsule *a = c + pairs[p].i, *b = c + pairs[p].j;
        if (rough_distance(a, b, reach[pairs[p].i] + reach[pairs[p].j]) >= best) continue;
        double d = capsule_distance(a, b);
        if (d < best) best = d, *which = pairs[p];
    }
    return best;
}
