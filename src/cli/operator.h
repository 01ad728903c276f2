/* The operator of `heracles deploy`: keys, and signals. A key goes from a thread of its own, a signal from
 * its handler straight to the control threads by an atomic word: neither waits for the terminal's output, for
 * a lock or for each other, and nothing here prints.
 *
 *   INT                            damping from now on; the second leaves
 *   TERM HUP QUIT XCPU PWR USR1 USR2 ALRM VTALRM PROF POLL STKFLT, real-time ones, and a hung-up terminal
 *                                  damping for --damp seconds, then the end
 *   TSTP                           damping; the program is not stopped
 *   PIPE TTIN TTOU XFSZ            ignored: output or recording end, control does not
 *   SEGV BUS FPE ILL ABRT SYS TRAP the watchdog is called, then the default: the program dies
 *   KILL STOP                      cannot be handled: the watchdog sees it (watchdog.h)
 *
 * The third INT, TERM or their kin ends the program at once, and leaves the damping to the watchdog. */
#ifndef HRC_CLI_OPERATOR_H
#define HRC_CLI_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "deploy/deploy.h"

/* Lines for the terminal from a program that must not wait for it: a thread of its own writes them to stderr.
 * When the terminal is not read (Ctrl-S, a full pipe, a closed one) what does not fit the buffer is dropped
 * and counted, and the count is printed when the terminal moves again. */
typedef struct printer printer;

hrc_status printer_open(printer **out, hrc_error *err);
void printer_line(printer *p, const char *text);   /* a newline follows; NULL printer: nothing happens */
void printer_status(printer *p, const char *text); /* drawn anew on its line; only when all else is written */

/* Waits a moment for what is left, no longer. Returns how many lines were dropped. */
uint64_t printer_close(printer *p);

/* The run gets what the operator asks for; one operator a process. realtime: the thread of the keys asks for
 * a priority. False: keys are not read, because stdin is no terminal, or not this program's to read. */
bool operator_begin(deploy *run, bool realtime);

int operator_interrupts(void); /* how often Ctrl-C came */
int operator_ended_by(void);   /* number of the signal that asks for the end; 0: none */

/* Signals and terminal as they were. */
void operator_end(void);

#endif
