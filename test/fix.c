#include "motion/fix.h"

#include <unistd.h>

#include "base/rot.h"
#include "motion/quality.h"
#include "synthetic.h"
#include "test.h"

#define FPS 50.0

static double lowest(const clip *c)
{
    hrc_error err;
    quality q;
    ENSURE_OK(quality_measure(&q, c, &err));
    return q.low_min;
}

/* The largest change of one channel. */
static double channel_distance(const clip *a, const clip *b, int channel, int margin)
{
    double most = 0;
    for (int i = margin; i < a->n - margin; i++)
        most = fmax(most, fabs((double)clip_frame(a, i)[channel] - (double)clip_frame(b, i)[channel]));
    return most;
}

static void test_median(void)
{
    hrc_error err;
    clip c, original;
    synthetic_turn(&c, 200, FPS);
    synthetic_turn(&original, 200, FPS);
    clip_frame(&c, 90)[7 + 20] += 1;
    clip_frame(&c, 120)[2] += 0.2f;
    for (int k = 3; k < 7; k++) clip_frame(&c, 150)[k] *= -1; /* the same orientation, in the other sign */
    ENSURE_OK(fix_median(&c, &err));
    ENSURE(clip_distance(&c, &original) < 0.02);
    ENSURE_OK(clip_check(&c, "median", &err));
    clip_free(&c), clip_free(&original);
}

/* A slow sine passes within 1 %, a spike hardly, 3 dB are lost at the cut-off, and nothing is delayed. */
static void test_lowpass(void)
{
    hrc_error err;
    clip c, original;
    synthetic_turn(&c, 500, FPS);
    synthetic_turn(&original, 500, FPS);
    for (int i = 0; i < c.n; i++) {
        double slow = 0.5 * sin(2 * M_PI * 1 * i / FPS), edge = 0.5 * sin(2 * M_PI * 6 * i / FPS);
        clip_frame(&c, i)[7 + 20] = clip_frame(&original, i)[7 + 20] = (float)slow;
        clip_frame(&c, i)[7 + 21] = (float)edge;
        clip_frame(&original, i)[7 + 21] = (float)(edge * M_SQRT1_2);
    }
    clip_frame(&c, 250)[7 + 22] += 1;
    ENSURE_OK(fix_lowpass(&c, 6, &err));
    ENSURE(channel_distance(&c, &original, 7 + 20, 0) < 0.005);
    ENSURE(channel_distance(&c, &original, 7 + 21, 50) < 0.005);
    double left = fabs((double)clip_frame(&c, 250)[7 + 22] - (double)clip_frame(&original, 250)[7 + 22]);
    ENSURE(left < 0.35);
    for (int k = 3; k < 7; k++) ENSURE(channel_distance(&c, &original, k, 0) < 0.005);
    ENSURE_OK(clip_check(&c, "low-pass", &err));
    clip_free(&c), clip_free(&original);
}

/* Several turns about the vertical change the quaternion's sign: filtering must not notice. */
static void test_lowpass_turns(void)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, 1000, FPS);
    for (int i = 0; i < c.n; i++) /* as importers write it: w >= 0 */
        if (clip_frame(&c, i)[3] < 0)
            for (int k = 3; k < 7; k++) clip_frame(&c, i)[k] = -clip_frame(&c, i)[k];
    clip original;
    synthetic_turn(&original, 1000, FPS);
    ENSURE_OK(fix_lowpass(&c, 6, &err));
    for (int i = 0; i < c.n; i++) {
        double a[4], b[4];
        for (int k = 0; k < 4; k++)
            a[k] = (double)clip_frame(&c, i)[3 + k], b[k] = (double)clip_frame(&original, i)[3 + k];
        ENSURE(quat_angle(a, b) < 0.005);
    }
    clip_free(&c), clip_free(&original);
}

static void test_lowpass_short(void)
{
    hrc_error err;
    for (int n = 1; n < 12; n++) {
        clip c;
        synthetic_turn(&c, n, FPS);
        ENSURE_OK(fix_clip(&c, &(fix_options){true, true, true, true, 6}, &err));
        ENSURE_OK(clip_check(&c, "short", &err));
        clip_free(&c);
    }
}

static void test_lift(void)
{
    hrc_error err;
    clip c, original;
    synthetic_turn(&c, 300, FPS);
    ENSURE_OK(fix_lift(&c, &err));
    for (int i = 100; i < 130; i++) clip_frame(&c, i)[2] -= 0.12f; /* a sudden drop */
    for (int i = 200; i < 260; i++) clip_frame(&c, i)[2] -= (float)(0.05 + 0.04 * sin(i));
    for (int i = 0; i < 3; i++) clip_frame(&c, i)[2] -= 0.05f;
    ENSURE_OK(clip_cut(&original, &c, 0, c.n - 1, &err));
    ENSURE(lowest(&c) < -0.1);
    ENSURE_OK(fix_lift(&c, &err));
    ENSURE(lowest(&c) >= -FIX_LIFT_TOLERANCE - 1e-6);
    double before = 0;
    for (int i = 0; i < c.n; i++) {
        double lift = (double)clip_frame(&c, i)[2] - (double)clip_frame(&original, i)[2];
        ENSURE(lift >= -1e-6);
        if (i) ENSURE(fabs(lift - before) < 0.05); /* 0.12 m spread over seven frames */
        before = lift;
    }
    ENSURE_NEAR(before, 0, 1e-6); /* what was not under the floor stays where it was */
    for (int k = 0; k < HRC_NQ; k++) ENSURE(k == 2 || channel_distance(&c, &original, k, 0) == 0);
    clip_free(&c), clip_free(&original);
}

static void test_clamp(void)
{
    clip c;
    synthetic_turn(&c, 10, FPS);
    clip_frame(&c, 4)[7 + 3] = 9, clip_frame(&c, 5)[7 + 3] = -9;
    float other = clip_frame(&c, 4)[7 + 4];
    fix_clamp(&c);
    ENSURE_NEAR(clip_frame(&c, 4)[7 + 3], G1_JOINT[3].hi, 1e-6);
    ENSURE_NEAR(clip_frame(&c, 5)[7 + 3], G1_JOINT[3].lo, 1e-6);
    ENSURE(clip_frame(&c, 4)[7 + 4] == other);
    clip_free(&c);
}

static void test_pieces(void)
{
    int first, last;
    ENSURE(fix_piece(2005, 30, 999, 0, &first, &last) && first == 0 && last == 998);
    ENSURE(fix_piece(2005, 30, 999, 1, &first, &last) && first == 999 && last == 1997);
    ENSURE(!fix_piece(2005, 30, 999, 2, &first, &last)); /* seven frames are not worth a file */
    ENSURE(fix_piece(2100, 30, 999, 2, &first, &last) && first == 1998 && last == 2099);
    ENSURE(fix_piece(2100, 30, 0, 0, &first, &last) && first == 0 && last == 2099);
    ENSURE(!fix_piece(2100, 30, 0, 1, &first, &last));
    ENSURE(fix_piece(5, 30, 0, 0, &first, &last) && last == 4); /* without seams nothing is dropped */
}

/* Steps that are not asked for do not happen. */
static void test_switches(void)
{
    hrc_error err;
    clip c, original;
    synthetic_turn(&c, 50, FPS);
    clip_frame(&c, 20)[7 + 5] = 3, clip_frame(&c, 30)[2] -= 0.3f;
    ENSURE_OK(clip_cut(&original, &c, 0, c.n - 1, &err));
    ENSURE_OK(fix_clip(&c, &(fix_options){0}, &err));
    ENSURE(clip_distance(&c, &original) == 0);
    clip_free(&c), clip_free(&original);
}

static void test_real(void)
{
    hrc_error err;
    clip whole, c;
    const char *path = "../shared/data/lafan1-g1/fallAndGetUp1_subject4.csv";
    if (access(path, R_OK) != 0) SKIP("no ../shared/data");
    ENSURE_OK(clip_load(&whole, path, NULL, NULL, &err));
    for (int k = 0, first, last; fix_piece(whole.n, whole.fps, 999, k, &first, &last); k++) {
        quality q;
        ENSURE_OK(clip_cut(&c, &whole, first, last, &err));
        ENSURE_OK(fix_clip(&c, &(fix_options){true, true, true, true, 6}, &err));
        ENSURE_OK(quality_measure(&q, &c, &err));
        ENSURE(q.low_min >= -FIX_LIFT_TOLERANCE - 1e-6);
        ENSURE(q.joint_jumps.count == 0 && q.root_jumps.count == 0 && q.turn_jumps.count == 0);
        ENSURE(q.limit_excess == 0);
        clip_free(&c);
    }
    clip_free(&whole);
}

TEST_TABLE({"fix.median", test_median}, {"fix.lowpass", test_lowpass},
           {"fix.lowpass_turns", test_lowpass_turns}, {"fix.lowpass_short", test_lowpass_short},
           {"fix.lift", test_lift}, {"fix.clamp", test_clamp}, {"fix.pieces", test_pieces},
           {"fix.switches", test_switches}, {"fix.real", test_real})
