#include "motion/import/bvh.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static double pos[1024][3], quat[1024][4];
    bvh b;
    hrc_error err;
    if (bvh_parse(&b, "input.bvh", (file_view){(const char *)data, size}, NULL, &err) < 0) return 0;
    SOUND(b.njoints >= 1 && b.njoints <= 1024 && b.n >= 1 && b.nchannels >= 1 && b.fps > 0);
    for (int i = BVH_REST; i < b.n; i++) {
        bvh_pose(&b, i, pos, quat);
        for (int k = 0; k < b.njoints; k++) SOUND(isfinite(quat[k][0]));
    }
    SOUND(bvh_find(&b, b.joints[b.njoints - 1].name) >= 0);
    bvh_free(&b);
    return 0;
}
