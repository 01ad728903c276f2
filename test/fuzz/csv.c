#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_clip(data, size, NULL);
    fuzz_clip(data, size, &(clip_options){.quat = "xyzw"});
    return 0;
}
