/* heracles plot: the curves of training logs as a page. */
#include <stdio.h>

#include "cli/commands.h"
#include "eval/curves.h"

static int run_plot(const args *a)
{
    const char *out = arg(a, "out");
    curves_count count;
    hrc_error err;
    if (!out) return cli_usage(a, "--out is missing");
    if (curves_write(out, a->operands, a->n, &count, &err) < 0) return cli_fail(&err);
    if (a->json)
        return cli_json(json_pack("{s:s, s:i, s:i, s:i}", "page", out, "logs", a->n, "lines", count.lines,
                                  "figures", count.figures));
    printf("%s: %d figures of %d lines\n", out, count.figures, count.lines);
    return EXIT_DONE;
}

static const option OPTIONS[] = {{"out", "PAGE", NULL, "the page to write (-o)"}, {0}};

const command CMD_PLOT = {
    .name = "plot",
    .operands = "LOG...",
    .summary = "the curves of training logs as a page; several logs share the charts",
    .example = "heracles plot tracker.safetensors.log.jsonl -o curves.html",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_plot,
};
