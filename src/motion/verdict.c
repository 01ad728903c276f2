/* From figures to a verdict. "usable" means: `motion fix` or a cut makes a reference of it, or a tracker will
 * err at that place; "bad" means that the file is probably not what it claims (units, joint order, floor). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "motion/quality.h"

/* Beyond the first number: usable. Beyond the second: bad. */
#define LIMIT_USABLE_RAD 0.01 /* retargeting keeps within limits; the public sets are never outside */
#define LIMIT_BAD_RAD 0.35    /* 20 degrees: another joint order or other units */
#define SPEED_USABLE 0.005    /* share of frames over the motors' speed; LAFAN1-G1 0, G1-Moves up to 0.01 */
#define SPEED_BAD 0.10
#define SKATE_USABLE 0.25  /* median, m/s; LAFAN1-G1 has 0.02 to 0.2 */
#define SKATE_BAD 0.80     /* a slow walk: the feet do not carry the root at all */
#define DEEP_USABLE_M 0.05 /* upright LAFAN1-G1 never is deeper than 0.04 */
#define DEEP_SHARE 0.02    /* of frames deeper than 2 cm */
#define DEEP_BAD_M 0.25    /* 1st percentile; falls of LAFAN1-G1 reach 0.17: another floor level */
#define FLOAT_USABLE_S 0.6 /* longer than any jump of a walking or running person */
#define FLOAT_BAD_SHARE 0.30
#define FLIGHT_COUNT 3    /* fewer flights than this say nothing */
#define JUMPS_BAD_HZ 10.0 /* noise, or another order of the columns; glitchy capture has up to 6 */
#define SELF_USABLE 0.05  /* share of frames; the public sets have 1 % on average */
#define SHORT_S 0.5       /* shorter than that nothing can be trained on */

const char *quality_word(quality_verdict verdict)
{
    static const char *const WORD[] = {"good", "usable", "bad"};
    return WORD[verdict];
}

static void note(quality *q, quality_verdict level, const char *format, ...) HRC_PRINTF(3, 4);

/* Bad reasons before the others, otherwise in the order they come. */
static void note(quality *q, quality_verdict level, const char *format, ...)
{
    if (q->nreasons == QUALITY_REASONS) return;
    int at = level == QUALITY_BAD ? 0 : q->nreasons;
    memmove(q->reasons[at + 1], q->reasons[at], (size_t)(q->nreasons - at) * sizeof q->reasons[0]);
    va_list list;
    va_start(list, format);
    vsnprintf(q->reasons[at], sizeof q->reasons[at], format, list);
    va_end(list);
    q->nreasons++;
    if (level > q->verdict) q->verdict = level;
}

static quality_verdict level_of(bool bad)
{
    return bad ? QUALITY_BAD : QUALITY_USABLE;
}

static void judge_joints(quality *q)
{
    if (q->limit_excess > LIMIT_USABLE_RAD)
        note(q, level_of(q->limit_excess > LIMIT_BAD_RAD), "%s is %.2f rad beyond its limit",
             G1_JOINT[q->limit_joint].name, q->limit_excess);
    if (q->speed_share > SPEED_USABLE)
        note(q, level_of(q->speed_share > SPEED_BAD),
             "%.1f %% of the frames are faster than the motors (%s up to %.0f rad/s)", 100 * q->speed_share,
             G1_JOINT[q->speed_joint].name, q->speed_max);
    const quality_jumps *jumps[] = {&q->joint_jumps, &q->root_jumps, &q->turn_jumps};
    static const char *const WHAT[] = {"rad in a joint", "m in the root position",
                                       "rad in the root orientation"};
    for (int i = 0; i < COUNT(jumps); i++)
        if (jumps[i]->count)
            note(q, level_of(q->seconds > 1 && jumps[i]->count > JUMPS_BAD_HZ * q->seconds),
                 "%d single-frame jump%s, worst %.3f %s at frame %d", jumps[i]->count,
                 jumps[i]->count == 1 ? "" : "s", jumps[i]->size, WHAT[i], jumps[i]->frame);
}

static void judge_floor(quality *q)
{
    if (q->low_min < -DEEP_USABLE_M || q->low_share_2cm > DEEP_SHARE)
        note(q, level_of(q->low_p1 < -DEEP_BAD_M),
             "%s is %.1f cm under the floor at frame %d; %.1f %% of the frames are deeper than 2 cm",
             capsule_info(q->low_capsule)->name, -100 * q->low_min, q->low_frame, 100 * q->low_share_2cm);
    if (q->floating_s >= FLOAT_USABLE_S)
        note(q, level_of(q->floating_share > FLOAT_BAD_SHARE),
             "floats over the floor for %.1f s (frames %d to %d)", q->floating_s, q->floating_first,
             q->floating_last);
    if (q->flights >= FLIGHT_COUNT &&
        !(q->flight_accel >= QUALITY_FREE_FALL_LO && q->flight_accel <= QUALITY_FREE_FALL_HI))
        note(q, QUALITY_USABLE, "%d flights with an acceleration of %.1f m/s2 (median) instead of -9.8",
             q->flights, q->flight_accel);
    if (q->skate_median > SKATE_USABLE)
        note(q, level_of(q->skate_median > SKATE_BAD), "planted feet slide with %.2f m/s (median)",
             q->skate_median);
}

void quality_judge(quality *q)
{
    q->verdict = QUALITY_GOOD, q->nreasons = 0;
    if (q->seconds < SHORT_S) note(q, QUALITY_USABLE, "lasts only %.2f s", q->seconds);
    judge_joints(q);
    judge_floor(q);
    const quality_self *self = &q->self_simulated;
    if (self->share > SELF_USABLE)
        note(
            q, QUALITY_USABLE,
            "inside itself by more than 1 cm in %.1f %% of the frames, worst %s in %s by %.1f cm at frame %d",
            100 * self->share, capsule_info(self->pair.i)->name, capsule_info(self->pair.j)->name,
            100 * self->depth, self->frame);
}
