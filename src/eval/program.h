/* Other programs that some commands use. */
#ifndef HRC_EVAL_PROGRAM_H
#define HRC_EVAL_PROGRAM_H

#include <stdbool.h>

bool program_is_there(const char *name); /* in PATH */

#endif
