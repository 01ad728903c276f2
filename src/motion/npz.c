/* Reading motion archives of NumPy: joint_pos (T, 29) or, with the root pose in front, (T, 36); body_pos_w
 * (T, B, 3), body_quat_w (T, B, 4), fps. BeyondMimic's carry no names, and their joints and bodies stand in
 * Isaac's breadth-first order or in MuJoCo's depth-first one. The file can be asked: forward kinematics of
 * the right joint angles meets the body positions that stand beside them, that of wrong ones misses by
 * decimetres. The order of the quaternion is settled in the same way. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "motion/archive.h"
#include "motion/formats.h"
#include "motion/npy.h"
#include "robot/fk.h"

#define MEMBER_MAX ((size_t)256 << 20) /* bytes of one array: an hour at 50 fps of the widest known file */
#define BODIES_MAX 256
#define SAMPLES 200  /* frames compared, evenly spaced */
#define FITS 0.03    /* m, mean distance of bodies that the G1's variants may have */
#define RATIO 2      /* the other order must miss by so many times more */
#define MARGIN 0.002 /* m, and by so much more */

typedef enum { ORDER_MUJOCO, ORDER_ISAAC, ORDER_NAMED, ORDERS } order;

static const char *const ORDER_NAME[] = {"MuJoCo's depth-first order", "Isaac's breadth-first order",
                                         "the order of the file's names"};

typedef struct {
    const char *path;
    npy joint_pos, body_pos, body_quat, fps;
    int n, columns, bodies;
    int root; /* columns of joint_pos before the joints: 0 or 7 */
    bool named_joints, named_bodies;
    int joint[ORDERS][HRC_JOINTS]; /* column of joint i behind the root's */
    int body[ORDERS][G1_LINKS];    /* index of link l in body_pos; -1: not there */
} motion;

/* One way to read the file. */
typedef struct {
    order joints, bodies;
    bool xyzw;
    double residual; /* m, mean distance between bodies and forward kinematics */
} reading;

static hrc_status read_array(npy *a, const archive *zip, arena *memory, const char *path, const char *name,
                             hrc_error *err)
{
    char member[64], where[320];
    file_view bytes;
    snprintf(member, sizeof member, "%s.npy", name);
    snprintf(where, sizeof where, "%.200s: array \"%s\"", path, name);
    TRY(archive_read(zip, memory, member, MEMBER_MAX, &bytes, err));
    TRY(npy_parse(a, where, bytes, err));
    return npy_to_c_order(a, where, memory, err);
}

static hrc_status check_array(const npy *a, const char *path, const char *name, int64_t frames, int64_t last,
                              int ndim, hrc_error *err)
{
    bool same = a->kind == 'f' && a->ndim == ndim && a->shape[0] == frames;
    if (!same || (last && a->shape[ndim - 1] != last)) {
        char sizes[100] = "";
        for (int i = 0, used = 0; i < a->ndim && used < 80; i++)
            used += snprintf(sizes + used, sizeof sizes - (size_t)used, "%s%lld", i ? "x" : "",
                             (long long)a->shape[i]);
        return fail(
            err, HRC_EFORMAT,
            "%s: array \"%s\" is <%c%d of shape (%s), expected floats of %d dimensions, %lld frames%s", path,
            name, a->kind, a->kind == 'U' ? a->item / 4 : a->item, sizes, ndim, (long long)frames,
            last == 3   ? " and 3 a body"
            : last == 4 ? " and 4 a body"
                        : "");
    }
    return HRC_OK;
}

/* Every number finite. The place is named by frame and by position within it. */
static hrc_status check_finite(const npy *a, const char *path, const char *name, hrc_error *err)
{
    int64_t width = a->count / a->shape[0];
    for (int64_t i = 0; i < a->count; i++)
        if (!isfinite(npy_number(a, i)))
            return fail(err, HRC_ENONFINITE,
                        "%s: array \"%s\": frame %lld, value %lld is %g, expected a number", path, name,
                        (long long)(i / width), (long long)(i % width), npy_number(a, i));
    return HRC_OK;
}

/* Unit length of the quaternion at `first` of every row of `width` numbers; `rows` of them make a frame. */
static hrc_status check_unit(const npy *a, const char *path, const char *name, int width, int first, int rows,
                             hrc_error *err)
{
    for (int64_t row = 0; row < a->count / width; row++) {
        double square = 0;
        for (int k = 0; k < 4; k++) {
            double x = npy_number(a, row * width + first + k);
            square += x * x;
        }
        if (!(fabs(sqrt(square) - 1) <= 1e-2))
            return fail(err, HRC_EFORMAT,
                        "%s: array \"%s\": frame %lld, body %lld: quaternion of length %.4g, expected 1",
                        path, name, (long long)(row / rows), (long long)(row % rows), sqrt(square));
    }
    return HRC_OK;
}

static hrc_status check_numbers(const motion *m, hrc_error *err)
{
    TRY(check_finite(&m->joint_pos, m->path, "joint_pos", err));
    TRY(check_finite(&m->body_pos, m->path, "body_pos_w", err));
    TRY(check_finite(&m->body_quat, m->path, "body_quat_w", err));
    if (m->root) TRY(check_unit(&m->joint_pos, m->path, "joint_pos", HRC_NQ, 3, 1, err));
    return check_unit(&m->body_quat, m->path, "body_quat_w", 4, 0, m->bodies, err);
}

/* Index of each wanted name among those of the array; -1 when it is not there. */
static void match_names(int *out, const npy *names, const char *(*wanted)(int), int n)
{
    for (int i = 0; i < n; i++) out[i] = -1;
    for (int64_t k = 0; k < names->count; k++) {
        char name[80];
        npy_text(names, k, name, sizeof name);
        for (int i = 0; i < n; i++)
            if (strcmp(name, wanted(i)) == 0) out[i] = (int)k;
    }
}

static const char *joint_name(int i)
{
    return G1_JOINT[i].name;
}

static const char *link_name(int i)
{
    return G1_LINK[i].name;
}

static hrc_status read_names(motion *m, const archive *zip, arena *memory, hrc_error *err)
{
    npy names;
    if (archive_has(zip, "joint_names.npy")) {
        TRY(read_array(&names, zip, memory, m->path, "joint_names", err));
        if (names.kind != 'U' || names.count != HRC_JOINTS)
            return fail(err, HRC_EFORMAT, "%s: array \"joint_names\" has %lld entries, expected %d names",
                        m->path, (long long)names.count, HRC_JOINTS);
        match_names(m->joint[ORDER_NAMED], &names, joint_name, HRC_JOINTS);
        for (int i = 0; i < HRC_JOINTS; i++)
            if (m->joint[ORDER_NAMED][i] < 0)
                return fail(err, HRC_EFORMAT, "%s: array \"joint_names\" lacks \"%s\"", m->path,
                            G1_JOINT[i].name);
        m->named_joints = true;
    }
    if (archive_has(zip, "body_names.npy")) {
        TRY(read_array(&names, zip, memory, m->path, "body_names", err));
        if (names.kind != 'U' || names.count != m->bodies)
            return fail(err, HRC_EFORMAT, "%s: array \"body_names\" has %lld entries for %d bodies", m->path,
                        (long long)names.count, m->bodies);
        match_names(m->body[ORDER_NAMED], &names, link_name, G1_LINKS);
        if (m->body[ORDER_NAMED][G1_PELVIS] < 0)
            return fail(err, HRC_EFORMAT, "%s: array \"body_names\" lacks \"pelvis\"", m->path);
        m->named_bodies = true;
    }
    return HRC_OK;
}

static hrc_status read_motion(motion *m, const archive *zip, arena *memory, hrc_error *err)
{
    TRY(read_array(&m->joint_pos, zip, memory, m->path, "joint_pos", err));
    const npy *q = &m->joint_pos;
    if (q->ndim != 2 || q->shape[0] < 1 || q->shape[0] > CLIP_MAX_FRAMES || q->kind != 'f')
        return fail(err, HRC_EFORMAT,
                    "%s: array \"joint_pos\" has %d dimensions and %lld frames, expected "
                    "floats of 2 and 1 to %d",
                    m->path, q->ndim, q->ndim ? (long long)q->shape[0] : 0, CLIP_MAX_FRAMES);
    if (q->shape[1] != HRC_JOINTS && q->shape[1] != HRC_NQ)
        return fail(err, HRC_EFORMAT,
                    "%s: array \"joint_pos\" has %lld columns, expected %d joints, or %d with the root pose",
                    m->path, (long long)q->shape[1], HRC_JOINTS, HRC_NQ);
    m->n = (int)q->shape[0];
    m->columns = (int)q->shape[1];
    m->root = m->columns - HRC_JOINTS;
    TRY(read_array(&m->body_pos, zip, memory, m->path, "body_pos_w", err));
    TRY(check_array(&m->body_pos, m->path, "body_pos_w", m->n, 3, 3, err));
    if (m->body_pos.shape[1] > BODIES_MAX)
        return fail(err, HRC_EFORMAT, "%s: array \"body_pos_w\" has %lld bodies, expected at most %d",
                    m->path, (long long)m->body_pos.shape[1], BODIES_MAX);
    m->bodies = (int)m->body_pos.shape[1];
    TRY(read_array(&m->body_quat, zip, memory, m->path, "body_quat_w", err));
    TRY(check_array(&m->body_quat, m->path, "body_quat_w", m->n, 4, 3, err));
    if (m->body_quat.shape[1] != m->bodies)
        return fail(err, HRC_EFORMAT, "%s: body_quat_w has %lld bodies, body_pos_w %lld", m->path,
                    (long long)m->body_quat.shape[1], (long long)m->body_pos.shape[1]);
    TRY(read_names(m, zip, memory, err));
    if (!m->named_bodies && m->bodies != G1_LINKS)
        return fail(err, HRC_EFORMAT, "%s: body_pos_w has %d bodies and no names, expected the G1's %d",
                    m->path, m->bodies, G1_LINKS);
    TRY(read_array(&m->fps, zip, memory, m->path, "fps", err));
    if (m->fps.kind == 'U' || m->fps.count != 1)
        return fail(err, HRC_EFORMAT, "%s: array \"fps\" is not one number", m->path);
    return check_numbers(m, err);
}

static void known_orders(motion *m)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        m->joint[ORDER_MUJOCO][i] = i;
        m->joint[ORDER_ISAAC][i] = G1_ISAAC_TO_MUJOCO[i];
        m->body[ORDER_MUJOCO][i + 1] = i + 1;
        m->body[ORDER_ISAAC][i + 1] = 1 + G1_ISAAC_TO_MUJOCO[i]; /* each joint brings one body */
    }
}

static void frame_as(double qpos[HRC_NQ], const motion *m, const reading *r, int i)
{
    int pelvis = m->body[r->bodies][G1_PELVIS];
    int64_t row = (int64_t)i * m->columns, body = (int64_t)i * m->bodies + pelvis;
    for (int k = 0; k < 7; k++) {
        if (m->root)
            qpos[k] = npy_number(&m->joint_pos, row + k);
        else
            qpos[k] =
                k < 3 ? npy_number(&m->body_pos, 3 * body + k) : npy_number(&m->body_quat, 4 * body + k - 3);
    }
    if (r->xyzw) {
        double w = qpos[6];
        memmove(qpos + 4, qpos + 3, 3 * sizeof *qpos);
        qpos[3] = w;
    }
    for (int k = 0; k < HRC_JOINTS; k++)
        qpos[7 + k] = npy_number(&m->joint_pos, row + m->root + m->joint[r->joints][k]);
}

/* NaN when a number is. */
static double residual_of(const motion *m, const reading *r)
{
    double sum = 0;
    int samples = m->n < SAMPLES ? m->n : SAMPLES, count = 0;
    for (int s = 0; s < samples; s++) {
        int i = (int)((int64_t)s * m->n / samples);
        double qpos[HRC_NQ];
        fk_pose pose;
        frame_as(qpos, m, r, i);
        fk(&pose, qpos);
        for (int l = 0; l < G1_LINKS; l++) {
            int b = m->body[r->bodies][l];
            if (b < 0) continue;
            double d[3];
            for (int k = 0; k < 3; k++)
                d[k] = pose.pos[l][k] - npy_number(&m->body_pos, 3 * ((int64_t)i * m->bodies + b) + k);
            sum += sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            count++;
        }
    }
    return sum / count;
}

/* The best reading, and how far the best with the other order of joints and of the quaternion miss (m). */
typedef struct {
    reading best;
    double other_joints, other_quat;
} evidence;

static evidence gather_evidence(const motion *m, const char *forced)
{
    reading all[8];
    int n = 0;
    for (int way = 0; way < 8; way++) {
        reading r = {way & 1 ? ORDER_ISAAC : ORDER_MUJOCO, way & 2 ? ORDER_ISAAC : ORDER_MUJOCO, way & 4, 0};
        if ((m->named_joints && way & 1) || (m->named_bodies && way & 2)) continue;
        if (m->named_joints) r.joints = ORDER_NAMED;
        if (m->named_bodies) r.bodies = ORDER_NAMED;
        if (forced && r.xyzw != !strcmp(forced, "xyzw")) continue;
        r.residual = residual_of(m, &r);
        all[n++] = r;
    }
    evidence e = {all[0], INFINITY, INFINITY};
    for (int i = 1; i < n; i++)
        if (all[i].residual < e.best.residual) e.best = all[i];
    for (int i = 0; i < n; i++) {
        if (all[i].joints != e.best.joints) e.other_joints = fmin(e.other_joints, all[i].residual);
        if (all[i].xyzw != e.best.xyzw) e.other_quat = fmin(e.other_quat, all[i].residual);
    }
    return e;
}

/* Where both orders give the same angles, it does not matter which it is. */
static bool orders_agree(const motion *m)
{
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < HRC_JOINTS; k++) {
            int64_t row = (int64_t)i * m->columns + m->root;
            double a = npy_number(&m->joint_pos, row + m->joint[ORDER_MUJOCO][k]);
            double b = npy_number(&m->joint_pos, row + m->joint[ORDER_ISAAC][k]);
            if (fabs(a - b) > 1e-4) return false;
        }
    return true;
}

static bool clearly_worse(double other, double best)
{
    return other > RATIO * best + MARGIN;
}

static const char *other_order(order o)
{
    return ORDER_NAME[o == ORDER_MUJOCO ? ORDER_ISAAC : ORDER_MUJOCO];
}

/* Refuse what fits nothing, or two things. */
static hrc_status judge(const evidence *e, const motion *m, bool quat_forced, hrc_error *err)
{
    const char *name = ORDER_NAME[e->best.joints], *other = other_order(e->best.joints);
    double best = e->best.residual;
    if (!(best <= FITS) && m->named_joints)
        return fail(err, HRC_EFORMAT,
                    "%s: joint_pos does not fit body_pos_w: forward kinematics of the G1 misses the bodies "
                    "by %.0f mm, expected at most %.0f",
                    m->path, 1e3 * best, 1e3 * FITS);
    if (!(best <= FITS))
        return fail(err, HRC_EFORMAT,
                    "%s: joint_pos fits body_pos_w in no joint order: forward kinematics of the G1 misses "
                    "the bodies by %.0f mm in %s and by %.0f mm in %s, expected at most %.0f",
                    m->path, 1e3 * best, name, 1e3 * e->other_joints, other, 1e3 * FITS);
    if (!m->named_joints && !clearly_worse(e->other_joints, best) && !orders_agree(m))
        return fail(err, HRC_EFORMAT,
                    "%s: cannot tell the joint order: forward kinematics misses the bodies by %.1f mm in %s "
                    "and by %.1f mm in %s",
                    m->path, 1e3 * best, name, 1e3 * e->other_joints, other);
    if (!quat_forced && !clearly_worse(e->other_quat, best))
        return fail(err, HRC_EFORMAT,
                    "%s: cannot tell the order of the quaternion: forward kinematics misses the bodies by "
                    "%.1f mm and %.1f mm; say --quat wxyz or --quat xyzw",
                    m->path, 1e3 * best, 1e3 * e->other_quat);
    return HRC_OK;
}

static void explain(clip_decisions *why, const evidence *e, const motion *m, bool quat_forced)
{
    double mm = 1e3 * e->best.residual;
    const char *quat = e->best.xyzw ? "x,y,z,w" : "w,x,y,z";
    if (m->named_joints)
        snprintf(why->joints, sizeof why->joints,
                 "by the names in the file; forward kinematics meets its bodies within %.1f mm", mm);
    else
        snprintf(why->joints, sizeof why->joints,
                 "%s: forward kinematics meets the file's bodies within %.1f mm; in %s it misses them by "
                 "%.1f mm",
                 ORDER_NAME[e->best.joints], mm, other_order(e->best.joints), 1e3 * e->other_joints);
    if (quat_forced)
        snprintf(why->quat, sizeof why->quat, "%s, as asked for", quat);
    else
        snprintf(why->quat, sizeof why->quat,
                 "%s: read so, forward kinematics is %.1f mm off the file's bodies; read otherwise, %.1f mm",
                 quat, mm, 1e3 * e->other_quat);
}

static hrc_status build_clip(clip *c, const motion *m, const clip_options *options, clip_decisions *why,
                             hrc_error *err)
{
    double fps = npy_number(&m->fps, 0);
    if (!(fps > 0 && fps <= 10000))
        return fail(err, HRC_EFORMAT, "%s: array \"fps\" is %g, expected a rate above 0", m->path, fps);
    if (options->quat && strcmp(options->quat, "xyzw") && strcmp(options->quat, "wxyz"))
        return fail(err, HRC_EINVAL, "%s: quaternion order \"%.20s\", expected wxyz or xyzw", m->path,
                    options->quat);
    evidence e = gather_evidence(m, options->quat);
    TRY(judge(&e, m, options->quat != NULL, err));
    TRY(clip_create_for(c, m->n, options->fps > 0 ? options->fps : fps, m->path, err));
    for (int i = 0; i < m->n; i++) {
        double qpos[HRC_NQ];
        frame_as(qpos, m, &e.best, i);
        for (int k = 0; k < HRC_NQ; k++) clip_frame(c, i)[k] = (float)qpos[k];
    }
    explain(why, &e, m, options->quat != NULL);
    snprintf(why->format, sizeof why->format, "NPZ, %s",
             m->root ? "root pose in joint_pos" : "BeyondMimic's keys");
    snprintf(why->fps, sizeof why->fps, options->fps > 0 ? "%g, as asked for" : "%g, from the file", c->fps);
    return clip_check(c, m->path, err);
}

hrc_status npz_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err)
{
    *c = (clip){0};
    archive *zip;
    TRY(archive_open(&zip, path, bytes, err));
    arena memory = {0};
    motion m = {.path = path};
    known_orders(&m);
    hrc_status status = read_motion(&m, zip, &memory, err);
    if (status >= 0) status = build_clip(c, &m, options, why, err);
    archive_close(zip);
    arena_free(&memory);
    if (status < 0) clip_free(c);
    return status;
}
