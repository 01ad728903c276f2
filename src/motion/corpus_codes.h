/* Between frames and their 16-bit codes; corpus.h says how. Shared by reader and writer. */
#ifndef HRC_MOTION_CORPUS_CODES_H
#define HRC_MOTION_CORPUS_CODES_H

#include "motion/corpus.h"
#include "robot/names.h"

/* Both use e->origin and e->step; lo and hi (HRC_JOINTS). */
void corpus_encode(int16_t out[HRC_NQ], const float *frame, const corpus_entry *e, const double *lo,
                   const double *hi);
void corpus_decode(float *frame, const int16_t codes[HRC_NQ], const corpus_entry *e, const double *lo,
                   const double *hi);

#endif
