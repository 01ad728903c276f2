#include "play/catalog.h"

#include <stdio.h>
#include <string.h>

#define LONGEST_S 3600.0

/* A file's motion at 50 Hz. */
static hrc_status load_file(const catalog *c, clip *out, const char *path, hrc_error *err)
{
    clip original;
    TRY(clip_load(&original, path, &c->reading, NULL, err));
    hrc_status status = clip_resample(out, &original, HRC_RATE_HZ, err);
    clip_free(&original);
    return status;
}

static hrc_status add_file(catalog *c, const char *path, hrc_error *err)
{
    clip motion;
    TRY(load_file(c, &motion, path, err));
    catalog_entry *e = &c->entries[c->n];
    *e = (catalog_entry){.name = arena_strdup(&c->memory, motion.name),
                         .category = arena_strdup(&c->memory, *motion.category ? motion.category : "file"),
                         .description = "",
                         .frames = motion.n,
                         .path = arena_strdup(&c->memory, path)};
    clip_free(&motion);
    if (!e->name || !e->category || !e->path) return fail(err, HRC_ENOMEM, "list of motions: out of memory");
    c->n++;
    return HRC_OK;
}

static void add_clips(catalog *c)
{
    for (int i = 0; i < c->clips.nclips; i++) {
        const corpus_entry *e = &c->clips.clips[i];
        c->entries[c->n++] = (catalog_entry){.name = e->name,
                                             .category = e->category,
                                             .description = e->description,
                                             .frames = e->n,
                                             .clip = i};
    }
}

static hrc_status fill(catalog *c, const char *corpus_path, const char *const *files, int n, hrc_error *err)
{
    if (corpus_path) TRY(corpus_open(&c->clips, corpus_path, err));
    const int all = c->clips.nclips + n;
    if (all == 0) return fail(err, HRC_EINVAL, "there is no motion to play: give a file or a corpus");
    c->room = all + CATALOG_ADDED;
    c->entries = ARENA_NEW(&c->memory, catalog_entry, c->room);
    if (!c->entries) return fail(err, HRC_ENOMEM, "list of motions: out of memory");
    for (int i = 0; i < n; i++) TRY(add_file(c, files[i], err));
    add_clips(c);
    return HRC_OK;
}

hrc_status catalog_open(catalog *out, const char *corpus_path, const char *const *files, int n,
                        const clip_options *reading, hrc_error *err)
{
    *out = (catalog){0};
    if (reading) out->reading = *reading;
    hrc_status status = fill(out, corpus_path, files, n, err);
    if (status < 0) catalog_close(out);
    return status;
}

void catalog_close(catalog *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->entries[i].added) clip_free((clip *)c->entries[i].added);
    if (c->clips.nclips) corpus_close(&c->clips);
    arena_free(&c->memory);
    *c = (catalog){0};
}

/* A name that no other has. */
static void free_name(const catalog *c, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%.200s", name);
    for (int k = 2; catalog_find(c, out) >= 0; k++) snprintf(out, size, "%.200s (%d)", name, k);
}

static hrc_status add_motion(catalog *c, clip *motion, hrc_error *err)
{
    char name[256];
    clip *kept = ARENA_NEW(&c->memory, clip, 1);
    free_name(c, motion->name, name, sizeof name);
    const char *own = arena_strdup(&c->memory, name);
    if (!kept || !own) return fail(err, HRC_ENOMEM, "list of motions: out of memory");
    *kept = *motion;
    c->entries[c->n] = (catalog_entry){
        .name = own, .category = "added", .description = "", .frames = kept->n, .added = kept};
    c->n++;
    return HRC_OK;
}

hrc_status catalog_add(catalog *c, clip *motion, int *at, hrc_error *err)
{
    hrc_status status = c->n < c->room ? add_motion(c, motion, err)
                                       : fail(err, HRC_EINVAL,
                                              "%.200s: %d motions were added, there is no "
                                              "room for more until the playground ends",
                                              motion->name, CATALOG_ADDED);
    if (status < 0)
        clip_free(motion);
    else
        *at = c->n - 1;
    *motion = (clip){0};
    return status;
}

int catalog_find(const catalog *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->entries[i].name, name)) return i;
    return -1;
}

hrc_status catalog_course(const catalog *c, int i, course *out, hrc_error *err)
{
    const catalog_entry *e = &c->entries[i];
    clip motion;
    if (e->path)
        TRY(load_file(c, &motion, e->path, err));
    else if (e->added)
        TRY(clip_cut(&motion, e->added, 0, e->added->n - 1, err));
    else
        TRY(corpus_clip(&c->clips, e->clip, &motion, err));
    return course_create(out, e->name, e->category, &motion, false, 0, LONGEST_S, err);
}
