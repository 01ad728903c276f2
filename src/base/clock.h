/* Monotonic seconds, for measuring; nothing that is computed may depend on them. */
#ifndef HRC_BASE_CLOCK_H
#define HRC_BASE_CLOCK_H

double clock_s(void);

#endif
