#include "motion/import/archive.h"

#include <stdlib.h>
#include <zip.h>

#define DEFLATE_MAX 1032 /* most bytes that one deflated byte can stand for */
#define DATE_1980 0x0021 /* 1 January 1980, as in the format: the earliest there is */

struct archive {
    zip_t *zip;
    const char *path;
    size_t size; /* bytes of all */
};

hrc_status archive_open(archive **out, const char *path, file_view bytes, hrc_error *err)
{
    *out = NULL;
    zip_error_t why;
    zip_error_init(&why);
    archive *a = calloc(1, sizeof *a);
    zip_source_t *source = a ? zip_source_buffer_create(bytes.data, bytes.size, 0, &why) : NULL;
    if (source) a->zip = zip_open_from_source(source, ZIP_RDONLY, &why);
    if (!a || !a->zip) {
        hrc_status status = fail(err, HRC_EFORMAT, "%s: cannot be read as a zip archive: %s", path,
                                 a ? zip_error_strerror(&why) : "out of memory");
        zip_source_free(source);
        zip_error_fini(&why);
        free(a);
        return status;
    }
    zip_error_fini(&why);
    a->path = path;
    a->size = bytes.size;
    *out = a;
    return HRC_OK;
}

void archive_close(archive *a)
{
    if (!a) return;
    zip_discard(a->zip);
    free(a);
}

bool archive_has(const archive *a, const char *member)
{
    return zip_name_locate(a->zip, member, 0) >= 0;
}

/* Exactly size bytes and then the end, where libzip compares the checksum. */
static bool read_all(zip_file_t *file, char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        zip_int64_t n = zip_fread(file, data + done, size - done);
        if (n <= 0) return false;
        done += (size_t)n;
    }
    char beyond;
    return zip_fread(file, &beyond, 1) == 0;
}

hrc_status archive_read(const archive *a, arena *memory, const char *member, size_t limit, file_view *out,
                        hrc_error *err)
{
    *out = (file_view){0};
    zip_stat_t info;
    zip_stat_init(&info);
    if (zip_stat(a->zip, member, 0, &info) != 0)
        return fail(err, HRC_EFORMAT, "%s: member \"%s\" is missing", a->path, member);
    if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
        return fail(err, HRC_EFORMAT, "%s: member \"%s\" is compressed by method %u, expected 0 or 8",
                    a->path, member, info.comp_method);
    if (info.size > limit)
        return fail(err, HRC_EFORMAT, "%s: member \"%s\" declares %llu bytes, expected at most %zu", a->path,
                    member, (unsigned long long)info.size, limit);
    if (info.comp_size > a->size)
        return fail(err, HRC_EFORMAT, "%s: member \"%s\" declares %llu bytes, but the file has %zu", a->path,
                    member, (unsigned long long)info.comp_size, a->size);
    if (info.size / (info.comp_method == ZIP_CM_STORE ? 1 : DEFLATE_MAX) > info.comp_size)
        return fail(err, HRC_EFORMAT,
                    "%s: member \"%s\" declares %llu bytes, more than its %llu compressed ones can hold",
                    a->path, member, (unsigned long long)info.size, (unsigned long long)info.comp_size);
    char *data = arena_alloc(memory, (size_t)info.size, 1);
    if (!data) return fail(err, HRC_ENOMEM, "%s: out of memory for member \"%s\"", a->path, member);
    zip_file_t *file = zip_fopen_index(a->zip, info.index, 0);
    bool good = file && read_all(file, data, (size_t)info.size);
    hrc_status status = HRC_OK;
    if (!good)
        status = fail(err, HRC_EFORMAT, "%s: member \"%s\" cannot be read: truncated or damaged (%s)",
                      a->path, member, file ? zip_file_strerror(file) : zip_strerror(a->zip));
    if (file) zip_fclose(file);
    if (good) *out = (file_view){data, (size_t)info.size};
    return status;
}

static bool add_member(zip_t *zip, const archive_member *m, bool deflate)
{
    zip_source_t *source = zip_source_buffer(zip, m->data, m->size, 0);
    zip_int64_t index = source ? zip_file_add(zip, m->name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        zip_source_free(source);
        return false;
    }
    return zip_set_file_compression(zip, (zip_uint64_t)index, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) ==
               0 &&
           zip_file_set_dostime(zip, (zip_uint64_t)index, 0, DATE_1980, 0) == 0;
}

/* All bytes of a source; the caller frees them. */
static char *take_bytes(zip_source_t *source, size_t *size)
{
    zip_stat_t info;
    zip_stat_init(&info);
    if (zip_source_stat(source, &info) != 0 || zip_source_open(source) != 0) return NULL;
    char *data = malloc((size_t)info.size);
    *size = (size_t)info.size;
    bool good = data && zip_source_read(source, data, info.size) == (zip_int64_t)info.size;
    zip_source_close(source);
    if (good) return data;
    free(data);
    return NULL;
}

hrc_status archive_pack(char **bytes, size_t *size, const char *path, const archive_member *members, int n,
                        bool deflate, hrc_error *err)
{
    *bytes = NULL;
    zip_source_t *buffer = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_t *zip = buffer ? zip_open_from_source(buffer, ZIP_TRUNCATE, NULL) : NULL;
    if (!zip) {
        zip_source_free(buffer);
        return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    }
    zip_source_keep(buffer); /* zip_close lets go of it once; its bytes are wanted after that */
    bool good = true;
    for (int i = 0; i < n && good; i++) good = add_member(zip, &members[i], deflate);
    if (!good || zip_close(zip) != 0)
        zip_discard(zip);
    else
        *bytes = take_bytes(buffer, size);
    zip_source_free(buffer);
    return *bytes ? HRC_OK : fail(err, HRC_ENOMEM, "%s: cannot build the archive: out of memory", path);
}

hrc_status archive_write(const char *path, const archive_member *members, int n, bool deflate, hrc_error *err)
{
    char *bytes;
    size_t size = 0;
    TRY(archive_pack(&bytes, &size, path, members, n, deflate, err));
    file_piece piece = {bytes, size};
    hrc_status status = file_write(path, &piece, 1, err);
    free(bytes);
    return status;
}
