/* The skeleton maps of assets/skeletons as bytes of the program; skeleton_map.c declares them. */
#include "base/embed.h"

    .section .rodata
    EMBED(skeleton_cmu, "skeletons/cmu.ini")
    EMBED(skeleton_lafan1, "skeletons/lafan1.ini")
    EMBED(skeleton_mixamo, "skeletons/mixamo.ini")
    EMBED(skeleton_xsens, "skeletons/xsens.ini")
    EMBED(skeleton_biovision, "skeletons/biovision.ini")

    .section .note.GNU-stack, "", %progbits
