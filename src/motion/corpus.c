/* Reading a corpus. */
#include "motion/corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "motion/pack.h"

const char *corpus_split_word(corpus_split split)
{
    static const char *const WORDS[CORPUS_SPLITS] = {"train", "heldout", "validation"};
    return WORDS[split];
}

/* ---- The table of clips: JSON in the metadata ---- */

/* Where in the file something was found, for sentences. */
typedef struct {
    tensorfile *file;
    const char *key;
    int index;
} place;

static hrc_status need_text(const char **out, json_t *object, const char *key, const place *at,
                            hrc_error *err)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: \"%s\" is not a text", at->file->path,
                    at->key, at->index, key);
    if (!status_is_tame(json_string_value(value)))
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: \"%s\" holds control bytes", at->file->path,
                    at->key, at->index, key);
    *out = arena_strdup(&at->file->memory, json_string_value(value));
    return *out ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", at->file->path);
}

static hrc_status need_int(int *out, json_t *value, int lo, int hi, const char *what, const place *at,
                           hrc_error *err)
{
    json_int_t x = json_integer_value(value);
    if (!json_is_integer(value) || x < lo || x > hi)
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: %s is not a whole number from %d to %d",
                    at->file->path, at->key, at->index, what, lo, hi);
    *out = (int)x;
    return HRC_OK;
}

/* What an entry does not say itself, the file says for all. */
static hrc_status need_text_of_all(const char **out, json_t *object, const char *key, const place *at,
                                   hrc_error *err)
{
    *out = json_object_get(object, key) ? NULL : tensorfile_meta(at->file, key);
    return *out ? HRC_OK : need_text(out, object, key, at, err);
}

/* ["down", "supine", first, last] */
static hrc_status read_phase(phase *p, json_t *row, int begin, int n, const place *at, hrc_error *err)
{
    const char *kind = json_string_value(json_array_get(row, 0));
    const char *posture = json_string_value(json_array_get(row, 1));
    int k = kind ? phase_from_word(kind) : -1, l = posture ? posture_from_word(posture) : -1;
    if (k < 0 || l < 0)
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: a phase is \"%.40s\", \"%.40s\"",
                    at->file->path, at->key, at->index, kind ? kind : "", posture ? posture : "");
    p->kind = (phase_kind)k, p->posture = (phase_posture)l;
    TRY(need_int(&p->first, json_array_get(row, 2), begin, begin, "the first frame of a phase", at, err));
    return need_int(&p->last, json_array_get(row, 3), begin, n - 1, "the last frame of a phase", at, err);
}

static hrc_status read_phases(corpus_entry *e, json_t *rows, const place *at, hrc_error *err)
{
    e->nphases = (int)json_array_size(rows);
    if (e->nphases < 1 || e->nphases > e->n)
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: %d phases, expected 1 to %d",
                    at->file->path, at->key, at->index, e->nphases, e->n);
    e->phases = ARENA_NEW(&at->file->memory, phase, e->nphases);
    if (!e->phases) return fail(err, HRC_ENOMEM, "%s: out of memory", at->file->path);
    int begin = 0;
    for (int i = 0; i < e->nphases; i++) {
        TRY(read_phase(&e->phases[i], json_array_get(rows, (size_t)i), begin, e->n, at, err));
        begin = e->phases[i].last + 1;
    }
    if (begin != e->n)
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: phases end at frame %d of %d",
                    at->file->path, at->key, at->index, begin, e->n);
    return HRC_OK;
}

static double figure(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static hrc_status read_quality(corpus_quality *q, json_t *object, const place *at, hrc_error *err)
{
    const char *verdict;
#define READ_FIGURE(member, from, key) q->member = figure(object, key);
    CORPUS_FIGURES(READ_FIGURE)
#undef READ_FIGURE
    q->keypoint_error = figure(object, "keypoint_error_m");
    TRY(need_text(&verdict, object, "verdict", at, err));
    for (int v = QUALITY_GOOD; v <= QUALITY_BAD; v++)
        if (strcmp(verdict, quality_word((quality_verdict)v)) == 0) {
            q->verdict = (quality_verdict)v;
            return HRC_OK;
        }
    return fail(err, HRC_EFORMAT,
                "%s: metadata %s: entry %d: verdict \"%.40s\", expected good, usable or bad", at->file->path,
                at->key, at->index, verdict);
}

static hrc_status read_split(corpus_split *out, json_t *object, const place *at, hrc_error *err)
{
    const char *word;
    TRY(need_text(&word, object, "split", at, err));
    for (int i = 0; i < CORPUS_SPLITS; i++)
        if (strcmp(word, corpus_split_word((corpus_split)i)) == 0) {
            *out = (corpus_split)i;
            return HRC_OK;
        }
    return fail(err, HRC_EFORMAT,
                "%s: metadata %s: entry %d: split \"%.40s\", expected train, heldout or validation",
                at->file->path, at->key, at->index, word);
}

static hrc_status read_entry(corpus_entry *e, json_t *object, const place *at, hrc_error *err)
{
    TRY(need_text(&e->name, object, "name", at, err));
    TRY(need_text(&e->category, object, "category", at, err));
    TRY(need_text(&e->description, object, "description", at, err));
    TRY(need_text_of_all(&e->source, object, "source", at, err));
    TRY(need_text_of_all(&e->licence, object, "licence", at, err));
    TRY(read_split(&e->split, object, at, err));
    TRY(need_int(&e->n, json_object_get(object, "frames"), 1, CLIP_MAX_FRAMES, "frames", at, err));
    TRY(read_phases(e, json_object_get(object, "phases"), at, err));
    return read_quality(&e->quality, json_object_get(object, "quality"), at, err);
}

/* The JSON array in metadata `key`. */
static hrc_status need_array(json_t **out, const tensorfile *file, const char *key, hrc_error *err)
{
    const char *text = tensorfile_meta(file, key);
    json_error_t where;
    *out = text ? json_loads(text, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (json_is_array(*out)) return HRC_OK;
    json_decref(*out);
    *out = NULL;
    return fail(err, HRC_EFORMAT, "%s: metadata \"%s\" is %s", file->path, key,
                text ? "not a JSON array" : "missing");
}

static hrc_status read_clips(corpus *c, json_t *rows, hrc_error *err)
{
    if (json_array_size(rows) == 0) return fail(err, HRC_EFORMAT, "%s: has no clips", c->file.path);
    c->nclips = (int)json_array_size(rows);
    c->clips = ARENA_NEW(&c->file.memory, corpus_entry, c->nclips);
    if (!c->clips) return fail(err, HRC_ENOMEM, "%s: out of memory", c->file.path);
    for (int i = 0; i < c->nclips; i++) {
        place at = {&c->file, "clips", i};
        TRY(read_entry(&c->clips[i], json_array_get(rows, (size_t)i), &at, err));
        c->clips[i].first = (int)c->nframes;
        c->nframes += c->clips[i].n;
        if (c->nframes > INT32_MAX)
            return fail(err, HRC_EFORMAT, "%s: more than %d frames", c->file.path, INT32_MAX);
    }
    return HRC_OK;
}

static hrc_status read_left_out(corpus *c, json_t *rows, hrc_error *err)
{
    c->nleft_out = (int)json_array_size(rows);
    c->left_out = ARENA_NEW(&c->file.memory, corpus_left_out, c->nleft_out);
    if (!c->left_out) return fail(err, HRC_ENOMEM, "%s: out of memory", c->file.path);
    for (int i = 0; i < c->nleft_out; i++) {
        place at = {&c->file, "left_out", i};
        json_t *row = json_array_get(rows, (size_t)i);
        TRY(need_text(&c->left_out[i].name, row, "name", &at, err));
        TRY(need_text(&c->left_out[i].reason, row, "reason", &at, err));
    }
    return HRC_OK;
}

/* ---- The tensors ---- */

static hrc_status read_travel(corpus *c, hrc_error *err)
{
    const tensor *origin, *step;
    TRY(tensorfile_need(&c->file, "origin", DT_F64, 2, (int64_t[]){c->nclips, 3}, &origin, err));
    TRY(tensorfile_need(&c->file, "step", DT_F64, 2, (int64_t[]){c->nclips, 3}, &step, err));
    for (int i = 0; i < c->nclips; i++) {
        corpus_entry *e = &c->clips[i];
        memcpy(e->origin, (const double *)origin->data + 3 * i, sizeof e->origin);
        memcpy(e->step, (const double *)step->data + 3 * i, sizeof e->step);
        for (int k = 0; k < 3; k++)
            if (!isfinite(e->origin[k]) || !(e->step[k] > 0 && e->step[k] < 1))
                return fail(err, HRC_EFORMAT, "%s: clip \"%.80s\": origin %g or step %g makes no sense",
                            c->file.path, e->name, e->origin[k], e->step[k]);
    }
    return HRC_OK;
}

/* The codes themselves, in a file from before blocks. */
static hrc_status read_plain(corpus *c, hrc_error *err)
{
    const tensor *first, *frames;
    TRY(tensorfile_need(&c->file, "first", DT_I32, 1, (int64_t[]){c->nclips}, &first, err));
    TRY(tensorfile_need(&c->file, "frames", DT_I16, 2, (int64_t[]){c->nframes, HRC_NQ}, &frames, err));
    c->frames = frames->data;
    for (int i = 0; i < c->nclips; i++) {
        corpus_entry *e = &c->clips[i];
        int32_t begin;
        memcpy(&begin, (const int32_t *)first->data + i, sizeof begin);
        memset(e->grain, 1, sizeof e->grain);
        if (begin != e->first)
            return fail(err, HRC_EFORMAT, "%s: clip \"%.80s\" begins at frame %d, expected %d", c->file.path,
                        e->name, (int)begin, e->first);
    }
    return HRC_OK;
}

static hrc_status read_figures(corpus *c, hrc_error *err)
{
    const tensor *figures;
    TRY(tensorfile_need(&c->file, "quality", DT_F64, 2, (int64_t[]){c->nclips, CORPUS_FIGURE_COUNT}, &figures,
                        err));
    for (int i = 0; i < c->nclips; i++) {
        double row[CORPUS_FIGURE_COUNT], *next = row;
        memcpy(row, (const double *)figures->data + (size_t)i * CORPUS_FIGURE_COUNT, sizeof row);
        corpus_quality *q = &c->clips[i].quality;
#define TAKE_FIGURE(member, from, key) q->member = *next++;
        CORPUS_FIGURES(TAKE_FIGURE)
#undef TAKE_FIGURE
        q->keypoint_error = *next;
    }
    return HRC_OK;
}

static hrc_status read_blocks(corpus *c, hrc_error *err)
{
    const tensor *packed, *size, *grain;
    TRY(read_figures(c, err));
    TRY(tensorfile_need(&c->file, "packed", DT_U8, 1, (int64_t[]){-1}, &packed, err));
    TRY(tensorfile_need(&c->file, "size", DT_I32, 1, (int64_t[]){c->nclips}, &size, err));
    TRY(tensorfile_need(&c->file, "grain", DT_U8, 2, (int64_t[]){c->nclips, HRC_NQ}, &grain, err));
    const uint8_t *at = packed->data, *end = at + packed->count;
    for (int i = 0; i < c->nclips; i++) {
        corpus_entry *e = &c->clips[i];
        int32_t bytes;
        memcpy(&bytes, (const int32_t *)size->data + i, sizeof bytes);
        memcpy(e->grain, (const uint8_t *)grain->data + (size_t)i * HRC_NQ, sizeof e->grain);
        e->block = at, e->block_size = bytes;
        for (int k = 0; k < HRC_NQ; k++)
            if (e->grain[k] == 0)
                return fail(err, HRC_EFORMAT, "%s: clip \"%.80s\": the grain of number %d is 0", c->file.path,
                            e->name, k);
        if (bytes < 1 || bytes > end - at || !pack_holds(at, bytes, e->n))
            return fail(err, HRC_EFORMAT, "%s: clip \"%.80s\": a block of %d bytes does not hold %d frames",
                        c->file.path, e->name, (int)bytes, e->n);
        at += bytes;
    }
    return at == end ? HRC_OK
                     : fail(err, HRC_EFORMAT, "%s: %lld bytes follow the block of the last clip",
                            c->file.path, (long long)(end - at));
}

static hrc_status read_tensors(corpus *c, hrc_error *err)
{
    const tensor *lo, *hi;
    TRY(read_travel(c, err));
    TRY(tensorfile_find(&c->file, "frames") ? read_plain(c, err) : read_blocks(c, err));
    TRY(tensorfile_need(&c->file, "joint_lo", DT_F64, 1, (int64_t[]){HRC_JOINTS}, &lo, err));
    TRY(tensorfile_need(&c->file, "joint_hi", DT_F64, 1, (int64_t[]){HRC_JOINTS}, &hi, err));
    double *range = ARENA_NEW(&c->file.memory, double, 2 * HRC_JOINTS);
    if (!range) return fail(err, HRC_ENOMEM, "%s: out of memory", c->file.path);
    memcpy(range, lo->data, HRC_JOINTS * sizeof(double));
    memcpy(range + HRC_JOINTS, hi->data, HRC_JOINTS * sizeof(double));
    c->joint_lo = range, c->joint_hi = range + HRC_JOINTS;
    for (int j = 0; j < HRC_JOINTS; j++)
        if (!(c->joint_lo[j] < c->joint_hi[j] && c->joint_hi[j] - c->joint_lo[j] < 100))
            return fail(err, HRC_EFORMAT, "%s: joint %d ranges from %g to %g rad", c->file.path, j,
                        c->joint_lo[j], c->joint_hi[j]);
    return HRC_OK;
}

static hrc_status check_meta(const corpus *c, hrc_error *err)
{
    const char *format = tensorfile_text(&c->file, "format", ""), *fps = tensorfile_text(&c->file, "fps", "");
    if (strcmp(format, CORPUS_FORMAT) != 0)
        return fail(err, HRC_EFORMAT, "%s: metadata format is \"%.80s\", expected \"" CORPUS_FORMAT "\"",
                    c->file.path, format);
    TRY(g1_check_joint_names(tensorfile_meta(&c->file, "joint_names"), c->file.path, err));
    if (strcmp(fps, "50") != 0)
        return fail(err, HRC_EFORMAT, "%s: metadata fps is \"%.40s\", expected \"50\"", c->file.path, fps);
    return HRC_OK;
}

static hrc_status read_corpus(corpus *c, hrc_error *err)
{
    json_t *rows;
    TRY(check_meta(c, err));
    TRY(need_array(&rows, &c->file, "clips", err));
    hrc_status status = read_clips(c, rows, err);
    json_decref(rows);
    TRY(status);
    TRY(need_array(&rows, &c->file, "left_out", err));
    status = read_left_out(c, rows, err);
    json_decref(rows);
    TRY(status);
    return read_tensors(c, err);
}

static hrc_status read_or_close(corpus *c, hrc_error *err)
{
    hrc_status status = read_corpus(c, err);
    if (status < 0) corpus_close(c);
    return status;
}

hrc_status corpus_parse(corpus *c, const char *path, file_view bytes, hrc_error *err)
{
    *c = (corpus){0};
    TRY(tensorfile_parse(&c->file, path, bytes, err));
    return read_or_close(c, err);
}

hrc_status corpus_open(corpus *c, const char *path, hrc_error *err)
{
    *c = (corpus){0};
    TRY(tensorfile_open(&c->file, path, err));
    return read_or_close(c, err);
}

void corpus_close(corpus *c)
{
    tensorfile_close(&c->file);
    *c = (corpus){0};
}

int corpus_find(const corpus *c, const char *name)
{
    for (int i = 0; i < c->nclips; i++)
        if (strcmp(c->clips[i].name, name) == 0) return i;
    return -1;
}

double corpus_seconds(const corpus *c)
{
    return (double)c->nframes / CORPUS_FPS;
}

/* ---- Frames ---- */

/* units (e->n, HRC_NQ) */
static hrc_status read_units(const corpus *c, const corpus_entry *e, uint16_t *units, hrc_error *err)
{
    hrc_error why;
    if (!c->frames) {
        const hrc_status status = unpack_codes(units, e->n, e->block, e->block_size, &why);
        return status < 0 ? fail(err, status, "%s: clip \"%.80s\": %s", c->file.path, e->name, why.text)
                          : HRC_OK;
    }
    const size_t count = (size_t)e->n * HRC_NQ;
    memcpy(units, c->frames + (size_t)e->first * HRC_NQ, count * sizeof *units);
    for (size_t i = 0; i < count; i++) units[i] ^= 0x8000; /* grain 1: unit = code + 32768 */
    return HRC_OK;
}

static hrc_status decode_part(const corpus *c, const corpus_entry *e, int first, clip *out, hrc_error *err)
{
    uint16_t *units = calloc((size_t)e->n, HRC_NQ * sizeof *units);
    hrc_status status = units ? read_units(c, e, units, err)
                              : fail(err, HRC_ENOMEM, "%s: clip \"%.80s\": out of memory for %d frames",
                                     c->file.path, e->name, e->n);
    for (int k = 0; status >= 0 && k < out->n; k++)
        corpus_decode(clip_frame(out, k), units + (size_t)(first + k) * HRC_NQ, e, c->joint_lo, c->joint_hi);
    free(units);
    return status;
}

static hrc_status check_clip(const corpus *c, const corpus_entry *e, clip *made, hrc_error *err)
{
    char name[512];
    snprintf(name, sizeof name, "%.300s#%.80s", c->file.path, e->name);
    return clip_check(made, name, err);
}

hrc_status corpus_clip_part(const corpus *c, int i, int first, int last, clip *out, hrc_error *err)
{
    const corpus_entry *e = &c->clips[i];
    *out = (clip){0};
    if (first < 0 || last < first || last >= e->n)
        return fail(err, HRC_EINVAL, "%s: clip \"%.80s\" has frames 0 to %d, asked for %d to %d",
                    c->file.path, e->name, e->n - 1, first, last);
    TRY(clip_create(out, last - first + 1, CORPUS_FPS, e->name, err));
    hrc_status status = clip_label(out, e->category, e->source, e->licence, err);
    if (status >= 0) status = decode_part(c, e, first, out, err);
    if (status >= 0) status = check_clip(c, e, out, err);
    if (status < 0) clip_free(out);
    return status;
}

hrc_status corpus_clip(const corpus *c, int i, clip *out, hrc_error *err)
{
    return corpus_clip_part(c, i, 0, c->clips[i].n - 1, out, err);
}
