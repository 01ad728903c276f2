/* Which format a file has: for reading its content says so, for writing the ending of its name. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "motion/corpus.h"
#include "motion/import/formats.h"
#include "motion/import/pickle.h"

bool policy_begins(file_view bytes)
{
    return bytes.size > 1 && bytes.data[0] == 8 && bytes.data[1] > 2 && bytes.data[1] < 32; /* ir_version */
}

static hrc_status parse_any(clip *c, const char *path, file_view bytes, const clip_options *options,
                            clip_decisions *why, hrc_error *err)
{
    if (bytes.size > 8 && bytes.data[8] == '{') return plain_parse(c, path, bytes, options, why, err);
    if (options->fps < 0)
        return fail(err, HRC_EINVAL, "%s: frame rate %g asked for, expected a positive one", path,
                    options->fps);
    bytes = file_text(bytes);
    if (file_begins(bytes, "PK")) return npz_parse(c, path, bytes, options, why, err);
    if (pickle_begins(bytes)) return pkl_parse(c, path, bytes, options, why, err);
    if (policy_begins(bytes)) return policy_parse(c, path, bytes, options, why, err);
    if (file_begins(bytes, "HIERARCHY"))
        return fail(
            err, HRC_EFORMAT,
            "%s: is a BVH of a human skeleton, which must be retargeted before it is a clip of the G1", path);
    if (!clip_is_text(bytes))
        return fail(err, HRC_EFORMAT,
                    "%s: is none of a CSV, an NPZ, a pickle and a safetensors clip, by its first bytes",
                    path);
    return plain_parse(c, path, bytes, options, why, err);
}

hrc_status clip_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                      clip_decisions *why, hrc_error *err)
{
    const clip_options none = {0};
    clip_decisions unwanted;
    if (!why) why = &unwanted;
    *why = (clip_decisions){0};
    *c = (clip){0};
    hrc_status status = parse_any(c, path, bytes, options ? options : &none, why, err);
    clip_decisions_tame(why);
    return status;
}

/* The clip of that name in a corpus. */
static hrc_status load_from_corpus(clip *c, const char *path, const char *file, const char *name,
                                   const clip_options *options, clip_decisions *why, hrc_error *err)
{
    corpus all;
    if (options && options->fps > 0 && options->fps != CORPUS_FPS)
        return fail(err, HRC_EINVAL, "%s: frame rate %g asked for, but a corpus has %g", path, options->fps,
                    CORPUS_FPS);
    TRY(corpus_open(&all, file, err));
    int i = corpus_find(&all, name);
    hrc_status status =
        i < 0 ? fail(err, HRC_EINVAL, "%s: has no clip \"%.80s\" among its %d", file, name, all.nclips)
              : corpus_clip(&all, i, c, err);
    corpus_close(&all);
    if (status < 0 || !why) return status;
    *why = (clip_decisions){0};
    snprintf(why->format, sizeof why->format, "clip of a corpus");
    snprintf(why->fps, sizeof why->fps, "%g: the rate of every corpus", CORPUS_FPS);
    return HRC_OK;
}

/* FILE#NAME */
static hrc_status load_member(clip *c, const char *path, const char *hash, const clip_options *options,
                              clip_decisions *why, hrc_error *err)
{
    char file[4096];
    file_view bytes;
    if (hash - path >= (int)sizeof file) return fail(err, HRC_EINVAL, "%.80s...: path is too long", path);
    snprintf(file, sizeof file, "%.*s", (int)(hash - path), path);
    TRY(file_map(file, &bytes, err));
    clip_options chosen = options ? *options : (clip_options){0};
    chosen.member = hash + 1;
    bool pickle = pickle_begins(bytes);
    hrc_status status = pickle ? clip_parse(c, file, bytes, &chosen, why, err) : HRC_OK;
    file_unmap(&bytes);
    return pickle ? status : load_from_corpus(c, path, file, hash + 1, options, why, err);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static hrc_status load_folder(clip *c, const char *path, const clip_options *options, clip_decisions *why,
                              hrc_error *err)
{
    const clip_options none = {0};
    clip_decisions unwanted;
    if (!why) why = &unwanted;
    *why = (clip_decisions){0};
    char folder[4096]; /* without a slash behind, so that it has a name */
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n >= sizeof folder) return fail(err, HRC_EINVAL, "%.80s...: path is too long", path);
    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    char table[4200];
    snprintf(table, sizeof table, "%s/joint_pos.csv", folder);
    if (access(table, F_OK) != 0)
        return fail(err, HRC_EFILE,
                    "%s: is a folder, and not one of SONIC's: it has no joint_pos.csv; give the files in it",
                    path);
    return sonic_load(c, folder, options ? options : &none, why, err);
}

static hrc_status load_any(clip *c, const char *path, const clip_options *options, clip_decisions *why,
                           hrc_error *err)
{
    file_view bytes;
    const char *hash = strrchr(path, '#');
    *c = (clip){0};
    if (hash && access(path, F_OK) != 0) return load_member(c, path, hash, options, why, err);
    if (is_folder(path)) return load_folder(c, path, options, why, err);
    TRY(file_map(path, &bytes, err));
    hrc_status status = clip_parse(c, path, bytes, options, why, err);
    file_unmap(&bytes);
    return status;
}

hrc_status clip_load(clip *c, const char *path, const clip_options *options, clip_decisions *why,
                     hrc_error *err)
{
    clip_decisions unwanted;
    if (!why) why = &unwanted;
    TRY(load_any(c, path, options, why, err));
    if (options && options->noted) options->noted(options->ctx, path, why);
    return HRC_OK;
}

hrc_status clip_load_at(clip *c, const char *path, double fps, const clip_options *options, hrc_error *err)
{
    clip original;
    TRY(clip_load(&original, path, options, NULL, err));
    hrc_status status = clip_resample(c, &original, fps, err);
    clip_free(&original);
    return status;
}

hrc_status clip_save(const clip *c, const char *path, hrc_error *err)
{
    const char *ending = strrchr(path, '.');
    if (ending && !strcasecmp(ending, ".csv")) return csv_write(c, path, err);
    if (ending && !strcasecmp(ending, ".npz")) return npz_write(c, path, err);
    if (ending && !strcasecmp(ending, ".safetensors")) return clipfile_write(c, path, err);
    return fail(err, HRC_EINVAL, "%s: cannot tell the format; expected the ending .csv, .npz or .safetensors",
                path);
}
