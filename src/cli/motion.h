/* What the `motion` commands share: how a clip is read, how its quality is shown. */
#ifndef HRC_CLI_MOTION_H
#define HRC_CLI_MOTION_H

#include "cli/cli.h"
#include "motion/clip.h"
#include "motion/quality.h"

/* Rows of the option tables: how motions are read, where they go. */
#define OPTIONS_READING                                                                                      \
    {"quat", "ORDER", NULL, "order of the root quaternion, wxyz or xyzw; default: by evidence"},             \
    {                                                                                                        \
        "in-fps", "N", NULL, "frame rate of the input; default: from the file, else by its name and motion"  \
    }
#define OPTION_OUT                                                                                           \
    {                                                                                                        \
        "out", "FILE", NULL, "where to write (-o): .safetensors, .npz or .csv"                               \
    }

/* OPTIONS_READING; EXIT_DONE, or EXIT_USAGE after saying why. A motion that is read so says its rate where
 * that is not certain. */
int motion_options(const args *a, clip_options *out);
hrc_status motion_reading(const args *a, clip_options *out, hrc_error *err); /* refuses with a sentence */

/* The file for the result, or NULL after saying that it is missing. */
const char *motion_out(const args *a);

/* Writes, and says so on stderr; with a word of warning for a CSV, which holds no frame rate. */
hrc_status motion_save(const args *a, const clip *c, const char *path, hrc_error *err);

json_t *quality_json(const quality *q);
void quality_print(const quality *q); /* all figures, a line each */

/* One line per clip, the same columns in every command. */
void quality_row_head(void);
void quality_row(const char *name, const quality *q);

#endif
