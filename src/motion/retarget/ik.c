#include "motion/retarget/ik.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define LONGEST_CHAIN 10 /* waist 3, arm 7 */
#define COLUMNS (6 + LONGEST_CHAIN)
#define LIMIT_MARGIN 1e-5 /* rad: what rounding to float must not exceed */

/* The unknowns that move a link, in ascending order, and what each does to it. */
typedef struct {
    int n;
    int unknown[COLUMNS];
    double column[COLUMNS][3];
} jacobian;

/* Links from the root's child down to `link`; returns how many. */
static int chain_of(int chain[LONGEST_CHAIN], int link)
{
    int n = 0, reversed[LONGEST_CHAIN];
    for (; link > 0; link = G1_LINK[link].parent) reversed[n++] = link;
    for (int i = 0; i < n; i++) chain[i] = reversed[n - 1 - i];
    return n;
}

static void add_column(jacobian *j, int unknown, double x, double y, double z)
{
    j->unknown[j->n] = unknown;
    j->column[j->n][0] = x, j->column[j->n][1] = y, j->column[j->n][2] = z;
    j->n++;
}

static void sweep(double out[3], const double axis[3], const double centre[3], const double at[3])
{
    double arm[3] = {at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]};
    vec_cross(out, axis, arm);
}

/* d point / d unknowns */
static void point_jacobian(jacobian *j, const fk_pose *pose, int link, const double at[3])
{
    int chain[LONGEST_CHAIN], n = chain_of(chain, link);
    double d[3] = {at[0] - pose->pos[0][0], at[1] - pose->pos[0][1], at[2] - pose->pos[0][2]};
    j->n = 0;
    for (int k = 0; k < 3; k++) add_column(j, k, k == 0, k == 1, k == 2);
    add_column(j, 3, 0, -d[2], d[1]); /* e_x x d and so on */
    add_column(j, 4, d[2], 0, -d[0]);
    add_column(j, 5, -d[1], d[0], 0);
    for (int i = 0; i < n; i++) {
        double v[3];
        sweep(v, pose->axis[chain[i]], pose->pos[chain[i]], at);
        add_column(j, 6 + chain[i] - 1, v[0], v[1], v[2]);
    }
}

/* d rotation vector / d unknowns, for a link near its target: the inverse of the left Jacobian of the
 * rotation vector is taken as the identity, which costs steps, not accuracy. */
static void turn_jacobian(jacobian *j, const fk_pose *pose, int link)
{
    int chain[LONGEST_CHAIN], n = chain_of(chain, link);
    j->n = 0;
    for (int k = 0; k < 3; k++) add_column(j, 3 + k, k == 0, k == 1, k == 2);
    for (int i = 0; i < n; i++) {
        const double *a = pose->axis[chain[i]];
        add_column(j, 6 + chain[i] - 1, a[0], a[1], a[2]);
    }
}

static void add_vector(ik_frame *f, const jacobian *j, const double r[3], const double weight[3])
{
    double w[3] = {weight[0] * weight[0], weight[1] * weight[1], weight[2] * weight[2]};
    for (int a = 0; a < j->n; a++) {
        const double *x = j->column[a];
        double wx[3] = {w[0] * x[0], w[1] * x[1], w[2] * x[2]}, *row = f->h[j->unknown[a]];
        f->g[j->unknown[a]] -= vec_dot(wx, r);
        for (int b = a; b < j->n; b++) row[j->unknown[b]] += vec_dot(wx, j->column[b]);
    }
}

/* One row with the given derivatives; unknowns ascending. */
static void add_row(ik_frame *f, const int *unknown, const double *d, int n, double r, double weight)
{
    double w = weight * weight;
    for (int a = 0; a < n; a++) {
        double wd = w * d[a], *row = f->h[unknown[a]];
        f->g[unknown[a]] -= wd * r;
        for (int b = a; b < n; b++) row[unknown[b]] += wd * d[b];
    }
}

void ik_clear(ik_frame *f)
{
    memset(f->h, 0, sizeof(band_matrix));
    memset(f->g, 0, BAND_N * sizeof *f->g);
    for (int i = HRC_NV; i < BAND_N; i++) f->h[i][i] = 1;
}

void ik_position(ik_frame *f, int link, const double at[3], const double target[3], const double weight[3])
{
    jacobian j;
    double r[3] = {at[0] - target[0], at[1] - target[1], at[2] - target[2]};
    point_jacobian(&j, f->pose, link, at);
    add_vector(f, &j, r, weight);
}

void ik_orientation(ik_frame *f, int link, const double target[4], double weight)
{
    jacobian j;
    double inverse[4], error[4], r[3];
    quat_conj(inverse, target);
    quat_mul(error, f->pose->quat[link], inverse);
    quat_log(r, error);
    turn_jacobian(&j, f->pose, link);
    add_vector(f, &j, r, (double[3]){weight, weight, weight});
}

void ik_height(ik_frame *f, int link, const double at[3], double by, double weight)
{
    jacobian j;
    double d[COLUMNS];
    int unknown[COLUMNS], n = 0;
    point_jacobian(&j, f->pose, link, at);
    for (int a = 2; a < j.n; a++) /* x and y of the root do not lift */
        unknown[n] = j.unknown[a], d[n] = j.column[a][2], n++;
    add_row(f, unknown, d, n, -by, weight);
}

void ik_apart(ik_frame *f, int link_a, const double a[3], int link_b, const double b[3], const double n[3],
              double by, double weight)
{
    /* Joints (and the root) that move both points along a line through both do not change the gap: only the
     * joints below the fork count. */
    int chain_a[LONGEST_CHAIN], chain_b[LONGEST_CHAIN];
    int na = chain_of(chain_a, link_a), nb = chain_of(chain_b, link_b), common = 0;
    while (common < na && common < nb && chain_a[common] == chain_b[common]) common++;
    int unknown[2 * LONGEST_CHAIN], count = 0, i = common, k = common;
    double d[2 * LONGEST_CHAIN];
    while (i < na || k < nb) {
        bool from_a = k >= nb || (i < na && chain_a[i] < chain_b[k]);
        int link = from_a ? chain_a[i++] : chain_b[k++];
        double v[3];
        sweep(v, f->pose->axis[link], f->pose->pos[link], from_a ? a : b);
        unknown[count] = 6 + link - 1;
        d[count++] = from_a ? -vec_dot(n, v) : vec_dot(n, v);
    }
    add_row(f, unknown, d, count, -by, weight);
}

void ik_shift(ik_frame *f, int unknown, double by, double weight)
{
    f->h[unknown][unknown] += weight * weight;
    f->g[unknown] += weight * weight * by;
}

void ik_velocity(double out[3], const fk_pose *pose, int link, const double at[3], const double *dx)
{
    jacobian j;
    point_jacobian(&j, pose, link, at);
    out[0] = out[1] = out[2] = 0;
    for (int a = 0; a < j.n; a++)
        for (int k = 0; k < 3; k++) out[k] += j.column[a][k] * dx[j.unknown[a]];
}

void ik_hold_limits(const ik_frame *f, const double *qpos, bool *fixed)
{
    for (int k = 0; k < 6; k++) fixed[k] = false;
    for (int j = 0; j < HRC_JOINTS; j++) {
        double q = qpos[7 + j], g = f->g[6 + j];
        fixed[6 + j] = (q >= G1_JOINT[j].hi - 2 * LIMIT_MARGIN && g > 0) ||
                       (q <= G1_JOINT[j].lo + 2 * LIMIT_MARGIN && g < 0);
    }
}

void ik_move(double *qpos, const double *dx, double most)
{
    double step[4], v[HRC_NV], largest = most;
    for (int k = 0; k < HRC_NV; k++) largest = fmax(largest, fabs(dx[k]));
    for (int k = 0; k < HRC_NV; k++) v[k] = dx[k] * (most / largest);
    for (int k = 0; k < 3; k++) qpos[k] += v[k];
    quat_exp(step, v + 3);
    quat_mul(qpos + 3, step, qpos + 3);
    quat_normalize(qpos + 3);
    for (int j = 0; j < HRC_JOINTS; j++) {
        double lo = G1_JOINT[j].lo + LIMIT_MARGIN, hi = G1_JOINT[j].hi - LIMIT_MARGIN;
        qpos[7 + j] = fmin(fmax(qpos[7 + j] + v[6 + j], lo), hi);
    }
}
