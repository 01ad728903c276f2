#include "learn/imagine_observe.h"

#include <string.h>

#include "base/rot.h"
#include "learn/world_vec.h"

NN_FN void imagine_proprio(real p[OBS_P], const real s[WS], const real action[HRC_JOINTS])
{
    for (int k = 0; k < 3; k++) {
        p[OBS_GRAVITY + k] = -s[WS_EZ + k];
        p[OBS_ANG_VEL + k] = s[WS_W + k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        p[OBS_Q + i] = s[WS_Q + i] - (real)G1_JOINT[i].q0;
        p[OBS_QD + i] = s[WS_QD + i];
        p[OBS_ACTION + i] = action[i];
    }
}

NN_FN void imagine_proprio_back(real ds[WS], real daction[HRC_JOINTS], const real dp[OBS_P])
{
    for (int k = 0; k < 3; k++) {
        ds[WS_EZ + k] -= dp[OBS_GRAVITY + k];
        ds[WS_W + k] += dp[OBS_ANG_VEL + k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        ds[WS_Q + i] += dp[OBS_Q + i];
        ds[WS_QD + i] += dp[OBS_QD + i];
        daction[i] += dp[OBS_ACTION + i];
    }
}

/* First two columns of the reference's R, as R00 R01 R10 R11 R20 R21. */
static void reference_columns(real columns[6], obs_frame frame)
{
    float six[6];
    quat_to_6df(six, frame.qpos + 3);
    for (int i = 0; i < 6; i++) columns[i] = (real)six[i];
}

NN_FN void imagine_reference(real m[OBS_M], const real s[WS], obs_frame frame)
{
    float lin[3];
    real columns[6], ey[3];
    const real *ex = s + WS_EX, *ez = s + WS_EZ;
    reference_columns(columns, frame);
    cross3(ey, ez, ex);
    quat_rotate_invf(lin, frame.qpos + 3, frame.qvel);
    for (int k = 0; k < 3; k++) {
        m[OBS_REF_LIN + k] = (real)lin[k];
        m[OBS_REF_ANG + k] = (real)frame.qvel[3 + k];
        for (int c = 0; c < 2; c++)
            m[OBS_REF_ROT + 2 * k + c] = ex[k] * columns[c] + ey[k] * columns[2 + c] + ez[k] * columns[4 + c];
    }
    for (int i = 0; i < HRC_JOINTS; i++) m[OBS_REF_Q + i] = (real)frame.qpos[7 + i];
}

NN_FN void imagine_reference_back(real ds[WS], const real turn[IMAGINE_TURN], const real s[WS],
                                  obs_frame frame)
{
    real columns[6], dey[3] = {0};
    reference_columns(columns, frame);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) {
            const real g = turn[2 * k + c];
            ds[WS_EX + k] += g * columns[c];
            dey[k] += g * columns[2 + c];
            ds[WS_EZ + k] += g * columns[4 + c];
        }
    add_cross3(ds + WS_EZ, 1, s + WS_EX, dey); /* ey = ez x ex */
    add_cross3(ds + WS_EX, 1, dey, s + WS_EZ);
}
