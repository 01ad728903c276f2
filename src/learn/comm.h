/* Several processes that train one network together (mpirun), or one alone: `make MPI=1` links comm_mpi.c,
 * otherwise comm_single.c, in which every sum is what it was given. Only the main thread calls these; all
 * ranks make the same calls in the same order. Only rank 0 prints, logs and writes the model.
 *
 * Data-parallel training: every rank has the same weights (the same seed) and data of its own (a seed of its
 * own); before each step of the optimiser one call of comm_sum over all gradients, then divided by comm_size,
 * keeps the weights the same. Statistics of observations are summed likewise (comm_sum_doubles), and whatever
 * depends on the clock is decided by comm_any. learn/ppo.c does this; another trainer needs nothing more. */
#ifndef HRC_LEARN_COMM_H
#define HRC_LEARN_COMM_H

#include <stdbool.h>
#include <stddef.h>

void comm_start(void);       /* before the first of the others; again: nothing */
void comm_stop(bool failed); /* failed: ends the other ranks too, which would wait for ever */
int comm_rank(void);         /* 0 .. size-1 */
int comm_size(void);

void comm_sum(float *x, size_t n); /* x = its sum over all ranks, the same bits everywhere */
void comm_sum_doubles(double *x, size_t n);
bool comm_any(bool flag); /* true on all when true on one: "time is over", "Ctrl-C" */

const char *comm_name(void); /* "one process", or the library and its number of ranks */

#endif
