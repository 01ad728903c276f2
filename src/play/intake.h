/* A motion file that a viewer sends: collected in memory, read on a thread of its own by the readers of the
 * command line, and handed out as a motion that the playground can follow. It is never a file on disk, and
 * its name is no path. One at a time. */
#ifndef HRC_PLAY_INTAKE_H
#define HRC_PLAY_INTAKE_H

#include "motion/clip.h"

#define INTAKE_BYTES (32u << 20)
#define INTAKE_S 600.0 /* of motion */

typedef struct intake intake;

/* reading: rate and quaternion that the command line forces; its texts are the caller's. wake is called from
 * the reading thread when a file has been read. */
hrc_status intake_create(intake **out, const clip_options *reading, void (*wake)(void *), void *ctx,
                         hrc_error *err);
void intake_free(intake *t); /* NULL is fine; waits for the reader */

/* A file is announced, its bytes come, and with the last one reading begins. add returns false when there are
 * more than were announced: the rest cannot be told from the next file. */
hrc_status intake_begin(intake *t, const char *name, size_t size, hrc_error *err);
bool intake_add(intake *t, const void *data, size_t n);
void intake_drop(intake *t); /* its sender is gone */

/* False: nothing new. Else status and sentence of the one that was read, or its motion at 50 Hz, which is the
 * caller's, and in `said` what was decided about it. */
typedef struct {
    hrc_status status;
    hrc_error err;
    clip motion;
    char said[512];
} intake_result;

bool intake_take(intake *t, intake_result *out);

#endif
