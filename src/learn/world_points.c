#include "learn/world_points.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#define REAL real
#define LANES WORLD_LANES
#define F(name) name##_lanes
#include "robot/fk.inc"
#undef REAL
#undef LANES
#undef F

#define EACH_LANE _Pragma("omp simd") for (int l = 0; l < WORLD_LANES; l++)

typedef real vec_lanes[3][WORLD_LANES];

/* ---- The table ---- */

static void add_point(world_point *out, const g1_capsule *c, const double end[3])
{
    int chain[G1_LINKS] = {0}, n = 0;
    *out = (world_point){.link = c->link, .radius = c->radius};
    memcpy(out->local, end, sizeof out->local);
    for (int link = c->link; link > 0; link = G1_LINK[link].parent) chain[n++] = link - 1;
    out->n = n;
    for (int i = 0; i < n; i++) out->joint[i] = chain[n - 1 - i];
}

NN_FN void world_points_make(world_point points[WORLD_POINTS])
{
    int n, at = 0;
    const g1_capsule *body = g1_body_capsules(&n);
    for (int i = 0; i < n; i++) {
        add_point(&points[at++], &body[i], body[i].b);
        if (strstr(body[i].name, "shin")) add_point(&points[at++], &body[i], body[i].a);
    }
    const g1_capsule *feet = g1_foot_capsules(G1_FEET_LIGHT, &n);
    for (int i = 0; i < n; i++) {
        add_point(&points[at++], &feet[i], feet[i].a);
        add_point(&points[at++], &feet[i], feet[i].b);
    }
}

/* ---- Forward ---- */

NN_FN void world_to_lanes(world_lanes out, const real *rows, int n)
{
    for (int l = 0; l < WORLD_LANES; l++) {
        const real *row = rows + (size_t)(l < n ? l : n - 1) * WS;
        for (int i = 0; i < WS; i++) out[i][l] = row[i];
    }
}

NN_FN void world_pose_of(world_pose *out, const world_point *points, const world_lanes s)
{
    real qpos[HRC_NQ][WORLD_LANES] = {{0}};
    EACH_LANE
    qpos[3][l] = 1;
    memcpy(qpos[7], s[WS_Q], sizeof(real) * HRC_JOINTS * WORLD_LANES);
    fk_links_lanes(out->pos, out->quat, out->axis, (const real(*)[WORLD_LANES])qpos);
    for (int i = 0; i < WORLD_POINTS; i++) {
        const int link = points[i].link;
        turn_const_lanes(out->r[i], out->quat[link], points[i].local);
        for (int k = 0; k < 3; k++) EACH_LANE
        out->r[i][k][l] += out->pos[link][k][l];
    }
}

/* c = axis x (r - origin) */
static void lever(vec_lanes c, const world_pose *pose, int point, int joint)
{
    const real(*a)[WORLD_LANES] = pose->axis[joint + 1], (*o)[WORLD_LANES] = pose->pos[joint + 1],
          (*r)[WORLD_LANES] = pose->r[point];
    EACH_LANE
    {
        const real x = r[0][l] - o[0][l], y = r[1][l] - o[1][l], z = r[2][l] - o[2][l];
        c[0][l] = a[1][l] * z - a[2][l] * y;
        c[1][l] = a[2][l] * x - a[0][l] * z;
        c[2][l] = a[0][l] * y - a[1][l] * x;
    }
}

/* out += a x b */
static void cross_lanes(vec_lanes out, const vec_lanes a, const vec_lanes b)
{
    EACH_LANE
    {
        out[0][l] += a[1][l] * b[2][l] - a[2][l] * b[1][l];
        out[1][l] += a[2][l] * b[0][l] - a[0][l] * b[2][l];
        out[2][l] += a[0][l] * b[1][l] - a[1][l] * b[0][l];
    }
}

/* c_j of the whole chain, and the point's velocity y. */
static void point_velocity(vec_lanes y, vec_lanes c[WORLD_CHAIN], const world_pose *pose, int point,
                           const world_point *p, const world_lanes s)
{
    memcpy(y, s[WS_V], sizeof(vec_lanes));
    cross_lanes(y, s + WS_W, pose->r[point]);
    for (int j = 0; j < p->n; j++) {
        const real *qd = s[WS_QD + p->joint[j]];
        lever(c[j], pose, point, p->joint[j]);
        for (int k = 0; k < 3; k++) EACH_LANE
        y[k][l] += qd[l] * c[j][k][l];
    }
}

NN_FN void world_heights(world_per_point height, world_per_point rise, const world_pose *pose,
                         const world_point *points, const world_lanes s)
{
    for (int i = 0; i < WORLD_POINTS; i++) {
        vec_lanes y, c[WORLD_CHAIN];
        point_velocity(y, c, pose, i, &points[i], s);
        EACH_LANE
        {
            height[i][l] = s[WS_Z][l] - (real)points[i].radius;
            rise[i][l] = 0;
        }
        for (int k = 0; k < 3; k++) EACH_LANE
        {
            height[i][l] += s[WS_EZ + k][l] * pose->r[i][k][l];
            rise[i][l] += s[WS_EZ + k][l] * y[k][l];
        }
    }
}

/* ---- Backward ---- */

/* g: gradient of the point's velocity; dr: of the point, w x r included. Along the chain from its end:
 * dq_k += c_k.(dr + g x A_k) + a_k.(D_k x g), D_k = sum_{j>=k} qd_j c_j, A_k = sum_{j<k} qd_j a_j */
static void chain_back(world_lanes ds, const world_pose *pose, const world_point *p,
                       const vec_lanes c[WORLD_CHAIN], const vec_lanes g, const vec_lanes dr,
                       const world_lanes s)
{
    vec_lanes A = {{0}}, D = {{0}};
    for (int j = 0; j < p->n; j++)
        for (int k = 0; k < 3; k++) EACH_LANE
    A[k][l] += s[WS_QD + p->joint[j]][l] * pose->axis[p->joint[j] + 1][k][l];
    for (int j = p->n - 1; j >= 0; j--) {
        const int joint = p->joint[j];
        const real *qd = s[WS_QD + joint];
        vec_lanes pull, twist = {{0}};
        memcpy(pull, dr, sizeof pull);
        for (int k = 0; k < 3; k++) EACH_LANE
        {
            A[k][l] -= qd[l] * pose->axis[joint + 1][k][l];
            D[k][l] += qd[l] * c[j][k][l];
        }
        cross_lanes(pull, g, A);
        cross_lanes(twist, D, g);
        for (int k = 0; k < 3; k++) EACH_LANE
        {
            ds[WS_Q + joint][l] += c[j][k][l] * pull[k][l] + pose->axis[joint + 1][k][l] * twist[k][l];
            ds[WS_QD + joint][l] += g[k][l] * c[j][k][l];
        }
    }
}

NN_FN void world_points_back(world_lanes ds, const world_pose *pose, const world_point *points,
                             const world_lanes s, const world_per_point dheight, const world_per_point drise,
                             const world_vectors dr)
{
    for (int i = 0; i < WORLD_POINTS; i++) {
        vec_lanes y, c[WORLD_CHAIN], g, pull;
        point_velocity(y, c, pose, i, &points[i], s);
        for (int k = 0; k < 3; k++) EACH_LANE
        {
            g[k][l] = drise[i][l] * s[WS_EZ + k][l];
            pull[k][l] = dr[i][k][l] + dheight[i][l] * s[WS_EZ + k][l];
            ds[WS_EZ + k][l] += dheight[i][l] * pose->r[i][k][l] + drise[i][l] * y[k][l];
            ds[WS_V + k][l] += g[k][l];
        }
        EACH_LANE
        ds[WS_Z][l] += dheight[i][l];
        cross_lanes(pull, g, s + WS_W); /* g.(w x r): dr += g x w, dw += r x g */
        cross_lanes(ds + WS_W, pose->r[i], g);
        chain_back(ds, pose, &points[i], c, g, pull, s);
    }
}
