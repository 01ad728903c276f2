/* Single frames that stick out: glitches of the capture, seams of a block-wise optimisation. A frame is
 * measured by its distance from the mean of its two neighbours: half the second difference, so h for a spike
 * of height h and h/2 on both sides of a step of h. It is a jump when that is more than JUMP_FACTOR
 * times the median of the frames around it, and more than the acceleration a body can have. */
#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "motion/quality.h"
#include "motion/stats.h"

#define JUMP_FACTOR 6.0
#define JUMP_WINDOW 7        /* frames on each side for the median */
#define JUMP_JOINT 500.0     /* rad/s^2: a foot that strikes reaches 400 */
#define JUMP_JOINT_LEAST 0.1 /* rad: a tracker hardly follows a smaller one, whatever the frame rate */
#define JUMP_ROOT 40.0       /* m/s^2: landing from a jump reaches 25 */
#define JUMP_ROOT_LEAST 0.01 /* m: likewise */

/* off (n): how far each frame is off its neighbours; a run of neighbouring jumps counts once. */
static void find_jumps(quality_jumps *found, int joint, const double *off, int n, double least)
{
    int last = -3;
    for (int i = 1; i + 1 < n; i++) {
        double window[2 * JUMP_WINDOW + 1];
        int count = 0;
        if (off[i] <= least) continue;
        for (int k = i - JUMP_WINDOW; k <= i + JUMP_WINDOW; k++)
            if (k >= 1 && k + 1 < n) window[count++] = off[k];
        if (off[i] <= JUMP_FACTOR * median(window, count)) continue;
        if (i - last > 2) found->count++;
        last = i;
        if (off[i] > found->size) found->size = off[i], found->frame = i, found->joint = joint;
    }
}

static double position_off(const clip *c, int i)
{
    const float *a = clip_frame(c, i - 1), *b = clip_frame(c, i), *d = clip_frame(c, i + 1);
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = (double)b[k] - 0.5 * ((double)a[k] + (double)d[k]);
    return vec_norm(off);
}

/* The angle between an orientation and the one half-way between its neighbours. */
static double turn_off(const clip *c, int i)
{
    double quat[3][4], half[4];
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < 4; m++) quat[k][m] = (double)clip_frame(c, i - 1 + k)[3 + m];
    quat_slerp(half, quat[0], quat[2], 0.5);
    return quat_angle(half, quat[1]);
}

void quality_jumps_measure(quality *q, const clip *c, double *off)
{
    double step = 0.5 / (c->fps * c->fps); /* acceleration to distance from the neighbours' mean */
    q->joint_jumps = q->root_jumps = q->turn_jumps = (quality_jumps){.frame = -1, .joint = -1};
    for (int j = 0; j < HRC_JOINTS; j++) {
        for (int i = 1; i + 1 < c->n; i++) {
            double a = (double)clip_frame(c, i - 1)[7 + j], d = (double)clip_frame(c, i + 1)[7 + j];
            off[i] = fabs((double)clip_frame(c, i)[7 + j] - 0.5 * (a + d));
        }
        find_jumps(&q->joint_jumps, j, off, c->n, fmax(JUMP_JOINT_LEAST, JUMP_JOINT * step));
    }
    for (int i = 1; i + 1 < c->n; i++) off[i] = position_off(c, i);
    find_jumps(&q->root_jumps, -1, off, c->n, fmax(JUMP_ROOT_LEAST, JUMP_ROOT * step));
    for (int i = 1; i + 1 < c->n; i++) off[i] = turn_off(c, i);
    find_jumps(&q->turn_jumps, -1, off, c->n, fmax(JUMP_JOINT_LEAST, JUMP_JOINT * step));
}
