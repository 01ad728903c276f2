#include "motion/suite.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    manifest m;
    hrc_error err = {{0}};
    if (manifest_parse(&m, "input.csv", (file_view){(const char *)data, size}, &err) < 0) {
        SOUND(err.text[0] && !m.rows);
        return 0;
    }
    for (int i = 0; i < m.n; i++)
        SOUND(m.rows[i].id[0] && m.rows[i].category && m.rows[i].description && status_is_tame(m.rows[i].id));
    manifest_free(&m);
    return 0;
}
