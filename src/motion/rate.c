#include "motion/rate.h"

#include <stdio.h>

void rate_settle(clip *c, const rate_source *s, clip_decisions *why)
{
    const char *says = s->asked > 0  ? "as asked for"
                       : s->file > 0 ? "from the file"
                                     : "assumed: the file does not say";
    c->fps = s->asked > 0 ? s->asked : s->file > 0 ? s->file : s->usual;
    snprintf(why->fps, sizeof why->fps, "%g, %s", c->fps, says);
}
