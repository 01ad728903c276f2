/* One pair of functions per file format, behind clip_load and clip_save. Parsers take a name for their
 * sentences and bytes that need not come from a file, so that they can be fuzzed. They fill what they
 * decided into `why` (never NULL here) and leave *c empty when they fail. */
#ifndef HRC_MOTION_IMPORT_FORMATS_H
#define HRC_MOTION_IMPORT_FORMATS_H

#include <stdbool.h>

#include "motion/clip.h"
#include "robot/g1.h"

/* clip_create with the file's name, without folder and ending, as the clip's. */
hrc_status clip_create_for(clip *c, int n, double fps, const char *path, hrc_error *err);

/* A CSV or our own clip, by content: all that libheracles reads (plain.c). */
hrc_status plain_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                       clip_decisions *why, hrc_error *err);
bool clip_is_text(file_view bytes);            /* no control bytes among the first */
void clip_decisions_tame(clip_decisions *why); /* which may quote the file */

/* 36 columns without header: root position, root quaternion, 29 joints (Unitree's LAFAN1 set and others);
 * or a header that names them. */
hrc_status csv_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err);
hrc_status csv_write(const clip *c, const char *path, hrc_error *err); /* quaternion x,y,z,w */

/* A table of numbers as text, with a line of names, into the arena; names every place that is not a finite
 * number. */
#define CSV_NAME 64

typedef struct {
    int rows, columns;
    char (*name)[CSV_NAME];
    float *values; /* (rows, columns) */
} csv_table;

hrc_status csv_table_parse(csv_table *t, const char *path, file_view bytes, arena *memory, hrc_error *err);

/* Ours: a safetensors file with the tensor "qpos". */
hrc_status clipfile_write(const clip *c, const char *path, hrc_error *err);

/* NumPy archives of BeyondMimic (no names inside) and of holosoma (root pose in joint_pos, names). Orders
 * that the file does not name are settled by forward kinematics against its own body positions. */
hrc_status npz_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err);
hrc_status npz_write(const clip *c, const char *path, hrc_error *err); /* BeyondMimic, MuJoCo's order */
hrc_status npz_write_with(const clip *c, const float *qvel, const char *path,
                          hrc_error *err); /* velocities (n, HRC_NV) of the caller's */

/* Pickles of GMR, TWIST, GMT (one motion) and of ASAP, PBHC, SONIC through joblib (name: motion). */
hrc_status pkl_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err);

/* SONIC's folder of CSV files. */
hrc_status sonic_load(clip *c, const char *folder, const clip_options *options, clip_decisions *why,
                      hrc_error *err);

/* The motion that an ONNX policy of BeyondMimic's family carries: inputs time_step, outputs joint_pos and the
 * pose of a link, at 50 fps. Its end is where the outputs stay as they are. */
hrc_status policy_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                        clip_decisions *why, hrc_error *err);
bool policy_begins(file_view bytes); /* an ONNX model, by its first bytes */

/* Frames hold the quaternion as it stood in the file; find out in which order that was, say why, and bring
 * it to w,x,y,z. `forced` is "wxyz", "xyzw" or NULL. Refuses when both orders fit. */
hrc_status quat_order_settle(clip *c, const char *path, const char *forced, clip_decisions *why,
                             hrc_error *err);

/* The same where a format has an order: `usual` is taken when both fit; `whose` is said to have it. */
hrc_status quat_order_settle_as(clip *c, const char *path, const char *forced, const char *usual,
                                const char *whose, clip_decisions *why, hrc_error *err);

/* ---- Joints ---- */

/* In which order, and which of the G1's joints the columns of a file are, where it does not name them. */
typedef struct {
    const char *name;
    int columns;
    int column[HRC_JOINTS]; /* of joint i; -1: not there, stays at 0 rad */
} joint_layout;

#define LAYOUTS_MAX 2 /* that have the same number of columns */

/* Those with so many columns, the most usual first; 0 when there is none. */
int layouts_of(joint_layout out[LAYOUTS_MAX], int columns);

/* A joint by its name, also as others write it: without "_joint", with "_dof" behind. -1 when it is none of
 * the G1's. */
int layout_joint(const char *name);

#endif
