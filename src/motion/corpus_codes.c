#include "motion/corpus_codes.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define CODE_MIN (-32768)
#define CODE_MAX 32767
#define JOINT_UNIT 1e-4    /* rad; twice the error that is promised */
#define POSITION_UNIT 2e-4 /* m */

static uint8_t grain_of(double step, double unit)
{
    return (uint8_t)fmin(fmax(floor(unit / step), 1), 255);
}

void corpus_choose_grain(corpus_entry *e, const double *lo, const double *hi, bool exact)
{
    memset(e->grain, 1, sizeof e->grain);
    if (exact) return;
    for (int k = 0; k < 3; k++) e->grain[k] = grain_of(e->step[k], POSITION_UNIT);
    for (int j = 0; j < HRC_JOINTS; j++)
        e->grain[7 + j] = grain_of((hi[j] - lo[j]) / (CODE_MAX - CODE_MIN), JOINT_UNIT);
}

static uint16_t to_code(double x)
{
    const double code = floor(x + 0.5);
    return (uint16_t)((code < CODE_MIN ? CODE_MIN : code > CODE_MAX ? CODE_MAX : code) - CODE_MIN);
}

/* A unit stands for as many codes as the grain says, and is read as the middle of them. Rounding to codes and
 * then to units costs no more than half a grain that way. */
static double from_unit(uint16_t unit, int grain)
{
    return fmin(CODE_MIN + unit * grain + (grain - 1) / 2.0, CODE_MAX);
}

void corpus_encode(uint16_t out[HRC_NQ], const float *frame, const corpus_entry *e, const double *lo,
                   const double *hi)
{
    for (int k = 0; k < 3; k++) out[k] = to_code((frame[k] - e->origin[k]) / e->step[k]);
    for (int k = 3; k < 7; k++) out[k] = to_code(CODE_MAX * (double)frame[k]);
    for (int j = 0; j < HRC_JOINTS; j++)
        out[7 + j] = to_code((frame[7 + j] - lo[j]) / (hi[j] - lo[j]) * (CODE_MAX - CODE_MIN) + CODE_MIN);
}

void corpus_decode(float *frame, const uint16_t units[HRC_NQ], const corpus_entry *e, const double *lo,
                   const double *hi)
{
    double quat[4], codes[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) codes[k] = from_unit(units[k], e->grain[k]);
    for (int k = 0; k < 3; k++) frame[k] = (float)(e->origin[k] + e->step[k] * codes[k]);
    for (int k = 0; k < 4; k++) quat[k] = codes[3 + k] / CODE_MAX;
    quat_normalize(quat);
    for (int k = 0; k < 4; k++) frame[3 + k] = (float)quat[k];
    for (int j = 0; j < HRC_JOINTS; j++)
        frame[7 + j] = (float)(lo[j] + (hi[j] - lo[j]) * (codes[7 + j] - CODE_MIN) / (CODE_MAX - CODE_MIN));
}
