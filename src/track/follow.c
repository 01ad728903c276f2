#include "track/follow.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "robot/posture.h"

typedef struct {
    float joints, height, angle; /* rad (L2 over 29), m, rad */
} misfit;

/* How near the robot must be before a waiting motion begins; trackers hold a stance to about half a radian.
 * And how far off it is lost: within these bounds trackers come back by themselves. */
static const misfit NEAR = {1.2f, 0.1f, 0.35f}, LOST = {2.5f, 0.18f, 0.6f};

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

static const float *velocity_at(const follower *f, int frame)
{
    return f->motion.qvel + (size_t)(frame < f->motion.n ? frame : f->motion.n - 1) * HRC_NV;
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
    const bool rest = f->waiting || f->frame >= f->motion.n - 1;
    const int frame = f->waiting ? f->frame : f->frame + ahead;
    memcpy(out->qpos, pose_at(f, frame), sizeof out->qpos);
    memcpy(out->qvel, velocity_at(f, frame), sizeof out->qvel);
    if (rest) memset(out->qvel, 0, sizeof out->qvel);
    put_in_place(f, out);
}

void follow_between(const follower *f, float frame, float pace, hrc_frame *out)
{
    const float last = (float)(f->motion.n - 1), at = fminf(fmaxf(frame, 0), last);
    const int before = (int)at;
    const float along = at - (float)before, speed = at < last ? pace : 0;
    const float *a = pose_at(f, before), *b = pose_at(f, before + 1);
    const float *u = velocity_at(f, before), *v = velocity_at(f, before + 1);
    for (int i = 0; i < HRC_NQ; i++) out->qpos[i] = a[i] + along * (b[i] - a[i]);
    quat_slerpf(out->qpos + 3, a + 3, b + 3, along);
    for (int i = 0; i < HRC_NV; i++) out->qvel[i] = speed * (u[i] + along * (v[i] - u[i]));
    put_in_place(f, out);
}

static misfit measure(const follower *f, const float qpos[HRC_NQ])
{
    hrc_frame now;
    float square = 0;
    follow_frame(f, 0, &now);
    for (int i = 7; i < HRC_NQ; i++) square += (qpos[i] - now.qpos[i]) * (qpos[i] - now.qpos[i]);
    return (misfit){sqrtf(square), fabsf(qpos[2] - now.qpos[2]), quat_anglef(qpos + 3, now.qpos + 3)};
}

bool follow_reached(const follower *f, const float qpos[HRC_NQ])
{
    const misfit off = measure(f, qpos);
    return off.joints < NEAR.joints && off.height < NEAR.height && off.angle < NEAR.angle;
}

bool follow_lost(const follower *f, const float qpos[HRC_NQ])
{
    const misfit off = measure(f, qpos);
    return off.joints > LOST.joints || off.height > LOST.height || off.angle > LOST.angle;
}

void follow_advance(follower *f)
{
    if (f->waiting)
        f->waited++;
    else if (f->frame < f->motion.n - 1)
        f->frame++;
}
