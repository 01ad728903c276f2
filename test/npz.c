#include <stdlib.h>
#include <string.h>

#include "motion/import/archive.h"
#include "motion/import/formats.h"
#include "motion/import/npy.h"
#include "robot/fk.h"
#include "synthetic.h"
#include "test.h"

#define FRAMES 12 /* of the fixtures */

static const char *const MEMBERS[] = {"fps.npy",           "joint_pos.npy",   "joint_vel.npy",
                                      "body_pos_w.npy",    "body_quat_w.npy", "body_lin_vel_w.npy",
                                      "body_ang_vel_w.npy"};
enum { FPS, JOINT_POS, JOINT_VEL, BODY_POS, BODY_QUAT };

/* An archive in memory, to be spoiled and written again. */
typedef struct {
    arena memory;
    archive_member member[16];
    int n;
} box;

static box open_box(const char *path)
{
    hrc_error err;
    box b = {.n = COUNT(MEMBERS)};
    file_view file;
    archive *zip;
    ENSURE_OK(file_map(path, &file, &err));
    ENSURE_OK(archive_open(&zip, path, file, &err));
    for (int i = 0; i < b.n; i++) {
        file_view bytes;
        ENSURE_OK(archive_read(zip, &b.memory, MEMBERS[i], 1 << 20, &bytes, &err));
        b.member[i] = (archive_member){MEMBERS[i], bytes.data, bytes.size};
    }
    archive_close(zip);
    file_unmap(&file);
    return b;
}

static box good_box(void)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, FRAMES, 50);
    ENSURE_OK(clip_save(&c, test_path("good.npz"), &err));
    clip_free(&c);
    return open_box(test_path("good.npz"));
}

static float *values(box *b, int member)
{
    return (float *)((char *)b->member[member].data + NPY_HEADER);
}

/* Another header for a member; its data stay, cut or padded to what the header says unless `keep`. */
static void reshape(box *b, int member, const char *descr, int ndim, const int64_t *shape, bool keep)
{
    size_t size = (size_t)(descr[2] - '0');
    for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
    if (keep) size = b->member[member].size - NPY_HEADER;
    size_t old = b->member[member].size - NPY_HEADER;
    char *data = arena_alloc(&b->memory, NPY_HEADER + size, 1);
    ENSURE(data);
    npy_header(data, descr, ndim, shape);
    memcpy(data + NPY_HEADER, values(b, member), old < size ? old : size);
    b->member[member].data = data;
    b->member[member].size = NPY_HEADER + size;
}

static hrc_status load_box(clip *c, box *b, bool deflate, clip_decisions *why, hrc_error *err)
{
    ENSURE(archive_write(test_path("box.npz"), b->member, b->n, deflate, err) == HRC_OK);
    return clip_load(c, test_path("box.npz"), NULL, why, err);
}

static void test_round_trip(void)
{
    hrc_error err;
    clip c, back;
    clip_decisions why;
    synthetic_turn(&c, 60, 50);
    ENSURE_OK(clip_save(&c, test_path("turn.npz"), &err));
    ENSURE_OK(clip_load(&back, test_path("turn.npz"), NULL, &why, &err));
    ENSURE(memcmp(back.qpos, c.qpos, 60 * HRC_NQ * sizeof(float)) == 0);
    ENSURE(back.fps == 50 && !strcmp(back.name, "turn"));
    ENSURE(strstr(why.joints, "MuJoCo's depth-first order: ") && strstr(why.joints, "within 0.0 mm"));
    ENSURE(strstr(why.quat, "w,x,y,z: read so"));
    clip_free(&back);
    ENSURE_OK(clip_load(&back, test_path("turn.npz"), &(clip_options){.fps = 25}, &why, &err));
    ENSURE(back.fps == 25);
    clip_free(&back);
    char first[4096], second[4096]; /* equal clips, equal bytes */
    ENSURE(test_shell(first, sizeof first, "md5sum < $T/turn.npz") == 0);
    ENSURE_OK(clip_save(&c, test_path("turn.npz"), &err));
    ENSURE(test_shell(second, sizeof second, "md5sum < $T/turn.npz") == 0 && !strcmp(first, second));
    c.fps = 29.97;
    ENSURE(clip_save(&c, test_path("odd.npz"), &err) == HRC_EINVAL && strstr(err.text, "29.97"));
    clip_free(&c);
}

/* What the archive holds beside the pose: velocities that fit the positions. */
static void test_velocities(void)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, 100, 100);
    ENSURE_OK(clip_save(&c, test_path("fast.npz"), &err));
    clip_free(&c);
    box b = open_box(test_path("fast.npz"));
    const float *pos = values(&b, BODY_POS), *lin = values(&b, 5), *q = values(&b, JOINT_POS);
    const float *rate = values(&b, JOINT_VEL), *ang = values(&b, 6);
    for (int i = 1; i < 99; i++) {
        for (int k = 0; k < 90; k++)
            ENSURE_NEAR(lin[i * 90 + k], (pos[(i + 1) * 90 + k] - pos[(i - 1) * 90 + k]) * 50, 2e-3);
        for (int k = 0; k < 29; k++)
            ENSURE_NEAR(rate[i * 29 + k], (q[(i + 1) * 29 + k] - q[(i - 1) * 29 + k]) * 50, 1e-4);
        ENSURE_NEAR(ang[i * 90 + 2], 1.5, 0.01); /* the pelvis turns about the vertical */
    }
    arena_free(&b.memory);
}

/* Joints and bodies moved to Isaac's order, each alone and both, stored and deflated. */
static void test_orders(void)
{
    clip wanted;
    synthetic_turn(&wanted, FRAMES, 50);
    for (int way = 0; way < 8; way++) {
        hrc_error err;
        clip_decisions why;
        clip c;
        box b = good_box();
        for (int i = 0; i < FRAMES; i++) {
            float old[G1_LINKS * 4];
            float *q = values(&b, JOINT_POS) + i * HRC_JOINTS;
            memcpy(old, q, HRC_JOINTS * sizeof *q);
            for (int k = 0; k < HRC_JOINTS && way & 1; k++) q[G1_ISAAC_TO_MUJOCO[k]] = old[k];
            for (int member = BODY_POS; member <= BODY_QUAT && way & 2; member++) {
                int width = member == BODY_POS ? 3 : 4;
                float *p = values(&b, member) + i * G1_LINKS * width;
                memcpy(old, p, (size_t)(G1_LINKS * width) * sizeof *p);
                for (int k = 0; k < HRC_JOINTS; k++)
                    memcpy(p + (1 + G1_ISAAC_TO_MUJOCO[k]) * width, old + (1 + k) * width,
                           (size_t)width * sizeof *p);
            }
        }
        ENSURE_OK(load_box(&c, &b, way & 4, &why, &err));
        ENSURE(
            strstr(why.joints, way & 1 ? "Isaac's breadth-first order: " : "MuJoCo's depth-first order: "));
        ENSURE(clip_distance(&c, &wanted) == 0);
        clip_free(&c);
        arena_free(&b.memory);
    }
    clip_free(&wanted);
}

static void test_quat_last(void)
{
    hrc_error err;
    clip_decisions why;
    clip c, wanted;
    synthetic_turn(&wanted, FRAMES, 50);
    box b = good_box();
    for (int i = 0; i < FRAMES * G1_LINKS; i++) {
        float *q = values(&b, BODY_QUAT) + 4 * i, w = q[0];
        memmove(q, q + 1, 3 * sizeof *q);
        q[3] = w;
    }
    ENSURE_OK(load_box(&c, &b, false, &why, &err));
    ENSURE(strstr(why.quat, "x,y,z,w: read so") && clip_distance(&c, &wanted) == 0);
    clip_free(&c);
    clip_options force = {.quat = "wxyz"};
    ENSURE(clip_load(&c, test_path("box.npz"), &force, NULL, &err) == HRC_EFORMAT);
    arena_free(&b.memory);
    clip_free(&wanted);
}

/* All joints at zero: no evidence for an order, and no need of one. */
static void test_zero_pose(void)
{
    hrc_error err;
    clip c, back;
    synthetic_turn(&c, FRAMES, 50);
    for (int i = 0; i < FRAMES; i++)
        for (int k = 7; k < HRC_NQ; k++) clip_frame(&c, i)[k] = 0;
    ENSURE_OK(clip_save(&c, test_path("zero.npz"), &err));
    ENSURE_OK(clip_load(&back, test_path("zero.npz"), NULL, NULL, &err));
    ENSURE(clip_distance(&c, &back) == 0);
    clip_free(&back);
    clip_free(&c);
}

/* Made by NumPy itself (test/data/make_fixtures.py). */
static void test_numpy(void)
{
    static const struct {
        const char *path, *joints, *format;
    } CASES[] = {
        {"test/data/beyondmimic_isaac.npz", "Isaac's breadth-first order: ", "BeyondMimic"},
        {"test/data/beyondmimic_mujoco.npz", "MuJoCo's depth-first order: ", "BeyondMimic"},
        {"test/data/holosoma.npz", "by the names", "root pose in joint_pos"},
    };
    clip wanted;
    synthetic_turn(&wanted, FRAMES, 50);
    for (int i = 0; i < COUNT(CASES); i++) {
        hrc_error err;
        clip_decisions why;
        clip c;
        ENSURE_OK(clip_load(&c, CASES[i].path, NULL, &why, &err));
        ENSURE_NEAR(clip_distance(&c, &wanted), 0, 1e-6);
        ENSURE(c.fps == 50 && strstr(why.joints, CASES[i].joints) && strstr(why.format, CASES[i].format));
        ENSURE(strstr(why.joints, "within 0.0 mm"));
        clip_free(&c);
    }
    clip_free(&wanted);
}

/* And what NumPy reads back from us, where it is installed. */
static void test_read_by_numpy(void)
{
    char out[512];
    if (test_shell(NULL, 0, "/usr/bin/python3 -c 'import numpy'") != 0)
        SKIP("python3-numpy is not installed");
    box b = good_box();
    arena_free(&b.memory);
    ENSURE(test_shell(out, sizeof out,
                      "/usr/bin/python3 -c \"import numpy,os; f=numpy.load(os.environ['T']+'/good.npz');"
                      "print(sorted((k,str(f[k].dtype),f[k].shape) for k in f.files)[3:])\"") == 0);
    ENSURE(strstr(out, "('body_quat_w', 'float32', (12, 30, 4)), ('fps', 'int64', (1,)), "
                       "('joint_pos', 'float32', (12, 29)), ('joint_vel', 'float32', (12, 29))"));
}

static void set_nan(box *b)
{
    values(b, JOINT_POS)[2 * 29 + 5] = NAN;
}

static void set_body_inf(box *b)
{
    values(b, BODY_POS)[3 * 90 + 7] = INFINITY;
}

static void set_short_quat(box *b)
{
    for (int k = 0; k < 4; k++) values(b, BODY_QUAT)[4 * (30 * 4 + 2) + k] *= 0.5f;
}

static void set_wrong_joints(box *b)
{
    for (int i = 0; i < FRAMES; i++)
        for (int k = 0; k < 29; k++) values(b, JOINT_POS)[i * 29 + k] = (float)(k % 5) * 0.3f;
}

static void set_rate(box *b, int64_t fps)
{
    memcpy(values(b, FPS), &fps, sizeof fps);
}

static void set_zero_rate(box *b)
{
    set_rate(b, 0);
}

static void set_two_rates(box *b)
{
    reshape(b, FPS, "<i8", 1, (int64_t[]){2}, false);
}

static void set_no_bodies(box *b)
{
    b->member[BODY_POS].name = "bodies.npy";
}

static void set_28_joints(box *b)
{
    reshape(b, JOINT_POS, "<f4", 2, (int64_t[]){FRAMES, 28}, false);
}

static void set_integer_joints(box *b)
{
    reshape(b, JOINT_POS, "<i4", 2, (int64_t[]){FRAMES, 29}, false);
}

static void set_no_frames(box *b)
{
    reshape(b, JOINT_POS, "<f4", 2, (int64_t[]){0, 29}, false);
}

static void set_other_frames(box *b)
{
    reshape(b, BODY_QUAT, "<f4", 3, (int64_t[]){FRAMES - 1, 30, 4}, false);
}

static void set_14_bodies(box *b)
{
    reshape(b, BODY_POS, "<f4", 3, (int64_t[]){FRAMES, 14, 3}, false);
    reshape(b, BODY_QUAT, "<f4", 3, (int64_t[]){FRAMES, 14, 4}, false);
}

static void set_bodies_differ(box *b)
{
    reshape(b, BODY_QUAT, "<f4", 3, (int64_t[]){FRAMES, 29, 4}, false);
}

static void set_huge_shape(box *b)
{
    reshape(b, JOINT_POS, "<f4", 2, (int64_t[]){18000000, 29}, true);
}

static void set_overflow_shape(box *b)
{
    reshape(b, JOINT_POS, "<f4", 3, (int64_t[]){1LL << 50, 1LL << 50, 29}, true);
}

static void set_half_type(box *b)
{
    reshape(b, JOINT_POS, "<f2", 2, (int64_t[]){FRAMES, 29}, false);
}

static void replace_header(box *b, const char *from, const char *to)
{
    char *header = (char *)b->member[JOINT_POS].data, *at = memmem(header, NPY_HEADER, from, strlen(from));
    ENSURE(at && strlen(from) == strlen(to));
    memcpy(at, to, strlen(to));
}

static void set_fortran(box *b)
{
    replace_header(b, "False", "Falso");
}

static void set_big_endian(box *b)
{
    replace_header(b, "<f4", ">f4");
}

static void set_version(box *b)
{
    replace_header(b, "NUMPY\x01", "NUMPY\x03");
}

static void set_magic(box *b)
{
    replace_header(b, "NUMPY", "NUMPI");
}

static void set_key(box *b)
{
    replace_header(b, "shape", "shope");
}

static void set_cut_array(box *b)
{
    b->member[JOINT_POS].size -= 5;
}

static void set_cut_header(box *b)
{
    b->member[JOINT_POS].size = 60;
}

static void set_few_names(box *b)
{
    static char names[NPY_HEADER + 8];
    npy_header(names, "<U1", 1, (int64_t[]){2});
    b->member[b->n++] = (archive_member){"joint_names.npy", names, sizeof names};
}

static void set_strange_names(box *b)
{
    static char names[NPY_HEADER + 29 * 4];
    npy_header(names, "<U1", 1, (int64_t[]){29});
    b->member[b->n++] = (archive_member){"joint_names.npy", names, sizeof names};
}

static void test_broken(void)
{
    static const struct {
        void (*spoil)(box *);
        const char *sentence;
    } CASES[] = {
        {set_nan, "array \"joint_pos\": frame 2, value 5 is nan"},
        {set_body_inf, "array \"body_pos_w\": frame 3, value 7 is inf"},
        {set_short_quat, "array \"body_quat_w\": frame 4, body 2: quaternion of length 0.5"},
        {set_wrong_joints, "fits body_pos_w in no joint order"},
        {set_zero_rate, "array \"fps\" is 0"},
        {set_two_rates, "array \"fps\" is not one number"},
        {set_no_bodies, "\"body_pos_w.npy\" is missing"},
        {set_28_joints, "28 columns, expected 29 joints, or 36"},
        {set_integer_joints, "expected floats"},
        {set_no_frames, "0 frames"},
        {set_other_frames, "array \"body_quat_w\" is <f4 of shape (11x30x4)"},
        {set_14_bodies, "14 bodies and no names"},
        {set_bodies_differ, "body_quat_w has 29 bodies, body_pos_w 30"},
        {set_huge_shape, "expected 2088000000 from its shape"},
        {set_overflow_shape, "no sensible shape"},
        {set_half_type, "type other than"},
        {set_fortran, "fortran_order other than"},
        {set_big_endian, "type other than"},
        {set_version, "version 3.0"},
        {set_magic, "does not begin as an .npy"},
        {set_key, "is not a dictionary"},
        {set_cut_array, "1387 bytes of data, expected 1392"},
        {set_cut_header, "declares a header of 118 bytes, but has 50"},
        {set_few_names, "\"joint_names\" has 2 entries"},
        {set_strange_names, "\"joint_names\" lacks \"left_hip_pitch_joint\""},
    };
    for (int i = 0; i < 2 * COUNT(CASES); i++) {
        hrc_error err = {0};
        clip c;
        box b = good_box();
        CASES[i / 2].spoil(&b);
        hrc_status status = load_box(&c, &b, i % 2, NULL, &err);
        if (status >= 0 || !strstr(err.text, CASES[i / 2].sentence) || c.qpos)
            test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", CASES[i / 2].sentence, status,
                      err.text);
        arena_free(&b.memory);
    }
}

/* Every prefix of an archive is refused. One bit of an array changed is refused, too, or changes nothing
 * (deflate has codes that nothing uses). */
static void test_damaged(void)
{
    hrc_error err;
    file_view whole;
    clip good;
    ENSURE_OK(clip_load(&good, "test/data/beyondmimic_mujoco.npz", NULL, NULL, &err));
    ENSURE_OK(file_map("test/data/beyondmimic_mujoco.npz", &whole, &err));
    for (size_t n = 0; n < whole.size; n += n < 300 || n + 800 > whole.size ? 1 : 97) {
        clip c;
        char *part = malloc(n + 1); /* exact size, so that a sanitizer sees a read beyond it */
        ENSURE(part);
        memcpy(part, whole.data, n);
        ENSURE(clip_parse(&c, "x", (file_view){part, n}, NULL, NULL, &err) < 0 && c.qpos == NULL);
        free(part);
    }
    char *copy = malloc(whole.size), *name = memmem(whole.data, whole.size, "joint_pos.npy", 13);
    ENSURE(copy && name);
    size_t first = (size_t)(name - whole.data) + 40;
    int refused = 0, same = 0;
    for (size_t at = first; at < first + 360; at += 7) {
        clip c;
        memcpy(copy, whole.data, whole.size);
        copy[at] ^= 0x10;
        if (clip_parse(&c, "x", (file_view){copy, whole.size}, NULL, NULL, &err) < 0) {
            refused++;
        } else {
            ENSURE(clip_distance(&c, &good) == 0);
            same++;
            clip_free(&c);
        }
    }
    ENSURE(refused > 40 && same < 5);
    free(copy);
    clip_free(&good);
    file_unmap(&whole);
}

/* A member that declares 2 GB, and one that is 300 MB of zeros in truth: neither is allocated. */
static void test_huge(void)
{
    hrc_error err;
    clip c;
    box b = good_box();
    ENSURE_OK(archive_write(test_path("huge.npz"), b.member, b.n, false, &err));
    arena_free(&b.memory);
    file_view file;
    ENSURE_OK(file_map(test_path("huge.npz"), &file, &err));
    char *copy = malloc(file.size);
    ENSURE(copy);
    memcpy(copy, file.data, file.size);
    /* In the central directory the size stands 22 bytes before the name, the compressed one 26. */
    char *entry = NULL;
    for (char *at = copy; (at = memmem(at, (size_t)(copy + file.size - at), "PK\1\2", 4)); at += 4)
        if (!memcmp(at + 46, "joint_pos.npy", 13)) entry = at;
    ENSURE(entry);
    memcpy(entry + 24, "\x00\x00\x00\x80", 4);
    ENSURE(clip_parse(&c, "x", (file_view){copy, file.size}, NULL, NULL, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "declares 2147483648 bytes"));
    memcpy(entry + 24, "\x00\x00\x00\x0f", 4);
    ENSURE(clip_parse(&c, "x", (file_view){copy, file.size}, NULL, NULL, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "more than its 1520 compressed ones"));
    free(copy);
    file_unmap(&file);
}

/* Clip -> format -> format -> clip, every pair. */
static void test_matrix(void)
{
    static const char *const ENDINGS[] = {"csv", "npz", "safetensors"};
    clip c;
    synthetic_turn(&c, 60, 50);
    for (int i = 0; i < COUNT(ENDINGS) * COUNT(ENDINGS); i++) {
        hrc_error err;
        char name[32];
        clip middle, back;
        clip_options rate = {.fps = 50};
        snprintf(name, sizeof name, "a.%s", ENDINGS[i % 3]);
        ENSURE_OK(clip_save(&c, test_path(name), &err));
        ENSURE_OK(clip_load(&middle, test_path(name), &rate, NULL, &err));
        snprintf(name, sizeof name, "b.%s", ENDINGS[i / 3]);
        ENSURE_OK(clip_save(&middle, test_path(name), &err));
        ENSURE_OK(clip_load(&back, test_path(name), &rate, NULL, &err));
        ENSURE(back.n == c.n && memcmp(back.qpos, c.qpos, 60 * HRC_NQ * sizeof(float)) == 0);
        clip_free(&middle);
        clip_free(&back);
    }
    clip_free(&c);
}

TEST_TABLE({"npz.round_trip", test_round_trip}, {"npz.velocities", test_velocities},
           {"npz.orders", test_orders}, {"npz.quat_last", test_quat_last}, {"npz.zero_pose", test_zero_pose},
           {"npz.numpy", test_numpy}, {"npz.read_by_numpy", test_read_by_numpy}, {"npz.broken", test_broken},
           {"npz.damaged", test_damaged}, {"npz.huge", test_huge}, {"npz.matrix", test_matrix})
