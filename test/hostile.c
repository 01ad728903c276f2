/* Files that mean harm, or are merely odd: what they cost, what they print, what becomes of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/tensorfile.h"
#include "eval/rollout.h"
#include "motion/corpus.h"
#include "motion/import/bvh.h"
#include "motion/import/formats.h"
#include "motion/retarget/skeleton_map.h"
#include "motion/suite.h"
#include "plan/model.h"
#include "shell.h"
#include "small.h"
#include "synthetic.h"

/* ---- Sizes ---- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Runs with 1 GB of address space beyond what the process has: an allocation of more fails, and says so. */
static int in_little_memory(const char *command)
{
    char limited[1024];
    snprintf(limited, sizeof limited, "ulimit -v 3000000; %s", command);
    return shell(limited);
}
#endif

/* Metadata that ask for gigabytes are compared with the file first: an error about it, not about memory. */
static void test_sizes(void)
{
    hrc_error err;
    tensorfile file;
    char tracker_path[512], planner_path[512];
    small_tracker("t.safetensors", "default");
    small_planner("p.safetensors", 38);
    snprintf(tracker_path, sizeof tracker_path, "%s", test_path("t.safetensors"));
    snprintf(planner_path, sizeof planner_path, "%s", test_path("p.safetensors"));
    const char *const VALUES[2][8] = {{"quantizer", "vq", "codes", "65536", "token", "4096"},
                                      {"width", "2048", "depth", "64", "ratio", "8", "heads", "64"}};
    for (int which = 0; which < 2; which++) {
        ENSURE_OK(tensorfile_open(&file, which ? planner_path : tracker_path, &err));
        for (int i = 0; i < file.nmeta; i++) {
            if (!strcmp(file.meta[i].key, "digest")) file.meta[i].key = "digged";
            for (int k = 0; k < 8 && VALUES[which][k]; k += 2)
                if (!strcmp(file.meta[i].key, VALUES[which][k])) file.meta[i].value = VALUES[which][k + 1];
        }
        ENSURE_OK(seal_write(test_path(which ? "huge-p.safetensors" : "huge-t.safetensors"), file.tensors,
                             file.ntensors, file.meta, file.nmeta, &err));
        tensorfile_close(&file);
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ENSURE(in_little_memory("$HERACLES seal $T/huge-t.safetensors -o $T/x.safetensors") == 1);
    ENSURE(says("expected F32") && !says("memory"));
    ENSURE(in_little_memory("$HERACLES seal $T/huge-p.safetensors -o $T/x.safetensors") == 1);
    ENSURE(says("expected F32") && !says("memory"));
#endif
    plan_model m;
    ENSURE(plan_model_load(&m, test_path("huge-p.safetensors"), &err) == HRC_EFORMAT);
}

/* A stored member of an NPZ that declares more than the file has. */
static void test_npz_sizes(void)
{
    static const unsigned char SIZES[8] = {0, 0, 0, 0x0c, 0, 0, 0, 0x0c};
    hrc_error err;
    file_view v;
    clip c;
    ENSURE_OK(file_map("test/data/holosoma.npz", &v, &err));
    unsigned char *copy = malloc(v.size);
    ENSURE(copy);
    int changed = 0;
    memcpy(copy, v.data, v.size);
    for (size_t i = 0; i + 46 < v.size; i++) /* every entry of the central directory: 200 MB, both sizes */
        if (!memcmp(copy + i, "PK\1\2", 4)) {
            memcpy(copy + i + 20, SIZES, sizeof SIZES);
            changed++;
        }
    ENSURE(changed > 0);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    ENSURE(clip_parse(&c, "huge.npz", (file_view){(char *)copy, v.size}, NULL, NULL, &err) == HRC_EFORMAT);
    getrusage(RUSAGE_SELF, &after);

    ENSURE(strstr(err.text, "but the file has"));
    ENSURE(after.ru_maxrss - before.ru_maxrss < 100000); /* kB */
    free(copy);
    file_unmap(&v);
}

/* A header of odd length shifts every tensor: they are read all the same. */
static void test_unaligned(void)
{
    static const char HEADER[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                 "\"b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[1,17]}}";
    hrc_error err;
    tensorfile file;
    const double values[2] = {1.5, -2.5};
    for (int shift = 0; shift < 8; shift++) {
        char bytes[512] = {0};
        const size_t n = sizeof HEADER - 1 + (size_t)shift;
        bytes[0] = (char)n;
        memset(bytes + 8, ' ', n);
        memcpy(bytes + 8, HEADER, sizeof HEADER - 1);
        memcpy(bytes + 8 + n + 1, values, sizeof values);
        ENSURE_OK(tensorfile_parse(&file, "odd", (file_view){bytes, 8 + n + 17}, &err));
        const tensor *t = tensorfile_find(&file, "b");
        ENSURE((uintptr_t)t->data % 8 == 0 && ((const double *)t->data)[1] == -2.5);
        tensorfile_close(&file);
    }
}

/* ---- Time ---- */

static void test_manifest_time(void)
{
    hrc_error err;
    manifest m;
    static char rows[8000000];
    size_t n = (size_t)sprintf(rows, "id,category\n");
    for (int i = 0; i < 300000; i++) n += (size_t)sprintf(rows + n, "clip%d,walk\n", i);
    const clock_t begin = clock();
    ENSURE_OK(manifest_parse(&m, "long.csv", (file_view){rows, n}, &err));
    ENSURE(m.n == 300000);
    manifest_free(&m);
    n += (size_t)sprintf(rows + n, "clip7,walk\n");
    ENSURE(manifest_parse(&m, "long.csv", (file_view){rows, n}, &err) < 0);
    ENSURE(strstr(err.text, "long.csv:300002: the id \"clip7\" was there already"));
    ENSURE(clock() - begin < 10 * CLOCKS_PER_SEC); /* a quadratic search takes minutes */
}

/* ---- Terminals ---- */

static bool tame(const char *said)
{
    for (; *said; said++)
        if (*said == 27 || *said == 7 || *said == 8 || !memcmp(said, "\xc2\x9b", 2)) return false;
    return true;
}

static void test_control_bytes(void)
{
    hrc_error err;
    suite s;
    manifest m;
    tensorfile file;
    clip c;
    const char evil[] = "\x1b]0;owned\a\b\xc2\x9b"
                        "2J";
    char bytes[512];
    fail(&err, HRC_EFORMAT, "%s: found \"%s\"\n", "x", evil);
    ENSURE(tame(err.text) && !strchr(err.text, '\n') && strstr(err.text, "owned"));
    int n = snprintf(bytes, sizeof bytes, "clip,first,last,category,hold\n%s,0,1,walk,0\n", evil);
    ENSURE(suite_parse(&s, "s.csv", (file_view){bytes, (size_t)n}, &err) < 0 && strstr(err.text, "control"));
    n = snprintf(bytes, sizeof bytes, "id,category\n%s,walk\n", evil);
    ENSURE(manifest_parse(&m, "m.csv", (file_view){bytes, (size_t)n}, &err) < 0 &&
           strstr(err.text, "control"));
    const tensor_meta meta = {"trained", evil};
    ENSURE_OK(tensorfile_write(test_path("evil.safetensors"), NULL, 0, &meta, 1, &err));
    ENSURE(tensorfile_open(&file, test_path("evil.safetensors"), &err) < 0 && strstr(err.text, "control"));
    synthetic_turn(&c, 30, 50);
    char name[600];
    snprintf(name, sizeof name, "%s/evil\x1b[2J.csv", test_path(""));
    ENSURE_OK(clip_save(&c, name, &err));
    clip_free(&c);
    ENSURE(
        shell(
            "$HERACLES motion info $T/evil*.csv | tail -n +2; $HERACLES motion info $T/evil*.csv --json; "
            "printf 'HIERARCHY\\nROOT hip\\033[2Js\\n{\\nOFFSET 0 0 0\\nCHANNELS 1 Xrotation\\n}\\nMOTION\\n"
            "Frames: 1\\nFrame Time: .01\\n0\\n' > $T/e.bvh; $HERACLES motion info $T/e.bvh; "
            "$HERACLES motion retarget $T/e.bvh -o $T/e.csv; rm $T/evil*.csv") >= 0);
    ENSURE(tame(shell_output));
}

/* ---- Byte order marks ---- */

static void test_byte_order_mark(void)
{
    hrc_error err;
    suite s;
    manifest m;
    config cfg = config_default();
    static const char SUITE[] = "\xef\xbb\xbf"
                                "clip,first,last,category,hold\na,0,1,walk,0\n";
    static const char MANIFEST[] = "\xef\xbb\xbf"
                                   "id,category\na,walk\n",
                      INI[] = "\xef\xbb\xbf[sim]\nsubsteps = 2\n";
    ENSURE_OK(suite_parse(&s, "s.csv", (file_view){SUITE, sizeof SUITE - 1}, &err));
    ENSURE(!strcmp(s.sequences[0].clip, "a"));
    suite_free(&s);
    ENSURE_OK(manifest_parse(&m, "m.csv", (file_view){MANIFEST, sizeof MANIFEST - 1}, &err));
    manifest_free(&m);
    ENSURE_OK(config_parse(&cfg, "c.ini", (file_view){INI, sizeof INI - 1}, &err));
    ENSURE(cfg.sim_substeps == 2);
    ENSURE(shell("for f in arm.bvh turn.csv; do (printf '\\357\\273\\277'; cat test/data/$f) > $T/bom.$f; "
                 "$HERACLES motion info $T/bom.$f || exit 1; done") == 0);
}

/* ---- What was found once ---- */

static hrc_status parse_corpus(const char *path, file_view bytes, hrc_error *err)
{
    corpus all;
    clip c;
    TRY(corpus_parse(&all, path, bytes, err));
    hrc_status status = corpus_clip(&all, 0, &c, err);
    if (status == HRC_OK) clip_free(&c);
    corpus_close(&all);
    return status;
}

static hrc_status parse_as(const char *kind, const char *path, file_view bytes, hrc_error *err)
{
    static skeleton_map map;
    config cfg = config_default();
    suite s;
    manifest m;
    bvh b;
    clip c;
    hrc_status status;
    if (!strcmp(kind, "corpus")) return parse_corpus(path, bytes, err);
    if (!strcmp(kind, "config")) return config_parse(&cfg, path, bytes, err);
    if (!strcmp(kind, "map")) return skeleton_map_parse(&map, path, bytes, err);
    if (!strcmp(kind, "suite")) {
        status = suite_parse(&s, path, bytes, err);
        if (status == HRC_OK) suite_free(&s);
    } else if (!strcmp(kind, "manifest")) {
        status = manifest_parse(&m, path, bytes, err);
        if (status == HRC_OK) manifest_free(&m);
    } else if (!strcmp(kind, "bvh")) {
        status = bvh_parse(&b, path, bytes, NULL, err);
        if (status == HRC_OK) bvh_free(&b);
    } else {
        status = clip_parse(&c, path, bytes, NULL, NULL, err);
        if (status == HRC_OK) clip_free(&c);
    }
    return status;
}

/* test/data/found-KIND-WHAT, which the fuzzers begin with too: refused with these words, or taken ("") as
 * what they are. A new one needs a line here. */
static void test_found(void)
{
    static const struct {
        const char *kind, *what, *words;
    } FOUND[] = {
        {"bvh", "bytes", ""},
        {"config", "bytes", "found-config-bytes:2"},
        {"corpus", "far", "is inf, expected a number"},
        {"csv", "float", "expected a finite number"},
        {"csv", "mark", ""},
        {"manifest", "bytes", "control"},
        {"map", "bytes", "found-map-bytes:"},
        {"npz", "sizes", "but the file has"},
        {"safetensors", "odd", ""},
        {"safetensors", "sizes", "but the file has 432 bytes"},
        {"suite", "bytes", "control"},
    };
    ENSURE(shell("ls test/data/found-* | wc -l") == 0 && atoi(shell_output) == COUNT(FOUND));
    for (int i = 0; i < COUNT(FOUND); i++) {
        hrc_error err = {{0}};
        file_view v;
        char path[200];
        snprintf(path, sizeof path, "test/data/found-%s-%s", FOUND[i].kind, FOUND[i].what);
        ENSURE_OK(file_map(path, &v, &err));
        const hrc_status status = parse_as(FOUND[i].kind, path, v, &err);
        file_unmap(&v);
        if ((status == HRC_OK) != !*FOUND[i].words || !strstr(err.text, FOUND[i].words) || !tame(err.text))
            test_fail(__FILE__, __LINE__, "%s: \"%s\", expected \"%s\"", path, err.text, FOUND[i].words);
    }
}

/* ---- What is computed ---- */

/* A corpus whose numbers are finite as doubles and not as floats: its clip is refused. */
static void test_corpus_clips(void)
{
    hrc_error err;
    file_view v;
    tensorfile file;
    corpus all;
    clip c;
    ENSURE_OK(file_map("test/data/turn.corpus", &v, &err));
    ENSURE_OK(tensorfile_parse(&file, "turn.corpus", v, &err));
    tensor *t = (tensor *)tensorfile_find(&file, "origin");
    double origin[3] = {1e39, 0, 0};
    ENSURE(t && t->count == 3);
    t->data = origin;
    ENSURE_OK(
        tensorfile_write(test_path("far.corpus"), file.tensors, file.ntensors, file.meta, file.nmeta, &err));
    tensorfile_close(&file);
    file_unmap(&v);
    ENSURE_OK(corpus_open(&all, test_path("far.corpus"), &err));
    ENSURE(corpus_clip(&all, 0, &c, &err) == HRC_ENONFINITE && strstr(err.text, "far.corpus#"));
    corpus_close(&all);
}

/* A punch beyond all physics: the page is written, the exit code tells. */
static void test_diverged_run(void)
{
    small_tracker("t.safetensors", "default");
    ENSURE(shell("$HERACLES run motions/wave.safetensors --tracker $T/t.safetensors --planner off "
                 "--punch '0.5:1e5,0' -o $T/run.html") == 1);
    ENSURE(says("the simulation diverged"));
    ENSURE(shell("$HERACLES run motions/wave.safetensors --tracker $T/t.safetensors --planner off "
                 "--punch '0.5:1e5,0' --json -o $T/run.html") == 1 &&
           says("\"diverged\": true"));
    ENSURE(shell("$HERACLES run motions/wave.safetensors --tracker $T/t.safetensors --planner off "
                 "-o $T/run.html") == 0);
}

/* A checkpoint that cannot be written: told, and training goes on to its model; no leftovers. */
static void test_failed_checkpoint(void)
{
    ENSURE(shell("mkdir $T/cp; mkdir $T/cp/m.safetensors.checkpoint; $HERACLES train planner --overwrite "
                 "motions/wave.safetensors -o $T/cp/m.safetensors --planner.width=32 --planner.depth=1 "
                 "--planner.heads=2 --planner.steps=6 --planner.batch=8 --checkpoint-minutes 0 --quiet") ==
           0);
    ENSURE(says("no checkpoint, training goes on") && says("m.safetensors.checkpoint"));
    ENSURE(shell("ls $T/cp | wc -l | grep -qx 4 && test -s $T/cp/m.safetensors") == 0); /* with both logs */
}

TEST_TABLE({"hostile.sizes", test_sizes}, {"hostile.npz_sizes", test_npz_sizes},
           {"hostile.unaligned", test_unaligned}, {"hostile.manifest_time", test_manifest_time},
           {"hostile.control_bytes", test_control_bytes}, {"hostile.byte_order_mark", test_byte_order_mark},
           {"hostile.found", test_found}, {"hostile.corpus_clips", test_corpus_clips},
           {"hostile.diverged_run", test_diverged_run}, {"hostile.failed_checkpoint", test_failed_checkpoint})
