/* heracles eval planner: plans against held-out motion and simple rivals, without physics. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "eval/planner_eval.h"
#include "learn/motions.h"

static json_t *error_json(const plan_error *e)
{
    return json_pack("{s:o, s:o, s:o}", "joint_rad", json_number(e->joint_rad), "root_cm",
                     json_number(e->root_cm), "ori_rad", json_number(e->ori_rad));
}

static int print_json(const planner_report *r, size_t parameters)
{
    json_t *distances = json_array(), *guard = json_object();
    for (int d = 0; d < PLAN_DISTANCES; d++) {
        json_t *row = json_pack("{s:f}", "target_s", PLAN_DISTANCE_S[d]);
        for (int m = 0; m < PLAN_METHODS; m++)
            json_object_set_new(row, PLAN_METHOD[m], error_json(&r->error[d][m]));
        json_array_append_new(distances, row);
    }
    for (int v = 0; v < PLAN_VERDICTS; v++)
        json_object_set_new(guard, plan_verdict_name((plan_verdict)v), json_integer(r->verdicts[v]));
    return cli_json(json_pack(
        "{s:I, s:i, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:f, s:o}", "params", (json_int_t)parameters, "starts",
        r->starts, "distances", distances, "identity", error_json(&r->identity), "limit_share",
        r->limit_share, "skate_p90_mps", json_number(r->skate_p90), "skate_clip_p90_mps",
        json_number(r->skate_clip_p90), "diversity_fallen_rad", json_number(r->diversity_fallen),
        "diversity_nominal_rad", json_number(r->diversity_nominal), "plan_ms", r->plan_ms, "guard", guard));
}

static void print_figure(const char *what, const char *unit, const planner_report *r, size_t member)
{
    printf("\n%-22s", what);
    for (int m = 0; m < PLAN_METHODS; m++) printf(" %9s", PLAN_METHOD[m]);
    for (int d = 0; d < PLAN_DISTANCES; d++) {
        printf("\n  %3.1f s ahead, %-4s    ", PLAN_DISTANCE_S[d], unit);
        for (int m = 0; m < PLAN_METHODS; m++) {
            double value;
            memcpy(&value, (const char *)&r->error[d][m] + member, sizeof value);
            printf(" %9.4f", value);
        }
    }
    printf("\n");
}

static int print_text(const planner_report *r)
{
    printf("%d starts a distance, held-out clips; the reference is as far ahead of the robot\n", r->starts);
    print_figure("joints (L2 over 29)", "rad", r, offsetof(plan_error, joint_rad));
    print_figure("root position", "cm", r, offsetof(plan_error, root_cm));
    print_figure("root orientation", "rad", r, offsetof(plan_error, ori_rad));
    printf("\nidentity, on the reference     joints %.6f rad, root %.4f cm, %.6f rad\n",
           r->identity.joint_rad, r->identity.root_cm, r->identity.ori_rad);
    printf("plans beyond joint limits      %.2f %%\n", 100 * r->limit_share);
    printf("foot skate p90                 chained plans %.3f m/s, the clips %.3f m/s\n", r->skate_p90,
           r->skate_clip_p90);
    printf("spread over seeds              from the ground %.3f rad, on the reference %.3f rad\n",
           r->diversity_fallen, r->diversity_nominal);
    printf("guard                         ");
    for (int v = 0; v < PLAN_VERDICTS; v++)
        printf(" %s %ld", plan_verdict_name((plan_verdict)v), r->verdicts[v]);
    printf("\na plan takes                   %.1f ms\n", r->plan_ms);
    return EXIT_DONE;
}

/* The held-out clips of what was loaded, moved to the front. Clip files given by name are all judged. */
static int keep_heldout(motions *m, bool from_corpus)
{
    int n = 0;
    for (int i = 0; i < m->n && from_corpus; i++)
        if (m->heldout[i]) {
            clip swap = m->clips[n];
            m->clips[n++] = m->clips[i];
            m->clips[i] = swap;
        }
    return from_corpus ? n : m->n;
}

static int run_eval_planner(const args *a)
{
    hrc_error err;
    plan_model model = {0};
    motions data = {0};
    pool *threads = NULL;
    planner_report report = {0};
    planner_options options = planner_defaults();
    int starts = 200;
    double t_start = (double)options.t_start, noise = (double)options.noise;
    const char *path = arg(a, "model"), *corpus_path = arg(a, "corpus");
    if (!path) return cli_usage(a, "--model is missing");
    if ((corpus_path != NULL) == (a->n > 0)) return cli_usage(a, "give --corpus FILE or motion files");
    if (!arg_int(a, "starts", 24, 1000000, &starts) ||
        !arg_int(a, "steps", 1, INFER_MAX_STEPS, &options.steps) ||
        !arg_number(a, "t-start", 0.01, 1, &t_start) || !arg_number(a, "noise", 0.001, 2, &noise))
        return EXIT_USAGE;
    options.noise = (float)noise;
    options.t_start = (float)t_start;
    options.warm_start = !arg(a, "cold");
    options.precision = arg(a, "bf16") ? NN_BF16 : NN_FLOAT;
    progress bar = progress_begin(a, "planning");
    hrc_status status = plan_model_load(&model, path, &err);
    if (status == HRC_OK) status = planner_verify(&model, &err);
    clip_options reading;
    if (status == HRC_OK) status = motion_reading(a, &reading, &err);
    if (status == HRC_OK) status = motions_load(&data, corpus_path, a->operands, a->n, &reading, false, &err);
    if (status == HRC_OK) status = pool_create(&threads, a->threads, &err);
    if (status == HRC_OK)
        status =
            planner_evaluate(&report, &model, &options, data.clips, keep_heldout(&data, corpus_path != NULL),
                             starts, a->seed, threads, progress_fraction, &bar, &err);
    progress_end(&bar);
    int code = status < 0 ? cli_fail(&err)
               : a->json  ? print_json(&report, model.net.layout.count)
                          : print_text(&report);
    pool_free(threads);
    motions_free(&data);
    plan_model_free(&model);
    return code;
}

static const option OPTIONS[] = {
    {"model", "FILE", NULL, "the planner"},
    {"corpus", "FILE", NULL, "judge on its held-out clips; or name motion files"},
    {"starts", "N", "200", "starts for each of the four distances"},
    {"steps", "N", "5", "Euler steps"},
    {"t-start", "T", "0.9", "where the warm start enters the flow"},
    {"noise", "N", "0.1", "size of the noise a plan starts from: 1 varies as the corpus does"},
    {"cold", NULL, NULL, "no warm start (the paper's ablation)"},
    {"bf16", NULL, NULL, "plan in bfloat16"},
    OPTIONS_READING,
    {0},
};

const command CMD_EVAL_PLANNER = {
    .name = "eval planner",
    .operands = "[MOTION...]",
    .summary = "plans against held-out motion and simple rivals, without physics",
    .example = "heracles eval planner --model models/planner.safetensors --corpus motions/cmu.safetensors",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_eval_planner,
};
