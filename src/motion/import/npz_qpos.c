/* Archives that hold qpos itself, and LocoMuJoCo's sets of one array a joint. The latter are of an older
 * model of the G1, whose hips, knees and ankles have other zeros, with a root of three slides and three
 * hinges. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "motion/import/formats.h"
#include "motion/import/layout.h"
#include "motion/import/npz.h"
#include "motion/import/rate.h"

#define DEFAULT_FPS 50
#define ROOT 7
#define LOCO_HEIGHT 0.755 /* m, of the pelvis where the slide pelvis_ty is 0 */

/* ---- qpos ---- */

static hrc_status read_layout(joint_layout *l, const archive *zip, arena *memory, const char *path,
                              int columns, clip_decisions *why, hrc_error *err)
{
    joint_layout known[LAYOUTS_MAX];
    npy names;
    if (!archive_has(zip, "joint_names.npy")) {
        if (layouts_of(known, columns) == 0)
            return fail(err, HRC_EFORMAT,
                        "%s: array \"qpos\" has %d columns, expected 7 of the root and 29 or 23 joints", path,
                        columns + ROOT);
        *l = known[0];
        snprintf(why->joints, sizeof why->joints, "%s, as qpos has it", l->name);
        return HRC_OK;
    }
    TRY(npz_array(&names, zip, memory, path, "joint_names", err));
    int root = (int)(names.count - columns); /* the free joint may be among the names */
    if (names.kind != 'U' || (root != 0 && root != 1))
        return fail(err, HRC_EFORMAT, "%s: array \"joint_names\" has %lld entries for %d joints", path,
                    (long long)names.count, columns);
    *l = (joint_layout){.columns = columns};
    for (int i = 0; i < HRC_JOINTS; i++) l->column[i] = -1;
    for (int k = 0; k < columns; k++) {
        char name[80];
        npy_text(&names, k + root, name, sizeof name);
        int joint = layout_joint(name);
        if (joint < 0) return fail(err, HRC_EFORMAT, "%s: \"%s\" is none of the G1's joints", path, name);
        l->column[joint] = k;
    }
    snprintf(why->joints, sizeof why->joints, "by the names in the file");
    return HRC_OK;
}

/* The rate under any name that it goes by; 0 when there is none. */
static hrc_status read_rate(double *fps, const archive *zip, arena *memory, const char *path, hrc_error *err)
{
    *fps = 0;
    if (archive_has(zip, "fps.npy")) return npz_rate(fps, zip, memory, path, "fps", err);
    if (archive_has(zip, "frequency.npy")) return npz_rate(fps, zip, memory, path, "frequency", err);
    if (!archive_has(zip, "dt.npy")) return HRC_OK;
    TRY(npz_rate(fps, zip, memory, path, "dt", err));
    *fps = 1 / *fps;
    return HRC_OK;
}

static hrc_status settle_quat(clip *c, const char *path, const char *forced, clip_decisions *why,
                              hrc_error *err)
{
    if (!forced && quat_order_settle(c, path, NULL, why, err) >= 0) return HRC_OK;
    TRY(quat_order_settle(c, path, forced ? forced : "wxyz", why, err));
    if (!forced)
        snprintf(why->quat, sizeof why->quat, "w,x,y,z, as qpos has it; the motion itself fits both orders");
    return HRC_OK;
}

hrc_status npz_qpos_parse(clip *c, const char *path, const archive *zip, arena *memory,
                          const clip_options *options, clip_decisions *why, hrc_error *err)
{
    npy q, velocity = {0};
    joint_layout l;
    double fps;
    TRY(npz_array(&q, zip, memory, path, "qpos", err));
    if (q.kind != 'f' || q.ndim != 2 || q.shape[0] < 1 || q.shape[0] > CLIP_MAX_FRAMES ||
        q.shape[1] <= ROOT || q.shape[1] > 1000)
        return fail(err, HRC_EFORMAT,
                    "%s: array \"qpos\" is <%c%d of %d dimensions, expected floats of 2: frames, %d", path,
                    q.kind, q.item, q.ndim, HRC_NQ);
    int width = (int)q.shape[1];
    TRY(read_layout(&l, zip, memory, path, width - ROOT, why, err));
    TRY(read_rate(&fps, zip, memory, path, err));
    hrc_error unwanted;
    if (archive_has(zip, "qvel.npy") && npz_array(&velocity, zip, memory, path, "qvel", &unwanted) < 0)
        velocity = (npy){0};
    double assumed = options->fps > 0 ? options->fps : fps > 0 ? fps : DEFAULT_FPS; /* good for sliding */
    TRY(clip_create_for(c, (int)q.shape[0], assumed, path, err));
    for (int i = 0; i < c->n; i++) {
        float *frame = clip_frame(c, i);
        for (int k = 0; k < ROOT; k++) frame[k] = (float)npy_number(&q, (int64_t)i * width + k);
        for (int k = 0; k < HRC_JOINTS; k++)
            frame[ROOT + k] =
                l.column[k] < 0 ? 0 : (float)npy_number(&q, (int64_t)i * width + ROOT + l.column[k]);
    }
    TRY(clip_check(c, path, err));
    TRY(settle_quat(c, path, options->quat, why, err));
    snprintf(why->format, sizeof why->format, "NPZ, qpos");
    rate_settle(c,
                &(rate_source){.path = path,
                               .asked = options->fps,
                               .file = fps,
                               .velocity = velocity.count ? rate_from_velocities(&q, ROOT, &velocity, 6) : 0,
                               .usual = DEFAULT_FPS},
                why);
    return HRC_OK;
}

/* ---- LocoMuJoCo, one array a joint ---- */

static hrc_status read_series(npy *a, const archive *zip, arena *memory, const char *path, const char *name,
                              int n, hrc_error *err)
{
    TRY(npz_array(a, zip, memory, path, name, err));
    if (a->kind != 'f' || a->ndim != 1 || a->shape[0] < 1 || a->shape[0] > CLIP_MAX_FRAMES ||
        (n && a->shape[0] != n))
        return fail(err, HRC_EFORMAT, "%s: array \"%s\" is no series of floats as long as q_pelvis_tx", path,
                    name);
    return HRC_OK;
}

/* The root: x, y, z along the world's axes, then turns about -y, x and z, each in the frame that the last
 * left. */
static hrc_status read_root(clip *c, const archive *zip, arena *memory, const char *path, hrc_error *err)
{
    static const char *const NAME[6] = {"q_pelvis_tx",   "q_pelvis_tz",   "q_pelvis_ty",
                                        "q_pelvis_tilt", "q_pelvis_list", "q_pelvis_rotation"};
    static const double AXIS[3][3] = {{0, -1, 0}, {1, 0, 0}, {0, 0, 1}};
    npy part[6];
    TRY(read_series(&part[0], zip, memory, path, NAME[0], 0, err));
    int n = (int)part[0].shape[0];
    for (int k = 1; k < 6; k++) TRY(read_series(&part[k], zip, memory, path, NAME[k], n, err));
    TRY(clip_create_for(c, n, 1, path, err));
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

hrc_status npz_loco_parse(clip *c, const char *path, const archive *zip, arena *memory,
                          const clip_options *options, clip_decisions *why, hrc_error *err)
{
    TRY(read_root(c, zip, memory, path, err));
    double over = 0, under = 0; /* of velocities and of differences */
    int missing = 0;
    for (int j = 0; j < HRC_JOINTS; j++) {
        char name[80], member[96];
        npy q, dq;
        loco_name(name, sizeof name, G1_JOINT[j].name);
        snprintf(member, sizeof member, "%s.npy", name);
        if (!archive_has(zip, member)) {
            missing++;
            continue;
        }
        TRY(read_series(&q, zip, memory, path, name, c->n, err));
        for (int i = 0; i < c->n; i++)
            clip_frame(c, i)[ROOT + j] = (float)(npy_number(&q, i) + loco_zero(G1_JOINT[j].name));
        snprintf(member, sizeof member, "d%s.npy", name);
        if (!archive_has(zip, member)) continue;
        member[strlen(member) - 4] = 0;
        TRY(read_series(&dq, zip, memory, path, member, c->n, err));
        rate_add(&over, &under, &q, 0, 1, &dq, 0, 1);
    }
    if (missing > HRC_JOINTS / 2)
        return fail(err, HRC_EFORMAT, "%s: lacks %d of the G1's joints: is of another robot", path, missing);
    TRY(clip_check(c, path, err));
    snprintf(why->format, sizeof why->format, "NPZ, LocoMuJoCo's series of an older G1");
    snprintf(
        why->joints, sizeof why->joints,
        "by the names in the file; hips, knees and ankles moved to our zeros; the %d joints it lacks stay at 0",
        missing);
    snprintf(why->quat, sizeof why->quat, "from tilt, list and rotation of the pelvis");
    rate_settle(c,
                &(rate_source){
                    .path = path, .asked = options->fps, .velocity = rate_ratio(over, under), .usual = 500},
                why);
    return HRC_OK;
}
