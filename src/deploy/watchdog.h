/* The watchdog: a process of its own, with a DDS writer of its own, that damps the robot when the controller
 * cannot: killed, crashed, stopped, or its writer thread stuck.
 *
 * Controller and watchdog share one page. The controller writes the time of every command that left; the
 * watchdog sleeps until SILENCE_MS after the latest and takes over when none has followed, at once when the
 * controller's end of a pipe closes or a crash handler calls. From then on it sends damping at 500 Hz: for
 * damp_s, and longer as long as the controller lives but sends nothing. A take-over is for good: the
 * controller, should it come back, trips (watchdog_lost). A controller that ends regularly has damped and
 * says so (watchdog_over): then the watchdog goes without a word.
 *
 * It runs in a session of its own, so no terminal reaches it, ignores every signal that can be ignored, and
 * is not called heracles, so `killall heracles` does not find it. */
#ifndef HRC_DEPLOY_WATCHDOG_H
#define HRC_DEPLOY_WATCHDOG_H

#include "deploy/wire.h"

/* A controller trips by itself after a pause of 50 ms (deploy.state_s), so this adds no trips. */
#define SILENCE_MS 50
/* The controller trips when the watchdog, which looks every SILENCE_MS, has not for this long. */
#define ASLEEP_MS 500

typedef struct watchdog watchdog;

/* Starts the process; it opens its writer meanwhile. machine: mode_machine of its commands. */
hrc_status watchdog_start(watchdog **out, const wire_address *at, int machine, double damp_s, hrc_error *err);

/* Waits until it sees the robot as `net`, the controller's wire, does: nothing may be sent before. */
hrc_status watchdog_ready(watchdog *w, const wire *net, double patience_s, hrc_error *err);

/* A command with these targets (rad) has left at now_ns. NULL: no watchdog, nothing happens. */
void watchdog_beat(watchdog *w, const float q[HRC_JOINTS], int64_t now_ns);

bool watchdog_lost(const watchdog *w, int64_t now_ns); /* it has taken over, or has not looked for long */
bool watchdog_took_over(const watchdog *w);
void watchdog_alarm(watchdog *w); /* take over now; from a signal handler too */
void watchdog_over(watchdog *w);  /* the last command was damping, none will follow */

/* Ends it and waits for its end, a second at most. After watchdog_over, or before the first beat: it sends
 * nothing. NULL is fine. */
void watchdog_stop(watchdog *w);

/* The process itself: main() hands over when the program was called by this name. */
#define WATCHDOG_NAME "hrc-watchdog"
int watchdog_main(int argc, char **argv);

#endif
