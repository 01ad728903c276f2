#include "motion/retarget/skeleton_map.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static skeleton_map map;
    hrc_error err = {{0}};
    if (skeleton_map_parse(&map, "input.ini", (file_view){(const char *)data, size}, &err) < 0)
        SOUND(err.text[0]);
    else
        SOUND(map.name[0] && map.unit > 0 && map.toe[0][0] && map.toe[1][0]);
    return 0;
}
