/* heracles average: the mean of trackers' weights. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "track/tracker.h"

/* Each counts alike: the i-th is added with a share of 1 / (i + 1). */
static hrc_status add_others(track_model *mean, const args *a, hrc_error *err)
{
    hrc_status status = HRC_OK;
    for (int i = 1; i < a->n && status == HRC_OK; i++) {
        track_model other;
        TRY(tracker_load(&other, a->operands[i], err));
        status = track_model_blend(mean, &other, 1.0 / (i + 1), err);
        track_model_free(&other);
    }
    return status;
}

static hrc_status average(const args *a, const char *out, hrc_error *err)
{
    char trained[1024];
    track_model mean;
    if (access(out, F_OK) == 0)
        return fail(err, HRC_EFILE, "%s: is there already; remove it, or name another file", out);
    TRY(tracker_load(&mean, a->operands[0], err));
    hrc_status status = add_others(&mean, a, err);
    snprintf(trained, sizeof trained, "mean of %d trackers, the first: %s", a->n, mean.trained);
    mean.trained = trained;
    if (status == HRC_OK) status = tracker_save(&mean, true, out, err);
    track_model_free(&mean);
    return status;
}

static int run_average(const args *a)
{
    hrc_error err;
    const char *out = arg(a, "out");
    if (!out) return cli_usage(a, "--out is missing");
    if (average(a, out, &err) < 0) return cli_fail(&err);
    if (a->json) return cli_json(json_pack("{s:s, s:i}", "average", out, "of", a->n));
    printf("%s: the mean of %d trackers\n", out, a->n);
    return EXIT_DONE;
}

static const option OPTIONS[] = {{"out", "FILE", NULL, "where to write (-o)"}, {0}};

const command CMD_AVERAGE = {
    .name = "average",
    .operands = "TRACKER TRACKER...",
    .summary = "the mean of trackers' weights: of a tracker and of what it became (train tracker --from)",
    .example = "heracles average models/tracker.safetensors on.safetensors -o mean.safetensors",
    .options = OPTIONS,
    .min_operands = 2,
    .max_operands = 64,
    .run = run_average,
};
