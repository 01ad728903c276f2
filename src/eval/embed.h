/* The page's files inside the program (embed.S), so that it needs none of them when it runs. */
#ifndef HRC_EVAL_EMBED_H
#define HRC_EVAL_EMBED_H

#define EMBED(name) extern const char embed_##name[], embed_##name##_end[];
EMBED(replay_html)
EMBED(viewer_css)
EMBED(three_js)
EMBED(viewer_js)
EMBED(replay_js)
#undef EMBED

#endif
