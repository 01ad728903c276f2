#include "motion/corpus.h"

#include "fuzz.h"

/* test/data/blocks.corpus and, from before blocks, turn.corpus hold 26 frames of synthetic_turn. Every clip
 * of what is accepted must decode. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    corpus all;
    hrc_error err;
    if (corpus_parse(&all, "input", (file_view){(const char *)data, size}, &err) < 0) return 0;
    for (int i = 0; i < all.nclips; i++) {
        clip c;
        SOUND(corpus_find(&all, all.clips[i].name) >= 0);
        for (int k = 0; k < all.clips[i].nphases; k++)
            SOUND(all.clips[i].phases[k].first >= 0 && all.clips[i].phases[k].last < all.clips[i].n);
        if (corpus_clip(&all, i, &c, &err) >= 0) clip_free(&c);
    }
    corpus_close(&all);
    return 0;
}
