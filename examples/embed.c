/* The controller inside another program: a G1 in MuJoCo follows a motion file.
 *
 *   cc embed.c -lheracles -lmujoco -lm && ./a.out g1.xml tracker.safetensors walk.csv [planner.safetensors]
 *
 * The robot's file comes from `heracles robot --mjcf`. */
#include <heracles.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *text)
{
    fprintf(stderr, "embed: %s\n", text);
    return 1;
}

int main(int argc, char **argv)
{
    hrc_error err;
    hrc_model *tracker = NULL, *planner = NULL;
    hrc_controller *c = NULL;
    hrc_motion motion;
    hrc_motion_source source;
    hrc_state state;
    hrc_target target;
    char message[400];
    if (argc < 4) return failed("g1.xml tracker.safetensors walk.csv [planner.safetensors]");
    mjModel *m = mj_loadXML(argv[1], NULL, message, sizeof message);
    if (!m) return failed(message);
    mjData *d = mj_makeData(m);
    if (hrc_model_load(&tracker, argv[2], &err) < 0) return failed(err.text);
    if (hrc_motion_load(&motion, argv[3], 0, &source, &err) < 0) return failed(err.text);
    if (argc > 4 && hrc_model_load(&planner, argv[4], &err) < 0) return failed(err.text);
    if (hrc_controller_create(&c, tracker, planner, NULL, &err) < 0) return failed(err.text);
    if (hrc_follow(c, &motion, 0, 0, &err) < 0) return failed(err.text);
    printf("%s: %s, %d frames; frame rate %s\n", argv[3], source.format, source.frames, source.rate);

    for (int i = 0; i < HRC_NQ; i++) d->qpos[i] = (double)motion.qpos[i]; /* begins on the motion */
    for (int i = 0; i < motion.n; i++) {
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
    printf("%.1f s: root at %.2f m, joints %.2f rad off, %lld plans\n", (double)motion.n / HRC_RATE_HZ,
           d->qpos[2], r->gap_rad, (long long)r->plans);
    hrc_controller_free(c);
    hrc_motion_free(&motion);
    hrc_model_free(planner);
    hrc_model_free(tracker);
    mj_deleteData(d);
    mj_deleteModel(m);
    return 0;
}
