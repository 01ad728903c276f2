/* What the numbers of a file mean that does not name them: its quaternion, its joints. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "motion/import/formats.h"
#include "robot/capsules.h"

/* ---- The quaternion ---- */

/* Which of x,y,z,w and w,x,y,z a headerless file means. Both have unit length, so the robot must tell: read
 * rightly, it stands (or kneels, or lies) on the floor z = 0 and what carries it does not slide. Read
 * wrongly it tilts by its heading, or faces backwards and skates over its own steps.
 *
 * A robot that stands still and faces along x fits both: x,y,z,w = (0,0,0,1) is also the half turn about z
 * as w,x,y,z. Then nothing but the user knows. */

#define SAMPLES 400    /* frames looked at, evenly spaced */
#define SLIDE_TIME 0.1 /* s, over which sliding is counted */
#define CAP 0.5        /* m, most that one frame can count: outliers must not decide */
#define RATIO 2        /* the wrong reading must fit this many times worse than the right one ... */
#define MARGIN 0.02    /* ... and this much more, m */
#define WORST 0.2      /* m, mean distance from the floor beyond which even the better reading is none */

typedef struct {
    double height; /* mean distance of the lowest point from the floor, m */
    double slide;  /* mean way that point moves along the floor in SLIDE_TIME, m */
} misfit;

static void pose_of(fk_pose *pose, const float *frame, bool xyzw)
{
    double qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = frame[k];
    if (xyzw)
        for (int k = 0; k < 4; k++) qpos[3 + k] = frame[3 + (k + 3) % 4];
    fk(pose, qpos);
}

static misfit misfit_of(const clip *c, bool xyzw)
{
    misfit sum = {0};
    int samples = c->n < SAMPLES ? c->n : SAMPLES;
    for (int s = 0; s < samples; s++) {
        int i = (int)((int64_t)s * c->n / samples), next = i + 1 < c->n ? i + 1 : i;
        fk_pose now, then;
        capsule shapes[G1_GEOMS];
        pose_of(&now, clip_frame(c, i), xyzw);
        pose_of(&then, clip_frame(c, next), xyzw);
        capsules_place(shapes, &now);
        capsule_low low = capsules_lowest(shapes, 0, G1_GEOMS);
        sum.height += fmin(fabs(low.z), CAP);
        const g1_capsule *support = capsule_info(low.capsule);
        const double *local = low.end ? support->b : support->a;
        double before[3], after[3];
        fk_point(before, &now, support->link, local);
        fk_point(after, &then, support->link, local);
        sum.slide += fmin(hypot(after[0] - before[0], after[1] - before[1]) * c->fps * SLIDE_TIME, CAP);
    }
    return (misfit){sum.height / samples, sum.slide / samples};
}

static void to_wxyz(clip *c)
{
    for (int i = 0; i < c->n; i++) {
        float *q = clip_frame(c, i) + 3, w = q[3];
        memmove(q + 1, q, 3 * sizeof *q);
        q[0] = w;
    }
}

hrc_status quat_order_settle(clip *c, const char *path, const char *forced, clip_decisions *why,
                             hrc_error *err)
{
    if (forced && strcmp(forced, "xyzw") && strcmp(forced, "wxyz"))
        return fail(err, HRC_EINVAL, "%s: quaternion order \"%.20s\", expected wxyz or xyzw", path, forced);
    bool xyzw = forced && strcmp(forced, "xyzw") == 0;
    if (forced) {
        snprintf(why->quat, sizeof why->quat, "%s, as asked for", xyzw ? "x,y,z,w" : "w,x,y,z");
    } else {
        misfit last = misfit_of(c, true), first = misfit_of(c, false);
        double with_last = last.height + last.slide, with_first = first.height + first.slide;
        xyzw = with_last < with_first;
        misfit good = xyzw ? last : first, bad = xyzw ? first : last;
        double better = xyzw ? with_last : with_first, worse = xyzw ? with_first : with_last;
        if (worse < RATIO * better + MARGIN || good.height > WORST)
            return fail(err, HRC_EFORMAT,
                        "%s: cannot tell whether the quaternion is x,y,z,w or w,x,y,z: the lowest point is "
                        "%.0f or %.0f mm off the floor and slides %.0f or %.0f mm in 0.1 s; say --quat xyzw "
                        "or --quat wxyz",
                        path, 1e3 * last.height, 1e3 * first.height, 1e3 * last.slide, 1e3 * first.slide);
        snprintf(why->quat, sizeof why->quat,
                 "%s: read so, the lowest point is on average %.0f mm off the floor and slides %.0f mm in "
                 "0.1 s; read %s, %.0f mm and %.0f mm",
                 xyzw ? "x,y,z,w" : "w,x,y,z", 1e3 * good.height, 1e3 * good.slide,
                 xyzw ? "w,x,y,z" : "x,y,z,w", 1e3 * bad.height, 1e3 * bad.slide);
    }
    if (xyzw) to_wxyz(c);
    return HRC_OK;
}

hrc_status quat_order_settle_as(clip *c, const char *path, const char *forced, const char *usual,
                                const char *whose, clip_decisions *why, hrc_error *err)
{
    if (forced) return quat_order_settle(c, path, forced, why, err);
    if (quat_order_settle(c, path, NULL, why, err) >= 0) return HRC_OK;
    TRY(quat_order_settle(c, path, usual, why, err));
    snprintf(why->quat, sizeof why->quat, "%s, as %s has it; the motion itself fits both orders",
             strcmp(usual, "xyzw") ? "w,x,y,z" : "x,y,z,w", whose);
    return HRC_OK;
}

/* ---- Joints ---- */

#define WITHOUT_WRISTS 23 /* legs, waist of 3, arms of 4; or legs, waist of 1, arms of 5 */

enum { WAIST = 12, ARMS = 15, ARM = 7 }; /* first joints; joints of an arm */

/* Legs, the first `waist` joints of the waist and the first `arm` of each arm, in MuJoCo's order. */
static joint_layout shorter(const char *name, int waist, int arm)
{
    joint_layout l = {.name = name};
    for (int i = 0; i < HRC_JOINTS; i++) {
        bool there = i < WAIST || (i < ARMS ? i - WAIST < waist : (i - ARMS) % ARM < arm);
        l.column[i] = there ? l.columns++ : -1;
    }
    return l;
}

int layouts_of(joint_layout out[LAYOUTS_MAX], int columns)
{
    if (columns == WITHOUT_WRISTS) {
        out[0] = shorter("23 joints (waist of 3, arms of 4)", 3, 4);
        out[1] = shorter("23 joints (waist of 1, arms of 5)", 1, 5);
        return 2;
    }
    if (columns != HRC_JOINTS) return 0;
    out[0] = (joint_layout){.name = "MuJoCo's depth-first order", .columns = columns};
    out[1] = (joint_layout){.name = "Isaac's breadth-first order", .columns = columns};
    for (int i = 0; i < HRC_JOINTS; i++) {
        out[0].column[i] = i;
        out[1].column[i] = G1_ISAAC_TO_MUJOCO[i];
    }
    return 2;
}

static bool ends(const char *text, size_t n, const char *ending)
{
    size_t k = strlen(ending);
    return n > k && memcmp(text + n - k, ending, k) == 0;
}

int layout_joint(const char *name)
{
    size_t n = strlen(name);
    if (ends(name, n, "_dof")) n -= 4;
    if (ends(name, n, "_joint")) n -= 6;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const char *known = G1_JOINT[i].name;
        if (strlen(known) == n + 6 && memcmp(known, name, n) == 0) return i;
    }
    return -1;
}
