#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "eval/rollout.h"
#include "motion/import/formats.h"
#include "synthetic.h"
#include "test.h"

static void test_round_trip(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    synthetic_turn(&c, 60, 29.97);
    ENSURE_OK(clip_label(&c, "dance", "made by \"formula\"", "CC0", &err));
    ENSURE_OK(clip_save(&c, test_path("turn.safetensors"), &err));
    ENSURE(test_shell(NULL, 0, "mv $T/turn.safetensors $T/turn.csv") ==
           0); /* content decides, not the name */
    ENSURE_OK(clip_load(&back, test_path("turn.csv"), NULL, &why, &err));
    ENSURE(memcmp(back.qpos, c.qpos, 60 * HRC_NQ * sizeof(float)) == 0 && back.fps == 29.97);
    ENSURE(!strcmp(back.name, "turn") && !strcmp(back.category, "dance"));
    ENSURE(!strcmp(back.source, "made by \"formula\"") && !strcmp(back.licence, "CC0"));
    ENSURE(strstr(why.format, "safetensors") && strstr(why.fps, "from the file"));
    clip_free(&back);
    clip_free(&c);
}

/* What a simulated robot did is a motion: its poses as they are, and nothing of what else is recorded. */
static void test_rollout(void)
{
    hrc_error err;
    clip c, back;
    rollout r;
    clip_decisions why;
    synthetic_turn(&c, 30, 50);
    ENSURE_OK(rollout_create(&r, 30, 50, "lying-back 3", ROLLOUT_REF, 1, &err));
    memcpy(r.qpos, c.qpos, 30 * HRC_NQ * sizeof(float));
    for (int i = 0; i < 30; i++) r.ref[i * HRC_NQ + 3] = 1;
    rollout_note(&r, 0.1, "push");
    ENSURE_OK(rollout_save(&r, test_path("rollout.safetensors"), &err));
    rollout_free(&r);
    ENSURE_OK(clip_load(&back, test_path("rollout.safetensors"), NULL, &why, &err));
    ENSURE(back.n == 30 && back.fps == 50 && !strcmp(back.name, "lying-back 3"));
    ENSURE(memcmp(back.qpos, c.qpos, 30 * HRC_NQ * sizeof(float)) == 0);
    ENSURE(!*back.category && !*back.source && !*back.licence);
    ENSURE(why.simulated && !strcmp(why.format, "rollout"));
    clip_free(&back);
    clip_free(&c);
}

/* A clip file with one thing wrong. */
typedef struct {
    const char *format, *fps, *names, *sentence;
    const char *tensor;
    int width, frames;
    float value; /* of the quaternion's w in the last frame */
} broken;

static void joint_names(char *out, int swap)
{
    out[0] = 0;
    for (int i = 0; i < HRC_JOINTS; i++) {
        int k = i == swap ? i + 1 : i == swap + 1 ? i - 1 : i;
        sprintf(out + strlen(out), "%s%s", i ? "," : "", G1_JOINT[k].name);
    }
}

static void check_broken(const broken *b)
{
    hrc_error err = {0};
    clip c;
    float data[4 * 40] = {0};
    for (int i = 0; i < b->frames; i++) data[i * b->width + 3] = 1;
    if (b->frames) data[(b->frames - 1) * b->width + 3] = b->value;
    tensor_meta meta[3];
    int nmeta = 0;
    if (b->format) meta[nmeta++] = (tensor_meta){"format", b->format};
    if (b->fps) meta[nmeta++] = (tensor_meta){"fps", b->fps};
    if (b->names) meta[nmeta++] = (tensor_meta){"joint_names", b->names};
    tensor t = {b->tensor, DT_F32, 2, {b->frames, b->width}, (int64_t)b->frames * b->width, data};
    ENSURE_OK(tensorfile_write(test_path("broken"), &t, 1, meta, nmeta, &err));
    hrc_status status = clip_load(&c, test_path("broken"), NULL, NULL, &err);
    if (status >= 0 || !strstr(err.text, b->sentence) || c.qpos)
        test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", b->sentence, status, err.text);
}

static void test_broken(void)
{
    char good[1024], swapped[1024], more[1100];
    joint_names(good, -2);
    joint_names(swapped, 3);
    snprintf(more, sizeof more, "%s,tail_joint", good);
    const broken CASES[] = {
        {NULL, "50", good, "\"format\" is missing", "qpos", 36, 4, 1},
        {"other", "50", good, "format is \"other\"", "qpos", 36, 4, 1},
        {"heracles-clip", NULL, good, "\"fps\" is missing", "qpos", 36, 4, 1},
        {"heracles-rollout", NULL, good, "\"fps\" is missing", "qpos", 36, 4, 1},
        {"heracles-rollout", "50", swapped, "joint 3 is", "qpos", 36, 4, 1},
        {"heracles-rollout", "50", good, "4x35, expected F32 *x36", "qpos", 35, 4, 1},
        {"heracles-rollout", "50", good, "frame 3: value 3", "qpos", 36, 4, NAN},
        {"heracles-clip", "fast", good, "fps is \"fast\"", "qpos", 36, 4, 1},
        {"heracles-clip", "-50", good, "fps is \"-50\"", "qpos", 36, 4, 1},
        {"heracles-clip", "50", NULL, "\"joint_names\" is missing", "qpos", 36, 4, 1},
        {"heracles-clip", "50", swapped,
         "joint 3 is \"left_ankle_pitch_joint\", expected \"left_knee_joint\"", "qpos", 36, 4, 1},
        {"heracles-clip", "50", "a,b", "joint 0 is \"a\"", "qpos", 36, 4, 1},
        {"heracles-clip", "50", more, "\"tail_joint\" follows", "qpos", 36, 4, 1},
        {"heracles-clip", "50", good, "\"qpos\" is missing", "qvel", 36, 4, 1},
        {"heracles-clip", "50", good, "4x35, expected F32 *x36", "qpos", 35, 4, 1},
        {"heracles-clip", "50", good, "0 frames", "qpos", 36, 0, 1},
        {"heracles-clip", "50", good, "frame 3: root quaternion of length 0.5", "qpos", 36, 4, 0.5f},
        {"heracles-clip", "50", good, "frame 3: value 3", "qpos", 36, 4, NAN},
    };
    for (int i = 0; i < COUNT(CASES); i++) check_broken(&CASES[i]);
}

/* Made by another program (test/data/make_fixtures.py). */
static void test_python(void)
{
    hrc_error err;
    clip c, wanted;
    synthetic_turn(&wanted, 3, 50);
    ENSURE_OK(clip_load(&c, "test/data/turn.safetensors", NULL, NULL, &err));
    ENSURE_NEAR(clip_distance(&c, &wanted), 0, 1e-6);
    ENSURE(c.fps == 50 && !strcmp(c.name, "turn"));
    clip_free(&c);
    clip_free(&wanted);
}

static void test_truncated(void)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, 2, 50);
    ENSURE_OK(clip_save(&c, test_path("short.safetensors"), &err));
    clip_free(&c);
    file_view whole;
    ENSURE_OK(file_map(test_path("short.safetensors"), &whole, &err));
    for (size_t n = 0; n < whole.size; n++) {
        char *copy = malloc(n + 1);
        ENSURE(copy);
        memcpy(copy, whole.data, n);
        ENSURE(clip_parse(&c, "x", (file_view){copy, n}, NULL, NULL, &err) < 0 && c.qpos == NULL);
        free(copy);
    }
    file_unmap(&whole);
}

/* A header that promises 2 GB is refused by comparing it with the file, before anything is allocated. */
static void test_huge(void)
{
    const char header[] =
        "{\"qpos\":{\"dtype\":\"F32\",\"shape\":[15000000,36],\"data_offsets\":[0,2160000000]}}";
    char bytes[256] = {0};
    hrc_error err;
    clip c;
    bytes[0] = (char)(sizeof header - 1);
    memcpy(bytes + 8, header, sizeof header - 1);
    ENSURE(clip_parse(&c, "x", (file_view){bytes, 7 + sizeof header}, NULL, NULL, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "2160000000"));
}

TEST_TABLE({"clipfile.round_trip", test_round_trip}, {"clipfile.rollout", test_rollout},
           {"clipfile.python", test_python}, {"clipfile.broken", test_broken},
           {"clipfile.truncated", test_truncated}, {"clipfile.huge", test_huge})
