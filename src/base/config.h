/* Settings from one table (config.def). Three levels: defaults, an INI file, `--section.key=value`. An
 * unknown key, a bad type or a value out of range is an error that names file and line. The resolved text
 * is stored inside every model. */
#ifndef HRC_BASE_CONFIG_H
#define HRC_BASE_CONFIG_H

#include <stdbool.h>

#include "base/file.h"

#define CONFIG_WORD 24 /* bytes of the longest choice, with its zero */

typedef struct {
#define SECTION(section, doc)
#define INT(section, key, def, min, max, doc) int section##_##key;
#define REAL(section, key, def, min, max, doc) double section##_##key;
#define CHOICE(section, key, def, words, doc) char section##_##key[CONFIG_WORD];
#include "base/config.def"
#undef SECTION
#undef INT
#undef REAL
#undef CHOICE
} config;

typedef enum { CFG_SECTION, CFG_INT, CFG_REAL, CFG_CHOICE } config_kind;

typedef struct {
    config_kind kind;
    const char *section, *key;
    const char *words; /* CHOICE */
    double def, min, max;
    const char *text; /* default as written */
    const char *doc;
    size_t offset; /* in config */
} config_entry;

const config_entry *config_entries(int *n); /* the table, with a CFG_SECTION row before each section */
config config_default(void);
hrc_status config_set(config *c, const char *section, const char *key, const char *value, const char *where,
                      hrc_error *err);
hrc_status config_override(config *c, const char *assignment, hrc_error *err); /* "section.key=value" */
hrc_status config_parse(config *c, const char *name, file_view text, hrc_error *err);
hrc_status config_load(config *c, const char *path, hrc_error *err);
void config_print_value(char *out, size_t size, const config *c, const config_entry *e);

/* The settings inside a checkpoint or a recording, which an earlier version may have written: a retired key
 * is taken where its value is what the program does without it, and refused where it is not. */
hrc_status config_parse_stored(config *c, const char *name, const char *text, hrc_error *err);

char *config_text(const config *c); /* the resolved INI text; the caller frees it; NULL when out of memory */

/* The lines of any INI text, one call for each key = value; `where` is "file:line". */
typedef hrc_status ini_entry(void *ctx, const char *section, char *key, char *value, const char *where,
                             hrc_error *err);
hrc_status ini_scan(const char *name, file_view text, ini_entry *entry, void *ctx, hrc_error *err);

#endif
