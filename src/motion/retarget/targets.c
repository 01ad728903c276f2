#include "motion/retarget/targets.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "motion/clip.h"
#include "motion/fix.h"

/* ---- The person ---- */

/* bvh_pose gives a world with z up in which the rest pose of a y-up file faces -y; a quarter turn about z
 * makes that +x, the robot's forward. */
static const double FACING[4] = {M_SQRT1_2, 0, 0, M_SQRT1_2};

#define FEET 2 /* feet start and stop faster than anything else: their cut-off is this much higher */

/* From the ankle to the heel, in lengths of the leg: 5 cm back and 8 cm down for a leg of 84 cm. */
static const double HEEL[3] = {-0.06, 0, -0.095};

typedef struct {
    const bvh *b;
    double metres;                           /* of a metre as the file was read */
    int turn[BODIES], place[BODIES], toe[2]; /* toe -1: the foot's End Site */
    double offset[BODIES][4];     /* body axes -> joint axes, with the rest bone brought onto the robot's */
    double (*pos)[3], (*quat)[4]; /* (njoints) scratch: one frame of the file */
} source;

/* The shortest rotation that takes unit vector a to unit vector b. */
static void shortest_turn(double out[4], const double a[3], const double b[3])
{
    out[0] = 1 + vec_dot(a, b);
    vec_cross(out + 1, a, b);
    quat_normalize(out); /* opposite vectors: the identity, which no sane map needs */
}

static void unit(double v[3])
{
    double norm = vec_norm(v);
    for (int k = 0; k < 3 && norm > 1e-9; k++) v[k] /= norm;
}

/* The file's turn, corrected by the shortest swing so that the bone at rest lies on the robot's. */
static void find_offset(source *s, const skeleton_map *map, int b)
{
    const map_body *m = &map->bodies[b];
    const robot_body *r = &robot_bodies()[b];
    memcpy(s->offset[b], m->offset, sizeof s->offset[b]);
    if (!m->rest[0]) return;
    int end = bvh_find(s->b, m->rest), start = s->b->joints[end].parent;
    double robot[3], bone[3], swing[4];
    const double *own = vec_norm(r->bone) > 0            ? r->bone
                        : strcmp(m->rest, m->place) == 0 ? robot_bodies()[r->parent].bone /* that ends here */
                                                         : r->rest;
    memcpy(robot, own, sizeof robot);
    for (int k = 0; k < 3; k++) bone[k] = s->pos[end][k] - s->pos[start < 0 ? end : start][k];
    if (vec_norm(bone) < 1e-9) return;
    quat_rotate_inv(bone, s->quat[s->turn[b]], bone); /* in the axes of the joint */
    quat_rotate_inv(bone, m->offset, bone);           /* in those of the body */
    unit(bone), unit(robot);
    shortest_turn(swing, robot, bone);
    quat_mul(s->offset[b], m->offset, swing);
}

static double bone_length(const source *s, const char *from, const char *to)
{
    double d[3];
    int a = bvh_find(s->b, from), b = bvh_find(s->b, to);
    for (int k = 0; k < 3; k++) d[k] = s->pos[b][k] - s->pos[a][k];
    return vec_norm(d) * s->metres;
}

static void measure_bones(human *h, const source *s, const skeleton_map *map)
{
    h->leg = h->arm = 0;
    for (int side = 0; side < 2; side++) {
        const map_body *leg = &map->bodies[side ? BODY_RIGHT_THIGH : BODY_LEFT_THIGH];
        const map_body *arm = &map->bodies[side ? BODY_RIGHT_UPPER_ARM : BODY_LEFT_UPPER_ARM];
        for (int k = 0; k < 2; k++) {
            h->leg += 0.5 * bone_length(s, leg[k].place, leg[k + 1].place);
            h->arm += 0.5 * bone_length(s, arm[k].place, arm[k + 1].place);
        }
    }
    double left[3], trunk[3];
    int l = bvh_find(s->b, map->bodies[BODY_LEFT_UPPER_ARM].place);
    int r = bvh_find(s->b, map->bodies[BODY_RIGHT_UPPER_ARM].place);
    for (int k = 0; k < 3; k++) {
        left[k] = 0.5 * (s->pos[l][k] + s->pos[r][k]);
        trunk[k] = (left[k] - s->pos[s->place[BODY_PELVIS]][k]) * s->metres;
    }
    h->torso = vec_norm(trunk);
}

static void place(double out[3], const source *s, int joint)
{
    double p[3];
    for (int k = 0; k < 3; k++) p[k] = s->pos[joint][k] * s->metres;
    quat_rotate(out, FACING, p);
}

static void place_toe(double out[3], const source *s, int side)
{
    const int foot = s->place[side ? BODY_RIGHT_FOOT : BODY_LEFT_FOOT];
    double p[3];
    if (s->toe[side] >= 0) {
        place(out, s, s->toe[side]);
        return;
    }
    quat_rotate(p, s->quat[foot], s->b->joints[foot].end);
    for (int k = 0; k < 3; k++) p[k] = (p[k] + s->pos[foot][k]) * s->metres;
    quat_rotate(out, FACING, p);
}

/* One frame of the file into the places of frame i of the result, at the file's rate. */
static void read_frame(human *h, source *s, int frame, int i)
{
    bvh_pose(s->b, frame, s->pos, s->quat);
    for (int b = 0; b < BODIES; b++) {
        quat_mul(h->quat[i][b], FACING, s->quat[s->turn[b]]);
        quat_mul(h->quat[i][b], h->quat[i][b], s->offset[b]);
    }
    for (int b = 0; b < BODIES; b++) place(h->joint[i][b], s, s->place[b]);
    memcpy(h->hips[i], h->joint[i][BODY_PELVIS], sizeof h->hips[i]);
    for (int side = 0; side < 2; side++) {
        double heel[3];
        for (int k = 0; k < 3; k++) heel[k] = h->leg * HEEL[k];
        quat_rotate(heel, h->quat[i][side ? BODY_RIGHT_FOOT : BODY_LEFT_FOOT], heel);
        place_toe(h->toe[i][side], s, side);
        const double *ankle = h->joint[i][side ? BODY_RIGHT_FOOT : BODY_LEFT_FOOT];
        for (int k = 0; k < 3; k++) h->heel[i][side][k] = ankle[k] + heel[k];
    }
}

static void copy_frame(human *to, int i, const human *from, int a, double t)
{
    int b = t > 0 ? a + 1 : a;
    for (int k = 0; k < BODIES; k++) {
        quat_slerp(to->quat[i][k], from->quat[a][k], from->quat[b][k], t);
        for (int m = 0; m < 3; m++)
            to->joint[i][k][m] = (1 - t) * from->joint[a][k][m] + t * from->joint[b][k][m];
    }
    for (int k = 0; k < 3; k++) {
        to->hips[i][k] = (1 - t) * from->hips[a][k] + t * from->hips[b][k];
        for (int side = 0; side < 2; side++) {
            to->heel[i][side][k] = (1 - t) * from->heel[a][side][k] + t * from->heel[b][side][k];
            to->toe[i][side][k] = (1 - t) * from->toe[a][side][k] + t * from->toe[b][side][k];
        }
    }
}

static bool allocate(human *h, int n, arena *memory)
{
    h->n = n;
    h->hips = arena_alloc(memory, (size_t)n, sizeof *h->hips);
    h->quat = arena_alloc(memory, (size_t)n, sizeof *h->quat);
    h->joint = arena_alloc(memory, (size_t)n, sizeof *h->joint);
    h->heel = arena_alloc(memory, (size_t)n, sizeof *h->heel);
    h->toe = arena_alloc(memory, (size_t)n, sizeof *h->toe);
    return h->hips && h->quat && h->joint && h->heel && h->toe;
}

static void remove_noise(human *h, double hz, double *scratch)
{
    int n = h->n;
    for (int k = 0; k < 3; k++) lowpass(&h->hips[0][k], n, 3, hz, h->fps, scratch);
    for (int k = 0; k < 6; k++) {
        lowpass(&h->heel[0][0][0] + k, n, 6, FEET * hz, h->fps, scratch);
        lowpass(&h->toe[0][0][0] + k, n, 6, FEET * hz, h->fps, scratch);
    }
    for (int k = 0; k < 3 * BODIES; k++) lowpass(&h->joint[0][0][0] + k, n, 3 * BODIES, hz, h->fps, scratch);
    for (int b = 0; b < BODIES; b++) {
        for (int i = 1; i < n; i++) {
            /* q and -q are one orientation: near signs make a smooth signal */
            double *p = h->quat[i - 1][b], *q = h->quat[i][b];
            double dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
            for (int k = 0; dot < 0 && k < 4; k++) q[k] = -q[k];
        }
        for (int k = 0; k < 4; k++) lowpass(&h->quat[0][b][k], n, 4 * BODIES, hz, h->fps, scratch);
        for (int i = 0; i < n; i++) quat_normalize(h->quat[i][b]);
    }
}

static hrc_status check_finite(const human *h, const char *path, hrc_error *err)
{
    for (int i = 0; i < h->n; i++)
        for (int k = 0; k < 3; k++)
            if (!(fabs(h->hips[i][k]) < 1e4))
                return fail(err, HRC_ENONFINITE, "%s: frame %d: the hips are at %g m, expected within 10 km",
                            path, i, h->hips[i][k]);
    return HRC_OK;
}

hrc_status human_create(human *h, const bvh *b, const skeleton_map *map, double fps, double cutoff_hz,
                        const char *path, arena *memory, hrc_error *err)
{
    TRY(skeleton_map_check(map, b, path, err));
    if (b->n < 2) return fail(err, HRC_EFORMAT, "%s: %d frames, expected at least 2", path, b->n);
    source s = {.b = b, .metres = map->unit / b->unit};
    for (int k = 0; k < BODIES; k++) {
        s.turn[k] = bvh_find(b, map->bodies[k].turn);
        s.place[k] = bvh_find(b, map->bodies[k].place);
    }
    for (int side = 0; side < 2; side++) skeleton_map_toe(map, b, side, &s.toe[side]);
    double last = (b->n - 1) * (fps / b->fps) + 1e-6;
    if (last >= CLIP_MAX_FRAMES)
        return fail(err, HRC_EFORMAT, "%s: %d frames at %g fps are too long", path, b->n, b->fps);
    human file = {.fps = b->fps};
    *h = (human){.fps = fps};
    s.pos = arena_alloc(memory, (size_t)b->njoints, sizeof *s.pos);
    s.quat = arena_alloc(memory, (size_t)b->njoints, sizeof *s.quat);
    if (!s.pos || !s.quat || !allocate(&file, b->n, memory) || !allocate(h, (int)last + 1, memory))
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, b->n);
    double *scratch = ARENA_NEW(memory, double, lowpass_scratch(h->n, cutoff_hz, fps));
    if (!scratch) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, b->n);

    bvh_pose(b, BVH_REST, s.pos, s.quat);
    for (int k = 0; k < BODIES; k++) find_offset(&s, map, k);
    measure_bones(h, &s, map);
    if (!(h->leg > 0.05 && h->arm > 0.05))
        return fail(err, HRC_EFORMAT, "%s: legs of %.3f m and arms of %.3f m, expected those of a person",
                    path, h->leg, h->arm);
    for (int i = 0; i < file.n; i++) read_frame(&file, &s, i, i);
    TRY(check_finite(&file, path, err));
    for (int i = 0; i < h->n; i++) {
        double at = i * (b->fps / fps);
        int a = (int)(at + 1e-6);
        if (a > file.n - 1) a = file.n - 1;
        copy_frame(h, i, &file, a, at - a > 1e-6 && a < file.n - 1 ? at - a : 0);
    }
    if (lowpass_useful(h->n, cutoff_hz, fps)) remove_noise(h, cutoff_hz, scratch);
    return HRC_OK;
}

/* Key points of frame i: down the tree, each bone turned with its body. */
static void place_points(targets *t, const human *h, int i)
{
    const robot_body *r = robot_bodies();
    memset(t->point[i][0], 0, sizeof t->point[i][0]);
    for (int b = 0; b < BODIES; b++) {
        quat_mul(t->quat[i][b], h->quat[i][b], r[b].along);
        if (b == BODY_PELVIS) continue;
        double step[3];
        quat_rotate(step, h->quat[i][r[b].parent], r[b].start);
        for (int k = 0; k < 3; k++) t->point[i][b][k] = t->point[i][r[b].parent][k] + step[k];
    }
}

static double length(const double v[3])
{
    return vec_norm(v);
}

hrc_status targets_create(targets *t, const human *h, arena *memory, hrc_error *err)
{
    const robot_body *r = robot_bodies();
    *t = (targets){.n = h->n};
    t->root = arena_alloc(memory, (size_t)h->n, sizeof *t->root);
    t->point = arena_alloc(memory, (size_t)h->n, sizeof *t->point);
    t->quat = arena_alloc(memory, (size_t)h->n, sizeof *t->quat);
    if (!t->root || !t->point || !t->quat)
        return fail(err, HRC_ENOMEM, "out of memory for the targets of %d frames", h->n);
    t->leg_scale = (length(r[BODY_LEFT_THIGH].bone) + length(r[BODY_LEFT_SHIN].bone)) / h->leg;
    t->arm_scale = (length(r[BODY_LEFT_UPPER_ARM].bone) + length(r[BODY_LEFT_FOREARM].bone)) / h->arm;
    t->torso_scale = (r[BODY_TORSO].start[2] + r[BODY_LEFT_UPPER_ARM].start[2]) / fmax(h->torso, 0.05);
    for (int i = 0; i < h->n; i++) {
        for (int k = 0; k < 3; k++) t->root[i][k] = t->leg_scale * h->hips[i][k];
        place_points(t, h, i);
    }
    return HRC_OK;
}

#define NEAR 0.2 /* how much a radian from the pose before counts against one beyond a limit */

/* First joints of the chains. */
enum { HIP = 0, WAIST = 12, SHOULDER = 15, RIGHT_LEG = 6, RIGHT_ARM = 7 };

/* Matrix of a^-1 b. */
static void relative(double m[9], const double a[4], const double b[4])
{
    double q[4];
    quat_local(q, a, b);
    quat_to_mat(m, q);
}

static double safe_asin(double x)
{
    return asin(fmax(-1, fmin(1, x)));
}

static double wrapped(double angle)
{
    return remainder(angle, 2 * M_PI);
}

/* The turn about y alone that comes nearest. */
static double twist_y(const double m[9])
{
    return atan2(m[2] - m[6], m[0] + m[8]);
}

static double outside(int joint, double angle)
{
    return fmax(0, fmax(angle - G1_JOINT[joint].hi, G1_JOINT[joint].lo - angle));
}

/* m = Ry(a) Rx(b) Rz(c), with the mounts' constant turns taken off a and b: the joints' angles. There are two
 * ways, (a, b, c) and (a + pi, pi - b, c + pi); the second is for arms only: a hip that once went there (a
 * leg raised sideways over the horizontal) does not find back. */
static void ball_joint(double *q, const double *near, int joint, const double m[9], double mount_y,
                       double mount_x, int ways)
{
    double a = atan2(m[2], m[8]), b = safe_asin(-m[5]), c = atan2(m[3], m[4]), best = INFINITY;
    for (int way = 0; way < ways; way++) {
        double turn = way ? M_PI : 0;
        double angle[3] = {wrapped(a + turn - mount_y), wrapped((way ? M_PI - b : b) - mount_x),
                           wrapped(c + turn)};
        double bad = 0;
        for (int k = 0; k < 3; k++)
            bad += outside(joint + k, angle[k]) + NEAR * fabs(angle[k] - near[7 + joint + k]);
        if (bad >= best) continue;
        best = bad;
        memcpy(q + 7 + joint, angle, sizeof angle);
    }
}

/* Turn of a link's mount about x or y, from the robot's table. */
static double mount_angle(int link, int axis)
{
    double v[3];
    quat_log(v, G1_LINK[link].quat);
    return v[axis];
}

static void guess_leg(double *q, const double *near, const double (*quat)[4], int side)
{
    int thigh = side ? BODY_RIGHT_THIGH : BODY_LEFT_THIGH, joint = HIP + side * RIGHT_LEG;
    double m[9];
    relative(m, quat[BODY_PELVIS], quat[thigh]);
    ball_joint(q, near, joint, m, mount_angle(joint + 2, 1), 0, 1);
    relative(m, quat[thigh], quat[thigh + 1]);
    q[7 + joint + 3] = wrapped(twist_y(m) - mount_angle(joint + 4, 1));
    relative(m, quat[thigh + 1], quat[thigh + 2]);
    q[7 + joint + 4] = atan2(m[2], m[8]);
    q[7 + joint + 5] = safe_asin(-m[5]);
}

static void guess_arm(double *q, const double *near, const double (*quat)[4], int side)
{
    int upper = side ? BODY_RIGHT_UPPER_ARM : BODY_LEFT_UPPER_ARM, joint = SHOULDER + side * RIGHT_ARM;
    double m[9], mounted[4];
    quat_mul(mounted, quat[BODY_TORSO], G1_LINK[joint + 1].quat);
    relative(m, mounted, quat[upper]);
    ball_joint(q, near, joint, m, 0, mount_angle(joint + 2, 0), 2);
    relative(m, quat[upper], quat[upper + 1]);
    q[7 + joint + 3] = twist_y(m);
    relative(m, quat[upper + 1], quat[upper + 2]); /* Rx Ry Rz */
    q[7 + joint + 4] = atan2(-m[5], m[8]);
    q[7 + joint + 5] = safe_asin(m[2]);
    q[7 + joint + 6] = atan2(-m[1], m[0]);
}

void guess_pose(double qpos[HRC_NQ], const double near[HRC_NQ], const targets *t, int frame)
{
    const double(*quat)[4] = (const double(*)[4])t->quat[frame];
    double m[9];
    memcpy(qpos, t->root[frame], 3 * sizeof *qpos);
    memcpy(qpos + 3, quat[BODY_PELVIS], 4 * sizeof *qpos);
    relative(m, quat[BODY_PELVIS], quat[BODY_TORSO]); /* Rz Rx Ry */
    qpos[7 + WAIST] = atan2(-m[1], m[4]);
    qpos[7 + WAIST + 1] = safe_asin(m[7]);
    qpos[7 + WAIST + 2] = atan2(-m[6], m[8]);
    for (int side = 0; side < 2; side++) {
        guess_leg(qpos, near, quat, side);
        guess_arm(qpos, near, quat, side);
    }
    for (int j = 0; j < HRC_JOINTS; j++)
        qpos[7 + j] = fmin(fmax(qpos[7 + j], G1_JOINT[j].lo), G1_JOINT[j].hi);
}
