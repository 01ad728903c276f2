/* Both precisions of rot.h from one text. */
#include "base/rot.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#define REAL double
#define F(name) name
#include "base/rot.inc"
#undef REAL
#undef F

#define REAL float
#define F(name) name##f
#include "base/rot.inc"
