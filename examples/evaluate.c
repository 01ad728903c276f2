/* How well a tracker follows a motion: the figures of the paper, over one rollout of the whole file in
 * MuJoCo. (The program has more: `heracles eval --motion FILE`.)
 *
 *   cc evaluate.c -lheracles -lmujoco -lm && ./a.out g1.xml tracker.safetensors walk.csv
 * [planner.safetensors] */
#include <heracles.h>
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *text)
{
    fprintf(stderr, "evaluate: %s\n", text);
    return 1;
}

typedef struct {
    int steps, good;       /* good: height within 0.3 m and orientation within 1.2 rad of the reference */
    double joints, height; /* sums of errors: rad (L2 over 29), m */
} figures;

static void judge(figures *f, const hrc_frame *reference, const double *qpos)
{
    double joints = 0, dot = 0;
    for (int i = 7; i < HRC_NQ; i++) joints += pow(qpos[i] - (double)reference->qpos[i], 2);
    for (int i = 3; i < 7; i++) dot += qpos[i] * (double)reference->qpos[i];
    const double height = fabs(qpos[2] - (double)reference->qpos[2]), turn = 2 * acos(fmin(fabs(dot), 1));
    f->steps++;
    f->good += height < 0.3 && turn < 1.2;
    f->joints += sqrt(joints);
    f->height += height;
}

int main(int argc, char **argv)
{
    hrc_error err;
    hrc_model *tracker = NULL, *planner = NULL;
    hrc_controller *c = NULL;
    hrc_motion motion;
    hrc_state state;
    hrc_target target;
    figures f = {0};
    char message[400];
    if (argc < 4) return failed("g1.xml tracker.safetensors walk.csv [planner.safetensors]");
    mjModel *m = mj_loadXML(argv[1], NULL, message, sizeof message);
    if (!m) return failed(message);
    mjData *d = mj_makeData(m);
    if (hrc_model_load(&tracker, argv[2], &err) < 0) return failed(err.text);
    if (hrc_motion_load(&motion, argv[3], 0, NULL, &err) < 0) return failed(err.text);
    if (argc > 4 && hrc_model_load(&planner, argv[4], &err) < 0) return failed(err.text);
    if (hrc_controller_create(&c, tracker, planner, NULL, &err) < 0) return failed(err.text);
    if (hrc_follow(c, &motion, 0, 0, &err) < 0) return failed(err.text);

    for (int i = 0; i < HRC_NQ; i++) d->qpos[i] = (double)motion.qpos[i];
    for (int i = 0; i < HRC_NV; i++) d->qvel[i] = (double)motion.qvel[i];
    for (int i = 0; i < motion.n; i++) {
        memcpy(state.qpos, d->qpos, sizeof state.qpos);
        memcpy(state.qvel, d->qvel, sizeof state.qvel);
        if (hrc_control(c, &state, &target, &err) < 0) return failed(err.text);
        judge(&f, &hrc_controller_report(c)->reference, state.qpos);
        for (int k = 0; k < 4; k++) {
            for (int j = 0; j < HRC_JOINTS; j++)
                d->ctrl[j] = target.kp[j] * (target.q[j] - d->qpos[7 + j]) - target.kd[j] * d->qvel[6 + j];
            mj_step(m, d);
        }
    }
    printf("completion %.3f, joints %.3f rad, height %.3f m over %d steps\n", (double)f.good / f.steps,
           f.joints / f.steps, f.height / f.steps, f.steps);
    hrc_controller_free(c);
    hrc_motion_free(&motion);
    hrc_model_free(planner);
    hrc_model_free(tracker);
    mj_deleteData(d);
    mj_deleteModel(m);
    return 0;
}
