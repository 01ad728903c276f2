/* heracles seal: a model of an earlier version with the digest that models have now; no weight changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "control/library.h"
#include "track/tracker.h"

/* The same tensors and metadata, with a digest. */
static hrc_status write_copy(const char *path, const tensorfile *file, hrc_error *err)
{
    tensor_meta *meta = calloc((size_t)file->nmeta + 1, sizeof *meta);
    int n = 0;
    if (!meta) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    for (int i = 0; i < file->nmeta; i++)
        if (strcmp(file->meta[i].key, "digest")) meta[n++] = file->meta[i];
    hrc_status status = seal_write(path, file->tensors, file->ntensors, meta, n, err);
    free(meta);
    return status;
}

static bool has_halves(const tensorfile *file)
{
    for (int i = 0; i < file->ntensors; i++)
        if (file->tensors[i].type == DT_BF16) return true;
    return false;
}

/* What has a digest can be loaded, which proves the model by its own examples; a tracker then gets as many as
 * trackers have now. */
static hrc_status seal(const char *path, const char *out, hrc_error *err)
{
    char unproven[1024];
    tensorfile file;
    hrc_model *m = NULL;
    if ((size_t)snprintf(unproven, sizeof unproven, "%s.unproven", out) >= sizeof unproven)
        return fail(err, HRC_EINVAL, "%.80s...: the name is too long", out);
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = write_copy(unproven, &file, err);
    if (status == HRC_OK) status = hrc_model_load(&m, unproven, err);
    if (status == HRC_OK && m->kind == HRC_TRACKER)
        status = tracker_save(&m->track, has_halves(&file), out, err);
    else if (status == HRC_OK)
        status = write_copy(out, &file, err);
    hrc_model_free(m);
    unlink(unproven);
    tensorfile_close(&file);
    return status;
}

static int run_seal(const args *a)
{
    hrc_error err;
    const char *out = arg(a, "out");
    if (!out) return cli_usage(a, "--out is missing");
    if (seal(a->operands[0], out, &err) < 0) return cli_fail(&err);
    if (a->json) return cli_json(json_pack("{s:s}", "sealed", out));
    printf("%s: loads, and has a digest\n", out);
    return EXIT_DONE;
}

static const option OPTIONS[] = {{"out", "FILE", NULL, "where to write (-o); may be the same file"}, {0}};

const command CMD_SEAL = {
    .name = "seal",
    .operands = "MODEL",
    .summary = "a tracker or planner of an earlier version, with a digest; no weight changes",
    .example = "heracles seal old.safetensors -o tracker.safetensors",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_seal,
};
