/* Python's pickles, read as data: a stack machine that knows numbers, texts, bytes, tuples, lists,
 * dictionaries and NumPy's arrays, dtypes and scalars, and joblib's arrays that stand in the stream. It calls
 * nothing: a pickle that asks for any other function or class is refused with that name and its place. */
#ifndef HRC_MOTION_IMPORT_PICKLE_H
#define HRC_MOTION_IMPORT_PICKLE_H

#include "motion/import/npy.h"

typedef enum {
    PICKLE_NONE,
    PICKLE_INT, /* bool too */
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_LIST, /* tuples too */
    PICKLE_DICT,
    PICKLE_ARRAY,
    PICKLE_GLOBAL, /* this and what follows: building blocks of arrays, of no use to a reader */
    PICKLE_DTYPE,
    PICKLE_WRAPPER,
} pickle_kind;

typedef struct pickle_value {
    pickle_kind kind;
    int n; /* entries of a list; of a dictionary, keys and values counted one by one */
    union {
        int64_t integer;
        double real;
        struct {
            const char *data; /* into the bytes, not zero-terminated */
            size_t size;
        };
        struct pickle_value **items; /* dictionary: key, value, key, value, ... */
        npy *array;                  /* kind and item may be others than npy_number knows */
    };
} pickle_value;

bool pickle_begins(file_view bytes); /* as a pickle, plain or compressed by zlib or gzip */

/* The object of a pickle. It lives in the arena and points into the bytes. */
hrc_status pickle_parse(const pickle_value **out, const char *path, file_view bytes, arena *memory,
                        hrc_error *err);

/* Where the bytes are compressed as joblib does it: what they expand to, which the caller frees through
 * *owned. */
hrc_status pickle_expand(char **owned, file_view *bytes, const char *path, hrc_error *err);

/* NULL where it is not a dictionary or has no such key. */
const pickle_value *pickle_get(const pickle_value *dict, const char *key);
bool pickle_is(const pickle_value *text, const char *wanted);
bool pickle_number(const pickle_value *v, double *out); /* of an int, a float, an array of one */

#endif
