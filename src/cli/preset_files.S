/* The files of assets/presets as bytes of the program; cli.c declares them. */
#include "base/embed.h"

    .section .rodata
    EMBED(preset_general, "presets/general.ini")
    EMBED(preset_clip, "presets/clip.ini")
    EMBED(preset_quick, "presets/quick.ini")
    EMBED(preset_paper, "presets/paper.ini")

    .section .note.GNU-stack, "", %progbits
