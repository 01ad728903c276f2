#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static bool grow(text *t, size_t extra)
{
    if (t->failed) return false;
    if (t->capacity - t->size > extra) return true;
    size_t capacity = (t->size + extra + 1) * 3 / 2;
    char *data = realloc(t->data, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_bytes(text *t, const void *data, size_t size)
{
    if (!grow(t, size)) return;
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

void text_add(text *t, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (n >= 0 && grow(t, (size_t)n + 1)) {
        vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
        t->size += (size_t)n;
    }
    va_end(again);
}

void text_add_quoted(text *t, const char *field)
{
    text_add(t, "\"");
    for (; *field; field++) text_add(t, *field == '"' ? "\"\"" : "%c", *field);
    text_add(t, "\"");
}

bool text_ok(const text *t)
{
    return !t->failed && t->data;
}

void text_free(text *t)
{
    free(t->data);
    *t = (text){0};
}

hrc_status text_write(text *t, const char *path, hrc_error *err)
{
    hrc_status status = text_ok(t) ? file_write(path, &(file_piece){t->data, t->size}, 1, err)
                                   : fail(err, HRC_ENOMEM, "%s: out of memory", path);
    text_free(t);
    return status;
}
