#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "motion/import/formats.h"
#include "synthetic.h"
#include "test.h"

static char *csv_text(const clip *c, bool xyzw)
{
    char *text = malloc((size_t)c->n * HRC_NQ * 20), *at = text;
    ENSURE(text);
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < HRC_NQ; k++) {
            int from = xyzw && k >= 3 && k < 7 ? 3 + (k - 3 + 1) % 4 : k;
            at += sprintf(at, "%.9g%s", (double)clip_frame(c, i)[from], k < HRC_NQ - 1 ? "," : "\n");
        }
    return text;
}

static hrc_status parse(clip *c, const char *text, const char *quat, clip_decisions *why, hrc_error *err)
{
    clip_options options = {.quat = quat};
    return clip_parse(c, "folder/turn.csv", (file_view){text, strlen(text)}, &options, why, err);
}

static void test_both_orders(void)
{
    for (int xyzw = 0; xyzw < 2; xyzw++) {
        hrc_error err;
        clip c, back;
        clip_decisions why;
        synthetic_turn(&c, 60, 30);
        char *text = csv_text(&c, xyzw);
        ENSURE_OK(parse(&back, text, NULL, &why, &err));
        ENSURE(strstr(why.quat, xyzw ? "x,y,z,w: read so" : "w,x,y,z: read so"));
        ENSURE(back.n == 60 && back.fps == 30 && !strcmp(back.name, "turn"));
        ENSURE(memcmp(back.qpos, c.qpos, 60 * HRC_NQ * sizeof(float)) == 0);
        clip_free(&back);
        ENSURE_OK(parse(&back, text, xyzw ? "xyzw" : "wxyz", &why, &err));
        ENSURE(strstr(why.quat, "as asked for") && clip_distance(&back, &c) == 0);
        clip_free(&back);
        ENSURE_OK(parse(&back, text, xyzw ? "wxyz" : "xyzw", &why, &err)); /* forced means forced */
        ENSURE(clip_distance(&back, &c) > 0.5);
        clip_free(&back);
        ENSURE(parse(&back, text, "wzyx", &why, &err) == HRC_EINVAL && strstr(err.text, "wzyx"));
        free(text);
        clip_free(&c);
    }
}

/* A robot that stands still facing x, or hovers: no evidence, so no answer. */
static void test_ambiguous(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    ENSURE_OK(clip_create(&c, 30, 30, "still", &err));
    for (int i = 0; i < c.n; i++) {
        double qpos[HRC_NQ];
        g1_default_qpos(qpos);
        for (int k = 0; k < HRC_NQ; k++) clip_frame(&c, i)[k] = (float)qpos[k];
    }
    char *text = csv_text(&c, true);
    ENSURE(parse(&back, text, NULL, &why, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "cannot tell") && strstr(err.text, "--quat") && back.qpos == NULL);
    ENSURE_OK(parse(&back, text, "xyzw", &why, &err));
    ENSURE(clip_distance(&back, &c) == 0);
    clip_free(&back);
    free(text);
    clip_free(&c);

    synthetic_turn(&c, 60, 30);
    for (int i = 0; i < c.n; i++) clip_frame(&c, i)[2] += 5;
    text = csv_text(&c, true);
    ENSURE(parse(&back, text, NULL, &why, &err) == HRC_EFORMAT && strstr(err.text, "--quat"));
    free(text);
    clip_free(&c);
}

static void test_fps(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    synthetic_turn(&c, 60, 30);
    char *text = csv_text(&c, true);
    file_view bytes = {text, strlen(text)};
    ENSURE_OK(clip_parse(&back, "x.csv", bytes, NULL, &why, &err));
    ENSURE(back.fps == 30 && strstr(why.fps, "assumed"));
    clip_free(&back);
    ENSURE_OK(clip_parse(&back, "x.csv", bytes, &(clip_options){.fps = 120}, &why, &err));
    ENSURE(back.fps == 120 && strstr(why.fps, "asked"));
    clip_free(&back);
    ENSURE(clip_parse(&back, "x.csv", bytes, &(clip_options){.fps = -1}, &why, &err) == HRC_EINVAL);
    free(text);
    clip_free(&c);
}

/* Files as other programs write them: byte order mark, CR LF, blanks after commas, no newline or several at
 * the end. */
static void test_dialects(void)
{
    hrc_error err;
    clip c, back;
    synthetic_turn(&c, 60, 30);
    char *text = csv_text(&c, true), *other = malloc(3 * strlen(text)), *at = other;
    ENSURE(other);
    at = stpcpy(at, "\xef\xbb\xbf");
    for (const char *p = text; *p; p++) {
        if (*p == '\n') *at++ = '\r';
        *at++ = *p;
        if (*p == ',') *at++ = ' ';
    }
    strcpy(at, "\r\n\n");
    ENSURE_OK(parse(&back, other, NULL, NULL, &err));
    ENSURE(clip_distance(&back, &c) == 0);
    clip_free(&back);
    text[strlen(text) - 1] = 0;
    ENSURE_OK(parse(&back, text, NULL, NULL, &err));
    ENSURE(clip_distance(&back, &c) == 0);
    clip_free(&back);
    free(other);
    free(text);
    clip_free(&c);
}

/* Sixty lines, the third replaced. */
static void test_bad_lines(void)
{
    static const struct {
        const char *line, *sentence;
        hrc_status status;
    } CASES[] = {
        {"0,0,0.7,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "line 3: 35 columns",
         HRC_EFORMAT},
        {"0,0,0.7,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "line 3: 37 columns",
         HRC_EFORMAT},
        {"0,0,0.7,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,nan,0",
         "line 3, column 35: \"nan\"", HRC_ENONFINITE},
        {"0,0,inf,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
         "line 3, column 3: \"inf\"", HRC_ENONFINITE},
        {"0,1e99,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
         "line 3, column 2: \"1e99\"", HRC_ENONFINITE},
        {"0,0,0.7,0,0,0,0.5,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
         "quaternion of length 0.5", HRC_EFORMAT},
        {"0,0,0.7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
         "quaternion of length 0", HRC_EFORMAT},
        {"0,0,x7,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
         "line 3, column 3: \"x7\"", HRC_EFORMAT},
        {"0,0,,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "line 3, column 3: \"\"",
         HRC_EFORMAT},
        {"0,0,0.7 1,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "line 3, column 3",
         HRC_EFORMAT},
        {"", "line 3: 1 columns", HRC_EFORMAT},
    };
    clip good;
    synthetic_turn(&good, 60, 30);
    char *text = csv_text(&good, true), *bad = malloc(2 * strlen(text));
    ENSURE(bad);
    const char *third = strchr(strchr(text, '\n') + 1, '\n') + 1, *fourth = strchr(third, '\n');
    for (int i = 0; i < COUNT(CASES); i++) {
        hrc_error err = {0};
        clip c;
        sprintf(bad, "%.*s%s%s", (int)(third - text), text, CASES[i].line, fourth);
        hrc_status status = parse(&c, bad, NULL, NULL, &err);
        if (status != CASES[i].status || !strstr(err.text, CASES[i].sentence) || c.qpos)
            test_fail(__FILE__, __LINE__, "case %d: %d \"%s\"", i, status, err.text);
    }
    free(bad);
    free(text);
    clip_free(&good);
}

static void test_bad_files(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *sentence;
    } CASES[] = {
#define BYTES(text) text, sizeof(text) - 1
        {BYTES(""), "is empty"},
        {BYTES("\n\n \n"), "is empty"},
        {BYTES("Frame,root_translateX,root_translateY\n0,1,2\n"), "line 1: \"Frame\" begins 3 columns"},
        {BYTES("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,a,b,c,d,e,f,g,h,i,j\n"), "no header"},
        {BYTES("HIERARCHY\nROOT Hips\n"), "retargeted"},
        {BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "LFS"},
        {BYTES("\x80\x04\x95\x00\x00"), "8 bytes wanted, but 2 are left"},
        {BYTES("\x93NUMPY\x01\x00"), "by its first bytes"},
#undef BYTES
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        hrc_error err = {0};
        clip c;
        hrc_status status =
            clip_parse(&c, "x.csv", (file_view){CASES[i].bytes, CASES[i].size}, NULL, NULL, &err);
        if (status >= 0 || !strstr(err.text, CASES[i].sentence))
            test_fail(__FILE__, __LINE__, "case %d: %d \"%s\"", i, status, err.text);
    }
    hrc_error err;
    clip c;
    ENSURE(clip_load(&c, test_path("none.csv"), NULL, NULL, &err) == HRC_EFILE && c.qpos == NULL);
}

/* Every prefix of a file is either a shorter clip (cut between lines) or an error, never a crash. */
static void test_truncated(void)
{
    clip good;
    synthetic_turn(&good, 3, 2);
    char *text = csv_text(&good, true);
    for (size_t n = 0; n < strlen(text); n++) {
        hrc_error err;
        clip c;
        char *copy = malloc(n + 1); /* exact size, so that a sanitizer sees a read beyond it */
        ENSURE(copy);
        memcpy(copy, text, n);
        clip_options options = {.quat = "xyzw"};
        if (clip_parse(&c, "x.csv", (file_view){copy, n}, &options, NULL, &err) >= 0) {
            ENSURE(c.n < 3 || n + 16 > strlen(text)); /* the last number may lose digits unnoticed */
            clip_free(&c);
        }
        free(copy);
    }
    free(text);
    clip_free(&good);
}

static void test_save(void)
{
    hrc_error err;
    clip c, back;
    synthetic_turn(&c, 60, 30);
    ENSURE_OK(clip_save(&c, test_path("turn.csv"), &err));
    ENSURE_OK(clip_load(&back, test_path("turn.csv"), NULL, NULL, &err));
    ENSURE(memcmp(back.qpos, c.qpos, 60 * HRC_NQ * sizeof(float)) == 0);
    clip_free(&back);
    ENSURE(clip_save(&c, test_path("turn.xls"), &err) == HRC_EINVAL);
    ENSURE(clip_save(&c, test_path("no/such/folder.csv"), &err) == HRC_EFILE);
    clip_free(&c);
}

/* Made by NumPy (test/data/make_fixtures.py). */
static void test_numpy(void)
{
    hrc_error err;
    clip c, wanted;
    clip_options options = {.fps = 50, .quat = "xyzw"};
    synthetic_turn(&wanted, 3, 50);
    ENSURE_OK(clip_load(&c, "test/data/turn.csv", &options, NULL, &err));
    ENSURE_NEAR(clip_distance(&c, &wanted), 0, 1e-6);
    clip_free(&c);
    clip_free(&wanted);
}

/* Public sets, all x,y,z,w: the evidence must decide every one, also when it is stored w first. */
static void test_public_sets(void)
{
    glob_t files;
    if (glob("../shared/data/lafan1-g1/*.csv", 0, NULL, &files) != 0) SKIP("../shared/data is not there");
    ENSURE(glob("../shared/data/g1-moves/*.csv", GLOB_APPEND, NULL, &files) == 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        hrc_error err;
        clip c, turned;
        clip_decisions why = {0};
        ENSURE_OK(clip_load(&c, files.gl_pathv[i], NULL, &why, &err));
        ENSURE(strstr(why.quat, "x,y,z,w: read so"));
        ENSURE_OK(clip_cut(&turned, &c, 0, c.n - 1, &err)); /* as if read from a file with w first */
        ENSURE_OK(quat_order_settle(&turned, "w first", NULL, &why, &err));
        ENSURE(strstr(why.quat, "w,x,y,z: read so"));
        clip_free(&turned);
        clip_free(&c);
    }
    globfree(&files);
}

TEST_TABLE({"csv.both_orders", test_both_orders}, {"csv.ambiguous", test_ambiguous}, {"csv.fps", test_fps},
           {"csv.dialects", test_dialects}, {"csv.bad_lines", test_bad_lines},
           {"csv.bad_files", test_bad_files}, {"csv.truncated", test_truncated}, {"csv.save", test_save},
           {"csv.numpy", test_numpy}, {"csv.public_sets", test_public_sets})
