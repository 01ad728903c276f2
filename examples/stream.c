/* A reference that comes while the robot runs, as from teleoperation: every pose is made at 30 Hz, appended
 * when it is there, and followed by a G1 in MuJoCo. The source is 0.25 s ahead, which lets the tracker see
 * its window, and stops for a second: then the last pose is held.
 *
 *   cc stream.c -lheracles -lmujoco -lm && ./a.out g1.xml tracker.safetensors [planner.safetensors] */
#include <heracles.h>
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

#define SECONDS 6.0
#define SOURCE_HZ 30.0
#define LEAD_S 0.25
#define SILENT_FROM 2.0 /* s */
#define SILENT_TO 3.0

static int failed(const char *text)
{
    fprintf(stderr, "stream: %s\n", text);
    return 1;
}

/* What a person or another program would send: the stance, with one arm going up and down. */
static void pose_at(float qpos[HRC_NQ], double t)
{
    double stance[HRC_NQ];
    hrc_robot_stance(stance);
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)stance[i];
    qpos[7 + hrc_robot_joint_index("left_shoulder_pitch_joint")] -= (float)(0.6 * (1 - cos(2 * t)));
}

/* One control period of 20 ms in the simulator. */
static int step(hrc_controller *c, mjModel *m, mjData *d, hrc_error *err)
{
    hrc_state state;
    hrc_target target;
    memcpy(state.qpos, d->qpos, sizeof state.qpos);
    memcpy(state.qvel, d->qvel, sizeof state.qvel);
    if (hrc_control(c, &state, &target, err) < 0) return -1;
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < HRC_JOINTS; j++)
            d->ctrl[j] = target.kp[j] * (target.q[j] - d->qpos[7 + j]) - target.kd[j] * d->qvel[6 + j];
        mj_step(m, d);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const float at_rest[HRC_NV];
    float pose[HRC_NQ];
    hrc_error err;
    hrc_model *tracker = NULL, *planner = NULL;
    hrc_controller *c = NULL;
    char message[400];
    int dry = 0, sent = 0;
    if (argc < 3) return failed("g1.xml tracker.safetensors [planner.safetensors]");
    mjModel *m = mj_loadXML(argv[1], NULL, message, sizeof message);
    if (!m) return failed(message);
    mjData *d = mj_makeData(m);
    if (hrc_model_load(&tracker, argv[2], &err) < 0) return failed(err.text);
    if (argc > 3 && hrc_model_load(&planner, argv[3], &err) < 0) return failed(err.text);
    if (hrc_controller_create(&c, tracker, planner, NULL, &err) < 0) return failed(err.text);
    pose_at(pose, 0); /* the array is borrowed; what is appended is copied */
    if (hrc_follow(c, &(hrc_motion){1, pose, at_rest}, 0, HRC_PLACE, &err) < 0) return failed(err.text);

    hrc_robot_stance(d->qpos);
    for (int i = 0; i < SECONDS * HRC_RATE_HZ; i++) {
        const double now = (double)i / HRC_RATE_HZ;
        const int silent = now >= SILENT_FROM && now < SILENT_TO;
        for (; !silent && sent < (now + LEAD_S) * SOURCE_HZ; sent++) { /* what has come since the last step */
            float next[HRC_NQ];
            pose_at(next, (sent + 1) / SOURCE_HZ);
            if (hrc_append(c, next, 1, SOURCE_HZ, &err) < 0) return failed(err.text);
        }
        dry += hrc_ahead(c) == 0;
        if (step(c, m, d, &err) < 0) return failed(err.text);
    }
    const hrc_report *r = hrc_controller_report(c);
    printf("%.0f s: %d poses sent, %d frames, %d steps dry; root at %.2f m, joints %.2f rad off\n", SECONDS,
           sent, r->frames, dry, d->qpos[2], r->gap_rad);
    hrc_controller_free(c);
    hrc_model_free(planner);
    hrc_model_free(tracker);
    mj_deleteData(d);
    mj_deleteModel(m);
    return 0;
}
