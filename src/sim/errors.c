#include "sim/errors.h"

#include <math.h>

#include "base/rot.h"

static double tilt_between(const double gravity[3], const double ref_quat[4])
{
    static const double DOWN[3] = {0, 0, -1};
    double wanted[3], cross[3];
    quat_rotate_inv(wanted, ref_quat, DOWN);
    vec_cross(cross, gravity, wanted);
    return atan2(vec_norm(cross), vec_dot(gravity, wanted));
}

tracking_error tracking_error_of(const g1_state *robot, const ref_frame *ref)
{
    double quat[4], squares = 0;
    for (int k = 0; k < 4; k++) quat[k] = (double)ref->qpos[3 + k];
    for (int i = 0; i < HRC_JOINTS; i++) {
        double d = robot->q[i] - (double)ref->qpos[7 + i];
        squares += d * d;
    }
    return (tracking_error){sqrt(squares), fabs(robot->pos[2] - (double)ref->qpos[2]),
                            tilt_between(robot->gravity, quat)};
}
