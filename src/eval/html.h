/* Pages that need no other file: a template with its @names@ replaced by files of the program and by data as
 * JSON. Texts of the user reach a page only inside that JSON, with every "<" escaped, and pages show them
 * only as text: no name can become markup or code. */
#ifndef HRC_EVAL_HTML_H
#define HRC_EVAL_HTML_H

#include "base/file.h"
#include "base/json.h"

typedef struct {
    const char *mark; /* "@data@" */
    file_piece text;
} html_filling;

/* JSON text in which no "<" is left, so that it can neither end its script element nor begin a comment. The
 * caller frees it; NULL when out of memory. */
char *html_script_text(const json_t *value);

/* The marks occur once each, in this order; what is put in is not searched again. bytes may be NULL. */
hrc_status html_write(const char *path, file_piece page, const html_filling *fillings, int n, size_t *bytes,
                      hrc_error *err);

/* The same in memory, zero-terminated; the caller frees it. */
hrc_status html_text(char **out, size_t *size, file_piece page, const html_filling *fillings, int n,
                     hrc_error *err);

#endif
