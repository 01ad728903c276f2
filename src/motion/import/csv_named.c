/* CSV with a header. Bones-SEED: Frame, root_translateX..Z in centimetres, root_rotateX..Z in degrees about
 * the world's axes in this order, NAME_joint_dof in degrees, 120 frames a second. Others name the root's
 * columns in one of the ways below, in metres and radians, with the quaternion by name. A column "time" (s)
 * gives the rate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "motion/import/csv_table.h"
#include "motion/import/formats.h"
#include "motion/import/layout.h"
#include "motion/import/rate.h"

#define SEED_FPS 120
#define DEFAULT_FPS 30
#define DEGREE (M_PI / 180)

typedef struct {
    const char *style;
    const char *position[3], *turn[4]; /* quaternion w,x,y,z; with turn[3] NULL angles about x, y, z */
    double metre, radian;              /* of one unit */
} style;

static const style STYLES[] = {
    {"Bones-SEED's header (cm, degrees)",
     {"root_translateX", "root_translateY", "root_translateZ"},
     {"root_rotateX", "root_rotateY", "root_rotateZ", NULL},
     0.01,
     DEGREE},
    {"header", {"root_x", "root_y", "root_z"}, {"root_qw", "root_qx", "root_qy", "root_qz"}, 1, 1},
    {"header",
     {"root_pos_x", "root_pos_y", "root_pos_z"},
     {"root_rot_w", "root_rot_x", "root_rot_y", "root_rot_z"},
     1,
     1},
    {"header",
     {"root_pos_x", "root_pos_y", "root_pos_z"},
     {"root_quat_w", "root_quat_x", "root_quat_y", "root_quat_z"},
     1,
     1},
    {"header", {"base_x", "base_y", "base_z"}, {"base_qw", "base_qx", "base_qy", "base_qz"}, 1, 1},
    {"header", {"x", "y", "z"}, {"qw", "qx", "qy", "qz"}, 1, 1},
};

typedef struct {
    const style *how;
    int position[3], turn[4], joint[HRC_JOINTS];
    int time; /* -1: none */
} columns;

static bool find_style(columns *m, const csv_table *t, const style *how)
{
    m->how = how;
    for (int k = 0; k < 3; k++)
        if ((m->position[k] = csv_column(t, how->position[k])) < 0) return false;
    for (int k = 0; k < 4 && how->turn[k]; k++)
        if ((m->turn[k] = csv_column(t, how->turn[k])) < 0) return false;
    return true;
}

static hrc_status find_columns(columns *m, const csv_table *t, const char *path, hrc_error *err)
{
    int found = 0;
    while (found < COUNT(STYLES) && !find_style(m, t, &STYLES[found])) found++;
    if (found == COUNT(STYLES))
        return fail(
            err, HRC_EFORMAT,
            "%s: line 1: \"%s\" begins %d columns (expected 36 numbers and no header, or a header that names the root "
            "as root_translateX and root_rotateX, or as x and qw, or as root_pos_x and root_rot_w)",
            path, t->name[0], t->columns);
    for (int j = 0; j < HRC_JOINTS; j++) m->joint[j] = -1;
    for (int k = 0; k < t->columns; k++) {
        int joint = layout_joint(t->name[k]);
        if (joint >= 0) m->joint[joint] = k;
    }
    for (int j = 0; j < HRC_JOINTS; j++)
        if (m->joint[j] < 0)
            return fail(err, HRC_EFORMAT, "%s: line 1: has no column for %s", path, G1_JOINT[j].name);
    m->time = csv_column(t, "time");
    if (m->time < 0) m->time = csv_column(t, "timestamp");
    return HRC_OK;
}

/* Turns about the world's x, then y, then z. */
static void from_angles(double quat[4], const double angle[3])
{
    double turn[3][4], yz[4];
    for (int k = 0; k < 3; k++) {
        double vector[3] = {0};
        vector[k] = angle[k];
        quat_exp(turn[k], vector);
    }
    quat_mul(yz, turn[2], turn[1]);
    quat_mul(quat, yz, turn[0]);
}

static void read_frame(float *out, const float *row, const columns *m)
{
    double quat[4], angle[3];
    for (int k = 0; k < 3; k++) out[k] = (float)(row[m->position[k]] * m->how->metre);
    for (int k = 0; k < 4; k++) {
        if (m->how->turn[3])
            quat[k] = row[m->turn[k]];
        else if (k < 3)
            angle[k] = row[m->turn[k]] * m->how->radian;
    }
    if (!m->how->turn[3]) from_angles(quat, angle);
    for (int k = 0; k < 4; k++) out[3 + k] = (float)quat[k];
    for (int j = 0; j < HRC_JOINTS; j++) out[7 + j] = (float)(row[m->joint[j]] * m->how->radian);
}

/* From the column of times; 0 when there is none or it does not rise. */
static double rate_of_time(const csv_table *t, const columns *m)
{
    if (m->time < 0 || t->rows < 2) return 0;
    double first = t->values[m->time],
           last = t->values[(size_t)(t->rows - 1) * (size_t)t->columns + (size_t)m->time];
    double rate = (t->rows - 1) / (last - first);
    return rate > 1 && rate < 10000 ? round(rate * 100) / 100 : 0;
}

static hrc_status build(clip *c, const csv_table *t, const char *path, const clip_options *options,
                        clip_decisions *why, hrc_error *err)
{
    columns m = {0};
    TRY(find_columns(&m, t, path, err));
    if (t->rows == 0) return fail(err, HRC_EFORMAT, "%s: has a header but no lines of numbers", path);
    TRY(clip_create_for(c, t->rows, 1, path, err));
    for (int i = 0; i < t->rows; i++)
        read_frame(clip_frame(c, i), t->values + (size_t)i * (size_t)t->columns, &m);
    TRY(clip_check(c, path, err));
    bool seed = m.how == &STYLES[0];
    snprintf(why->format, sizeof why->format, "CSV, %s", m.how->style);
    snprintf(why->joints, sizeof why->joints, "by the names in the header");
    snprintf(why->quat, sizeof why->quat,
             seed ? "from angles about x, y, z of the world" : "by the names in the header");
    rate_settle(c,
                &(rate_source){.path = path,
                               .asked = options->fps,
                               .file = rate_of_time(t, &m),
                               .usual = seed ? SEED_FPS : DEFAULT_FPS},
                why);
    return HRC_OK;
}

hrc_status csv_named_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                           clip_decisions *why, hrc_error *err)
{
    arena memory = {0};
    csv_table t;
    *c = (clip){0};
    hrc_status status = csv_table_parse(&t, path, bytes, &memory, err);
    if (status >= 0) status = build(c, &t, path, options, why, err);
    arena_free(&memory);
    if (status < 0) clip_free(c);
    return status;
}
