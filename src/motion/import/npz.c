/* Reading motion archives of NumPy: joint_pos (T, 29) or, with the root pose in front, (T, 36); body_pos_w
 * (T, B, 3), body_quat_w (T, B, 4), fps. BeyondMimic's carry no names, and their joints and bodies stand in
 * Isaac's breadth-first order or in MuJoCo's depth-first one: tracked.c settles it. Archives with qpos, and
 * those of LocoMuJoCo, are read too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/import/archive.h"
#include "motion/import/formats.h"
#include "motion/import/npy.h"
#include "motion/import/rate.h"
#include "motion/import/tracked.h"
#include "robot/fk.h"

#define MEMBER_MAX ((size_t)256 << 20) /* bytes of one array: an hour at 50 fps of the widest known file */
#define BODIES_MAX 256

/* An archive and where its arrays go. */
typedef struct {
    const archive *zip;
    arena *memory;
    const char *path;
} source;

static bool has(const source *s, const char *name)
{
    char member[96];
    snprintf(member, sizeof member, "%s.npy", name);
    return archive_has(s->zip, member);
}

static hrc_status npz_array(npy *a, const source *s, const char *name, hrc_error *err)
{
    char member[64], where[320];
    file_view bytes;
    snprintf(member, sizeof member, "%s.npy", name);
    snprintf(where, sizeof where, "%.200s: array \"%s\"", s->path, name);
    TRY(archive_read(s->zip, s->memory, member, MEMBER_MAX, &bytes, err));
    TRY(npy_parse(a, where, bytes, err));
    return npy_to_c_order(a, where, s->memory, err);
}

static hrc_status npz_rate(double *fps, const source *s, const char *name, hrc_error *err)
{
    npy a;
    TRY(npz_array(&a, s, name, err));
    if (!npy_is_number(&a) || a.count != 1)
        return fail(err, HRC_EFORMAT, "%s: array \"%s\" is not one number", s->path, name);
    *fps = npy_number(&a, 0);
    if (!(*fps > 0 && *fps <= 10000))
        return fail(err, HRC_EFORMAT, "%s: array \"%s\" is %g, expected a rate above 0", s->path, name, *fps);
    return HRC_OK;
}

/* Archives that hold qpos itself, and LocoMuJoCo's sets of one array a joint. The latter are of an older
 * model of the G1, whose hips, knees and ankles have other zeros, with a root of three slides and three
 * hinges. */

#define DEFAULT_FPS 50
#define ROOT 7
#define LOCO_HEIGHT 0.755 /* m, of the pelvis where the slide pelvis_ty is 0 */

/* ---- qpos ---- */

static hrc_status read_layout(joint_layout *l, const source *s, int columns, clip_decisions *why,
                              hrc_error *err)
{
    joint_layout known[LAYOUTS_MAX];
    npy names;
    if (!has(s, "joint_names")) {
        if (layouts_of(known, columns) == 0)
            return fail(err, HRC_EFORMAT,
                        "%s: array \"qpos\" has %d columns, expected 7 of the root and 29 or 23 joints",
                        s->path, columns + ROOT);
        *l = known[0];
        snprintf(why->joints, sizeof why->joints, "%s, as qpos has it", l->name);
        return HRC_OK;
    }
    TRY(npz_array(&names, s, "joint_names", err));
    int root = (int)(names.count - columns); /* the free joint may be among the names */
    if (names.kind != 'U' || (root != 0 && root != 1))
        return fail(err, HRC_EFORMAT, "%s: array \"joint_names\" has %lld entries for %d joints", s->path,
                    (long long)names.count, columns);
    *l = (joint_layout){.columns = columns};
    for (int i = 0; i < HRC_JOINTS; i++) l->column[i] = -1;
    for (int k = 0; k < columns; k++) {
        char name[80];
        npy_text(&names, k + root, name, sizeof name);
        int joint = layout_joint(name);
        if (joint < 0) return fail(err, HRC_EFORMAT, "%s: \"%s\" is none of the G1's joints", s->path, name);
        l->column[joint] = k;
    }
    snprintf(why->joints, sizeof why->joints, "by the names in the file");
    return HRC_OK;
}

/* The rate under any name that it goes by; 0 when there is none. */
static hrc_status read_rate(double *fps, const source *s, hrc_error *err)
{
    *fps = 0;
    if (has(s, "fps")) return npz_rate(fps, s, "fps", err);
    if (has(s, "frequency")) return npz_rate(fps, s, "frequency", err);
    if (!has(s, "dt")) return HRC_OK;
    TRY(npz_rate(fps, s, "dt", err));
    *fps = 1 / *fps;
    return HRC_OK;
}

static hrc_status npz_qpos_parse(clip *c, const source *s, const clip_options *options, clip_decisions *why,
                                 hrc_error *err)
{
    npy q, velocity = {0};
    joint_layout l;
    double fps;
    TRY(npz_array(&q, s, "qpos", err));
    if (q.kind != 'f' || q.ndim != 2 || q.shape[0] < 1 || q.shape[0] > CLIP_MAX_FRAMES ||
        q.shape[1] <= ROOT || q.shape[1] > 1000)
        return fail(err, HRC_EFORMAT,
                    "%s: array \"qpos\" is <%c%d of %d dimensions, expected floats of 2: frames, %d", s->path,
                    q.kind, q.item, q.ndim, HRC_NQ);
    int width = (int)q.shape[1];
    TRY(read_layout(&l, s, width - ROOT, why, err));
    TRY(read_rate(&fps, s, err));
    hrc_error unwanted;
    if (has(s, "qvel") && npz_array(&velocity, s, "qvel", &unwanted) < 0) velocity = (npy){0};
    double assumed = options->fps > 0 ? options->fps : fps > 0 ? fps : DEFAULT_FPS; /* good for sliding */
    TRY(clip_create_for(c, (int)q.shape[0], assumed, s->path, err));
    for (int i = 0; i < c->n; i++) {
        float *frame = clip_frame(c, i);
        for (int k = 0; k < ROOT; k++) frame[k] = (float)npy_number(&q, (int64_t)i * width + k);
        for (int k = 0; k < HRC_JOINTS; k++)
            frame[ROOT + k] =
                l.column[k] < 0 ? 0 : (float)npy_number(&q, (int64_t)i * width + ROOT + l.column[k]);
    }
    TRY(clip_check(c, s->path, err));
    TRY(quat_order_settle_as(c, s->path, options->quat, "wxyz", "qpos", why, err));
    snprintf(why->format, sizeof why->format, "NPZ, qpos");
    rate_settle(c,
                &(rate_source){.path = s->path,
                               .asked = options->fps,
                               .file = fps,
                               .velocity = velocity.count ? rate_from_velocities(&q, ROOT, &velocity, 6) : 0,
                               .usual = DEFAULT_FPS},
                why);
    return HRC_OK;
}

/* ---- LocoMuJoCo, one array a joint ---- */

static hrc_status read_series(npy *a, const source *s, const char *name, int n, hrc_error *err)
{
    TRY(npz_array(a, s, name, err));
    if (a->kind != 'f' || a->ndim != 1 || a->shape[0] < 1 || a->shape[0] > CLIP_MAX_FRAMES ||
        (n && a->shape[0] != n))
        return fail(err, HRC_EFORMAT, "%s: array \"%s\" is no series of floats as long as q_pelvis_tx",
                    s->path, name);
    return HRC_OK;
}

/* The root: x, y, z along the world's axes, then turns about -y, x and z, each in the frame that the last
 * left. */
static hrc_status read_root(clip *c, const source *s, hrc_error *err)
{
    static const char *const NAME[6] = {"q_pelvis_tx",   "q_pelvis_tz",   "q_pelvis_ty",
                                        "q_pelvis_tilt", "q_pelvis_list", "q_pelvis_rotation"};
    static const double AXIS[3][3] = {{0, -1, 0}, {1, 0, 0}, {0, 0, 1}};
    npy part[6];
    TRY(read_series(&part[0], s, NAME[0], 0, err));
    int n = (int)part[0].shape[0];
    for (int k = 1; k < 6; k++) TRY(read_series(&part[k], s, NAME[k], n, err));
    TRY(clip_create_for(c, n, 1, s->path, err));
    for (int i = 0; i < n; i++) {
        double quat[4] = {1, 0, 0, 0};
        for (int k = 0; k < 3; k++) {
            double turn[4], vector[3], before[4];
            clip_frame(c, i)[k] = (float)(npy_number(&part[k], i) + (k == 2 ? LOCO_HEIGHT : 0));
            for (int d = 0; d < 3; d++) vector[d] = AXIS[k][d] * npy_number(&part[3 + k], i);
            quat_exp(turn, vector);
            memcpy(before, quat, sizeof before);
            quat_mul(quat, before, turn);
        }
        for (int k = 0; k < 4; k++) clip_frame(c, i)[3 + k] = (float)quat[k];
    }
    return HRC_OK;
}

/* What its zero of a joint is in ours, rad: its links are mounted at -20, +29.2 and -9.2 degrees from hip to
 * ankle, ours at -10.02 and +10.02. */
static double loco_zero(const char *joint)
{
    if (strstr(joint, "_hip_pitch")) return -0.34907 + 0.17490;
    if (strstr(joint, "_knee")) return 0.50961 - 0.17490;
    return strstr(joint, "_ankle_pitch") ? -0.16053 : 0;
}

/* Its names of the joints that are called otherwise. Its model has neither lumbar_extension nor
 * lumbar_bending, which come from the person's skeleton: the waist bends in neither. */
static void loco_name(char *out, size_t size, const char *joint)
{
    bool elbow = strstr(joint, "_elbow_joint") != NULL, roll = strstr(joint, "_wrist_roll_joint") != NULL;
    int side = (int)(strchr(joint, '_') - joint);
    if (strcmp(joint, "waist_yaw_joint") == 0)
        snprintf(out, size, "q_torso_joint");
    else if (elbow || roll)
        snprintf(out, size, "q_%.*s_elbow_%s_joint", side, joint, elbow ? "pitch" : "roll");
    else
        snprintf(out, size, "q_%s", joint);
}

static hrc_status npz_loco_parse(clip *c, const source *s, const clip_options *options, clip_decisions *why,
                                 hrc_error *err)
{
    TRY(read_root(c, s, err));
    double over = 0, under = 0; /* of velocities and of differences */
    int missing = 0;
    for (int j = 0; j < HRC_JOINTS; j++) {
        char name[80], rates[81];
        npy q, dq;
        loco_name(name, sizeof name, G1_JOINT[j].name);
        if (!has(s, name)) {
            missing++;
            continue;
        }
        TRY(read_series(&q, s, name, c->n, err));
        for (int i = 0; i < c->n; i++)
            clip_frame(c, i)[ROOT + j] = (float)(npy_number(&q, i) + loco_zero(G1_JOINT[j].name));
        snprintf(rates, sizeof rates, "d%s", name);
        if (!has(s, rates)) continue;
        TRY(read_series(&dq, s, rates, c->n, err));
        rate_add(&over, &under, &q, 0, 1, &dq, 0, 1);
    }
    if (missing > HRC_JOINTS / 2)
        return fail(err, HRC_EFORMAT, "%s: lacks %d of the G1's joints: is of another robot", s->path,
                    missing);
    TRY(clip_check(c, s->path, err));
    snprintf(why->format, sizeof why->format, "NPZ, LocoMuJoCo's series of an older G1");
    snprintf(
        why->joints, sizeof why->joints,
        "by the names in the file; hips, knees and ankles moved to our zeros; the %d joints it lacks stay at 0",
        missing);
    snprintf(why->quat, sizeof why->quat, "from tilt, list and rotation of the pelvis");
    rate_settle(
        c,
        &(rate_source){
            .path = s->path, .asked = options->fps, .velocity = rate_ratio(over, under), .usual = 500},
        why);
    return HRC_OK;
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

static hrc_status read_names(tracked *m, const source *s, hrc_error *err)
{
    npy names;
    if (has(s, "joint_names")) {
        TRY(npz_array(&names, s, "joint_names", err));
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
    if (has(s, "body_names")) {
        TRY(npz_array(&names, s, "body_names", err));
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

static hrc_status read_motion(tracked *m, const source *s, hrc_error *err)
{
    TRY(npz_array(&m->joint_pos, s, "joint_pos", err));
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
    TRY(npz_array(&m->body_pos, s, "body_pos_w", err));
    TRY(check_array(&m->body_pos, m->path, "body_pos_w", m->n, 3, 3, err));
    if (m->body_pos.shape[1] > BODIES_MAX)
        return fail(err, HRC_EFORMAT, "%s: array \"body_pos_w\" has %lld bodies, expected at most %d",
                    m->path, (long long)m->body_pos.shape[1], BODIES_MAX);
    m->bodies = (int)m->body_pos.shape[1];
    TRY(npz_array(&m->body_quat, s, "body_quat_w", err));
    TRY(check_array(&m->body_quat, m->path, "body_quat_w", m->n, 4, 3, err));
    if (m->body_quat.shape[1] != m->bodies)
        return fail(err, HRC_EFORMAT, "%s: body_quat_w has %lld bodies, body_pos_w %lld", m->path,
                    (long long)m->body_quat.shape[1], (long long)m->body_pos.shape[1]);
    TRY(read_names(m, s, err));
    if (!m->named_bodies && m->bodies != G1_LINKS)
        return fail(err, HRC_EFORMAT, "%s: body_pos_w has %d bodies and no names, expected the G1's %d",
                    m->path, m->bodies, G1_LINKS);
    hrc_error unwanted; /* velocities are evidence of the rate, no more */
    if (has(s, "joint_vel") && npz_array(&m->joint_vel, s, "joint_vel", &unwanted) < 0)
        m->joint_vel = (npy){0};
    return npz_rate(&m->fps, s, "fps", err);
}

static hrc_status parse_tracked(clip *c, const source *s, const clip_options *options, clip_decisions *why,
                                hrc_error *err)
{
    tracked m = {.path = s->path};
    tracked_orders(&m);
    TRY(read_motion(&m, s, err));
    m.format = m.root ? "NPZ, root pose in joint_pos" : "NPZ, BeyondMimic's keys";
    return tracked_clip(c, &m, options, why, err);
}

hrc_status npz_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err)
{
    *c = (clip){0};
    archive *zip;
    TRY(archive_open(&zip, path, bytes, err));
    arena memory = {0};
    const source s = {zip, &memory, path};
    bool qpos = has(&s, "qpos"), loco = has(&s, "q_pelvis_tx");
    hrc_status status = (qpos   ? npz_qpos_parse
                         : loco ? npz_loco_parse
                                : parse_tracked)(c, &s, options, why, err);
    archive_close(zip);
    arena_free(&memory);
    if (status < 0) clip_free(c);
    return status;
}

/* Writing BeyondMimic's archive: all its keys, float32, 30 bodies, joints and bodies in MuJoCo's order, body
 * velocities at the links' origins. Stored, not deflated, as np.savez does. */

enum { FPS, JOINT_POS, JOINT_VEL, BODY_POS, BODY_QUAT, BODY_LIN_VEL, BODY_ANG_VEL, ARRAYS };

static const struct {
    const char *member;
    int bodies, width; /* shape (T, width) or, with bodies, (T, bodies, width) */
} LAYOUT[ARRAYS] = {
    [FPS] = {"fps.npy", 0, 0},
    [JOINT_POS] = {"joint_pos.npy", 0, HRC_JOINTS},
    [JOINT_VEL] = {"joint_vel.npy", 0, HRC_JOINTS},
    [BODY_POS] = {"body_pos_w.npy", G1_LINKS, 3},
    [BODY_QUAT] = {"body_quat_w.npy", G1_LINKS, 4},
    [BODY_LIN_VEL] = {"body_lin_vel_w.npy", G1_LINKS, 3},
    [BODY_ANG_VEL] = {"body_ang_vel_w.npy", G1_LINKS, 3},
};

static size_t frame_floats(int array)
{
    return (size_t)(LAYOUT[array].bodies ? LAYOUT[array].bodies * LAYOUT[array].width : LAYOUT[array].width);
}

static void put(char *array, int a, int frame, const double *values)
{
    size_t n = frame_floats(a);
    float *out = (float *)(void *)(array + NPY_HEADER) + (size_t)frame * n;
    for (size_t k = 0; k < n; k++) out[k] = (float)values[k];
}

static void fill_frames(char **arrays, const clip *c, const float *qvel)
{
    for (int i = 0; i < c->n; i++) {
        double qpos[HRC_NQ], rates[HRC_NV];
        fk_pose pose;
        fk_velocity velocity;
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = clip_frame(c, i)[k];
        for (int k = 0; k < HRC_NV; k++) rates[k] = qvel[(size_t)i * HRC_NV + k];
        fk(&pose, qpos);
        fk_velocities(&velocity, &pose, rates);
        put(arrays[JOINT_POS], JOINT_POS, i, qpos + 7);
        put(arrays[JOINT_VEL], JOINT_VEL, i, rates + 6);
        put(arrays[BODY_POS], BODY_POS, i, pose.pos[0]);
        put(arrays[BODY_QUAT], BODY_QUAT, i, pose.quat[0]);
        put(arrays[BODY_LIN_VEL], BODY_LIN_VEL, i, velocity.lin[0]);
        put(arrays[BODY_ANG_VEL], BODY_ANG_VEL, i, velocity.ang[0]);
    }
}

/* Header and room for one array. */
static char *new_array(arena *memory, int a, int frames, size_t *size)
{
    int64_t shape[3] = {frames, LAYOUT[a].width, 0};
    if (LAYOUT[a].bodies) shape[1] = LAYOUT[a].bodies, shape[2] = LAYOUT[a].width;
    *size = NPY_HEADER + (a == FPS ? sizeof(int64_t) : (size_t)frames * frame_floats(a) * sizeof(float));
    char *array = arena_alloc(memory, *size, 1);
    if (!array) return NULL;
    if (a == FPS)
        npy_header(array, "<i8", 1, (int64_t[]){1});
    else
        npy_header(array, "<f4", LAYOUT[a].bodies ? 3 : 2, shape);
    return array;
}

hrc_status npz_write(const clip *c, const char *path, hrc_error *err)
{
    arena memory = {0};
    float *qvel = ARENA_NEW(&memory, float, (size_t)c->n *HRC_NV);
    if (qvel) clip_velocities(qvel, c);
    hrc_status status = qvel ? npz_write_with(c, qvel, path, err)
                             : fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, c->n);
    arena_free(&memory);
    return status;
}

hrc_status npz_write_with(const clip *c, const float *qvel, const char *path, hrc_error *err)
{
    int64_t fps = (int64_t)c->fps;
    if (fabs((double)fps - c->fps) > 1e-9 * c->fps)
        return fail(err, HRC_EINVAL,
                    "%s: the format wants a whole frame rate, and the clip has %g; resample it first", path,
                    c->fps);
    arena memory = {0};
    char *arrays[ARRAYS];
    archive_member members[ARRAYS];
    bool good = true;
    for (int a = 0; a < ARRAYS && good; a++) {
        members[a].name = LAYOUT[a].member;
        members[a].data = arrays[a] = new_array(&memory, a, c->n, &members[a].size);
        good = arrays[a] != NULL;
    }
    if (!good) {
        arena_free(&memory);
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, c->n);
    }
    memcpy(arrays[FPS] + NPY_HEADER, &fps, sizeof fps);
    fill_frames(arrays, c, qvel);
    hrc_status status = archive_write(path, members, ARRAYS, false, err);
    arena_free(&memory);
    return status;
}
