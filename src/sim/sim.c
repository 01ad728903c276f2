#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rot.h"
#include "robot/mjcf.h"
#include "sim/model.h"

/* ---- The model: compiled from the robot's tables, and checked against them ---- */

static int warning_count;

static void count_warning(const char *message)
{
    (void)message; /* MuJoCo's own handler would print and leave a log file in the current folder */
    warning_count++;
}

/* Files in memory: the call was renamed in MuJoCo 3. */
static int add_buffer(mjVFS *files, const char *name, const text *content)
{
#if mjVERSION_HEADER >= 300
    return mj_addBufferVFS(files, name, content->data, (int)content->size);
#else
    if (mj_makeEmptyFileVFS(files, name, (int)content->size) != 0) return -1;
    memcpy(files->filedata[files->nfile - 1], content->data, content->size);
    return 0;
#endif
}

/* The rest of the code relies on these indices. */
static hrc_status check_order(const mjModel *m, hrc_error *err)
{
    if (m->nbody != G1_LINKS + 1 || m->nu != HRC_JOINTS || m->nq != HRC_NQ || m->nv != HRC_NV)
        return fail(err, HRC_EFORMAT, "g1.xml: %d bodies, %d motors, nq %d, nv %d, expected %d, %d, %d, %d",
                    m->nbody, m->nu, m->nq, m->nv, G1_LINKS + 1, HRC_JOINTS, HRC_NQ, HRC_NV);
    for (int i = 0; i < G1_LINKS; i++) {
        const char *name = mj_id2name(m, mjOBJ_BODY, i + 1);
        if (!name || strcmp(name, G1_LINK[i].name))
            return fail(err, HRC_EFORMAT, "g1.xml: body %d is %s, expected %s", i + 1,
                        name ? name : "(unnamed)", G1_LINK[i].name);
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        const char *name = mj_id2name(m, mjOBJ_JOINT, m->actuator_trnid[2 * i]);
        if (!name || strcmp(name, G1_JOINT[i].name))
            return fail(err, HRC_EFORMAT, "g1.xml: motor %d drives %s, expected %s", i,
                        name ? name : "(unnamed)", G1_JOINT[i].name);
    }
    return HRC_OK;
}

static hrc_status model_compile(mjModel **out, int *warnings, const config *cfg, hrc_error *err)
{
    mjcf_options options = mjcf_from_config(cfg);
    text xml = {0};
    mjcf_write(&xml, &options);
    if (!text_ok(&xml)) {
        text_free(&xml);
        return fail(err, HRC_ENOMEM, "g1.xml: out of memory");
    }
    static mjVFS files; /* half a megabyte: too large for the stack */
    char message[400] = "";
    mju_user_warning = count_warning;
    warning_count = 0;
    mj_defaultVFS(&files);
    mjModel *model = add_buffer(&files, "g1.xml", &xml) == 0
                         ? mj_loadXML("g1.xml", &files, message, sizeof message)
                         : NULL;
    mj_deleteVFS(&files);
    text_free(&xml);
    if (!model) return fail(err, HRC_EFORMAT, "g1.xml: MuJoCo refuses the model: %s", message);
    hrc_status status = check_order(model, err);
    if (status < 0) {
        mj_deleteModel(model);
        return status;
    }
    *warnings = warning_count + (message[0] != 0); /* a warning at load time comes as the message */
    *out = model;
    return HRC_OK;
}

#define BODY(link) ((link) + 1) /* MuJoCo's body 0 is the world */
#define DOF(joint) (6 + (joint))

/* ---- Create ---- */

static sim_params nominal_params(double friction)
{
    sim_params p = {.friction = friction, .strength = 1};
    for (int i = 0; i < HRC_JOINTS; i++) p.armature[i] = p.kp[i] = p.kd[i] = 1;
    return p;
}

static hrc_status create_workers(sim *s, hrc_error *err)
{
    s->nworkers = pool_threads(s->threads);
    s->workers = calloc((size_t)s->nworkers, sizeof *s->workers);
    if (!s->workers) return fail(err, HRC_ENOMEM, "simulator: out of memory");
    for (int i = 0; i < s->nworkers; i++) {
        sim_worker *k = &s->workers[i];
        k->model = mj_copyModel(NULL, s->model);
        k->data = k->model ? mj_makeData(k->model) : NULL;
        if (!k->data) return fail(err, HRC_ENOMEM, "simulator: out of memory for thread %d", i);
        k->applied = s->nominal;
    }
    return HRC_OK;
}

hrc_status sim_create(sim **out, const config *cfg, pool *threads, hrc_error *err)
{
    sim *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "simulator: out of memory");
    s->threads = threads;
    s->substeps = cfg->sim_substeps;
    s->implicit_damping = !strcmp(cfg->sim_damping, "implicit");
    s->nominal = nominal_params(cfg->sim_friction);
    hrc_status status = model_compile(&s->model, &s->warnings, cfg, err);
    if (s->model && s->implicit_damping)
        for (int i = 0; i < HRC_JOINTS; i++) s->model->dof_damping[DOF(i)] = G1_JOINT[i].kd;
    if (status == HRC_OK) status = create_workers(s, err);
    if (status < 0) {
        sim_free(s);
        return status;
    }
    *out = s;
    return HRC_OK;
}

void sim_free(sim *s)
{
    if (!s) return;
    for (int i = 0; s->workers && i < s->nworkers; i++) {
        if (s->workers[i].data) mj_deleteData(s->workers[i].data);
        if (s->workers[i].model) mj_deleteModel(s->workers[i].model);
    }
    free(s->workers);
    if (s->model) mj_deleteModel(s->model);
    free(s);
}

sim_params sim_nominal(const sim *s)
{
    return s->nominal;
}

double sim_period(const sim *s)
{
    return s->substeps * s->model->opt.timestep;
}

void sim_reset(const sim *s, sim_world *w, const double *qpos, const double *qvel)
{
    bool want_contact = w->want_contact;
    memset(w, 0, sizeof *w); /* padding too, so that worlds compare as bytes */
    w->want_contact = want_contact;
    w->params = s->nominal;
    memcpy(w->qpos, qpos, sizeof w->qpos);
    if (qvel) memcpy(w->qvel, qvel, sizeof w->qvel);
}

/* ---- Step ---- */

/* Derived quantities that only regularise contacts (invweight0) keep their nominal values: recomputing
 * them costs more than a step, and the ranges of randomisation are small. */
static void apply_params(const sim *s, sim_worker *k, const sim_params *p)
{
    if (memcmp(&k->applied, p, sizeof *p) == 0) return;
    mjModel *m = k->model;
    const mjModel *base = s->model;
    const int torso = BODY(G1_TORSO);
    for (int g = 0; g < m->ngeom; g++) m->geom_friction[3 * g] = p->friction;
    for (int i = 0; i < 3; i++)
        m->body_ipos[3 * torso + i] = base->body_ipos[3 * torso + i] + p->torso_com[i];
    m->body_mass[torso] = base->body_mass[torso] + p->payload;
    for (int b = torso;; b = m->body_parentid[b]) {
        m->body_subtreemass[b] = base->body_subtreemass[b] + p->payload;
        if (b == 0) break;
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        m->dof_armature[DOF(i)] = base->dof_armature[DOF(i)] * p->armature[i];
        m->dof_damping[DOF(i)] = base->dof_damping[DOF(i)] * p->kd[i];
        for (int side = 0; side < 2; side++)
            m->actuator_ctrlrange[2 * i + side] = base->actuator_ctrlrange[2 * i + side] * p->strength;
    }
    k->applied = *p;
}

/* MuJoCo resets the state (or drops the controls) by itself when it meets NaN, and only counts a warning. */
static const int BAD[] = {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL};

void worker_load(const sim *s, sim_worker *k, const sim_world *w)
{
    apply_params(s, k, &w->params);
    mjData *d = k->data;
    d->time = w->time;
    memcpy(d->qpos, w->qpos, sizeof w->qpos);
    memcpy(d->qvel, w->qvel, sizeof w->qvel);
    memcpy(d->qacc_warmstart, w->warmstart, sizeof w->warmstart);
    memset(d->xfrc_applied, 0, sizeof(mjtNum) * 6 * (size_t)k->model->nbody);
    for (int i = 0; i < COUNT(BAD); i++) d->warning[BAD[i]].number = 0;
}

/* Weight comes back between the two heights of the root, so that a standing robot has all of it. */
static double lacking_weight(const sim_params *p, double height)
{
    const double low = 0.3, high = 0.6, part = (high - height) / (high - low);
    return p->light * (part < 0 ? 0 : part > 1 ? 1 : part);
}

void worker_actuate(const sim *s, sim_worker *k, sim_world *w, const double target[HRC_JOINTS])
{
    mjData *d = k->data;
    k->model->opt.gravity[2] = s->model->opt.gravity[2] * (1 - lacking_weight(&w->params, d->qpos[2]));
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        double kd = j->kd * w->params.kd[i], limit = j->effort * w->params.strength;
        double qd = d->qvel[DOF(i)];
        double torque = j->kp * w->params.kp[i] * (target[i] - d->qpos[7 + i]) - kd * qd;
        torque = torque > limit ? limit : torque < -limit ? -limit : torque;
        d->ctrl[i] = w->torque[i] = torque;
        /* MuJoCo integrates its own damping implicitly; adding it back leaves the torque as it is now
         * and keeps the stability. */
        if (s->implicit_damping) d->qfrc_applied[DOF(i)] = kd * qd;
    }
    if (w->punch.left_s > 0) {
        double *wrench = d->xfrc_applied + 6 * BODY(w->punch.link);
        w->punch.left_s -= k->model->opt.timestep;
        bool last = w->punch.left_s < 0.5 * k->model->opt.timestep;
        memcpy(wrench, w->punch.force, sizeof w->punch.force);
        if (last) w->punch.left_s = 0;
    } else {
        memset(d->xfrc_applied + 6 * BODY(w->punch.link), 0, 6 * sizeof(mjtNum));
    }
}

static void gather_contacts(const sim_worker *k, sim_world *w)
{
    double net[G1_LINKS][3] = {{0}};
    const mjData *d = k->data;
    for (int c = 0; c < d->ncon; c++) {
        const mjContact *contact = &d->contact[c];
        mjtNum local[6], force[3];
        mj_contactForce(k->model, d, c, local);
        mju_rotVecMatT(force, local, contact->frame); /* rows of frame are the contact's axes */
        int first = k->model->geom_bodyid[contact->geom1] - 1,
            second = k->model->geom_bodyid[contact->geom2] - 1;
        for (int i = 0; i < 3; i++) {
            if (first >= 0) net[first][i] -= force[i];
            if (second >= 0) net[second][i] += force[i];
        }
    }
    for (int i = 0; i < G1_LINKS; i++) {
        double size = sqrt(net[i][0] * net[i][0] + net[i][1] * net[i][1] + net[i][2] * net[i][2]);
        if (size > w->contact[i]) w->contact[i] = size;
    }
}

static bool went_bad(const mjData *d)
{
    for (int i = 0; i < COUNT(BAD); i++)
        if (d->warning[BAD[i]].number) return true;
    return false;
}

double sim_mujoco_s(const sim *s)
{
    double sum = 0;
    for (int i = 0; i < s->nworkers; i++) sum += s->workers[i].mujoco_s;
    return sum;
}

void sim_step_one(sim *s, sim_world *w, const double target[HRC_JOINTS], int worker)
{
    if (w->diverged) return;
    sim_worker *k = &s->workers[worker];
    worker_load(s, k, w);
    if (w->want_contact) memset(w->contact, 0, sizeof w->contact);
    for (int i = 0; i < s->substeps; i++) {
        worker_actuate(s, k, w, target);
        double start = clock_s();
        mj_step(k->model, k->data);
        k->mujoco_s += clock_s() - start;
        if (w->want_contact) gather_contacts(k, w);
    }
    if (went_bad(k->data)) {
        w->diverged = true;
        return;
    }
    w->time = k->data->time;
    memcpy(w->qpos, k->data->qpos, sizeof w->qpos);
    memcpy(w->qvel, k->data->qvel, sizeof w->qvel);
    memcpy(w->warmstart, k->data->qacc_warmstart, sizeof w->warmstart);
}

typedef struct {
    sim *s;
    sim_world *worlds;
    const double *targets;
} batch;

static void step_item(void *ctx, int i, int worker)
{
    const batch *b = ctx;
    sim_step_one(b->s, &b->worlds[i], b->targets + (size_t)i * HRC_JOINTS, worker);
}

void sim_step(sim *s, sim_world *worlds, const double *targets, int n)
{
    pool_items(s->threads, n, step_item, &(batch){s, worlds, targets});
}

void sim_push(sim_world *w, const double lin[3], const double ang[3])
{
    double turn[3], quat[4];
    mju_negQuat(quat, w->qpos + 3); /* qvel holds the angular velocity in the root's own frame */
    mju_rotVecQuat(turn, ang, quat);
    for (int i = 0; i < 3; i++) {
        w->qvel[i] += lin[i];
        w->qvel[3 + i] += turn[i];
    }
}

void sim_hit(sim_world *w, int link, const double force[3], double seconds)
{
    w->punch.link = link;
    w->punch.left_s = seconds;
    memcpy(w->punch.force, force, sizeof w->punch.force);
}

/* ---- For checks ---- */

sim_info sim_describe(const sim *s)
{
    const mjModel *m = s->model;
    sim_info info = {
        .links = m->nbody - 1, .motors = m->nu, .warnings = s->warnings, .mass = mj_getTotalmass(m)};
    info.friction_min = info.friction_max = s->nominal.friction;
    for (int g = 0; g < m->ngeom; g++) {
        if (!m->geom_contype[g] && !m->geom_conaffinity[g]) continue;
        info.collision_geoms += m->geom_bodyid[g] > 0;
        info.friction_min = fmin(info.friction_min, m->geom_friction[3 * g]);
        info.friction_max = fmax(info.friction_max, m->geom_friction[3 * g]);
    }
    return info;
}

void sim_kinematics(sim *s, const double *qpos, const double *qvel, double pos[G1_LINKS][3],
                    double quat[G1_LINKS][4], double lin[G1_LINKS][3], double ang[G1_LINKS][3])
{
    mjModel *m = s->workers[0].model;
    mjData *d = s->workers[0].data;
    memcpy(d->qpos, qpos, sizeof(double) * HRC_NQ);
    memcpy(d->qvel, qvel, sizeof(double) * HRC_NV);
    mj_kinematics(m, d);
    mj_comPos(m, d);
    mj_comVel(m, d);
    for (int i = 0; i < G1_LINKS; i++) {
        mjtNum velocity[6]; /* angular, then linear; XBODY is the link's own frame, not its inertial one */
        mj_objectVelocity(m, d, mjOBJ_XBODY, BODY(i), velocity, 0);
        memcpy(pos[i], d->xpos + 3 * BODY(i), sizeof pos[i]);
        memcpy(quat[i], d->xquat + 4 * BODY(i), sizeof quat[i]);
        memcpy(ang[i], velocity, sizeof ang[i]);
        memcpy(lin[i], velocity + 3, sizeof lin[i]);
    }
}

/* What presses on the robot, for a picture: link by link, where and how. */

typedef struct {
    double force[3]; /* sum */
    double pos[3];   /* of the contacts, each by its own strength */
    double weight;
} pressure;

static void press(pressure *p, const mjContact *contact, const double force[3], double sign)
{
    const double weight = vec_norm(force);
    for (int i = 0; i < 3; i++) {
        p->force[i] += sign * force[i];
        p->pos[i] += weight * contact->pos[i];
    }
    p->weight += weight;
}

static void gather(pressure links[G1_LINKS], const sim_worker *k)
{
    const mjData *d = k->data;
    for (int c = 0; c < d->ncon; c++) {
        const mjContact *contact = &d->contact[c];
        const int first = k->model->geom_bodyid[contact->geom1] - 1,
                  second = k->model->geom_bodyid[contact->geom2] - 1;
        mjtNum local[6], force[3];
        if (contact->efc_address < 0) continue; /* near, but not touching */
        mj_contactForce(k->model, d, c, local);
        mju_rotVecMatT(force, local, contact->frame); /* rows of frame are the contact's axes */
        if (first >= 0) press(&links[first], contact, force, -1);
        if (second >= 0) press(&links[second], contact, force, 1);
    }
}

int sim_forces(const sim *s, int worker, sim_force *out, int max)
{
    pressure links[G1_LINKS] = {{{0}, {0}, 0}};
    int n = 0;
    gather(links, &s->workers[worker]);
    while (n < max) { /* the strongest that is left */
        int best = 0;
        for (int i = 1; i < G1_LINKS; i++)
            if (links[i].weight > links[best].weight) best = i;
        pressure *p = &links[best];
        if (!(p->weight > 1e-3)) break;
        out[n].link = best;
        for (int i = 0; i < 3; i++) {
            out[n].pos[i] = p->pos[i] / p->weight;
            out[n].force[i] = p->force[i];
        }
        p->weight = 0;
        n++;
    }
    return n;
}
