#include "cli/cli.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/help.h"

/* ---- Presets ---- */

#define PRESET(name) extern const char embed_preset_##name[], embed_preset_##name##_end[];
PRESET(general)
PRESET(clip)
PRESET(quick)
PRESET(paper)
#undef PRESET

static const struct {
    const char *name, *text, *end;
} PRESETS[] = {{"general", embed_preset_general, embed_preset_general_end},
               {"clip", embed_preset_clip, embed_preset_clip_end},
               {"quick", embed_preset_quick, embed_preset_quick_end},
               {"paper", embed_preset_paper, embed_preset_paper_end}};

static hrc_status preset_apply(config *c, const char *name, hrc_error *err)
{
    for (int i = 0; i < COUNT(PRESETS); i++)
        if (!strcmp(PRESETS[i].name, name)) {
            const file_view text = {PRESETS[i].text, (size_t)(PRESETS[i].end - PRESETS[i].text)};
            return config_parse(c, PRESETS[i].name, text, err);
        }
    return fail(err, HRC_EINVAL, "--preset is %.40s, expected general, clip, quick or paper", name);
}

int presets_print(void)
{
    for (int i = 0; i < COUNT(PRESETS); i++) {
        printf("%s### %s\n", i ? "\n" : "", PRESETS[i].name);
        fwrite(PRESETS[i].text, 1, (size_t)(PRESETS[i].end - PRESETS[i].text), stdout);
    }
    return EXIT_DONE;
}

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

int cli_fail(const hrc_error *err)
{
    fflush(stdout);
    fprintf(stderr, "heracles: %s\n", err->text);
    return EXIT_FAILED;
}

int cli_usage(const args *a, const char *format, ...)
{
    char said[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(said, sizeof said, format, list);
    va_end(list);
    const bool asked = *said && said[strlen(said) - 1] == '?';
    fprintf(stderr, "heracles: %s%s 'heracles %s%s--help'\n", said, asked ? " Try" : "; try",
            a && a->cmd ? a->cmd->name : "", a && a->cmd ? " " : "");
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
    return (progress){a, what, clock_s(), 0};
}

void progress_show(progress *p, double fraction, const char *detail)
{
    double now = clock_s();
    if (p->a->quiet || !isatty(STDERR_FILENO) || now - p->last_s < 0.1) return;
    p->last_s = now;
    double left = fraction > 1e-6 ? (now - p->start_s) * (1 - fraction) / fraction : 0;
    int filled = (int)(fraction * 24);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%  %d:%02d left  %s\033[K", p->what, filled,
            "########################", 24 - filled, "", 100 * fraction, (int)left / 60, (int)left % 60,
            detail);
}

void progress_fraction(void *p, double fraction)
{
    progress_show(p, fraction, "");
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
    if (end == text || *end || !isfinite(x) || x < lo || x > hi)
        return cli_refuse(a, "--%s is \"%.60s\", expected a number from %g to %g", name, text, lo, hi);
    *out = x;
    return true;
}

bool arg_number(const args *a, const char *name, double lo, double hi, double *out)
{
    const char *text = arg(a, name);
    return text ? parse_number(a, name, text, lo, hi, out) : true;
}

bool arg_int(const args *a, const char *name, int lo, int hi, int *out)
{
    double x = *out;
    if (!arg_number(a, name, lo, hi, &x)) return false;
    *out = (int)x;
    return true;
}

/* ---- Parsing ---- */

#define ADDRESS_OF_COMMAND(name) &CMD_##name,
const command *const COMMANDS[] = {EACH_COMMAND(ADDRESS_OF_COMMAND) NULL};

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

static int no_option(const args *a, const char *word, const char *name, size_t length)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)length, name);
    const char *meant = help_nearest_option(a->cmd, typed);
    if (meant) return cli_usage(a, "there is no option %.80s, did you mean --%s?", word, meant);
    return cli_usage(a, "there is no option %.80s", word);
}

static int no_setting(const args *a, const char *name, size_t length, const char *why)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)length, name);
    const char *meant = strstr(why, "there is no setting") ? help_nearest_setting(typed) : NULL;
    if (meant) return cli_usage(a, "there is no setting %s, did you mean %s?", typed, meant);
    return cli_usage(a, "%s", why);
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
        return no_setting(a, name, length, err.text);
    }
    int own = option_index(a->cmd, name, length), common = -1;
    for (int k = 0; COMMON_OPTIONS[k].name; k++)
        if (strlen(COMMON_OPTIONS[k].name) == length && !strncmp(COMMON_OPTIONS[k].name, name, length))
            common = k;
    if (own < 0 && common < 0) return no_option(a, word, name, length);
    const option *o = own >= 0 ? &a->cmd->options[own] : &COMMON_OPTIONS[common];
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

/* "train traker": the operand is no file, but nearly one of the group's commands. NULL: it is not. */
static const char *meant_part(const args *a)
{
    char typed[128];
    if (!a->n || !help_is_group(a->cmd->name) || access(a->operands[0], F_OK) == 0) return NULL;
    snprintf(typed, sizeof typed, "%.60s %.60s", a->cmd->name, a->operands[0]);
    const char *meant = help_nearest_command(typed);
    return meant && strchr(meant, ' ') ? meant : NULL;
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
    const char *meant = code == EXIT_DONE && !help ? meant_part(&a) : NULL;
    if (help)
        code = help_command(cmd);
    else if (meant)
        code = cli_usage(&a, "there is no file \"%.60s\", did you mean \"%s\"?", a.operands[0], meant);
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

/* No command: the second word may belong to a group, or the first one may be mistyped. */
static int no_command(int argc, char **argv)
{
    char typed[128];
    const bool group = help_is_group(argv[1]);
    const char *second = argc > 2 ? argv[2] : "";
    if (group && (!*second || !strcmp(second, "--help") || !strcmp(second, "-h")))
        return help_group(*second ? stdout : stderr, argv[1]);
    snprintf(typed, sizeof typed, *second && *second != '-' ? "%.60s %.60s" : "%.60s", argv[1], second);
    const char *meant = help_nearest_command(typed);
    if (!meant && !group) meant = help_nearest_command(argv[1]);
    if (!group) snprintf(typed, sizeof typed, "%.60s", argv[1]);
    if (meant) return cli_usage(NULL, "there is no command \"%s\", did you mean \"%s\"?", typed, meant);
    return cli_usage(NULL, "there is no command \"%s\"", typed);
}

/* heracles help [COMMAND | GROUP | TOPIC] */
static int run_help(int argc, char **argv)
{
    int words, code;
    if (argc < 3) return help_all(stdout);
    const command *asked = find_command(argc - 1, argv + 1, &words);
    if (asked) return help_command(asked);
    if (help_topic(argv[2], &code)) return code;
    if (argc == 3 && help_is_group(argv[2])) return help_group(stdout, argv[2]);
    return no_command(argc - 1, argv + 1);
}

int cli_main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    int words = 0, code;
    if (argc < 2) return help_all(stderr);
    if (!strcmp(argv[1], "--version")) {
        printf("heracles %s\n", hrc_version());
        return EXIT_DONE;
    }
    const command *cmd = find_command(argc, argv, &words);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        code = help_all(stdout);
    else if (!strcmp(argv[1], "help"))
        code = run_help(argc, argv);
    else if (!cmd)
        code = no_command(argc, argv);
    else
        code = run_command(cmd, argc, argv, words + 1);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fprintf(stderr, "heracles: cannot write to stdout\n");
        code = EXIT_FAILED;
    }
    return code;
}
