#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "learn/comm.h"

static bool started;
static int rank, size = 1;
static char name[64] = "MPI, not started";

#define PIECE ((size_t)1 << 28) /* numbers in one call: MPI counts with int */

static void finalise(void)
{
    MPI_Finalize();
}

void comm_start(void)
{
    int given;
    if (started) return;
    started = true;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%d MPI processes", size);
    atexit(finalise); /* not sooner: several trainings may follow one another */
}

void comm_stop(bool failed)
{
    if (!started) return;
    if (failed && size > 1) MPI_Abort(MPI_COMM_WORLD, 1); /* the others wait in a sum */
}

int comm_rank(void)
{
    return rank;
}

int comm_size(void)
{
    return size;
}

static void sum(void *x, size_t n, size_t bytes, MPI_Datatype type)
{
    for (size_t at = 0; at < n && size > 1; at += PIECE)
        MPI_Allreduce(MPI_IN_PLACE, (char *)x + at * bytes, (int)(n - at < PIECE ? n - at : PIECE), type,
                      MPI_SUM, MPI_COMM_WORLD);
}

void comm_sum(float *x, size_t n)
{
    sum(x, n, sizeof *x, MPI_FLOAT);
}

void comm_sum_doubles(double *x, size_t n)
{
    sum(x, n, sizeof *x, MPI_DOUBLE);
}

bool comm_any(bool flag)
{
    double count = flag;
    comm_sum_doubles(&count, 1);
    return count > 0;
}

const char *comm_name(void)
{
    return name;
}
