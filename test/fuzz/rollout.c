/* Rollouts: a good one, edited. */
#include "eval/rollout.h"

#include "edited.h"

static file_view good;

static void make_good(const char *path)
{
    hrc_error err;
    rollout r;
    SOUND(rollout_create(&r, 3, 50, "made", ROLLOUT_REF | ROLLOUT_SIGNALS, 2, &err) >= 0);
    for (int i = 0; i < 3; i++) r.qpos[i * HRC_NQ + 3] = r.ref[i * HRC_NQ + 3] = 1;
    rollout_note(&r, 0.02, "push");
    SOUND(rollout_save(&r, path, &err) >= 0);
    rollout_free(&r);
    SOUND(file_map(path, &good, &err) >= 0 && unlink(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("rollout");
    hrc_error err = {{0}};
    rollout r;
    if (!good.data) make_good(path);
    if (!edited_file(path, good, data, size)) return 0;
    if (rollout_load(&r, path, &err) < 0)
        SOUND(err.text[0] && !r.qpos);
    else {
        SOUND(r.n >= 1 && r.fps > 0);
        for (int i = 0; i < r.n * HRC_NQ; i++) SOUND(isfinite(r.qpos[i]));
        rollout_free(&r);
    }
    unlink(path);
    return 0;
}
