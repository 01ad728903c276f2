/* heracles robot: the G1 as this program knows it. */
#include <stdio.h>

#include "cli/commands.h"
#include "robot/mjcf.h"

static json_t *joint_json(const hrc_joint *j)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:[f,f], s:[f,f]}", "name", j->name, "q0_rad",
                     j->q0, "armature", j->armature, "kp", j->kp, "kd", j->kd, "effort_nm", j->effort,
                     "velocity_radps", j->velocity, "action_scale", j->action_scale, "limits_rad", j->lo,
                     j->hi, "soft_limits_rad", j->soft_lo, j->soft_hi);
}

static int print_json(void)
{
    json_t *joints = json_array(), *links = json_array(), *tracked = json_array();
    for (int i = 0; i < HRC_JOINTS; i++) json_array_append_new(joints, joint_json(&G1_JOINT[i]));
    for (int i = 0; i < G1_LINKS; i++) json_array_append_new(links, json_string(G1_LINK[i].name));
    for (int i = 0; i < G1_TRACKED; i++)
        json_array_append_new(tracked, json_string(G1_LINK[G1_TRACKED_LINK[i]].name));
    return cli_json(json_pack("{s:s, s:f, s:o, s:o, s:o}", "name", "Unitree G1, 29 joints", "mass_kg",
                              G1_MASS, "joints", joints, "links", links, "tracked_links", tracked));
}

static int print_mjcf(const args *a)
{
    mjcf_options options = mjcf_from_config(&a->cfg);
    text xml = {0};
    mjcf_write(&xml, &options);
    bool complete = text_ok(&xml);
    if (complete && a->json)
        cli_json(json_pack("{s:s}", "mjcf", xml.data));
    else if (complete)
        fwrite(xml.data, 1, xml.size, stdout);
    text_free(&xml);
    return complete ? EXIT_DONE : cli_fail(&(hrc_error){"g1.xml: out of memory"});
}

static int run_robot(const args *a)
{
    if (arg(a, "mjcf")) return print_mjcf(a);
    if (a->json) return print_json();
    printf("Unitree G1: %d joints, %d links, %.3f kg\n", HRC_JOINTS, G1_LINKS, G1_MASS);
    printf("%2s  %-26s %7s %9s %8s %7s %7s %7s %9s %9s\n", "", "joint", "q0", "armature", "kp", "kd",
           "effort", "scale", "lo", "hi");
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        printf("%2d  %-26s %7.3f %9.6f %8.3f %7.3f %7.0f %7.4f %9.5f %9.5f\n", i, j->name, j->q0, j->armature,
               j->kp, j->kd, j->effort, j->action_scale, j->lo, j->hi);
    }
    return EXIT_DONE;
}

static const option OPTIONS[] = {{"mjcf", NULL, NULL, "the MuJoCo model file (settings of [sim] apply)"},
                                 {0}};

const command CMD_ROBOT = {
    .name = "robot",
    .operands = "",
    .summary = "the G1's joints: order, gains, limits",
    .example = "heracles robot --json",
    .options = OPTIONS,
    .run = run_robot,
};
