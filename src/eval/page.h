/* The replay page: one HTML file that needs nothing else, with the robot, its motions and the viewer. And the
 * page of the live playground, with the same viewer. */
#ifndef HRC_EVAL_PAGE_H
#define HRC_EVAL_PAGE_H

#include "base/file.h"
#include "base/json.h"
#include "eval/rollout.h"

/* The page's files inside the program (embed.S), so that it needs none of them when it runs. */
#define EMBED(name) extern const char embed_##name[], embed_##name##_end[];
EMBED(replay_html)
EMBED(replay_stage_html)
EMBED(viewer_css)
EMBED(three_js)
EMBED(viewer_js)
EMBED(replay_js)
EMBED(report_html)
EMBED(report_css)
EMBED(report_js)
EMBED(plot_html)
EMBED(plot_js)
EMBED(play_html)
EMBED(play_css)
EMBED(play_js)
#undef EMBED

/* One of them as a piece of a file (base/file.h). */
#define EMBEDDED(name)                                                                                       \
    {                                                                                                        \
        embed_##name, (size_t)(embed_##name##_end - embed_##name)                                            \
    }

/* Pages that need no other file: a template with its @names@ replaced by files of the program and by data as
 * JSON. Texts of the user reach a page only inside that JSON, with every "<" escaped, and pages show them
 * only as text: no name can become markup or code. */
typedef struct {
    const char *mark; /* "@data@" */
    file_piece text;
} html_filling;

/* JSON text in which no "<" is left, so that it can neither end its script element nor begin a comment. The
 * caller frees it; NULL when out of memory. */
char *html_script_text(const json_t *value);

/* The marks occur once each, in this order; what is put in is not searched again. bytes may be NULL. */
hrc_status html_write(const char *path, file_piece page, const html_filling *fillings, int n, size_t *bytes,
                      hrc_error *err);

/* Everything is borrowed. */
typedef struct {
    const char *name;
    double fps;
    int n;
    const float *qpos; /* (n, HRC_NQ) */
    int nref;
    const float *ref; /* (nref, HRC_NQ) at the same rate, or NULL; after its end its last frame stays */
    int nevents;
    const rollout_event *events;
    const float *signals; /* (n, SIGNALS) or NULL */
    const float *plan;    /* (n, HRC_KEYFRAMES, HRC_NQ) or NULL */
    const char *label;    /* of the robot, where another one may stand beside it; NULL: none */
    const float *beside;  /* (n, HRC_NQ): the same under another method, or NULL */
    const char *beside_label;
} page_item;

page_item page_item_of(const rollout *r);

/* The robot and the items, as the viewer wants them: {"robot", "items"}. The caller frees it. */
hrc_status page_json(json_t **out, const page_item *items, int n, hrc_error *err);

hrc_status page_write(const char *path, const page_item *items, int n, size_t *bytes, hrc_error *err);

/* The same in memory, zero-terminated; the caller frees it. */
hrc_status page_text(char **out, size_t *size, const page_item *items, int n, hrc_error *err);
hrc_status page_live(char **out, size_t *size, hrc_error *err);

json_t *page_robot(void); /* what the viewer's Robot is made of */

#endif
