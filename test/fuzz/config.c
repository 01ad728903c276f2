#include "base/config.h"
#include "fuzz.h"

/* What is accepted comes back the same from its own text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    config c = config_default();
    hrc_error err;
    if (config_parse(&c, "input.ini", (file_view){(const char *)data, size}, &err) < 0) return 0;
    char *text = config_text(&c);
    config again = config_default();
    SOUND(text);
    SOUND(config_parse(&again, "text", (file_view){text, strlen(text)}, &err) >= 0);
    char *second = config_text(&again);
    SOUND(second && !strcmp(text, second));
    free(second);
    free(text);
    return 0;
}
