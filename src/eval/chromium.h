/* A headless Chromium, driven through the DevTools protocol on a pipe: for pictures of our pages, and for
 * tests of them. WebGL runs in software. */
#ifndef HRC_EVAL_CHROMIUM_H
#define HRC_EVAL_CHROMIUM_H

#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"

typedef struct chromium chromium;

bool program_is_there(const char *name); /* in PATH */
bool chromium_is_there(void);

/* Starts it and opens the address in a window of so many pixels. */
hrc_status chromium_open(chromium **out, const char *address, int width, int height, hrc_error *err);
void chromium_close(chromium *c); /* NULL is fine */

/* A method of the protocol: takes params (NULL: none) over; the caller frees *result. result NULL: not
 * wanted. */
hrc_status chromium_call(chromium *c, const char *method, json_t *params, json_t **result, hrc_error *err);
hrc_status chromium_resize(chromium *c, int width, int height, hrc_error *err);

/* The value of an expression; a promise is waited for. The caller frees *out. */
hrc_status chromium_eval(chromium *c, const char *script, json_t **out, hrc_error *err);
hrc_status chromium_wait(chromium *c, const char *script, double seconds, hrc_error *err); /* until true */

/* Warnings, errors and exceptions of the page since it was opened, a line each. */
const char *chromium_complaints(const chromium *c);

void base64_decode(text *out, const char *base64);

#endif
