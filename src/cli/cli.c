#include "cli/cli.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/presets.h"

int64_t (*cli_allocations)(void);

static volatile sig_atomic_t interrupted, saves_first;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (interrupted || !saves_first) _exit(EXIT_INTERRUPTED); /* the second Ctrl-C does not wait */
    interrupted = 1;
}

void cli_save_on_interrupt(void)
{
    saves_first = 1;
}

bool cli_interrupted(void)
{
    return interrupted;
}

double now_s(void)
{
    return clock_s();
}

int cli_fail(const hrc_error *err)
{
    fflush(stdout);
    fprintf(stderr, "heracles: %s\n", err->text);
    return EXIT_FAILED;
}

int cli_usage(const args *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "heracles: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "; try 'heracles %s%s--help'\n", a && a->cmd ? a->cmd->name : "", a && a->cmd ? " " : "");
    va_end(list);
    return EXIT_USAGE;
}

int cli_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_STYLE);
    putchar('\n');
    json_decref(object);
    return EXIT_DONE;
}

void cli_note(const args *a, const char *format, ...)
{
    if (a->quiet) return;
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

progress progress_begin(const args *a, const char *what)
{
    return (progress){a, what, now_s(), 0};
}

void progress_show(progress *p, double fraction, const char *detail)
{
    double now = now_s();
    if (p->a->quiet || !isatty(STDERR_FILENO) || now - p->last_s < 0.1) return;
    p->last_s = now;
    double left = fraction > 1e-6 ? (now - p->start_s) * (1 - fraction) / fraction : 0;
    int filled = (int)(fraction * 24);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%  %d:%02d left  %s\033[K", p->what, filled,
            "########################", 24 - filled, "", 100 * fraction, (int)left / 60, (int)left % 60,
            detail);
}

void progress_end(progress *p)
{
    if (p->last_s > 0) fprintf(stderr, "\r\033[K");
}

static int option_index(const command *cmd, const char *name, size_t length)
{
    for (int i = 0; cmd->options && cmd->options[i].name; i++)
        if (strlen(cmd->options[i].name) == length && strncmp(cmd->options[i].name, name, length) == 0)
            return i;
    return -1;
}

const char *arg(const args *a, const char *name)
{
    int i = option_index(a->cmd, name, strlen(name));
    if (i < 0) return NULL;
    return a->values[i] ? a->values[i] : a->cmd->options[i].value ? a->cmd->options[i].def : NULL;
}

bool arg_given(const args *a, const char *name)
{
    int i = option_index(a->cmd, name, strlen(name));
    return i >= 0 && a->values[i];
}

static bool parse_number(const args *a, const char *name, const char *text, double lo, double hi, double *out)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || !isfinite(x) || x < lo || x > hi) {
        cli_usage(a, "--%s is \"%.60s\", expected a number from %g to %g", name, text, lo, hi);
        return false;
    }
    *out = x;
    return true;
}

bool arg_number(const args *a, const char *name, double lo, double hi, double *out)
{
    const char *text = arg(a, name);
    return text ? parse_number(a, name, text, lo, hi, out) : true;
}

/* ---- Help ---- */

static const option COMMON[] = {
    {"json", NULL, NULL, "one JSON object on stdout"},
    {"quiet", NULL, NULL, "no progress, no notes"},
    {"threads", "N", "0", "threads, 0 for one per core"},
    {"seed", "N", "0", "seed of everything random"},
    {"config", "FILE", NULL, "settings as INI; --section.key=value sets one (heracles help config)"},
    {"help", NULL, NULL, "this text"},
    {0},
};

static void print_options(const option *options)
{
    for (const option *o = options; o && o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-22s %s", left, o->help);
        if (o->def) printf(" [%s]", o->def);
        putchar('\n');
    }
}

static int print_command_help(const command *cmd)
{
    printf("usage: heracles %s [options] %s\n%s\n", cmd->name, cmd->operands, cmd->summary);
    if (cmd->details) printf("\n%s\n", cmd->details);
    printf("\noptions [default]:\n");
    print_options(cmd->options);
    print_options(COMMON);
    printf("\nexample:\n  %s\n", cmd->example);
    return EXIT_DONE;
}

static int print_help(FILE *to)
{
    fprintf(
        to,
        "heracles %s: whole-body control of the Unitree G1\nusage: heracles COMMAND [options] [files]\n\n",
        hrc_version());
    for (int i = 0; COMMANDS[i]; i++) fprintf(to, "  %-18s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    fprintf(to, "  %-18s %s\n", "help config", "every setting with its default, range and meaning");
    fprintf(to, "  %-18s %s\n", "help preset", "the settings of general, clip, quick and paper");
    fprintf(to, "\n'heracles COMMAND --help' shows its options, defaults and an example.\n"
                "exit codes: 0 done, 1 failed, 2 usage, 3 requirement missed, 130 interrupted\n");
    return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int print_config_help(void)
{
    int n;
    const config_entry *e = config_entries(&n);
    for (int i = 0; i < n; i++) {
        if (e[i].kind == CFG_SECTION) {
            printf("%s[%s]  # %s\n", i ? "\n" : "", e[i].section, e[i].doc);
            continue;
        }
        char range[96];
        if (e[i].kind == CFG_CHOICE)
            snprintf(range, sizeof range, "%s", e[i].words);
        else
            snprintf(range, sizeof range, "%g to %g", e[i].min, e[i].max);
        printf("%-16s = %-10s # %s; %s\n", e[i].key, e[i].text, e[i].doc, range);
    }
    return EXIT_DONE;
}

/* ---- Parsing ---- */

/* The command of the first one or two words; the longer name wins. */
static const command *find_command(int argc, char **argv, int *words)
{
    for (*words = 2; *words >= 1; --*words) {
        char name[128];
        if (argc <= *words) continue;
        snprintf(name, sizeof name, *words == 2 ? "%s %s" : "%s", argv[1], argv[2]);
        for (int i = 0; COMMANDS[i]; i++)
            if (strcmp(COMMANDS[i]->name, name) == 0) return COMMANDS[i];
    }
    return NULL;
}

static int set_common(args *a, const char *name, const char *value)
{
    double number;
    hrc_error err;
    if (!strcmp(name, "json")) a->json = true;
    if (!strcmp(name, "quiet")) a->quiet = true;
    if (!strcmp(name, "threads")) {
        if (!parse_number(a, name, value, 0, 1024, &number)) return EXIT_USAGE;
        a->threads = (int)number;
    }
    if (!strcmp(name, "seed")) {
        if (!parse_number(a, name, value, 0, 9007199254740992.0, &number)) return EXIT_USAGE;
        a->seed = (uint64_t)number;
    }
    if (!strcmp(name, "config") && config_load(&a->cfg, value, &err) < 0) return cli_fail(&err);
    return EXIT_DONE;
}

/* One --option; *i moves past a value in the next word. */
static int parse_option(args *a, int argc, char **argv, int *i, bool *help)
{
    const char *word = argv[*i];
    const char *name = strcmp(word, "-o") == 0 ? "out" : word + 2;
    size_t length = strcspn(name, "=");
    hrc_error err;
    if (memchr(name, '.', length)) {
        if (config_override(&a->cfg, name, &err) == HRC_OK) return EXIT_DONE;
        return cli_usage(a, "%s", err.text);
    }
    int own = option_index(a->cmd, name, length), common = -1;
    for (int k = 0; COMMON[k].name; k++)
        if (strlen(COMMON[k].name) == length && !strncmp(COMMON[k].name, name, length)) common = k;
    if (own < 0 && common < 0) return cli_usage(a, "there is no option %.80s", word);
    const option *o = own >= 0 ? &a->cmd->options[own] : &COMMON[common];
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (!o->value && value) return cli_usage(a, "--%s takes no value", o->name);
    if (o->value && !value) {
        if (*i + 1 >= argc) return cli_usage(a, "--%s needs a value (%s)", o->name, o->value);
        value = argv[++*i];
    }
    if (own >= 0) {
        if (o->value && strstr(o->value, "...")) a->operands[a->n++] = value;
        a->values[own] = o->value ? value : "1";
        return EXIT_DONE;
    }
    if (!strcmp(o->name, "help")) *help = true;
    return set_common(a, o->name, value);
}

static int parse_words(args *a, int argc, char **argv, int first, bool *help)
{
    bool only_operands = false;
    for (int i = first; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && !strcmp(word, "--")) {
            only_operands = true;
        } else if (!only_operands && (!strncmp(word, "--", 2) || !strcmp(word, "-o"))) {
            int code = parse_option(a, argc, argv, &i, help);
            if (code != EXIT_DONE) return code;
        } else if (!only_operands && word[0] == '-' && word[1]) {
            return cli_usage(a, "there is no option %.80s", word);
        } else {
            a->operands[a->n++] = word;
        }
    }
    return EXIT_DONE;
}

/* Before everything else on the line: a preset is where single settings start from. */
static int parse_preset(args *a, int argc, char **argv, int first)
{
    const char *name = NULL;
    hrc_error err;
    if (option_index(a->cmd, "preset", strlen("preset")) < 0) return EXIT_DONE;
    for (int i = first; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strncmp(argv[i], "--preset=", 9)) name = argv[i] + 9;
        if (!strcmp(argv[i], "--preset") && i + 1 < argc) name = argv[i + 1];
    }
    if (!name || preset_apply(&a->cfg, name, &err) == HRC_OK) return EXIT_DONE;
    return cli_usage(a, "%s", err.text);
}

static int run_command(const command *cmd, int argc, char **argv, int first)
{
    int noptions = 0;
    while (cmd->options && cmd->options[noptions].name) noptions++;
    args a = {.cmd = cmd, .cfg = config_default()};
    a.operands = calloc((size_t)argc, sizeof *a.operands);
    a.values = calloc((size_t)noptions + 1, sizeof *a.values);
    if (!a.operands || !a.values) abort();
    bool help = false;
    int code = parse_preset(&a, argc, argv, first);
    if (code == EXIT_DONE) code = parse_words(&a, argc, argv, first, &help);
    if (help)
        code = print_command_help(cmd);
    else if (code == EXIT_DONE &&
             (a.n < cmd->min_operands || (cmd->max_operands >= 0 && a.n > cmd->max_operands)))
        code = cli_usage(&a, "%d file%s given, expected %s", a.n, a.n == 1 ? "" : "s",
                         *cmd->operands ? cmd->operands : "none");
    else if (code == EXIT_DONE)
        code = cmd->run(&a);
    free(a.operands);
    free(a.values);
    return code;
}

int cli_main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    int words = 0;
    if (argc < 2) return print_help(stderr);
    if (!strcmp(argv[1], "--version")) {
        printf("heracles %s\n", hrc_version());
        return EXIT_DONE;
    }
    if (!strcmp(argv[1], "help") && argc > 2 && !strcmp(argv[2], "config")) return print_config_help();
    if (!strcmp(argv[1], "help") && argc > 2 && !strcmp(argv[2], "preset")) return presets_print();
    if (!strcmp(argv[1], "help") && argc > 2) {
        const command *asked = find_command(argc - 1, argv + 1, &words);
        if (asked) return print_command_help(asked);
        return cli_usage(NULL, "there is no command \"%.60s\"", argv[2]);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return print_help(stdout);
    const command *cmd = find_command(argc, argv, &words);
    if (!cmd) return cli_usage(NULL, "there is no command \"%.60s\"", argv[1]);
    int code = run_command(cmd, argc, argv, words + 1);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fprintf(stderr, "heracles: cannot write to stdout\n");
        code = EXIT_FAILED;
    }
    return code;
}
