#include "motion/import/tracked.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "motion/import/formats.h"
#include "motion/import/rate.h"
#include "robot/fk.h"

#define SAMPLES 200  /* frames compared, evenly spaced */
#define FITS 0.03    /* m, mean distance of bodies that the G1's variants may have */
#define RATIO 2      /* the other order must miss by so many times more */
#define MARGIN 0.002 /* m, and by so much more */

static const char *const ORDER_NAME[] = {"MuJoCo's depth-first order", "Isaac's breadth-first order",
                                         "the order of the file's names"};

/* One way to read the file. */
typedef struct {
    order joints, bodies;
    bool xyzw;
    double residual; /* m, mean distance between bodies and forward kinematics */
} reading;

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

static hrc_status check_numbers(const tracked *m, hrc_error *err)
{
    TRY(check_finite(&m->joint_pos, m->path, "joint_pos", err));
    TRY(check_finite(&m->body_pos, m->path, "body_pos_w", err));
    TRY(check_finite(&m->body_quat, m->path, "body_quat_w", err));
    if (m->root) TRY(check_unit(&m->joint_pos, m->path, "joint_pos", HRC_NQ, 3, 1, err));
    return check_unit(&m->body_quat, m->path, "body_quat_w", 4, 0, m->bodies, err);
}

void tracked_orders(tracked *m)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        m->joint[ORDER_MUJOCO][i] = i;
        m->joint[ORDER_ISAAC][i] = G1_ISAAC_TO_MUJOCO[i];
        m->body[ORDER_MUJOCO][i + 1] = i + 1;
        m->body[ORDER_ISAAC][i + 1] = 1 + G1_ISAAC_TO_MUJOCO[i]; /* each joint brings one body */
    }
}

static void frame_as(double qpos[HRC_NQ], const tracked *m, const reading *r, int i)
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
static double residual_of(const tracked *m, const reading *r)
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

static evidence gather_evidence(const tracked *m, const char *forced)
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
static bool orders_agree(const tracked *m)
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
static hrc_status judge(const evidence *e, const tracked *m, bool quat_forced, hrc_error *err)
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

static void explain(clip_decisions *why, const evidence *e, const tracked *m, bool quat_forced)
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

hrc_status tracked_clip(clip *c, const tracked *m, const clip_options *options, clip_decisions *why,
                        hrc_error *err)
{
    if (options->quat && strcmp(options->quat, "xyzw") && strcmp(options->quat, "wxyz"))
        return fail(err, HRC_EINVAL, "%s: quaternion order \"%.20s\", expected wxyz or xyzw", m->path,
                    options->quat);
    TRY(check_numbers(m, err));
    evidence e = gather_evidence(m, options->quat);
    TRY(judge(&e, m, options->quat != NULL, err));
    TRY(clip_create_for(c, m->n, 1, m->path, err));
    for (int i = 0; i < m->n; i++) {
        double qpos[HRC_NQ];
        frame_as(qpos, m, &e.best, i);
        for (int k = 0; k < HRC_NQ; k++) clip_frame(c, i)[k] = (float)qpos[k];
    }
    explain(why, &e, m, options->quat != NULL);
    snprintf(why->format, sizeof why->format, "%s", m->format);
    TRY(clip_check(c, m->path, err));
    rate_settle(c,
                &(rate_source){.path = m->path,
                               .asked = options->fps,
                               .file = m->fps,
                               .velocity = m->joint_vel.count
                                               ? rate_from_velocities(&m->joint_pos, m->root, &m->joint_vel,
                                                                      m->root ? 6 : 0)
                                               : 0,
                               .usual = m->usual_fps},
                why);
    return HRC_OK;
}
