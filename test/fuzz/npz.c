/* Checksums keep a fuzzer out of a zip's members. So an input is an archive only when it begins with "PK";
 * any other is a list of edits, (member, place low, place high, byte) each, of the arrays of a good archive,
 * which is packed anew. The run must start in the repository's root. */
#include "motion/import/archive.h"

#include "fuzz.h"

static const char *const MEMBERS[] = {"joint_pos.npy", "body_pos_w.npy",  "body_quat_w.npy",
                                      "fps.npy",       "joint_names.npy", "body_names.npy"};

static file_view base[COUNT(MEMBERS)];

static void load_base(void)
{
    static arena memory;
    file_view file;
    archive *zip;
    hrc_error err;
    SOUND(file_map("test/data/holosoma.npz", &file, &err) >= 0);
    SOUND(archive_open(&zip, "holosoma.npz", file, &err) >= 0);
    for (int i = 0; i < COUNT(MEMBERS); i++)
        SOUND(archive_read(zip, &memory, MEMBERS[i], 1 << 20, &base[i], &err) >= 0);
    archive_close(zip);
    file_unmap(&file);
}

static void fuzz_edits(const uint8_t *edits, size_t n)
{
    char *bytes, *copies[COUNT(MEMBERS)];
    size_t size;
    hrc_error err;
    archive_member members[COUNT(MEMBERS)];
    for (int i = 0; i < COUNT(MEMBERS); i++) {
        copies[i] = malloc(base[i].size);
        SOUND(copies[i]);
        memcpy(copies[i], base[i].data, base[i].size);
        members[i] = (archive_member){MEMBERS[i], copies[i], base[i].size};
    }
    int used = COUNT(MEMBERS);
    for (; n >= 4; edits += 4, n -= 4) {
        size_t place = (size_t)(edits[1] | edits[2] << 8);
        int i = edits[0] % (COUNT(MEMBERS) + 2);
        if (i == COUNT(MEMBERS)) /* shorter */
            members[edits[3] % COUNT(MEMBERS)].size = place % base[edits[3] % COUNT(MEMBERS)].size;
        else if (i == COUNT(MEMBERS) + 1) /* without names */
            used = COUNT(MEMBERS) - edits[3] % 3;
        else
            copies[i][place % base[i].size] = (char)edits[3];
    }
    SOUND(archive_pack(&bytes, &size, "edited", members, used, false, &err) >= 0);
    fuzz_clip(bytes, size, NULL);
    free(bytes);
    for (int i = 0; i < COUNT(MEMBERS); i++) free(copies[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!base[0].data) load_base();
    if (size > 1 && data[0] == 'P' && data[1] == 'K')
        fuzz_clip(data, size, NULL);
    else
        fuzz_edits(data, size);
    return 0;
}
