/* A digest over everything a safetensors file says: the name, type, shape and bytes of every tensor and all
 * metadata, kept as metadata "digest" ("xxh64:" and 16 hexadecimal digits). Opening a file that has one
 * checks it; what a robot runs on must have one. The order of entries does not matter. */
#ifndef HRC_BASE_SEAL_H
#define HRC_BASE_SEAL_H

#include "base/tensorfile.h"

/* As tensorfile_write, with the digest; meta has none. */
hrc_status seal_write(const char *path, const tensor *tensors, int ntensors, const tensor_meta *meta,
                      int nmeta, hrc_error *err);

hrc_status seal_check(const tensorfile *file, hrc_error *err); /* a file without one passes */
hrc_status seal_need(const tensorfile *file, hrc_error *err);  /* only a file with one does */

#endif
