/* The tracker as an ONNX model, "plain": proprio (1,930) and window (1,410) as observe.h builds them, raw, to
 * actions (1,29), joint_targets (1,29; rad, for the PD law) and the motion token (1,d). Batch 1, no state:
 * the caller keeps the history. Metadata: all that a runner needs, with all digits. others.h runs it. */
#ifndef HRC_TRACK_ONNX_H
#define HRC_TRACK_ONNX_H

#include "track/model.h"

#define TRACK_ONNX_FORMAT "heracles-tracker-onnx"

hrc_status onnx_export_tracker(const track_model *m, const char *path, hrc_error *err);

#endif
