#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- Help ---- */

const option COMMON_OPTIONS[] = {
    {"json", NULL, NULL, "one JSON object on stdout"},
    {"quiet", NULL, NULL, "no progress, no notes"},
    {"threads", "N", "0", "threads, 0 for one per core"},
    {"seed", "N", "0", "seed of everything random"},
    {"config", "FILE", NULL, "settings as INI; --section.key=value sets one (heracles help config)"},
    {"help", NULL, NULL, "this text"},
    {0},
};

/* Is `name` "word something"? */
static bool within(const char *name, const char *word)
{
    const size_t length = strlen(word);
    return !strncmp(name, word, length) && name[length] == ' ';
}

static void print_options(const option *options)
{
    for (const option *o = options; o && o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-22s %s", left, o->help);
        if (o->def && *o->def) printf(" [%s]", o->def);
        putchar('\n');
    }
}

static void print_commands(FILE *to, const char *word)
{
    for (int i = 0; COMMANDS[i]; i++)
        if (!word || within(COMMANDS[i]->name, word))
            fprintf(to, "  %-18s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
}

int help_command(const command *cmd)
{
    printf("usage: heracles %s [options] %s\n%s\n", cmd->name, cmd->operands, cmd->summary);
    if (cmd->details) printf("\n%s\n", cmd->details);
    if (help_is_group(cmd->name)) {
        printf("\nits parts:\n");
        print_commands(stdout, cmd->name);
    }
    printf("\noptions [default]:\n");
    print_options(cmd->options);
    print_options(COMMON_OPTIONS);
    printf("\nexample:\n  %s\n", cmd->example);
    return EXIT_DONE;
}

int help_all(FILE *to)
{
    fprintf(
        to,
        "heracles %s: whole-body control of the Unitree G1\nusage: heracles COMMAND [options] [files]\n\n",
        hrc_version());
    print_commands(to, NULL);
    fprintf(to, "  %-18s %s\n", "help config", "every setting with its default, range and meaning");
    fprintf(to, "  %-18s %s\n", "help preset", "the settings of general, clip, quick and paper");
    fprintf(to, "  %-18s %s\n", "help man", "the manual page; help bash-completion: for the shell");
    fprintf(to, "'heracles COMMAND --help' shows its options, defaults and an example.\n"
                "exit codes: 0 done, 1 failed, 2 usage, 3 requirement missed, 130 interrupted\n");
    return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

bool help_is_group(const char *word)
{
    for (int i = 0; COMMANDS[i]; i++)
        if (within(COMMANDS[i]->name, word)) return true;
    return false;
}

int help_group(FILE *to, const char *word)
{
    fprintf(to, "usage: heracles %s COMMAND [options] [files]\n\n", word);
    print_commands(to, word);
    fprintf(to, "\n'heracles %s COMMAND --help' shows its options, defaults and an example.\n", word);
    return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int print_config(void)
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

/* ---- Completion ---- */

static void print_option_words(const option *options)
{
    for (const option *o = options; o && o->name; o++) printf(" --%s", o->name);
}

/* The words that may follow `group`, or stand first when it is NULL; each once. */
static void print_words(const char *group)
{
    const char *last = "";
    for (int i = 0; COMMANDS[i]; i++) {
        const char *name = COMMANDS[i]->name;
        if (group && !within(name, group)) continue;
        const char *word = group ? name + strlen(group) + 1 : name;
        const size_t length = strcspn(word, " ");
        if (strncmp(last, word, length) || (last[length] && last[length] != ' '))
            printf(" %.*s", (int)length, word);
        last = word;
    }
}

static int print_completion(void)
{
    const char *last = "";
    printf(
        "# bash completion of heracles; made by 'heracles help bash-completion'\n"
        "_heracles() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]} second=${COMP_WORDS[2]} words= options=\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
        "        COMPREPLY=($(compgen -W \"help");
    print_words(NULL);
    printf("\" -- \"$cur\"))\n        return\n    fi\n    if [ \"$COMP_CWORD\" = 2 ]; then\n"
           "        case $first in\n        help) words=\"config preset man bash-completion");
    print_words(NULL);
    printf("\" ;;\n");
    for (int i = 0; COMMANDS[i]; i++) {
        char group[64];
        snprintf(group, sizeof group, "%.*s", (int)strcspn(COMMANDS[i]->name, " "), COMMANDS[i]->name);
        if (!help_is_group(group) || !strncmp(last, group, strlen(group))) continue;
        printf("        %s) words=\"", group);
        print_words(group);
        printf("\" ;;\n");
        last = COMMANDS[i]->name;
    }
    printf("        esac\n    fi\n    case \"$first $second\" in\n");
    for (int longer = 1; longer >= 0; longer--) /* "train tracker" before "train" */
        for (int i = 0; COMMANDS[i]; i++) {
            const char *name = COMMANDS[i]->name;
            if ((strchr(name, ' ') != NULL) != longer) continue;
            printf(longer ? "    \"%s\") options=\"" : "    \"%s \"*) options=\"", name);
            print_option_words(COMMANDS[i]->options);
            print_option_words(COMMON_OPTIONS);
            printf("\" ;;\n");
        }
    printf("    esac\n"
           "    case $cur in\n"
           "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
           "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n"
           "    esac\n"
           "}\n"
           "complete -o filenames -F _heracles heracles\n");
    return EXIT_DONE;
}

/* ---- The manual page ---- */

/* Text in which nothing is a command of roff. */
static void print_roff(const char *words)
{
    for (bool start = true; *words; start = *words++ == '\n') {
        if (start && (*words == '.' || *words == '\'')) printf("\\&");
        if (*words == '\\')
            printf("\\e");
        else if (*words == '-')
            printf("\\-");
        else
            putchar(*words);
    }
}

static void print_roff_options(const option *options)
{
    for (const option *o = options; o && o->name; o++) {
        printf(".TP\n.B \\-\\-");
        print_roff(o->name);
        if (o->value) printf(" ");
        if (o->value) print_roff(o->value);
        printf("\n");
        print_roff(o->help);
        if (o->def && *o->def) printf(" [");
        if (o->def && *o->def) print_roff(o->def);
        printf(o->def && *o->def ? "]\n" : "\n");
    }
}

static int print_man(void)
{
    printf(
        ".TH HERACLES 1 \"\" \"heracles %s\" \"User Commands\"\n"
        ".SH NAME\nheracles \\- whole\\-body control of the Unitree G1\n"
        ".SH SYNOPSIS\n.B heracles\n.I COMMAND\n[options] [files]\n"
        ".SH DESCRIPTION\n"
        "Motions in; a tracker and a planner trained, evaluated in MuJoCo and run on the robot. Results go to "
        "stdout, progress and errors to stderr.\n"
        ".SH OPTIONS OF EVERY COMMAND\n",
        hrc_version());
    print_roff_options(COMMON_OPTIONS);
    printf(".SH COMMANDS\n");
    for (int i = 0; COMMANDS[i]; i++) {
        const command *c = COMMANDS[i];
        printf(".SS heracles %s [options] ", c->name);
        print_roff(c->operands);
        printf("\n");
        print_roff(c->summary);
        printf(".\n");
        if (c->details) printf(".PP\n");
        if (c->details) print_roff(c->details);
        if (c->details) printf("\n");
        print_roff_options(c->options);
        printf(".PP\nExample:\n.PP\n.RS\n.EX\n");
        print_roff(c->example);
        printf("\n.EE\n.RE\n");
    }
    printf(".SH EXIT STATUS\n0 done, 1 failed, 2 usage, 3 requirement missed, 130 interrupted\n");
    return EXIT_DONE;
}

bool help_topic(const char *topic, int *code)
{
    static const struct {
        const char *name;
        int (*print)(void);
    } TOPICS[] = {{"config", print_config},
                  {"preset", presets_print},
                  {"bash-completion", print_completion},
                  {"man", print_man}};
    for (int i = 0; i < COUNT(TOPICS); i++)
        if (!strcmp(topic, TOPICS[i].name)) {
            *code = TOPICS[i].print();
            return true;
        }
    return false;
}

/* ---- What may have been meant ---- */

#define LONGEST 40

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to add, drop, change or swap with their neighbour; more than LONGEST letters are far from anything.
 */
static int distance(const char *a, const char *b)
{
    int d[LONGEST + 2][LONGEST + 2];
    const int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (int i = 0; i <= n; i++)
        for (int k = 0; k <= m; k++) {
            d[i][k] = i ? k ? LONGEST : i : k;
            if (!i || !k) continue;
            d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1, d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[n][m];
}

/* Keeps the nearer of *best and `name`, when it is near at all: a third of the letters may be wrong. */
static void consider(const char **best, int *nearest, const char *word, const char *name)
{
    const int d = distance(word, name);
    if (d >= *nearest || 3 * d > (int)strlen(name)) return;
    *best = name;
    *nearest = d;
}

const char *help_nearest_command(const char *word)
{
    const char *best = NULL;
    int nearest = LONGEST;
    static char group[LONGEST];
    for (int i = 0; COMMANDS[i]; i++) consider(&best, &nearest, word, COMMANDS[i]->name);
    for (int i = 0; COMMANDS[i]; i++) {
        char first[LONGEST]; /* of "motion info" */
        snprintf(first, sizeof first, "%.*s", (int)strcspn(COMMANDS[i]->name, " "), COMMANDS[i]->name);
        const char *found = best;
        consider(&found, &nearest, word, first);
        if (found == first) best = strcpy(group, first);
    }
    return best;
}

const char *help_nearest_option(const command *cmd, const char *name)
{
    const char *best = NULL;
    int nearest = LONGEST;
    for (const option *o = cmd->options; o && o->name; o++) consider(&best, &nearest, name, o->name);
    for (const option *o = COMMON_OPTIONS; o->name; o++) consider(&best, &nearest, name, o->name);
    return best;
}

const char *help_nearest_setting(const char *name)
{
    static char best[2 * LONGEST];
    int n, nearest = LONGEST;
    const config_entry *e = config_entries(&n);
    *best = 0;
    for (int i = 0; i < n; i++) {
        char full[2 * LONGEST];
        const char *found = NULL;
        if (e[i].kind == CFG_SECTION) continue;
        snprintf(full, sizeof full, "%s.%s", e[i].section, e[i].key);
        consider(&found, &nearest, name, full);
        if (found) memcpy(best, full, sizeof best);
    }
    return *best ? best : NULL;
}
