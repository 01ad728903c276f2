/* What the `motion` commands share: how a clip is read, how its quality is shown. */
#ifndef HRC_CLI_MOTION_H
#define HRC_CLI_MOTION_H

#include "cli/cli.h"
#include "motion/clip.h"
#include "motion/quality.h"

/* Rows of the option tables; `fps` is what the rate of the input is called. */
#define OPTION_QUAT                                                                                          \
    {                                                                                                        \
        "quat", "ORDER", NULL, "order of the root quaternion, wxyz or xyzw; default: by evidence"            \
    }
#define OPTION_INPUT_FPS(name)                                                                               \
    {                                                                                                        \
        name, "N", NULL, "frame rate of the input; default: from the file, else by its name and motion"      \
    }
#define OPTIONS_READING OPTION_QUAT, OPTION_INPUT_FPS("in-fps")
#define OPTION_OUT                                                                                           \
    {                                                                                                        \
        "out", "FILE", NULL, "where to write (-o): .safetensors, .npz or .csv"                               \
    }

/* EXIT_DONE, or EXIT_USAGE after saying why. `fps` is the name of the option for the rate. */
int motion_options(const args *a, const char *fps, clip_options *out);

/* The same for commands with OPTIONS_READING; refuses with a sentence. */
hrc_status motion_reading(const args *a, clip_options *out, hrc_error *err);

/* Says at which rate a file is read where that is not certain. ctx: the args. */
void motion_noted(const void *ctx, const char *path, const clip_decisions *why);

/* The same for files that are read further down: CSV is looked at twice, other formats state their rate. */
void motion_note_files(const args *a, const char *const *paths, int n, const clip_options *reading);

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
