/* Rollout files: what is written is read again, and what is not a rollout is refused with its reason. */
#include "eval/rollout.h"

#include <string.h>

#include "base/tensorfile.h"
#include "synthetic.h"
#include "test.h"

static void make_rollout(rollout *r, const char *name)
{
    hrc_error err;
    clip c;
    ENSURE_OK(rollout_create(r, 40, 50, name, ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_TORQUE, 2, &err));
    synthetic_turn(&c, r->n, r->fps);
    for (int i = 0; i < r->n; i++) {
        memcpy(r->qpos + (size_t)i * HRC_NQ, clip_frame(&c, i), HRC_NQ * sizeof(float));
        memcpy(r->ref + (size_t)i * HRC_NQ, clip_frame(&c, r->n - 1 - i), HRC_NQ * sizeof(float));
        for (int j = 0; j < HRC_JOINTS; j++) {
            r->target[i * HRC_JOINTS + j] = (float)(0.01 * i + j);
            r->torque[i * HRC_JOINTS + j] = (float)(j - 0.1 * i);
        }
    }
    clip_free(&c);
    r->events[0] = (rollout_event){0.5, "push 20 N s"};
    r->events[1] = (rollout_event){0.7, "push \"back\""};
    r->nevents = 2;
}

static void test_round_trip(void)
{
    hrc_error err;
    rollout a, b;
    make_rollout(&a, "turn \xc3\xa9");
    const char *path = test_path("round.safetensors");
    ENSURE_OK(rollout_save(&a, path, &err));
    ENSURE(rollout_is_file(path));
    ENSURE(!rollout_is_file(test_path("absent")));
    ENSURE_OK(rollout_load(&b, test_path("round.safetensors"), &err));
    ENSURE(!strcmp(a.name, b.name) && a.fps == b.fps && a.n == b.n && b.nevents == 2);
    ENSURE(b.events[1].t_s == 0.7 && !strcmp(b.events[1].text, "push \"back\""));
    for (int i = 0; i < a.n * HRC_NQ; i++) {
        ENSURE_NEAR((double)a.qpos[i], (double)b.qpos[i], 1e-6);
        ENSURE_NEAR((double)a.ref[i], (double)b.ref[i], 1e-6);
    }
    ENSURE(!memcmp(a.target, b.target, sizeof(float) * (size_t)(a.n * HRC_JOINTS)));
    ENSURE(!memcmp(a.torque, b.torque, sizeof(float) * (size_t)(a.n * HRC_JOINTS)));
    rollout_free(&b);

    a.ref = a.target = a.torque = NULL;
    a.nevents = 0;
    ENSURE_OK(rollout_save(&a, test_path("bare.safetensors"), &err));
    ENSURE_OK(rollout_load(&b, test_path("bare.safetensors"), &err));
    ENSURE(!b.ref && !b.target && !b.torque && b.nevents == 0);
    rollout_free(&a);
    rollout_free(&b);
}

/* A file whose metadata value of `key` (NULL: none) is `value` (NULL: left out) and whose second tensor is
 * `extra`; loading must fail with a sentence that holds `expected`. */
static void refuse(const char *key, const char *value, const float *qpos, const tensor *extra,
                   const char *expected)
{
    hrc_error err;
    char names[HRC_JOINTS * 32] = "";
    for (int i = 0; i < HRC_JOINTS; i++) {
        if (i) strcat(names, ",");
        strcat(names, G1_JOINT[i].name);
    }
    tensor_meta all[] = {{"format", "heracles-rollout"},
                         {"name", "x"},
                         {"fps", "50"},
                         {"joint_names", names},
                         {"events", "[]"}},
                meta[COUNT(all)];
    int nmeta = 0;
    for (int i = 0; i < COUNT(all); i++) {
        bool chosen = key && !strcmp(all[i].key, key);
        if (chosen && !value) continue;
        meta[nmeta++] = (tensor_meta){all[i].key, chosen ? value : all[i].value};
    }
    tensor tensors[2] = {{"qpos", DT_F32, 2, {2, HRC_NQ}, 2 * HRC_NQ, qpos}};
    if (extra) tensors[1] = *extra;
    ENSURE_OK(tensorfile_write(test_path("bad.safetensors"), tensors, extra ? 2 : 1, meta, nmeta, &err));
    rollout r;
    hrc_status status = rollout_load(&r, test_path("bad.safetensors"), &err);
    if (!expected) {
        ENSURE_OK(status);
        rollout_free(&r);
        return;
    }
    ENSURE(status < 0 && !r.qpos && !r.memory.head);
    if (!strstr(err.text, expected) || !strstr(err.text, "bad.safetensors"))
        test_fail(__FILE__, __LINE__, "\"%s\" does not hold \"%s\"", err.text, expected);
}

static void test_refusals(void)
{
    float good[2 * HRC_NQ], bad[2 * HRC_NQ];
    clip c;
    synthetic_turn(&c, 2, 50);
    memcpy(good, c.qpos, sizeof good);
    clip_free(&c);
    refuse(NULL, NULL, good, NULL, NULL);
    refuse("format", "heracles-clip", good, NULL, "is not a rollout");
    refuse("name", NULL, good, NULL, "\"name\" is missing");
    refuse("fps", "fast", good, NULL, "fps is \"fast\"");
    refuse("fps", "-1", good, NULL, "fps is \"-1\"");
    refuse("joint_names", "left_hip_pitch_joint,knee", good, NULL, "joint 1 is \"knee\"");
    refuse("events", "{}", good, NULL, "not a JSON array");
    refuse("events", "[{\"t\": \"now\", \"text\": \"x\"}]", good, NULL, "event 0 is not");
    memcpy(bad, good, sizeof bad);
    bad[HRC_NQ + 9] = NAN;
    refuse(NULL, NULL, bad, NULL, "frame 1, column 9 is not finite");
    memcpy(bad, good, sizeof bad);
    bad[HRC_NQ + 3] = 2;
    refuse(NULL, NULL, bad, NULL, "frame 1: root quaternion");
    tensor shorter = {"ref", DT_F32, 2, {1, HRC_NQ}, HRC_NQ, good};
    refuse(NULL, NULL, good, &shorter, "\"ref\" is F32 1x36, expected F32 2x36");
    hrc_error err;
    rollout r;
    ENSURE(rollout_create(&r, 0, 50, "none", 0, 0, &err) == HRC_EINVAL);
    test_write(test_path("torn.safetensors"), "\x40\0\0\0\0\0\0\0{", 9);
    ENSURE(rollout_load(&r, test_path("torn.safetensors"), &err) < 0 && strstr(err.text, "torn"));
}

TEST_TABLE({"rollout.round_trip", test_round_trip}, {"rollout.refusals", test_refusals})
