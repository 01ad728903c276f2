#include "motion/retarget/retarget.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "motion/retarget/balance.h"

#define RATE_HZ 50.0
#define CUTOFF_HZ 8.0 /* motion of people is slower; what is faster in a capture is noise of the markers */

/* Mean over frames and over the bodies whose place the map wants. */
static double key_point_error(const motion_problem *p)
{
    const robot_body *r = robot_bodies();
    double sum = 0;
    int count = 0;
    for (int i = 0; i < p->n; i++) {
        fk_pose pose;
        fk(&pose, p->qpos[i]);
        for (int b = 0; b < BODIES; b++) {
            if (!(p->map->bodies[b].position[1] > 0)) continue;
            double d[3];
            for (int k = 0; k < 3; k++)
                d[k] = pose.pos[r[b].point_link][k] - p->t->root[i][k] - p->t->point[i][b][k];
            sum += vec_norm(d), count++;
        }
    }
    return count ? sum / count : 0;
}

/* The whole chain; everything but the clip is in `memory`. */
static hrc_status run(motion_problem *p, retarget_report *report, const bvh *b, const char *path,
                      const retarget_options *o, arena *memory, hrc_error *err)
{
    human h;
    contacts c;
    touches touching;
    targets t;
    ground g;
    TRY(human_create(&h, b, p->map, p->fps, CUTOFF_HZ, path, memory, err));
    TRY(contacts_find(&c, &h, memory, err));
    contacts_level_feet(&h, &c);
    TRY(touches_find(&touching, &h, &c, memory, err));
    TRY(targets_create(&t, &h, memory, err));
    p->n = h.n, p->t = &t, p->c = &c, p->touching = &touching, p->g = &g;
    p->qpos = arena_alloc(memory, (size_t)h.n, sizeof *p->qpos);
    if (!p->qpos) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, h.n);
    TRY(follow_targets(p, err));
    TRY(ground_find(&g, &t, p->qpos, &h, &c, &touching, o->floor, memory, err));
    TRY(refine(p, memory, err));
    TRY(balance_targets(&t, p, memory, err));
    TRY(refine(p, memory, err));
    report->leg_scale = t.leg_scale, report->arm_scale = t.arm_scale, report->torso_scale = t.torso_scale;
    report->plants = c.nplants, report->flights = g.nflights;
    report->key_error = key_point_error(p);
    return HRC_OK;
}

hrc_status retarget(clip *out, retarget_report *report, const bvh *b, const char *path,
                    const retarget_options *options, hrc_error *err)
{
    skeleton_map map;
    bvh turned = *b; /* shares its arrays; only the axis that is up may differ from what the caller knew */
    arena memory = {0};
    retarget_report found = {0};
    *out = (clip){0};
    if (options->map)
        map = *options->map;
    else
        TRY(skeleton_map_find(&map, b, path, err));
    turned.up = map.up;
    memcpy(found.skeleton, map.name, sizeof found.skeleton);
    motion_problem p = {.map = &map, .fps = options->fps > 0 ? options->fps : RATE_HZ};
    hrc_status status = run(&p, &found, &turned, path, options, &memory, err);
    if (status >= 0) status = clip_create(out, p.n, p.fps, b->name, err);
    for (int i = 0; status >= 0 && i < p.n; i++)
        for (int k = 0; k < HRC_NQ; k++) clip_frame(out, i)[k] = (float)p.qpos[i][k];
    if (status >= 0) status = clip_check(out, path, err);
    if (status >= 0) *report = found;
    arena_free(&memory);
    return status;
}
