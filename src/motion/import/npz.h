/* What the readers of NumPy archives share. */
#ifndef HRC_MOTION_IMPORT_NPZ_H
#define HRC_MOTION_IMPORT_NPZ_H

#include "motion/clip.h"
#include "motion/import/archive.h"
#include "motion/import/npy.h"

/* The array of that name, in C order, in the arena. */
hrc_status npz_array(npy *a, const archive *zip, arena *memory, const char *path, const char *name,
                     hrc_error *err);
hrc_status npz_rate(double *fps, const archive *zip, arena *memory, const char *path, const char *name,
                    hrc_error *err);

/* qpos (T, 36) as MuJoCo has it, alone or in LocoMuJoCo's trajectories with joint_names and frequency. */
hrc_status npz_qpos_parse(clip *c, const char *path, const archive *zip, arena *memory,
                          const clip_options *options, clip_decisions *why, hrc_error *err);

/* LocoMuJoCo's older sets: an array q_NAME and dq_NAME of each joint. */
hrc_status npz_loco_parse(clip *c, const char *path, const archive *zip, arena *memory,
                          const clip_options *options, clip_decisions *why, hrc_error *err);

#endif
