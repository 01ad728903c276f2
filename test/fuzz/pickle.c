/* An input that begins as a pickle is one; any other is a list of edits of a good one: numbers that must fit
 * each other are not found by chance. The run must start in the repository's root. */
#include "motion/import/pickle.h"
#include "edited.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const GOOD[] = {"test/data/gmr.pkl", "test/data/gmr23.pkl", "test/data/asap.pkl"};
    static file_view good[COUNT(GOOD)];
    hrc_error err;
    if (pickle_begins((file_view){(const char *)data, size})) {
        fuzz_clip(data, size, NULL);
        fuzz_clip(data, size, &(clip_options){.quat = "xyzw", .member = "turn"});
        return 0;
    }
    if (size == 0) return 0;
    int i = data[0] % COUNT(GOOD);
    if (!good[i].data) SOUND(file_map(GOOD[i], &good[i], &err) >= 0);
    file_view bytes = edited(good[i], data + 1, size - 1);
    fuzz_clip(bytes.data, bytes.size, NULL);
    free((void *)bytes.data);
    return 0;
}
