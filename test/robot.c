#include "robot/g1.h"

#include <string.h>

#include "test.h"

static void test_joint_names(void)
{
    ENSURE(hrc_robot_joint_index("right_wrist_yaw_joint") == 28);
    ENSURE(hrc_robot_joint_index("nonsense") == -1);
    for (int i = 0; i < HRC_JOINTS; i++) ENSURE(hrc_robot_joint_index(G1_JOINT[i].name) == i);
}

/* Every figure of the public table that the motor formulas must reproduce. */
static void test_gains(void)
{
    const hrc_joint *knee = &G1_JOINT[3], *ankle = &G1_JOINT[4], *wrist = &G1_JOINT[20];
    ENSURE_NEAR(knee->kp, 99.098428, 1e-6);
    ENSURE_NEAR(knee->kd, 6.308802, 1e-6);
    ENSURE_NEAR(knee->action_scale, 0.350661, 1e-6);
    ENSURE_NEAR(knee->soft_lo, 0.06109, 1e-5);
    ENSURE_NEAR(ankle->kp, 28.501246, 1e-6);
    ENSURE_NEAR(wrist->kp, 16.778327, 1e-6);
    ENSURE_NEAR(wrist->action_scale, 0.074501, 1e-6);
}

static void test_mass_and_tree(void)
{
    double mass = 0;
    for (int i = 0; i < G1_LINKS; i++) {
        mass += G1_LINK[i].mass;
        ENSURE(G1_LINK[i].parent < i);
        ENSURE(g1_link_index(G1_LINK[i].name) == i);
    }
    ENSURE_NEAR(mass, G1_MASS, 1e-6);
    ENSURE(!strcmp(G1_LINK[G1_TORSO].name, "torso_link"));
    ENSURE(!strcmp(G1_LINK[G1_LEFT_ANKLE].name, "left_ankle_roll_link"));
    ENSURE(!strcmp(G1_LINK[G1_RIGHT_ANKLE].name, "right_ankle_roll_link"));
    ENSURE(!strcmp(G1_LINK[G1_LEFT_WRIST].name, "left_wrist_yaw_link"));
    ENSURE(!strcmp(G1_LINK[G1_RIGHT_WRIST].name, "right_wrist_yaw_link"));
}

static void test_mirror(void)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        double sign, back;
        int j = g1_mirror_joint(i, &sign);
        ENSURE(g1_mirror_joint(j, &back) == i && sign == back);
        double lo = sign > 0 ? G1_JOINT[i].lo : -G1_JOINT[i].hi;
        ENSURE_NEAR(G1_JOINT[j].lo, lo, 1e-9);
        ENSURE_NEAR(G1_JOINT[j].q0, sign * G1_JOINT[i].q0, 1e-12);
    }
}

TEST_TABLE({"robot.joint_names", test_joint_names}, {"robot.gains", test_gains},
           {"robot.mass_and_tree", test_mass_and_tree}, {"robot.mirror", test_mirror})
