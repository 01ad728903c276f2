#include "plan/scales.h"

#include <math.h>

float plan_distance(const plan_scales *s, int D, const float *a, const float *b)
{
    const float *unit = s->residual_std + (PLAN_K - 1) * D;
    float sum = 0;
    for (int d = 0; d < D; d++) sum += (b[d] - a[d]) * (b[d] - a[d]) / (unit[d] * unit[d]);
    return sqrtf(sum / (float)D);
}

float plan_shortest_due(const plan_scales *s, int D, const float *a, const float *b)
{
    float far = plan_distance(s, D, a, b);
    if (far <= s->reach[0]) return PLAN_H;
    for (int i = 1; i < PLAN_REACHES; i++)
        if (far <= s->reach[i]) {
            float share = (far - s->reach[i - 1]) / (s->reach[i] - s->reach[i - 1]);
            return PLAN_H * ((float)i + share);
        }
    return PLAN_H * PLAN_REACHES;
}
