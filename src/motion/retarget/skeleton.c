#include "motion/retarget/skeleton.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "motion/stats.h"

/* From the hips of a person to the farthest finger tip, along the bones: 1.0 to 1.6 m. */
#define REACH_M 1.3
#define PATH_HZ 5.0 /* the path is measured between frames this far apart, so that noise does not add up */

bool skeleton_is_bvh(file_view bytes)
{
    static const char WORD[] = "HIERARCHY";
    bytes = file_text(bytes);
    return bytes.size >= sizeof WORD - 1 && memcmp(bytes.data, WORD, sizeof WORD - 1) == 0;
}

/* Longest way along the bones from a root to a joint or end, in the unit of the offsets. */
static double longest_chain(const bvh *b)
{
    double longest = 0;
    for (int i = 0; i < b->njoints; i++) {
        double length = b->joints[i].has_end ? vec_norm(b->joints[i].end) : 0;
        for (int k = i; b->joints[k].parent >= 0; k = b->joints[k].parent)
            length += vec_norm(b->joints[k].offset);
        longest = fmax(longest, length);
    }
    return longest;
}

double skeleton_unit(const bvh *b, char *why, size_t size)
{
    static const struct {
        double metres;
        const char *name;
    } UNIT[] = {{1, "metre"},
                {0.01, "centimetre"},
                {0.001, "millimetre"},
                {0.0254, "inch"},
                {BVH_CMU, "0.056444 m, of the CMU database"}};
    double chain = longest_chain(b) / b->unit;
    int best = 1;
    if (!(chain > 0)) {
        snprintf(why, size, "centimetre, assumed: the bones have no length");
        return UNIT[best].metres;
    }
    for (int i = 0; i < COUNT(UNIT); i++)
        if (fabs(log(chain * UNIT[i].metres / REACH_M)) < fabs(log(chain * UNIT[best].metres / REACH_M)))
            best = i;
    snprintf(why, size, "%s: the longest chain of bones from the root is then %.2f m", UNIT[best].name,
             chain * UNIT[best].metres);
    return UNIT[best].metres;
}

/* Height from the lowest to the highest joint or end. */
static double extent(const bvh *b, double (*pos)[3], double (*quat)[4])
{
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < b->njoints; i++) {
        double end[3] = {0};
        if (b->joints[i].has_end) quat_rotate(end, quat[i], b->joints[i].end);
        lo = fmin(lo, fmin(pos[i][2], pos[i][2] + end[2]));
        hi = fmax(hi, fmax(pos[i][2], pos[i][2] + end[2]));
    }
    return hi - lo;
}

static hrc_status measure(skeleton *s, const bvh *b, hrc_error *err)
{
    arena memory = {0};
    double(*pos)[3] = arena_alloc(&memory, (size_t)b->njoints, sizeof *pos);
    double(*quat)[4] = arena_alloc(&memory, (size_t)b->njoints, sizeof *quat);
    double *heights = ARENA_NEW(&memory, double, b->n);
    if (!pos || !quat || !heights) {
        arena_free(&memory);
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", b->name, b->n);
    }
    int stride = (int)fmax(1, s->fps / PATH_HZ);
    double last[2] = {0};
    s->root_lo = INFINITY, s->root_hi = -INFINITY;
    for (int i = 0; i < b->n; i++) {
        bvh_pose(b, i, pos, quat);
        heights[i] = extent(b, pos, quat);
        s->root_lo = fmin(s->root_lo, pos[0][2]), s->root_hi = fmax(s->root_hi, pos[0][2]);
        if (i % stride && i + 1 < b->n) continue;
        if (i) s->travelled += hypot(pos[0][0] - last[0], pos[0][1] - last[1]);
        last[0] = pos[0][0], last[1] = pos[0][1];
    }
    s->height = percentile(heights, b->n, 0.95);
    arena_free(&memory);
    return HRC_OK;
}

hrc_status skeleton_describe(skeleton *s, const char *path, file_view bytes, double fps, hrc_error *err)
{
    bvh b;
    *s = (skeleton){0};
    TRY(bvh_parse(&b, path, bytes, &(bvh_options){.unit = 1}, err));
    s->joints = b.njoints, s->frames = b.n;
    s->fps = fps > 0 ? fps : b.fps;
    s->seconds = b.n > 1 ? (b.n - 1) / s->fps : 0;
    snprintf(s->name, sizeof s->name, "%s", b.name);
    snprintf(s->root, sizeof s->root, "%s", b.joints[0].name);
    hrc_status status = measure(s, &b, err);
    s->unit = skeleton_unit(&b, s->unit_why, sizeof s->unit_why);
    s->height *= s->unit, s->travelled *= s->unit, s->root_lo *= s->unit, s->root_hi *= s->unit;
    bvh_free(&b);
    return status;
}
