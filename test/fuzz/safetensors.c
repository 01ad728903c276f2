#include "base/tensorfile.h"
#include "fuzz.h"

/* Every byte a tensor claims must be there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tensorfile file;
    hrc_error err;
    volatile unsigned char sum = 0;
    if (tensorfile_parse(&file, "input", (file_view){(const char *)data, size}, &err) >= 0) {
        for (int i = 0; i < file.ntensors; i++) {
            const tensor *t = &file.tensors[i];
            const unsigned char *bytes = t->data;
            for (size_t k = 0; k < (size_t)t->count * dtype_size(t->type); k++) sum ^= bytes[k];
            SOUND(tensorfile_find(&file, t->name));
        }
        tensorfile_close(&file);
    }
    (void)sum; /* reading is all that was wanted */
    fuzz_clip(data, size, NULL);
    return 0;
}
