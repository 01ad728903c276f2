/* A headless Chromium that a test drives in real time, through the DevTools protocol on a pipe. */
#ifndef HRC_TEST_BROWSER_H
#define HRC_TEST_BROWSER_H

#include <jansson.h>
#include <stdbool.h>

/* Everything here ends the test when it fails. Skips the test when there is no Chromium. */
void browser_open(const char *address, int width, int height); /* closes the one that was open */
void browser_close(void);

json_t *browser_eval(const char *script); /* the value of an expression; the caller frees it */
bool browser_true(const char *script);
double browser_number(const char *script);
void browser_wait(const char *script, double seconds); /* until it is true */

void browser_size(int width, int height); /* of the window that is open */

/* Input as from the system, not made in the page; returns when the page has dealt with it. Pixels of the
 * page. Wheel: by `buttons` pixels. */
void browser_mouse(const char *what, double x, double y, int buttons);   /* Moved, Pressed, Released, Wheel */
void browser_touch(const char *what, const double (*fingers)[2], int n); /* Start, Move, End (n 0) */

void browser_picture(const char *path); /* PNG */

/* What the page said on its console as a warning or error, and exceptions, since it was opened; "" when
 * nothing. */
const char *browser_complaints(void);

#endif
