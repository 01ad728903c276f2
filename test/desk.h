/* The operator's desk for tests: robot-sim and `heracles deploy` as processes, deploy on a terminal of its
 * own whose keys the test presses, and an ear in the test's process that hears every command over DDS and
 * notes when it came. What is judged is what was on the wire. */
#ifndef HRC_TEST_DESK_H
#define HRC_TEST_DESK_H

#include <sys/types.h>

#include "deploy/wire.h"
#include "test.h"

/* Ends what an earlier test left behind, makes small models and a motion, starts the ear and robot-sim. NULL:
 * without robot-sim, the test is the robot. */
void desk_open(const char *options_of_robot);
void desk_close(void);

/* A program of ours on its terminal; returns when it says `until` (NULL: at once). False: it said something
 * else and ended, or took longer than 30 s. Words: options after "deploy --net lo --domain N --motion ...".
 */
bool desk_deploy(const char *options, const char *until);
void desk_end(void);                 /* kills it, if it runs */
pid_t desk_process(void);            /* deploy's */
pid_t desk_watchdog(void);           /* of deploy; 0: none */
pid_t desk_thread(const char *name); /* of deploy; 0: none of that name */
const char *desk_output(void);       /* what was read from its terminal so far */
void desk_fill(void);                /* nobody reads the terminal any more, and it is full */
void desk_hang_up(void);             /* the terminal is closed */
void desk_press(const char *keys);
bool desk_waits_for(const char *text, double seconds);
int desk_wait(double seconds); /* for its end: the status of waitpid, -1: it still runs */

/* What was heard. */
typedef struct {
    int64_t ns;
    bool stiff; /* kp > 0 somewhere */
} desk_order;

int desk_orders(void); /* so far */
desk_order desk_order_at(int i);
int64_t desk_now(void);
void desk_sleep(double seconds);

/* The first damping command after since_ns with only damping for `quiet_s` after it, within `patience_s`;
 * False: there was none. from_last: since the command before it, from_event: since since_ns; ms. When all
 * were damping before, both are the longest pause. */
typedef struct {
    double from_last, from_event;
} desk_delay;
bool desk_damped(int64_t since_ns, double patience_s, double quiet_s, desk_delay *out);
bool desk_stiff(double seconds);                     /* waits until the latest command is stiff */
bool desk_silent(double seconds, double patience_s); /* waits for so long a time without commands */

#endif
