/* Lines for the terminal from a program that must not wait for it: a thread of its own writes them to stderr.
 * When the terminal is not read (Ctrl-S, a full pipe, a closed one) what does not fit the buffer is dropped
 * and counted, and the count is printed when the terminal moves again. */
#ifndef HRC_CLI_PRINTER_H
#define HRC_CLI_PRINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct printer printer;

hrc_status printer_open(printer **out, hrc_error *err);
void printer_line(printer *p, const char *text);   /* a newline follows; NULL printer: nothing happens */
void printer_status(printer *p, const char *text); /* drawn anew on its line; only when all else is written */

/* Waits a moment for what is left, no longer. Returns how many lines were dropped. */
uint64_t printer_close(printer *p);

#endif
