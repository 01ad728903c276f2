/* Which motions a training sees. */
#include "learn/motions.h"

#include <string.h>

#include "synthetic.h"
#include "test.h"

#define CORPUS "motions/cmu.safetensors"

/* Several corpora, and files beside them: of those none is held out; of files alone every tenth is. */
static void test_mixed(void)
{
    hrc_error err;
    motions one, all, files;
    const char *wave[12];
    for (int i = 0; i < COUNT(wave); i++) wave[i] = "motions/wave.safetensors";
    ENSURE_OK(motions_load(&one, CORPUS, NULL, 0, NULL, false, &err));
    ENSURE_OK(motions_load(&all, CORPUS "," CORPUS, wave, 12, NULL, false, &err));
    ENSURE(all.n == 2 * one.n + 12);
    ENSURE_NEAR(all.heldout_s, 2 * one.heldout_s, 1e-6);
    for (int i = 0; i < one.n; i++)
        ENSURE(!strcmp(all.clips[one.n + i].name, one.clips[i].name) &&
               all.heldout[one.n + i] == one.heldout[i]);
    for (int i = 2 * one.n; i < all.n; i++) ENSURE(!all.heldout[i]);
    ENSURE_OK(motions_load(&files, NULL, wave, 12, NULL, true, &err));
    ENSURE(files.n == 12 + 11 && files.heldout[9] && !files.heldout[8]); /* 11 mirror images */
    motions_free(&one), motions_free(&all), motions_free(&files);
    ENSURE(motions_load(&one, CORPUS ",absent.safetensors", NULL, 0, NULL, false, &err) < 0 &&
           strstr(err.text, "absent.safetensors"));
    ENSURE(one.n == 0 && !one.clips);
}

TEST_TABLE({"motions.mixed", test_mixed})
