#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "motion/import/formats.h"
#include "motion/import/pickle.h"
#include "synthetic.h"
#include "test.h"

#define FIXTURE_FRAMES 12

static hrc_status parse(clip *c, const void *bytes, size_t size, clip_decisions *why, hrc_error *err)
{
    return clip_parse(c, "folder/input.pkl", (file_view){bytes, size}, NULL, why, err);
}

/* What the fixtures hold; `joints` below 29: without wrists. */
static clip wanted(int joints)
{
    clip c;
    synthetic_turn(&c, FIXTURE_FRAMES, 50);
    for (int i = 0; i < c.n && joints < HRC_JOINTS; i++)
        for (int arm = 0; arm < 2; arm++)
            for (int k = 19; k < 22; k++) clip_frame(&c, i)[7 + k + 7 * arm] = 0;
    return c;
}

static void expect(const char *path, int joints, const char *name, const char *sentence)
{
    hrc_error err;
    clip_decisions why;
    clip c, good = wanted(joints);
    ENSURE_OK(clip_load(&c, path, NULL, &why, &err));
    ENSURE(c.fps == 50 && clip_distance(&c, &good) < 1e-6 && !strcmp(c.name, name));
    ENSURE(strstr(why.joints, sentence) && strstr(why.quat, "x,y,z,w") &&
           strstr(why.fps, "50, from the file"));
    clip_free(&c);
    clip_free(&good);
}

/* Written by NumPy and joblib themselves (test/data/make_fixtures.py). */
static void test_fixtures(void)
{
    expect("test/data/gmr.pkl", 29, "gmr",
           "MuJoCo's depth-first order: forward kinematics is off the file's bodies by 0.0 mm");
    expect("test/data/gmr23.pkl", 23, "gmr23",
           "as this format has it; nothing in the file can confirm it; the 6 joints it lacks stay at 0");
    expect(
        "test/data/asap.pkl", 23, "turn",
        "23 joints (waist of 3, arms of 4): angles are off pose_aa by 0.0 mrad; in 23 joints (waist of 1, arms of 5)");
    expect("test/data/asap_set.pkl#second", 29, "second",
           "MuJoCo's depth-first order: angles are off pose_aa");
    hrc_error err;
    clip c;
    ENSURE(clip_load(&c, "test/data/asap_set.pkl", NULL, NULL, &err) == HRC_EINVAL);
    ENSURE(strstr(err.text, "holds 2 motions; name one of them as FILE#NAME: first, second"));
    ENSURE(clip_load(&c, "test/data/asap_set.pkl#third", NULL, NULL, &err) == HRC_EINVAL);
    ENSURE(strstr(err.text, "has no motion \"third\" among its 2: first, second"));
}

/* ---- Files of other projects ---- */

static void foreign(const char *file, int n, double fps, const char *joints)
{
    char path[200];
    hrc_error err;
    clip_decisions why;
    clip c;
    snprintf(path, sizeof path, "../shared/data/formats/%s", file);
    if (access(path, R_OK) != 0) SKIP("no ../shared/data/formats");
    ENSURE_OK(clip_load(&c, path, NULL, &why, &err));
    ENSURE(c.n == n && fabs(c.fps - fps) < 1e-3);
    ENSURE(strstr(why.joints, joints) && strstr(why.quat, "x,y,z,w"));
    for (int i = 0; i < n; i++) ENSURE(clip_frame(&c, i)[2] > 0.5F && clip_frame(&c, i)[2] < 1.4F);
    clip_free(&c);
}

static void test_gmt(void)
{
    foreign("gmt_airkick.pkl", 200, 29.8874, "23 joints (waist of 3, arms of 4): forward kinematics");
}

static void test_twist2(void)
{
    foreign("twist2_walk.pkl", 399, 29.8731, "MuJoCo's depth-first order: forward kinematics");
}

static void test_asap(void)
{
    foreign("asap_cr7_joblib.pkl", 119, 30, "23 joints (waist of 3, arms of 4): angles");
}

/* ---- Refusals, each a pickle by hand ---- */

typedef struct {
    const char *bytes;
    size_t size;
    const char *sentence;
} refusal;

#define REFUSAL(bytes, sentence)                                                                             \
    {                                                                                                        \
        bytes, sizeof(bytes) - 1, sentence                                                                   \
    }

static void test_refusals(void)
{
    static const refusal ALL[] = {
        REFUSAL(
            "\x80\x02"
            "cposix\nsystem\n(X\x02\x00\x00\x00ls\x85R.",
            "byte 2: asks for posix.system; only NumPy's arrays are read from a pickle, nothing is executed"),
        REFUSAL("\x80\x04\x8c\x08"
                "builtins\x8c\x04"
                "eval\x93.",
                "byte 18: asks for builtins.eval"),
        REFUSAL("\x80\x04"
                "P1\n.",
                "byte 2: the opcode 0x50 (PERSID)"),
        REFUSAL("\x80\x04\x82\x01.", "byte 2: the opcode 0x82 (EXT1)"),
        REFUSAL("\x80\x04\xff.", "byte 2: the opcode 0xff (unknown)"),
        REFUSAL("\x80\x04}", "byte 3: the pickle ends without STOP"),
        REFUSAL("\x80\x04X\xff\xff\xff\xff"
                "abc",
                "byte 2: 4294967295 bytes wanted, but 3 are left"),
        REFUSAL("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
                "abc",
                "are left"),
        REFUSAL("\x80\x04h\x07.", "byte 2: takes up a value that was never kept"),
        REFUSAL("\x80\x04Nr\xff\xff\xff\x7f.", "byte 3: keeps a value in a place beyond"),
        REFUSAL("\x80\x04t.", "byte 2: ends a group that was never begun"),
        REFUSAL("\x80\x04(N\x86.", "byte 4: takes more values than are there"),
        REFUSAL("\x80\x04NNa.", "byte 4: adds to what is no list"),
        REFUSAL("\x80\x04}(Nu.", "byte 5: a key without its value"),
        REFUSAL("\x80\x04NNb.", "byte 4: fills an object other than an array"),
        REFUSAL("\x80\x04NNR.", "byte 4: calls what is no function"),
        REFUSAL("\x80\x04"
                "cnumpy\ndtype\nX\x02\x00\x00\x00O8\x85R.",
                "a dtype other than plain numbers"),
        REFUSAL("\x80\x04"
                "cnumpy\nndarray\n)R.",
                "calls numpy.ndarray itself"),
        REFUSAL("\x80\x04}.", "is a pickle without a motion"),
        REFUSAL("\x80\x04K\x01.", "is a pickle without a motion"),
        REFUSAL("\x80\x04}\x8c\x07"
                "dof_posNs.",
                "array \"dof_pos\" is no array of NumPy"),
        REFUSAL("\x80\x04.", "byte 2: takes more values than are there"),
    };
    for (int i = 0; i < COUNT(ALL); i++) {
        hrc_error err = {{0}};
        clip c;
        ENSURE(parse(&c, ALL[i].bytes, ALL[i].size, NULL, &err) == HRC_EFORMAT);
        if (!strstr(err.text, ALL[i].sentence))
            test_fail(__FILE__, __LINE__, "refusal %d says \"%s\", expected \"%s\"", i, err.text,
                      ALL[i].sentence);
        ENSURE(!c.qpos && !c.memory.head);
    }
}

/* A file that is cut anywhere, or has any byte changed to another, is refused or read; never more. */
static void test_damage(void)
{
    hrc_error err;
    for (int f = 0; f < 2; f++) {
        file_view good;
        ENSURE_OK(file_map(f ? "test/data/asap_set.pkl" : "test/data/asap.pkl", &good, &err));
        char *bytes = malloc(good.size);
        ENSURE(bytes);
        for (size_t at = 0; at < good.size; at += 1 + good.size / 400) {
            clip c;
            ENSURE(parse(&c, good.data, at, NULL, &err) < 0 && !c.qpos);
            memcpy(bytes, good.data, good.size);
            bytes[at] = (char)(bytes[at] ^ 0x55);
            if (parse(&c, bytes, good.size, NULL, &err) >= 0) clip_free(&c);
        }
        free(bytes);
        file_unmap(&good);
    }
}

TEST_TABLE({"pickle.fixtures", test_fixtures}, {"pickle.gmt", test_gmt}, {"pickle.twist2", test_twist2},
           {"pickle.asap", test_asap}, {"pickle.refusals", test_refusals}, {"pickle.damage", test_damage})
