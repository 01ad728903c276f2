/* The tracker as an ONNX model. Batch 1, fixed shapes, no state inside; others.h runs them all.
 *
 * "plain" (onnx.c): proprio (1,930) and window (1,410) as observe.h builds them, raw, to
 * actions (1,29), joint_targets (1,29; rad, for the PD law) and the motion token (1,d). The caller keeps the
 * history. Metadata: all that a runner needs, with all digits.
 *
 * "beyondmimic" and "unitree": for runners that show one frame of one motion. The motion lies
 * in the graph. obs (1,994) is command 58, motion_anchor_ori_b 6 (the torso's), then a history of ten, oldest
 * first, each: projected_gravity 3, base_ang_vel 3, joint_pos 29, joint_vel 29, actions 29. What frame it is,
 * the graph finds by the command itself, which is the nearest row of a table: no runner tells the time in the
 * same way. So that a pose which is held has a time, the speeds of the command carry the number of the frame:
 * bit b of it adds ONNX_FRAME_CODE to joint b's. With the frame, window and rotations follow from constants.
 * Actions come out counted from the default pose, whatever the model counts from. */
#ifndef HRC_TRACK_ONNX_H
#define HRC_TRACK_ONNX_H

#include "track/model.h"

#define TRACK_ONNX_FORMAT "heracles-tracker-onnx"

#define ONNX_FRAME_CODE 0x1p-10f /* rad/s */
#define ONNX_HELD 11 /* rows after the motion's end, at rest, so that the history of actions ends too */
#define ONNX_MOTION_MAX 30000 /* frames: ten minutes */

typedef enum { ONNX_BEYONDMIMIC, ONNX_UNITREE } onnx_dialect;

/* What a runner shows of row i: its frame, at rest from the last one on, and the joints' speeds with the
 * code. */
int onnx_motion_rows(const hrc_motion *motion);
void onnx_motion_row(hrc_frame *out, const hrc_motion *motion, int row);
void onnx_frame_code(float speed[HRC_JOINTS], int64_t row); /* adds it */

/* The motion as hrc_follow takes it. */
hrc_status onnx_export_with_motion(const track_model *m, const hrc_motion *motion, onnx_dialect dialect,
                                   const char *path, hrc_error *err);
hrc_status onnx_export_tracker(const track_model *m, const char *path, hrc_error *err);

#endif
