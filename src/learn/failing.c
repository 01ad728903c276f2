#include "learn/failing.h"

#include <stdlib.h>
#include <string.h>

#include "learn/trial.h"
#include "motion/suite.h"

#define LONGEST_S 20

static hrc_status run_trials(trial *results, const references *refs, const track_model *m, const config *cfg,
                             pool *threads, hrc_error *err)
{
    const config exact = trial_physics(cfg);
    trial_start *starts = calloc((size_t)refs->n, sizeof *starts);
    trial_options o = TRIAL_DEFAULT;
    trials *court = NULL;
    o.longest_s = LONGEST_S, o.height = FAILING_HEIGHT_M, o.go_on = true;
    hrc_status status = starts ? HRC_OK : fail(err, HRC_ENOMEM, "trials: out of memory");
    for (int i = 0; starts && i < refs->n; i++) starts[i] = (trial_start){i, 0};
    if (status == HRC_OK) status = trials_create(&court, &exact, refs, threads, err);
    if (status == HRC_OK) status = trials_run(court, m, starts, refs->n, &o, results, NULL, err);
    trials_free(court);
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
    for (int i = 0; status == HRC_OK && i < n; i++)
        fails[i] = !results[i].success && results[i].completion >= FAILING_FOLLOWED;
    free(results);
    return status;
}

hrc_status failing_save(const char *path, const clip *clips, const bool *fails, int n, hrc_error *err)
{
    suite s = {.path = path};
    s.sequences = ARENA_NEW(&s.memory, suite_sequence, n);
    if (!s.sequences) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    for (int i = 0; i < n; i++)
        if (fails[i])
            s.sequences[s.n++] = (suite_sequence){.clip = clips[i].name,
                                                  .category = *clips[i].category ? clips[i].category : "-",
                                                  .last = clips[i].n - 1};
    const hrc_status status = s.n ? suite_write(&s, path, err) : HRC_OK; /* a suite has a sequence at least */
    suite_free(&s);
    return status;
}

hrc_status failing_load(bool *fails, const char *path, const clip *clips, int n, hrc_error *err)
{
    suite s;
    TRY(suite_load(&s, path, err));
    int found = 0;
    for (int i = 0; i < n; i++) {
        fails[i] = false;
        for (int k = 0; k < s.n && !fails[i]; k++) fails[i] = !strcmp(s.sequences[k].clip, clips[i].name);
        found += fails[i];
    }
    const hrc_status status =
        found == s.n ? HRC_OK
                     : fail(err, HRC_EINVAL, "%s: names %d clips of which %d are in the corpora given", path,
                            s.n, found);
    suite_free(&s);
    return status;
}
