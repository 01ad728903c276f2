#include "learn/comm.h"

void comm_start(void)
{
}

void comm_stop(bool failed)
{
    (void)failed;
}

int comm_rank(void)
{
    return 0;
}

int comm_size(void)
{
    return 1;
}

void comm_sum(float *x, size_t n)
{
    (void)x, (void)n;
}

void comm_sum_doubles(double *x, size_t n)
{
    (void)x, (void)n;
}

bool comm_any(bool flag)
{
    return flag;
}

const char *comm_name(void)
{
    return "one process";
}
