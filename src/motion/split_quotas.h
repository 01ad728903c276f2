/* How many sequences of which category the held-out suite has. */
#ifndef HRC_MOTION_SPLIT_QUOTAS_H
#define HRC_MOTION_SPLIT_QUOTAS_H

typedef struct {
    const char *category;
    int sequences;
} split_quota;

#define SPLIT_CATEGORIES 6

extern const split_quota SPLIT_QUOTA[SPLIT_CATEGORIES];

#endif
