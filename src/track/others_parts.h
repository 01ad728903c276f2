/* Between the files of others.h. */
#ifndef HRC_TRACK_OTHERS_PARTS_H
#define HRC_TRACK_OTHERS_PARTS_H

#include "track/others.h"

/* What a policy has seen and done. */
typedef struct {
    bool begun;
    float last[HRC_JOINTS];                      /* its last output, in its own order */
    float history[OTHERS_HISTORY][OTHERS_FRAME]; /* oldest first */
    int64_t steps;
    obs_history proprio;                                      /* of plain ones */
    float past[OTHERS_TERMS][OTHERS_HISTORY][2 * HRC_JOINTS]; /* of BeyondMimic's terms, oldest first */
} others_memory;

/* TWIST2: `observation` (1432) from what it remembers, which then remembers this step too. */
enum { TWIST2_INPUTS = OTHERS_FRAME * (1 + OTHERS_HISTORY) + 35 };
void twist2_settings(others_model *m);
void twist2_observe(const others_model *m, others_memory *memory, float *observation, const g1_state *s,
                    const hrc_frame window[HRC_WINDOW]);

hrc_status mimic_settings(others_model *m, hrc_error *err);
void mimic_observe(const others_model *m, others_memory *memory, float *observation, const g1_state *s,
                   const hrc_frame window[HRC_WINDOW]);

hrc_status plain_settings(others_model *m, hrc_error *err);
void plain_observe(const others_model *m, others_memory *memory, float *proprio, float *frames,
                   const g1_state *s, const hrc_frame window[HRC_WINDOW]);

/* HRC_JOINTS numbers of a list (robot/g1.h), or one for all, to out[joint[i]]; what: for the sentence. */
hrc_status joint_numbers(const others_model *m, const char *list, const char *what, double out[HRC_JOINTS],
                         hrc_error *err);

#endif
