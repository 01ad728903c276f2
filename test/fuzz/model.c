/* Models: a small tracker, edited and sealed anew. What loads must run, and its targets are ones a motor can
 * be given. */
#include "edited.h"
#include "heracles.h"
#include "track/tracker.h"

static file_view good;

static void make_tracker(const char *path)
{
    static track_model m;
    hrc_error err;
    config cfg = config_default();
    cfg.tracker_encoder_width = cfg.tracker_action_width = 8;
    cfg.tracker_token = 4;
    SOUND(track_model_create(&m, &cfg, 5, &err) >= 0);
    SOUND(tracker_save(&m, true, path, &err) >= 0);
    track_model_free(&m);
    SOUND(file_map(path, &good, &err) >= 0 && unlink(path) == 0);
}

static void run_tracker(const hrc_model *m, const hrc_state *now)
{
    hrc_tracker *t;
    hrc_error err;
    hrc_target target;
    hrc_frame window[HRC_WINDOW] = {0};
    for (int f = 0; f < HRC_WINDOW; f++)
        for (int i = 0; i < HRC_NQ; i++) window[f].qpos[i] = (float)now->qpos[i];
    if (hrc_tracker_create(&t, m, &err) < 0) return;
    for (int i = 0; i < 2; i++) {
        hrc_step(t, now, window, &target, &err);
        for (int k = 0; k < HRC_JOINTS; k++) SOUND(isfinite(target.q[k]) && fabs(target.q[k]) < 100);
    }
    hrc_tracker_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("model");
    hrc_error err = {{0}};
    hrc_model *m;
    hrc_state now = {0};
    if (!good.data) make_tracker(path);
    if (!edited_file(path, good, data, size)) return 0;
    hrc_robot_stance(now.qpos);
    if (hrc_model_load(&m, path, &err) < 0)
        SOUND(err.text[0]);
    else {
        if (hrc_model_kind(m) == HRC_TRACKER) run_tracker(m, &now);
        hrc_model_free(m);
    }
    unlink(path);
    return 0;
}
