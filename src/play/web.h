/* A small web server: answers from memory, and WebSocket viewers. A viewer is asked for when its line is free
 * and gets what is newest then; nothing is ever queued for it. libwebsockets stands behind this header. All
 * calls of the handlers come from the thread that serves. */
#ifndef HRC_PLAY_WEB_H
#define HRC_PLAY_WEB_H

#include <stdbool.h>

#include "base/status.h"

#define WEB_VIEWERS 32
#define WEB_MESSAGE 65536 /* bytes of a message, either way */

typedef struct web web;

typedef struct {
    int status;           /* of HTTP; 0: there is no such page */
    const char *type;     /* "text/html; charset=utf-8" */
    const char *download; /* NULL, or the file name under which a browser keeps it */
    const void *body;
    size_t size;
    bool owned; /* the server frees the body */
} web_reply;

typedef struct {
    const char *address; /* to listen at: "127.0.0.1" */
    int port;            /* 0: any that is free */
    void *ctx;
    void (*get)(void *ctx, const char *path, const char *query, web_reply *out);
    void (*join)(void *ctx, int viewer); /* 0 .. WEB_VIEWERS-1 */
    void (*leave)(void *ctx, int viewer);
    void (*message)(void *ctx, int viewer, const char *text, size_t size);
    /* A piece of what a viewer sends as binary, as it comes; false: it was not announced, hang up. */
    bool (*bytes)(void *ctx, int viewer, const void *data, size_t size);
    /* What this viewer should get next, into `out`, at most WEB_MESSAGE; 0: it has everything. */
    size_t (*next)(void *ctx, int viewer, void *out, bool *binary);
} web_options;

/* Refused are: pages of other origins, host names that are not this machine's (a foreign name that was made
 * to point here), any method but GET, longer messages, more viewers. */
hrc_status web_create(web **out, const web_options *options, hrc_error *err);
int web_port(const web *w);
void web_serve(web *w, bool (*stop)(void *), void *ctx); /* until stop says so; asked a few times a second */
void web_wake(web *w);                                   /* there is something new; from any thread */
void web_free(web *w);                                   /* NULL is fine */

#endif
