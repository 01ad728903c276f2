/* A file as bytes of the program, for assembler sources: embed_NAME .. embed_NAME_end, then a zero byte. */
#ifndef HRC_BASE_EMBED_H
#define HRC_BASE_EMBED_H

/* clang-format off */
#define EMBED(name, file)                  \
    .global embed_##name                   ; \
    .hidden embed_##name                   ; \
    .global embed_##name##_end             ; \
    .hidden embed_##name##_end             ; \
    embed_##name: .incbin file             ; \
    embed_##name##_end: .byte 0
/* clang-format on */

#endif
