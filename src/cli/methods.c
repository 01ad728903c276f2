#include "cli/methods.h"

#include <stdlib.h>
#include <string.h>

#include "control/library.h"

#define MENU "pd, tracker, heracles, cold or NAME=TRACKER[+PLANNER]"

static bool needs_planner(const char *word)
{
    return !strcmp(word, "heracles") || !strcmp(word, "cold");
}

static bool needs_tracker(const char *word)
{
    return !strcmp(word, "tracker") || needs_planner(word);
}

/* The row of a word without '=': everything it needs is loaded. */
static bool add_known(methods *m, const args *a, const char *word)
{
    if (strcmp(word, "pd") && !needs_tracker(word)) return false;
    method *row = &m->list[m->n];
    *row = (method){.name = word, .options = control_options(&a->cfg, a->seed)};
    if (needs_tracker(word)) row->tracker = m->common.tracker;
    if (needs_planner(word)) row->planner = m->common.planner;
    if (!strcmp(word, "cold")) row->options.plan.cold = 1;
    m->tracker_path[m->n] = row->tracker ? m->common.tracker_path : "off";
    m->planner_path[m->n] = row->planner ? m->common.planner_path : "off";
    m->n++;
    return true;
}

static hrc_status add_own(methods *m, const args *a, char *word, hrc_error *err)
{
    char *tracker = strchr(word, '='), *planner = strchr(tracker, '+');
    *tracker++ = 0;
    if (planner) *planner++ = 0;
    models *own = &m->own[m->n];
    TRY(models_open(own, tracker, planner, err));
    TRY(models_fit(own, &a->cfg, err));
    m->list[m->n] = (method){.name = word,
                             .tracker = own->tracker,
                             .planner = own->planner,
                             .options = control_options(&a->cfg, a->seed)};
    m->tracker_path[m->n] = own->tracker_path;
    m->planner_path[m->n++] = own->planner_path;
    return HRC_OK;
}

static int add_word(methods *m, const args *a, char *word)
{
    hrc_error err;
    if (m->n == EVALUATE_MAX_METHODS) return cli_usage(a, "more than %d methods", EVALUATE_MAX_METHODS);
    if (strchr(word, '=')) return add_own(m, a, word, &err) < 0 ? cli_fail(&err) : EXIT_DONE;
    if (!add_known(m, a, word)) return cli_usage(a, "--method is \"%.60s\", expected " MENU, word);
    return EXIT_DONE;
}

/* Which of the two models of the options any row wants. */
static hrc_status load_common(methods *m, const args *a, const char *words, hrc_error *err)
{
    bool tracker = false, planner = false;
    char *copy = strdup(words), *rest = copy;
    if (!copy) return fail(err, HRC_ENOMEM, "eval: out of memory");
    for (char *word; (word = strsep(&rest, ","));) {
        tracker |= needs_tracker(word);
        planner |= needs_planner(word);
    }
    free(copy);
    if (planner && !strcmp(arg(a, "planner"), "off"))
        return fail(err, HRC_EINVAL, "a method of \"%.80s\" needs a planner, but --planner is off", words);
    return tracker ? models_load(&m->common, a, planner, err) : HRC_OK;
}

int methods_load(methods *m, const args *a)
{
    hrc_error err;
    const char *given = arg(a, "method");
    const bool off = !strcmp(arg(a, "planner"), "off");
    memset(m, 0, sizeof *m);
    m->words = strdup(given ? given : off ? "tracker" : "heracles");
    if (!m->words) abort();
    int code = load_common(m, a, m->words, &err) < 0 ? cli_fail(&err) : EXIT_DONE;
    char *rest = m->words;
    for (char *word; code == EXIT_DONE && (word = strsep(&rest, ","));) code = add_word(m, a, word);
    if (code != EXIT_DONE) methods_free(m);
    return code;
}

void methods_free(methods *m)
{
    for (int i = 0; i < EVALUATE_MAX_METHODS; i++) models_free(&m->own[i]);
    models_free(&m->common);
    free(m->words);
    memset(m, 0, sizeof *m);
}
