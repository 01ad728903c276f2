#include "learn/imagine_loss.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <tgmath.h>

typedef struct {
    int first, n;
    real weight, sigma;
    bool joints; /* legs and waist (the first 15) count twice */
} loss_group;

static const loss_group GROUPS[] = {
    {WS_Q, HRC_JOINTS, 1, (real)0.15, true}, {WS_QD, HRC_JOINTS, (real)0.25, (real)2.5, true},
    {WS_EX, 6, 2, (real)0.102, false}, /* ex and ez: 0.25 over all six */
    {WS_Z, 1, (real)0.5, (real)0.06, false}, {WS_V, 3, 1, (real)0.4, false},
    {WS_W, 3, (real)0.3, (real)1.2, false},
};
static const real POINTS_WEIGHT = 1, POINTS_SIGMA = (real)0.06;

#define LEGS_AND_WAIST 15

static real share(const loss_group *g, int i)
{
    return g->joints && i < LEGS_AND_WAIST ? 2 : 1;
}

static real group_loss(real *ds, const real *s, const real *ref, real weight, const loss_group *g)
{
    real sum = 0, shares = 0;
    for (int i = 0; i < g->n; i++) {
        const real e = s[g->first + i] - ref[g->first + i];
        sum += share(g, i) * e * e;
        shares += share(g, i);
    }
    const real scale = 1 / (shares * g->sigma * g->sigma), root = sqrt(1 + sum * scale);
    for (int i = 0; i < g->n; i++)
        ds[g->first + i] +=
            weight * g->weight * scale / root * share(g, i) * (s[g->first + i] - ref[g->first + i]);
    return weight * g->weight * (root - 1);
}

static void points_loss(real *loss, world_vectors dr, const world_pose *pose, const world_pose *ref,
                        const real *weight, int n)
{
    const real scale = 1 / (WORLD_POINTS * POINTS_SIGMA * POINTS_SIGMA);
    real sum[WORLD_LANES] = {0}, slope[WORLD_LANES] = {0};
    for (int i = 0; i < WORLD_POINTS; i++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < WORLD_LANES; l++) {
                dr[i][k][l] = pose->r[i][k][l] - ref->r[i][k][l];
                sum[l] += dr[i][k][l] * dr[i][k][l];
            }
    for (int l = 0; l < n; l++) {
        const real root = sqrt(1 + sum[l] * scale);
        slope[l] = weight[l] * POINTS_WEIGHT * scale / root;
        loss[l] += weight[l] * POINTS_WEIGHT * (root - 1);
    }
    for (int i = 0; i < WORLD_POINTS; i++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < WORLD_LANES; l++) dr[i][k][l] *= slope[l];
}

static void lanes_loss(real *loss, real *ds, const real *s, const real *ref, const real *weight,
                       const world_point *points, int n)
{
    world_lanes lanes, other, dlanes;
    world_pose pose, wanted;
    world_vectors dr;
    world_per_point none = {{0}};
    memset(dlanes, 0, sizeof dlanes);
    world_to_lanes(lanes, s, n);
    world_to_lanes(other, ref, n);
    world_pose_of(&pose, points, (const real(*)[WORLD_LANES])lanes);
    world_pose_of(&wanted, points, (const real(*)[WORLD_LANES])other);
    points_loss(loss, dr, &pose, &wanted, weight, n);
    world_points_back(dlanes, &pose, points, (const real(*)[WORLD_LANES])lanes,
                      (const real(*)[WORLD_LANES])none, (const real(*)[WORLD_LANES])none,
                      (const real(*)[3][WORLD_LANES])dr);
    for (int l = 0; l < n; l++)
        for (int i = 0; i < WS; i++) ds[l * WS + i] += dlanes[i][l];
}

NN_FN void imagine_loss(real *loss, real *ds, const real *s, const real *ref, const real *weight,
                        const world_point *points, int n)
{
    for (int r = 0; r < n; r++)
        for (int g = 0; g < COUNT(GROUPS); g++)
            loss[r] += group_loss(ds + (size_t)r * WS, s + (size_t)r * WS, ref + (size_t)r * WS, weight[r],
                                  &GROUPS[g]);
    for (int i = 0; i < n; i += WORLD_LANES) {
        const size_t at = (size_t)i * WS;
        lanes_loss(loss + i, ds + at, s + at, ref + at, weight + i, points,
                   n - i < WORLD_LANES ? n - i : WORLD_LANES);
    }
}
