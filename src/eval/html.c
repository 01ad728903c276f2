#include "eval/html.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FILLINGS 16

char *html_script_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) return NULL;
    size_t angles = 0;
    for (const char *s = text; *s; s++) angles += *s == '<';
    char *out = malloc(strlen(text) + 5 * angles + 1), *end = out;
    for (const char *s = text; out && *s; s++) {
        if (*s == '<')
            end = (char *)memcpy(end, "\\u003c", 6) + 6;
        else
            *end++ = *s;
    }
    if (out) *end = 0;
    free(text);
    return out;
}

/* Cut the template at its marks and put the texts in their place; -1 when a mark is missing. */
static int fill_template(file_piece *pieces, file_piece page, const html_filling *fillings, int n)
{
    const char *at = page.data, *end = at + page.size;
    int count = 0;
    for (int i = 0; i < n; i++) {
        const char *mark = strstr(at, fillings[i].mark);
        if (!mark) return -1;
        pieces[count++] = (file_piece){at, (size_t)(mark - at)};
        pieces[count++] = fillings[i].text;
        at = mark + strlen(fillings[i].mark);
    }
    pieces[count++] = (file_piece){at, (size_t)(end - at)};
    return count;
}

hrc_status html_text(char **out, size_t *size, file_piece page, const html_filling *fillings, int n,
                     hrc_error *err)
{
    file_piece pieces[2 * MAX_FILLINGS + 1];
    int count = n <= MAX_FILLINGS ? fill_template(pieces, page, fillings, n) : -1;
    if (count < 0) return fail(err, HRC_EINVAL, "a page template lacks one of its marks");
    *size = 0;
    for (int i = 0; i < count; i++) *size += pieces[i].size;
    char *at = *out = malloc(*size + 1);
    if (!at) return fail(err, HRC_ENOMEM, "page: out of memory");
    for (int i = 0; i < count; i++) at = (char *)memcpy(at, pieces[i].data, pieces[i].size) + pieces[i].size;
    *at = 0;
    return HRC_OK;
}

hrc_status html_write(const char *path, file_piece page, const html_filling *fillings, int n, size_t *bytes,
                      hrc_error *err)
{
    file_piece pieces[2 * MAX_FILLINGS + 1];
    int count = n <= MAX_FILLINGS ? fill_template(pieces, page, fillings, n) : -1;
    if (count < 0) return fail(err, HRC_EINVAL, "%s: the page template lacks one of its marks", path);
    TRY(file_write(path, pieces, count, err));
    if (bytes) *bytes = 0;
    for (int i = 0; bytes && i < count; i++) *bytes += pieces[i].size;
    return HRC_OK;
}
