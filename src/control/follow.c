#include "control/follow.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "robot/posture.h"

/* How near the robot must be before a waiting motion begins; trackers hold a stance to about half a radian.
 */
#define NEAR_JOINTS 1.2f /* rad, L2 over 29 */
#define NEAR_HEIGHT 0.1f /* m */
#define NEAR_ANGLE 0.35f /* rad */

void follow_begin(follower *f, const hrc_motion *motion, int first, int how)
{
    *f = (follower){.motion = *motion, .frame = first};
    f->to_place = how & HRC_PLACE;
    f->waiting = how & HRC_WAIT;
}

int follow_length(const follower *f)
{
    return f->motion.n + (f->more ? f->more->n : 0);
}

static int kept_within(const follower *f, int frame)
{
    const int last = follow_length(f) - 1;
    return frame < last ? frame : last;
}

static const float *pose_at(const follower *f, int frame)
{
    const int i = kept_within(f, frame);
    return i < f->motion.n ? f->motion.qpos + (size_t)i * HRC_NQ
                           : stream_frame(f->more, i - f->motion.n)->qpos;
}

void follow_place(follower *f, const float qpos[HRC_NQ])
{
    const float *ref = pose_at(f, f->frame);
    heading_turn(f->turn, ref + 3, qpos + 3);
    for (int i = 0; i < 2; i++) f->from[i] = ref[i], f->to[i] = qpos[i];
    f->placed = true;
    f->to_place = false;
}

static void move(const follower *f, float pos[3])
{
    const float way[3] = {pos[0] - f->from[0], pos[1] - f->from[1], 0};
    float turned[3];
    quat_rotatef(turned, f->turn, way);
    for (int i = 0; i < 2; i++) pos[i] = f->to[i] + turned[i];
}

/* The placement as it is, written about the present frame, so that it can be turned there. */
static void hold_here(follower *f, const hrc_frame *now)
{
    const float *ref = pose_at(f, f->frame);
    if (!f->placed) quat_from_yawf(f->turn, 0);
    for (int i = 0; i < 2; i++) f->from[i] = ref[i], f->to[i] = now->qpos[i];
    f->placed = true;
}

void follow_leash(follower *f, const float qpos[HRC_NQ], float metres, float radians)
{
    hrc_frame now;
    float turn[4];
    follow_frame(f, 0, &now);
    const float away[2] = {qpos[0] - now.qpos[0], qpos[1] - now.qpos[1]}, distance = hypotf(away[0], away[1]);
    const float heads = heading_between(now.qpos + 3, qpos + 3);
    const bool far = metres > 0 && distance > metres, turned = radians > 0 && fabsf(heads) > radians;
    if (!far && !turned) return;
    hold_here(f, &now);
    for (int i = 0; far && i < 2; i++) f->to[i] += away[i] * (1 - metres / distance);
    if (!turned) return;
    quat_from_yawf(turn, heads - copysignf(radians, heads));
    quat_mulf(f->turn, turn, f->turn);
    quat_normalizef(f->turn);
}

static const float *velocity_at(const follower *f, int frame)
{
    const int i = kept_within(f, frame);
    return i < f->motion.n ? f->motion.qvel + (size_t)i * HRC_NV
                           : stream_frame(f->more, i - f->motion.n)->qvel;
}

static void put_in_place(const follower *f, hrc_frame *out)
{
    if (!f->placed) return;
    move(f, out->qpos);
    quat_mulf(out->qpos + 3, f->turn, out->qpos + 3);
    quat_rotatef(out->qvel, f->turn, out->qvel);
}

void follow_frame(const follower *f, int ahead, hrc_frame *out)
{
    const bool rest = f->waiting || f->frame >= follow_length(f) - 1;
    const int frame = f->waiting ? f->frame : f->frame + ahead;
    memcpy(out->qpos, pose_at(f, frame), sizeof out->qpos);
    memcpy(out->qvel, velocity_at(f, frame), sizeof out->qvel);
    if (rest) memset(out->qvel, 0, sizeof out->qvel);
    put_in_place(f, out);
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
    else if (f->frame < follow_length(f) - 1)
        f->frame++;
}
