/* What pickles of NumPy and joblib build their arrays from. Each function returns NULL, or what is wrong. */
#ifndef HRC_MOTION_IMPORT_PICKLE_ARRAY_H
#define HRC_MOTION_IMPORT_PICKLE_ARRAY_H

#include "motion/import/pickle.h"

int pickle_global_find(file_view module, file_view name); /* its number, or -1 when it is none of the known */

/* What the known function or class would return: an array yet without contents, a dtype, a number. */
const char *pickle_make(pickle_value *out, const pickle_value *function, const pickle_value *arguments,
                        arena *memory);
const char *pickle_fill(pickle_value *object, const pickle_value *state); /* an array or a dtype */

/* Type and shape of an array whose numbers follow in the stream. */
const char *pickle_wrapped(npy *out, bool *padded, const pickle_value *state);

#endif
