/* Files of assets/ and three.js as bytes of the program; eval/embed.h declares them. */
#include "base/embed.h"

    .section .rodata
    EMBED(replay_html, "replay.html")
    EMBED(replay_stage_html, "replay_stage.html")
    EMBED(viewer_css, "viewer.css")
    EMBED(three_js, "three_licence.js" ; .incbin "three.min.js")
    EMBED(viewer_js, "viewer.js")
    EMBED(replay_js, "replay.js")
    EMBED(report_html, "report.html")
    EMBED(report_css, "report.css")
    EMBED(report_js, "report.js")
    EMBED(plot_html, "plot.html")
    EMBED(plot_js, "plot.js")
    EMBED(play_html, "play.html")
    EMBED(play_css, "play.css")
    EMBED(play_js, "play.js")

    .section .note.GNU-stack, "", %progbits
