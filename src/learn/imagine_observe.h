/* What the policy sees of an imagined state, with derivatives: the numbers of track/observe.h (a test holds
 * the two against each other), written in the axes of the world model's state.
 *
 *   p: gravity = -ez, w, q - q0, qd, previous action
 *   m: of the reference alone but for the rotation, whose columns are R^T c = ex c_x + ey c_y + ez c_z for
 * the first two columns c of the reference's R */
#ifndef HRC_LEARN_IMAGINE_OBSERVE_H
#define HRC_LEARN_IMAGINE_OBSERVE_H

#include "learn/world_state.h"
#include "track/observe.h"

#define IMAGINE_TURN 6 /* numbers of a frame that depend on the state */

NN_FN void imagine_proprio(real p[OBS_P], const real s[WS], const real action[HRC_JOINTS]);
NN_FN void imagine_proprio_back(real ds[WS], real daction[HRC_JOINTS], const real dp[OBS_P]); /* both += */

NN_FN void imagine_reference(real m[OBS_M], const real s[WS], obs_frame frame);

/* turn (IMAGINE_TURN): gradient of the rotation's numbers. ds += */
NN_FN void imagine_reference_back(real ds[WS], const real turn[IMAGINE_TURN], const real s[WS],
                                  obs_frame frame);

/* The anchored window (plan/offset.h; a test holds the two against each other) of an imagined state, with
 * derivatives: by where the robot is now, and by where it was when the plan was made.
 *
 *   E = R_p R_0^T, e = a log E         R_0: the reference's orientation when the plan was made, a =
 * plan_yield c = exp(left e) R_t                what is shown at t; R_t the reference's, left = 1 - t / span
 *   m: linear c^T v, angular w_t - R_t^T e / span, rotation R^T c, joints q_t + left a (q_p - q_0) */
typedef struct {
    real q[HRC_JOINTS], turn[3]; /* a (q_p - q_0), e */
} imagine_offset;

NN_FN void imagine_offset_set(imagine_offset *a, const real s[WS], obs_frame reference);
NN_FN void imagine_offset_back(real ds[WS], const imagine_offset *da, const real s[WS], obs_frame reference);

/* 1 - t / span after so many control periods. */
NN_FN real imagine_offset_left(int periods);

/* Raw, as the policy sees it from state s. */
NN_FN void imagine_shown(real m[OBS_M], const real s[WS], const imagine_offset *a, obs_frame reference,
                         real left);
/* ds and da += */
NN_FN void imagine_shown_back(real ds[WS], imagine_offset *da, const real dm[OBS_M], const real s[WS],
                              const imagine_offset *a, obs_frame reference, real left);

#endif
