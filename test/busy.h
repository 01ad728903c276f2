/* For the runner: whether the machine kept up while a test ran, and the end of what a failed test left
 * behind. */
#ifndef HRC_TEST_BUSY_H
#define HRC_TEST_BUSY_H

#include <stdbool.h>

/* Starts a thread that sleeps for a few milliseconds again and again, and notes when it wakes too late: a
 * machine that does this to it does so to every process that has to keep time. */
void busy_watch(void);

/* How often it woke too late since the watch began. */
long busy_moments(void);

/* Waits until none has come for two seconds, but not for ever. */
void busy_wait_for_calm(void);

/* Kills the processes whose environment has T=folder: those that a test started and did not end. */
void busy_end_leftovers(const char *folder);

#endif
