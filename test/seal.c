/* Damaged models: whatever bit of a file is wrong, it is not loaded. */
#include "base/tensorfile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "shell.h"
#include "small.h"

/* The published test vectors of XXH64. */
static void test_digest(void)
{
    static const char *const TEXT[] = {"", "a", "abc", "Nobody inspects the spammish repetition"};
    static const uint64_t EXPECTED[] = {0xef46db3751d8e999u, 0xd24ec4f1a98c6e5bu, 0x44bc2cf5ad770999u,
                                        0xfbcea83c8a378bf1u};
    for (int i = 0; i < COUNT(TEXT); i++) ENSURE(digest_bytes(0, TEXT[i], strlen(TEXT[i])) == EXPECTED[i]);
}

static void test_any_entry(void)
{
    hrc_error err;
    tensorfile file;
    float a[3] = {1, 2, 3}, b[2] = {4, 5};
    tensor tensors[] = {{"a", DT_F32, 1, {3}, 3, a}, {"b", DT_F32, 2, {1, 2}, 2, b}};
    tensor_meta meta[] = {{"k", "v"}, {"l", "w"}};
    const char *path = test_path("s.safetensors");
    ENSURE_OK(seal_write(path, tensors, 2, meta, 2, &err));
    ENSURE_OK(tensorfile_open(&file, path, &err));
    char digest[40];
    snprintf(digest, sizeof digest, "%s", tensorfile_meta(&file, "digest"));
    ENSURE_OK(seal_need(&file, &err));
    tensorfile_close(&file);
    for (int change = 0; change < 7; change++) { /* with the digest of what it was before */
        tensor t[] = {tensors[0], tensors[1]};
        tensor_meta m[] = {meta[0], meta[1], {"digest", digest}};
        const float other[3] = {1, 2, -3};
        if (change == 1) t[0].data = other;
        if (change == 2) t[0].name = "c";
        if (change == 3) t[1].shape[0] = 2, t[1].shape[1] = 1;
        if (change == 4) t[1].type = DT_U32;
        if (change == 5) m[1].value = "x";
        if (change == 6) m[0].key = "kk";
        ENSURE_OK(tensorfile_write(path, t, 2, m, 3, &err));
        hrc_status status = tensorfile_open(&file, path, &err);
        if (change == 0) {
            ENSURE_OK(status);
            tensorfile_close(&file);
        } else
            ENSURE(status == HRC_EFORMAT && strstr(err.text, "damaged"));
    }
    ENSURE_OK(tensorfile_write(path, tensors, 2, meta, 2, &err));
    ENSURE_OK(tensorfile_open(&file, path, &err));
    ENSURE(seal_need(&file, &err) == HRC_EFORMAT && strstr(err.text, "has no digest"));
    tensorfile_close(&file);
}

/* Exponent bits of weights, one at a time; then any bit of the file. */
static void flip_bits(const char *path, const char *prefix)
{
    hrc_error err;
    file_view view;
    tensorfile file;
    hrc_model *m;
    rng r = rng_make(18, 5);
    ENSURE_OK(file_map(path, &view, &err));
    ENSURE_OK(tensorfile_parse(&file, path, view, &err));
    char *copy = malloc(view.size);
    ENSURE(copy);
    memcpy(copy, view.data, view.size);
    for (int i = 0; i < 1500; i++) {
        size_t byte = rng_below(&r, (uint32_t)view.size);
        int bit = (int)rng_below(&r, 8);
        if (i < 1000) {
            const tensor *t;
            do t = &file.tensors[rng_below(&r, (uint32_t)file.ntensors)];
            while (strncmp(t->name, prefix, strlen(prefix)) || t->type != DT_F32);
            const size_t at = 4 * rng_below(&r, (uint32_t)t->count);
            const uint32_t exponent = 23 + rng_below(&r, 8);
            byte = (size_t)((const char *)t->data - view.data) + at + exponent / 8;
            bit = (int)exponent % 8;
        }
        copy[byte] = (char)(copy[byte] ^ (1 << bit));
        test_write(test_path("flipped.safetensors"), copy, view.size);
        if (hrc_model_load(&m, test_path("flipped.safetensors"), &err) >= 0)
            test_fail(__FILE__, __LINE__, "%s: bit %d of byte %zu was flipped, and it was taken", path, bit,
                      byte);
        copy[byte] = view.data[byte];
    }
    free(copy);
    tensorfile_close(&file);
    file_unmap(&view);
}

static void test_flipped_tracker(void)
{
    char path[512];
    small_tracker("t.safetensors", "default");
    snprintf(path, sizeof path, "%s", test_path("t.safetensors"));
    flip_bits(path, "policy.");
}

static void test_flipped_planner(void)
{
    char path[512];
    small_planner("p.safetensors", 38);
    snprintf(path, sizeof path, "%s", test_path("p.safetensors"));
    flip_bits(path, "field.");
}

/* Numbers that are not finite, in a file whose digest is right. */
static void test_not_finite(void)
{
    static const char *const TENSORS[] = {
        "policy.encoder.2.weight", "policy.action.0.bias", "pair.proprio", "pair.window", "pair.action",
        "normal.window.mean"};
    hrc_error err;
    hrc_model *m;
    tensorfile file;
    char path[512];
    small_tracker("t.safetensors", "default");
    snprintf(path, sizeof path, "%s", test_path("t.safetensors"));
    ENSURE_OK(tensorfile_open(&file, path, &err));
    int digest = 0;
    while (strcmp(file.meta[digest].key, "digest")) digest++;
    file.meta[digest].key = "digged";
    for (int i = 0; i < COUNT(TENSORS); i++)
        for (int k = 0; k < 2; k++) {
            tensor *t = (tensor *)tensorfile_find(&file, TENSORS[i]);
            ENSURE(t);
            const void *was = t->data;
            float *bad = malloc(sizeof(float) * (size_t)t->count);
            ENSURE(bad);
            memcpy(bad, was, sizeof(float) * (size_t)t->count);
            bad[t->count / 2] = k ? NAN : INFINITY;
            t->data = bad;
            ENSURE_OK(seal_write(test_path("bad.safetensors"), file.tensors, file.ntensors, file.meta,
                                 file.nmeta, &err));
            ENSURE(hrc_model_load(&m, test_path("bad.safetensors"), &err) == HRC_EFORMAT);
            ENSURE(strstr(err.text, "is not finite") && strstr(err.text, TENSORS[i]));
            t->data = was;
            free(bad);
        }
    tensorfile_close(&file);
}

/* A model from before there were digests: refused with what to do, sealed, taken, its weights as they were.
 */
static void test_command(void)
{
    hrc_error err;
    tensorfile old, new;
    char path[512];
    small_tracker("t.safetensors", "default");
    snprintf(path, sizeof path, "%s", test_path("t.safetensors"));
    ENSURE_OK(tensorfile_open(&old, path, &err));
    ENSURE(!strcmp(old.meta[old.nmeta - 1].key, "digest"));
    for (int i = 0; i < old.ntensors; i++) /* with one example, as they had */
        if (!strncmp(old.tensors[i].name, "pair.", 5)) {
            tensor *t = &old.tensors[i];
            *t = (tensor){t->name, DT_F32, 1, {t->shape[1]}, t->shape[1], t->data};
        }
    ENSURE_OK(tensorfile_write(test_path("old.safetensors"), old.tensors, old.ntensors, old.meta,
                               old.nmeta - 1, &err));
    ENSURE(shell("$HERACLES run --tracker $T/old.safetensors --planner off motions/wave.safetensors -o "
                 "$T/x.html") == 1 &&
           says("old.safetensors: has no digest") && says("heracles seal"));
    ENSURE(shell("$HERACLES seal $T/old.safetensors -o $T/new.safetensors") == 0 && says("has a digest"));
    ENSURE(shell("test ! -e $T/new.safetensors.unproven") == 0);
    ENSURE_OK(tensorfile_open(&new, test_path("new.safetensors"), &err));
    for (int i = 0; i < old.ntensors; i++) {
        const tensor *a = &old.tensors[i], *b = tensorfile_find(&new, a->name);
        if (!strncmp(a->name, "pair.", 5))
            ENSURE(b->shape[0] == TRACK_PAIRS);
        else
            ENSURE(a->count == b->count && a->type == b->type &&
                   !memcmp(a->data, b->data, (size_t)a->count * dtype_size(a->type)));
    }
    tensorfile_close(&old);
    tensorfile_close(&new);
    ENSURE(shell("$HERACLES seal $T/new.safetensors -o $T/new.safetensors") == 0);
    ENSURE(shell("$HERACLES seal motions/wave.safetensors -o $T/no.safetensors; test $? = 1 -a ! -e "
                 "$T/no.safetensors") == 0);
}

TEST_TABLE({"seal.digest", test_digest}, {"seal.any_entry", test_any_entry},
           {"seal.flipped_tracker", test_flipped_tracker}, {"seal.flipped_planner", test_flipped_planner},
           {"seal.not_finite", test_not_finite}, {"seal.command", test_command})
