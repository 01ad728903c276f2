/* Between the files of onnx.h: the tracker's network as nodes. */
#ifndef HRC_TRACK_ONNX_PARTS_H
#define HRC_TRACK_ONNX_PARTS_H

#include "onnx/write.h"
#include "track/onnx.h"

typedef struct {
    onnx_graph g;
    const track_model *m;
} onnx_tracker;

typedef struct {
    onnx_value action, token; /* (1,29) raw, (1,d) */
} onnx_made;

hrc_status onnx_tracker_begin(onnx_tracker *b, const track_model *m,
                              hrc_error *err); /* end with onnx_free of g */

/* From raw proprio (1,930) and window (1,410). */
onnx_made onnx_tracker_network(onnx_tracker *b, onnx_value proprio, onnx_value window);
onnx_value onnx_tracker_targets(onnx_tracker *b, onnx_value action, onnx_value window); /* (1,29) rad */

/* joint_names, gains, pose and scale, with all digits; and what the model says of itself. */
void onnx_tracker_joints(onnx_tracker *b);
void onnx_tracker_about(onnx_tracker *b);

/* Columns from .. to-1 of x (rows, n). */
onnx_value onnx_columns(onnx_graph *g, onnx_value x, int64_t from, int64_t to);
onnx_value onnx_concat(onnx_graph *g, const onnx_value *in, int n, int64_t axis);

#endif
