#include "puppet.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "test.h"

static const double TO_ROBOT[4] = {0.5, 0.5, 0.5, 0.5}; /* axes of a y-up file to the robot's world */

static int add_joint(bvh *b, const char *name, int parent, const double offset[3])
{
    bvh_joint *j = &b->joints[b->njoints];
    j->name = name;
    j->parent = parent;
    memcpy(j->offset, offset, sizeof j->offset);
    j->first = b->nchannels;
    for (int k = 0; parent < 0 && k < 3; k++) j->channel[j->nchannels++] = (bvh_channel)(BVH_X_POS + k);
    for (int k = 0; k < 3; k++) j->channel[j->nchannels++] = (bvh_channel)(BVH_Z_ROT - k); /* z, y, x */
    b->nchannels += j->nchannels;
    return b->njoints++;
}

/* A vector of a body's axes, in those of its joint and the person's measure. */
static void in_joint(double out[3], const map_body *m, const double v[3])
{
    quat_rotate(out, m->offset, v);
    for (int k = 0; k < 3; k++) out[k] /= PUPPET_SCALE;
}

void puppet_create(bvh *b, const skeleton_map *map, int n, double fps)
{
    const robot_body *r = robot_bodies();
    *b = (bvh){.name = "puppet", .n = n, .fps = fps, .unit = map->unit};
    b->joints = ARENA_NEW(&b->memory, bvh_joint, 2 * BODIES);
    ENSURE(b->joints);
    for (int body = 0; body < BODIES; body++) {
        const map_body *m = &map->bodies[body];
        double offset[3] = {0};
        int parent = body ? bvh_find(b, map->bodies[r[body].parent].turn) : -1;
        if (body) in_joint(offset, &map->bodies[r[body].parent], r[body].start);
        int joint = add_joint(b, m->place, parent, offset);
        bool foot = body == BODY_LEFT_FOOT || body == BODY_RIGHT_FOOT;
        const char *further = foot ? map->toe[body == BODY_RIGHT_FOOT] : m->turn;
        if (bvh_find(b, further) >= 0) continue;
        /* the toe; or the joint that turns, at the same place as the one that gives it */
        in_joint(offset, m, (double[3]){foot ? PUPPET_TOE : 0, 0, 0});
        add_joint(b, further, joint, offset);
    }
    b->values = ARENA_NEW(&b->memory, float, (size_t)n * b->nchannels);
    ENSURE(b->values);
}

static int body_of_joint(const skeleton_map *map, const char *name)
{
    for (int body = 0; body < BODIES; body++)
        if (!strcmp(map->bodies[body].turn, name)) return body;
    for (int body = 0; body < BODIES; body++)
        if (!strcmp(map->bodies[body].place, name)) return body;
    return !strcmp(map->toe[0], name) ? BODY_LEFT_FOOT : BODY_RIGHT_FOOT;
}

/* R = Rz Ry Rx, degrees */
static void euler_zyx(float out[3], const double q[4])
{
    double m[9];
    quat_to_mat(m, q);
    out[0] = (float)(atan2(m[3], m[0]) * 180 / M_PI);
    out[1] = (float)(asin(fmax(-1, fmin(1, -m[6]))) * 180 / M_PI);
    out[2] = (float)(atan2(m[7], m[8]) * 180 / M_PI);
}

void puppet_pose(bvh *b, const skeleton_map *map, int i, const double qpos[HRC_NQ])
{
    const robot_body *r = robot_bodies();
    double world[2 * BODIES][4];
    float *values = b->values + (size_t)i * b->nchannels;
    fk_pose pose;
    fk(&pose, qpos);
    for (int k = 0; k < b->njoints; k++) {
        const bvh_joint *j = &b->joints[k];
        int body = body_of_joint(map, j->name);
        double inverse[4], local[4];
        quat_conj(inverse, r[body].along);
        quat_mul(world[k], pose.quat[r[body].link], inverse);
        quat_conj(inverse, map->bodies[body].offset);
        quat_mul(world[k], world[k], inverse);
        quat_conj(inverse, TO_ROBOT);
        quat_mul(world[k], inverse, world[k]);
        memcpy(local, world[k], sizeof local);
        if (j->parent >= 0) {
            quat_conj(inverse, world[j->parent]);
            quat_mul(local, inverse, world[k]);
        } else {
            double root[3] = {qpos[0], qpos[1], qpos[2]};
            quat_rotate_inv(root, TO_ROBOT, root);
            for (int c = 0; c < 3; c++) values[j->first + c] = (float)(root[c] / PUPPET_SCALE / b->unit);
        }
        euler_zyx(values + j->first + (j->parent < 0 ? 3 : 0), local);
    }
}

void puppet_mirror(bvh *b)
{
    static const float SIGN[6] = {-1, 1, 1, -1, -1, 1}; /* x, y, z; turns about z, y, x */
    float *was = malloc((size_t)b->nchannels * sizeof *was);
    double(*offset)[3] = malloc((size_t)b->njoints * sizeof *offset);
    ENSURE(was && offset);
    for (int k = 0; k < b->njoints; k++) memcpy(offset[k], b->joints[k].offset, sizeof offset[k]);
    int mate[512];
    for (int k = 0; k < b->njoints; k++) {
        char name[MAP_NAME];
        const char *from = b->joints[k].name;
        bool left = !strncmp(from, "Left", 4), right = !strncmp(from, "Right", 5);
        if (from[0] == 'L' && strchr("HT", from[1]))
            snprintf(name, sizeof name, "R%s", from + 1);
        else if (from[0] == 'R' && strchr("HT", from[1]))
            snprintf(name, sizeof name, "L%s", from + 1);
        else
            snprintf(name, sizeof name, "%s%s",
                     left    ? "Right"
                     : right ? "Left"
                             : "",
                     from + (left    ? 4
                             : right ? 5
                                     : 0));
        mate[k] = bvh_find(b, name);
        ENSURE(mate[k] >= 0);
    }
    for (int k = 0; k < b->njoints; k++)
        for (int c = 0; c < 3; c++) b->joints[k].offset[c] = (c == 0 ? -1 : 1) * offset[mate[k]][c];
    for (int i = 0; i < b->n; i++) {
        float *values = b->values + (size_t)i * b->nchannels;
        memcpy(was, values, (size_t)b->nchannels * sizeof *was);
        for (int k = 0; k < b->njoints; k++) {
            int n = b->joints[k].nchannels;
            for (int c = 0; c < n; c++)
                values[b->joints[k].first + c] = SIGN[6 - n + c] * was[b->joints[mate[k]].first + c];
        }
    }
    free(was);
    free(offset);
}

/* ---- As a file ---- */

static const char *const CHANNEL[] = {"Xposition", "Yposition", "Zposition",
                                      "Xrotation", "Yrotation", "Zrotation"};

static void write_joint(text *out, const bvh *b, int k, int *order, int *n)
{
    const bvh_joint *j = &b->joints[k];
    bool leaf = true;
    order[(*n)++] = k;
    text_add(out, "%s %s\n{\nOFFSET %.9g %.9g %.9g\nCHANNELS %d", j->parent < 0 ? "ROOT" : "JOINT", j->name,
             j->offset[0] / b->unit, j->offset[1] / b->unit, j->offset[2] / b->unit, j->nchannels);
    for (int c = 0; c < j->nchannels; c++) text_add(out, " %s", CHANNEL[j->channel[c]]);
    text_add(out, "\n");
    for (int i = k + 1; i < b->njoints; i++)
        if (b->joints[i].parent == k) write_joint(out, b, i, order, n), leaf = false;
    text_add(out, leaf ? "End Site\n{\nOFFSET 0 0 0\n}\n}\n" : "}\n");
}

void puppet_write(text *out, const bvh *b)
{
    int order[2 * BODIES], n = 0;
    text_add(out, "HIERARCHY\n");
    write_joint(out, b, 0, order, &n);
    text_add(out, "MOTION\nFrames: %d\nFrame Time: %.9g\n", b->n, 1 / b->fps);
    for (int i = 0; i < b->n; i++) {
        const float *values = b->values + (size_t)i * b->nchannels;
        for (int k = 0; k < n; k++) {
            const bvh_joint *j = &b->joints[order[k]];
            for (int c = 0; c < j->nchannels; c++) text_add(out, "%.7g ", (double)values[j->first + c]);
        }
        text_add(out, "\n");
    }
    ENSURE(n == b->njoints && text_ok(out));
}
