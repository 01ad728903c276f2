#include "motion/retarget/pose_terms.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

/* ---- Inverse kinematics ---- */

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

/* A link to an orientation. */
static void ik_orientation(ik_frame *f, int link, const double target[4], double weight)
{
    jacobian j;
    double error[4], r[3];
    quat_turn(error, target, f->pose->quat[link]);
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

/* How a point of a link moves, to first order, when the unknowns change by dx. */
static void ik_velocity(double out[3], const fk_pose *pose, int link, const double at[3], const double *dx)
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

/* Weights, in the scale of the skeleton maps: residuals in m and rad are multiplied by them. */
#define POSTURE 0.4       /* towards the default pose: decides only where the targets leave a choice */
#define PLANT_HOLD 120.0  /* x, y of a standing point */
#define PLANT_FLOOR 60.0  /* its height */
#define PLANTED_SHARE 0.2 /* of the foot's own target while it stands */
#define SUPPORT 60.0      /* the lowest point of a body that does not fly */
#define TOUCH 40.0        /* a part other than the feet that carries the person */
#define SUPPORT_EDGE 2    /* frames next to a flight in which it need not be there yet */
#define FLOOR 500.0
#define APART 250.0
#define APART_GAP 0.002  /* m: start to push before surfaces touch */
#define RELEASE 0.01     /* m: a contact that was pushing keeps holding this far out */
#define PLANT_REACH 0.06 /* m: a sole higher than that over the floor does not stand on it */
#define SWING_CLEAR 0.03 /* m */
#define SWING_RISE 0.4   /* m/s: how fast the clearance may grow from the floor */

/* Middle of heel and ball on the sole, and half its width there; in the frame of the ankle roll link. */
static const double SOLE[2][3] = {{-0.05, 0, -0.035}, {0.12, 0, -0.035}};
static const double SOLE_HALF[2] = {0.012, 0.018};

static int ankle_link(int side)
{
    return side ? G1_RIGHT_ANKLE : G1_LEFT_ANKLE;
}

static void sole_point(double out[3], const fk_pose *pose, int end, double aside)
{
    const double *middle = SOLE[end % 2];
    double local[3] = {middle[0], aside * SOLE_HALF[end % 2], middle[2]};
    fk_point(out, pose, ankle_link(end / 2), local);
}

/* Each plant holds its point at its mean place over the plant. */
static void find_holds(scene *s, double (*sums)[3])
{
    const motion_problem *p = s->problem;
    for (int i = 0; i < p->n; i++) {
        fk_pose pose;
        fk(&pose, p->qpos[i]);
        for (int end = 0; end < FOOT_ENDS; end++) {
            int plant = p->c->plant[i][end];
            double at[3];
            if (plant < 0 || p->g->airborne[i]) continue;
            sole_point(at, &pose, end, 0);
            for (int k = 0; k < 2; k++) s->holds[plant].at[k] += at[k];
            sums[plant][0] += 1, sums[plant][1] += at[2];
        }
    }
    for (int k = 0; k < p->c->nplants; k++) {
        double count = sums[k][0];
        if (count < 1) continue;
        s->holds[k].at[0] /= count, s->holds[k].at[1] /= count;
        s->holds[k].holds = sums[k][1] / count < PLANT_REACH;
    }
}

static bool held(const scene *s, int frame, int end)
{
    int plant = s->problem->c->plant[frame][end];
    return plant >= 0 && s->holds[plant].holds;
}

/* A travelling foot keeps clear of the floor, rising with a limited slope from where it stood. */
static void find_clearance(scene *s)
{
    const motion_problem *p = s->problem;
    double rise = SWING_RISE / p->fps;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < p->n; i++) {
            double most = p->c->swing[i][side] ? SWING_CLEAR : 0;
            double before = i > 0 ? s->clearance[i - 1][side] : 0;
            s->clearance[i][side] = fmin(most, before + rise);
        }
        for (int i = p->n - 2; i >= 0; i--)
            s->clearance[i][side] = fmin(s->clearance[i][side], s->clearance[i + 1][side] + rise);
    }
}

hrc_status scene_create(scene *s, const motion_problem *p, arena *memory, hrc_error *err)
{
    *s = (scene){.problem = p};
    double(*sums)[3] = arena_alloc(memory, (size_t)p->c->nplants + 1, sizeof *sums);
    s->holds = ARENA_NEW(memory, plant_hold, p->c->nplants + 1);
    s->clearance = arena_alloc(memory, (size_t)p->n, sizeof *s->clearance);
    s->touching = ARENA_NEW(memory, contact_state, p->n);
    if (!sums || !s->holds || !s->clearance || !s->touching)
        return fail(err, HRC_ENOMEM, "out of memory for the contacts of %d frames", p->n);
    find_holds(s, sums);
    find_clearance(s);
    s->npairs = capsule_pairs(s->pairs, SELF_ALL);
    return HRC_OK;
}

void foot_shares(double share[2], const scene *s, int frame)
{
    for (int side = 0; side < 2; side++)
        share[side] = held(s, frame, 2 * side) || held(s, frame, 2 * side + 1) ? PLANTED_SHARE : 1;
}

void add_target_terms(ik_frame *f, const motion_problem *p, int frame, int stage, const double *foot_share)
{
    const robot_body *r = robot_bodies();
    for (int b = 0; b < BODIES; b++) {
        const map_body *m = &p->map->bodies[b];
        double w = m->position[stage], target[3];
        if (b == BODY_LEFT_FOOT) w *= foot_share[0];
        if (b == BODY_RIGHT_FOOT) w *= foot_share[1];
        for (int k = 0; k < 3; k++) target[k] = p->t->root[frame][k] + p->t->point[frame][b][k];
        /* The place of the root is wanted in both stages: nothing else says where the robot is. */
        if (b == BODY_PELVIS) w = p->map->bodies[b].position[1];
        if (w > 0)
            ik_position(f, r[b].point_link, f->pose->pos[r[b].point_link], target, (double[3]){w, w, w});
        if (m->orientation[stage] > 0)
            ik_orientation(f, r[b].link, p->t->quat[frame][b], m->orientation[stage]);
    }
}

double target_cost(const motion_problem *p, const double *qpos, int frame)
{
    const robot_body *r = robot_bodies();
    double cost = 0;
    fk_pose pose;
    fk(&pose, qpos);
    for (int b = 0; b < BODIES; b++) {
        const map_body *m = &p->map->bodies[b];
        double d[3], angle = quat_angle(pose.quat[r[b].link], p->t->quat[frame][b]);
        for (int k = 0; k < 3; k++)
            d[k] = pose.pos[r[b].point_link][k] - p->t->root[frame][k] - p->t->point[frame][b][k];
        cost += pow(m->position[1] * vec_norm(d), 2) + pow(m->orientation[1] * angle, 2);
    }
    return cost;
}

void add_posture_terms(ik_frame *f, const double *qpos)
{
    for (int j = 0; j < HRC_JOINTS; j++) ik_shift(f, 6 + j, G1_JOINT[j].q0 - qpos[7 + j], POSTURE);
}

static void add_plants(ik_frame *f, const scene *s, int frame)
{
    for (int end = 0; end < FOOT_ENDS; end++) {
        if (!held(s, frame, end)) continue;
        const plant_hold *hold = &s->holds[s->problem->c->plant[frame][end]];
        int link = ankle_link(end / 2);
        double at[3];
        sole_point(at, f->pose, end, 0);
        ik_position(f, link, at, (double[3]){hold->at[0], hold->at[1], 0},
                    (double[3]){PLANT_HOLD, PLANT_HOLD, 0});
        for (int aside = -1; aside <= 1; aside += 2) {
            sole_point(at, f->pose, end, aside);
            ik_height(f, link, at, -at[2], PLANT_FLOOR);
        }
    }
}

/* A contact pushes while it is inside; and in the next step still if in the last one it had to push (see
 * scene_settle), or the solver would return to where it came from and never come to rest. */
static bool pushes(contact *c, double depth)
{
    c->depth = depth;
    c->active = depth > 0 || c->active;
    return c->active;
}

/* Height of the end of a capsule's axis over which its surface is clear of the floor. */
static double clear_height(const scene *s, int frame, const capsule *c, int i)
{
    return c[i].radius + (i < CAPSULE_LEFT_FOOT ? 0 : s->clearance[frame][i >= CAPSULE_RIGHT_FOOT]);
}

static void add_floor(ik_frame *f, const scene *s, int frame, const capsule *c)
{
    contact(*state)[2] = s->touching[frame].floor;
    for (int i = 0; i < G1_GEOMS; i++)
        for (int end = 0; end < 2; end++) {
            const double *p = end ? c[i].b : c[i].a;
            double depth = clear_height(s, frame, c, i) - p[2];
            if (end && memcmp(c[i].a, c[i].b, sizeof c[i].a) == 0) continue; /* a sphere has one end */
            if (pushes(&state[i][end], depth)) ik_height(f, c[i].link, p, depth, FLOOR);
        }
}

/* Nearest points of a pair, the direction between them from the first to the second, and how deep they are.
 */
static double pair_depth(double p[3], double q[3], double n[3], const capsule *a, const capsule *b)
{
    double distance = segment_nearest(p, q, a->a, a->b, b->a, b->b);
    /* Axes that cross have no direction between them: take that between the middles. */
    for (int k = 0; k < 3; k++)
        n[k] = distance > 1e-6 ? q[k] - p[k] : 0.5 * (b->a[k] + b->b[k] - a->a[k] - a->b[k]);
    double norm = vec_norm(n);
    for (int k = 0; k < 3; k++) n[k] = norm > 1e-9 ? n[k] / norm : k == 0;
    return a->radius + b->radius + APART_GAP - distance;
}

static void add_self(ik_frame *f, const scene *s, int frame, const capsule *c)
{
    double middle[G1_GEOMS][3], reach[G1_GEOMS];
    contact *state = s->touching[frame].self;
    for (int i = 0; i < G1_GEOMS; i++) {
        double half[3];
        for (int k = 0; k < 3; k++) {
            middle[i][k] = 0.5 * (c[i].a[k] + c[i].b[k]);
            half[k] = 0.5 * (c[i].a[k] - c[i].b[k]);
        }
        reach[i] = vec_norm(half) + c[i].radius;
    }
    for (int m = 0; m < s->npairs; m++) {
        int i = s->pairs[m].i, j = s->pairs[m].j;
        double d[3], near = reach[i] + reach[j] + APART_GAP, p[3], q[3], n[3];
        for (int k = 0; k < 3; k++) d[k] = middle[j][k] - middle[i][k];
        if (!state[m].active && vec_dot(d, d) >= near * near) continue;
        double depth = pair_depth(p, q, n, c + i, c + j);
        if (pushes(&state[m], depth)) ik_apart(f, c[i].link, p, c[j].link, q, n, depth, APART);
    }
}

void scene_settle(const scene *s, int frame, const fk_pose *pose, const double *dx)
{
    capsule c[G1_GEOMS];
    contact_state *state = &s->touching[frame];
    capsules_place(c, pose);
    for (int i = 0; i < G1_GEOMS; i++)
        for (int end = 0; end < 2; end++) {
            contact *t = &state->floor[i][end];
            double v[3];
            if (!t->active) continue;
            ik_velocity(v, pose, c[i].link, end ? c[i].b : c[i].a, dx);
            t->active = t->depth > v[2];
        }
    for (int m = 0; m < s->npairs; m++) {
        contact *t = &state->self[m];
        if (!t->active) continue;
        const capsule *a = &c[s->pairs[m].i], *b = &c[s->pairs[m].j];
        double p[3], q[3], n[3], va[3], vb[3];
        pair_depth(p, q, n, a, b);
        ik_velocity(va, pose, a->link, p, dx);
        ik_velocity(vb, pose, b->link, q, dx);
        t->active = t->depth > vec_dot(n, vb) - vec_dot(n, va);
    }
}

/* A body that does not fly is carried: the lowest point comes down to the floor. */
static void add_support(ik_frame *f, const scene *s, int frame, const capsule *c)
{
    const ground *g = s->problem->g;
    for (int i = frame - SUPPORT_EDGE; i <= frame + SUPPORT_EDGE; i++)
        if (i >= 0 && i < s->problem->n && g->airborne[i]) return;
    capsule_low low = capsules_lowest(c, 0, G1_GEOMS);
    const capsule *lowest = &c[low.capsule];
    if (low.z > 0) ik_height(f, lowest->link, low.end ? lowest->b : lowest->a, -low.z, SUPPORT);
}

/* What carries the person carries the robot. */
static void add_touches(ik_frame *f, const scene *s, int frame, const capsule *c)
{
    for (int part = 0; part < TOUCH_FEET; part++) {
        double share = s->problem->touching->share[frame][part];
        capsule_low low = touch_lowest(c, part);
        const capsule *lowest = &c[low.capsule];
        if (share > 0 && low.z > 0)
            ik_height(f, lowest->link, low.end ? lowest->b : lowest->a, -low.z, TOUCH * share);
    }
}

void add_scene_terms(ik_frame *f, const scene *s, int frame)
{
    capsule c[G1_GEOMS];
    capsules_place(c, f->pose);
    add_plants(f, s, frame);
    add_support(f, s, frame, c);
    add_touches(f, s, frame, c);
    add_floor(f, s, frame, c);
    add_self(f, s, frame, c);
}
