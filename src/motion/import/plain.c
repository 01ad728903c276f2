/* The formats that need no other library: a CSV and our own clip. What libheracles reads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "motion/corpus.h"
#include "motion/import/formats.h"
#include "robot/g1.h"

/* ---- Our own clip ---- */

/* Our own clip: a safetensors file with the tensor "qpos" F32 (n, 36) and, as metadata, what a reader needs
 * to refuse a mismatch: rate, joint names in order, and where the motion comes from. A rollout has the same,
 * and more beside it that is no part of the motion. */

#define FORMAT "heracles-clip"

static hrc_status parse_rate(double *fps, const tensorfile *file, hrc_error *err)
{
    const char *text;
    char *end;
    TRY(tensorfile_need_meta(file, "fps", &text, err));
    *fps = strtod(text, &end);
    if (end == text || *end || !(*fps > 0 && *fps <= 10000))
        return fail(err, HRC_EFORMAT, "%s: metadata fps is \"%.40s\", expected a rate above 0", file->path,
                    text);
    return HRC_OK;
}

static hrc_status read_clip(clip *c, const tensorfile *file, const clip_options *options, clip_decisions *why,
                            hrc_error *err)
{
    const char *format;
    const tensor *qpos;
    double fps;
    TRY(tensorfile_need_meta(file, "format", &format, err));
    if (strcmp(format, CORPUS_FORMAT) == 0)
        return fail(err, HRC_EFORMAT, "%s: is a corpus; name one of its clips, as in %s#NAME", file->path,
                    file->path);
    const bool rollout = strcmp(format, ROLLOUT_FORMAT) == 0;
    if (!rollout && strcmp(format, FORMAT) != 0)
        return fail(err, HRC_EFORMAT,
                    "%s: metadata format is \"%.80s\", expected \"" FORMAT "\" or \"" ROLLOUT_FORMAT "\"",
                    file->path, format);
    why->simulated = rollout;
    snprintf(why->format, sizeof why->format, rollout ? "rollout" : "safetensors clip");
    TRY(g1_check_joint_names(tensorfile_meta(file, "joint_names"), file->path, err));
    TRY(parse_rate(&fps, file, err));
    TRY(tensorfile_need(file, "qpos", DT_F32, 2, (int64_t[]){-1, HRC_NQ}, &qpos, err));
    if (qpos->shape[0] < 1 || qpos->shape[0] > CLIP_MAX_FRAMES)
        return fail(err, HRC_EFORMAT, "%s: tensor \"qpos\" has %lld frames, expected 1 to %d", file->path,
                    (long long)qpos->shape[0], CLIP_MAX_FRAMES);
    const char *name = tensorfile_meta(file, "name");
    double rate = options->fps > 0 ? options->fps : fps;
    if (name)
        TRY(clip_create(c, (int)qpos->shape[0], rate, name, err));
    else
        TRY(clip_create_for(c, (int)qpos->shape[0], rate, file->path, err));
    memcpy(c->qpos, qpos->data, (size_t)qpos->count * sizeof(float));
    TRY(clip_label(c, tensorfile_text(file, "category", ""), tensorfile_text(file, "source", ""),
                   tensorfile_text(file, "licence", ""), err));
    return clip_check(c, file->path, err);
}

static hrc_status clipfile_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                                 clip_decisions *why, hrc_error *err)
{
    tensorfile file;
    *c = (clip){0};
    TRY(tensorfile_parse(&file, path, bytes, err));
    hrc_status status = read_clip(c, &file, options, why, err);
    tensorfile_close(&file);
    if (status < 0) {
        clip_free(c);
        return status;
    }
    snprintf(why->fps, sizeof why->fps, options->fps > 0 ? "%g, as asked for" : "%g, from the file", c->fps);
    snprintf(why->joints, sizeof why->joints, "the G1's order, by the names in the file");
    snprintf(why->quat, sizeof why->quat, "w,x,y,z: the format's only order");
    return HRC_OK;
}

hrc_status clipfile_write(const clip *c, const char *path, hrc_error *err)
{
    char names[G1_NAMES_BYTES], fps[32];
    g1_joint_names(names);
    snprintf(fps, sizeof fps, "%.17g", c->fps);
    const tensor_meta meta[] = {{"format", FORMAT},    {"name", c->name},       {"category", c->category},
                                {"source", c->source}, {"licence", c->licence}, {"fps", fps},
                                {"joint_names", names}};
    const tensor qpos = tensor_rows("qpos", c->qpos, c->n, HRC_NQ);
    return tensorfile_write(path, &qpos, 1, meta, COUNT(meta), err);
}

/* ---- Either ---- */

bool clip_is_text(file_view bytes)
{
    size_t n = bytes.size < 4096 ? bytes.size : 4096;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];
        if (byte < 32 && byte != '\n' && byte != '\r' && byte != '\t') return false;
    }
    return true;
}

void clip_decisions_tame(clip_decisions *why)
{
    char *const texts[] = {why->format, why->fps, why->joints, why->quat};
    for (int i = 0; i < COUNT(texts); i++) status_tame(texts[i], false);
}

hrc_status plain_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                       clip_decisions *why, hrc_error *err)
{
    *c = (clip){0};
    if (!(options->fps >= 0))
        return fail(err, HRC_EINVAL, "%s: frame rate %g asked for, expected a positive one", path,
                    options->fps);
    if (bytes.size > 8 && bytes.data[8] == '{') return clipfile_parse(c, path, bytes, options, why, err);
    bytes = file_text(bytes);
    if (file_begins(bytes, "version https://git-lfs"))
        return fail(err, HRC_EFORMAT,
                    "%s: is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`", path);
    if (!clip_is_text(bytes) || file_begins(bytes, "HIERARCHY"))
        return fail(
            err, HRC_EFORMAT,
            "%s: is neither a CSV nor a safetensors clip, by its first bytes; `heracles motion convert` "
            "reads more formats and writes these",
            path);
    return csv_parse(c, path, bytes, options, why, err);
}

hrc_status clip_create_for(clip *c, int n, double fps, const char *path, hrc_error *err)
{
    char name[256];
    file_stem(name, sizeof name, path);
    return clip_create(c, n, fps, name, err);
}
