/* Motions in pickles. GMR, TWIST and GMT write one dictionary: fps, root_pos, root_rot (x,y,z,w), dof_pos,
 * and perhaps local_body_pos with link_body_list. ASAP, PBHC and SONIC write {name: motion} through joblib:
 * root_trans_offset, root_rot, dof, pose_aa, fps. Both know robots of 29 and of 23 joints; which joints they
 * are is settled by what else stands in the file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/import/formats.h"
#include "motion/import/pickle.h"
#include "motion/import/rate.h"
#include "robot/fk.h"

#define SAMPLES 200   /* frames compared, evenly spaced */
#define FITS_M 0.03   /* mean distance of bodies that the G1's variants may have */
#define FITS_RAD 0.01 /* mean distance of a joint's rotation vector from its angle about its axis */
#define RATIO 2       /* the other layout must miss by so many times more ... */
#define MARGIN 0.002  /* ... and by so much more, m or rad */
#define SHORTER 0.05  /* most that a quaternion may be off unit length */
#define BODIES_MAX 256
#define DEFAULT_FPS 30

typedef struct {
    const char *path;
    const char *root_key, *dof_key; /* what the arrays are called */
    npy root_pos, root_rot, dof;
    npy bodies;           /* positions (T, B, 3) in the pelvis' frame; count 0: none */
    int link[BODIES_MAX]; /* of body b; -1: not the G1's */
    npy pose_aa;          /* rotation vectors (T, 1 + joints ..., 3); count 0: none */
    bool named;
    joint_layout by_name;
    double fps; /* 0: not in the file */
    int n;
} motion;

/* ---- Reading ---- */

/* An array of floats (T, width) or (T, *, width); T as in `m` unless that is 0 yet. */
static hrc_status get_array(npy *a, const motion *m, const pickle_value *dict, const char *key, int ndim,
                            int width, arena *memory, hrc_error *err)
{
    const pickle_value *v = pickle_get(dict, key);
    char where[320];
    snprintf(where, sizeof where, "%.200s: array \"%s\"", m->path, key);
    if (!v || v->kind != PICKLE_ARRAY)
        return fail(err, HRC_EFORMAT, "%s %s", where, v ? "is no array of NumPy" : "is missing");
    *a = *v->array;
    if (a->kind != 'f' || !npy_is_number(a) || a->ndim != ndim || (width && a->shape[ndim - 1] != width) ||
        a->shape[0] < 1 || a->shape[0] > CLIP_MAX_FRAMES || (m->n && a->shape[0] != m->n))
        return fail(
            err, HRC_EFORMAT,
            "%s is %c%d of %d dimensions, %lld frames and %lld columns, expected floats of %d dimensions, %s "
            "frames and %s columns",
            where, a->kind ? a->kind : '?', a->item, a->ndim, a->ndim ? (long long)a->shape[0] : 0,
            a->ndim ? (long long)a->shape[a->ndim - 1] : 0, ndim,
            m->n ? "as many as the root's" : "1 or more",
            width == 3   ? "3"
            : width == 4 ? "4"
                         : "joints as");
    return npy_to_c_order(a, where, memory, err);
}

static void text_of(const pickle_value *v, char *out, size_t size)
{
    size_t n = v->kind == PICKLE_TEXT ? v->size : 0;
    if (n >= size) n = size - 1;
    if (n) memcpy(out, v->data, n);
    out[n] = 0;
}

/* local_body_pos and link_body_list, where they are good for evidence; else there is none. */
static void get_bodies(motion *m, const pickle_value *dict, arena *memory)
{
    const pickle_value *names = pickle_get(dict, "link_body_list"), *pos = pickle_get(dict, "local_body_pos");
    hrc_error unwanted;
    if (!names || names->kind != PICKLE_LIST || names->n > BODIES_MAX || !pos || pos->kind != PICKLE_ARRAY)
        return;
    npy a = {0};
    if (get_array(&a, m, dict, "local_body_pos", 3, 3, memory, &unwanted) < 0 || a.shape[1] != names->n)
        return;
    int known = 0;
    for (int b = 0; b < names->n; b++) {
        char name[80];
        text_of(names->items[b], name, sizeof name);
        m->link[b] = g1_link_index(name);
        known += m->link[b] > 0;
    }
    if (known >= 8) m->bodies = a;
}

static hrc_status get_names(motion *m, const pickle_value *dict, hrc_error *err)
{
    const pickle_value *names = pickle_get(dict, "dof_names");
    if (!names) names = pickle_get(dict, "joint_names");
    if (!names || names->kind != PICKLE_LIST) return HRC_OK;
    if (names->n != m->dof.shape[1])
        return fail(err, HRC_EFORMAT, "%s: %d names of joints for %lld columns of \"%s\"", m->path, names->n,
                    (long long)m->dof.shape[1], m->dof_key);
    m->by_name = (joint_layout){.name = "the order of the file's names", .columns = names->n};
    for (int i = 0; i < HRC_JOINTS; i++) m->by_name.column[i] = -1;
    for (int k = 0; k < names->n; k++) {
        char name[80];
        text_of(names->items[k], name, sizeof name);
        int joint = layout_joint(name);
        if (joint < 0) return fail(err, HRC_EFORMAT, "%s: \"%s\" is none of the G1's joints", m->path, name);
        m->by_name.column[joint] = k;
    }
    m->named = true;
    return HRC_OK;
}

static hrc_status get_motion(motion *m, const pickle_value *dict, arena *memory, hrc_error *err)
{
    bool gmr = pickle_get(dict, "dof_pos") != NULL;
    m->root_key = gmr ? "root_pos" : "root_trans_offset";
    m->dof_key = gmr ? "dof_pos" : "dof";
    TRY(get_array(&m->dof, m, dict, m->dof_key, 2, 0, memory, err));
    m->n = (int)m->dof.shape[0];
    TRY(get_array(&m->root_pos, m, dict, m->root_key, 2, 3, memory, err));
    TRY(get_array(&m->root_rot, m, dict, "root_rot", 2, 4, memory, err));
    if (pickle_get(dict, "fps") &&
        (!pickle_number(pickle_get(dict, "fps"), &m->fps) || !(m->fps > 0) || m->fps > 10000))
        return fail(err, HRC_EFORMAT, "%s: \"fps\" is no rate above 0", m->path);
    TRY(get_names(m, dict, err));
    get_bodies(m, dict, memory);
    hrc_error unwanted;
    if (pickle_get(dict, "pose_aa") &&
        (get_array(&m->pose_aa, m, dict, "pose_aa", 3, 3, memory, &unwanted) < 0 ||
         m->pose_aa.shape[1] < 1 + m->dof.shape[1]))
        m->pose_aa = (npy){0};
    return HRC_OK;
}

/* ---- Which joints ---- */

static void frame_as(double qpos[HRC_NQ], const motion *m, const joint_layout *l, int i)
{
    for (int k = 0; k < 3; k++) qpos[k] = npy_number(&m->root_pos, 3 * (int64_t)i + k);
    for (int k = 0; k < 4; k++) qpos[3 + k] = npy_number(&m->root_rot, 4 * (int64_t)i + k);
    for (int k = 0; k < HRC_JOINTS; k++)
        qpos[7 + k] = l->column[k] < 0 ? 0 : npy_number(&m->dof, (int64_t)i * m->dof.shape[1] + l->column[k]);
}

/* m, mean over bodies of one frame, in the pelvis' frame */
static double bodies_miss(const motion *m, const joint_layout *l, int i)
{
    double qpos[HRC_NQ], sum = 0;
    int count = 0;
    fk_pose pose;
    frame_as(qpos, m, l, i);
    for (int k = 0; k < 7; k++) qpos[k] = k == 3;
    fk(&pose, qpos);
    for (int b = 0; b < (int)m->bodies.shape[1]; b++) {
        if (m->link[b] < 0) continue;
        double square = 0;
        for (int k = 0; k < 3; k++) {
            double d = pose.pos[m->link[b]][k] -
                       npy_number(&m->bodies, 3 * ((int64_t)i * m->bodies.shape[1] + b) + k);
            square += d * d;
        }
        sum += sqrt(square);
        count++;
    }
    return sum / count;
}

/* rad, mean over joints of one frame: the rotation vector of joint k stands in row 1 + its column */
static double vectors_miss(const motion *m, const joint_layout *l, int i)
{
    double sum = 0;
    for (int j = 0; j < HRC_JOINTS; j++) {
        if (l->column[j] < 0) continue;
        double angle = npy_number(&m->dof, (int64_t)i * m->dof.shape[1] + l->column[j]), square = 0;
        int64_t row = 3 * ((int64_t)i * m->pose_aa.shape[1] + 1 + l->column[j]);
        for (int k = 0; k < 3; k++) {
            double d = npy_number(&m->pose_aa, row + k) - angle * G1_LINK[j + 1].axis[k];
            square += d * d;
        }
        sum += sqrt(square);
    }
    return sum / l->columns;
}

typedef double misses(const motion *, const joint_layout *, int);

/* How far a layout is off what stands beside it; NaN when a number is. */
static double residual(const motion *m, const joint_layout *l, misses *miss)
{
    double sum = 0;
    int samples = m->n < SAMPLES ? m->n : SAMPLES;
    for (int s = 0; s < samples; s++) sum += miss(m, l, (int)((int64_t)s * m->n / samples));
    return sum / samples;
}

static void note_missing(const joint_layout *l, clip_decisions *why)
{
    size_t used = strlen(why->joints);
    if (l->columns < HRC_JOINTS)
        snprintf(why->joints + used, sizeof why->joints - used, "; the %d joints it lacks stay at 0",
                 HRC_JOINTS - l->columns);
}

static hrc_status settle_by(joint_layout *out, const motion *m, const joint_layout *all, int n, misses *miss,
                            clip_decisions *why, hrc_error *err)
{
    bool bodies = miss == bodies_miss;
    double off[LAYOUTS_MAX] = {0}, fits = bodies ? FITS_M : FITS_RAD;
    int best = 0;
    for (int i = 0; i < n; i++) {
        off[i] = residual(m, &all[i], miss);
        if (off[i] < off[best]) best = i;
    }
    const char *what = bodies ? "forward kinematics is off the file's bodies" : "angles are off pose_aa";
    const char *unit = bodies ? "mm" : "mrad";
    if (!(off[best] <= fits))
        return fail(err, HRC_EFORMAT,
                    "%s: \"%s\" fits no layout of joints: %s by %.0f %s in %s, expected at most %.0f",
                    m->path, m->dof_key, what, 1e3 * off[best], unit, all[best].name, 1e3 * fits);
    if (n > 1 && !(off[1 - best] > RATIO * off[best] + MARGIN) && best != 0)
        return fail(err, HRC_EFORMAT, "%s: cannot tell the joints: %s by %.1f %s in %s and by %.1f %s in %s",
                    m->path, what, 1e3 * off[best], unit, all[best].name, 1e3 * off[1 - best], unit,
                    all[1 - best].name);
    int used = snprintf(why->joints, sizeof why->joints, "%s: %s by %.1f %s", all[best].name, what,
                        1e3 * off[best], unit);
    if (n > 1)
        snprintf(why->joints + used, sizeof why->joints - (size_t)used, "; in %s by %.1f %s",
                 all[1 - best].name, 1e3 * off[1 - best], unit);
    *out = all[best];
    return HRC_OK;
}

static hrc_status settle_joints(joint_layout *out, const motion *m, clip_decisions *why, hrc_error *err)
{
    joint_layout all[LAYOUTS_MAX];
    int n = m->named ? 1 : layouts_of(all, (int)(m->dof.shape[1] > 1000 ? 0 : m->dof.shape[1]));
    if (m->named) all[0] = m->by_name;
    if (n == 0)
        return fail(err, HRC_EFORMAT, "%s: \"%s\" has %lld columns, expected 29 or 23 joints", m->path,
                    m->dof_key, (long long)m->dof.shape[1]);
    if (m->bodies.count || m->pose_aa.count) {
        TRY(settle_by(out, m, all, n, m->bodies.count ? bodies_miss : vectors_miss, why, err));
    } else {
        *out = all[0];
        snprintf(why->joints, sizeof why->joints,
                 m->named ? "by the names in the file"
                          : "%s, as this format has it; "
                            "nothing in the file can confirm it",
                 all[0].name);
    }
    note_missing(out, why);
    return HRC_OK;
}

/* Some interpolate quaternions and leave them shorter. Returns how far the worst is off unit length. */
static double normalise(clip *c)
{
    double worst = 0;
    for (int i = 0; i < c->n; i++) {
        float *frame = clip_frame(c, i);
        double q[4] = {frame[3], frame[4], frame[5], frame[6]}, off = fabs(quat_normalize(q) - 1);
        if (!(off <= SHORTER)) continue; /* which clip_check refuses */
        worst = fmax(worst, off);
        for (int k = 0; k < 4 && off > 1e-6; k++) frame[3 + k] = (float)q[k];
    }
    return worst;
}

static hrc_status build_clip(clip *c, const motion *m, const char *name, const clip_options *options,
                             clip_decisions *why, hrc_error *err)
{
    joint_layout layout;
    TRY(settle_joints(&layout, m, why, err));
    TRY(name ? clip_create(c, m->n, 1, name, err) : clip_create_for(c, m->n, 1, m->path, err));
    c->fps = options->fps > 0 ? options->fps : m->fps > 0 ? m->fps : DEFAULT_FPS;
    for (int i = 0; i < m->n; i++) {
        double qpos[HRC_NQ];
        frame_as(qpos, m, &layout, i);
        for (int k = 0; k < HRC_NQ; k++) clip_frame(c, i)[k] = (float)qpos[k];
    }
    double off = normalise(c);
    TRY(clip_check(c, m->path, err));
    TRY(quat_order_settle_as(c, m->path, options->quat, "xyzw", "this format", why, err));
    size_t used = strlen(why->quat);
    if (off > 1e-3)
        snprintf(why->quat + used, sizeof why->quat - used, "; normalised: lengths were up to %.1f %% off 1",
                 100 * off);
    rate_settle(
        c, &(rate_source){.asked = options->fps, .file = m->fps, .usual = DEFAULT_FPS, .path = m->path}, why);
    return HRC_OK;
}

/* ---- Which motion ---- */

static bool is_motion(const pickle_value *v)
{
    return pickle_get(v, "dof_pos") || pickle_get(v, "dof");
}

/* Names of the motions of {name: motion}, as far as they go. */
static int list_names(char *out, size_t size, const pickle_value *top)
{
    int count = 0;
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i + 1 < top->n; i += 2) {
        if (!is_motion(top->items[i + 1])) continue;
        char name[48];
        text_of(top->items[i], name, sizeof name);
        if (used < size) used += (size_t)snprintf(out + used, size - used, "%s%s", count ? ", " : "", name);
        count++;
    }
    return count;
}

/* The motion asked for, or the only one; `name` is its key, "" where the file is one motion. */
static hrc_status choose(const pickle_value **out, char *name, size_t size, const pickle_value *top,
                         const char *path, const char *wanted, hrc_error *err)
{
    char names[160];
    name[0] = 0;
    *out = top;
    if (is_motion(top) && !wanted) return HRC_OK;
    int count = top->kind == PICKLE_DICT ? list_names(names, sizeof names, top) : 0;
    if (count == 0)
        return fail(
            err, HRC_EFORMAT,
            "%s: is a pickle without a motion%s: expected a dictionary with root_pos, root_rot, dof_pos and fps, "
            "or names with root_trans_offset, root_rot, dof and fps",
            path, is_motion(top) ? " of that name" : "");
    for (int i = 0; i + 1 < top->n; i += 2) {
        if (!is_motion(top->items[i + 1])) continue;
        text_of(top->items[i], name, size);
        *out = top->items[i + 1];
        if (wanted ? strcmp(name, wanted) == 0 : count == 1) return HRC_OK;
    }
    if (wanted)
        return fail(err, HRC_EINVAL, "%s: has no motion \"%.80s\" among its %d: %s", path, wanted, count,
                    names);
    return fail(err, HRC_EINVAL, "%s: holds %d motions; name one of them as FILE#NAME: %s", path, count,
                names);
}

static hrc_status parse_object(clip *c, const char *path, const pickle_value *top,
                               const clip_options *options, clip_decisions *why, arena *memory,
                               hrc_error *err)
{
    motion *m = ARENA_NEW(memory, motion, 1);
    if (!m) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    m->path = path;
    const pickle_value *dict;
    char name[200];
    TRY(choose(&dict, name, sizeof name, top, path, options->member, err));
    TRY(get_motion(m, dict, memory, err));
    TRY(build_clip(c, m, name[0] ? name : NULL, options, why, err));
    snprintf(why->format, sizeof why->format, "pickle, keys of %s",
             pickle_get(dict, "dof_pos") ? "GMR, TWIST and GMT" : "ASAP, PBHC and SONIC");
    return HRC_OK;
}

hrc_status pkl_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err)
{
    *c = (clip){0};
    arena memory = {0};
    char *expanded;
    const pickle_value *top;
    TRY(pickle_expand(&expanded, &bytes, path, err));
    hrc_status status = pickle_parse(&top, path, bytes, &memory, err);
    if (status >= 0) status = parse_object(c, path, top, options, why, &memory, err);
    arena_free(&memory);
    free(expanded);
    if (status < 0) clip_free(c);
    return status;
}
