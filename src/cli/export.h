/* Between the files of `heracles export`. */
#ifndef HRC_CLI_EXPORT_H
#define HRC_CLI_EXPORT_H

#include "cli/commands.h"
#include "control/library.h"
#include "eval/courses.h"
#include "eval/parity.h"
#include "track/onnx.h"

#define PARITY_MOTION "motions/wave.safetensors"
#define PARITY_S 10

/* The motion that an export is run on: --motion, or the shipped one. */
hrc_status export_course(course_list *list, const args *a, double limit_s, hrc_error *err);

/* Is the file `exported` the tracker, over a rollout of the course? Refused with what differs. */
hrc_status export_prove(parity *p, const args *a, const hrc_model *ours, const char *exported,
                        const course *c, hrc_error *err);

/* policy.onnx with the motion inside and, for Unitree's runner, deploy.yaml and policy.npz beside it; all of
 * them appear when they have been proven, or none. */
hrc_status export_with_motion(parity *p, const args *a, const hrc_model *m, onnx_dialect dialect,
                              const char *out, hrc_error *err);

#endif
