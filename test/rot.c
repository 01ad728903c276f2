#include "base/rot.h"

#include <string.h>

#include "base/rng.h"
#include "test.h"

static void random_quat(double q[4], rng *r)
{
    for (int i = 0; i < 4; i++) q[i] = (double)rng_normal(r);
    quat_normalize(q);
}

static void test_log_exp(void)
{
    rng r = rng_make(1, 0);
    for (int n = 0; n < 1000; n++) {
        double v[3], q[4], back[3];
        double scale = n % 2 ? 1e-7 : 1.0; /* the series near zero too */
        for (int i = 0; i < 3; i++) v[i] = scale * (double)rng_uniform(&r, -1.7f, 1.7f);
        quat_exp(q, v);
        ENSURE_NEAR(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-12);
        quat_log(back, q);
        for (int i = 0; i < 3; i++) ENSURE_NEAR(back[i], v[i], 1e-12 + 1e-9 * fabs(v[i]));
    }
}

static void test_rotate_matches_matrix(void)
{
    rng r = rng_make(2, 0);
    for (int n = 0; n < 1000; n++) {
        double q[4], p[4], pq[4], m[9], v[3] = {0.3, -1.2, 0.7}, a[3], b[3];
        random_quat(q, &r);
        random_quat(p, &r);
        quat_to_mat(m, q);
        quat_rotate(a, q, v);
        for (int i = 0; i < 3; i++)
            ENSURE_NEAR(a[i], m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2], 1e-12);
        quat_rotate_inv(b, q, a);
        for (int i = 0; i < 3; i++) ENSURE_NEAR(b[i], v[i], 1e-12);
        quat_mul(pq, p, q); /* p q v = p (q v) */
        quat_rotate(b, pq, v);
        quat_rotate(a, p, a);
        for (int i = 0; i < 3; i++) ENSURE_NEAR(a[i], b[i], 1e-12);
    }
}

/* Matrix and 6D must give the orientation back, also at half turns where the trace is negative. */
static void test_matrix_and_6d_round_trip(void)
{
    rng r = rng_make(3, 0);
    for (int n = 0; n < 1000; n++) {
        double q[4], m[9], back[4], six[6];
        random_quat(q, &r);
        if (n < 3) memset(q, 0, sizeof q), q[1 + n] = 1;
        quat_to_mat(m, q);
        quat_from_mat(back, m);
        ENSURE_NEAR(quat_angle(q, back), 0, 1e-7);
        quat_to_6d(six, q);
        for (int i = 0; i < 6; i++) six[i] *= 1.7; /* scale does not matter */
        quat_from_6d(back, six);
        ENSURE_NEAR(quat_angle(q, back), 0, 1e-7);
    }
    double zero[6] = {0}, q[4];
    quat_from_6d(q, zero);
    ENSURE(q[0] == 1);
}

static void test_yaw_split(void)
{
    rng r = rng_make(4, 0);
    for (int n = 0; n < 1000; n++) {
        double q[4], yaw[4], tilt[4], product[4], lean[3] = {0}, tipped[4], turn[4];
        random_quat(q, &r);
        quat_split_yaw(yaw, tilt, q);
        quat_mul(product, yaw, tilt);
        ENSURE_NEAR(quat_angle(product, q), 0, 1e-7);
        ENSURE_NEAR(tilt[3], 0, 1e-12);
        /* A robot on its back keeps the heading it had: pitch it by 90 degrees after turning. */
        double heading = (double)rng_uniform(&r, -3, 3);
        lean[1] = -1.5707963;
        quat_exp(tipped, lean);
        quat_from_yaw(turn, heading);
        quat_mul(q, turn, tipped);
        ENSURE_NEAR(quat_yaw(q), heading, 1e-9);
    }
}

static void test_slerp(void)
{
    double a[4] = {1, 0, 0, 0}, b[4], v[3] = {0, 0, 1.0}, out[4], minus[4];
    quat_exp(b, v);
    quat_slerp(out, a, b, 0.25);
    ENSURE_NEAR(quat_angle(a, out), 0.25, 1e-12);
    for (int i = 0; i < 4; i++) minus[i] = -b[i]; /* the shorter way, whatever the sign */
    quat_slerp(out, a, minus, 0.25);
    ENSURE_NEAR(quat_angle(a, out), 0.25, 1e-12);
}

static void test_float_matches_double(void)
{
    rng r = rng_make(5, 0);
    for (int n = 0; n < 200; n++) {
        double q[4], v[3];
        float qf[4], vf[3], back[4];
        random_quat(q, &r);
        for (int i = 0; i < 4; i++) qf[i] = (float)q[i];
        quat_log(v, q);
        quat_logf(vf, qf);
        for (int i = 0; i < 3; i++) ENSURE_NEAR(vf[i], v[i], 2e-5);
        quat_expf(back, vf);
        ENSURE_NEAR(fabsf(back[0] * qf[0] + back[1] * qf[1] + back[2] * qf[2] + back[3] * qf[3]), 1, 1e-5);
    }
}

TEST_TABLE({"rot.log_exp", test_log_exp}, {"rot.rotate_matches_matrix", test_rotate_matches_matrix},
           {"rot.matrix_and_6d_round_trip", test_matrix_and_6d_round_trip}, {"rot.yaw_split", test_yaw_split},
           {"rot.slerp", test_slerp}, {"rot.float_matches_double", test_float_matches_double})
