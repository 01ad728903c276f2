/* Only attributes that MuJoCo 2.2.2 knows and newer releases kept; every default that changed between
 * releases (autolimits, for one) is written out. */
#include "robot/mjcf.h"

#include <string.h>

mjcf_options mjcf_from_config(const config *cfg)
{
    return (mjcf_options){
        .timestep = cfg->sim_timestep,
        .friction = cfg->sim_friction,
        .feet = strcmp(cfg->sim_feet, "light") ? G1_FEET_EXACT : G1_FEET_LIGHT,
        .self_collision = self_collision_mode(cfg->sim_self_collision),
    };
}

static void write_head(text *out, const mjcf_options *o)
{
    /* Bits decide which geoms touch: without self-collision the robot meets only what has conaffinity,
     * which is the floor. */
    int affinity = o->self_collision != SELF_NONE;
    text_add(
        out,
        "<mujoco model=\"g1\">\n"
        "  <!-- Unitree G1, 29 joints. Written by 'heracles robot --mjcf'; the source is src/robot. -->\n"
        "  <compiler angle=\"radian\" inertiafromgeom=\"false\"/>\n");
    text_add(
        out,
        "  <option timestep=\"%.9g\" iterations=\"%d\" solver=\"Newton\" cone=\"pyramidal\" integrator=\"Euler\"/>\n",
        o->timestep, MJCF_ITERATIONS);
    text_add(out,
             "  <visual>\n    <headlight ambient=\"0.4 0.4 0.4\" diffuse=\"0.4 0.4 0.4\"/>\n  </visual>\n"
             "  <default>\n    <default class=\"visual\">\n"
             "      <geom contype=\"0\" conaffinity=\"0\" group=\"2\" mass=\"0\"/>\n    </default>\n");
    /* Frictionless self-contact (condim 1) is enough and cheaper; against the floor MuJoCo takes the
     * larger condim, the floor's 3. */
    text_add(
        out,
        "    <default class=\"collision\">\n"
        "      <geom contype=\"1\" conaffinity=\"%d\" condim=\"1\" friction=\"%.9g 0.005 0.0001\" group=\"3\" mass=\"0\" rgba=\"0.9 0.5 0.2 0.4\"/>\n"
        "    </default>\n  </default>\n",
        affinity, o->friction);
    text_add(
        out,
        "  <asset>\n"
        "    <texture name=\"grid\" type=\"2d\" builtin=\"checker\" width=\"512\" height=\"512\" rgb1=\"0.25 0.28 0.32\" rgb2=\"0.32 0.36 0.4\"/>\n"
        "    <material name=\"grid\" texture=\"grid\" texrepeat=\"1 1\" texuniform=\"true\" reflectance=\"0.1\"/>\n"
        "    <material name=\"dark\" rgba=\"0.13 0.14 0.16 1\"/>\n"
        "    <material name=\"light\" rgba=\"0.78 0.8 0.82 1\"/>\n  </asset>\n");
    text_add(
        out,
        "  <worldbody>\n    <light directional=\"true\" pos=\"0 0 4\" dir=\"0.3 0.2 -1\"/>\n"
        "    <geom name=\"floor\" type=\"plane\" size=\"0 0 0.05\" material=\"grid\" contype=\"1\" conaffinity=\"1\" condim=\"3\" friction=\"%.9g 0.005 0.0001\"/>\n",
        o->friction);
}

static void write_vector(text *out, const char *name, const double *v, int n)
{
    text_add(out, " %s=\"", name);
    for (int i = 0; i < n; i++) text_add(out, "%s%.15g", i ? " " : "", v[i]);
    text_add(out, "\"");
}

static void write_capsules(text *out, const char *pad, int link, const g1_capsule *list, int n)
{
    for (int i = 0; i < n; i++) {
        const g1_capsule *c = &list[i];
        if (c->link != link) continue;
        const int sphere = c->a[0] == c->b[0] && c->a[1] == c->b[1] && c->a[2] == c->b[2];
        text_add(out, "%s<geom name=\"%s\" class=\"collision\" type=\"%s\" size=\"%.9g\"", pad, c->name,
                 sphere ? "sphere" : "capsule", c->radius);
        if (sphere) {
            write_vector(out, "pos", c->a, 3);
        } else {
            const double ends[6] = {c->a[0], c->a[1], c->a[2], c->b[0], c->b[1], c->b[2]};
            write_vector(out, "fromto", ends, 6);
        }
        text_add(out, "/>\n");
    }
}

static void write_visuals(text *out, const char *pad, int link)
{
    static const char *const TYPE[] = {
        [G1_BOX] = "box", [G1_CAPSULE] = "capsule", [G1_CYLINDER] = "cylinder", [G1_ELLIPSOID] = "ellipsoid"};
    for (int i = 0; i < G1_NVISUAL; i++) {
        const g1_visual *v = &G1_VISUAL[i];
        if (v->link != link) continue;
        int sizes = v->shape == G1_BOX || v->shape == G1_ELLIPSOID ? 3 : 2;
        text_add(out, "%s<geom class=\"visual\" type=\"%s\" material=\"%s\"", pad, TYPE[v->shape],
                 v->colour == G1_DARK ? "dark" : "light");
        write_vector(out, "size", v->size, sizes);
        write_vector(out, "pos", v->pos, 3);
        write_vector(out, "euler", v->euler, 3);
        text_add(out, "/>\n");
    }
}

static void write_sites(text *out, const char *pad, int link)
{
    for (int i = 0; i < G1_SITES; i++) {
        if (G1_SITE[i].link != link) continue;
        text_add(out, "%s<site name=\"%s\" size=\"0.01\"", pad, G1_SITE[i].name);
        write_vector(out, "pos", G1_SITE[i].pos, 3);
        text_add(out, "/>\n");
    }
}

static void write_joint(text *out, const char *pad, int link)
{
    if (link == G1_PELVIS) {
        text_add(out, "%s<freejoint name=\"root\"/>\n", pad);
        return;
    }
    const hrc_joint *j = &G1_JOINT[link - 1];
    text_add(out, "%s<joint name=\"%s\" type=\"hinge\" limited=\"true\" armature=\"%.9g\"", pad, j->name,
             j->armature);
    write_vector(out, "axis", G1_LINK[link].axis, 3);
    const double range[2] = {j->lo, j->hi};
    write_vector(out, "range", range, 2);
    text_add(out, "/>\n");
}

static void write_body(text *out, int link, int depth, const mjcf_options *o)
{
    char pad[64];
    int n = 0, ncapsules;
    for (; n < 2 * depth && n < 60; n++) pad[n] = ' ';
    pad[n] = 0;
    const g1_link *body = &G1_LINK[link];
    text_add(out, "%s<body name=\"%s\"", pad, body->name);
    write_vector(out, "pos", body->pos, 3);
    write_vector(out, "quat", body->quat, 4);
    text_add(out, ">\n%s  <inertial mass=\"%.9g\"", pad, body->mass);
    write_vector(out, "pos", body->com, 3);
    write_vector(out, "quat", body->inertia_quat, 4);
    write_vector(out, "diaginertia", body->inertia, 3);
    text_add(out, "/>\n");
    pad[n] = ' ', pad[n + 1] = ' ', pad[n + 2] = 0; /* inside the body */
    write_joint(out, pad, link);
    const g1_capsule *capsules = g1_body_capsules(&ncapsules);
    write_capsules(out, pad, link, capsules, ncapsules);
    capsules = g1_foot_capsules(o->feet, &ncapsules);
    write_capsules(out, pad, link, capsules, ncapsules);
    write_visuals(out, pad, link);
    write_sites(out, pad, link);
    for (int child = link + 1; child < G1_LINKS; child++)
        if (G1_LINK[child].parent == link) write_body(out, child, depth + 1, o);
    pad[n] = 0;
    text_add(out, "%s</body>\n", pad);
}

static bool has_capsule(int link)
{
    int n;
    const g1_capsule *c = g1_body_capsules(&n);
    for (int i = 0; i < n; i++)
        if (c[i].link == link) return true;
    return link == G1_LEFT_ANKLE || link == G1_RIGHT_ANKLE;
}

/* MuJoCo leaves out parent and child by itself; the rest is decided in capsules.h. */
static void write_excludes(text *out, self_collision mode)
{
    if (mode == SELF_NONE) return;
    text_add(out, "  <contact>\n");
    for (int a = 0; a < G1_LINKS; a++)
        for (int b = a + 1; b < G1_LINKS; b++)
            if (G1_LINK[b].parent != a && has_capsule(a) && has_capsule(b) && !g1_pair_collides(a, b, mode))
                text_add(out, "    <exclude body1=\"%s\" body2=\"%s\"/>\n", G1_LINK[a].name, G1_LINK[b].name);
    text_add(out, "  </contact>\n");
}

static void write_tail(text *out)
{
    text_add(out, "  <actuator>\n");
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        text_add(
            out,
            "    <motor name=\"%s\" joint=\"%s\" gear=\"1\" ctrllimited=\"true\" ctrlrange=\"%g %g\"/>\n",
            j->name, j->name, -j->effort, j->effort);
    }
    double qpos[HRC_NQ];
    g1_default_qpos(qpos);
    text_add(out, "  </actuator>\n  <keyframe>\n    <key name=\"stand\"");
    write_vector(out, "qpos", qpos, HRC_NQ);
    text_add(out, "/>\n  </keyframe>\n</mujoco>\n");
}

void mjcf_write(text *out, const mjcf_options *options)
{
    write_head(out, options);
    write_body(out, G1_PELVIS, 2, options);
    text_add(out, "  </worldbody>\n");
    write_excludes(out, options->self_collision);
    write_tail(out);
}
