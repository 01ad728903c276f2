#include "sim/env_fallen.h"

#include <math.h>
#include <string.h>

#define EVERY 4       /* frames between moments */
#define LATER 50      /* frames: a second */
#define WITHIN 600    /* frames: getting up begins no later than this */
#define REST_LEAST 20 /* control steps until a robot that fails lies on the ground, and a while there */
#define REST_MOST 60
#define SHOWN_TURN 0.7 /* rad: the loop turns references along that head farther away than this */
#define SPREAD 0.5     /* distances are drawn up to this much longer: not always the same moment */
#define GUIDE_HURRY 2  /* where the get-up is not shown: the quickest, so that neighbours go the same way */

static bool moment_at(const ref_clip *c, int frame)
{
    const posture now = posture_of(c->frames[frame].qpos),
                  later = posture_of(c->frames[frame + LATER < c->n ? frame + LATER : c->n - 1].qpos);
    return posture_down(&now) && !posture_rests(&now, &later) && ref_stands_in(c, frame, WITHIN) >= 0;
}

static int list_clip(fallen_moment *out, const references *refs, int which)
{
    const ref_clip *c = &refs->clips[which];
    int n = 0;
    if (c->leaps || c->rehearsed) return 0; /* no robot gets up by a kip-up, nor as it is not able to */
    for (int i = 0; i < c->n; i += EVERY) {
        if (!moment_at(c, i)) continue;
        for (int side = 0; side < (c->mirrored ? 2 : 1); side++, n++) {
            const ref_frame *f = side ? &c->mirrored[i] : &c->frames[i];
            if (!out) continue;
            out[n] =
                (fallen_moment){which, i, side, (float)ref_stands_in(c, i, WITHIN) / 50, posture_of(f->qpos)};
        }
    }
    return n;
}

hrc_status fallen_index_build(fallen_index *x, const references *refs, arena *memory, hrc_error *err)
{
    *x = (fallen_index){0};
    for (int i = 0; i < refs->n; i++) x->n += list_clip(NULL, refs, i);
    x->moments = ARENA_NEW(memory, fallen_moment, x->n + 1);
    if (!x->moments) return fail(err, HRC_ENOMEM, "environment: out of memory for %d moments", x->n);
    for (int i = 0, at = 0; i < refs->n; i++) at += list_clip(x->moments + at, refs, i);
    return HRC_OK;
}

static bool lie_still(env_one *w, sim *s, int worker)
{
    double hold[HRC_JOINTS];
    int steps = REST_LEAST + (int)(rng_double(&w->dice) * (REST_MOST - REST_LEAST));
    memcpy(hold, w->sim.qpos + 7, sizeof hold);
    for (int i = 0; i < steps && !w->sim.diverged; i++) sim_step_one(s, &w->sim, hold, worker);
    return !w->sim.diverged;
}

static const fallen_moment *likest(const fallen_index *x, const posture *p, double hurry, double spread,
                                   rng *r)
{
    const fallen_moment *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < x->n; i++) {
        const fallen_moment *m = &x->moments[i];
        const double cost =
            (double)posture_distance(p, &m->at) + hurry * (double)(POSTURE_HURRY * m->seconds);
        const double drawn = cost * (1 + spread * rng_double(r));
        if (drawn < least) least = drawn, best = m;
    }
    return best;
}

/* The new episode's reference is where the robot is. */
static void stay_there(env_one *w, const sim *s, const env_options *o)
{
    double qpos[HRC_NQ], qvel[HRC_NV];
    memcpy(qpos, w->sim.qpos, sizeof qpos);
    memcpy(qvel, w->sim.qvel, sizeof qvel);
    posture_bring(qpos, qvel, w->now.qpos);
    place_robot(w, s, o, qpos, qvel);
}

/* The get-up from where the robot is becomes its reference. False when it is not on the ground. */
static bool begin_get_up(env_one *w, const sim *s, const references *refs, const env_options *o,
                         const fallen_index *x, bool shown)
{
    float seen[HRC_NQ];
    for (int i = 0; i < HRC_NQ; i++) seen[i] = (float)w->sim.qpos[i];
    const posture now = posture_of(seen);
    if (!x->n || !posture_down(&now)) return false;
    const fallen_moment *m =
        shown ? likest(x, &now, 1, SPREAD, &w->dice) : likest(x, &now, GUIDE_HURRY, 0, &w->dice);
    begin_episode(w, refs, o, (env_place){m->clip, m->frame, 1, m->mirrored});
    stay_there(w, s, o);
    w->stands_at = w->at + ref_stands_in(&refs->clips[w->clip], (int)w->at, WITHIN);
    return true;
}

bool start_fallen(env_one *w, sim *s, const references *refs, const env_options *o, const fallen_index *x,
                  int worker)
{
    return x->n && lie_still(w, s, worker) && begin_get_up(w, s, refs, o, x, true);
}

/* A moment of a motion at which it is on its feet; half of those that stand stay as they are. */
static bool draw_upright(env_place *out, env_one *w, const references *refs, const env_options *o,
                         const env_starts *starts)
{
    for (int tries = 0; tries < 8; tries++) {
        int which, frame;
        starts->draw(starts->ctx, &w->dice, &which, &frame);
        const float height = refs->clips[which].frames[frame].qpos[2];
        if ((double)height < POSTURE_FEET_M) continue;
        *out = draw_place(w, refs, o, which, frame);
        if (height > POSTURE_STAND_M && rng_u32(&w->dice) >> 31) out->pace = 0;
        return true;
    }
    return false;
}

bool start_guided(env_one *w, sim *s, const references *refs, const env_options *o, const env_starts *starts,
                  const fallen_index *x, int worker)
{
    env_place shown;
    float qpos[HRC_NQ], qvel[HRC_NV], robot[4];
    if (!x->n || !lie_still(w, s, worker) || !begin_get_up(w, s, refs, o, x, false)) return false;
    w->guided = draw_upright(&shown, w, refs, o, starts);
    if (!w->guided) return true;
    w->rehearsed = false;
    w->shown = shown;
    ref_pose_between(qpos, qvel, &refs->clips[shown.clip], shown.mirrored, shown.at, shown.pace);
    for (int k = 0; k < 4; k++) robot[k] = (float)w->sim.qpos[3 + k];
    w->shown_yaw = (double)heading_between(qpos + 3, robot) + SHOWN_TURN * (2 * rng_double(&w->dice) - 1);
    return true;
}

bool guide_again(env_one *w, const sim *s, const references *refs, const env_options *o,
                 const fallen_index *x)
{
    const env_place shown = w->shown;
    const double yaw = w->shown_yaw;
    float was[4], is[4];
    for (int k = 0; k < 4; k++) was[k] = (float)w->sim.qpos[3 + k];
    if (!begin_get_up(w, s, refs, o, x, false)) return false;
    for (int k = 0; k < 4; k++) is[k] = (float)w->sim.qpos[3 + k];
    w->guided = true, w->rehearsed = false;
    w->shown = shown;
    w->shown_yaw = yaw + (double)heading_between(was, is);
    return true;
}

void end_guided(env_one *w, const sim *s, const references *refs, const env_options *o)
{
    float action[HRC_JOINTS];
    memcpy(action, w->action, sizeof action);
    begin_episode(w, refs, o, w->shown);
    w->hard = true;
    memcpy(w->action, action, sizeof action);
    stay_there(w, s, o);
}
