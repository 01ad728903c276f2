#include "base/tensorfile.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static void write_sample(const char *path)
{
    static const float weights[6] = {1, 2, 3, -4, 5.5f, 1e-30f};
    static const int64_t ids[2] = {-7, 1LL << 40};
    hrc_error err;
    tensor tensors[3] = {{"w", DT_F32, 2, {2, 3}, 6, weights},
                         {"ids", DT_I64, 1, {2}, 2, ids},
                         {"none", DT_U8, 1, {0}, 0, weights}};
    tensor_meta meta[2] = {{"format", "sample"}, {"text", "quote \" and \xc3\xa4"}};
    ENSURE_OK(tensorfile_write(path, tensors, 3, meta, 2, &err));
}

static void test_round_trip(void)
{
    hrc_error err;
    tensorfile file;
    const tensor *w;
    const char *path = test_path("a.safetensors");
    write_sample(path);
    ENSURE_OK(tensorfile_open(&file, path, &err));
    ENSURE(file.ntensors == 3 && !strcmp(tensorfile_meta(&file, "text"), "quote \" and \xc3\xa4"));
    ENSURE_OK(tensorfile_need(&file, "w", DT_F32, 2, (int64_t[]){-1, 3}, &w, &err));
    ENSURE(((const float *)w->data)[4] == 5.5f && (uintptr_t)w->data % 64 == 0);
    ENSURE(((const int64_t *)tensorfile_find(&file, "ids")->data)[1] == 1LL << 40);
    ENSURE(tensorfile_need(&file, "w", DT_F32, 2, (int64_t[]){-1, 4}, &w, &err) < 0);
    ENSURE(strstr(err.text, "tensor \"w\" is F32 2x3, expected F32 *x4"));
    ENSURE(tensorfile_need(&file, "v", DT_F32, 0, NULL, &w, &err) < 0 && strstr(err.text, "missing"));
    tensorfile_close(&file);
}

/* A file cut at any byte is refused, never read beyond its end. */
static void test_truncation(void)
{
    hrc_error err;
    file_view whole;
    const char *path = test_path("a.safetensors");
    write_sample(path);
    ENSURE_OK(file_map(path, &whole, &err));
    for (size_t n = 0; n < whole.size; n++) {
        tensorfile file;
        char *copy = malloc(n + 1); /* of exactly that size, so that a sanitizer sees a read beyond */
        memcpy(copy, whole.data, n);
        ENSURE(tensorfile_parse(&file, "cut", (file_view){copy, n}, &err) < 0);
        free(copy);
    }
    file_unmap(&whole);
}

static hrc_status parse_header(const char *header, size_t data, hrc_error *err)
{
    char bytes[4096] = {0};
    size_t n = strlen(header);
    bytes[0] = (char)n, bytes[1] = (char)(n >> 8);
    memcpy(bytes + 8, header, n);
    tensorfile file;
    hrc_status status = tensorfile_parse(&file, "h", (file_view){bytes, 8 + n + data}, err);
    if (status == HRC_OK) tensorfile_close(&file);
    return status;
}

static void test_hostile_headers(void)
{
    static const struct {
        const char *header;
        size_t data;
        const char *sentence;
    } BAD[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[500000000],\"data_offsets\":[0,2000000000]}}", 4,
         "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "sensible"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "sensible"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "sensible"},
        {"{\"a\":{\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype F99"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8,
         "8 bytes of data, expected 4"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],"
         "\"data_offsets\":[2,6]}}",
         6, "overlaps"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}", 4, "hole"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 4, "belong to none"},
        {"{\"a\":1}", 0, "dtype (missing)"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "not a string"},
        {"[]", 0, "not a JSON object"},
        {"{\"a\":{", 0, "not a JSON object"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate"},
    };
    for (int i = 0; i < COUNT(BAD); i++) {
        hrc_error err = {""};
        ENSURE(parse_header(BAD[i].header, BAD[i].data, &err) < 0);
        if (!strstr(err.text, BAD[i].sentence)) test_fail(__FILE__, __LINE__, "found: %s", err.text);
    }
    hrc_error err;
    ENSURE_OK(parse_header("{}", 0, &err));
}

/* The bytes of the public library (safetensors 0.4, save_file({"x": [1.0, 2.0]}, metadata={"k": "v"})):
 * tensors after metadata, compact JSON, padded with spaces to 8 bytes. */
static void test_file_of_the_public_library(void)
{
    static const char HEADER[] =
        "{\"__metadata__\":{\"k\":\"v\"},\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}     ";
    unsigned char bytes[256] = {sizeof HEADER - 1};
    memcpy(bytes + 8, HEADER, sizeof HEADER - 1);
    memcpy(bytes + 8 + sizeof HEADER - 1, "\0\0\x80\x3f\0\0\0\x40", 8);
    hrc_error err;
    tensorfile file;
    ENSURE_OK(tensorfile_parse(&file, "public", (file_view){(char *)bytes, 8 + sizeof HEADER - 1 + 8}, &err));
    float x[2];
    memcpy(x, tensorfile_find(&file, "x")->data, sizeof x);
    ENSURE(x[0] == 1 && x[1] == 2 && !strcmp(tensorfile_meta(&file, "k"), "v"));
    tensorfile_close(&file);
}

static void test_failed_write_leaves_nothing(void)
{
    hrc_error err;
    float x = 1;
    tensor t = {"x", DT_F32, 1, {1}, 1, &x};
    ENSURE(tensorfile_write(test_path("no/such/folder.safetensors"), &t, 1, NULL, 0, &err) < 0);
    ENSURE(strstr(err.text, "cannot write"));
    ENSURE(test_shell(NULL, 0, "ls $T | grep -q folder") == 1);
}

TEST_TABLE({"tensorfile.round_trip", test_round_trip}, {"tensorfile.truncation", test_truncation},
           {"tensorfile.hostile_headers", test_hostile_headers},
           {"tensorfile.file_of_the_public_library", test_file_of_the_public_library},
           {"tensorfile.failed_write_leaves_nothing", test_failed_write_leaves_nothing})
