#include "robot/posture.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define TILT 3.0f     /* of the squared distance of the up vectors */
#define HEIGHT_M 0.2f /* as much as that counts 1 */
#define RESTS 0.12f   /* about 0.17 rad in every joint */
#define JOINTS 0.14f  /* of the sum of squared angles */

posture posture_of(const float qpos[HRC_NQ])
{
    posture p = {.height = qpos[2]};
    quat_upf(p.up, qpos + 3);
    memcpy(p.q, qpos + 7, sizeof p.q);
    return p;
}

bool posture_down(const posture *p)
{
    return p->height < POSTURE_DOWN_M;
}

bool posture_stands(const posture *p)
{
    return p->height > POSTURE_STAND_M && (double)p->up[2] > POSTURE_UPRIGHT;
}

float posture_distance(const posture *a, const posture *b)
{
    float tilt = 0, joints = 0, height = (a->height - b->height) / HEIGHT_M;
    for (int k = 0; k < 3; k++) tilt += (a->up[k] - b->up[k]) * (a->up[k] - b->up[k]);
    for (int j = 0; j < HRC_JOINTS; j++) joints += (a->q[j] - b->q[j]) * (a->q[j] - b->q[j]);
    return TILT * tilt + height * height + JOINTS * joints;
}

void posture_features(float out[POSTURE_FEATURES], const posture *p)
{
    for (int k = 0; k < 3; k++) out[k] = sqrtf(TILT) * p->up[k];
    out[3] = p->height / HEIGHT_M;
    for (int j = 0; j < HRC_JOINTS; j++) out[4 + j] = sqrtf(JOINTS) * p->q[j];
}

bool posture_rests(const posture *now, const posture *later)
{
    return posture_distance(now, later) < RESTS;
}

/* |<to, turn from>| is largest where the rest of to from^-1 beside a turn about z is smallest: the z and w of
 * that product give the half angle. */
void heading_turn(float turn[4], const float from[4], const float to[4])
{
    float rest[4];
    quat_turnf(rest, from, to);
    float norm = hypotf(rest[0], rest[3]);
    turn[0] = norm > 1e-6f ? rest[0] / norm : 1, turn[3] = norm > 1e-6f ? rest[3] / norm : 0;
    turn[1] = turn[2] = 0;
}

float heading_between(const float from[4], const float to[4])
{
    float turn[4];
    heading_turn(turn, from, to);
    return 2 * atan2f(copysignf(turn[3], turn[0] * turn[3]), fabsf(turn[0]));
}

void posture_bring(double qpos[HRC_NQ], double *qvel, const float to[HRC_NQ])
{
    float from[4], turn[4];
    double turned[4];
    for (int k = 0; k < 4; k++) from[k] = (float)qpos[3 + k];
    heading_turn(turn, from, to + 3);
    for (int k = 0; k < 4; k++) turned[k] = (double)turn[k];
    quat_mul(qpos + 3, turned, qpos + 3);
    if (qvel) quat_rotate(qvel, turned, qvel);
    for (int k = 0; k < 2; k++) qpos[k] = (double)to[k];
}
