/* Reading motion archives of NumPy: joint_pos (T, 29) or, with the root pose in front, (T, 36); body_pos_w
 * (T, B, 3), body_quat_w (T, B, 4), fps. BeyondMimic's carry no names, and their joints and bodies stand in
 * Isaac's breadth-first order or in MuJoCo's depth-first one: tracked.c settles it. Archives with qpos, and
 * those of LocoMuJoCo, are read in npz_qpos.c. */
#include "motion/import/npz.h"

#include <stdio.h>
#include <string.h>

#include "motion/import/formats.h"
#include "motion/import/tracked.h"

#define MEMBER_MAX ((size_t)256 << 20) /* bytes of one array: an hour at 50 fps of the widest known file */
#define BODIES_MAX 256

hrc_status npz_array(npy *a, const archive *zip, arena *memory, const char *path, const char *name,
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

hrc_status npz_rate(double *fps, const archive *zip, arena *memory, const char *path, const char *name,
                    hrc_error *err)
{
    npy a;
    TRY(npz_array(&a, zip, memory, path, name, err));
    if (!npy_is_number(&a) || a.count != 1)
        return fail(err, HRC_EFORMAT, "%s: array \"%s\" is not one number", path, name);
    *fps = npy_number(&a, 0);
    if (!(*fps > 0 && *fps <= 10000))
        return fail(err, HRC_EFORMAT, "%s: array \"%s\" is %g, expected a rate above 0", path, name, *fps);
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

static hrc_status read_names(tracked *m, const archive *zip, arena *memory, hrc_error *err)
{
    npy names;
    if (archive_has(zip, "joint_names.npy")) {
        TRY(npz_array(&names, zip, memory, m->path, "joint_names", err));
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
        TRY(npz_array(&names, zip, memory, m->path, "body_names", err));
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

static hrc_status read_motion(tracked *m, const archive *zip, arena *memory, hrc_error *err)
{
    TRY(npz_array(&m->joint_pos, zip, memory, m->path, "joint_pos", err));
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
    TRY(npz_array(&m->body_pos, zip, memory, m->path, "body_pos_w", err));
    TRY(check_array(&m->body_pos, m->path, "body_pos_w", m->n, 3, 3, err));
    if (m->body_pos.shape[1] > BODIES_MAX)
        return fail(err, HRC_EFORMAT, "%s: array \"body_pos_w\" has %lld bodies, expected at most %d",
                    m->path, (long long)m->body_pos.shape[1], BODIES_MAX);
    m->bodies = (int)m->body_pos.shape[1];
    TRY(npz_array(&m->body_quat, zip, memory, m->path, "body_quat_w", err));
    TRY(check_array(&m->body_quat, m->path, "body_quat_w", m->n, 4, 3, err));
    if (m->body_quat.shape[1] != m->bodies)
        return fail(err, HRC_EFORMAT, "%s: body_quat_w has %lld bodies, body_pos_w %lld", m->path,
                    (long long)m->body_quat.shape[1], (long long)m->body_pos.shape[1]);
    TRY(read_names(m, zip, memory, err));
    if (!m->named_bodies && m->bodies != G1_LINKS)
        return fail(err, HRC_EFORMAT, "%s: body_pos_w has %d bodies and no names, expected the G1's %d",
                    m->path, m->bodies, G1_LINKS);
    hrc_error unwanted; /* velocities are evidence of the rate, no more */
    if (archive_has(zip, "joint_vel.npy") &&
        npz_array(&m->joint_vel, zip, memory, m->path, "joint_vel", &unwanted) < 0)
        m->joint_vel = (npy){0};
    return npz_rate(&m->fps, zip, memory, m->path, "fps", err);
}

static hrc_status parse_tracked(clip *c, const char *path, const archive *zip, arena *memory,
                                const clip_options *options, clip_decisions *why, hrc_error *err)
{
    tracked m = {.path = path};
    tracked_orders(&m);
    TRY(read_motion(&m, zip, memory, err));
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
    bool qpos = archive_has(zip, "qpos.npy"), loco = archive_has(zip, "q_pelvis_tx.npy");
    hrc_status status = (qpos   ? npz_qpos_parse
                         : loco ? npz_loco_parse
                                : parse_tracked)(c, path, zip, &memory, options, why, err);
    archive_close(zip);
    arena_free(&memory);
    if (status < 0) clip_free(c);
    return status;
}
