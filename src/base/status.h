/* Status codes and error sentences. Every function that can fail returns an hrc_status and takes an
 * hrc_error; `return fail(err, HRC_EFORMAT, "%s: line %d: found %s, expected %s", ...)` is the one way to
 * report. err may be NULL when the caller does not want the sentence. */
#ifndef HRC_BASE_STATUS_H
#define HRC_BASE_STATUS_H

#include <stdbool.h>

#include "heracles.h"

#if defined(__GNUC__)
#define HRC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HRC_PRINTF(fmt, args)
#endif

hrc_status fail(hrc_error *err, hrc_status status, const char *format, ...) HRC_PRINTF(3, 4);

/* Control bytes of untrusted text would be commands to a terminal: each becomes '?'. lines: but for new lines
 * and tabs. */
void status_tame(char *text, bool lines);
bool status_is_tame(const char *text); /* nothing but new lines and tabs of that kind */

/* Evaluate once, hand a failure up. */
#define TRY(expression)                                                                                      \
    do {                                                                                                     \
        hrc_status try_status_ = (expression);                                                               \
        if (try_status_ < 0) return try_status_;                                                             \
    } while (0)

/* A pointer that a caller of the library must not leave out. */
#define NEED(argument)                                                                                       \
    do {                                                                                                     \
        if (!(argument)) return fail(err, HRC_EINVAL, "%s: %s is NULL", __func__, #argument);                \
    } while (0)

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#endif
