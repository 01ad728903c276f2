/* What practice taught: moments of rollouts that came back to their reference, each with what the planner was
 * asked and the keyframes that led from there. Kept in a safetensors file; `train planner --practice` mixes
 * them in. */
#ifndef HRC_LEARN_LESSONS_H
#define HRC_LEARN_LESSONS_H

#include "base/tensorfile.h"
#include "plan/anchor.h"

#define LESSON_WINDOW 3 /* frames 0, H/2 and H of the reference; what is between is interpolated */

typedef struct {
    float state[HRC_NQ], qvel[HRC_NV], under_way[HRC_NQ];
    float reference[LESSON_WINDOW][HRC_NQ];
    float guide[PLAN_K][HRC_NQ]; /* at the times of keyframes; guide[0] is where it is now */
} lesson;

enum { LESSON_FLOATS = sizeof(lesson) / sizeof(float) };

/* Where a lesson is from, for shares: the kind of situation and how the robot was. */
enum { LESSON_POSTURES = 6, LESSON_LABELS = 32 };

typedef struct {
    int n, capacity;
    int horizon; /* frames of reference and guide */
    lesson *list;
    int32_t *label;     /* (n) 0 .. LESSON_LABELS-1 */
    int32_t *situation; /* (n) its number */
} lessons;

void lessons_free(lessons *l);
hrc_status lessons_add(lessons *l, const lesson *one, int label, int situation, hrc_error *err);
hrc_status lessons_sort(lessons *l, hrc_error *err); /* by situation, otherwise as they are */

/* meta: of the caller, kept as text beside the lessons. */
hrc_status lessons_save(const lessons *l, const char *path, const tensor_meta *meta, int nmeta,
                        hrc_error *err);

/* Appends the file's lessons; refuses another horizon. */
hrc_status lessons_load(lessons *l, const char *path, hrc_error *err);

/* The question of a lesson, its reference filled in. */
void lesson_question(plan_question *q, const lesson *one, int horizon);

#endif
