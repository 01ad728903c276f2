#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rot.h"
#include "motion/phases.h"
#include "synthetic.h"
#include "test.h"

/* A pose of the pelvis: height, and rotation vector from upright. Joints are those of the default pose. */
typedef struct {
    double height, turn[3];
} key;

/* One second per step from key to key, at 50 fps. */
static void through(clip *c, const key *keys, int n)
{
    hrc_error err;
    ENSURE_OK(clip_create(c, 50 * (n - 1) + 1, 50, "made", &err));
    for (int i = 0; i < c->n; i++) {
        int k = i / 50 < n - 1 ? i / 50 : n - 2;
        double t = i / 50.0 - k, qpos[HRC_NQ], a[4], b[4], q[4];
        g1_default_qpos(qpos);
        quat_exp(a, keys[k].turn);
        quat_exp(b, keys[k + 1].turn);
        quat_slerp(q, a, b, t);
        qpos[2] = (1 - t) * keys[k].height + t * keys[k + 1].height;
        for (int j = 0; j < HRC_NQ; j++) clip_frame(c, i)[j] = (float)(j >= 3 && j < 7 ? q[j - 3] : qpos[j]);
    }
}

typedef struct {
    arena memory;
    phase *p;
    int n;
} found;

static found find(const clip *c)
{
    hrc_error err;
    found f = {0};
    ENSURE_OK(phases_find(&f.memory, &f.p, &f.n, c, &err));
    ENSURE(f.n >= 1 && f.p[0].first == 0 && f.p[f.n - 1].last == c->n - 1);
    for (int i = 0; i < f.n; i++) {
        ENSURE(f.p[i].first <= f.p[i].last && (i == 0 || f.p[i].first == f.p[i - 1].last + 1));
        ENSURE((f.p[i].kind == PHASE_DOWN) == (f.p[i].posture != POSTURE_NONE));
    }
    return f;
}

static const key UPRIGHT = {0.76, {0, 0, 0}};

/* Stand, go down in a second, lie for three, get up in a second, stand. */
static void check_posture(key lying, phase_posture expected)
{
    clip c;
    key keys[] = {UPRIGHT, UPRIGHT, lying, lying, lying, lying, UPRIGHT, UPRIGHT};
    through(&c, keys, COUNT(keys));
    found f = find(&c);
    ENSURE(f.p[0].kind == PHASE_STANDING && f.p[1].kind == PHASE_FALLING);
    ENSURE(f.p[f.n - 2].kind == PHASE_GETTING_UP && f.p[f.n - 1].kind == PHASE_STANDING);
    int frames = 0;
    for (int i = 2; i < f.n - 2; i++) {
        ENSURE(f.p[i].kind == PHASE_DOWN);
        if (f.p[i].posture == expected) frames += f.p[i].last - f.p[i].first + 1;
    }
    if (frames < 150)
        test_fail(__FILE__, __LINE__, "%s for %d frames of 150", posture_word(expected), frames);
    /* The heights that part the phases: 0.62 and 0.45 on the way down. */
    double share = (0.76 - 0.62) / (0.76 - lying.height);
    ENSURE_NEAR(f.p[0].last, 50 + 50 * share, 2);
    ENSURE(clip_frame(&c, f.p[2].first)[2] < 0.45f && f.p[2].first < 100);
    arena_free(&f.memory);
    clip_free(&c);
}

static void test_postures(void)
{
    double quarter = 1.5707963267948966;
    /* x forward, y left, z up: turning about y by +90 degrees puts the face down. */
    check_posture((key){0.12, {0, quarter, 0}}, POSTURE_PRONE);
    check_posture((key){0.12, {0, -quarter, 0}}, POSTURE_SUPINE);
    check_posture((key){0.15, {-quarter, 0, 0}}, POSTURE_SIDE_LEFT);
    check_posture((key){0.15, {quarter, 0, 0}}, POSTURE_SIDE_RIGHT);
    check_posture((key){0.36, {0, quarter, 0}}, POSTURE_CRAWL);
    check_posture((key){0.16, {0, 0, 0}}, POSTURE_SIT);
    check_posture((key){0.36, {0, 0, 0}}, POSTURE_KNEEL);
}

/* The mirror image of a fall lies on the other side; heading and place change nothing. */
static void test_heading(void)
{
    double quarter = 1.5707963267948966, yaw[4], tilt[4], q[4];
    clip c;
    const key keys[] = {UPRIGHT, {0.12, {0, quarter, 0}}, {0.12, {0, quarter, 0}}};
    through(&c, keys, COUNT(keys));
    quat_from_yaw(yaw, 2.5);
    for (int i = 0; i < c.n; i++) {
        float *frame = clip_frame(&c, i);
        for (int k = 0; k < 4; k++) tilt[k] = frame[3 + k];
        quat_mul(q, yaw, tilt);
        for (int k = 0; k < 4; k++) frame[3 + k] = (float)q[k];
        frame[0] += 7;
    }
    found f = find(&c);
    ENSURE(f.p[f.n - 1].kind == PHASE_DOWN && f.p[f.n - 1].posture == POSTURE_PRONE);
    arena_free(&f.memory);
    clip_free(&c);
}

/* A deep squat on both feet is not a fall, however low: only what touches the floor decides. */
static void test_squat(void)
{
    clip c;
    hrc_error err;
    ENSURE_OK(clip_create(&c, 100, 50, "squat", &err));
    for (int i = 0; i < c.n; i++) {
        double qpos[HRC_NQ], depth = 1 - fabs(i / 50.0 - 1);
        g1_default_qpos(qpos);
        for (int side = 0; side < 12; side += 6) { /* hip pitch, knee, ankle pitch */
            qpos[7 + side] -= 1.2 * depth;
            qpos[7 + side + 3] += 2.0 * depth;
        }
        qpos[2] = 0.78 - 0.38 * depth;
        for (int k = 0; k < HRC_NQ; k++) clip_frame(&c, i)[k] = (float)qpos[k];
    }
    ENSURE(clip_frame(&c, 50)[2] < 0.45f);
    found f = find(&c);
    ENSURE(f.n == 1 && f.p[0].kind == PHASE_STANDING);
    arena_free(&f.memory);
    clip_free(&c);
}

/* A clip that begins on its back and never stands has no fall and no end of getting up. */
static void test_ends(void)
{
    double quarter = 1.5707963267948966;
    clip c;
    const key back = {0.12, {0, -quarter, 0}}, crouched = {0.55, {0, 0, 0}};
    const key rising[] = {back, back, crouched}, crouching[] = {crouched, crouched};
    through(&c, rising, COUNT(rising));
    found f = find(&c);
    ENSURE(f.p[0].kind == PHASE_DOWN && f.p[0].posture == POSTURE_SUPINE);
    ENSURE(f.p[f.n - 1].kind == PHASE_GETTING_UP);
    arena_free(&f.memory);
    clip_free(&c);
    through(&c, crouching, COUNT(crouching));
    f = find(&c);
    ENSURE(f.n == 1 && f.p[0].kind == PHASE_STANDING);
    arena_free(&f.memory);
    clip_free(&c);
}

/* A posture of a few frames is a flicker, not a phase. */
static void test_flicker(void)
{
    double quarter = 1.5707963267948966;
    clip c;
    const key back = {0.12, {0, -quarter, 0}}, keys[] = {back, back, back};
    through(&c, keys, COUNT(keys));
    for (int i = 40; i < 45; i++) { /* 0.1 s on its face */
        float *q = clip_frame(&c, i);
        q[5] = -q[5];
    }
    found f = find(&c);
    ENSURE(f.n == 1 && f.p[0].posture == POSTURE_SUPINE);
    arena_free(&f.memory);
    clip_free(&c);
}

static void test_words(void)
{
    for (int i = 0; i < PHASE_KINDS; i++) ENSURE(phase_from_word(phase_word((phase_kind)i)) == i);
    for (int i = 0; i < POSTURES; i++) ENSURE(posture_from_word(posture_word((phase_posture)i)) == i);
    ENSURE(phase_from_word("flying") == -1 && posture_from_word("flying") == -1);
}

/* ---- Against falls that were tabulated by hand and by another program ---- */

#define LAFAN "../shared/data/lafan1-g1/"
#define FALLS "../shared/data/lafan1-falls.csv"

typedef struct {
    char file[64], label[32];
    int stand_end, down_first, down_last;
} fall;

/* The next row; a field may be empty. */
static bool read_fall(FILE *f, fall *out)
{
    char line[512], *field[17], *at = line;
    if (!fgets(line, sizeof line, f)) return false;
    for (int i = 0; i < 17; i++) {
        field[i] = strsep(&at, ",\n");
        ENSURE(field[i]);
    }
    snprintf(out->file, sizeof out->file, "%s", field[0]);
    snprintf(out->label, sizeof out->label, "%s", field[11]);
    out->stand_end = atoi(field[1]), out->down_first = atoi(field[2]);
    out->down_last = atoi(field[5]);
    return true;
}

/* Frames of first .. last that are down in this posture. */
static int frames_of(const found *f, phase_posture posture, int first, int last)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        for (int k = f->p[i].first; k <= f->p[i].last && f->p[i].kind == PHASE_DOWN; k++)
            n += k >= first && k <= last && (posture == POSTURE_NONE || f->p[i].posture == posture);
    return n;
}

static bool lies_as(const found *f, const fall *row)
{
    int supine = frames_of(f, POSTURE_SUPINE, row->down_first, row->down_last),
        prone = frames_of(f, POSTURE_PRONE, row->down_first, row->down_last) +
                frames_of(f, POSTURE_CRAWL, row->down_first, row->down_last),
        side = frames_of(f, POSTURE_SIDE_LEFT, row->down_first, row->down_last) +
               frames_of(f, POSTURE_SIDE_RIGHT, row->down_first, row->down_last);
    if (!strcmp(row->label, "lie-supine")) return supine > 0;
    if (!strcmp(row->label, "lie-prone")) return prone > 0;
    if (!strcmp(row->label, "lie-side")) return side > 0;
    return frames_of(f, POSTURE_SUPINE, row->down_first, row->down_last) <
           (row->down_last - row->down_first) / 2;
}

static void test_lafan_falls(void)
{
    FILE *f = fopen(FALLS, "r");
    if (!f) SKIP("no " FALLS);
    hrc_error err;
    clip c = {0};
    found phases = {0};
    fall row;
    char line[512], path[160];
    int rows = 0, down = 0, near = 0, posture = 0;
    ENSURE(fgets(line, sizeof line, f)); /* header */
    while (read_fall(f, &row)) {
        if (!c.name || strcmp(c.name, row.file) != 0) {
            arena_free(&phases.memory);
            clip_free(&c);
            snprintf(path, sizeof path, LAFAN "%s.csv", row.file);
            if (access(path, R_OK) != 0) SKIP("not all of " LAFAN);
            ENSURE_OK(clip_load(&c, path, NULL, NULL, &err));
            phases = find(&c);
        }
        rows++;
        int frames = frames_of(&phases, POSTURE_NONE, row.down_first, row.down_last);
        bool is_down = 2 * frames > row.down_last - row.down_first;
        down += is_down;
        posture += lies_as(&phases, &row);
        for (int i = 0; i + 1 < phases.n; i++)
            if (phases.p[i].kind == PHASE_STANDING && abs(phases.p[i].last - row.stand_end) <= 15) {
                near++;
                break;
            }
    }
    fclose(f);
    arena_free(&phases.memory);
    clip_free(&c);
    printf("(%d falls: %d found, %d begin within 0.5 s, %d in the same posture) ", rows, down, near, posture);
    ENSURE(rows > 70 && down >= 0.95 * rows && near >= 0.9 * rows && posture >= 0.9 * rows);
}

/* The get-up of a motion through these keys, in seconds; an error's words instead. */
static void check_get_up(const key *keys, int n, double first, double last, const char *sentence)
{
    hrc_error err = {0};
    clip c;
    int from = -1, to = -1;
    through(&c, keys, n);
    hrc_status status = phases_get_up(&from, &to, &c, &err);
    if (sentence) {
        if (status >= 0 || !strstr(err.text, sentence))
            test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", sentence, status, err.text);
    } else {
        ENSURE_OK(status);
        ENSURE_NEAR(from / 50.0, first, 0.021);
        ENSURE_NEAR(to / 50.0, last, 0.021);
    }
    clip_free(&c);
}

static void test_get_up(void)
{
    const key U = UPRIGHT, L = {0.12, {0, 1.5707963267948966, 0}}, LOW = {0.5, {0, 0, 0}};
    const double rise = (0.62 - 0.12) / (0.76 - 0.12), down = (0.76 - 0.40) / (0.76 - 0.12);
#define GET_UP(first, last, sentence, ...)                                                                   \
    check_get_up((const key[]){__VA_ARGS__}, COUNT(((const key[]){__VA_ARGS__})), first, last, sentence)
    GET_UP(0, 2 + rise, NULL, L, L, U, U, U, U);
    GET_UP(1 + down, 4 + rise, NULL, U, U, L, L, U, U, U, U); /* what it did before is left out */
    GET_UP(0, 4 + rise, NULL, L, L, U, L, U, U, U);           /* stood, but did not stay */
    GET_UP(0, 3 + 12.0 / 26, NULL, LOW, L, LOW, U, U, U);     /* falling where it begins */
    GET_UP(0, 0, "is never on the ground", U, U, LOW, U, U);
    GET_UP(0, 0, "never stands for 1 s", L, L, U, L, L);
    GET_UP(0, 0, "never stands for 1 s", L, L, U); /* ends too soon */
    GET_UP(0, 0, "takes 5.8 s to get up, expected at most 5", L, L, L, L, L, L, U, U, U);
#undef GET_UP
}

TEST_TABLE({"phases.postures", test_postures}, {"phases.heading", test_heading}, {"phases.squat", test_squat},
           {"phases.ends", test_ends}, {"phases.flicker", test_flicker}, {"phases.words", test_words},
           {"phases.get_up", test_get_up}, {"phases.lafan_falls", test_lafan_falls})
