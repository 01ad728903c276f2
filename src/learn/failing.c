#include "learn/failing.h"

#include <stdlib.h>

#include "learn/trial.h"

static hrc_status run_trials(trial *results, const references *refs, const track_model *m, const config *cfg,
                             pool *threads, hrc_error *err)
{
    const config exact = trial_physics(cfg);
    trial_start *starts = calloc((size_t)refs->n, sizeof *starts);
    trial_options o = TRIAL_DEFAULT;
    trials *t = NULL;
    o.longest_s = 0, o.height = FAILING_HEIGHT_M;
    hrc_status status = starts ? HRC_OK : fail(err, HRC_ENOMEM, "trials: out of memory");
    for (int i = 0; starts && i < refs->n; i++) starts[i] = (trial_start){i, 0};
    if (status == HRC_OK) status = trials_create(&t, &exact, refs, threads, err);
    if (status == HRC_OK) status = trials_run(t, m, starts, refs->n, &o, results, NULL, err);
    trials_free(t);
    free(starts);
    return status;
}

hrc_status failing_clips(bool *fails, const clip *clips, int n, const track_model *m, const config *cfg,
                         pool *threads, hrc_error *err)
{
    references refs;
    trial *results = calloc((size_t)n, sizeof *results);
    if (!results) return fail(err, HRC_ENOMEM, "trials: out of memory");
    hrc_status status = references_build(&refs, clips, n, false, threads, err);
    if (status == HRC_OK) {
        status = run_trials(results, &refs, m, cfg, threads, err);
        references_free(&refs);
    }
    for (int i = 0; status == HRC_OK && i < n; i++) fails[i] = !results[i].success;
    free(results);
    return status;
}
