/* INI: "[section]", "key = value", comments from '#' or ';' at the start of a line, or from '#' after a
 * space: what `heracles help config` prints can be read. The parser is our own because libheracles reads the
 * config inside a model and must not depend on anything. */
#include "base/config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512

static const config_entry ENTRIES[] = {
#define SECTION(section, doc) {CFG_SECTION, #section, NULL, NULL, 0, 0, 0, NULL, doc, 0},
#define INT(section, key, def, min, max, doc)                                                                \
    {CFG_INT, #section, #key, NULL, def, min, max, #def, doc, offsetof(config, section##_##key)},
#define REAL(section, key, def, min, max, doc)                                                               \
    {CFG_REAL, #section, #key, NULL, def, min, max, #def, doc, offsetof(config, section##_##key)},
#define CHOICE(section, key, def, words, doc)                                                                \
    {CFG_CHOICE, #section, #key, words, 0, 0, 0, def, doc, offsetof(config, section##_##key)},
#include "base/config.def"
#undef SECTION
#undef INT
#undef REAL
#undef CHOICE
};

/* Settings that are gone: "key=value", what the program does now; "key>other", what took their place; or
 * "key:part", what has a value of its own now. */
static const char RETIRED[] =
    " sim.iterations=10 motion.fps=50.0 planner.ratio=2 planner.stride=2 planner.max_segment=100 "
    "planner.noise_joint=0.1 planner.noise_pos=0.04 planner.noise_rot=0.08 planner.low_repeat=3 "
    "planner.mirror=on planner.final_rate=0.01 planner.clip=1.0 planner.precision>train.precision "
    "tracker.lead=1 tracker.commitment=0.02 tracker.activation=elu tracker.std=0.6 "
    "tracker.head_scale=0.01 tracker.reconstruction=0.01 env.low_root=0.5 env.low_height:method "
    "env.lying_share=0.0 reward.root_pos=0.1 reward.root_pos_sigma=0.3 reward.root_rot=0.5 "
    "reward.root_rot_sigma=0.4 reward.root_lin=1.0 reward.root_lin_sigma=0.5 reward.root_ang=1.0 "
    "reward.root_ang_sigma=1.0 reward.body_pos=1.0 reward.body_pos_sigma=0.3 reward.body_rot=1.0 "
    "reward.body_rot_sigma=0.4 reward.body_lin=1.0 reward.body_lin_sigma=1.0 reward.body_ang=1.0 "
    "reward.body_ang_sigma=1.7724539 reward.joint_limit=10.0 reward.contact=0.1 ppo.value_clip=0.0 "
    "ppo.rate_min=1e-6 ppo.std_min=0.05 ppo.grad_clip=1.0 ppo.reward_scale=1.0 "
    "ppo.precision>train.precision ppo.lambda=0.95 ppo.critic_rate=1e-3 sampling.adaptive=on "
    "sampling.bin=50 sampling.kernel=0.8 sampling.kernel_bins=4 "
    "sampling.rise_weight=1.0 deploy.target_accel=30000.0 deploy.target_jerk=2e7 deploy.policy_s=0.058 "
    "deploy.remote_s=3.0 world.collect=2 world.fit_horizon=4 world.fit_rate=1e-3 "
    "world.gradient_history=10 world.reconstruct=8 world.action=0.005 world.noise=0.3 world.recent=300 "
    "world.start_noise=0.5 world.ease=0.5 world.end_height=0.3 world.end_angle=1.0 "
    "world.precision>train.precision env.end_height:method env.end_gravity:method env.end_angle:method "
    "env.end_effector:method env.friction_max=1.2 env.perturb_joint=0.01 env.q0_offset=0.01 "
    "env.push_min_s=1.0 env.push_max_s=3.0 env.push=on env.pace=1.5 env.hard_push=5.0 "
    "planner.velocities=on planner.under_way=on planner.noise=on planner.weights=on control.precision=float "
    "tracker.encoder_depth>tracker.depth tracker.action_depth>tracker.depth "
    "tracker.critic_depth>tracker.depth sampling.adaptive_share>sampling.hard_share "
    "world.hard_share>sampling.hard_share world.heavy:method ";

/* "=value", ">other" or ":part" of a key that is retired. */
static bool retired(char found[64], const char *section, const char *key)
{
    char name[128];
    const size_t n = (size_t)snprintf(name, sizeof name, " %.60s.%.60s", section, key);
    for (const char *at = RETIRED; (at = strstr(at, name)); at++)
        if (at[n] && strchr("=>:", at[n]))
            return snprintf(found, 64, "%.*s", (int)strcspn(at + n, " "), at + n) > 0;
    return false;
}

const config_entry *config_entries(int *n)
{
    *n = COUNT(ENTRIES);
    return ENTRIES;
}

static void *field(config *c, const config_entry *e)
{
    return (char *)c + e->offset;
}

config config_default(void)
{
    config c;
    for (int i = 0; i < COUNT(ENTRIES); i++) {
        const config_entry *e = &ENTRIES[i];
        if (e->kind == CFG_INT) *(int *)field(&c, e) = (int)e->def;
        if (e->kind == CFG_REAL) *(double *)field(&c, e) = e->def;
        if (e->kind == CFG_CHOICE) snprintf(field(&c, e), CONFIG_WORD, "%s", e->text);
    }
    return c;
}

/* Is value one of the words of "a|b|c"? */
static bool is_choice(const char *words, const char *value)
{
    size_t length = strlen(value);
    for (const char *w = words; *w; w += strcspn(w, "|"), w += *w == '|')
        if (length > 0 && strcspn(w, "|") == length && strncmp(w, value, length) == 0) return true;
    return false;
}

static hrc_status set_number(config *c, const config_entry *e, const char *value, const char *where,
                             hrc_error *err)
{
    char *end;
    double x = strtod(value, &end);
    bool whole = e->kind == CFG_INT;
    if (end == value || *end || !isfinite(x) || (whole && x != floor(x)))
        return fail(err, HRC_EINVAL, "%s: %s.%s = \"%.60s\", expected %s", where, e->section, e->key, value,
                    whole ? "a whole number" : "a number");
    if (x < e->min || x > e->max)
        return fail(err, HRC_EINVAL, "%s: %s.%s = %.60s is out of range, expected %g to %g", where,
                    e->section, e->key, value, e->min, e->max);
    if (whole)
        *(int *)field(c, e) = (int)x;
    else
        *(double *)field(c, e) = x;
    return HRC_OK;
}

hrc_status config_set(config *c, const char *section, const char *key, const char *value, const char *where,
                      hrc_error *err)
{
    for (int i = 0; i < COUNT(ENTRIES); i++) {
        const config_entry *e = &ENTRIES[i];
        if (e->kind == CFG_SECTION || strcmp(e->section, section) || strcmp(e->key, key)) continue;
        if (e->kind != CFG_CHOICE) return set_number(c, e, value, where, err);
        if (!is_choice(e->words, value))
            return fail(err, HRC_EINVAL, "%s: %s.%s = \"%.60s\", expected one of %s", where, section, key,
                        value, e->words);
        snprintf(field(c, e), CONFIG_WORD, "%s", value);
        return HRC_OK;
    }
    char old[64];
    const bool gone = retired(old, section, key);
    if (gone && *old == '>')
        return fail(err, HRC_EINVAL, "%s: %s.%s is retired; set %s instead", where, section, key, old + 1);
    if (gone && *old == ':')
        return fail(err, HRC_EINVAL, "%s: %s.%s is retired, each %s has its own value; leave it out", where,
                    section, key, old + 1);
    if (gone)
        return fail(err, HRC_EINVAL, "%s: %s.%s is retired, it is always %s now; leave it out", where,
                    section, key, old + 1);
    return fail(err, HRC_EINVAL, "%s: there is no setting %.60s.%.60s (see 'heracles help config')", where,
                section, key);
}

hrc_status config_override(config *c, const char *assignment, hrc_error *err)
{
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "%s", assignment);
    char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    if (!dot || !equals || equals < dot || strlen(assignment) >= sizeof text)
        return fail(err, HRC_EINVAL, "\"%.80s\" is not section.key=value", assignment);
    *dot = *equals = 0;
    return config_set(c, text, dot + 1, equals + 1, "command line", err);
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) text[--n] = 0;
    return text;
}

/* Ends the line where a comment begins behind something; CORPUS#CLIP is none. */
static void drop_comment(char *line)
{
    for (char *at = line; *at; at++)
        if (*at == '#' && at > line && isspace((unsigned char)at[-1])) *at = 0;
}

static hrc_status scan_line(char *line, char section[64], const char *where, ini_entry *entry, void *ctx,
                            hrc_error *err)
{
    drop_comment(line);
    char *text = trim(line);
    if (*text == 0 || *text == '#' || *text == ';') return HRC_OK;
    size_t n = strlen(text);
    if (*text == '[') {
        if (text[n - 1] != ']' || n < 3 || n - 2 >= 64)
            return fail(err, HRC_EFORMAT, "%s: \"%.60s\" is not a [section]", where, text);
        memcpy(section, text + 1, n - 2);
        section[n - 2] = 0;
        return HRC_OK;
    }
    char *equals = strchr(text, '=');
    if (!equals) return fail(err, HRC_EFORMAT, "%s: \"%.60s\" is not key = value", where, text);
    *equals = 0;
    return entry(ctx, section, trim(text), trim(equals + 1), where, err);
}

hrc_status ini_scan(const char *name, file_view text, ini_entry *entry, void *ctx, hrc_error *err)
{
    char line[LINE_MAX_BYTES], section[64] = "", where[LINE_MAX_BYTES];
    size_t begin = 0;
    text = file_text(text);
    for (int number = 1; begin < text.size; number++) {
        const char *newline = memchr(text.data + begin, '\n', text.size - begin);
        size_t end = newline ? (size_t)(newline - text.data) : text.size;
        snprintf(where, sizeof where, "%.400s:%d", name, number);
        if (end - begin >= sizeof line)
            return fail(err, HRC_EFORMAT, "%s: line of %zu bytes, expected fewer than %zu", where,
                        end - begin, sizeof line);
        memcpy(line, text.data + begin, end - begin);
        line[end - begin] = 0;
        TRY(scan_line(line, section, where, entry, ctx, err));
        begin = end + 1;
    }
    return HRC_OK;
}

static hrc_status set_entry(void *ctx, const char *section, char *key, char *value, const char *where,
                            hrc_error *err)
{
    return config_set(ctx, section, key, value, where, err);
}

hrc_status config_parse(config *c, const char *name, file_view text, hrc_error *err)
{
    config changed = *c; /* on error nothing has changed */
    TRY(ini_scan(name, text, set_entry, &changed, err));
    *c = changed;
    return HRC_OK;
}

static bool same_value(const char *a, const char *b)
{
    char *end_a, *end_b;
    const double x = strtod(a, &end_a), y = strtod(b, &end_b);
    const bool numbers = end_a > a && end_b > b && !*end_a && !*end_b;
    return numbers ? x == y : !strcmp(a, b);
}

static hrc_status set_stored(void *ctx, const char *section, char *key, char *value, const char *where,
                             hrc_error *err)
{
    char old[64], to[128];
    if (!retired(old, section, key)) return config_set(ctx, section, key, value, where, err);
    if (*old == ':') return HRC_OK;
    if (*old == '=') {
        if (same_value(value, old + 1)) return HRC_OK;
        return fail(err, HRC_EINVAL, "%s: %s.%s was %.60s, but is always %s now", where, section, key, value,
                    old + 1);
    }
    /* One setting took the place of several: the one that was given counts. */
    snprintf(to, sizeof to, "%s=%.40s", old + 1, value);
    return !strcmp(value, "auto") ? HRC_OK : config_override(ctx, to, err);
}

hrc_status config_parse_stored(config *c, const char *name, const char *text, hrc_error *err)
{
    config changed = *c;
    TRY(ini_scan(name, (file_view){text, strlen(text)}, set_stored, &changed, err));
    *c = changed;
    return HRC_OK;
}

hrc_status config_load(config *c, const char *path, hrc_error *err)
{
    file_view text;
    TRY(file_map(path, &text, err));
    hrc_status status = config_parse(c, path, text, err);
    file_unmap(&text);
    return status;
}

void config_print_value(char *out, size_t size, const config *c, const config_entry *e)
{
    const void *at = (const char *)c + e->offset;
    if (e->kind == CFG_INT) snprintf(out, size, "%d", *(const int *)at);
    if (e->kind == CFG_REAL) snprintf(out, size, "%.17g", *(const double *)at);
    if (e->kind == CFG_CHOICE) snprintf(out, size, "%s", (const char *)at);
}

char *config_text(const config *c)
{
    size_t capacity = (size_t)COUNT(ENTRIES) * 160, used = 0;
    char *text = malloc(capacity), value[80];
    if (!text) return NULL;
    text[0] = 0;
    for (int i = 0; i < COUNT(ENTRIES); i++) {
        const config_entry *e = &ENTRIES[i];
        if (e->kind == CFG_SECTION) {
            used += (size_t)snprintf(text + used, capacity - used, "[%s]\n", e->section);
            continue;
        }
        config_print_value(value, sizeof value, c, e);
        used += (size_t)snprintf(text + used, capacity - used, "%s = %s\n", e->key, value);
    }
    return text;
}
