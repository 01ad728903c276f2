/* Arrays as NumPy stores them (.npy, versions 1 and 2): little-endian numbers and texts. */
#ifndef HRC_MOTION_IMPORT_NPY_H
#define HRC_MOTION_IMPORT_NPY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"

#define NPY_MAX_DIMS 4

typedef struct {
    char kind; /* 'f' or 'i' for numbers, 'U' for texts */
    int item;  /* bytes of one element: 4 or 8; a text of n characters has 4n */
    int ndim;
    int64_t shape[NPY_MAX_DIMS];
    int64_t count;    /* product of shape */
    bool fortran;     /* the first index runs fastest; NumPy stores so what was made by taking columns */
    const char *data; /* into the bytes; not aligned */
} npy;

/* `where` begins the sentences ("x.npz: array \"fps\""). The bytes are borrowed. */
hrc_status npy_parse(npy *a, const char *where, file_view bytes, hrc_error *err);

/* Bring it to C order (the last index runs fastest), copying into the arena when it is not. */
hrc_status npy_to_c_order(npy *a, const char *where, arena *memory, hrc_error *err);

/* Whether npy_number knows the type: <f4 <f8 <i4 <i8. */
bool npy_is_number(const npy *a);

/* Element i in C order. */
double npy_number(const npy *a, int64_t i);
void npy_text(const npy *a, int64_t i, char *out, size_t size); /* what is not ASCII becomes '?' */

#define NPY_HEADER 128 /* bytes of the header that npy_header writes, a multiple of 64 */

/* descr: "<f4". The data follow the header at once. */
void npy_header(char out[NPY_HEADER], const char *descr, int ndim, const int64_t *shape);

#endif
