#include "learn/motions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/clip.h"
#include "motion/corpus.h"

#define HELDOUT_EVERY 10 /* of clip files */

static void take(motions *m, clip c, bool heldout)
{
    *(heldout ? &m->heldout_s : &m->train_s) += c.n / c.fps;
    m->heldout[m->n] = heldout;
    m->clips[m->n++] = c;
}

static hrc_status from_corpus(motions *m, const corpus *c, hrc_error *err)
{
    for (int i = 0; i < c->nclips; i++) {
        clip one;
        TRY(corpus_clip(c, i, &one, err));
        take(m, one, c->clips[i].split != CORPUS_TRAIN);
    }
    return HRC_OK;
}

static hrc_status from_file(motions *m, const char *path, const clip_options *reading, bool heldout,
                            hrc_error *err)
{
    clip original, c;
    TRY(clip_load(&original, path, reading, NULL, err));
    hrc_status status = clip_resample(&c, &original, CORPUS_FPS, err);
    clip_free(&original);
    TRY(status);
    take(m, c, heldout);
    return HRC_OK;
}

static hrc_status add_mirrored(motions *m, hrc_error *err)
{
    for (int i = 0, n = m->n; i < n; i++) {
        if (m->heldout[i]) continue;
        clip copy;
        TRY(clip_cut(&copy, &m->clips[i], 0, m->clips[i].n - 1, err));
        clip_mirror(&copy);
        m->heldout[m->n] = false;
        m->clips[m->n++] = copy;
    }
    return HRC_OK;
}

/* Room for n more and, should they be wanted, their mirror images. */
static hrc_status make_room(motions *m, int n, hrc_error *err)
{
    const size_t most = 2 * (size_t)(m->n + n);
    clip *clips = realloc(m->clips, most * sizeof *clips);
    if (clips) m->clips = clips;
    bool *heldout = realloc(m->heldout, most * sizeof *heldout);
    if (heldout) m->heldout = heldout;
    return clips && heldout ? HRC_OK : fail(err, HRC_ENOMEM, "motions: out of memory for %d clips", n);
}

static hrc_status load_corpus(motions *m, const char *path, hrc_error *err)
{
    corpus c;
    TRY(corpus_open(&c, path, err));
    hrc_status status = make_room(m, c.nclips, err);
    if (status == HRC_OK) status = from_corpus(m, &c, err);
    corpus_close(&c);
    return status;
}

/* paths: one or several, separated by commas. */
static hrc_status load_corpora(motions *m, const char *paths, hrc_error *err)
{
    for (const char *at = paths; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(at, ","), at);
        TRY(load_corpus(m, path, err));
    }
    return HRC_OK;
}

/* split: every tenth is held out. */
static hrc_status load_files(motions *m, const char *const *files, int n, const clip_options *reading,
                             bool split, hrc_error *err)
{
    TRY(make_room(m, n, err));
    for (int i = 0; i < n; i++)
        TRY(from_file(m, files[i], reading, split && i % HELDOUT_EVERY == HELDOUT_EVERY - 1, err));
    return HRC_OK;
}

hrc_status motions_load(motions *m, const char *corpora, const char *const *files, int nfiles,
                        const clip_options *reading, bool mirror, hrc_error *err)
{
    *m = (motions){0};
    hrc_status status = corpora ? load_corpora(m, corpora, err) : HRC_OK;
    if (status == HRC_OK) status = load_files(m, files, nfiles, reading, !corpora, err);
    if (status == HRC_OK && mirror) status = add_mirrored(m, err);
    if (status < 0) motions_free(m);
    return status;
}

void motions_free(motions *m)
{
    for (int i = 0; i < m->n; i++) clip_free(&m->clips[i]);
    free(m->clips);
    free(m->heldout);
    *m = (motions){0};
}
