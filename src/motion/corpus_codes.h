/* Between frames and their units of 16 bits; corpus.h says how. Shared by reader and writer. */
#ifndef HRC_MOTION_CORPUS_CODES_H
#define HRC_MOTION_CORPUS_CODES_H

#include "motion/corpus.h"
#include "robot/names.h"

/* e->grain: as coarse as the promised errors allow; exact: 1. Uses e->step. */
void corpus_choose_grain(corpus_entry *e, const double *lo, const double *hi, bool exact);

/* Codes with an offset: 0 .. 65535, which are the units of grain 1. Uses e->origin and e->step; lo and hi
 * (HRC_JOINTS). */
void corpus_encode(uint16_t out[HRC_NQ], const float *frame, const corpus_entry *e, const double *lo,
                   const double *hi);

/* From units; uses e->grain as well. */
void corpus_decode(float *frame, const uint16_t units[HRC_NQ], const corpus_entry *e, const double *lo,
                   const double *hi);

#endif
