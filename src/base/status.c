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
    status_tame(err->text, false);
    return status;
}

/* Bytes of a control character here: C0 and DEL are one, C1 in UTF-8 two. */
static int control(const char *at, bool lines)
{
    const unsigned char first = (unsigned char)at[0], second = first ? (unsigned char)at[1] : 0;
    if (first == '\n' || first == '\t' || first == '\r') return !lines;
    if (first == 0xc2 && second >= 0x80 && second < 0xa0) return 2;
    return (first && first < 32) || first == 127;
}

void status_tame(char *text, bool lines)
{
    for (char *at = text; *at; at++)
        for (int n = control(at, lines); n > 0; n--) {
            *at = '?';
            if (n > 1) at++;
        }
}

bool status_is_tame(const char *text)
{
    for (; *text; text++)
        if (control(text, true)) return false;
    return true;
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
