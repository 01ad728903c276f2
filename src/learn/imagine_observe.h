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

#endif
