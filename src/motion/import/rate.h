/* The frame rate of a motion: which source states it, and what the motion itself says.
 *
 * Flights. A centre of mass in the air falls with 9.81 m/s^2, which gives the rate where nothing was scaled.
 * Retargeting to a smaller robot makes jumps lower in the same time, never higher: over three public sets the
 * rate that flights tell is 0.97 to 2.2 times the true one. So flights bound the rate from both sides.
 *
 * Steps. People take about 3.8 L steps a second of length L (of the robot, m); over regular walking and
 * running of the same sets that tells 0.7 to 1.4 times the true rate.
 *
 * Velocities beside the positions, where a file has them, tell it exactly. */
#ifndef HRC_MOTION_IMPORT_RATE_H
#define HRC_MOTION_IMPORT_RATE_H

#include "motion/clip.h"
#include "motion/import/npy.h"

typedef struct {
    const char *path;   /* whose name may tell */
    double asked, file; /* by the user, by the file; 0: not */
    double velocity;    /* by velocities in the file; 0: there are none */
    double usual;       /* of files of this kind that do not say */
} rate_source;

/* Sets c->fps and why->fps. The clip is complete but for its rate. */
void rate_settle(clip *c, const rate_source *s, clip_decisions *why);

/* Of positions (T, W) and velocities (T, V) from these columns on, which correspond; 0 when nothing moves. */
double rate_from_velocities(const npy *q, int q_first, const npy *v, int v_first);

/* One column of them: sums for rate_ratio. */
void rate_add(double *over, double *under, const npy *q, int q_column, int q_width, const npy *v,
              int v_column, int v_width);
double rate_ratio(double over, double under);

/* The rate that a name tells ("walk_60fps", "lafan1-g1/walk1_subject1.csv"), and from which word; 0: none. */
double rate_of_name(const char *path, char *word, size_t size);

#endif
