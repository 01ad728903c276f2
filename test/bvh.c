#include "motion/import/bvh.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "test.h"

#define ARM "test/data/arm.bvh"

static void near3(const double *found, double x, double y, double z)
{
    ENSURE_NEAR(found[0], x, 1e-6);
    ENSURE_NEAR(found[1], y, 1e-6);
    ENSURE_NEAR(found[2], z, 1e-6);
}

static void test_hierarchy(void)
{
    hrc_error err;
    bvh b;
    ENSURE_OK(bvh_load(&b, ARM, NULL, &err));
    ENSURE(b.njoints == 4 && b.nchannels == 13 && b.n == 3 && b.fps == 120 && !strcmp(b.name, "arm"));
    int upper = bvh_find(&b, "Upper Arm"), fore = bvh_find(&b, "Fore"), still = bvh_find(&b, "Still");
    ENSURE(upper == 1 && fore == 2 && still == 3 && bvh_find(&b, "Tail") == -1);
    ENSURE(b.joints[0].parent == -1 && b.joints[upper].parent == 0 && b.joints[fore].parent == upper);
    ENSURE(b.joints[still].parent == 0 && b.joints[still].nchannels == 0);
    ENSURE(b.joints[fore].first == 9 && b.joints[fore].channel[0] == BVH_Y_POS);
    ENSURE(b.joints[fore].has_end && !b.joints[upper].has_end);
    near3(b.joints[fore].end, 0, 0.02, 0);
    ENSURE(b.values[b.nchannels] == 100);
    bvh_free(&b);
    ENSURE(b.joints == NULL);
}

/* By hand: frame 0 is straight, frame 1 moves the root and turns it by 90 degrees about z. */
static void test_poses(void)
{
    hrc_error err;
    bvh b;
    double pos[4][3], quat[4][4];
    ENSURE_OK(bvh_load(&b, ARM, NULL, &err));
    bvh_pose(&b, BVH_REST, pos, quat); /* y up: (x,y,z) -> (x,-z,y), centimetres */
    near3(pos[0], 0.01, -0.03, 0.02);
    near3(pos[2], 0.11, -0.03, 0.07);
    near3(pos[3], 0.01, 0.01, 0.02);
    bvh_pose(&b, 0, pos, quat);
    near3(pos[0], 0, 0, 0);
    near3(pos[1], 0.1, 0, 0);
    near3(pos[2], 0.1, 0, 0.05);
    for (int i = 0; i < 4; i++) ENSURE_NEAR(quat[i][0] * quat[i][1], 0.5, 1e-9);
    bvh_pose(&b, 1, pos, quat); /* in the file: upper arm (0,10,0), fore (-5,10,0) from the root */
    near3(pos[0], 1, -3, 2);
    near3(pos[1], 1, -3, 2.1);
    near3(pos[2], 0.95, -3, 2.1);
    near3(pos[3], 1, -2.96, 2);
    bvh_free(&b);

    ENSURE_OK(bvh_load(&b, ARM, &(bvh_options){.unit = 1, .up = BVH_Z_UP}, &err));
    bvh_pose(&b, 1, pos, quat);
    near3(pos[0], 100, 200, 300);
    near3(pos[2], 95, 210, 300);
    near3(quat[2] + 1, 0, 0, M_SQRT1_2);
    bvh_free(&b);
}

/* Frame 2 against products of matrices in the order of the channels. */
static void test_channel_order(void)
{
    static const double ANGLE[3][3] = {{30, 40, 50}, {-20, 70, 10}, {15, -25, 35}};
    static const int AXIS[3][3] = {{2, 1, 0}, {0, 1, 2}, {2, 0, 1}};
    static const double OFFSET[3][3] = {{0, 0, 0}, {10, 0, 0}, {0, 7, 0}};
    hrc_error err;
    bvh b;
    double pos[4][3], quat[4][4], m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, at[3] = {0};
    ENSURE_OK(bvh_load(&b, ARM, &(bvh_options){.unit = 1, .up = BVH_Z_UP}, &err));
    bvh_pose(&b, 2, pos, quat);
    for (int joint = 0; joint < 3; joint++) {
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++) at[r] += m[3 * r + k] * OFFSET[joint][k];
        near3(pos[joint], at[0], at[1], at[2]);
        for (int c = 0; c < 3; c++) {
            double a = ANGLE[joint][c] * M_PI / 180, old[9];
            int u = (AXIS[joint][c] + 1) % 3, v = (AXIS[joint][c] + 2) % 3;
            memcpy(old, m, sizeof m);
            for (int r = 0; r < 3; r++) {
                m[3 * r + u] = cos(a) * old[3 * r + u] + sin(a) * old[3 * r + v];
                m[3 * r + v] = -sin(a) * old[3 * r + u] + cos(a) * old[3 * r + v];
            }
        }
        double found[9];
        quat_to_mat(found, quat[joint]);
        for (int k = 0; k < 9; k++) ENSURE_NEAR(found[k], m[k], 1e-6);
    }
    bvh_free(&b);
}

#define HEAD "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xposition\n}\n"

static void test_dialects(void)
{
    static const char *const GOOD[] = {
        HEAD "MOTION\nFrames: 2\nFrame Time: 0.1\n1\n2\n",
        HEAD "MOTION\r\nFrames:2\r\nFrame Time:0.1\r\n1\r\n2",
        HEAD "motion\nFrames: 2\nFrame Time: 0.1\n1 2\n\n\n",
        "hierarchy root a { offset 0 0 0 channels 1 xposition } motion frames: 2 frame time: 0.1 1 2",
    };
    for (int i = 0; i < COUNT(GOOD); i++) {
        hrc_error err;
        bvh b;
        ENSURE_OK(bvh_parse(&b, "x.bvh", (file_view){GOOD[i], strlen(GOOD[i])}, NULL, &err));
        ENSURE(b.n == 2 && b.values[1] == 2 && b.fps == 10 && !strcmp(b.joints[0].name, "a"));
        bvh_free(&b);
    }
}

static void test_broken(void)
{
    static const struct {
        const char *text, *sentence;
    } CASES[] = {
        {"", "line 1: the file ends, expected HIERARCHY"},
        {"1,2,3", "line 1: \"1,2,3\", expected HIERARCHY"},
        {"HIERARCHY\nJOINT a\n", "line 2: \"JOINT\", expected ROOT"},
        {"HIERARCHY\nROOT\n{", "line 2: joint without a name"},
        {"HIERARCHY\nROOT a\nOFFSET", "line 3: \"OFFSET\", expected {"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 x 0", "line 4: \"x\", expected an offset"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 nan 0", "line 4: \"nan\", expected a finite"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 7", "line 5: \"7\", expected the number of channels"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS -1", "line 5: \"-1\""},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Wrotation",
         "line 5: \"Wrotation\", expected a channel"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION\n", "no joint has a channel"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xposition\nMOTION\n",
         "expected JOINT, End Site or }"},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xposition\nEnd Joint", "\"Joint\", expected Site"},
        {HEAD "}", "line 7: \"}\", expected ROOT or MOTION"},
        {HEAD "MOTION\nFrame", "line 8: \"Frame\", expected Frames:"},
        {HEAD "MOTION\nFrames: 0\n", "line 8: 0 frames"},
        {HEAD "MOTION\nFrames: 1.5\n", "line 8: \"1.5\""},
        {HEAD "MOTION\nFrames: 2000000000\n", "a whole number from 0 to 1000000"},
        {HEAD "MOTION\nFrames: 900000\nFrame Time: 0.1\n1\n2\n", "900000 frames of 1 channels declared"},
        {HEAD "MOTION\nFrames: 2\nFrame Time: 0\n1\n2\n", "line 9: frame time of 0 s"},
        {HEAD "MOTION\nFrames: 2\nFrame Time: 0.1\n1     \n", "the file ends after 0 values of frame 1"},
        {HEAD "MOTION\nFrames: 2\nFrame Time: 0.1\n1\n2\n3\n", "line 12: \"3\", expected nothing after"},
        {HEAD "MOTION\nFrames: 2\nFrame Time: 0.1\n1\nx\n", "line 11: \"x\", expected a number"},
        {HEAD "MOTION\nFrames: 2\nFrame Time: 0.1\n1\ninf\n", "line 11: \"inf\", expected a finite"},
        {HEAD "MOTION\nFrames: 2\nFrame Time: 0.1\n1\n1e99\n", "line 11: \"1e99\""},
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        hrc_error err = {0};
        bvh b;
        hrc_status status =
            bvh_parse(&b, "x.bvh", (file_view){CASES[i].text, strlen(CASES[i].text)}, NULL, &err);
        if (status >= 0 || !strstr(err.text, CASES[i].sentence) || b.joints)
            test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", CASES[i].sentence, status,
                      err.text);
    }
    hrc_error err;
    bvh b;
    ENSURE(bvh_load(&b, ARM, &(bvh_options){.unit = -1}, &err) == HRC_EINVAL);
    ENSURE(bvh_load(&b, test_path("none.bvh"), NULL, &err) == HRC_EFILE);
}

static void test_truncated(void)
{
    hrc_error err;
    file_view whole;
    ENSURE_OK(file_map(ARM, &whole, &err));
    for (size_t n = 0; n + 3 < whole.size; n++) { /* the last number may lose a digit unnoticed */
        bvh b;
        char *copy = malloc(n + 1);
        ENSURE(copy);
        memcpy(copy, whole.data, n);
        ENSURE(bvh_parse(&b, "x", (file_view){copy, n}, NULL, &err) < 0 && b.joints == NULL);
        free(copy);
    }
    file_unmap(&whole);
}

/* A thousand joints, one in the other: no recursion, and one more is refused. */
static void test_deep(void)
{
    for (int extra = 0; extra < 2; extra++) {
        hrc_error err;
        int depth = 1024 + extra;
        char *text = malloc((size_t)depth * 80 + 200), *at = text;
        ENSURE(text);
        at += sprintf(at, "HIERARCHY\n");
        for (int i = 0; i < depth; i++)
            at += sprintf(at, "%s j%d { OFFSET 1 0 0 CHANNELS 1 Zrotation\n", i ? "JOINT" : "ROOT", i);
        for (int i = 0; i < depth; i++) *at++ = '}', *at++ = '\n';
        at += sprintf(at, "MOTION Frames: 1 Frame Time: 0.1\n");
        for (int i = 0; i < depth; i++) at += sprintf(at, "0 ");
        bvh b;
        hrc_status status =
            bvh_parse(&b, "deep", (file_view){text, (size_t)(at - text)}, &(bvh_options){.unit = 1}, &err);
        if (extra) {
            ENSURE(status == HRC_EFORMAT && strstr(err.text, "more than 1024 joints"));
        } else {
            double(*pos)[3] = calloc(1024, sizeof *pos), (*quat)[4] = calloc(1024, sizeof *quat);
            ENSURE(status == HRC_OK && pos && quat);
            bvh_pose(&b, 0, pos, quat);
            ENSURE_NEAR(pos[1023][0], 1024, 1e-9);
            free(pos);
            free(quat);
            bvh_free(&b);
        }
        free(text);
    }
}

/* The real thing: every file loads, hips are as high as people's (two lie all the time), bones keep
 * their lengths. */
static void test_cmu(void)
{
    glob_t files;
    if (glob("../shared/data/cmu-bvh/*.bvh", 0, NULL, &files) != 0) SKIP("../shared/data is not there");
    for (size_t f = 0; f < files.gl_pathc; f++) {
        hrc_error err;
        bvh b;
        double pos[64][3], quat[64][4], highest = 0;
        ENSURE_OK(bvh_load(&b, files.gl_pathv[f], &(bvh_options){.unit = BVH_CMU}, &err));
        ENSURE(b.njoints == 31 && b.nchannels == 96 && b.fps == 60);
        int hips = bvh_find(&b, "Hips"), knee = bvh_find(&b, "LeftLeg"), foot = bvh_find(&b, "LeftFoot");
        ENSURE(hips == 0 && knee > 0 && foot > 0);
        double shin = vec_norm(b.joints[foot].offset);
        ENSURE(shin > 0.3 && shin < 0.5);
        for (int i = 0; i < b.n; i += 30) {
            double bone[3];
            bvh_pose(&b, i, pos, quat);
            highest = fmax(highest, pos[hips][2]);
            for (int k = 0; k < 3; k++) bone[k] = pos[foot][k] - pos[knee][k];
            ENSURE_NEAR(vec_norm(bone), shin, 1e-9);
        }
        ENSURE(highest > 0.15 && highest < 2);
        bvh_free(&b);
    }
    globfree(&files);
}

TEST_TABLE({"bvh.hierarchy", test_hierarchy}, {"bvh.poses", test_poses},
           {"bvh.channel_order", test_channel_order}, {"bvh.dialects", test_dialects},
           {"bvh.broken", test_broken}, {"bvh.truncated", test_truncated}, {"bvh.deep", test_deep},
           {"bvh.cmu", test_cmu})
