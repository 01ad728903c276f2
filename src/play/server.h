/* The playground on the web: one page, many viewers, one of whom controls. */
#ifndef HRC_PLAY_SERVER_H
#define HRC_PLAY_SERVER_H

#include "play/live.h"

typedef struct {
    playground *scene;
    catalog *motions; /* files of viewers are added to it */
    tape *record;
    const char *tracker, *planner; /* what they are, in words; NULL: there is none */
    const clip_options *reading;   /* of viewers' files; NULL: by evidence */
    const char *address;
    int port;          /* 0: any that is free */
} play_server_options; /* all borrowed */

typedef struct play_server play_server;

hrc_status play_server_create(play_server **out, const play_server_options *options, hrc_error *err);
int play_server_port(const play_server *s);
void play_server_run(play_server *s, bool (*stop)(void *), void *ctx); /* until stop says so */
void play_server_free(play_server *s);                                 /* NULL is fine */

typedef struct {
    live_counts loop;
    int64_t viewers, messages, refused; /* since the start */
} play_server_counts;

play_server_counts play_server_count(play_server *s);

#endif
