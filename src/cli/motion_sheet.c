/* heracles motion sheet: poses of a motion over time in one picture. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "motion/clip.h"
#include "motion/retarget/skeleton_map.h"
#include "motion/retarget/targets.h"
#include "robot/capsules.h"

/* ---- The sheet ---- */

/* Contact sheet: a grid of poses over time as one SVG picture, for the eye that no figure replaces. Each cell
 * shows the robot's collision capsules from a fixed direction (its own left side orange, its right blue,
 * the trunk grey), standing on a line that is the floor, and under it, when the source is given, the person's
 * skeleton in the same colours and at the robot's size. */
typedef struct {
    int poses, columns;
    double
        azimuth; /* where the viewer stands, rad from the direction the robot faces at first, to its left */
} sheet_options;

#define CELL_W 128.0 /* px */
#define CELL_H 150.0
#define TITLE 22.0
#define PX_PER_M 86.0
#define FLOOR_AT 128.0 /* px from the top of a cell */
#define PITCH 0.2      /* rad: the viewer looks down a little */
#define BONE_M 0.028   /* thickness of what is drawn between capsules and of a person's bones */

typedef enum { SIDE_MIDDLE, SIDE_LEFT, SIDE_RIGHT } side;

typedef struct {
    double a[3], b[3], width; /* world, m */
    side s;
    double depth;
} stroke;

typedef struct {
    FILE *f;
    double right[3], up[3], toward[3]; /* of the viewer, in the world */
} canvas;

static side link_side(int link)
{
    const char *name = G1_LINK[link].name;
    return !strncmp(name, "left", 4) ? SIDE_LEFT : !strncmp(name, "right", 5) ? SIDE_RIGHT : SIDE_MIDDLE;
}

static side joint_side(const char *name)
{
    if (strstr(name, "Left") || (name[0] == 'L' && name[1] >= 'A' && name[1] <= 'Z')) return SIDE_LEFT;
    if (strstr(name, "Right") || (name[0] == 'R' && name[1] >= 'A' && name[1] <= 'Z')) return SIDE_RIGHT;
    return SIDE_MIDDLE;
}

static canvas canvas_make(FILE *f, double azimuth)
{
    double c = cos(azimuth), s = sin(azimuth);
    return (canvas){f,
                    {-s, c, 0},
                    {-sin(PITCH) * c, -sin(PITCH) * s, cos(PITCH)},
                    {cos(PITCH) * c, cos(PITCH) * s, sin(PITCH)}};
}

/* Far strokes first; ties in the order they came. */
static int by_depth(const void *a, const void *b)
{
    double x = ((const stroke *)a)->depth, y = ((const stroke *)b)->depth;
    return (x > y) - (x < y);
}

static void draw_strokes(const canvas *v, stroke *strokes, int n, const double centre[2], double x0,
                         double y0)
{
    static const char *const COLOUR[3][3] = {{"#8a8f98", "#a3a8b0", "#bcc1c8"},
                                             {"#b8621b", "#dd7d2a", "#f09a4a"},
                                             {"#1f5fa8", "#3a80cf", "#62a1e8"}};
    for (int i = 0; i < n; i++) {
        double middle[3];
        for (int k = 0; k < 3; k++) middle[k] = 0.5 * (strokes[i].a[k] + strokes[i].b[k]);
        middle[0] -= centre[0], middle[1] -= centre[1];
        strokes[i].depth = vec_dot(middle, v->toward);
    }
    qsort(strokes, (size_t)n, sizeof *strokes, by_depth);
    for (int i = 0; i < n; i++) {
        const stroke *s = &strokes[i];
        double at[2][2];
        for (int end = 0; end < 2; end++) {
            double p[3];
            memcpy(p, end ? s->b : s->a, sizeof p);
            p[0] -= centre[0], p[1] -= centre[1];
            at[end][0] = x0 + CELL_W / 2 + PX_PER_M * vec_dot(p, v->right);
            at[end][1] = y0 + FLOOR_AT - PX_PER_M * vec_dot(p, v->up);
        }
        if (fabs(at[0][0] - at[1][0]) + fabs(at[0][1] - at[1][1]) < 0.1) at[1][0] += 0.1; /* a sphere */
        int shade = s->depth < -0.1 ? 0 : s->depth < 0.1 ? 1 : 2;
        fprintf(v->f, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", at[0][0],
                at[0][1], at[1][0], at[1][1], COLOUR[s->s][shade], s->width * PX_PER_M);
    }
}

static void draw_cell(const canvas *v, double x0, double y0, const char *label)
{
    fprintf(v->f, "<path d=\"M%.0f %.0fh%.0f\" stroke=\"#444\" stroke-width=\"1\"/>\n", x0 + 4, y0 + FLOOR_AT,
            CELL_W - 8);
    if (label) fprintf(v->f, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x0 + 6, y0 + CELL_H - 8, label);
}

static void draw_robot(const canvas *v, const clip *c, int frame, double x0, double y0)
{
    stroke strokes[G1_GEOMS + G1_LINKS];
    int n = 0;
    fk_pose pose;
    capsule capsules[G1_GEOMS];
    fk_frame(&pose, clip_frame(c, frame));
    capsules_place(capsules, &pose);
    for (int i = 0; i < G1_GEOMS; i++, n++) {
        strokes[n] = (stroke){.width = 2 * capsules[i].radius, .s = link_side(capsules[i].link)};
        memcpy(strokes[n].a, capsules[i].a, sizeof strokes[n].a);
        memcpy(strokes[n].b, capsules[i].b, sizeof strokes[n].b);
    }
    for (int i = 1; i < G1_LINKS; i++, n++) {
        strokes[n] = (stroke){.width = BONE_M, .s = link_side(i)};
        memcpy(strokes[n].a, pose.pos[G1_LINK[i].parent], sizeof strokes[n].a);
        memcpy(strokes[n].b, pose.pos[i], sizeof strokes[n].b);
    }
    draw_strokes(v, strokes, n, pose.pos[G1_PELVIS], x0, y0);
}

/* ---- The person ---- */

typedef struct {
    const bvh *b;
    double scale, low; /* to the robot's size; height of the lowest joint of the clip after it */
    double (*pos)[3], (*quat)[4];
    stroke *strokes;
} person;

/* Joint positions of a frame in the robot's world: x forward at rest, the robot's size. */
static void person_pose(const person *p, int frame)
{
    bvh_pose(p->b, frame, p->pos, p->quat);
    for (int k = 0; k < p->b->njoints; k++) {
        double x = p->pos[k][0], y = p->pos[k][1];
        p->pos[k][0] = -y * p->scale, p->pos[k][1] = x * p->scale, p->pos[k][2] *= p->scale;
    }
}

static hrc_status person_create(person *p, const bvh *b, const skeleton_map *map, arena *memory,
                                hrc_error *err)
{
    human h;
    targets t;
    *p = (person){.b = b, .low = INFINITY};
    TRY(human_create(&h, b, map, 50, 8, b->name, memory, err));
    TRY(targets_create(&t, &h, memory, err));
    p->scale = t.leg_scale * map->unit / b->unit;
    p->pos = arena_alloc(memory, (size_t)b->njoints, sizeof *p->pos);
    p->quat = arena_alloc(memory, (size_t)b->njoints, sizeof *p->quat);
    p->strokes = ARENA_NEW(memory, stroke, b->njoints);
    if (!p->pos || !p->quat || !p->strokes) return fail(err, HRC_ENOMEM, "%s: out of memory", b->name);
    for (int i = 0; i < b->n; i++) {
        person_pose(p, i);
        for (int k = 0; k < b->njoints; k++) p->low = fmin(p->low, p->pos[k][2]);
    }
    return HRC_OK;
}

static void draw_person(const canvas *v, const person *p, double seconds, double x0, double y0)
{
    int frame = (int)lround(seconds * p->b->fps), n = 0;
    person_pose(p, frame < p->b->n ? frame : p->b->n - 1);
    double centre[2] = {p->pos[0][0], p->pos[0][1]};
    for (int k = 0; k < p->b->njoints; k++) p->pos[k][2] -= p->low;
    for (int k = 1; k < p->b->njoints; k++, n++) {
        int parent = p->b->joints[k].parent;
        p->strokes[n] = (stroke){.width = BONE_M, .s = joint_side(p->b->joints[k].name)};
        memcpy(p->strokes[n].a, p->pos[parent < 0 ? k : parent], sizeof p->strokes[n].a);
        memcpy(p->strokes[n].b, p->pos[k], sizeof p->strokes[n].b);
    }
    draw_strokes(v, p->strokes, n, centre, x0, y0);
}

static void draw_all(FILE *f, const clip *c, const person *p, const sheet_options *o)
{
    double facing[4];
    for (int k = 0; k < 4; k++) facing[k] = (double)c->qpos[3 + k];
    canvas v = canvas_make(f, quat_yaw(facing) + o->azimuth);
    int n = o->poses < c->n ? o->poses : c->n, columns = n < o->columns ? n : o->columns;
    int rows = (n + columns - 1) / columns;
    double row_h = p ? 2 * CELL_H - 14 : CELL_H, w = columns * CELL_W, h = TITLE + rows * row_h;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
            "%.0f\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<g fill=\"none\" "
            "stroke-linecap=\"round\" font-family=\"sans-serif\" font-size=\"10\">\n<g fill=\"#333\">\n<text "
            "x=\"6\" y=\"15\" font-size=\"13\">%s: %.1f s; orange left, blue right%s</text></g>\n",
            w, h, w, h, c->name, (c->n - 1) / c->fps, p ? "; under the robot the person" : "");
    for (int i = 0; i < n; i++) {
        int frame = n > 1 ? (int)lround((double)i * (c->n - 1) / (n - 1)) : 0;
        const int row = i / columns;
        double x0 = i % columns * CELL_W, y0 = TITLE + row * row_h;
        char label[64];
        snprintf(label, sizeof label, "<tspan fill=\"#333\">%.2f s</tspan>", frame / c->fps);
        draw_cell(&v, x0, y0, p ? NULL : label);
        draw_robot(&v, c, frame, x0, y0);
        if (!p) continue;
        draw_cell(&v, x0, y0 + CELL_H - 14, label);
        draw_person(&v, p, frame / c->fps, x0, y0 + CELL_H - 14);
    }
    fprintf(f, "</g>\n</svg>\n");
}

/* b may be NULL; map NULL: the known one that fits. *svg is the caller's to free. */
static hrc_status sheet_draw(char **svg, const clip *c, const bvh *b, const skeleton_map *map,
                             const sheet_options *options, hrc_error *err)
{
    arena memory = {0};
    person p;
    skeleton_map known;
    bvh turned;
    size_t size;
    hrc_status status = HRC_OK;
    *svg = NULL;
    if (b) {
        turned = *b;
        if (!map) status = skeleton_map_find(&known, b, b->name, err), map = &known;
        if (status >= 0) {
            turned.up = map->up;
            status = person_create(&p, &turned, map, &memory, err);
        }
    }
    FILE *f = status >= 0 ? open_memstream(svg, &size) : NULL;
    if (f) draw_all(f, c, b ? &p : NULL, options);
    if (status >= 0 && (!f || fclose(f) != 0)) {
        free(*svg);
        *svg = NULL;
        status = fail(err, HRC_ENOMEM, "%s: out of memory for the picture", c->name);
    }
    arena_free(&memory);
    return status;
}

static hrc_status make_sheet(const args *a, const sheet_options *options, const skeleton_map *map,
                             const char *out, hrc_error *err)
{
    const char *source = arg(a, "bvh");
    clip c;
    bvh b;
    char *svg = NULL;
    clip_options reading;
    TRY(motion_reading(a, &reading, err));
    TRY(clip_load(&c, a->operands[0], &reading, NULL, err));
    hrc_status status = source ? bvh_load(&b, source, NULL, err) : HRC_OK;
    if (status >= 0) {
        status = sheet_draw(&svg, &c, source ? &b : NULL, map, options, err);
        if (source) bvh_free(&b);
    }
    if (status >= 0 && svg) status = file_write(out, &(file_piece){svg, strlen(svg)}, 1, err);
    free(svg);
    clip_free(&c);
    return status;
}

static int run_sheet(const args *a)
{
    const char *out = motion_out(a), *joints = arg(a, "skeleton");
    sheet_options options = {0};
    double from = 0;
    skeleton_map map;
    hrc_error err;
    if (!out || !arg_int(a, "poses", 1, 1000, &options.poses) ||
        !arg_int(a, "columns", 1, 100, &options.columns) || !arg_number(a, "from", -360, 360, &from))
        return EXIT_USAGE;
    options.azimuth = from * M_PI / 180;
    if (joints && skeleton_map_load(&map, joints, &err) < 0) return cli_fail(&err);
    if (make_sheet(a, &options, joints ? &map : NULL, out, &err) < 0) return cli_fail(&err);
    if (a->json) return cli_json(json_pack("{s:s}", "file", out));
    cli_note(a, "%s", out);
    return EXIT_DONE;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL, "the picture (-o), SVG"},
    {"bvh", "FILE", NULL, "the human motion it was made from, drawn under the robot"},
    {"skeleton", "FILE", NULL, "map of the BVH's joints; default: by the names of the joints"},
    {"poses", "N", "16", "how many, evenly over the time"},
    {"columns", "N", "8", "poses in a row"},
    {"from", "DEGREES", "50", "where the viewer stands: 0 in front, 90 at the left"},
    OPTIONS_READING,
    {0},
};

const command CMD_MOTION_SHEET = {
    .name = "motion sheet",
    .operands = "FILE",
    .summary = "a contact sheet: poses over time in one picture",
    .example = "heracles motion sheet walk.safetensors --bvh walk.bvh -o walk.svg",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_sheet,
};
