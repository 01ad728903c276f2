/* The planner's velocity field as an ONNX model: v (N,8,D) from x (N,8,D), t (N), cond (N,2D), normalised as
 * inside the planner; the scales are metadata. */
#ifndef HRC_PLAN_ONNX_H
#define HRC_PLAN_ONNX_H

#include "plan/model.h"

hrc_status onnx_export_field(const plan_model *m, const char *path, hrc_error *err);

#endif
