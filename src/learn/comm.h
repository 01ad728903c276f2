/* Several processes that train one network together (mpirun), or one alone: `make MPI=1` links comm_mpi.c,
 * otherwise comm_single.c, in which every sum is what it was given. Only the main thread calls these; all
 * ranks make the same calls in the same order. Only rank 0 prints, logs and writes the model. */
#ifndef HRC_LEARN_COMM_H
#define HRC_LEARN_COMM_H

#include <stdbool.h>
#include <stddef.h>

void comm_start(void); /* before the first of the others; again: nothing */
void comm_stop(void);
int comm_rank(void); /* 0 .. size-1 */
int comm_size(void);

void comm_sum(float *x, size_t n); /* x = its sum over all ranks, the same bits everywhere */
void comm_sum_doubles(double *x, size_t n);
bool comm_any(bool flag); /* true on all when true on one: "time is over", "Ctrl-C" */

const char *comm_name(void); /* "one process", or the library and its number of ranks */

#endif
