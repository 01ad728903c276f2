/* The page's files inside the program (embed.S), so that it needs none of them when it runs. */
#ifndef HRC_EVAL_EMBED_H
#define HRC_EVAL_EMBED_H

#define EMBED(name) extern const char embed_##name[], embed_##name##_end[];
EMBED(replay_html)
EMBED(replay_stage_html)
EMBED(viewer_css)
EMBED(three_js)
EMBED(viewer_js)
EMBED(replay_js)
EMBED(report_html)
EMBED(report_css)
EMBED(report_js)
EMBED(plot_html)
EMBED(plot_js)
EMBED(play_html)
EMBED(play_css)
EMBED(play_js)
#undef EMBED

/* One of them as a piece of a file (base/file.h). */
#define EMBEDDED(name)                                                                                       \
    {                                                                                                        \
        embed_##name, (size_t)(embed_##name##_end - embed_##name)                                            \
    }

#endif
