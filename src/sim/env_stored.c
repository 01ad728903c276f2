/* Worlds as a checkpoint has them: nothing is used as an index, a flag or a number that is none. */
#include <math.h>
#include <string.h>

#include "sim/env_world.h"

static bool finite_numbers(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

#define FINITE(member) finite_numbers((const double *)&(member), sizeof(member) / (sizeof(double)))

static bool finite_floats(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool is_flag(const bool *b) /* a byte of a file may be more than that */
{
    unsigned char byte;
    memcpy(&byte, b, 1);
    return byte <= 1;
}

static bool is_frame(const references *refs, int which, int frame)
{
    return which >= 0 && which < refs->n && frame >= 0 && frame < refs->clips[which].n;
}

static bool is_time(const references *refs, int which, double at)
{
    return at >= 0 && at < 1e9 && is_frame(refs, which, (int)at);
}

static bool sim_fine(const sim_world *w)
{
    return FINITE(w->time) && FINITE(w->qpos) && FINITE(w->qvel) && FINITE(w->warmstart) &&
           FINITE(w->torque) && FINITE(w->contact) && FINITE(w->params) && FINITE(w->punch.force) &&
           FINITE(w->punch.left_s) && is_flag(&w->want_contact) && is_flag(&w->diverged) &&
           w->punch.link >= 0 && w->punch.link < G1_LINKS;
}

static bool guide_fine(const env_one *w, const references *refs)
{
    const env_place *p = &w->shown;
    return is_time(refs, p->clip, p->at) && FINITE(p->pace) && is_flag(&p->mirrored) &&
           (!*(const unsigned char *)&p->mirrored || refs->clips[p->clip].mirrored) && FINITE(w->shown_yaw) &&
           FINITE(w->stands_at);
}

static bool world_fine(const env_one *w, const references *refs)
{
    const env_episode *e = &w->ended;
    return sim_fine(&w->sim) && state_dice_fine(&w->dice) && is_time(refs, w->clip, w->at) &&
           is_frame(refs, w->clip, w->first) && FINITE(w->pace) && FINITE(w->lost_at) && w->within >= 0 &&
           finite_floats((const float *)&w->now, sizeof w->now / sizeof(float)) && is_flag(&w->anchored) &&
           is_flag(&w->hard) && is_flag(&w->guided) && is_flag(&w->rehearsed) && guide_fine(w, refs) &&
           is_flag(&w->lost) && w->steps >= 0 && is_flag(&w->mirrored) &&
           (!*(const unsigned char *)&w->mirrored || refs->clips[w->clip].mirrored) &&
           FINITE(w->next_push_s) && FINITE(w->offset) && FINITE(w->score) && FINITE(w->terms) &&
           finite_floats(w->action, HRC_JOINTS) && finite_floats(w->history.p[0], OBS_PROPRIO) &&
           FINITE(w->after.qpos) && FINITE(w->after.qvel) && FINITE(w->after.target) &&
           is_time(refs, w->after.clip, w->after.at) && is_flag(&w->after.mirrored) &&
           w->after.shown_clip >= -1 && w->after.shown_clip < refs->n && is_flag(&w->after.shown_mirrored) &&
           is_frame(refs, e->clip, e->first) && is_frame(refs, e->clip, e->last) && e->steps >= 0 &&
           FINITE(e->score) && e->end >= 0 && e->end < END_KINDS && w->trail_n >= 0;
}

hrc_status env_check_worlds(const void *refs, const void *data, int64_t bytes, hrc_error *err)
{
    for (int64_t i = 0; i < bytes / (int64_t)sizeof(env_one); i++) {
        env_one w;
        memcpy(&w, (const char *)data + (size_t)i * sizeof w, sizeof w);
        if (!world_fine(&w, refs))
            return fail(err, HRC_EFORMAT, "has a world, %lld, that no run with these motions can have",
                        (long long)i);
    }
    return HRC_OK;
}
