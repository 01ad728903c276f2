/* Everything that is told about the commands, from their tables: help, completion of the shell, the manual
 * page, and what a mistyped word may have meant. */
#ifndef HRC_CLI_HELP_H
#define HRC_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

extern const option COMMON_OPTIONS[]; /* of every command */

int help_all(FILE *to); /* EXIT_DONE on stdout, EXIT_USAGE elsewhere */
int help_command(const command *cmd);

/* Commands that begin with the same word, as "motion": false when there is none. */
bool help_is_group(const char *word);
int help_group(FILE *to, const char *word);

/* heracles help TOPIC: config, preset, bash-completion, man. False: no such topic. */
bool help_topic(const char *topic, int *code);

/* The command or the option that is nearest to a mistyped one; NULL: none is near. */
const char *help_nearest_command(const char *word);
const char *help_nearest_option(const command *cmd, const char *name);

#endif
