/* Fuzz targets give bytes to a parser. It may refuse them in one sentence; what it accepts must be sound. */
#ifndef HRC_FUZZ_H
#define HRC_FUZZ_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "motion/import/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SOUND(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) abort();                                                                           \
    } while (0)

/* Bytes through clip_parse. A failure leaves a sentence and no clip. */
static inline void fuzz_clip(const void *data, size_t size, const clip_options *options)
{
    clip c;
    clip_decisions why;
    hrc_error err = {{0}};
    if (clip_parse(&c, "folder/input.bin", (file_view){data, size}, options, &why, &err) < 0) {
        SOUND(err.text[0] && !c.qpos && !c.memory.head);
        return;
    }
    SOUND(c.n >= 1 && c.n <= CLIP_MAX_FRAMES && c.fps > 0 && c.name);
    for (int i = 0; i < c.n; i++) {
        const float *q = clip_frame(&c, i);
        double square = 0;
        for (int k = 0; k < HRC_NQ; k++) SOUND(isfinite(q[k]));
        for (int k = 3; k < 7; k++) square += (double)q[k] * q[k];
        SOUND(fabs(square - 1) < 1e-4);
    }
    clip_free(&c);
}

#endif
