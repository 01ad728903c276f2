#include "learn/imagine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#include "learn/imagine_loss.h"
#include "plan/offset.h"

#define TURN_COLUMNS (OBS_FRAMES * IMAGINE_TURN)

/* Arrays over time are (steps, batch, ...): row t * batch + b. */
struct imagine {
    arena memory;
    imagine_options o;
    const policy *net;
    const world_model *world;
    const nn_ops *ops;
    pool *threads;
    imagine_start *starts; /* (batch) */
    real p_shift[OBS_P], p_scale[OBS_P], m_shift[OBS_M], m_scale[OBS_M];
    world_pass dream;
    mlp_pass encoder, action, reconstruction;
    real *s, *ds;             /* (steps + 1, batch, WS) */
    real *ref;                /* (steps, batch, WS): the reference after the period */
    real *loss;               /* (batch): of a rollout, divided by the batch */
    real *count;              /* (steps, batch): 1 / rows, 0 after the clip's end or a wild state */
    real *p, *dp;             /* (OBS_HISTORY - 1 + steps, batch, OBS_P): normalised; row 9 + t is of s_t */
    real *window;             /* (steps, batch, OBS_WINDOW), normalised */
    real *inputs;             /* (steps, batch, d + OBS_PROPRIO): of the action decoder */
    real *z, *e, *dz, *de;    /* (steps, batch, d) */
    real *scratch;            /* (steps, batch, codes): VQ */
    int32_t *index;           /* (steps, batch, indices) */
    real *a, *da;             /* (steps, batch, HRC_JOINTS) */
    real *target, *dtarget;   /* likewise */
    real *m, *dm;             /* (rec_steps, batch, OBS_WINDOW) */
    real *dtoken, *dhistory;  /* (batch, d), (batch, OBS_PROPRIO): of one period */
    real *turn, *turn_weight; /* (batch, TURN_COLUMNS), (first hidden layer, TURN_COLUMNS) */
    real *dwindow;            /* (batch, OBS_WINDOW): of one period, where there is an anchored rollout */
    imagine_offset *anchors;  /* (plans, batch) */
    imagine_offset *danchor;  /* (batch): of the plan that is under way */
    imagine_result *part;     /* of every piece */
    const real *params, *codebook, *world_params;
};

typedef struct {
    int first, n; /* sequences */
} piece;

/* Of one piece: wide enough that its products do not mostly wait for weights, and two pieces at least for
 * two threads. */
static int piece_rows(int batch)
{
    return batch < 128 ? 32 : batch < 256 ? 64 : 128;
}

static hrc_status make_arrays(imagine *g, hrc_error *err)
{
    const imagine_options *o = &g->o;
    const policy_shape *h = &g->net->shape;
    const size_t B = (size_t)o->batch, T = (size_t)o->steps, rows = B * T, d = (size_t)h->token.dim;
    const size_t p_rows = (T + OBS_HISTORY - 1) * B, R = (size_t)o->rec_steps * B;
    const struct {
        real **at;
        size_t n;
    } want[] = {{&g->s, (rows + B) * WS},
                {&g->ds, (rows + B) * WS},
                {&g->ref, rows * WS},
                {&g->loss, B},
                {&g->count, rows},
                {&g->p, p_rows * OBS_P},
                {&g->dp, p_rows * OBS_P},
                {&g->window, rows * OBS_WINDOW},
                {&g->inputs, rows * (d + OBS_PROPRIO)},
                {&g->z, rows * d},
                {&g->e, rows * d},
                {&g->dz, rows * d},
                {&g->de, rows * d},
                {&g->scratch, h->token.kind == QUANT_VQ ? rows * (size_t)h->token.codes : 1},
                {&g->a, rows * HRC_JOINTS},
                {&g->da, rows * HRC_JOINTS},
                {&g->target, rows * HRC_JOINTS},
                {&g->dtarget, rows * HRC_JOINTS},
                {&g->m, R * OBS_WINDOW + 1},
                {&g->dm, R * OBS_WINDOW + 1},
                {&g->dtoken, B * d},
                {&g->dhistory, B * OBS_PROPRIO},
                {&g->turn, B * TURN_COLUMNS},
                {&g->dwindow, B * OBS_WINDOW},
                {&g->turn_weight, (size_t)g->net->encoder.size[1] * TURN_COLUMNS}};
    bool fine = true;
    for (int i = 0; i < COUNT(want); i++)
        fine = fine && (*want[i].at = ARENA_NEW(&g->memory, real, want[i].n));
    g->index = ARENA_NEW(&g->memory, int32_t, rows * d);
    g->anchors = ARENA_NEW(&g->memory, imagine_offset, (T / PLAN_EVERY + 1) * B);
    g->danchor = ARENA_NEW(&g->memory, imagine_offset, B);
    g->part = ARENA_NEW(&g->memory, imagine_result, g->o.batch / piece_rows(g->o.batch) + 1);
    g->starts = ARENA_NEW(&g->memory, imagine_start, B);
    if (!fine || !g->index || !g->anchors || !g->danchor || !g->part || !g->starts)
        return fail(err, HRC_ENOMEM, "imagined rollouts: out of memory for %d of %d steps", o->batch,
                    o->steps);
    return HRC_OK;
}

static hrc_status make_passes(imagine *g, hrc_error *err)
{
    const int rows = g->o.batch * g->o.steps;
    arena *a = &g->memory;
    TRY(world_pass_create(&g->dream, g->world, g->ops, g->threads, rows, a, err));
    TRY(mlp_pass_create(&g->encoder, &g->net->encoder, g->ops, g->threads, rows, a, err));
    TRY(mlp_pass_create(&g->action, &g->net->action, g->ops, g->threads, rows, a, err));
    return mlp_pass_create(&g->reconstruction, &g->net->reconstruction, g->ops, g->threads,
                           g->o.rec_steps * g->o.batch, a, err);
}

NN_FN hrc_status imagine_create(imagine **out, const imagine_options *o, const policy *net,
                                const world_model *m, const nn_ops *ops, pool *threads, hrc_error *err)
{
    imagine *g = calloc(1, sizeof *g);
    if (!g) return fail(err, HRC_ENOMEM, "imagined rollouts: out of memory");
    g->o = *o, g->net = net, g->world = m, g->ops = ops, g->threads = threads;
    for (int i = 0; i < OBS_P; i++) g->p_scale[i] = 1;
    for (int i = 0; i < OBS_M; i++) g->m_scale[i] = 1;
    hrc_status status = make_arrays(g, err);
    if (status == HRC_OK) status = make_passes(g, err);
    if (status < 0)
        imagine_free(g);
    else
        *out = g;
    return status;
}

NN_FN void imagine_free(imagine *g)
{
    if (!g) return;
    arena_free(&g->memory);
    free(g);
}

NN_FN imagine_start *imagine_starts(imagine *g)
{
    return g->starts;
}

NN_FN const int32_t *imagine_tokens(const imagine *g)
{
    return g->index;
}

NN_FN const real *imagine_latents(const imagine *g)
{
    return g->z;
}

NN_FN void imagine_normal(imagine *g, const float *p_shift, const float *p_scale, const float *m_shift,
                          const float *m_scale)
{
    for (int i = 0; i < OBS_P; i++) g->p_shift[i] = (real)p_shift[i], g->p_scale[i] = (real)p_scale[i];
    for (int i = 0; i < OBS_M; i++) g->m_shift[i] = (real)m_shift[i], g->m_scale[i] = (real)m_scale[i];
}

/* ---- Forward ---- */

static size_t row_at(const imagine *g, int t, int b)
{
    return (size_t)t * (size_t)g->o.batch + (size_t)b;
}

static obs_frame frame_at(const imagine_start *s, int frame)
{
    return s->frames[frame < s->n ? frame : s->n - 1];
}

static obs_frame shown_at(const imagine_start *s, int frame)
{
    return s->shown ? s->shown[frame < s->n ? frame : s->n - 1] : frame_at(s, frame);
}

static imagine_offset *anchor_at(const imagine *g, int t, int b)
{
    return g->anchors + row_at(g, t / PLAN_EVERY, b);
}

/* Frame i of the window of period t. */
static obs_frame window_frame(const imagine *g, int t, int b, int i)
{
    const imagine_start *s = &g->starts[b];
    return shown_at(s, s->frame + t + g->o.lead + i);
}

static real left_at(const imagine *g, int t, int i)
{
    return imagine_offset_left(t % PLAN_EVERY + g->o.lead + i);
}

static void put_proprio(imagine *g, size_t row, const real raw[OBS_P])
{
    for (int i = 0; i < OBS_P; i++) g->p[row * OBS_P + i] = (raw[i] - g->p_shift[i]) * g->p_scale[i];
}

static void begin_sequences(imagine *g, piece c)
{
    for (int b = c.first; b < c.first + c.n; b++) {
        const imagine_start *s = &g->starts[b];
        memcpy(g->s + row_at(g, 0, b) * WS, s->s, sizeof s->s);
        for (int k = 0; k < OBS_HISTORY; k++) put_proprio(g, row_at(g, k, b), s->history[k]);
        for (int t = 0; t < g->o.steps; t++) {
            const size_t row = row_at(g, t, b);
            const obs_frame f = frame_at(s, s->frame + t + 1);
            world_state_ref(g->ref + row * WS, f.qpos, f.qvel);
            g->count[row] = s->frame + t + 1 < s->n ? 1 / (real)(g->o.batch * g->o.steps) : 0;
        }
    }
}

static const real *action_before(const imagine *g, int t, int b)
{
    return t ? g->a + row_at(g, t - 1, b) * HRC_JOINTS : g->starts[b].history[OBS_HISTORY - 1] + OBS_ACTION;
}

/* Window and history of period t. */
static void observe(imagine *g, int t, piece c)
{
    const size_t d = (size_t)g->net->shape.token.dim;
    for (int b = c.first; b < c.first + c.n; b++) {
        const size_t row = row_at(g, t, b);
        const imagine_start *start = &g->starts[b];
        real raw[OBS_P], *w = g->window + row * OBS_WINDOW, *in = g->inputs + row * (d + OBS_PROPRIO) + d;
        if (start->anchored && t % PLAN_EVERY == 0)
            imagine_offset_set(anchor_at(g, t, b), g->s + row * WS, shown_at(start, start->frame + t));
        for (int i = 0; i < OBS_FRAMES; i++, w += OBS_M) {
            const obs_frame f = window_frame(g, t, b, i);
            if (start->anchored)
                imagine_shown(w, g->s + row * WS, anchor_at(g, t, b), f, left_at(g, t, i));
            else
                imagine_reference(w, g->s + row * WS, f);
            for (int k = 0; k < OBS_M; k++) w[k] = (w[k] - g->m_shift[k]) * g->m_scale[k];
        }
        if (t) {
            imagine_proprio(raw, g->s + row * WS, action_before(g, t, b));
            put_proprio(g, row_at(g, t + OBS_HISTORY - 1, b), raw);
        }
        for (int k = 0; k < OBS_HISTORY; k++)
            memcpy(in + k * OBS_P, g->p + row_at(g, t + k, b) * OBS_P, OBS_P * sizeof *in);
    }
}

static void aim(imagine *g, int t, piece c)
{
    const int ahead = action_frame(g->o.basis);
    for (int b = c.first; b < c.first + c.n; b++) {
        const size_t row = row_at(g, t, b) * HRC_JOINTS;
        const float *q_ref = window_frame(g, t, b, ahead).qpos + 7;
        const real left = g->starts[b].anchored ? left_at(g, t, ahead) : 0;
        const imagine_offset *a = anchor_at(g, t, b);
        for (int i = 0; i < HRC_JOINTS; i++) {
            const real shown = (real)q_ref[i] + (left > 0 ? left * a->q[i] : 0);
            const real base = g->o.basis == BASIS_DEFAULT ? (real)G1_JOINT[i].q0 : shown;
            g->target[row + (size_t)i] = base + (real)G1_JOINT[i].action_scale * g->a[row + (size_t)i];
        }
    }
}

static void act_and_move(imagine *g, int t, piece c)
{
    const policy *net = g->net;
    const quant *q = &net->shape.token;
    const size_t d = (size_t)q->dim, first = row_at(g, t, c.first);
    const int rows = g->o.batch * g->o.steps;
    nn_mlp_forward(g->ops, &net->encoder, g->z, g->encoder.work, g->window, g->params, rows, (int)first, c.n);
    quant_forward(q, g->ops, g->e + first * d, g->index + first * (size_t)quant_indices(q),
                  g->scratch + (q->kind == QUANT_VQ ? first * (size_t)q->codes : 0), g->z + first * d,
                  g->codebook, c.n);
    for (size_t r = first; r < first + (size_t)c.n; r++)
        memcpy(g->inputs + r * (d + OBS_PROPRIO), g->e + r * d, d * sizeof *g->e);
    nn_mlp_forward(g->ops, &net->action, g->a, g->action.work, g->inputs, g->params, rows, (int)first, c.n);
    aim(g, t, c);
    world_forward(&g->dream, g->s + (first + (size_t)g->o.batch) * WS, g->s + first * WS,
                  g->target + first * HRC_JOINTS, g->world_params, (int)first, c.n);
}

/* Faster than any robot: the world model was led where it knows nothing. */
static bool is_wild(const real s[WS])
{
    static const struct {
        int first, n;
        real most; /* m/s, rad/s, rad/s */
    } LIMITS[] = {{WS_V, 3, 10}, {WS_W, 3, 30}, {WS_QD, HRC_JOINTS, 60}};
    for (int g = 0; g < COUNT(LIMITS); g++)
        for (int i = LIMITS[g].first; i < LIMITS[g].first + LIMITS[g].n; i++)
            if (!(fabs(s[i]) <= LIMITS[g].most)) return true; /* so is what is not a number */
    return false;
}

/* A rollout that went wild in period t no longer counts from there on; it goes on from the reference, so that
 * all its numbers stay finite. */
static void end_wild(imagine *g, int t, piece c)
{
    for (int b = c.first; b < c.first + c.n; b++) {
        real *next = g->s + row_at(g, t + 1, b) * WS;
        if (!is_wild(next)) continue;
        memcpy(next, g->ref + row_at(g, t, b) * WS, WS * sizeof *next);
        for (int i = t; i < g->o.steps; i++) g->count[row_at(g, i, b)] = 0;
    }
}

/* ---- Losses ---- */

static void tracking_losses(imagine *g, piece c, imagine_result *sum)
{
    real *loss = g->loss + c.first;
    memset(loss, 0, sizeof *loss * (size_t)c.n);
    memset(g->ds + row_at(g, 0, c.first) * WS, 0, sizeof(real) * WS * (size_t)c.n);
    for (int t = 0; t < g->o.steps; t++) {
        const size_t row = row_at(g, t, c.first), next = row_at(g, t + 1, c.first);
        memset(g->ds + next * WS, 0, sizeof(real) * WS * (size_t)c.n);
        imagine_loss(loss, g->ds + next * WS, g->s + next * WS, g->ref + row * WS, g->count + row,
                     g->world->points, c.n);
    }
    for (int b = 0; b < c.n; b++) sum->tracking += (double)loss[b];
}

/* Sets da to the gradient of the penalties. The first action's change is not counted: the one before it may
 * have been a random one. */
static void action_losses(imagine *g, piece c, imagine_result *sum)
{
    const real wa = (real)(2 * g->o.action_weight), wr = (real)(2 * g->o.rate_weight);
    for (int t = 0; t < g->o.steps; t++)
        memset(g->da + row_at(g, t, c.first) * HRC_JOINTS, 0, sizeof(real) * HRC_JOINTS * (size_t)c.n);
    for (int t = 0; t < g->o.steps; t++)
        for (int b = c.first; b < c.first + c.n; b++) {
            const size_t row = row_at(g, t, b), before = t ? row_at(g, t - 1, b) : row;
            const real *a = g->a + row * HRC_JOINTS, *last = g->a + before * HRC_JOINTS,
                       share = g->count[row];
            real *da = g->da + row * HRC_JOINTS, *dlast = g->da + before * HRC_JOINTS, squares = 0,
                 changes = 0;
            for (int i = 0; i < HRC_JOINTS; i++) {
                const real change = a[i] - last[i];
                squares += share * a[i] * a[i];
                changes += share * change * change;
                da[i] += share * (wa * a[i] + wr * change);
                dlast[i] -= share * wr * change;
            }
            sum->action += (double)squares;
            sum->rate += (double)changes;
            g->loss[b] += (wa * squares + wr * changes) / 2;
        }
}

/* What the policy goes down is c log(1 + L / c) of each rollout's own loss L: a robot that lies where its
 * reference stands is tens of times as far off as one that misses a leap, and would drown it. */
static void saturate(imagine *g, piece c, imagine_result *sum)
{
    const real knee = (real)(g->o.knee / g->o.batch);
    for (int b = c.first; b < c.first + c.n; b++) {
        sum->objective += (double)(knee > 0 ? knee * log(1 + g->loss[b] / knee) : g->loss[b]);
        if (!(knee > 0)) continue;
        const real slope = knee / (knee + g->loss[b]);
        for (int t = 0; t < g->o.steps; t++) {
            real *ds = g->ds + row_at(g, t + 1, b) * WS, *da = g->da + row_at(g, t, b) * HRC_JOINTS;
            for (int i = 0; i < WS; i++) ds[i] *= slope;
            for (int i = 0; i < HRC_JOINTS; i++) da[i] *= slope;
        }
    }
}

/* de = gradient of the reconstruction of period t, or 0. */
static void reconstruct(imagine *g, int t, piece c, imagine_result *sum)
{
    const policy *net = g->net;
    const size_t d = (size_t)net->shape.token.dim, first = row_at(g, t, c.first);
    if (t >= g->o.rec_steps) {
        memset(g->de + first * d, 0, sizeof(real) * d * (size_t)c.n);
        return;
    }
    const int rows = g->o.rec_steps * g->o.batch;
    const double mean = 1.0 / ((double)rows * OBS_FRAMES);
    const real slope = (real)(2 * g->o.rec_weight * mean);
    nn_mlp_forward(g->ops, &net->reconstruction, g->m, g->reconstruction.work, g->e, g->params, rows,
                   (int)first, c.n);
    for (size_t i = first * OBS_WINDOW; i < (first + (size_t)c.n) * OBS_WINDOW; i++) {
        const real gap = g->m[i] - g->window[i];
        sum->reconstruction += (double)(gap * gap) * mean;
        g->dm[i] = slope * gap;
    }
    nn_mlp_back(g->ops, &net->reconstruction, g->de, g->reconstruction.work, g->dm, g->params, rows,
                (int)first, c.n);
}

/* ---- Backward ---- */

/* Through the action decoder: the token's gradient, and that of the history. */
static void decoder_back(imagine *g, int t, piece c)
{
    const policy *net = g->net;
    const int d = net->shape.token.dim, rows = g->o.batch * g->o.steps;
    const int first = (int)row_at(g, t, c.first);
    real *dtoken = g->dtoken + (size_t)c.first * (size_t)d;
    real *dhistory = g->dhistory + (size_t)c.first * OBS_PROPRIO;
    nn_mlp_back(g->ops, &net->action, NULL, g->action.work, g->da, g->params, rows, first, c.n);
    nn_mlp_back_inputs(g->ops, &net->action, dtoken - (size_t)first * (size_t)d, g->action.work, g->da,
                       g->params, rows, first, c.n, 0, d);
    nn_mlp_back_inputs(g->ops, &net->action, dhistory - (size_t)first * OBS_PROPRIO, g->action.work, g->da,
                       g->params, rows, first, c.n, d, OBS_PROPRIO);
    for (int b = 0; b < c.n; b++) {
        for (int k = 0; k < d; k++)
            g->de[((size_t)first + (size_t)b) * (size_t)d + (size_t)k] +=
                dtoken[(size_t)b * (size_t)d + (size_t)k];
        for (int f = 0; f < OBS_HISTORY; f++) {
            real *dp = g->dp + row_at(g, t + f, c.first + b) * OBS_P;
            const real *from = dhistory + (size_t)(b * OBS_PROPRIO + f * OBS_P);
            for (int i = 0; i < OBS_P; i++) dp[i] += from[i];
        }
    }
}

static bool any_anchored(const imagine *g, piece c)
{
    for (int b = c.first; b < c.first + c.n; b++)
        if (g->starts[b].anchored) return true;
    return false;
}

/* Of plain windows only the rotation numbers depend on the state. */
static void reference_back(imagine *g, int t, int b, real *turn)
{
    const size_t row = row_at(g, t, b);
    for (int i = 0; i < OBS_FRAMES; i++, turn += IMAGINE_TURN) {
        for (int k = 0; k < IMAGINE_TURN; k++) turn[k] *= g->m_scale[OBS_REF_ROT + k];
        imagine_reference_back(g->ds + row * WS, turn, g->s + row * WS, window_frame(g, t, b, i));
    }
}

/* Of anchored ones all do, by way of the state that the plan was made in: window and aim. */
static void anchored_back(imagine *g, int t, int b, real *dm)
{
    const size_t row = row_at(g, t, b);
    const imagine_start *start = &g->starts[b];
    imagine_offset *da = &g->danchor[b];
    const real left = g->o.basis == BASIS_DEFAULT ? 0 : left_at(g, t, action_frame(g->o.basis));
    for (int i = 0; i < OBS_FRAMES; i++, dm += OBS_M) {
        for (int k = 0; k < OBS_M; k++) dm[k] *= g->m_scale[k];
        imagine_shown_back(g->ds + row * WS, da, dm, g->s + row * WS, anchor_at(g, t, b),
                           window_frame(g, t, b, i), left_at(g, t, i));
    }
    for (int i = 0; i < HRC_JOINTS; i++) da->q[i] += left * g->dtarget[row * HRC_JOINTS + (size_t)i];
    if (t % PLAN_EVERY) return;
    imagine_offset_back(g->ds + row * WS, da, g->s + row * WS, shown_at(start, start->frame + t));
    *da = (imagine_offset){0};
}

/* Through tokenizer and encoder to what of the window depends on the state. */
static void encoder_back(imagine *g, int t, piece c)
{
    const policy *net = g->net;
    const quant *q = &net->shape.token;
    const size_t d = (size_t)q->dim, first = row_at(g, t, c.first);
    const int rows = g->o.batch * g->o.steps, hidden = net->encoder.size[1];
    quant_backward(q, g->dz + first * d, g->de + first * d, g->z + first * d, g->e + first * d, c.n, rows);
    nn_mlp_back(g->ops, &net->encoder, NULL, g->encoder.work, g->dz, g->params, rows, (int)first, c.n);
    const real *dhidden = nn_mlp_gradient(&net->encoder, g->encoder.work, 1, rows) + first * (size_t)hidden;
    real *turn = g->turn + (size_t)c.first * TURN_COLUMNS,
         *dwindow = g->dwindow + (size_t)c.first * OBS_WINDOW;
    if (any_anchored(g, c))
        nn_mlp_back_inputs(g->ops, &net->encoder, dwindow - first * OBS_WINDOW, g->encoder.work, g->dz,
                           g->params, rows, (int)first, c.n, 0, OBS_WINDOW);
    g->ops->gemm(turn, dhidden, g->turn_weight, c.n, TURN_COLUMNS, hidden, TURN_COLUMNS, hidden, TURN_COLUMNS,
                 0);
    for (int b = c.first; b < c.first + c.n; b++, turn += TURN_COLUMNS, dwindow += OBS_WINDOW)
        if (g->starts[b].anchored)
            anchored_back(g, t, b, dwindow);
        else
            reference_back(g, t, b, turn);
}

static void proprio_back(imagine *g, int t, piece c)
{
    for (int b = c.first; t && b < c.first + c.n; b++) {
        real dp[OBS_P];
        const real *from = g->dp + row_at(g, t + OBS_HISTORY - 1, b) * OBS_P;
        for (int i = 0; i < OBS_P; i++) dp[i] = from[i] * g->p_scale[i];
        imagine_proprio_back(g->ds + row_at(g, t, b) * WS, g->da + row_at(g, t - 1, b) * HRC_JOINTS, dp);
    }
}

/* No single state may outweigh the batch: its gradient, counted in changes of one period, has a limit. */
static void clip_state(imagine *g, size_t row)
{
    real *ds = g->ds + row * WS, sum = 0;
    for (int i = 0; i < WS; i++) {
        const real e = ds[i] / g->world->error_scale[i];
        sum += e * e;
    }
    const real limit = (real)(g->o.state_clip / (g->o.batch * g->o.steps)), norm = sqrt(sum);
    const real factor = norm <= limit ? 1 : norm < (real)1e30 ? limit / norm : 0;
    for (int i = 0; i < WS; i++) ds[i] = factor > 0 ? ds[i] * factor : 0;
}

static void period_back(imagine *g, int t, piece c, imagine_result *sum)
{
    const size_t first = row_at(g, t, c.first), next = row_at(g, t + 1, c.first);
    for (size_t r = next; g->o.state_clip > 0 && r < next + (size_t)c.n; r++) clip_state(g, r);
    world_backward(&g->dream, g->ds + first * WS, g->dtarget + first * HRC_JOINTS, g->ds + next * WS,
                   g->s + first * WS, g->s + next * WS, g->world_params, (int)first, c.n);
    for (size_t i = first * HRC_JOINTS; i < (first + (size_t)c.n) * HRC_JOINTS; i++)
        g->da[i] += (real)G1_JOINT[i % HRC_JOINTS].action_scale * g->dtarget[i];
    reconstruct(g, t, c, sum);
    decoder_back(g, t, c);
    encoder_back(g, t, c);
    proprio_back(g, t, c);
}

static void imagine_piece(void *ctx, int item, int worker)
{
    (void)worker;
    imagine *g = ctx;
    const int most = piece_rows(g->o.batch), first = item * most, left = g->o.batch - first;
    const piece c = {first, left < most ? left : most};
    imagine_result *sum = &g->part[item];
    *sum = (imagine_result){0};
    begin_sequences(g, c);
    for (int t = 0; t < g->o.steps; t++) {
        observe(g, t, c);
        act_and_move(g, t, c);
        end_wild(g, t, c);
    }
    for (int t = 0; t < g->o.steps + OBS_HISTORY - 1; t++)
        memset(g->dp + row_at(g, t, c.first) * OBS_P, 0, sizeof(real) * OBS_P * (size_t)c.n);
    memset(g->danchor + c.first, 0, sizeof *g->danchor * (size_t)c.n);
    tracking_losses(g, c, sum);
    action_losses(g, c, sum);
    saturate(g, c, sum);
    for (int t = g->o.steps - 1; t >= 0; t--) period_back(g, t, c, sum);
}

/* The encoder's weights of the window's rotation numbers, which alone need a gradient. */
static void gather_turn_weights(imagine *g)
{
    const nn_mlp *net = &g->net->encoder;
    const real *weight = g->params + net->offset;
    for (int h = 0; h < net->size[1]; h++)
        for (int i = 0; i < OBS_FRAMES; i++)
            for (int k = 0; k < IMAGINE_TURN; k++)
                g->turn_weight[h * TURN_COLUMNS + i * IMAGINE_TURN + k] =
                    weight[(size_t)h * OBS_WINDOW + (size_t)(i * OBS_M + OBS_REF_ROT + k)];
}

NN_FN imagine_result imagine_gradient(imagine *g, real *grads, const real *policy_params,
                                      const real *codebook, const real *world_params)
{
    const int most = piece_rows(g->o.batch), items = (g->o.batch + most - 1) / most,
              rows = g->o.batch * g->o.steps;
    imagine_result sum = {0};
    g->params = policy_params, g->codebook = codebook, g->world_params = world_params;
    gather_turn_weights(g);
    pool_items(g->threads, items, imagine_piece, g);
    mlp_pass_weights(&g->action, grads, g->da, g->inputs, rows);
    mlp_pass_weights(&g->encoder, grads, g->dz, g->window, rows);
    if (g->o.rec_steps) mlp_pass_weights(&g->reconstruction, grads, g->dm, g->e, g->o.rec_steps * g->o.batch);
    for (int i = 0; i < items; i++) {
        sum.tracking += g->part[i].tracking;
        sum.action += g->part[i].action;
        sum.rate += g->part[i].rate;
        sum.objective += g->part[i].objective;
        sum.reconstruction += g->part[i].reconstruction;
    }
    return sum;
}
