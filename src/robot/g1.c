/* Tables of the G1: figures of the public robot description. Gains follow from the motors: with the
 * armature a, w = 2 pi 10 rad/s and damping ratio 2: kp = a w^2, kd = 4 a w. Ankles, waist roll and waist
 * pitch are driven by two motors in parallel. */
#include "robot/g1.h"

#include <stdio.h>
#include <string.h>

/* name, parent, pos, quat, axis; mass, com; inertia quat, inertia */
/* clang-format off */
const g1_link G1_LINK[G1_LINKS] = {
    {"pelvis", -1, {0, 0, 0.793}, {1, 0, 0, 0}, {0, 0, 0},
     3.813, {0, 0, -0.07605}, {0.9999999203404465, 0, -0.0003991479682040485, 0},
     {0.010549, 0.0093089, 0.0079184}},
    {"left_hip_pitch_link", 0, {0, 0.064452, -0.1027}, {1, 0, 0, 0}, {0, 1, 0},
     1.35, {0.002741, 0.047791, -0.02606}, {0.9548624733467579, 0.2939641457246244, 0.03025561499838738, 0.03012201493215882},
     {0.00181517, 0.00153422, 0.00116212}},
    {"left_hip_roll_link", 1, {0, 0.052, -0.030465}, {0.996178685660368, 0, -0.08733857244071258, 0}, {1, 0, 0},
     1.52, {0.029812, -0.001045, -0.087934}, {0.9778077727100524, -1.971189541799953e-05, 0.2055759522141788, -0.04037929061389457},
     {0.00254986, 0.00241169, 0.00148755}},
    {"left_hip_yaw_link", 2, {0.025001, 0, -0.12412}, {1, 0, 0, 0}, {0, 0, 1},
     1.702, {-0.057709, -0.010981, -0.15078}, {0.6005979161898699, 0.1583199779073194, 0.2234819688143226, 0.7511808951768449},
     {0.00776166, 0.00717575, 0.00160139}},
    {"left_knee_link", 3, {-0.078273, 0.0021489, -0.17734},
     {0.996178685660368, 0, 0.08733857244071258, 0}, {0, 1, 0},
     1.932, {0.005457, 0.003964, -0.12074}, {0.923417870941202, -0.03276989542001141, 0.01582459778832137, 0.3820669466015307},
     {0.0113804, 0.0112778, 0.00146458}},
    {"left_ankle_pitch_link", 4, {0, -9.4445e-05, -0.30001}, {1, 0, 0, 0}, {0, 1, 0},
     0.074, {-0.007269, 0, 0.011137}, {0.6030529870741624, 0.3692249920860317, 0.3692249920860317, 0.6030529870741624},
     {1.89e-05, 1.40805e-05, 6.9195e-06}},
    {"left_ankle_roll_link", 5, {0, 0, -0.017558}, {1, 0, 0, 0}, {1, 0, 0},
     0.608, {0.026505, 0, -0.016425}, {-0.0004810918332731656, 0.7284817475378975, -0.0006189667854913228, 0.6850647625844561},
     {0.00167218, 0.0016161, 0.000217621}},
    {"right_hip_pitch_link", 0, {0, -0.064452, -0.1027}, {1, 0, 0, 0}, {0, 1, 0},
     1.35, {0.002741, -0.047791, -0.02606}, {0.9548624733467579, -0.2939641457246244, 0.03025561499838738, -0.03012201493215882},
     {0.00181517, 0.00153422, 0.00116212}},
    {"right_hip_roll_link", 7, {0, -0.052, -0.030465}, {0.996178685660368, 0, -0.08733857244071258, 0}, {1, 0, 0},
     1.52, {0.029812, 0.001045, -0.087934}, {0.9778077727100524, 1.971189541799953e-05, 0.2055759522141788, 0.04037929061389457},
     {0.00254986, 0.00241169, 0.00148755}},
    {"right_hip_yaw_link", 8, {0.025001, 0, -0.12412}, {1, 0, 0, 0}, {0, 0, 1},
     1.702, {-0.057709, 0.010981, -0.15078}, {0.7511808951768449, 0.2234819688143226, 0.1583199779073194, 0.6005979161898699},
     {0.00776166, 0.00717575, 0.00160139}},
    {"right_knee_link", 9, {-0.078273, -0.0021489, -0.17734},
     {0.996178685660368, 0, 0.08733857244071258, 0}, {0, 1, 0},
     1.932, {0.005457, -0.003964, -0.12074}, {0.9234388874809869, 0.03452759579288781, 0.01163329858250796, -0.3820119534526772},
     {0.011374, 0.0112843, 0.00146452}},
    {"right_ankle_pitch_link", 10, {0, 9.4445e-05, -0.30001}, {1, 0, 0, 0}, {0, 1, 0},
     0.074, {-0.007269, 0, 0.011137}, {0.6030529870741624, 0.3692249920860317, 0.3692249920860317, 0.6030529870741624},
     {1.89e-05, 1.40805e-05, 6.9195e-06}},
    {"right_ankle_roll_link", 11, {0, 0, -0.017558}, {1, 0, 0, 0}, {1, 0, 0},
     0.608, {0.026505, 0, -0.016425}, {0.0004810918332731656, 0.7284817475378975, 0.0006189667854913228, 0.6850647625844561},
     {0.00167218, 0.0016161, 0.000217621}},
    {"waist_yaw_link", 0, {0, 0, 0}, {1, 0, 0, 0}, {0, 0, 1},
     0.214, {0.003494, 0.000233, 0.018034}, {0.2896969864022031, 0.5910009722595969, -0.3377949841445794, 0.6728209684191301},
     {0.000163531, 0.000107714, 0.000102205}},
    {"waist_roll_link", 13, {-0.0039635, 0, 0.044}, {1, 0, 0, 0}, {1, 0, 0},
     0.086, {0, 2.3e-05, 0}, {0.5, 0.5, -0.5, 0.5}, {8.245e-06, 7.079e-06, 6.339e-06}},
    {"torso_link", 14, {0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0},
     7.818, {0.00203158, 0.000339683, 0.184568}, {0.9998025806355361, -6.033187469395981e-05, 0.01982559168420967, 0.001319859446388557},
     {0.121847, 0.109825, 0.0273735}},
    {"left_shoulder_pitch_link", 15, {0.0039563, 0.10022, 0.24778},
     {0.9902641396131312, 0.13920101962536, 1.387220195578278e-05, -9.868681391343435e-05}, {0, 1, 0},
     0.718, {0, 0.035892, -0.011628}, {0.6541519182994919, 0.01304579837064094, -0.3262669592507862, 0.682249914790184},
     {0.000465864, 0.000432842, 0.000406394}},
    {"left_shoulder_roll_link", 16, {0, 0.038, -0.013831},
     {0.9902682191424201, -0.1391720307982171, 0, 0}, {1, 0, 0},
     0.643, {-0.000227, 0.00727, -0.063243}, {0.7012560252335278, -0.01962230070607575, -0.007103170255595728, 0.7126040256418666},
     {0.000691311, 0.000618011, 0.000388977}},
    {"left_shoulder_yaw_link", 17, {0, 0.00624, -0.1032}, {1, 0, 0, 0}, {0, 0, 1},
     0.734, {0.010773, -0.002949, -0.072009}, {0.7168787147457542, -0.09648286160836504, -0.06799417294434035, 0.6871337265816254},
     {0.00106187, 0.00103217, 0.000400661}},
    {"left_elbow_link", 18, {0.015783, 0, -0.080518}, {1, 0, 0, 0}, {0, 1, 0},
     0.6, {0.064956, 0.004454, -0.010062}, {0.5417652363909151, 0.6361322775665198, 0.3888211696561277, 0.388129169354184},
     {0.000443035, 0.000421612, 0.000259353}},
    {"left_wrist_roll_link", 19, {0.1, 0.00188791, -0.01}, {1, 0, 0, 0}, {1, 0, 0},
     0.085445, {0.0171394, 0.000537591, 4.8864e-07}, {0.5753383685604386, 0.4116672637131045, -0.5749063682837002, 0.4110942633460418},
     {5.48211e-05, 4.96646e-05, 3.57798e-05}},
    {"left_wrist_pitch_link", 20, {0.038, 0, 0}, {1, 0, 0, 0}, {0, 1, 0},
     0.48405, {0.0229999, -0.00111685, -0.00111658}, {0.2499978284099244, 0.6613625460630598, 0.2930357988701134, 0.6436075582494845},
     {0.000430353, 0.000429873, 0.000164648}},
    {"left_wrist_yaw_link", 21, {0.046, 0, 0}, {1, 0, 0, 0}, {0, 0, 1},
     0.254576, {0.0708244, 0.000191745, 0.00161742}, {0.5105708492555107, 0.5262948446130489, 0.4680778618014359, 0.4931878543877871},
     {0.000646113, 0.000559993, 0.000147566}},
    {"right_shoulder_pitch_link", 15, {0.0039563, -0.10021, 0.24778},
     {0.9902641396131312, -0.13920101962536, 1.387220195578278e-05, 9.868681391343435e-05}, {0, 1, 0},
     0.718, {0, -0.035892, -0.011628}, {0.682249914790184, -0.3262669592507862, 0.01304579837064094, 0.6541519182994919},
     {0.000465864, 0.000432842, 0.000406394}},
    {"right_shoulder_roll_link", 23, {0, -0.038, -0.013831},
     {0.9902682191424201, 0.1391720307982171, 0, 0}, {1, 0, 0},
     0.643, {-0.000227, -0.00727, -0.063243}, {0.7126040256418666, -0.007103170255595728, -0.01962230070607575, 0.7012560252335278},
     {0.000691311, 0.000618011, 0.000388977}},
    {"right_shoulder_yaw_link", 24, {0, -0.00624, -0.1032}, {1, 0, 0, 0}, {0, 0, 1},
     0.734, {0.010773, 0.002949, -0.072009}, {0.6871337265816254, -0.06799417294434035, -0.09648286160836504, 0.7168787147457542},
     {0.00106187, 0.00103217, 0.000400661}},
    {"right_elbow_link", 25, {0.015783, 0, -0.080518}, {1, 0, 0, 0}, {0, 1, 0},
     0.6, {0.064956, -0.004454, -0.010062}, {0.3881291693541839, 0.3888211696561276, 0.6361322775665197, 0.5417652363909151},
     {0.000443035, 0.000421612, 0.000259353}},
    {"right_wrist_roll_link", 26, {0.1, -0.00188791, -0.01}, {1, 0, 0, 0}, {1, 0, 0},
     0.085445, {0.0171394, -0.000537591, 4.8864e-07}, {0.4116672637131045, 0.5753383685604386, -0.4110942633460418, 0.5749063682837002},
     {5.48211e-05, 4.96646e-05, 3.57798e-05}},
    {"right_wrist_pitch_link", 27, {0.038, 0, 0}, {1, 0, 0, 0}, {0, 1, 0},
     0.48405, {0.0229999, 0.00111685, -0.00111658}, {0.6436075582494845, 0.2930357988701134, 0.6613625460630598, 0.2499978284099244},
     {0.000430353, 0.000429873, 0.000164648}},
    {"right_wrist_yaw_link", 28, {0.046, 0, 0}, {1, 0, 0, 0}, {0, 0, 1},
     0.254576, {0.0708244, -0.000191745, 0.00161742}, {0.4931878543877871, 0.4680778618014359, 0.5262948446130489, 0.5105708492555107},
     {0.000646113, 0.000559993, 0.000147566}},
};
/* clang-format on */

/* Armature of the motor types, kg m^2. */
#define A_5020 0.003609725
#define A_7520_14 0.010177520
#define A_7520_22 0.025101925
#define A_4010 0.00425

#define OMEGA 62.83185307179586 /* 2 pi 10 Hz */
#define KP(a) ((a)*OMEGA * OMEGA)
#define KD(a) (4 * (a)*OMEGA)
#define MID(lo, hi) (((lo) + (hi)) / 2)
#define SOFT(lo, hi) (0.9 * ((hi) - (lo)) / 2)
#define JOINT(name, q0, a, effort, velocity, lo, hi)                                                         \
    {                                                                                                        \
        name, q0, a, KP(a), KD(a), effort, velocity, 0.25 * (effort) / KP(a), lo, hi,                        \
            MID(lo, hi) - SOFT(lo, hi), MID(lo, hi) + SOFT(lo, hi)                                           \
    }

/* name, default angle, armature, effort, velocity, limits */
const hrc_joint G1_JOINT[HRC_JOINTS] = {
    JOINT("left_hip_pitch_joint", -0.312, A_7520_14, 88, 32, -2.5307, 2.8798),
    JOINT("left_hip_roll_joint", 0, A_7520_22, 139, 20, -0.5236, 2.9671),
    JOINT("left_hip_yaw_joint", 0, A_7520_14, 88, 32, -2.7576, 2.7576),
    JOINT("left_knee_joint", 0.669, A_7520_22, 139, 20, -0.087267, 2.8798),
    JOINT("left_ankle_pitch_joint", -0.363, 2 * A_5020, 50, 37, -0.87267, 0.5236),
    JOINT("left_ankle_roll_joint", 0, 2 * A_5020, 50, 37, -0.2618, 0.2618),
    JOINT("right_hip_pitch_joint", -0.312, A_7520_14, 88, 32, -2.5307, 2.8798),
    JOINT("right_hip_roll_joint", 0, A_7520_22, 139, 20, -2.9671, 0.5236),
    JOINT("right_hip_yaw_joint", 0, A_7520_14, 88, 32, -2.7576, 2.7576),
    JOINT("right_knee_joint", 0.669, A_7520_22, 139, 20, -0.087267, 2.8798),
    JOINT("right_ankle_pitch_joint", -0.363, 2 * A_5020, 50, 37, -0.87267, 0.5236),
    JOINT("right_ankle_roll_joint", 0, 2 * A_5020, 50, 37, -0.2618, 0.2618),
    JOINT("waist_yaw_joint", 0, A_7520_14, 88, 32, -2.618, 2.618),
    JOINT("waist_roll_joint", 0, 2 * A_5020, 50, 37, -0.52, 0.52),
    JOINT("waist_pitch_joint", 0, 2 * A_5020, 50, 37, -0.52, 0.52),
    JOINT("left_shoulder_pitch_joint", 0.2, A_5020, 25, 37, -3.0892, 2.6704),
    JOINT("left_shoulder_roll_joint", 0.2, A_5020, 25, 37, -1.5882, 2.2515),
    JOINT("left_shoulder_yaw_joint", 0, A_5020, 25, 37, -2.618, 2.618),
    JOINT("left_elbow_joint", 0.6, A_5020, 25, 37, -1.0472, 2.0944),
    JOINT("left_wrist_roll_joint", 0, A_5020, 25, 37, -1.97222, 1.97222),
    JOINT("left_wrist_pitch_joint", 0, A_4010, 5, 22, -1.61443, 1.61443),
    JOINT("left_wrist_yaw_joint", 0, A_4010, 5, 22, -1.61443, 1.61443),
    JOINT("right_shoulder_pitch_joint", 0.2, A_5020, 25, 37, -3.0892, 2.6704),
    JOINT("right_shoulder_roll_joint", -0.2, A_5020, 25, 37, -2.2515, 1.5882),
    JOINT("right_shoulder_yaw_joint", 0, A_5020, 25, 37, -2.618, 2.618),
    JOINT("right_elbow_joint", 0.6, A_5020, 25, 37, -1.0472, 2.0944),
    JOINT("right_wrist_roll_joint", 0, A_5020, 25, 37, -1.97222, 1.97222),
    JOINT("right_wrist_pitch_joint", 0, A_4010, 5, 22, -1.61443, 1.61443),
    JOINT("right_wrist_yaw_joint", 0, A_4010, 5, 22, -1.61443, 1.61443),
};

const int G1_ISAAC_TO_MUJOCO[HRC_JOINTS] = {0,  3,  6,  9,  13, 17, 1,  4,  7,  10, 14, 18, 2,  5, 8,
                                            11, 15, 19, 21, 23, 25, 27, 12, 16, 20, 22, 24, 26, 28};

const int G1_TRACKED_LINK[G1_TRACKED] = {0, 2, 4, 6, 8, 10, 12, 15, 17, 19, 22, 24, 26, 29};

/* Collision shapes: name, link, radius, ends. The 19 of the body come first, so that both kinds of feet
 * follow the same list. */
static const g1_capsule CAPSULES[G1_GEOMS] = {
    {"pelvis_collision", 0, 0.07, {0, 0, -0.08}, {0, 0, -0.08}},
    {"left_hip_collision", 2, 0.06, {0.02, 0, 0}, {0.02, 0, -0.08}},
    {"left_thigh_collision", 3, 0.055, {0, 0, -0.03}, {-0.06, 0, -0.17}},
    {"left_shin_collision", 4, 0.045, {0.01, 0, 0}, {0.01, 0, -0.15}},
    {"left_linkage_brace_collision", 4, 0.03, {0.01, 0, -0.2}, {0.01, 0, -0.28}},
    {"right_hip_collision", 8, 0.06, {0.02, 0, 0}, {0.02, 0, -0.08}},
    {"right_thigh_collision", 9, 0.055, {0, 0, -0.03}, {-0.06, 0, -0.17}},
    {"right_shin_collision", 10, 0.045, {0.01, 0, 0}, {0.01, 0, -0.15}},
    {"right_linkage_brace_collision", 10, 0.03, {0.01, 0, -0.2}, {0.01, 0, -0.28}},
    {"torso_collision", 15, 0.09, {0.01, 0, 0.08}, {0.01, 0, 0.2}},
    {"head_collision", 15, 0.06, {0, 0, 0.43}, {0, 0, 0.43}},
    {"left_shoulder_yaw_collision", 18, 0.035, {0, 0, -0.08}, {0, 0, 0.05}},
    {"left_elbow_yaw_collision", 19, 0.035, {-0.01, 0, -0.01}, {0.08, 0, -0.01}},
    {"left_wrist_collision", 21, 0.035, {-0.01, 0, 0}, {0.06, 0, 0}},
    {"left_hand_collision", 22, 0.035, {0.07, 0, 0}, {0.15, -0.02, 0}},
    {"right_shoulder_yaw_collision", 25, 0.035, {0, 0, -0.08}, {0, 0, 0.05}},
    {"right_elbow_yaw_collision", 26, 0.035, {-0.01, 0, -0.01}, {0.08, 0, -0.01}},
    {"right_wrist_collision", 28, 0.035, {-0.01, 0, 0}, {0.06, 0, 0}},
    {"right_hand_collision", 29, 0.035, {0.07, 0, 0}, {0.15, 0.02, 0}},
    {"left_foot1_collision", 6, 0.01, {0.1, -0.026, -0.025}, {0.05, -0.027, -0.025}},
    {"left_foot2_collision", 6, 0.01, {-0.044, -0.018, -0.025}, {0.123, -0.018, -0.025}},
    {"left_foot3_collision", 6, 0.01, {-0.052, -0.01, -0.025}, {0.13, -0.01, -0.025}},
    {"left_foot4_collision", 6, 0.01, {-0.054, 0, -0.025}, {0.132, 0, -0.025}},
    {"left_foot5_collision", 6, 0.01, {-0.052, 0.01, -0.025}, {0.13, 0.01, -0.025}},
    {"left_foot6_collision", 6, 0.01, {-0.044, 0.018, -0.025}, {0.123, 0.018, -0.025}},
    {"left_foot7_collision", 6, 0.01, {0.1, 0.026, -0.025}, {0.05, 0.026, -0.025}},
    {"right_foot1_collision", 12, 0.01, {0.1, -0.026, -0.025}, {0.05, -0.026, -0.025}},
    {"right_foot2_collision", 12, 0.01, {-0.044, -0.018, -0.025}, {0.123, -0.018, -0.025}},
    {"right_foot3_collision", 12, 0.01, {-0.052, -0.01, -0.025}, {0.13, -0.01, -0.025}},
    {"right_foot4_collision", 12, 0.01, {-0.054, 0, -0.025}, {0.132, 0, -0.025}},
    {"right_foot5_collision", 12, 0.01, {-0.052, 0.01, -0.025}, {0.13, 0.01, -0.025}},
    {"right_foot6_collision", 12, 0.01, {-0.044, 0.018, -0.025}, {0.123, 0.018, -0.025}},
    {"right_foot7_collision", 12, 0.01, {0.1, 0.026, -0.025}, {0.05, 0.026, -0.025}},
};

/* Two capsules along the outline of each sole: four corners carry the foot as the fourteen ends do, and
 * half the contacts make physics a third faster. */
static const g1_capsule LIGHT_FEET[4] = {
    {"left_foot1_collision", 6, 0.01, {-0.044, -0.026, -0.025}, {0.123, -0.026, -0.025}},
    {"left_foot2_collision", 6, 0.01, {-0.044, 0.026, -0.025}, {0.123, 0.026, -0.025}},
    {"right_foot1_collision", 12, 0.01, {-0.044, -0.026, -0.025}, {0.123, -0.026, -0.025}},
    {"right_foot2_collision", 12, 0.01, {-0.044, 0.026, -0.025}, {0.123, 0.026, -0.025}},
};

#define BODY_CAPSULES (G1_GEOMS - 14)

const g1_capsule *g1_body_capsules(int *n)
{
    *n = BODY_CAPSULES;
    return CAPSULES;
}

const g1_capsule *g1_foot_capsules(g1_feet feet, int *n)
{
    *n = feet == G1_FEET_LIGHT ? COUNT(LIGHT_FEET) : 14;
    return feet == G1_FEET_LIGHT ? LIGHT_FEET : CAPSULES + BODY_CAPSULES;
}

const g1_site G1_SITE[G1_SITES] = {
    {"imu_in_pelvis", 0, {0.04525, 0, -0.08339}},
    {"left_foot", 6, {0.04, 0, -0.037}},
    {"right_foot", 12, {0.04, 0, -0.037}},
    {"imu_in_torso", 15, {-0.03959, -0.00224, 0.14792}},
    {"left_palm", 22, {0.08, 0, 0}},
    {"right_palm", 29, {0.08, 0, 0}},
};

int g1_link_index(const char *name)
{
    for (int i = 0; i < G1_LINKS; i++)
        if (strcmp(G1_LINK[i].name, name) == 0) return i;
    return -1;
}

const hrc_joint *hrc_robot_joints(void)
{
    return G1_JOINT;
}

int hrc_robot_joint_index(const char *name)
{
    for (int i = 0; i < HRC_JOINTS && name; i++)
        if (strcmp(G1_JOINT[i].name, name) == 0) return i;
    return -1;
}

void hrc_robot_stance(double qpos[HRC_NQ])
{
    g1_default_qpos(qpos);
}

void g1_default_qpos(double qpos[HRC_NQ])
{
    static const double ROOT[7] = {0, 0, 0.76, 1, 0, 0, 0};
    memcpy(qpos, ROOT, sizeof ROOT);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = G1_JOINT[i].q0;
}

int g1_mirror_joint(int joint, double *sign)
{
    /* Turning about y keeps its sense under the mirror, turning about x or z reverses it. */
    *sign = G1_LINK[joint + 1].axis[1] != 0 ? 1 : -1;
    if (joint < 12) return joint < 6 ? joint + 6 : joint - 6;
    if (joint < 15) return joint;
    return joint < 22 ? joint + 7 : joint - 7;
}

/* ---- Names ---- */

void g1_joint_names(char out[G1_NAMES_BYTES])
{
    for (int i = 0, used = 0; i < HRC_JOINTS; i++)
        used += snprintf(out + used, (size_t)(G1_NAMES_BYTES - used), "%s%s", i ? "," : "", G1_JOINT[i].name);
}

hrc_status g1_check_joint_names(const char *names, const char *path, hrc_error *err)
{
    if (!names) return fail(err, HRC_EFORMAT, "%s: metadata \"joint_names\" is missing", path);
    for (int i = 0; i < HRC_JOINTS; i++) {
        size_t n = strcspn(names, ",");
        const char *expected = G1_JOINT[i].name;
        if (n != strlen(expected) || memcmp(names, expected, n) != 0)
            return fail(err, HRC_EFORMAT, "%s: metadata joint_names: joint %d is \"%.*s\", expected \"%s\"",
                        path, i, (int)(n < 80 ? n : 80), names, expected);
        names += n + (names[n] == ',');
    }
    if (*names)
        return fail(err, HRC_EFORMAT, "%s: metadata joint_names: \"%.80s\" follows the %d joints of the G1",
                    path, names, HRC_JOINTS);
    return HRC_OK;
}

bool list_word(const char **list, char *out, size_t size)
{
    static const char BETWEEN[] = " ,\t\n\r[]\"'";
    *list += strspn(*list, BETWEEN);
    const size_t n = strcspn(*list, BETWEEN);
    if (!n) return false;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), *list);
    *list += n;
    return true;
}

hrc_status g1_joint_order(int joint[HRC_JOINTS], const char *list, const char *path, hrc_error *err)
{
    char word[80];
    bool seen[HRC_JOINTS] = {0};
    int n = 0;
    for (; list_word(&list, word, sizeof word); n++) {
        const int j = hrc_robot_joint_index(word);
        if (j < 0 || n == HRC_JOINTS || seen[j])
            return fail(err, HRC_EFORMAT,
                        "%s: joint %d is \"%s\", expected the %d joints of the G1, each once", path, n, word,
                        HRC_JOINTS);
        seen[j] = true;
        joint[n] = j;
    }
    if (n == HRC_JOINTS) return HRC_OK;
    return fail(err, HRC_EFORMAT, "%s: %d joints, expected the %d of the G1", path, n, HRC_JOINTS);
}
