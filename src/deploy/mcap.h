/* MCAP files (mcap.dev), the log format that Foxglove, PlotJuggler and rerun open. Messages are CDR with a
 * ros2msg schema, so that those programs know every field. Written in chunks without compression, each at
 * once: a program that is killed loses the last chunk and the index at most, and what is left can be read. */
#ifndef HRC_DEPLOY_MCAP_H
#define HRC_DEPLOY_MCAP_H

#include <stdbool.h>

#include "base/file.h"

typedef struct mcap mcap;

#define MCAP_CHANNELS 8

hrc_status mcap_create(mcap **out, const char *path, hrc_error *err); /* an existing file is replaced */

/* Declares a topic; returns its number, -1 when there are too many. Before the first message. */
int mcap_channel(mcap *m, const char *topic, const char *type, const char *fields);

/* Names and texts, kept beside the messages. Any time between create and close. */
typedef struct {
    const char *key, *value;
} mcap_note;
void mcap_notes(mcap *m, const char *name, const mcap_note *notes, int n);

/* ns: since 1970. data: the message's fields as C lays them out, which for fields in falling or natural
 * alignment is how CDR does. */
void mcap_add(mcap *m, int channel, uint64_t ns, const void *data, size_t size);
void mcap_flush(mcap *m);                       /* what was added so far becomes a chunk of the file */
hrc_status mcap_close(mcap *m, hrc_error *err); /* writes the index; frees m also on error */

/* ---- Reading ---- */

typedef struct {
    const char *topic; /* not zero-terminated */
    size_t topic_size;
    uint64_t ns;
    const void *data; /* without the CDR header; unaligned */
    size_t size;
} mcap_message;

typedef struct {
    void *ctx;
    hrc_status (*message)(void *ctx, const mcap_message *m, hrc_error *err);
    hrc_status (*note)(void *ctx, const char *key, size_t nkey, const char *value, size_t nvalue,
                       hrc_error *err);
} mcap_reader;

bool mcap_is_file(const char *path); /* it begins as one; never an error */

/* Every note and message in the order of the file. cut: the file ends in the middle, as after a kill. */
hrc_status mcap_read(const char *path, file_view bytes, const mcap_reader *reader, bool *cut, hrc_error *err);

#endif
