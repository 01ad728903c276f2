/* JSON through Jansson (strict, kept well, no dependency of its own), and the one thing it lacks: numbers
 * that are not finite become null instead of an error. */
#ifndef HRC_BASE_JSON_H
#define HRC_BASE_JSON_H

#include <jansson.h>
#include <math.h>

static inline json_t *json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

#define JSON_STYLE (JSON_INDENT(2) | JSON_REAL_PRECISION(9))

#endif
