/* A way to train the tracker: PPO, or a model of the world. The driver (tracker_train.h) does what both need:
 * trials, figures, checkpoints. A method makes its own environment, networks and optimisers. */
#ifndef HRC_LEARN_TRACKER_METHOD_H
#define HRC_LEARN_TRACKER_METHOD_H

#include "base/state.h"
#include "learn/imitate.h"
#include "sim/env.h"
#include "track/model.h"

/* What one iteration did. Names are string constants; a figure is averaged over the iterations between two
 * lines of the log, a phase is time. */
typedef struct {
    const char *name;
    double value;
} train_entry;

#define TRAIN_MAX_FIGURES 48
#define TRAIN_MAX_PHASES 16

typedef struct {
    int64_t samples; /* control steps taken in MuJoCo by this process */
    int64_t updates; /* of the policy */
    double flop;     /* of the matrix products in the phase "update"; 0: not counted */
    int nfigures, nphases;
    train_entry figures[TRAIN_MAX_FIGURES];
    train_entry phases[TRAIN_MAX_PHASES]; /* seconds */
} train_report;

void train_figure(train_report *r, const char *name, double value);
void train_phase(train_report *r, const char *name, double seconds); /* adds to what the phase has */

/* Borrowed for the life of the method. */
typedef struct {
    const config *cfg;
    const references *refs;
    uint64_t seed;
    pool *threads;
    demonstrations demos; /* to imitate; n 0: none */
} train_input;

typedef struct {
    const char *name;
    hrc_status (*create)(void **out, const train_input *in, hrc_error *err);

    /* Before the first iteration: begin with the weights of a trained model. */
    hrc_status (*begin_with)(void *self, const track_model *m, hrc_error *err);

    /* One round of collecting and learning. done: the share of the run that is over, 0 .. 1, for schedules;
     * it goes by iterations when their number is given, else by the clock. Nothing else may depend on time.
     * Fails with HRC_ENONFINITE when a loss or gradient is not finite; the state is then not to be used. */
    hrc_status (*iterate)(void *self, double done, train_report *r, hrc_error *err);

    /* A view of the model worth using now: for trials and for the file. Its memory stays the method's. */
    void (*model)(void *self, track_model *view);

    /* Everything the iterations to come depend on. */
    void (*state)(void *self, state_list *l);

    env *(*world)(void *self); /* whose counts and diagnosis are logged; may give NULL */
    void (*free)(void *self);  /* NULL is fine */
    bool ranks;                /* several processes may train together (comm.h) */
} tracker_method;

extern const tracker_method METHOD_WORLD, METHOD_PPO;

const tracker_method *tracker_method_find(const char *name); /* NULL when there is none */
const char *tracker_method_names(void);                      /* "world-model, ppo" */

#endif
