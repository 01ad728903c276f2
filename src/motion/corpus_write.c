/* Making a corpus. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "motion/pack.h"

#define SHORTEST_SECONDS 0.5
#define LONGEST_TRAVEL 65.0 /* m; 65534 steps of less than a millimetre */
#define LIMIT_TOLERANCE 1e-4
#define FIGURE_DIGITS 6 /* significant: more would differ between compilers and mean nothing */

static hrc_status check_limits(const clip *c, hrc_error *err)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < HRC_JOINTS; j++) {
            double angle = clip_frame(c, i)[7 + j],
                   excess = fmax(angle - G1_JOINT[j].hi, G1_JOINT[j].lo - angle);
            if (excess > LIMIT_TOLERANCE)
                return fail(err, HRC_EINVAL, "%s: frame %d: %s is %.4f rad beyond its limit", c->name, i,
                            G1_JOINT[j].name, excess);
        }
    return HRC_OK;
}

/* The middle of the clip's travel is code 0, its ends are the ends of the codes. */
static hrc_status span_travel(corpus_entry *e, const clip *c, hrc_error *err)
{
    for (int k = 0; k < 3; k++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int i = 0; i < c->n; i++) {
            lo = fmin(lo, clip_frame(c, i)[k]);
            hi = fmax(hi, clip_frame(c, i)[k]);
        }
        if (!(hi - lo <= LONGEST_TRAVEL))
            return fail(err, HRC_EINVAL, "%s: travels %.1f m, expected at most %g (cut it)", c->name, hi - lo,
                        LONGEST_TRAVEL);
        e->origin[k] = (lo + hi) / 2;
        e->step[k] = fmax((hi - lo) / 65534, 1e-6);
    }
    return HRC_OK;
}

/* One quaternion of the two that mean the same: the first with w >= 0, then each nearest to the one before.
 */
static void align_quaternions(clip *c)
{
    const float UP[4] = {1, 0, 0, 0}, *before = UP;
    for (int i = 0; i < c->n; i++) {
        float *q = clip_frame(c, i) + 3, dot = 0;
        for (int k = 0; k < 4; k++) dot += q[k] * before[k];
        if (dot < 0)
            for (int k = 0; k < 4; k++) q[k] = -q[k];
        before = q;
    }
}

static void joint_ranges(double lo[HRC_JOINTS], double hi[HRC_JOINTS])
{
    for (int j = 0; j < HRC_JOINTS; j++) lo[j] = G1_JOINT[j].lo, hi[j] = G1_JOINT[j].hi;
}

/* The motion becomes what its codes decode to, whatever the grain: so figures that were measured on it do not
 * depend on whether a suite names the clip. */
static void encode_frames(corpus_item *item, uint16_t *codes, const double *lo, const double *hi)
{
    clip *c = &item->motion;
    memset(item->entry.grain, 1, sizeof item->entry.grain);
    for (int i = 0; i < c->n; i++) {
        corpus_encode(codes + (size_t)i * HRC_NQ, clip_frame(c, i), &item->entry, lo, hi);
        corpus_decode(clip_frame(c, i), codes + (size_t)i * HRC_NQ, &item->entry, lo, hi);
    }
}

static hrc_status encode_clip(corpus_item *item, bool exact, hrc_error *err)
{
    clip *c = &item->motion;
    corpus_entry *e = &item->entry;
    double lo[HRC_JOINTS], hi[HRC_JOINTS];
    TRY(span_travel(e, c, err));
    align_quaternions(c);
    uint16_t *units = calloc((size_t)c->n, HRC_NQ * sizeof *units);
    if (!units) return fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
    joint_ranges(lo, hi);
    encode_frames(item, units, lo, hi);
    corpus_choose_grain(e, lo, hi, exact);
    for (int i = 0; i < c->n * HRC_NQ; i++) units[i] = (uint16_t)(units[i] / e->grain[i % HRC_NQ]);
    hrc_status status = pack_codes(&item->memory, units, c->n, &e->block, &e->block_size, err);
    free(units);
    return status;
}

static hrc_status measure(corpus_item *item, double keypoint_error, hrc_error *err)
{
    quality q;
    corpus_quality *kept = &item->entry.quality;
    TRY(quality_measure(&q, &item->motion, err));
#define KEEP_FIGURE(member, from, key) kept->member = q.from;
    CORPUS_FIGURES(KEEP_FIGURE)
#undef KEEP_FIGURE
    kept->keypoint_error = keypoint_error;
    kept->verdict = q.verdict;
    if (q.verdict == QUALITY_BAD) return fail(err, HRC_EINVAL, "%s: %s", item->motion.name, q.reasons[0]);
    return phases_find(&item->memory, &item->entry.phases, &item->entry.nphases, &item->motion, err);
}

static hrc_status fill_entry(corpus_item *item, const char *description, hrc_error *err)
{
    corpus_entry *e = &item->entry;
    const clip *c = &item->motion;
    const char *from[] = {c->name, c->category, c->source, c->licence, description};
    const char **to[] = {&e->name, &e->category, &e->source, &e->licence, &e->description};
    for (int i = 0; i < COUNT(from); i++) {
        *to[i] = arena_strdup(&item->memory, from[i]);
        if (!*to[i]) return fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
    }
    e->n = c->n;
    return HRC_OK;
}

hrc_status corpus_admit(corpus_item *out, const clip *c, const corpus_note *note, hrc_error *err)
{
    *out = (corpus_item){0};
    if (c->n / c->fps < SHORTEST_SECONDS)
        return fail(err, HRC_EINVAL, "%s: lasts %.2f s, expected at least %g", c->name, c->n / c->fps,
                    SHORTEST_SECONDS);
    TRY(check_limits(c, err));
    hrc_status status = clip_resample(&out->motion, c, CORPUS_FPS, err);
    if (status >= 0) status = fill_entry(out, note->description, err);
    if (status >= 0) status = encode_clip(out, note->exact, err);
    if (status >= 0) status = measure(out, note->keypoint_error, err);
    if (status < 0) corpus_item_free(out);
    return status;
}

void corpus_item_free(corpus_item *item)
{
    clip_free(&item->motion);
    arena_free(&item->memory);
    *item = (corpus_item){0};
}

/* ---- The file ---- */

/* What all items say, or NULL. */
static void find_common(const char **source, const char **licence, const corpus_item *items, int n)
{
    *source = items[0].entry.source, *licence = items[0].entry.licence;
    for (int i = 1; i < n; i++) {
        if (*source && strcmp(items[i].entry.source, *source) != 0) *source = NULL;
        if (*licence && strcmp(items[i].entry.licence, *licence) != 0) *licence = NULL;
    }
}

/* NULL when out of memory or a text of one of the n rows is not UTF-8; the caller frees it. Frees the rows.
 */
static char *rows_text(json_t *rows, int n)
{
    char *out = json_array_size(rows) == (size_t)n ? json_dumps(rows, JSON_COMPACT) : NULL;
    json_decref(rows);
    return out;
}

/* source, licence: what is said for all, or NULL */
static json_t *entry_json(const corpus_entry *e, const char *source, const char *licence)
{
    json_t *phases = json_array();
    for (int i = 0; i < e->nphases; i++) {
        const phase *p = &e->phases[i];
        json_array_append_new(
            phases, json_pack("[s,s,i,i]", phase_word(p->kind), posture_word(p->posture), p->first, p->last));
    }
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:{s:s}}", "name", e->name, "category", e->category,
                  "description", e->description, "split", corpus_split_word(e->split), "frames", e->n,
                  "phases", phases, "quality", "verdict", quality_word(e->quality.verdict));
    if (!source) json_object_set_new(entry, "source", json_string(e->source));
    if (!licence) json_object_set_new(entry, "licence", json_string(e->licence));
    return entry;
}

static char *clips_text(const corpus_item *items, int n, const char *source, const char *licence)
{
    json_t *rows = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(rows, entry_json(&items[i].entry, source, licence));
    return rows_text(rows, n);
}

static char *left_out_text(const corpus_left_out *left_out, int n)
{
    json_t *rows = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(
            rows, json_pack("{s:s, s:s}", "name", left_out[i].name, "reason", left_out[i].reason));
    return rows_text(rows, n);
}

/* Everything that goes into the tensors. */
typedef struct {
    arena memory;
    int64_t bytes;
    uint8_t *packed, *grain;
    int32_t *size;
    double *origin, *step, *quality;
    double lo[HRC_JOINTS], hi[HRC_JOINTS];
} columns;

static double rounded(double x)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.*g", FIGURE_DIGITS, x);
    return strtod(digits, NULL);
}

static void fill_figures(double *row, const corpus_quality *q)
{
#define PUT_FIGURE(member, from, key) *row++ = rounded(q->member);
    CORPUS_FIGURES(PUT_FIGURE)
#undef PUT_FIGURE
    *row = rounded(q->keypoint_error);
}

static hrc_status fill_columns(columns *t, const char *path, const corpus_item *items, int n, hrc_error *err)
{
    for (int i = 0; i < n; i++) t->bytes += items[i].entry.block_size;
    t->packed = ARENA_NEW(&t->memory, uint8_t, t->bytes);
    t->grain = ARENA_NEW(&t->memory, uint8_t, (size_t)n * HRC_NQ);
    t->size = ARENA_NEW(&t->memory, int32_t, n);
    t->origin = ARENA_NEW(&t->memory, double, 3 * (size_t)n);
    t->step = ARENA_NEW(&t->memory, double, 3 * (size_t)n);
    t->quality = ARENA_NEW(&t->memory, double, CORPUS_FIGURE_COUNT *(size_t)n);
    if (!t->packed || !t->grain || !t->size || !t->origin || !t->step || !t->quality)
        return fail(err, HRC_ENOMEM, "%s: out of memory for %lld bytes", path, (long long)t->bytes);
    joint_ranges(t->lo, t->hi);
    uint8_t *at = t->packed;
    for (int i = 0; i < n; i++) {
        const corpus_entry *e = &items[i].entry;
        memcpy(at, e->block, (size_t)e->block_size);
        memcpy(t->grain + (size_t)i * HRC_NQ, e->grain, sizeof e->grain);
        fill_figures(t->quality + (size_t)i * CORPUS_FIGURE_COUNT, &e->quality);
        memcpy(t->origin + 3 * i, e->origin, sizeof e->origin);
        memcpy(t->step + 3 * i, e->step, sizeof e->step);
        t->size[i] = (int32_t)e->block_size; /* a clip has at most 10^6 frames of 72 bytes */
        at += e->block_size;
    }
    return HRC_OK;
}

static hrc_status write_file(const char *path, const columns *t, int n, const tensor_meta *meta, int nmeta,
                             hrc_error *err)
{
    /* The widest type first, so that every tensor is aligned to its numbers. */
    const tensor tensors[] = {
        {"origin", DT_F64, 2, {n, 3}, 3 * (int64_t)n, t->origin},
        {"step", DT_F64, 2, {n, 3}, 3 * (int64_t)n, t->step},
        {"quality", DT_F64, 2, {n, CORPUS_FIGURE_COUNT}, CORPUS_FIGURE_COUNT * (int64_t)n, t->quality},
        {"joint_lo", DT_F64, 1, {HRC_JOINTS}, HRC_JOINTS, t->lo},
        {"joint_hi", DT_F64, 1, {HRC_JOINTS}, HRC_JOINTS, t->hi},
        {"size", DT_I32, 1, {n}, n, t->size},
        {"grain", DT_U8, 2, {n, HRC_NQ}, (int64_t)n * HRC_NQ, t->grain},
        {"packed", DT_U8, 1, {t->bytes}, t->bytes, t->packed},
    };
    return tensorfile_write(path, tensors, COUNT(tensors), meta, nmeta, err);
}

static hrc_status check_names(const char *path, const corpus_item *items, int n, hrc_error *err)
{
    if (n < 1) return fail(err, HRC_EINVAL, "%s: no clips to write", path);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(items[i].entry.name, items[k].entry.name) == 0)
                return fail(err, HRC_EINVAL, "%s: two clips are called \"%.80s\"", path, items[i].entry.name);
    return HRC_OK;
}

hrc_status corpus_write(const char *path, const corpus_item *items, int n, const corpus_left_out *left_out,
                        int nleft_out, const tensor_meta *meta, int nmeta, hrc_error *err)
{
    char joints[G1_NAMES_BYTES], *clips = NULL, *out = NULL;
    const char *source, *licence;
    columns t = {0};
    TRY(check_names(path, items, n, err));
    find_common(&source, &licence, items, n);
    g1_joint_names(joints);
    hrc_status status = fill_columns(&t, path, items, n, err);
    tensor_meta *all = ARENA_NEW(&t.memory, tensor_meta, nmeta + 7);
    if (status >= 0) {
        clips = clips_text(items, n, source, licence);
        out = left_out_text(left_out, nleft_out);
        if (!clips || !out || !all)
            status = fail(err, HRC_ENOMEM,
                          "%s: cannot describe the clips (out of memory, or a text is not UTF-8)", path);
    }
    if (status >= 0) {
        int k = 0;
        all[k++] = (tensor_meta){"format", CORPUS_FORMAT};
        all[k++] = (tensor_meta){"fps", "50"};
        for (int i = 0; i < nmeta; i++) all[k++] = meta[i];
        if (source) all[k++] = (tensor_meta){"source", source};
        if (licence) all[k++] = (tensor_meta){"licence", licence};
        all[k++] = (tensor_meta){"joint_names", joints};
        all[k++] = (tensor_meta){"left_out", out};
        all[k++] = (tensor_meta){"clips", clips};
        status = write_file(path, &t, n, all, k, err);
    }
    free(clips);
    free(out);
    arena_free(&t.memory);
    return status;
}
