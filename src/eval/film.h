/* Pictures and films of the replay page, drawn by the page itself in a headless Chromium; ffmpeg makes films
 * of the pictures. */
#ifndef HRC_EVAL_FILM_H
#define HRC_EVAL_FILM_H

#include "base/status.h"

typedef enum { FILM_NONE, FILM_PNG, FILM_GIF, FILM_MP4 } film_kind;

film_kind film_kind_of(const char *path); /* by its ending; FILM_NONE: some other file */

typedef struct {
    const char *look;   /* as after # in the page's address: "item=0&view=0.8,0.2,3&ghost=0"; "" */
    int width, height;  /* pixels, of each moment */
    const double *at_s; /* PNG: moments, side by side; films: the first and the last */
    int n;              /* 0: PNG: the start; films: all of it */
    double fps;         /* of films */
    void (*progress)(void *ctx, double fraction);
    void *ctx;
} film_options;

/* The programs that a kind needs: a sentence when one is missing, before anything is computed. */
hrc_status film_check(film_kind kind, hrc_error *err);

/* page: path of a page that page_write made. */
hrc_status film_write(const char *path, const char *page, const film_options *o, hrc_error *err);

#endif
