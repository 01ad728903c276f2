/* heracles motion sheet: poses of a motion over time in one picture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "motion/retarget/sheet.h"

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
    if (status >= 0) status = file_write(out, &(file_piece){svg, strlen(svg)}, 1, err);
    free(svg);
    clip_free(&c);
    return status;
}

static int run_sheet(const args *a)
{
    const char *out = motion_out(a), *skeleton = arg(a, "skeleton");
    double poses, columns, from;
    skeleton_map map;
    hrc_error err;
    if (!out || !arg_number(a, "poses", 1, 1000, &poses) || !arg_number(a, "columns", 1, 100, &columns) ||
        !arg_number(a, "from", -360, 360, &from))
        return EXIT_USAGE;
    if (skeleton && skeleton_map_load(&map, skeleton, &err) < 0) return cli_fail(&err);
    sheet_options options = {(int)poses, (int)columns, from * M_PI / 180};
    if (make_sheet(a, &options, skeleton ? &map : NULL, out, &err) < 0) return cli_fail(&err);
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
