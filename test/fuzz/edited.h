/* Inputs that are edits of a good file, five bytes each: what, place (3 bytes), byte. A parser that looks at
 * a digest first would never see anything else. */
#ifndef HRC_FUZZ_EDITED_H
#define HRC_FUZZ_EDITED_H

#include <stdio.h>
#include <unistd.h>

#include "base/tensorfile.h"
#include "fuzz.h"

static inline size_t edit_bytes(char *bytes, size_t size, const uint8_t *e)
{
    const size_t at = (size_t)(e[1] | e[2] << 8 | e[3] << 16) % size, n = 1 + e[4];
    switch (e[0] % 16) {
    case 0: return at + 1; /* cut off */
    case 1:                /* without some bytes */
        if (at + n >= size) return size;
        memmove(bytes + at, bytes + at + n, size - at - n);
        return size - n;
    case 2: bytes[at] = (char)(bytes[at] ^ 1 << e[4] % 8); return size;
    default: bytes[at] = (char)e[4]; return size;
    }
}

/* Of exactly its size, so that one byte too far is seen; to be freed. */
static inline file_view edited(file_view good, const uint8_t *data, size_t size)
{
    char *bytes = malloc(good.size);
    SOUND(bytes);
    memcpy(bytes, good.data, good.size);
    size_t n = good.size;
    for (; size >= 5; data += 5, size -= 5) n = edit_bytes(bytes, n, data);
    char *exact = malloc(n);
    SOUND(exact);
    memcpy(exact, bytes, n);
    free(bytes);
    return (file_view){exact, n};
}

static inline const char *fuzz_path(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/fuzz-%s-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name,
             (int)getpid());
    return path;
}

/* The edited file in `path`, sealed anew where it had a digest; false when it is no tensor file any more. */
static inline bool edited_file(const char *path, file_view good, const uint8_t *data, size_t size)
{
    static const char KEY[] = "\"digest\"";
    hrc_error err;
    tensorfile file;
    file_view bytes = edited(good, data, size);
    char *at = memmem(bytes.data, bytes.size, KEY, sizeof KEY - 1);
    if (at) memcpy(at, "\"digged\"", sizeof KEY - 1);
    const bool fine = tensorfile_parse(&file, "input", bytes, &err) >= 0;
    if (fine) {
        SOUND(seal_write(path, file.tensors, file.ntensors, file.meta, file.nmeta, &err) >= 0);
        tensorfile_close(&file);
    }
    free((void *)bytes.data);
    return fine;
}

#endif
