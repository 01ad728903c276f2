/* Checkpoints: blocks of every kind that training has, edited and sealed anew. What is restored is of this
 * run: no index beyond the motions, no number that is not finite. */
#include "edited.h"
#include "learn/replay.h"
#include "nn/adam.h"
#include "sim/env_world.h"
#include "track/normal.h"

enum { WORLDS = 2, FRAMES = 20 };

static file_view good;
static env_one worlds[WORLDS];
static ref_frame frames[FRAMES];
static ref_clip motion = {.name = "motion", .n = FRAMES, .frames = frames};
static references refs = {.n = 1, .clips = &motion};
static arena memory;
static normal stats;
static replay kept;
static rng dice;
static double seconds;
static float weights[5];

static void list_blocks(state_list *l)
{
    l->n = 0;
    state_add(l, "", "weights", DT_F32, weights, COUNT(weights));
    state_add(l, "", "worlds", DT_U8, worlds, sizeof worlds);
    state_examine(l, env_check_worlds, &refs);
    state_add_dice(l, "", "dice", &dice);
    state_add_time(l, "", "seconds", &seconds);
    normal_state(&stats, l, "normal.");
    replay_state(&kept, &refs, l, "");
}

static void make_good(const char *path)
{
    static state_list l;
    hrc_error err;
    SOUND(normal_create(&stats, 3, &memory, &err) >= 0 && replay_create(&kept, WORLDS, 4, &err) >= 0);
    list_blocks(&l);
    SOUND(state_save(&l, path, NULL, 0, &err) >= 0);
    SOUND(file_map(path, &good, &err) >= 0 && unlink(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static state_list l;
    const char *path = fuzz_path("checkpoint");
    hrc_error err = {{0}};
    if (!good.data) make_good(path);
    if (!edited_file(path, good, data, size)) return 0;
    list_blocks(&l);
    if (state_load(&l, path, NULL, 0, &err) < 0)
        SOUND(err.text[0]);
    else {
        for (int i = 0; i < WORLDS; i++) {
            SOUND(worlds[i].clip == 0 && worlds[i].at >= 0 && worlds[i].at < FRAMES);
            rng_u32(&worlds[i].dice);
        }
        for (int i = 0; i < 4 * WORLDS; i++) SOUND(kept.steps[i].clip == 0 && kept.steps[i].at < FRAMES);
        for (int i = 0; i < COUNT(weights); i++) SOUND(isfinite(weights[i]));
        SOUND(seconds >= 0 && rng_u32(&dice) <= UINT32_MAX);
    }
    unlink(path);
    return 0;
}
