#include "cli/presets.h"

#include <stdio.h>
#include <string.h>

#define PRESET(name) extern const char embed_preset_##name[], embed_preset_##name##_end[];
PRESET(general)
PRESET(clip)
PRESET(quick)
PRESET(paper)
#undef PRESET

static const struct {
    const char *name, *text, *end;
} PRESETS[] = {{"general", embed_preset_general, embed_preset_general_end},
               {"clip", embed_preset_clip, embed_preset_clip_end},
               {"quick", embed_preset_quick, embed_preset_quick_end},
               {"paper", embed_preset_paper, embed_preset_paper_end}};

hrc_status preset_apply(config *c, const char *name, hrc_error *err)
{
    for (int i = 0; i < COUNT(PRESETS); i++)
        if (!strcmp(PRESETS[i].name, name)) {
            const file_view text = {PRESETS[i].text, (size_t)(PRESETS[i].end - PRESETS[i].text)};
            return config_parse(c, PRESETS[i].name, text, err);
        }
    return fail(err, HRC_EINVAL, "--preset is %.40s, expected general, clip, quick or paper", name);
}

int presets_print(void)
{
    for (int i = 0; i < COUNT(PRESETS); i++) {
        printf("%s### %s\n", i ? "\n" : "", PRESETS[i].name);
        fwrite(PRESETS[i].text, 1, (size_t)(PRESETS[i].end - PRESETS[i].text), stdout);
    }
    return EXIT_DONE;
}
