/* What every command shares. A command is a table row: options with defaults, an example, a function.
 * Only this folder prints or exits: results on stdout, progress and errors on stderr.
 * Exit codes: 0 done, 1 failed, 2 usage, 3 a stated requirement was missed, 130 interrupted. */
#ifndef HRC_CLI_H
#define HRC_CLI_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/json.h"

/* Settings that belong together, as files in the program (assets/presets): what `--preset NAME` stands for.
 * They come before --config and --section.key=value, which change single ones. */

/* A row of the options of commands that have presets. */
#define PRESET_OPTION                                                                                        \
    {                                                                                                        \
        "preset", "NAME", NULL,                                                                              \
            "settings for a purpose: general, clip, quick or paper (heracles help preset)"                   \
    }

int presets_print(void); /* all of them, with their comments; EXIT_DONE */

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_MISSED = 3, EXIT_INTERRUPTED = 130 };

typedef struct {
    const char *name;  /* "out" for --out; {0} ends the list */
    const char *value; /* what stands for the value in the help: "FILE"; NULL for a flag; "FILE...": may be
                          given again, and is one of the operands */
    const char *def;   /* default as text; NULL: none */
    const char *help;
} option;

typedef struct args args;

typedef struct {
    const char *name;     /* "view", "motion info" */
    const char *operands; /* "FILE..." or "" */
    const char *summary;  /* one line */
    const char *details;  /* more lines for its own help, or NULL */
    const char *example;
    const option *options;
    int min_operands, max_operands; /* max -1: any number */
    int (*run)(const args *a);
} command;

/* Options that mean the same everywhere: --json --quiet --threads --seed --config --section.key=value. */
struct args {
    const command *cmd;
    int n;
    const char **operands;
    const char **values; /* parallel to cmd->options; NULL: not given */
    config cfg;
    bool json, quiet;
    int threads; /* 0: one per core */
    uint64_t seed;
};

extern const command *const COMMANDS[]; /* NULL ends; those of commands.h */

/* -o is short for --out. On bad usage prints one sentence and returns EXIT_USAGE; `run` is then not called.
 */
int cli_main(int argc, char **argv);

const char *arg(const args *a, const char *name); /* value, or the default, or NULL; flags: "1" or NULL */
bool arg_given(const args *a, const char *name);
bool arg_number(const args *a, const char *name, double lo, double hi, double *out); /* false: said why */
bool arg_int(const args *a, const char *name, int lo, int hi, int *out);             /* fractions are cut */

int cli_fail(const hrc_error *err);                                     /* prints the sentence, EXIT_FAILED */
int cli_usage(const args *a, const char *format, ...) HRC_PRINTF(2, 3); /* prints it and a hint, EXIT_USAGE */
#define cli_refuse(...) (cli_usage(__VA_ARGS__), false)                 /* for functions that say false */
int cli_json(json_t *object);                                           /* prints and frees it, EXIT_DONE */
void cli_note(const args *a, const char *format, ...) HRC_PRINTF(2, 3); /* stderr, unless --quiet */

/* One line on stderr that is drawn anew, with the time left; nothing when quiet or not a terminal. */
typedef struct {
    const args *a;
    const char *what;
    double start_s, last_s;
} progress;

progress progress_begin(const args *a, const char *what);
void progress_show(progress *p, double fraction, const char *detail);
void progress_fraction(void *p, double fraction); /* progress_show without detail, as a callback */
void progress_end(progress *p);

/* Ctrl-C ends the program at once with EXIT_INTERRUPTED, unless the command has something to save: then it
 * asks cli_interrupted now and again, saves, and returns EXIT_INTERRUPTED itself. */
void cli_save_on_interrupt(void);
bool cli_interrupted(void);

/* Calls of malloc and its kin by this thread so far; NULL where they are not counted. */
extern int64_t (*cli_allocations)(void);

#endif
