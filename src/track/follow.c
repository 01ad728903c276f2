#include "track/follow.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

/* How near the robot must be before a waiting motion begins. Trackers hold a stance to about half a radian
 * (L2 over 29 joints). */
#define NEAR_JOINTS 1.2f /* rad, L2 */
#define NEAR_HEIGHT 0.1f /* m */
#define NEAR_ANGLE 0.35f /* rad */

void follow_begin(follower *f, const hrc_motion *motion, int first, int how)
{
    *f = (follower){.motion = *motion, .frame = first};
    f->to_place = how & HRC_PLACE;
    f->waiting = how & HRC_WAIT;
}

static const float *pose_at(const follower *f, int frame)
{
    return f->motion.qpos + (size_t)(frame < f->motion.n ? frame : f->motion.n - 1) * HRC_NQ;
}

void follow_place(follower *f, const float qpos[HRC_NQ])
{
    const float *ref = pose_at(f, f->frame);
    quat_from_yawf(f->turn, quat_yawf(qpos + 3) - quat_yawf(ref + 3));
    for (int i = 0; i < 2; i++) f->from[i] = ref[i], f->to[i] = qpos[i];
    f->placed = true;
    f->to_place = false;
}

static void move(const follower *f, float pos[3])
{
    const float offset[3] = {pos[0] - f->from[0], pos[1] - f->from[1], 0};
    float turned[3];
    quat_rotatef(turned, f->turn, offset);
    for (int i = 0; i < 2; i++) pos[i] = f->to[i] + turned[i];
}

void follow_leash(follower *f, const float qpos[HRC_NQ], float leash)
{
    hrc_frame now;
    follow_frame(f, 0, &now);
    const float away[2] = {qpos[0] - now.qpos[0], qpos[1] - now.qpos[1]};
    const float distance = hypotf(away[0], away[1]);
    if (!(distance > leash)) return;
    if (!f->placed) {
        quat_from_yawf(f->turn, 0);
        f->placed = true;
    }
    for (int i = 0; i < 2; i++) f->to[i] += away[i] * (1 - leash / distance);
}

void follow_frame(const follower *f, int ahead, hrc_frame *out)
{
    const bool rest = f->waiting || f->frame >= f->motion.n - 1;
    int frame = f->waiting ? f->frame : f->frame + ahead;
    if (frame >= f->motion.n) frame = f->motion.n - 1;
    memcpy(out->qpos, pose_at(f, frame), sizeof out->qpos);
    memcpy(out->qvel, f->motion.qvel + (size_t)frame * HRC_NV, sizeof out->qvel);
    if (rest) memset(out->qvel, 0, sizeof out->qvel);
    if (!f->placed) return;
    move(f, out->qpos);
    quat_mulf(out->qpos + 3, f->turn, out->qpos + 3);
    quat_rotatef(out->qvel, f->turn, out->qvel);
}

bool follow_reached(const follower *f, const float qpos[HRC_NQ])
{
    hrc_frame now;
    float square = 0;
    follow_frame(f, 0, &now);
    for (int i = 7; i < HRC_NQ; i++) square += (qpos[i] - now.qpos[i]) * (qpos[i] - now.qpos[i]);
    return sqrtf(square) < NEAR_JOINTS && fabsf(qpos[2] - now.qpos[2]) < NEAR_HEIGHT &&
           quat_anglef(qpos + 3, now.qpos + 3) < NEAR_ANGLE;
}

void follow_advance(follower *f)
{
    if (f->waiting)
        f->waited++;
    else if (f->frame < f->motion.n - 1)
        f->frame++;
}
