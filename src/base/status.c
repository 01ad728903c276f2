#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

hrc_status fail(hrc_error *err, hrc_status status, const char *format, ...)
{
    if (!err) return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

const char *hrc_version(void)
{
    return HRC_VERSION;
}

const char *hrc_strerror(hrc_status status)
{
    switch (status) {
#define CASE(name, value, text)                                                                              \
    case HRC_##name: return text;
        HRC_STATUS_LIST(CASE)
#undef CASE
    }
    return "unknown status";
}
