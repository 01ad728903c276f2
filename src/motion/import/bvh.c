#include "motion/import/bvh.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/rot.h"

#define MAX_JOINTS 1024
#define MAX_FRAMES 1000000
#define MAX_TOKEN 63

/* The text as words between blanks, with the line each is on. */
typedef struct {
    const char *path, *at, *end;
    int line;
    char word[MAX_TOKEN + 1]; /* the last word taken; longer ones are cut */
    hrc_error *err;
} text;

static const char *const CHANNELS[] = {
    [BVH_X_POS] = "Xposition", [BVH_Y_POS] = "Yposition", [BVH_Z_POS] = "Zposition",
    [BVH_X_ROT] = "Xrotation", [BVH_Y_ROT] = "Yrotation", [BVH_Z_ROT] = "Zrotation"};

static void skip_blanks(text *t)
{
    for (; t->at < t->end && isspace((unsigned char)*t->at); t->at++) t->line += *t->at == '\n';
}

/* The next word into t->word; "" at the end. A colon ends a word, so that "Frames:5" is two. */
static void next(text *t)
{
    skip_blanks(t);
    size_t n = 0;
    bool colon = false;
    while (t->at < t->end && !isspace((unsigned char)*t->at) && !colon) {
        char c = *t->at++;
        colon = c == ':';
        if (n < MAX_TOKEN) t->word[n++] = isprint((unsigned char)c) ? c : '?';
    }
    t->word[n] = 0;
}

static bool is(const text *t, const char *word)
{
    return strcasecmp(t->word, word) == 0;
}

static hrc_status expected(text *t, const char *what)
{
    return fail(t->err, HRC_EFORMAT, "%s: line %d: %s%s%s, expected %s", t->path, t->line,
                t->word[0] ? "\"" : "", t->word[0] ? t->word : "the file ends", t->word[0] ? "\"" : "", what);
}

static hrc_status need(text *t, const char *word)
{
    next(t);
    return is(t, word) ? HRC_OK : expected(t, word);
}

static hrc_status need_number(text *t, double *out, const char *what)
{
    char *rest;
    next(t);
    *out = strtod(t->word, &rest);
    if (rest == t->word || *rest) return expected(t, what);
    if (!isfinite(*out))
        return fail(t->err, HRC_ENONFINITE, "%s: line %d: \"%s\", expected a finite number", t->path, t->line,
                    t->word);
    return HRC_OK;
}

static hrc_status need_count(text *t, int *out, int most, const char *what)
{
    double x;
    TRY(need_number(t, &x, what));
    if (!(x >= 0 && x <= most) || x != floor(x))
        return fail(t->err, HRC_EFORMAT, "%s: line %d: \"%s\", expected %s: a whole number from 0 to %d",
                    t->path, t->line, t->word, what, most);
    *out = (int)x;
    return HRC_OK;
}

static hrc_status need_offset(text *t, double out[3], double unit)
{
    TRY(need(t, "OFFSET"));
    for (int k = 0; k < 3; k++) {
        TRY(need_number(t, &out[k], "an offset of 3 numbers"));
        out[k] *= unit;
    }
    return HRC_OK;
}

/* The rest of the line: names may have blanks inside. */
static hrc_status need_name(text *t, arena *memory, const char **out)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t')) t->at++;
    const char *start = t->at;
    while (t->at < t->end && *t->at != '\n' && *t->at != '{') t->at++;
    const char *stop = t->at;
    while (stop > start && isspace((unsigned char)stop[-1])) stop--;
    size_t n = (size_t)(stop - start);
    if (n == 0 || n > 255)
        return fail(t->err, HRC_EFORMAT,
                    "%s: line %d: joint without a name, or with one of more than 255 characters", t->path,
                    t->line);
    char *name = arena_alloc(memory, n + 1, 1);
    if (!name) return fail(t->err, HRC_ENOMEM, "%s: out of memory", t->path);
    memcpy(name, start, n);
    status_tame(name, false);
    *out = name;
    return HRC_OK;
}

static hrc_status parse_channels(text *t, bvh_joint *joint)
{
    TRY(need_count(t, &joint->nchannels, 6, "the number of channels"));
    for (int i = 0; i < joint->nchannels; i++) {
        next(t);
        int code = 0;
        while (code < COUNT(CHANNELS) && !is(t, CHANNELS[code])) code++;
        if (code == COUNT(CHANNELS)) return expected(t, "a channel such as Xposition or Zrotation");
        joint->channel[i] = (bvh_channel)code;
    }
    return HRC_OK;
}

/* "ROOT" or "JOINT" has been read: name, brace, offset and channels. */
static hrc_status parse_joint(text *t, bvh *b, int parent)
{
    if (b->njoints == MAX_JOINTS)
        return fail(t->err, HRC_EFORMAT, "%s: line %d: more than %d joints", t->path, t->line, MAX_JOINTS);
    bvh_joint *joint = &b->joints[b->njoints];
    TRY(need_name(t, &b->memory, &joint->name));
    TRY(need(t, "{"));
    joint->parent = parent;
    joint->first = b->nchannels;
    TRY(need_offset(t, joint->offset, b->unit));
    TRY(need(t, "CHANNELS"));
    TRY(parse_channels(t, joint));
    b->nchannels += joint->nchannels;
    b->njoints++;
    return HRC_OK;
}

static hrc_status parse_end(text *t, bvh_joint *joint, double unit)
{
    TRY(need(t, "Site"));
    TRY(need(t, "{"));
    TRY(need_offset(t, joint->end, unit));
    joint->has_end = true;
    return need(t, "}");
}

/* Everything before MOTION. `open` is the joint whose braces are not closed yet; -1 between roots. */
static hrc_status parse_hierarchy(text *t, bvh *b)
{
    int open = -1;
    TRY(need(t, "HIERARCHY"));
    for (next(t); open >= 0 || !is(t, "MOTION"); next(t)) {
        if (is(t, open < 0 ? "ROOT" : "JOINT")) {
            TRY(parse_joint(t, b, open));
            open = b->njoints - 1;
        } else if (open >= 0 && is(t, "End")) {
            TRY(parse_end(t, &b->joints[open], b->unit));
        } else if (open >= 0 && is(t, "}")) {
            open = b->joints[open].parent;
        } else {
            return expected(t, open < 0 ? "ROOT or MOTION" : "JOINT, End Site or }");
        }
    }
    if (b->nchannels == 0)
        return fail(t->err, HRC_EFORMAT, "%s: line %d: no joint has a channel, expected some", t->path,
                    t->line);
    return HRC_OK;
}

static hrc_status parse_rate(text *t, bvh *b)
{
    double seconds;
    TRY(need(t, "Frames:"));
    TRY(need_count(t, &b->n, MAX_FRAMES, "the number of frames"));
    if (b->n == 0)
        return fail(t->err, HRC_EFORMAT, "%s: line %d: 0 frames, expected at least one", t->path, t->line);
    TRY(need(t, "Frame"));
    TRY(need(t, "Time:"));
    TRY(need_number(t, &seconds, "the frame time in seconds"));
    if (!(seconds >= 1e-4 && seconds <= 100))
        return fail(t->err, HRC_EFORMAT, "%s: line %d: frame time of %g s, expected 0.0001 to 100", t->path,
                    t->line, seconds);
    b->fps = 1 / seconds;
    if (fabs(b->fps - round(b->fps)) < 1e-4 * b->fps) b->fps = round(b->fps); /* .0083333 means 120 */
    return HRC_OK;
}

static hrc_status parse_values(text *t, bvh *b)
{
    /* A value takes a digit and a blank at least: what cannot be there is not allocated. */
    size_t count = (size_t)b->n * (size_t)b->nchannels, most = (size_t)(t->end - t->at) / 2 + 1;
    if (count > most)
        return fail(t->err, HRC_EFORMAT,
                    "%s: line %d: %d frames of %d channels declared, but the %zu bytes that follow cannot "
                    "hold them (truncated?)",
                    t->path, t->line, b->n, b->nchannels, (size_t)(t->end - t->at));
    b->values = ARENA_NEW(&b->memory, float, count);
    if (!b->values) return fail(t->err, HRC_ENOMEM, "%s: out of memory for %d frames", t->path, b->n);
    for (size_t i = 0; i < count; i++) {
        double x;
        skip_blanks(t);
        if (t->at == t->end)
            return fail(t->err, HRC_EFORMAT,
                        "%s: line %d: the file ends after %zu values of frame %zu, expected %d frames of %d",
                        t->path, t->line, i % (size_t)b->nchannels, i / (size_t)b->nchannels, b->n,
                        b->nchannels);
        TRY(need_number(t, &x, "a number"));
        b->values[i] = (float)x;
        if (!isfinite(b->values[i])) return expected(t, "a number that is not that large");
    }
    next(t);
    return t->word[0] ? expected(t, "nothing after the last frame") : HRC_OK;
}

static hrc_status parse_all(text *t, bvh *b)
{
    char name[256];
    file_stem(name, sizeof name, t->path);
    b->name = arena_strdup(&b->memory, name);
    b->joints = ARENA_NEW(&b->memory, bvh_joint, MAX_JOINTS);
    if (!b->name || !b->joints) return fail(t->err, HRC_ENOMEM, "%s: out of memory", t->path);
    TRY(parse_hierarchy(t, b));
    TRY(parse_rate(t, b));
    return parse_values(t, b);
}

hrc_status bvh_parse(bvh *b, const char *path, file_view bytes, const bvh_options *options, hrc_error *err)
{
    *b = (bvh){.unit = options && options->unit != 0 ? options->unit : BVH_CENTIMETRES,
               .up = options ? options->up : BVH_Y_UP};
    if (!(b->unit > 0 && b->unit <= 1e3))
        return fail(err, HRC_EINVAL, "%s: unit of %g m asked for, expected above 0 and at most 1000", path,
                    b->unit);
    bytes = file_text(bytes);
    text t = {.path = path, .at = bytes.data, .end = bytes.data + bytes.size, .line = 1, .err = err};
    hrc_status status = parse_all(&t, b);
    if (status < 0) bvh_free(b);
    return status;
}

hrc_status bvh_load(bvh *b, const char *path, const bvh_options *options, hrc_error *err)
{
    file_view bytes;
    *b = (bvh){0};
    TRY(file_map(path, &bytes, err));
    hrc_status status = bvh_parse(b, path, bytes, options, err);
    file_unmap(&bytes);
    return status;
}

void bvh_free(bvh *b)
{
    arena_free(&b->memory);
    *b = (bvh){0};
}

/* "Character1_", "Model_": what all names begin with, up to its last '_'. */
static size_t shared_prefix(const bvh *b)
{
    const char *first = b->joints[0].name;
    size_t n = b->njoints > 1 ? strlen(first) : 0;
    for (int i = 1; i < b->njoints; i++) {
        size_t k = 0;
        while (k < n && b->joints[i].name[k] == first[k]) k++;
        n = k;
    }
    while (n && first[n - 1] != '_') n--;
    return n;
}

/* "mixamorig:LeftArm", "mixamorigLeftArm", "mixamorig1_LeftArm", "Left_Arm", "leftarm" are all LeftArm. */
static bool same_joint(const char *name, const char *joint)
{
    const char *colon = strrchr(name, ':');
    if (colon) name = colon + 1;
    if (strncmp(name, "mixamorig", 9) == 0) {
        name += 9;
        name += strspn(name, "0123456789_");
    }
    for (;; name++, joint++) {
        name += strspn(name, "_ -");
        if (tolower((unsigned char)*name) != tolower((unsigned char)*joint)) return false;
        if (!*name) return true;
    }
}

int bvh_find(const bvh *b, const char *joint)
{
    for (int i = 0; i < b->njoints; i++)
        if (strcmp(b->joints[i].name, joint) == 0) return i;
    const size_t prefix = b->njoints ? shared_prefix(b) : 0;
    for (int i = 0; i < b->njoints; i++)
        if (same_joint(b->joints[i].name + prefix, joint)) return i;
    return -1;
}

/* The joint in its parent's axes: where its channels move and turn it. */
static void local_pose(double pos[3], double quat[4], const bvh_joint *joint, const float *values,
                       double unit)
{
    memcpy(pos, joint->offset, sizeof joint->offset);
    quat[0] = 1, quat[1] = quat[2] = quat[3] = 0;
    for (int i = 0; values && i < joint->nchannels; i++) {
        double value = values[joint->first + i];
        if (joint->channel[i] <= BVH_Z_POS) {
            pos[joint->channel[i]] = value * unit;
        } else {
            double half = value * (M_PI / 360), turn[4] = {cos(half), 0, 0, 0};
            turn[1 + joint->channel[i] - BVH_X_ROT] = sin(half);
            quat_mul(quat, quat, turn);
        }
    }
}

void bvh_pose(const bvh *b, int frame, double (*pos)[3], double (*quat)[4])
{
    const double world[2][4] = {[BVH_Y_UP] = {M_SQRT1_2, M_SQRT1_2, 0, 0}, [BVH_Z_UP] = {1, 0, 0, 0}};
    const double origin[3] = {0};
    const float *values = frame == BVH_REST ? NULL : b->values + (size_t)frame * (size_t)b->nchannels;
    for (int i = 0; i < b->njoints; i++) {
        int parent = b->joints[i].parent;
        const double *from = parent < 0 ? origin : pos[parent];
        const double *axes = parent < 0 ? world[b->up] : quat[parent];
        double at[3], turn[4];
        local_pose(at, turn, &b->joints[i], values, b->unit);
        quat_rotate(at, axes, at);
        for (int k = 0; k < 3; k++) pos[i][k] = from[k] + at[k];
        quat_mul(quat[i], axes, turn);
        quat_normalize(quat[i]);
    }
}
