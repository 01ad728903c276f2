#include "motion/corpus_codes.h"

#include <math.h>
#include <stdio.h>

#include "base/rot.h"

static int16_t to_code(double x)
{
    double code = floor(x + 0.5);
    return (int16_t)(code < -32768 ? -32768 : code > 32767 ? 32767 : code);
}

void corpus_encode(int16_t out[HRC_NQ], const float *frame, const corpus_entry *e, const double *lo,
                   const double *hi)
{
    for (int k = 0; k < 3; k++) out[k] = to_code((frame[k] - e->origin[k]) / e->step[k]);
    for (int k = 3; k < 7; k++) out[k] = to_code(32767.0 * frame[k]);
    for (int j = 0; j < HRC_JOINTS; j++)
        out[7 + j] = to_code((frame[7 + j] - lo[j]) / (hi[j] - lo[j]) * 65535 - 32768);
}

void corpus_decode(float *frame, const int16_t codes[HRC_NQ], const corpus_entry *e, const double *lo,
                   const double *hi)
{
    double quat[4];
    for (int k = 0; k < 3; k++) frame[k] = (float)(e->origin[k] + e->step[k] * codes[k]);
    for (int k = 0; k < 4; k++) quat[k] = codes[3 + k] / 32767.0;
    quat_normalize(quat);
    for (int k = 0; k < 4; k++) frame[3 + k] = (float)quat[k];
    for (int j = 0; j < HRC_JOINTS; j++)
        frame[7 + j] = (float)(lo[j] + (hi[j] - lo[j]) * (codes[7 + j] + 32768) / 65535);
}
