#include "eval/paper.h"

#include <string.h>

#include "base/status.h"

static const paper_row HELDOUT[] = {
    {"MLP", 0.848, 1.1572, 0.1194, 0.3590, 0.2230},
    {"Transformer", 0.806, 1.5436, 0.1426, 0.3410, 0.2046},
    {"VQ-VAE", 0.860, 2.3013, 0.1077, 0.3675, 0.2376},
    {"SONIC", 0.793, 1.9828, 0.1402, 0.3771, 0.2334},
    {"iFSQ-BM", 0.851, 1.4760, 0.1096, 0.3474, 0.2362},
    {"iFSQ+H", 0.873, 1.2924, 0.0271, 0.1539, 0.1709},
    {"iFSQ", 0.872, 1.1863, 0.0955, 0.3614, 0.1561},
    {"Heracles", 0.906, 1.3272, 0.0764, 0.2728, 0.2325},
    {"Heracles, no warm start", 0.872, 1.6236, 0.0962, 0.3393, 0.2423},
    {"Heracles, no noise", 0.786, 1.8896, 0.1463, 0.4318, 0.2182},
    {"Heracles, no weighting", 0.821, 1.6931, 0.1200, 0.4055, 0.2394},
};

static const paper_row RECOVERY[] = {
    {"MLP", 0.440, 2.1720, 0.3586, 1.0157, 0.2710},
    {"Transformer", 0.406, 2.8309, 0.3706, 0.8355, 0.2708},
    {"VQ-VAE", 0.698, 2.5700, 0.1898, 0.4307, 0.2719},
    {"SONIC", 0.428, 2.9897, 0.3342, 0.8629, 0.2895},
    {"iFSQ-BM", 0.524, 2.4482, 0.2880, 0.9109, 0.3134},
    {"iFSQ+H", 0.527, 1.7660, 0.0419, 0.2744, 0.2793},
    {"iFSQ", 0.482, 2.0236, 0.3024, 1.0488, 0.2405},
    {"Heracles", 0.900, 1.4114, 0.0762, 0.2427, 0.2830},
};

int paper_rows(const paper_row **out, const char *suite)
{
    if (!strcmp(suite, "heldout101")) return *out = HELDOUT, COUNT(HELDOUT);
    if (!strcmp(suite, "recovery")) return *out = RECOVERY, COUNT(RECOVERY);
    return 0;
}
