/* A recorded run done again: every tick of the pilot from its recorded input, every step of the policy from
 * the recorded state and plan, every plan from the request that the policy makes of it. All must come out as
 * recorded, bit for bit. */
#ifndef HRC_DEPLOY_REFLIGHT_H
#define HRC_DEPLOY_REFLIGHT_H

#include "deploy/record.h"
#include "eval/rollout.h"

typedef struct reflight reflight;

hrc_status reflight_load(reflight **out, const char *path, hrc_error *err);
hrc_status reflight_parse(reflight **out, const char *path, file_view bytes, hrc_error *err);
void reflight_free(reflight *r); /* NULL is fine */

const char *reflight_note(const reflight *r, const char *key); /* NULL: there is none */

typedef struct {
    int64_t states, ticks, targets, plans, events;
    int64_t commands_differ, targets_differ, plans_differ;
    int64_t first; /* tick, target or plan that differs first; -1: none */
    bool cut;      /* the file ends in the middle, as after a kill */
    double seconds;
    double joint_rad; /* robot against reference while the motion went on, L2 over 29, mean; NAN: never */
} reflight_result;

/* The settings the pilot flew with, from the notes. */
hrc_status reflight_course(const reflight *r, config *cfg, pilot_plan *out, hrc_error *err);

/* The brain is of the files whose hashes the notes name. */
hrc_status reflight_same_files(const reflight *r, const brain *b, hrc_error *err);

/* The brain must be of the same files (checked). */
hrc_status reflight_run(reflight *r, brain *b, const pilot_plan *course, reflight_result *out,
                        hrc_error *err);

/* What the robot did, at 50 Hz, for the viewer: joints and orientation as measured, standing on its lowest
 * point, the policy's reference, and the recorded events. */
hrc_status reflight_rollout(const reflight *r, rollout *out, hrc_error *err);

/* The notes of a run; their texts live in `memory`. */
#define REFLIGHT_NOTES 24
int reflight_notes(mcap_note out[REFLIGHT_NOTES], arena *memory, const brain *b, const brain_setup *setup,
                   const pilot_plan *course);

#endif
