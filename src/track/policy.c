#include "track/policy.h"

#include <math.h>
#include <string.h>

static nn_mlp stack(int in, const policy_hidden *hidden, int out, nn_activation activation)
{
    nn_mlp m = {.layers = hidden->n + 1, .activation = activation};
    m.size[0] = in;
    for (int i = 0; i < hidden->n; i++) m.size[i + 1] = hidden->size[i];
    m.size[m.layers] = out;
    return m;
}

static hrc_status check_hidden(const policy_hidden *h, const char *what, hrc_error *err)
{
    if (h->n < 0 || h->n > POLICY_MAX_HIDDEN)
        return fail(err, HRC_EINVAL, "policy: %d hidden layers of the %s, expected 0 to %d", h->n, what,
                    POLICY_MAX_HIDDEN);
    for (int i = 0; i < h->n; i++)
        if (h->size[i] < 1 || h->size[i] > 16384)
            return fail(err, HRC_EINVAL,
                        "policy: hidden layer %d of the %s has %d numbers, expected 1 to 16384", i, what,
                        h->size[i]);
    return HRC_OK;
}

NN_FN hrc_status policy_init(policy *p, const policy_shape *shape, hrc_error *err)
{
    TRY(quant_check(&shape->token, err));
    TRY(check_hidden(&shape->encoder, "encoder", err));
    TRY(check_hidden(&shape->reconstruction, "reconstruction decoder", err));
    TRY(check_hidden(&shape->action, "action decoder", err));
    const int d = shape->token.dim;
    memset(p, 0, sizeof *p);
    p->shape = *shape;
    p->encoder = stack(shape->window, &shape->encoder, d, shape->activation);
    p->reconstruction = stack(d, &shape->reconstruction, shape->window, shape->activation);
    p->action = stack(d + shape->proprio, &shape->action, shape->actions, shape->activation);
    nn_mlp_add(&p->encoder, &p->layout, "encoder", INIT_XAVIER);
    nn_mlp_add(&p->reconstruction, &p->layout, "reconstruction", INIT_XAVIER);
    nn_mlp_add(&p->action, &p->layout, "action", INIT_XAVIER);
    p->log_std = nn_layout_add(&p->layout, "log_std", INIT_ZERO, shape->actions, 0, 0);
    return HRC_OK;
}

NN_FN void policy_fresh(real *params, const policy *p, uint64_t seed, double head_scale, double std)
{
    nn_layout_init(params, &p->layout, seed);
    for (int i = 0; i < p->shape.actions; i++) params[p->log_std + (size_t)i] = (real)log(std);
    const nn_tensor *head = &p->layout.tensors[p->layout.n - 3]; /* then its bias, then log_std */
    for (size_t i = 0; i < head->count; i++) params[head->offset + i] *= (real)head_scale;
}

NN_FN void critic_init(critic *c, int inputs, const policy_hidden *hidden, nn_activation activation)
{
    memset(c, 0, sizeof *c);
    c->net = stack(inputs, hidden, 1, activation);
    nn_mlp_add(&c->net, &c->layout, "critic", INIT_XAVIER);
}

#ifndef NN_DOUBLE
#define COMMITMENT 0.02f /* weight of vq's commitment loss */
#define NARROWEST 64

static const char *const ACTIVATIONS[] = {[ACT_SILU] = "silu", [ACT_ELU] = "elu", [ACT_GELU] = "gelu"};

nn_activation policy_activation(const char *word)
{
    for (int i = 0; i < COUNT(ACTIVATIONS); i++)
        if (strcmp(word, ACTIVATIONS[i]) == 0) return (nn_activation)i;
    return ACT_ELU;
}

const char *policy_activation_name(nn_activation activation)
{
    return ACTIVATIONS[activation];
}

/* `width`, then half as wide each, at least 64 (or width, if that is less). */
static policy_hidden policy_halving(int width, int depth)
{
    policy_hidden h = {.n = depth};
    int least = width < NARROWEST ? width : NARROWEST;
    for (int i = 0; i < depth && i < POLICY_MAX_HIDDEN; i++)
        h.size[i] = (width >> i) > least ? width >> i : least;
    return h;
}

policy_shape policy_from_config(const config *cfg)
{
    policy_shape s = {.window = OBS_WINDOW,
                      .proprio = OBS_PROPRIO,
                      .actions = HRC_JOINTS,
                      .encoder = policy_halving(cfg->tracker_encoder_width, cfg->tracker_depth),
                      .action = policy_halving(cfg->tracker_action_width, cfg->tracker_depth),
                      .activation = ACT_ELU,
                      .token = {.kind = quant_kind_of(cfg->tracker_quantizer),
                                .dim = cfg->tracker_token,
                                .levels = cfg->tracker_levels,
                                .codes = cfg->tracker_codes,
                                .commitment = COMMITMENT}};
    s.reconstruction.n = s.encoder.n;
    for (int i = 0; i < s.encoder.n; i++) s.reconstruction.size[i] = s.encoder.size[s.encoder.n - 1 - i];
    return s;
}

void critic_from_config(critic *c, const config *cfg)
{
    policy_hidden hidden = policy_halving(cfg->tracker_critic_width, cfg->tracker_depth);
    critic_init(c, OBS_CRITIC, &hidden, ACT_ELU);
}
#endif
