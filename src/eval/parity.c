#include "eval/parity.h"

#include <math.h>
#include <string.h>

#include "control/library.h"

static void compare(parity *out, const hrc_report *r, const hrc_target *a, const hrc_tracker *other,
                    const hrc_target *b)
{
    int n;
    const float *token = tracker_token_of(other, &n);
    bool same = n == r->ntoken;
    for (int i = 0; same && i < n; i++) same = fabsf(token[i] - r->token[i]) < 1e-3f;
    out->steps++;
    out->ties += !same;
    for (int i = 0; i < HRC_JOINTS && same; i++)
        out->worst_rad = fmax(out->worst_rad, fabs(a->q[i] - b->q[i]));
}

static hrc_status follow(parity *out, hrc_controller *lead, hrc_tracker *other, sim *physics, const course *c,
                         hrc_error *err)
{
    sim_world w;
    hrc_target mine, theirs;
    hrc_frame window[HRC_WINDOW];
    const hrc_motion motion = course_motion(c);
    course_world(c, NULL, physics, &w);
    TRY(hrc_follow(lead, &motion, c->first, c->how, err));
    for (int i = 0; i < c->frames && !w.diverged; i++) {
        hrc_state state;
        memcpy(state.qpos, w.qpos, sizeof state.qpos);
        memcpy(state.qvel, w.qvel, sizeof state.qvel);
        TRY(loop_step(lead, physics, &w, 0, &mine, err));
        const hrc_report *r = hrc_controller_report(lead);
        memcpy(window, r->window, sizeof window);
        if (hrc_tracker_lead(other) == 0) window[0] = r->reference; /* all that such a policy is shown */
        TRY(hrc_step(other, &state, window, &theirs, err));
        compare(out, r, &mine, other, &theirs);
    }
    return HRC_OK;
}

hrc_status parity_measure(parity *out, const hrc_model *leads, const hrc_model *other, const course *c,
                          const config *cfg, hrc_error *err)
{
    pool *threads = NULL;
    sim *physics = NULL;
    hrc_controller *lead = NULL;
    hrc_tracker *second = NULL;
    *out = (parity){0};
    hrc_status status = pool_create(&threads, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, cfg, threads, err);
    if (status == HRC_OK) status = hrc_controller_create(&lead, leads, NULL, NULL, err);
    if (status == HRC_OK) status = hrc_tracker_create(&second, other, err);
    if (status == HRC_OK) status = follow(out, lead, second, physics, c, err);
    hrc_tracker_free(second);
    hrc_controller_free(lead);
    sim_free(physics);
    pool_free(threads);
    return status;
}
