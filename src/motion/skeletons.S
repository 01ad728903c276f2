/* The skeleton maps of assets/skeletons as bytes of the program; skeleton_map.c declares them. */
#define EMBED(name, file)                  \
    .global embed_##name                   ; \
    .hidden embed_##name                   ; \
    .global embed_##name##_end             ; \
    .hidden embed_##name##_end             ; \
    embed_##name: .incbin file             ; \
    embed_##name##_end: .byte 0

    .section .rodata
    EMBED(skeleton_cmu, "skeletons/cmu.ini")
    EMBED(skeleton_lafan1, "skeletons/lafan1.ini")
    EMBED(skeleton_mixamo, "skeletons/mixamo.ini")
    EMBED(skeleton_xsens, "skeletons/xsens.ini")
    EMBED(skeleton_biovision, "skeletons/biovision.ini")

    .section .note.GNU-stack, "", %progbits
