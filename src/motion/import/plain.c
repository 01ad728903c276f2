/* The formats that need no other library: a CSV and our own clip. What libheracles reads. */
#include <string.h>

#include "motion/import/formats.h"

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
