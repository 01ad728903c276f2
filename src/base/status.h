/* Status codes and error sentences. Every function that can fail returns an hrc_status and takes an
 * hrc_error; `return fail(err, HRC_EFORMAT, "%s: line %d: found %s, expected %s", ...)` is the one way to
 * report. err may be NULL when the caller does not want the sentence. */
#ifndef HRC_BASE_STATUS_H
#define HRC_BASE_STATUS_H

#include "heracles.h"

#if defined(__GNUC__)
#define HRC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HRC_PRINTF(fmt, args)
#endif

hrc_status fail(hrc_error *err, hrc_status status, const char *format, ...) HRC_PRINTF(3, 4);

/* Evaluate once, hand a failure up. */
#define TRY(expression)                                                                                      \
    do {                                                                                                     \
        hrc_status try_status_ = (expression);                                                               \
        if (try_status_ < 0) return try_status_;                                                             \
    } while (0)

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#endif
