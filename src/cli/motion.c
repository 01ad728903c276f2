#include "cli/motion.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Says at which rate a file is read where that is not certain; once, when a suite cuts it into many. */
static void note_rate(const void *ctx, const char *path, const clip_decisions *why)
{
    static _Thread_local char said[4096]; /* corpus build reads in many */
    if (!strstr(why->fps, "--in-fps") || !strcmp(said, path)) return;
    snprintf(said, sizeof said, "%s", path);
    cli_note(ctx, "%s: frame rate %s", path, why->fps);
}

int motion_options(const args *a, clip_options *out)
{
    *out = (clip_options){.quat = arg(a, "quat"), .noted = note_rate, .ctx = a};
    if (!arg_number(a, "in-fps", 0.1, 10000, &out->fps)) return EXIT_USAGE;
    if (out->quat && strcmp(out->quat, "wxyz") && strcmp(out->quat, "xyzw"))
        return cli_usage(a, "--quat is \"%.20s\", expected wxyz or xyzw", out->quat);
    return EXIT_DONE;
}

hrc_status motion_reading(const args *a, clip_options *out, hrc_error *err)
{
    return motion_options(a, out) == EXIT_DONE ? HRC_OK
                                               : fail(err, HRC_EINVAL, "the motions cannot be read so");
}

const char *motion_out(const args *a)
{
    const char *path = arg(a, "out");
    if (!path) cli_usage(a, "-o FILE is missing");
    return path;
}

hrc_status motion_save(const args *a, const clip *c, const char *path, hrc_error *err)
{
    TRY(clip_save(c, path, err));
    const char *ending = strrchr(path, '.');
    bool csv = ending && !strcasecmp(ending, ".csv");
    cli_note(a, "%s: %d frames at %g fps%s", path, c->n, c->fps,
             csv && c->fps != 30 ? " (a CSV does not hold the rate: give it with the file)" : "");
    return HRC_OK;
}

/* null when there is nothing to point at */
static json_t *joint_json(int joint, bool any)
{
    return any ? json_string(G1_JOINT[joint].name) : json_null();
}

static json_t *frame_json(int frame, bool any)
{
    return any ? json_integer(frame) : json_null();
}

static json_t *self_json(const quality_self *self)
{
    bool touches = self->depth > 0;
    json_t *geoms =
        touches ? json_pack("[s,s]", capsule_info(self->pair.i)->name, capsule_info(self->pair.j)->name)
                : json_null();
    return json_pack("{s:f, s:f, s:o, s:o}", "share", self->share, "depth_m", self->depth, "frame",
                     frame_json(self->frame, touches), "geoms", geoms);
}

static json_t *jumps_json(const quality_jumps *j, const char *size)
{
    return json_pack("{s:i, s:o, s:o, s:f}", "count", j->count, "worst_frame",
                     frame_json(j->frame, j->count > 0), "joint", joint_json(j->joint, j->joint >= 0), size,
                     j->size);
}

static json_t *motion_json(const quality *q)
{
    bool outside = q->limit_excess > 0, moves = q->speed_max > 0;
    return json_pack("{s:{s:f, s:o, s:f}, s:{s:f, s:o, s:o, s:f, s:f}, s:{s:o, s:o, s:o}}", "joint_limits",
                     "excess_rad", q->limit_excess, "joint", joint_json(q->limit_joint, outside), "share",
                     q->limit_share, "joint_speed", "max_radps", q->speed_max, "joint",
                     joint_json(q->speed_joint, moves), "frame", frame_json(q->speed_frame, moves),
                     "p999_radps", q->speed_p999, "over_motor_share", q->speed_share, "jumps", "joints",
                     jumps_json(&q->joint_jumps, "size_rad"), "root", jumps_json(&q->root_jumps, "size_m"),
                     "turn", jumps_json(&q->turn_jumps, "size_rad"));
}

static json_t *feet_json(const quality *q)
{
    bool floats = q->floating_s > 0, sinks = q->uncarried_s > 0;
    return json_pack("{s:{s:f, s:o, s:o, s:o}, s:{s:f, s:o, s:o, s:f}, s:{s:f, s:o, s:o, s:f}, s:{s:i, s:o}}",
                     "foot_skate", "planted_share", q->planted_share, "median_mps",
                     json_number(q->skate_median), "p90_mps", json_number(q->skate_p90), "max_mps",
                     json_number(q->skate_max), "floating", "longest_s", q->floating_s, "first_frame",
                     frame_json(q->floating_first, floats), "last_frame",
                     frame_json(q->floating_last, floats), "share", q->floating_share, "uncarried",
                     "longest_s", q->uncarried_s, "first_frame", frame_json(q->uncarried_first, sinks),
                     "last_frame", frame_json(q->uncarried_last, sinks), "share", q->uncarried_share,
                     "flight", "count", q->flights, "acceleration_mps2", json_number(q->flight_accel));
}

static json_t *inside_json(const quality *q)
{
    return json_pack("{s:{s:f, s:i, s:s, s:f, s:f, s:f}, s:{s:o, s:o}}", "floor", "lowest_m", q->low_min,
                     "frame", q->low_frame, "geom", capsule_info(q->low_capsule)->name, "p1_m", q->low_p1,
                     "under_1cm_share", q->low_share_1cm, "under_2cm_share", q->low_share_2cm,
                     "self_penetration", "all", self_json(&q->self_all), "simulated",
                     self_json(&q->self_simulated));
}

json_t *quality_json(const quality *q)
{
    json_t *reasons = json_array(), *parts[] = {motion_json(q), feet_json(q), inside_json(q)};
    for (int i = 0; i < q->nreasons; i++) json_array_append_new(reasons, json_string(q->reasons[i]));
    json_t *object = json_pack("{s:s, s:o, s:f, s:f, s:i, s:[f,f]}", "verdict", quality_word(q->verdict),
                               "reasons", reasons, "seconds", q->seconds, "fps", q->fps, "frames", q->frames,
                               "root_height_m", q->root_lo, q->root_hi);
    for (int i = 0; i < COUNT(parts); i++) {
        json_object_update(object, parts[i]);
        json_decref(parts[i]);
    }
    return object;
}

static void print_jumps(const char *what, const quality_jumps *j, const char *unit)
{
    printf("  %-18s %d", what, j->count);
    if (j->count) printf(", worst %.3f %s at frame %d", j->size, unit, j->frame);
    if (j->count && j->joint >= 0) printf(" (%s)", G1_JOINT[j->joint].name);
    putchar('\n');
}

static void print_joints(const quality *q)
{
    printf("  %-18s ", "joint limits");
    if (q->limit_excess > 0)
        printf("exceeded by up to %.3f rad (%s), in %.1f %% of the frames\n", q->limit_excess,
               G1_JOINT[q->limit_joint].name, 100 * q->limit_share);
    else
        printf("kept\n");
    printf("  %-18s max %.1f rad/s (%s, frame %d), 99.9 %% under %.1f; over the motors' limits in %.2f %% of "
           "the frames\n",
           "joint speed", q->speed_max, G1_JOINT[q->speed_joint].name, q->speed_frame, q->speed_p999,
           100 * q->speed_share);
    print_jumps("jumps of joints", &q->joint_jumps, "rad");
    print_jumps("jumps of the root", &q->root_jumps, "m");
    print_jumps("turns of the root", &q->turn_jumps, "rad");
}

static void print_self(const char *what, const quality_self *self)
{
    printf("  %-18s deeper than 1 cm in %.1f %% of the frames", what, 100 * self->share);
    if (self->depth > 0)
        printf("; worst %.1f cm (%s in %s, frame %d)", 100 * self->depth, capsule_info(self->pair.i)->name,
               capsule_info(self->pair.j)->name, self->frame);
    putchar('\n');
}

static void print_spell(const char *what, double seconds, int first, int last, double share)
{
    printf("  %-18s ", what);
    if (seconds > 0)
        printf("longest %.2f s (frames %d to %d), %.1f %% of the time\n", seconds, first, last, 100 * share);
    else
        printf("never\n");
}

static void print_contact(const quality *q)
{
    printf("  %-18s ", "foot skate");
    if (q->planted_share > 0)
        printf("median %.3f m/s, 90 %% under %.2f, max %.2f; feet planted %.0f %% of the time\n",
               q->skate_median, q->skate_p90, q->skate_max, 100 * q->planted_share);
    else
        printf("no foot is ever planted\n");
    printf(
        "  %-18s lowest %+.1f cm (%s, frame %d), 99 %% over %+.1f cm; deeper than 1 cm %.1f %%, 2 cm %.1f %% of "
        "the frames\n",
        "floor", 100 * q->low_min, capsule_info(q->low_capsule)->name, q->low_frame, 100 * q->low_p1,
        100 * q->low_share_1cm, 100 * q->low_share_2cm);
    print_spell("floating", q->floating_s, q->floating_first, q->floating_last, q->floating_share);
    print_spell("not carried", q->uncarried_s, q->uncarried_first, q->uncarried_last, q->uncarried_share);
    printf("  %-18s ", "flights");
    if (q->flights)
        printf("%d, acceleration %.1f m/s2 (median; free fall has -9.8)\n", q->flights, q->flight_accel);
    else
        printf("none\n");
    print_self("self-penetration", &q->self_all);
    print_self("  as simulated", &q->self_simulated);
}

void quality_print(const quality *q)
{
    printf("  %-18s %.2f s, %d frames at %g fps\n", "length", q->seconds, q->frames, q->fps);
    printf("  %-18s %.2f to %.2f m\n", "root height", q->root_lo, q->root_hi);
    print_joints(q);
    print_contact(q);
    printf("  %-18s %s\n", "verdict", quality_word(q->verdict));
    for (int i = 0; i < q->nreasons; i++) printf("  %-18s - %s\n", "", q->reasons[i]);
}

void quality_row_head(void)
{
    printf("%-32s %8s %6s %6s %6s %6s %6s %7s %6s %6s %6s  %s\n", "clip", "length", "fps", "root", "limit",
           "speed", "jumps", "lowest", "<-2cm", "skate", "self", "verdict");
    printf("%-32s %8s %6s %6s %6s %6s %6s %7s %6s %6s %6s\n", "", "s", "", "min m", "rad", "rad/s", "", "cm",
           "%", "m/s", "%");
}

void quality_row(const char *name, const quality *q)
{
    printf("%-32.32s %8.1f %6.4g %6.2f %6.2f %6.1f %6d %7.1f %6.1f %6.3f %6.1f  %s\n", name, q->seconds,
           q->fps, q->root_lo, q->limit_excess, q->speed_max,
           q->joint_jumps.count + q->root_jumps.count + q->turn_jumps.count, 100 * q->low_min,
           100 * q->low_share_2cm, q->skate_median, 100 * q->self_simulated.share, quality_word(q->verdict));
}
