#include "cli/models.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "control/library.h"

#define SHIPPED_PLANNER "models/planner.safetensors"

static hrc_status load_one(hrc_model **out, char path[4096], const char *name, bool shipped, hrc_kind kind,
                           hrc_error *err)
{
    static const char *const OPTION[] = {[HRC_TRACKER] = "--tracker FILE", [HRC_PLANNER] = "--planner off"};
    static const char *const KIND[] = {[HRC_TRACKER] = "tracker", [HRC_PLANNER] = "planner"};
    snprintf(path, 4096, "%s", name);
    if (shipped && !shipped_path(path, 4096, name))
        return fail(err, HRC_EFILE, "there is no %s here or beside the program; train one, or give %s", name,
                    OPTION[kind]);
    TRY(hrc_model_load(out, path, err));
    if (hrc_model_kind(*out) != kind)
        return fail(err, HRC_EINVAL, "%s: is a %s, expected a %s", path, KIND[hrc_model_kind(*out)],
                    KIND[kind]);
    return HRC_OK;
}

/* Damping that is integrated explicitly rings when it takes more than twice a joint's speed away in one step.
 */
hrc_status models_fit(const models *m, const config *cfg, hrc_error *err)
{
    double longest = 1;
    int worst = 0;
    if (!m->tracker || !model_of_others(m->tracker) || strcmp(cfg->sim_damping, "explicit")) return HRC_OK;
    const double *kd = m->tracker->others.kd;
    for (int i = 0; i < HRC_JOINTS; i++)
        if (2 * G1_JOINT[i].armature < longest * kd[i]) longest = 2 * G1_JOINT[i].armature / kd[i], worst = i;
    if (cfg->sim_timestep <= longest) return HRC_OK;
    return fail(err, HRC_EINVAL,
                "%s: its damping of %g at %s needs physics steps of at most %.2g ms, they have %g: give "
                "--sim.timestep=0.001 --sim.substeps=20",
                m->tracker_path, kd[worst], G1_JOINT[worst].name, 1e3 * longest, 1e3 * cfg->sim_timestep);
}

static bool is_shipped(const char *name)
{
    char path[4096];
    return shipped_path(path, sizeof path, name);
}

/* found: a shipped model that is not there is left out, not refused. */
static hrc_status load_named(models *m, const args *a, bool with_planner, bool found, hrc_error *err)
{
    const char *tracker = arg(a, "tracker"), *planner = with_planner ? arg(a, "planner") : "off";
    const bool own = arg_given(a, "tracker"), on = !strcmp(planner, "on"), off = !strcmp(planner, "off");
    hrc_status status = HRC_OK;
    *m = (models){.planner_path = "off"};
    if (own || !found || is_shipped(tracker))
        status = load_one(&m->tracker, m->tracker_path, tracker, !own, HRC_TRACKER, err);
    if (status == HRC_OK && !off && !(on && found && !is_shipped(SHIPPED_PLANNER)))
        status = load_one(&m->planner, m->planner_path, on ? SHIPPED_PLANNER : planner, on, HRC_PLANNER, err);
    if (status < 0) models_free(m);
    return status;
}

static hrc_status load_fitting(models *m, const args *a, bool with_planner, bool found, hrc_error *err)
{
    TRY(load_named(m, a, with_planner, found, err));
    hrc_status status = models_fit(m, &a->cfg, err);
    if (status < 0) models_free(m);
    return status;
}

hrc_status models_load(models *m, const args *a, bool with_planner, hrc_error *err)
{
    return load_fitting(m, a, with_planner, false, err);
}

hrc_status models_load_found(models *m, const args *a, hrc_error *err)
{
    return load_fitting(m, a, true, true, err);
}

hrc_status models_open(models *m, const char *tracker, const char *planner, hrc_error *err)
{
    *m = (models){.planner_path = "off"};
    hrc_status status = load_one(&m->tracker, m->tracker_path, tracker, false, HRC_TRACKER, err);
    if (status == HRC_OK && planner)
        status = load_one(&m->planner, m->planner_path, planner, false, HRC_PLANNER, err);
    if (status < 0) models_free(m);
    return status;
}

void models_free(models *m)
{
    hrc_model_free(m->tracker);
    hrc_model_free(m->planner);
    *m = (models){0};
}

/* ---- Of commands for the robot ---- */

bool deploy_address(const args *a, wire_address *at)
{
    *at = (wire_address){.net = arg(a, "net")};
    if (!at->net || !arg_given(a, "domain"))
        return cli_refuse(a, "--%s is missing: nothing is sent on a network that was not named",
                          at->net ? "domain" : "net");
    return arg_int(a, "domain", 0, 230, &at->domain);
}

json_t *times_json(const times *t)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "n", (json_int_t)t->n, "p50_us",
                     times_quantile(t, 0.5), "p99_us", times_quantile(t, 0.99), "p999_us",
                     times_quantile(t, 0.999), "p9999_us", times_quantile(t, 0.9999), "max_us", t->max_us);
}

brain_setup setup_of(const models *m, const char *motion, const config *cfg, uint64_t seed)
{
    return (brain_setup){.tracker = m->tracker,
                         .planner = m->planner,
                         .tracker_path = m->tracker_path,
                         .planner_path = m->planner_path,
                         .motion = motion,
                         .cfg = cfg,
                         .seed = seed};
}

hrc_status deploy_models(const args *a, models *m, hrc_error *err)
{
    TRY(load_named(m, a, true, false, err));
    if (!model_of_others(m->tracker)) return HRC_OK;
    models_free(m);
    return fail(err, HRC_EINVAL,
                "%.200s: is an ONNX policy, which the robot is not given: expected a tracker of ours",
                arg(a, "tracker"));
}
