/* The controller inside another program: a G1 in MuJoCo waves its arm.
 *
 *   cc embed.c -lheracles -lmujoco -lm && ./a.out g1.xml tracker.safetensors [planner.safetensors]
 *
 * The robot's file comes from `heracles robot --mjcf`. */
#include <heracles.h>
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

#define SECONDS 4
#define N (SECONDS * HRC_RATE_HZ)

static int failed(const char *text)
{
    fprintf(stderr, "embed: %s\n", text);
    return 1;
}

/* A reference is poses at 50 Hz: here the stance, with one shoulder turning. */
static void make_motion(float qpos[N][HRC_NQ], float qvel[N][HRC_NV])
{
    double stance[HRC_NQ];
    int shoulder = 7 + hrc_robot_joint_index("left_shoulder_pitch_joint");
    hrc_robot_stance(stance);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < HRC_NQ; k++) qpos[i][k] = (float)stance[k];
        qpos[i][shoulder] -= 0.8f * (1 - cosf(6.2832f * (float)i / N));
    }
    hrc_velocities(qvel[0], qpos[0], N);
}

int main(int argc, char **argv)
{
    static float qpos[N][HRC_NQ], qvel[N][HRC_NV];
    hrc_error err;
    hrc_model *tracker = NULL, *planner = NULL;
    hrc_controller *c = NULL;
    hrc_state state;
    hrc_target target;
    char message[400];
    if (argc < 3) return failed("g1.xml tracker.safetensors [planner.safetensors]");
    mjModel *m = mj_loadXML(argv[1], NULL, message, sizeof message);
    if (!m) return failed(message);
    mjData *d = mj_makeData(m);
    if (hrc_model_load(&tracker, argv[2], &err) < 0) return failed(err.text);
    if (argc > 3 && hrc_model_load(&planner, argv[3], &err) < 0) return failed(err.text);
    if (hrc_controller_create(&c, tracker, planner, NULL, &err) < 0) return failed(err.text);
    make_motion(qpos, qvel);
    if (hrc_follow(c, &(hrc_motion){N, qpos[0], qvel[0]}, 0, 0, &err) < 0) return failed(err.text);

    hrc_robot_stance(d->qpos);
    for (int i = 0; i < N; i++) {
        memcpy(state.qpos, d->qpos, sizeof state.qpos);
        memcpy(state.qvel, d->qvel, sizeof state.qvel);
        if (hrc_control(c, &state, &target, &err) < 0) return failed(err.text);
        for (int k = 0; k < 4; k++) { /* physics at 200 Hz */
            for (int j = 0; j < HRC_JOINTS; j++)
                d->ctrl[j] = target.kp[j] * (target.q[j] - d->qpos[7 + j]) - target.kd[j] * d->qvel[6 + j];
            mj_step(m, d);
        }
    }
    const hrc_report *r = hrc_controller_report(c);
    printf("%d s: root at %.2f m, joints %.2f rad off, %lld plans\n", SECONDS, d->qpos[2], r->gap_rad,
           (long long)r->plans);
    hrc_controller_free(c);
    hrc_model_free(planner);
    hrc_model_free(tracker);
    mj_deleteData(d);
    mj_deleteModel(m);
    return 0;
}
