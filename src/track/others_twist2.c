/* TWIST2's tracker (amazon-far/TWIST2): a frame is 35 numbers of the reference and 92 of the robot; it sees
 * the present frame, ten past ones and the reference once more. Its training shows the reference of the next
 * step as the present one and that of now as the "future", fills the history with the first frame, and the
 * robot's own settings have stiffer wrists than its simulation's: so here. Nothing leads it back to a place
 * or a heading. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "track/others_parts.h"

enum { MIMIC = 35, NEXT = 1, NOW = 0 };

static const struct {
    const char *part;
    double kp, kd;
} GAIN[] = {{"_hip_", 100, 2},     {"_knee_", 150, 4}, {"_ankle_", 40, 2}, {"waist_", 150, 4},
            {"_shoulder_", 40, 5}, {"_elbow_", 40, 5}, {"_wrist_", 20, 1}};

static const struct {
    const char *joint;
    double q0;
} STANCE[] = {{"hip_pitch", -0.2},           {"knee", 0.4},
              {"ankle_pitch", -0.2},         {"left_shoulder_roll", 0.4},
              {"right_shoulder_roll", -0.4}, {"elbow", 1.2}};

void twist2_settings(others_model *m)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        const char *name = G1_JOINT[i].name;
        m->q0[i] = 0;
        m->scale[i] = 0.5;
        for (int k = 0; k < COUNT(GAIN); k++)
            if (strstr(name, GAIN[k].part)) m->kp[i] = GAIN[k].kp, m->kd[i] = GAIN[k].kd;
        for (int k = 0; k < COUNT(STANCE); k++)
            if (strstr(name, STANCE[k].joint)) m->q0[i] = STANCE[k].q0;
    }
    m->largest = 10;
    snprintf(m->about, sizeof m->about, "TWIST2's general tracker");
}

static void roll_pitch(float out[2], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3], sine = 2 * (w * y - z * x);
    out[0] = (float)atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
    out[1] = (float)asin(sine > 1 ? 1 : sine < -1 ? -1 : sine);
}

static void reference(float out[MIMIC], const hrc_frame *f)
{
    float lin[3];
    double quat[4];
    for (int i = 0; i < 4; i++) quat[i] = (double)f->qpos[3 + i];
    quat_rotate_invf(lin, f->qpos + 3, f->qvel);
    out[0] = lin[0], out[1] = lin[1], out[2] = f->qpos[2];
    roll_pitch(out + 3, quat);
    out[5] = f->qvel[5];
    memcpy(out + 6, f->qpos + 7, HRC_JOINTS * sizeof *out);
}

static void robot(float out[OTHERS_FRAME - MIMIC], const others_model *m, const g1_state *s,
                  const float *last)
{
    for (int i = 0; i < 3; i++) out[i] = (float)(0.25 * s->ang_vel[i]);
    roll_pitch(out + 3, s->quat);
    for (int i = 0; i < HRC_JOINTS; i++) {
        const bool ankle = strstr(G1_JOINT[i].name, "_ankle_") != NULL;
        out[5 + i] = (float)(s->q[i] - m->q0[i]);
        out[5 + HRC_JOINTS + i] = ankle ? 0 : (float)(0.05 * s->qd[i]);
        out[5 + 2 * HRC_JOINTS + i] = last[i];
    }
}

void twist2_observe(const others_model *m, others_memory *memory, float *observation, const g1_state *s,
                    const hrc_frame window[HRC_WINDOW])
{
    float frame[OTHERS_FRAME];
    reference(frame, &window[NEXT]);
    robot(frame + MIMIC, m, s, memory->last);
    for (int i = 0; i < OTHERS_HISTORY && !memory->begun; i++)
        memcpy(memory->history[i], frame, sizeof frame);
    memcpy(observation, frame, sizeof frame);
    memcpy(observation + OTHERS_FRAME, memory->history, sizeof memory->history);
    reference(observation + OTHERS_FRAME * (1 + OTHERS_HISTORY), &window[NOW]);
    memmove(memory->history[0], memory->history[1], sizeof memory->history - sizeof memory->history[0]);
    memcpy(memory->history[OTHERS_HISTORY - 1], frame, sizeof frame);
}
