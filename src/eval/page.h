/* The replay page: one HTML file that needs nothing else, with the robot, its motions and the viewer. And the
 * page of the live playground, with the same viewer. */
#ifndef HRC_EVAL_PAGE_H
#define HRC_EVAL_PAGE_H

#include "base/json.h"
#include "eval/rollout.h"

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
