#include "motion/suite.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    suite s;
    hrc_error err = {{0}};
    if (suite_parse(&s, "input.csv", (file_view){(const char *)data, size}, &err) < 0) {
        SOUND(err.text[0] && !s.sequences);
        return 0;
    }
    for (int i = 0; i < s.n; i++)
        SOUND(s.sequences[i].clip[0] && s.sequences[i].first >= 0 &&
              s.sequences[i].last >= s.sequences[i].first && s.sequences[i].hold >= 0 &&
              status_is_tame(s.sequences[i].clip) && status_is_tame(s.sequences[i].category));
    suite_free(&s);
    return 0;
}
