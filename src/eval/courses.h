/* Lists of courses: of a suite, of motion files, of starts spread over motions. */
#ifndef HRC_EVAL_COURSES_H
#define HRC_EVAL_COURSES_H

#include "eval/course.h"
#include "motion/suite.h"

typedef struct {
    int n, capacity;
    course *courses;
} course_list;

typedef struct {
    double limit_s;       /* longest rollout: 20 s in the paper */
    double hold_s;        /* > 0: every reference is held for as long, piecewise constant */
    int starts;           /* evenly spread over each motion, the first at frame 0; 1: frame 0 alone */
    clip_options reading; /* of motion files */
} course_options;

/* NAME or FILE.csv. Clips that are named, not files, come from the corpus at corpus_path; NULL: the shipped
 * one. */
hrc_status courses_of_suite(course_list *out, const char *suite, const char *corpus_path,
                            const course_options *options, hrc_error *err);
hrc_status courses_of_motions(course_list *out, const char *const *paths, int n,
                              const course_options *options, hrc_error *err);
/* Every clip of a corpus. */
hrc_status courses_of_corpus(course_list *out, const char *path, const course_options *options,
                             hrc_error *err);
hrc_status courses_corpus(corpus *out, const char *path, hrc_error *err); /* NULL: the shipped one */
/* A clip of the shipped corpus, its first seconds. */
hrc_status courses_add_shipped(course_list *list, const char *clip_name, const char *name, double limit_s,
                               hrc_error *err);
void courses_free(course_list *list);

/* One more course at the end of the list (course_create); the clip is taken over, also on failure. out may be
 * NULL. */
hrc_status courses_add(course_list *list, course **out, const char *name, const char *category, clip *motion,
                       bool held, int first, double limit_s, hrc_error *err);

#endif
