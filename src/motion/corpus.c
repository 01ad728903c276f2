/* Reading a corpus. */
#include "motion/corpus.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "motion/corpus_codes.h"

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

static hrc_status read_entry(corpus_entry *e, json_t *object, const place *at, hrc_error *err)
{
    const char *split;
    TRY(need_text(&e->name, object, "name", at, err));
    TRY(need_text(&e->category, object, "category", at, err));
    TRY(need_text(&e->description, object, "description", at, err));
    TRY(need_text(&e->source, object, "source", at, err));
    TRY(need_text(&e->licence, object, "licence", at, err));
    TRY(need_text(&split, object, "split", at, err));
    if (strcmp(split, "train") != 0 && strcmp(split, "heldout") != 0)
        return fail(err, HRC_EFORMAT, "%s: metadata %s: entry %d: split \"%.40s\", expected train or heldout",
                    at->file->path, at->key, at->index, split);
    e->split = strcmp(split, "train") == 0 ? CORPUS_TRAIN : CORPUS_HELDOUT;
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
    const tensor *first, *origin, *step;
    TRY(tensorfile_need(&c->file, "first", DT_I32, 1, (int64_t[]){c->nclips}, &first, err));
    TRY(tensorfile_need(&c->file, "origin", DT_F64, 2, (int64_t[]){c->nclips, 3}, &origin, err));
    TRY(tensorfile_need(&c->file, "step", DT_F64, 2, (int64_t[]){c->nclips, 3}, &step, err));
    for (int i = 0; i < c->nclips; i++) {
        corpus_entry *e = &c->clips[i];
        int32_t begin;
        memcpy(&begin, (const int32_t *)first->data + i, sizeof begin);
        memcpy(e->origin, (const double *)origin->data + 3 * i, sizeof e->origin);
        memcpy(e->step, (const double *)step->data + 3 * i, sizeof e->step);
        if (begin != e->first)
            return fail(err, HRC_EFORMAT, "%s: clip \"%.80s\" begins at frame %d, expected %d", c->file.path,
                        e->name, (int)begin, e->first);
        for (int k = 0; k < 3; k++)
            if (!isfinite(e->origin[k]) || !(e->step[k] > 0 && e->step[k] < 1))
                return fail(err, HRC_EFORMAT, "%s: clip \"%.80s\": origin %g or step %g makes no sense",
                            c->file.path, e->name, e->origin[k], e->step[k]);
    }
    return HRC_OK;
}

static hrc_status read_tensors(corpus *c, hrc_error *err)
{
    const tensor *frames, *lo, *hi;
    TRY(read_travel(c, err));
    TRY(tensorfile_need(&c->file, "frames", DT_I16, 2, (int64_t[]){c->nframes, HRC_NQ}, &frames, err));
    TRY(tensorfile_need(&c->file, "joint_lo", DT_F64, 1, (int64_t[]){HRC_JOINTS}, &lo, err));
    TRY(tensorfile_need(&c->file, "joint_hi", DT_F64, 1, (int64_t[]){HRC_JOINTS}, &hi, err));
    c->frames = frames->data;
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
    const char *format = tensorfile_meta(&c->file, "format");
    if (!format || strcmp(format, CORPUS_FORMAT) != 0)
        return fail(err, HRC_EFORMAT, "%s: metadata format is \"%.80s\", expected \"" CORPUS_FORMAT "\"",
                    c->file.path, format ? format : "");
    TRY(g1_check_joint_names(tensorfile_meta(&c->file, "joint_names"), c->file.path, err));
    const char *fps = tensorfile_meta(&c->file, "fps");
    if (!fps || strcmp(fps, "50") != 0)
        return fail(err, HRC_EFORMAT, "%s: metadata fps is \"%.40s\", expected \"50\"", c->file.path,
                    fps ? fps : "");
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

hrc_status corpus_parse(corpus *c, const char *path, file_view bytes, hrc_error *err)
{
    *c = (corpus){0};
    TRY(tensorfile_parse(&c->file, path, bytes, err));
    hrc_status status = read_corpus(c, err);
    if (status < 0) corpus_close(c);
    return status;
}

hrc_status corpus_open(corpus *c, const char *path, hrc_error *err)
{
    file_view map;
    *c = (corpus){0};
    TRY(file_map(path, &map, err));
    hrc_status status = corpus_parse(c, path, map, err);
    if (status < 0)
        file_unmap(&map);
    else
        c->file.map = map;
    return status;
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

hrc_status corpus_clip_part(const corpus *c, int i, int first, int last, clip *out, hrc_error *err)
{
    const corpus_entry *e = &c->clips[i];
    *out = (clip){0};
    if (first < 0 || last < first || last >= e->n)
        return fail(err, HRC_EINVAL, "%s: clip \"%.80s\" has frames 0 to %d, asked for %d to %d",
                    c->file.path, e->name, e->n - 1, first, last);
    TRY(clip_create(out, last - first + 1, CORPUS_FPS, e->name, err));
    hrc_status status = clip_label(out, e->category, e->source, e->licence, err);
    if (status < 0) {
        clip_free(out);
        return status;
    }
    for (int k = 0; k < out->n; k++) {
        int16_t codes[HRC_NQ];
        memcpy(codes, c->frames + ((size_t)e->first + first + k) * HRC_NQ, sizeof codes);
        corpus_decode(clip_frame(out, k), codes, e, c->joint_lo, c->joint_hi);
    }
    return HRC_OK;
}

hrc_status corpus_clip(const corpus *c, int i, clip *out, hrc_error *err)
{
    return corpus_clip_part(c, i, 0, c->clips[i].n - 1, out, err);
}
