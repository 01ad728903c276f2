/* Settings that belong together, as files in the program (assets/presets): what `--preset NAME` stands for.
 * They come before --config and --section.key=value, which change single ones. */
#ifndef HRC_CLI_PRESETS_H
#define HRC_CLI_PRESETS_H

#include "cli/cli.h"

/* A row of the options of commands that have presets. */
#define PRESET_OPTION                                                                                        \
    {                                                                                                        \
        "preset", "NAME", NULL,                                                                              \
            "settings for a purpose: general, clip, quick or paper (heracles help preset)"                   \
    }

hrc_status preset_apply(config *c, const char *name, hrc_error *err);
int presets_print(void); /* all of them, with their comments; EXIT_DONE */

#endif
