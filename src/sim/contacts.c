/* What presses on the robot, for a picture: link by link, where and how. */
#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "sim/model.h"

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
