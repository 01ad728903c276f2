#include "base/json.h"

/* Debian builds libjansson.a without -fPIC, and its file loader, which is never called here, names stdin:
 * the one relocation that a shared library cannot hold. The Makefile renames that symbol to this one. */
void *jansson_stdin;
