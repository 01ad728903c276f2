#include "motion/retarget/skeleton_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/rot.h"
#include "motion/stats.h"

/* ---- The skeleton ---- */

/* From the hips of a person to the farthest finger tip, along the bones: 1.0 to 1.6 m. */
#define REACH_M 1.3
#define PATH_HZ 5.0 /* the path is measured between frames this far apart, so that noise does not add up */

bool skeleton_is_bvh(file_view bytes)
{
    static const char WORD[] = "HIERARCHY";
    bytes = file_text(bytes);
    return bytes.size >= sizeof WORD - 1 && memcmp(bytes.data, WORD, sizeof WORD - 1) == 0;
}

/* Longest way along the bones from a root to a joint or end, in the unit of the offsets. */
static double longest_chain(const bvh *b)
{
    double longest = 0;
    for (int i = 0; i < b->njoints; i++) {
        double length = b->joints[i].has_end ? vec_norm(b->joints[i].end) : 0;
        for (int k = i; b->joints[k].parent >= 0; k = b->joints[k].parent)
            length += vec_norm(b->joints[k].offset);
        longest = fmax(longest, length);
    }
    return longest;
}

/* Metres per unit, of the usual ones (m, cm, mm, inch, CMU's): the one in which the person has the most usual
 * size. Says why. */
static double skeleton_unit(const bvh *b, char *why, size_t size)
{
    static const struct {
        double metres;
        const char *name;
    } UNIT[] = {{1, "metre"},
                {0.01, "centimetre"},
                {0.001, "millimetre"},
                {0.0254, "inch"},
                {BVH_CMU, "0.056444 m, of the CMU database"}};
    double chain = longest_chain(b) / b->unit;
    int best = 1;
    if (!(chain > 0)) {
        snprintf(why, size, "centimetre, assumed: the bones have no length");
        return UNIT[best].metres;
    }
    for (int i = 0; i < COUNT(UNIT); i++)
        if (fabs(log(chain * UNIT[i].metres / REACH_M)) < fabs(log(chain * UNIT[best].metres / REACH_M)))
            best = i;
    snprintf(why, size, "%s: the longest chain of bones from the root is then %.2f m", UNIT[best].name,
             chain * UNIT[best].metres);
    return UNIT[best].metres;
}

/* Height from the lowest to the highest joint or end. */
static double extent(const bvh *b, double (*pos)[3], double (*quat)[4])
{
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < b->njoints; i++) {
        double end[3] = {0};
        if (b->joints[i].has_end) quat_rotate(end, quat[i], b->joints[i].end);
        lo = fmin(lo, fmin(pos[i][2], pos[i][2] + end[2]));
        hi = fmax(hi, fmax(pos[i][2], pos[i][2] + end[2]));
    }
    return hi - lo;
}

static hrc_status measure(skeleton *s, const bvh *b, hrc_error *err)
{
    arena memory = {0};
    double(*pos)[3] = arena_alloc(&memory, (size_t)b->njoints, sizeof *pos);
    double(*quat)[4] = arena_alloc(&memory, (size_t)b->njoints, sizeof *quat);
    double *heights = ARENA_NEW(&memory, double, b->n);
    if (!pos || !quat || !heights) {
        arena_free(&memory);
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", b->name, b->n);
    }
    int stride = (int)fmax(1, s->fps / PATH_HZ);
    double last[2] = {0};
    s->root_lo = INFINITY, s->root_hi = -INFINITY;
    for (int i = 0; i < b->n; i++) {
        bvh_pose(b, i, pos, quat);
        heights[i] = extent(b, pos, quat);
        s->root_lo = fmin(s->root_lo, pos[0][2]), s->root_hi = fmax(s->root_hi, pos[0][2]);
        if (i % stride && i + 1 < b->n) continue;
        if (i) s->travelled += hypot(pos[0][0] - last[0], pos[0][1] - last[1]);
        last[0] = pos[0][0], last[1] = pos[0][1];
    }
    s->height = percentile(heights, b->n, 0.95);
    arena_free(&memory);
    return HRC_OK;
}

hrc_status skeleton_describe(skeleton *s, const char *path, file_view bytes, double fps, hrc_error *err)
{
    bvh b;
    *s = (skeleton){0};
    TRY(bvh_parse(&b, path, bytes, &(bvh_options){.unit = 1}, err));
    s->joints = b.njoints, s->frames = b.n;
    s->fps = fps > 0 ? fps : b.fps;
    s->seconds = b.n > 1 ? (b.n - 1) / s->fps : 0;
    snprintf(s->name, sizeof s->name, "%s", b.name);
    snprintf(s->root, sizeof s->root, "%s", b.joints[0].name);
    hrc_status status = measure(s, &b, err);
    s->unit = skeleton_unit(&b, s->unit_why, sizeof s->unit_why);
    s->height *= s->unit, s->travelled *= s->unit, s->root_lo *= s->unit, s->root_hi *= s->unit;
    bvh_free(&b);
    return status;
}

extern const char embed_skeleton_cmu[], embed_skeleton_cmu_end[];
extern const char embed_skeleton_lafan1[], embed_skeleton_lafan1_end[];
extern const char embed_skeleton_mixamo[], embed_skeleton_mixamo_end[];
extern const char embed_skeleton_xsens[], embed_skeleton_xsens_end[];
extern const char embed_skeleton_biovision[], embed_skeleton_biovision_end[];

#define KNOWN_MAPS 5
#define UNIT_OFF 1.8 /* times: a person's size says more than the map */

/* ---- The robot's side ---- */

/* Hip: the axis of hip pitch, at the side where the thigh is; the roll axis 3 cm lower turns with it.
 * Shoulder: the crossing of roll and yaw. Wrist: the axis of wrist pitch. The numbers are positions of link
 * origins in the zero pose (the table in robot/g1.c), halves of left and right averaged so that both sides
 * are mirror images. */
#define LEG(side, thigh, hip_link, knee_link, ankle_link)                                                      \
    {hip_link,                                                                                                 \
     hip_link - 1,                                                                                             \
     BODY_PELVIS,                                                                                              \
     {0, side * 0.1165, -0.1027},                                                                              \
     {0, side * 0.0021, -0.3366},                                                                              \
     {0, 0, -1},                                                                                               \
     {0.99619470, 0, -0.08715574, 0}},                                                                         \
        {knee_link, knee_link, thigh, {0, side * 0.0021, -0.3366}, {0, 0, -0.3176}, {0, 0, -1}, {1, 0, 0, 0}}, \
    {                                                                                                          \
        ankle_link, ankle_link, thigh + 1, {0, 0, -0.3176}, {0, 0, 0}, {0, 0, -1},                             \
        {                                                                                                      \
            1, 0, 0, 0                                                                                         \
        }                                                                                                      \
    }

#define ARM(side, upper, yaw_link, elbow_link, pitch_link)                                                   \
    {                                                                                                        \
        yaw_link,                                                                                            \
        yaw_link - 1,                                                                                        \
        BODY_TORSO,                                                                                          \
        {0.0040, side * 0.1406, 0.2450},                                                                     \
        {0.0158, side * 0.0062, -0.1838},                                                                    \
        {0, 0, -1},                                                                                          \
        {1, 0, 0, 0}},                                                                                       \
        {elbow_link, elbow_link,  upper, {0.0158, side * 0.0062, -0.1838}, {0.1380, side * 0.0019, -0.0100}, \
         {1, 0, 0},  {1, 0, 0, 0}},                                                                          \
    {                                                                                                        \
        pitch_link + 1, pitch_link, upper + 1, {0.1380, side * 0.0019, -0.0100}, {0, 0, 0}, {1, 0, 0},       \
        {                                                                                                    \
            1, 0, 0, 0                                                                                       \
        }                                                                                                    \
    }

static const robot_body ROBOT[BODIES] = {
    {0, 0, -1, {0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {1, 0, 0, 0}},
    LEG(+1, BODY_LEFT_THIGH, 3, 4, 6),
    LEG(-1, BODY_RIGHT_THIGH, 9, 10, 12),
    {15, 15, BODY_PELVIS, {-0.0040, 0, 0.0440}, {0, 0, 0}, {0, 0, 1}, {1, 0, 0, 0}},
    ARM(+1, BODY_LEFT_UPPER_ARM, 18, 19, 21),
    ARM(-1, BODY_RIGHT_UPPER_ARM, 25, 26, 28),
};

const robot_body *robot_bodies(void)
{
    return ROBOT;
}

/* ---- The file ---- */

static int body_of_link(const char *name)
{
    for (int b = 0; b < BODIES; b++)
        if (strcmp(G1_LINK[ROBOT[b].link].name, name) == 0) return b;
    return -1;
}

typedef struct {
    skeleton_map map;
    bool seen[BODIES];
} reading;

/* `count` numbers and nothing else. */
static bool parse_numbers(double *out, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        char *end;
        out[i] = strtod(text, &end);
        if (end == text || !isfinite(out[i])) return false;
        text = end;
    }
    return text[strspn(text, " \t")] == 0;
}

/* A word without the blanks around it; "-" is none. */
static bool parse_name(char out[MAP_NAME], const char *text, bool may_be_none)
{
    text += strspn(text, " \t");
    size_t n = strcspn(text, " \t");
    if (n == 0 || n >= MAP_NAME || text[n + strspn(text + n, " \t")]) return false;
    memcpy(out, text, n);
    out[n] = 0;
    if (strcmp(out, "-") == 0) out[0] = 0;
    return out[0] || may_be_none;
}

static hrc_status parse_link(reading *r, const char *key, char *value, const char *where, hrc_error *err)
{
    int b = body_of_link(key);
    if (b < 0) return fail(err, HRC_EFORMAT, "%s: \"%.60s\" is none of the mapped links", where, key);
    map_body *m = &r->map.bodies[b];
    char *column[6];
    int n = 0;
    for (char *next = value; next && n < COUNT(column); n++) column[n] = strsep(&next, "|");
    double stage[2][2];
    if (n != COUNT(column) || !parse_name(m->place, column[0], false) ||
        !parse_name(m->turn, column[1], false) || !parse_name(m->rest, column[2], true) ||
        !parse_numbers(stage[0], 2, column[3]) || !parse_numbers(stage[1], 2, column[4]) ||
        !parse_numbers(m->offset, 4, column[5]))
        return fail(err, HRC_EFORMAT,
                    "%s: %s has not the six columns joint | joint | joint or - | 2 weights | 2 weights | "
                    "w x y z",
                    where, key);
    for (int k = 0; k < 2; k++) m->position[k] = stage[k][0], m->orientation[k] = stage[k][1];
    double norm = quat_normalize(m->offset);
    if (fabs(norm - 1) > 1e-3)
        return fail(err, HRC_EFORMAT, "%s: the turn of %s has length %.4g, expected 1", where, key, norm);
    r->seen[b] = true;
    return HRC_OK;
}

static hrc_status parse_entry(void *ctx, const char *section, char *key, char *value, const char *where,
                              hrc_error *err)
{
    reading *r = ctx;
    value[strcspn(value, "#")] = 0;
    if (!strcmp(section, "links")) return parse_link(r, key, value, where, err);
    bool good = false;
    if (!strcmp(section, "skeleton") && !strcmp(key, "name"))
        good = parse_name(r->map.name, value, false);
    else if (!strcmp(section, "skeleton") && !strcmp(key, "unit_m"))
        good = parse_numbers(&r->map.unit, 1, value) && r->map.unit > 0;
    else if (!strcmp(section, "skeleton") && !strcmp(key, "up")) {
        char word[MAP_NAME];
        good = parse_name(word, value, false) && (!strcmp(word, "y") || !strcmp(word, "z"));
        r->map.up = good && word[0] == 'z' ? BVH_Z_UP : BVH_Y_UP;
    } else if (!strcmp(section, "feet") && !strcmp(key, "left_toe"))
        good = parse_name(r->map.toe[0], value, false);
    else if (!strcmp(section, "feet") && !strcmp(key, "right_toe"))
        good = parse_name(r->map.toe[1], value, false);
    else
        return fail(err, HRC_EFORMAT, "%s: there is no key \"%.60s\" in section [%s]", where, key, section);
    if (!good) return fail(err, HRC_EFORMAT, "%s: %s cannot be \"%.60s\"", where, key, value);
    return HRC_OK;
}

hrc_status skeleton_map_parse(skeleton_map *map, const char *name, file_view text, hrc_error *err)
{
    reading r = {0};
    TRY(ini_scan(name, text, parse_entry, &r, err));
    for (int b = 0; b < BODIES; b++)
        if (!r.seen[b])
            return fail(err, HRC_EFORMAT, "%s: section [links] has no %s", name, G1_LINK[ROBOT[b].link].name);
    if (!r.map.name[0] || !(r.map.unit > 0) || !r.map.toe[0][0] || !r.map.toe[1][0])
        return fail(err, HRC_EFORMAT, "%s: one of name, unit_m, left_toe and right_toe is missing", name);
    *map = r.map;
    return HRC_OK;
}

hrc_status skeleton_map_load(skeleton_map *map, const char *path, hrc_error *err)
{
    file_view text;
    TRY(file_map(path, &text, err));
    hrc_status status = skeleton_map_parse(map, path, text, err);
    file_unmap(&text);
    return status;
}

/* ---- Map and BVH ---- */

bool skeleton_map_toe(const skeleton_map *map, const bvh *b, int side, int *joint)
{
    const int foot = bvh_find(b, map->bodies[side ? BODY_RIGHT_FOOT : BODY_LEFT_FOOT].place);
    *joint = bvh_find(b, map->toe[side]);
    return *joint >= 0 || (foot >= 0 && b->joints[foot].has_end && vec_norm(b->joints[foot].end) > 0);
}

/* Joints of the map that the file lacks: how many, and the names as far as they go into `text`. */
static int missing_joints(char *text, size_t size, const skeleton_map *map, const bvh *b)
{
    int missing = 0;
    text[0] = 0;
    for (int i = 0; i < 3 * BODIES + 2; i++) {
        const map_body *m = &map->bodies[i / 3 < BODIES ? i / 3 : 0];
        const char *name = i >= 3 * BODIES ? map->toe[i - 3 * BODIES]
                           : i % 3 == 0    ? m->place
                           : i % 3 == 1    ? m->turn
                                           : m->rest;
        int toe;
        if (i >= 3 * BODIES && skeleton_map_toe(map, b, i - 3 * BODIES, &toe)) continue;
        if (!name[0] || bvh_find(b, name) >= 0) continue;
        /* A joint serves several links: name it once. `text` holds " name," for each so far. */
        char marked[MAP_NAME + 4];
        snprintf(marked, sizeof marked, " %s,", name);
        if (strstr(text, marked)) continue;
        missing++;
        size_t length = strlen(text);
        if (length + strlen(marked) + 1 < size) strcpy(text + length, marked);
    }
    size_t length = strlen(text);
    if (length) text[length - 1] = 0;
    return missing;
}

hrc_status skeleton_map_check(const skeleton_map *map, const bvh *b, const char *path, hrc_error *err)
{
    char names[256];
    int missing = missing_joints(names, sizeof names, map, b);
    if (missing == 0) return HRC_OK;
    return fail(err, HRC_EFORMAT, "%s: %s the %s skeleton needs %s missing:%s", path,
                missing == 1 ? "a joint that" : "joints that", map->name, missing == 1 ? "is" : "are", names);
}

hrc_status skeleton_map_find(skeleton_map *map, const bvh *b, const char *path, hrc_error *err)
{
    const file_view text[KNOWN_MAPS] = {
        {embed_skeleton_mixamo,
         (size_t)(embed_skeleton_mixamo_end - embed_skeleton_mixamo)}, /* has all of CMU's */
        {embed_skeleton_cmu, (size_t)(embed_skeleton_cmu_end - embed_skeleton_cmu)},
        {embed_skeleton_lafan1, (size_t)(embed_skeleton_lafan1_end - embed_skeleton_lafan1)},
        {embed_skeleton_xsens, (size_t)(embed_skeleton_xsens_end - embed_skeleton_xsens)},
        {embed_skeleton_biovision, (size_t)(embed_skeleton_biovision_end - embed_skeleton_biovision)},
    };
    static const char *const NAME[KNOWN_MAPS] = {"skeletons/mixamo.ini", "skeletons/cmu.ini",
                                                 "skeletons/lafan1.ini", "skeletons/xsens.ini",
                                                 "skeletons/biovision.ini"};
    char sentence[700] = "";
    for (int i = 0; i < KNOWN_MAPS; i++) {
        skeleton_map known;
        char names[90];
        TRY(skeleton_map_parse(&known, NAME[i], text[i], err));
        int missing = missing_joints(names, sizeof names, &known, b);
        if (missing == 0) {
            char why[160];
            double unit = skeleton_unit(b, why, sizeof why);
            if (unit > UNIT_OFF * known.unit || known.unit > UNIT_OFF * unit) known.unit = unit;
            *map = known;
            return HRC_OK;
        }
        size_t length = strlen(sentence);
        snprintf(sentence + length, sizeof sentence - length, "%s%s misses %d joint%s (%s)", i ? "; " : "",
                 known.name, missing, missing == 1 ? "" : "s", names + 1);
    }
    return fail(err, HRC_EFORMAT, "%s: no known skeleton fits: %s; --skeleton names a map of your own", path,
                sentence);
}
