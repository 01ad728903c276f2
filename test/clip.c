#include "motion/clip.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "synthetic.h"
#include "test.h"

static void test_create(void)
{
    hrc_error err;
    clip c;
    ENSURE(clip_create(&c, 0, 50, "none", &err) == HRC_EINVAL);
    ENSURE(clip_create(&c, CLIP_MAX_FRAMES + 1, 50, "huge", &err) == HRC_EINVAL);
    ENSURE(clip_create(&c, 5, 0, "still", &err) == HRC_EINVAL);
    ENSURE(clip_create(&c, 5, (double)NAN, "odd", &err) == HRC_EINVAL && c.qpos == NULL);
    ENSURE_OK(clip_create(&c, 5, 50, "good", &err));
    ENSURE_OK(clip_label(&c, "dance", "here", "CC0", &err));
    ENSURE(!strcmp(c.name, "good") && !strcmp(c.category, "dance") && !strcmp(c.licence, "CC0"));
    clip_free(&c);
    ENSURE(c.n == 0 && c.qpos == NULL);
}

static void test_check(void)
{
    hrc_error err;
    clip c, before;
    synthetic_turn(&c, 20, 50);
    ENSURE_OK(clip_check(&c, "x", &err));
    ENSURE_OK(clip_cut(&before, &c, 0, 19, &err));
    ENSURE_OK(clip_check(&c, "x", &err));
    ENSURE(memcmp(before.qpos, c.qpos, 20 * HRC_NQ * sizeof(float)) == 0);

    for (int k = 3; k < 7; k++) clip_frame(&c, 7)[k] *= 1.005f;
    ENSURE_OK(clip_check(&c, "x", &err)); /* a little off is brought back */
    ENSURE_NEAR(clip_distance(&before, &c), 0, 1e-6);
    for (int k = 3; k < 7; k++) clip_frame(&c, 7)[k] *= 1.05f;
    ENSURE(clip_check(&c, "x", &err) == HRC_EFORMAT && strstr(err.text, "frame 7") &&
           strstr(err.text, "1.05"));
    clip_frame(&c, 6)[20] = NAN;
    ENSURE(clip_check(&c, "x", &err) == HRC_ENONFINITE && strstr(err.text, "frame 6: value 20"));
    clip_free(&before);
    clip_free(&c);
}

static void test_resample(void)
{
    hrc_error err;
    clip fast, slow, same;
    synthetic_turn(&fast, 121, 120);
    synthetic_turn(&slow, 31, 30);
    clip out;
    ENSURE_OK(clip_resample(&out, &fast, 30, &err)); /* every fourth frame, exactly */
    ENSURE(out.n == 31 && clip_distance(&out, &slow) <= 1e-6);
    clip_free(&out);
    ENSURE_OK(clip_resample(&same, &fast, 120, &err));
    ENSURE(same.n == 121 && memcmp(same.qpos, fast.qpos, 121 * HRC_NQ * sizeof(float)) == 0);
    ENSURE(!strcmp(same.name, "turn"));
    clip_free(&same);

    clip wanted;
    synthetic_turn(&wanted, 51, 50);
    ENSURE_OK(clip_resample(&out, &fast, 50, &err));
    ENSURE(out.n == 51); /* 1 s: the last frame is there */
    ENSURE_NEAR(clip_distance(&out, &wanted), 0, 2e-4);
    clip_free(&out);
    ENSURE_OK(clip_resample(&out, &slow, 50, &err));
    ENSURE(out.n == 51);
    for (int i = 0; i < out.n; i++) {
        double norm = 0;
        for (int k = 3; k < 7; k++) norm += (double)clip_frame(&out, i)[k] * clip_frame(&out, i)[k];
        ENSURE_NEAR(norm, 1, 1e-6);
    }
    clip_free(&out);
    ENSURE(clip_resample(&out, &slow, 0, &err) == HRC_EINVAL);
    ENSURE(clip_resample(&out, &slow, 1e9, &err) == HRC_EINVAL && out.qpos == NULL);
    clip_free(&fast);
    clip_free(&slow);
    clip_free(&wanted);
}

/* q and -q are one orientation: the way between them must be the short one. */
static void test_resample_sign(void)
{
    hrc_error err;
    clip c, out;
    synthetic_turn(&c, 3, 10);
    for (int k = 3; k < 7; k++) clip_frame(&c, 1)[k] = -clip_frame(&c, 0)[k];
    ENSURE_OK(clip_resample(&out, &c, 20, &err));
    ENSURE_NEAR(quat_anglef(clip_frame(&out, 1) + 3, clip_frame(&c, 0) + 3), 0, 1e-3);
    clip_free(&out);
    clip_free(&c);
}

static void test_cut(void)
{
    hrc_error err;
    clip c, part;
    synthetic_turn(&c, 20, 50);
    ENSURE_OK(clip_cut(&part, &c, 5, 9, &err));
    ENSURE(part.n == 5 && part.fps == 50 && clip_frame(&part, 0)[3] == clip_frame(&c, 5)[3]);
    clip_free(&part);
    ENSURE(clip_cut(&part, &c, 5, 20, &err) == HRC_EINVAL && clip_cut(&part, &c, -1, 3, &err) == HRC_EINVAL);
    ENSURE(clip_cut(&part, &c, 5, 4, &err) == HRC_EINVAL && part.qpos == NULL);
    clip_free(&c);
}

/* A screw motion with constant rates, from an orientation about no axis: the angular velocity is
 * constant in the body frame, the linear one in the world. */
static void test_velocities(void)
{
    hrc_error err;
    clip c;
    const double rate[3] = {0.7, -1.1, 2.3}, start[4] = {0.5, -0.5, 0.5, 0.5};
    float qvel[20 * HRC_NV];
    ENSURE_OK(clip_create(&c, 20, 50, "screw", &err));
    for (int i = 0; i < c.n; i++) {
        float *f = clip_frame(&c, i);
        double t = i / c.fps, turn[3] = {rate[0] * t, rate[1] * t, rate[2] * t}, q[4];
        quat_exp(q, turn);
        quat_mul(q, start, q);
        for (int k = 0; k < 4; k++) f[3 + k] = (float)((i % 2 ? -1 : 1) * q[k]); /* signs must not matter */
        f[0] = (float)(0.3 * t), f[1] = (float)(-0.2 * t), f[2] = 0.7f;
        for (int k = 0; k < HRC_JOINTS; k++) f[7 + k] = (float)(0.1 * k * t);
    }
    clip_velocities(qvel, &c);
    for (int i = 0; i < c.n; i++) {
        const float *v = qvel + (size_t)i * HRC_NV;
        ENSURE_NEAR(v[0], 0.3, 1e-4);
        ENSURE_NEAR(v[1], -0.2, 1e-4);
        for (int k = 0; k < 3; k++) ENSURE_NEAR(v[3 + k], rate[k], 1e-4);
        for (int k = 0; k < HRC_JOINTS; k++) ENSURE_NEAR(v[6 + k], 0.1 * k, 1e-4);
    }
    c.n = 1;
    clip_velocities(qvel, &c);
    for (int k = 0; k < HRC_NV; k++) ENSURE(qvel[k] == 0);
    clip_free(&c);
}

/* Second order: a quarter of the error at twice the rate. */
static void test_velocities_order(void)
{
    double error[2];
    for (int fine = 0; fine < 2; fine++) {
        hrc_error err;
        clip c;
        double fps = fine ? 40 : 20, most = 0;
        int n = fine ? 41 : 21;
        float qvel[41 * HRC_NV];
        ENSURE_OK(clip_create(&c, n, fps, "swing", &err));
        for (int i = 0; i < n; i++) {
            double t = i / fps, turn[3] = {0, 0, sin(3 * t)}, q[4];
            quat_exp(q, turn);
            for (int k = 0; k < 4; k++) clip_frame(&c, i)[3 + k] = (float)q[k];
        }
        clip_velocities(qvel, &c);
        for (int i = 1; i < n - 1; i++)
            most = fmax(most, fabs(qvel[(size_t)i * HRC_NV + 5] - 3 * cos(3 * i / fps)));
        error[fine] = most;
        clip_free(&c);
    }
    ENSURE(error[0] < 0.02 && error[1] < 0.3 * error[0]);
}

TEST_TABLE({"clip.create", test_create}, {"clip.check", test_check}, {"clip.resample", test_resample},
           {"clip.resample_sign", test_resample_sign}, {"clip.cut", test_cut},
           {"clip.velocities", test_velocities}, {"clip.velocities_order", test_velocities_order})
