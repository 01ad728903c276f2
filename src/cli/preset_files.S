/* The files of assets/presets as bytes of the program; presets.c declares them. */
#define PRESET(name, file)                 \
    .global preset_##name                  ; \
    .hidden preset_##name                  ; \
    .global preset_##name##_end            ; \
    .hidden preset_##name##_end            ; \
    preset_##name: .incbin file            ; \
    preset_##name##_end: .byte 0

    .section .rodata
    PRESET(general, "presets/general.ini")
    PRESET(clip, "presets/clip.ini")
    PRESET(quick, "presets/quick.ini")
    PRESET(paper, "presets/paper.ini")

    .section .note.GNU-stack, "", %progbits
