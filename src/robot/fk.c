/* fk.inc is written over lanes, for world_points.c; here it has one lane. */
#include "robot/fk.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#include "base/rot.h"

#define REAL double
#define LANES 1
#define F(name) name##_double
#include "robot/fk.inc"

void fk(fk_pose *out, const double *qpos)
{
    /* With one lane the arrays of lanes have the layout of plain ones. */
    fk_links_double((double(*)[3][1])out->pos, (double(*)[4][1])out->quat, (double(*)[3][1])out->axis,
                    (const double(*)[1])qpos);
}

void fk_frame(fk_pose *out, const float *qpos)
{
    double pose[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) pose[k] = (double)qpos[k];
    fk(out, pose);
}

void fk_velocities(fk_velocity *out, const fk_pose *pose, const double *qvel)
{
    memcpy(out->lin[0], qvel, sizeof out->lin[0]);
    quat_rotate(out->ang[0], pose->quat[0], qvel + 3);
    for (int i = 1; i < G1_LINKS; i++) {
        /* The origin moves with the parent; the joint adds its turn about the axis through the origin. */
        int parent = G1_LINK[i].parent;
        double arm[3], sweep[3];
        for (int k = 0; k < 3; k++) arm[k] = pose->pos[i][k] - pose->pos[parent][k];
        vec_cross(sweep, out->ang[parent], arm);
        for (int k = 0; k < 3; k++) {
            out->lin[i][k] = out->lin[parent][k] + sweep[k];
            out->ang[i][k] = out->ang[parent][k] + pose->axis[i][k] * qvel[6 + i - 1];
        }
    }
}

void fk_point(double out[3], const fk_pose *pose, int link, const double local[3])
{
    quat_rotate(out, pose->quat[link], local);
    for (int k = 0; k < 3; k++) out[k] += pose->pos[link][k];
}

void fk_com(double out[3], const fk_pose *pose)
{
    double sum[3] = {0}, mass = 0;
    for (int i = 0; i < G1_LINKS; i++) {
        double p[3];
        fk_point(p, pose, i, G1_LINK[i].com);
        for (int k = 0; k < 3; k++) sum[k] += G1_LINK[i].mass * p[k];
        mass += G1_LINK[i].mass;
    }
    for (int k = 0; k < 3; k++) out[k] = sum[k] / mass;
}
