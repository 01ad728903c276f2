/* Motion files that viewers of the playground send: every format from memory, and what is refused. */
#include "play/intake.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "play/run.h"
#include "puppet.h"
#include "test.h"

#define PATIENCE_S 300.0

static atomic_int woken;

static void wake(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&woken, 1);
}

static intake *open_intake(const char *quat)
{
    const clip_options reading = {.quat = quat};
    hrc_error err;
    intake *t;
    ENSURE_OK(intake_create(&t, &reading, wake, NULL, &err));
    return t;
}

/* What comes of a file, in pieces of odd length. */
static intake_result read_bytes(intake *t, const char *name, const void *data, size_t size)
{
    hrc_error err;
    static intake_result r;
    const int before = atomic_load(&woken);
    ENSURE_OK(intake_begin(t, name, size, &err));
    for (size_t at = 0; at < size; at += 7777) {
        const size_t left = size - at;
        ENSURE(!intake_take(t, &r));
        ENSURE(intake_add(t, (const char *)data + at, left < 7777 ? left : 7777));
    }
    for (double until = clock_s() + PATIENCE_S; !intake_take(t, &r); usleep(2000)) ENSURE(clock_s() < until);
    ENSURE(atomic_load(&woken) == before + 1);
    return r;
}

static intake_result read_file(intake *t, const char *path)
{
    hrc_error err;
    file_view bytes;
    ENSURE_OK(file_map(path, &bytes, &err));
    const char *slash = strrchr(path, '/');
    intake_result r = read_bytes(t, slash ? slash + 1 : path, bytes.data, bytes.size);
    file_unmap(&bytes);
    return r;
}

/* The wave in every format that is written is the wave again. */
static void test_formats(void)
{
    static const char *const ENDING[] = {"csv", "npz", "safetensors"};
    hrc_error err;
    clip wave;
    ENSURE_OK(clip_load(&wave, "motions/wave.safetensors", NULL, NULL, &err));
    for (int i = 0; i < COUNT(ENDING); i++) {
        char name[64];
        intake *t = open_intake(i ? NULL : "xyzw"); /* who stands still tells a CSV's order by nothing */
        snprintf(name, sizeof name, "my_50fps.%s", ENDING[i]);
        ENSURE_OK(clip_save(&wave, test_path(name), &err));
        intake_result r = read_file(t, test_path(name));
        if (r.status < 0) test_fail(__FILE__, __LINE__, "%s", r.err.text);
        ENSURE(!strcmp(r.motion.name, "my_50fps") && r.motion.n == wave.n && r.motion.fps == HRC_RATE_HZ);
        for (int k = 0; k < wave.n * HRC_NQ; k++)
            ENSURE_NEAR((double)r.motion.qpos[k], (double)wave.qpos[k], 1e-5);
        ENSURE(*r.said);
        clip_free(&r.motion);
        intake_free(t);
    }
    clip_free(&wave);
}

static void test_bvh(void)
{
    hrc_error err;
    skeleton_map map;
    bvh person;
    text file = {0};
    double pose[HRC_NQ];
    ENSURE_OK(skeleton_map_load(&map, "assets/skeletons/cmu.ini", &err));
    puppet_create(&person, &map, 26, 50);
    g1_default_qpos(pose);
    for (int i = 0; i < person.n; i++) puppet_pose(&person, &map, i, pose);
    puppet_write(&file, &person);
    intake *t = open_intake(NULL);
    intake_result r = read_bytes(t, "person.bvh", file.data, file.size);
    if (r.status < 0) test_fail(__FILE__, __LINE__, "%s", r.err.text);
    if (r.motion.n != 26 || !strstr(r.said, "CMU"))
        test_fail(__FILE__, __LINE__, "%d, %s", r.motion.n, r.said);
    ENSURE_NEAR((double)r.motion.qpos[2], pose[2], 0.03);
    clip_free(&r.motion);
    intake_free(t);
    text_free(&file);
    bvh_free(&person);
}

static void refused(intake *t, const char *name, const void *data, size_t size, const char *words)
{
    intake_result r = read_bytes(t, name, data, size);
    if (r.status >= 0 || !strstr(r.err.text, words))
        test_fail(__FILE__, __LINE__, "%s: %s", name, r.status < 0 ? r.err.text : "accepted");
    ENSURE(!r.motion.qpos);
}

static void test_refused(void)
{
    static const char POLICY[] = "\x08\x07heracles", EVIL[] = "\x80\002cposix\nsystem\n(S'true'\ntR.";
    hrc_error err;
    clip still;
    file_view bytes;
    intake *t = open_intake(NULL);
    refused(t, "nonsense.csv", "1,2,3\n4,5,6\n", 12, "nonsense.csv");
    refused(t, "policy.onnx", POLICY, sizeof POLICY, "is an ONNX policy");
    refused(t, "evil.pkl", EVIL, sizeof EVIL - 1, "posix.system");
    refused(t, "a\x1b[2J.csv", "x\n", 2, "a?[2J.csv");
    ENSURE_OK(file_map("test/data/arm.bvh", &bytes, &err));
    refused(t, "arm.bvh", bytes.data, bytes.size, "arm.bvh");
    file_unmap(&bytes);

    /* What no controller follows is refused as hrc_follow refuses it; so is what is too long. */
    ENSURE_OK(clip_create(&still, 3, 50, "still", &err));
    for (int i = 0; i < 3; i++) clip_frame(&still, i)[3] = 1, clip_frame(&still, i)[2] = (float)i;
    ENSURE_OK(clip_save(&still, test_path("leap.safetensors"), &err));
    intake_result r = read_file(t, test_path("leap.safetensors"));
    ENSURE(r.status < 0 && strstr(r.err.text, "leap") && strstr(r.err.text, "12"));
    for (int i = 0; i < 3; i++) clip_frame(&still, i)[2] = 0.7f;
    still.fps = 1e-3;
    ENSURE_OK(clip_save(&still, test_path("long.safetensors"), &err));
    r = read_file(t, test_path("long.safetensors"));
    ENSURE(r.status < 0 && strstr(r.err.text, "long"));
    clip_free(&still);

    ENSURE(intake_begin(t, "none.csv", 0, &err) < 0 && strstr(err.text, "is empty"));
    ENSURE(intake_begin(t, "huge.csv", INTAKE_BYTES + 1, &err) < 0 && strstr(err.text, "at most 32"));
    ENSURE(intake_begin(t, "folder/", 1, &err) < 0);
    ENSURE_OK(intake_begin(t, "../../etc/half.csv", 100, &err));
    ENSURE(intake_begin(t, "other.csv", 1, &err) < 0 && strstr(err.text, "half.csv is still"));
    ENSURE(!intake_add(t, EVIL, 101));
    intake_drop(t);
    ENSURE(!intake_add(t, EVIL, 1));
    ENSURE_OK(intake_begin(t, "x.csv", 1, &err));
    ENSURE(intake_add(t, "x", 1)); /* and nobody takes it */
    intake_free(t);
}

static void test_catalog(void)
{
    static const char *const FILES[] = {"motions/wave.safetensors"};
    hrc_error err;
    catalog c;
    course both[2];
    ENSURE_OK(catalog_open(&c, NULL, FILES, 1, NULL, &err));
    const catalog_entry *first = &c.entries[0];
    for (int i = 0, at; i <= CATALOG_ADDED; i++) {
        clip wave;
        ENSURE_OK(clip_load(&wave, FILES[0], NULL, NULL, &err));
        hrc_status status = catalog_add(&c, &wave, &at, &err);
        ENSURE(!wave.qpos && (status < 0) == (i == CATALOG_ADDED) && (status < 0 || at == i + 1));
    }
    ENSURE(strstr(err.text, "no room for more") && first == &c.entries[0] && c.n == CATALOG_ADDED + 1);
    ENSURE(!strcmp(c.entries[1].name, "wave (2)") && catalog_find(&c, "wave (33)") == CATALOG_ADDED);
    for (int i = 0; i < 2; i++) ENSURE_OK(catalog_course(&c, i, &both[i], &err));
    ENSURE(
        both[0].motion.n == both[1].motion.n &&
        !memcmp(both[0].motion.qpos, both[1].motion.qpos, (size_t)both[0].motion.n * HRC_NQ * sizeof(float)));
    for (int i = 0; i < 2; i++) course_free(&both[i]);
    catalog_close(&c);
}

TEST_TABLE({"intake.formats", test_formats}, {"intake.bvh", test_bvh}, {"intake.refused", test_refused},
           {"intake.catalog", test_catalog})
