#include "learn/variants.h"

#include <math.h>

#include "learn/rises.h"
#include "motion/edit.h"
#include "motion/vary.h"
#include "robot/posture.h"

#define SLOW_MPS 1.3   /* faster than this, up or down, is a fall or a leap: there is no way back */
#define BLURRED 100000 /* numbers of the dice beyond those of copies */

static hrc_status gets_up(bool *out, const clip *c, hrc_error *err)
{
    arena memory = {0};
    getups ways;
    hrc_status status = rises_find(&ways, &c, 1, &memory, err);
    *out = status == HRC_OK && ways.n > 0;
    arena_free(&memory);
    return status;
}

static bool goes_down(const clip *c)
{
    for (int i = 0; i < c->n; i++)
        if (clip_frame(c, i)[2] < POSTURE_DOWN_M) return true;
    return false;
}

static bool is_slow(const clip *c)
{
    for (int i = 1; i < c->n; i++)
        if (fabs((double)(clip_frame(c, i)[2] - clip_frame(c, i - 1)[2])) * c->fps > SLOW_MPS) return false;
    return true;
}

static hrc_status copy_of(clip *out, const clip *in, hrc_error *err)
{
    return clip_cut(out, in, 0, in->n - 1, err);
}

/* The next place, for a variant of motion i. */
static clip *take(motions *m, int i)
{
    m->heldout[m->n] = m->heldout[i];
    return &m->clips[m->n++];
}

static double draw_pace(const variant_options *o, rng *dice)
{
    return 1 + o->pace * (double)rng_uniform(dice, -1, 1);
}

static hrc_status add_varied(motions *m, int i, const variant_options *o, hrc_error *err)
{
    bool rises;
    clip other;
    if (!o->copies) return HRC_OK;
    TRY(gets_up(&rises, &m->clips[i], err));
    rng dice = rng_make(o->seed, (uint64_t)i);
    for (int k = 0; rises && k < o->copies; k++) {
        const double pace = draw_pace(o, &dice);
        TRY(clip_vary(&other, &m->clips[i], pace, o->bend, &dice, err));
        *take(m, i) = other;
    }
    return HRC_OK;
}

static hrc_status add_backwards(motions *m, int i, const variant_options *o, hrc_error *err)
{
    clip back;
    if (!o->backwards || !goes_down(&m->clips[i]) || !is_slow(&m->clips[i])) return HRC_OK;
    TRY(copy_of(&back, &m->clips[i], err));
    clip_reverse(&back);
    *take(m, i) = back;
    return HRC_OK;
}

static hrc_status add_blurred(motions *m, int i, const variant_options *o, hrc_error *err)
{
    clip other, blurred;
    rng dice = rng_make(o->seed, BLURRED + (uint64_t)i);
    for (int k = 0; k < o->blurred && goes_down(&m->clips[i]); k++) {
        const double pace = draw_pace(o, &dice);
        TRY(clip_vary(&other, &m->clips[i], pace, 0, &dice, err));
        *take(m, i) = other;
        TRY(copy_of(&blurred, &other, err));
        clip_blur(&blurred, o->blur, o->blur, &dice);
        m->shown[m->n - 1].motion = blurred;
    }
    return HRC_OK;
}

/* A pose that is held for a while is on average half of that while late: so is the motion to be done. */
static hrc_status add_held(motions *m, int i, const variant_options *o, hrc_error *err)
{
    clip smooth, held;
    if (!(o->held_s > 0) || !goes_down(&m->clips[i])) return HRC_OK;
    TRY(copy_of(&smooth, &m->clips[i], err));
    clip_delay(&smooth, o->held_s / 2);
    *take(m, i) = smooth;
    TRY(copy_of(&held, &m->clips[i], err));
    clip_hold(&held, o->held_s);
    m->shown[m->n - 1] = (shown_motion){held, true};
    return HRC_OK;
}

hrc_status motions_vary(motions *m, const variant_options *o, hrc_error *err)
{
    static hrc_status (*const add[])(motions *, int, const variant_options *,
                                     hrc_error *) = {add_varied, add_backwards, add_blurred, add_held};
    const int n = m->n;
    TRY(motions_grow(m, n * (o->copies + o->backwards + o->blurred + (o->held_s > 0)), err));
    for (int kind = 0; kind < COUNT(add); kind++)
        for (int i = 0; i < n; i++)
            if (!m->heldout[i] || o->heldout) TRY(add[kind](m, i, o, err));
    return HRC_OK;
}
