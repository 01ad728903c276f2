/* Help of groups, what a mistyped word meant, the shell's completion and the manual page. */
#include <stdlib.h>

#include "cli/help.h"
#include "shell.h"

static void test_groups(void)
{
    ENSURE(shell("$HERACLES motion --help") == 0 && says("  motion info ") && says("  motion fix "));
    ENSURE(!says("corpus") && shell("$HERACLES help corpus") == 0 && says("  corpus build "));
    ENSURE(shell("$HERACLES motion") == 2 && says("  motion info "));
    ENSURE(shell("$HERACLES train --help") == 0 && says("its parts:\n  train planner ") && says("--corpus"));
}

static void test_meant(void)
{
    ENSURE(shell("$HERACLES evla") == 2 && says("there is no command \"evla\", did you mean \"eval\"?"));
    ENSURE(shell("$HERACLES motion inof x.csv") == 2);
    ENSURE(says("there is no command \"motion inof\", did you mean \"motion info\"?"));
    ENSURE(shell("$HERACLES motoin") == 2 &&
           says("there is no command \"motoin\", did you mean \"motion\"?"));
    ENSURE(shell("$HERACLES train traker") == 2 &&
           says("there is no file \"traker\", did you mean \"train tracker\"?"));
    ENSURE(shell("$HERACLES motion xyzzy") == 2 && !says("did you mean"));
    ENSURE(shell("$HERACLES help paly") == 2 && says("did you mean \"play\"?"));
    ENSURE(shell("$HERACLES xyzzy") == 2 && !says("did you mean"));
    ENSURE(shell("$HERACLES eval --suit omni") == 2 &&
           says("there is no option --suit, did you mean --suite?"));
    ENSURE(shell("$HERACLES eval --sed=3") == 2 && says("there is no option --sed=3, did you mean --seed?"));
    ENSURE(shell("$HERACLES evla") == 2 && says("\"eval\"? Try 'heracles --help'"));
    ENSURE(shell("$HERACLES train tracker --env.fallen_shar=0.1") == 2 &&
           says("there is no setting env.fallen_shar, did you mean env.fallen_share? Try"));
    ENSURE(shell("$HERACLES train tracker --env.fallen_share=2") == 2 && !says("did you mean"));
    ENSURE(shell("$HERACLES train tracker --env.xyzzy=2") == 2 && !says("did you mean"));
    ENSURE(shell("$HERACLES eval --colourful") == 2 && !says("did you mean"));
}

static void test_completion(void)
{
    ENSURE(shell("$HERACLES help bash-completion > $T/c && bash -n $T/c") == 0);
    ENSURE(
        shell(
            "cat > $T/try <<'END'\n"
            "eval \"$($HERACLES help bash-completion)\"\n"
            "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _heracles; echo \"${COMPREPLY[@]}\"\n"
            "END\n"
            "cd $T && bash try heracles mot; bash try heracles motion inf; bash try heracles train tracker --unt;"
            "bash try heracles train --su; bash try heracles help bash") == 0);
    ENSURE(says("motion\ninfo\n--until\n--suite --suite-corpus\nbash-completion\n"));
    ENSURE(shell("cd $T && bash try heracles eval --") == 0 && says("--suite") && says("--seed"));
}

static void test_manual(void)
{
    ENSURE(shell("$HERACLES help man") == 0);
    for (int i = 0; COMMANDS[i]; i++) {
        char heading[100];
        snprintf(heading, sizeof heading, ".SS heracles %s ", COMMANDS[i]->name);
        if (!says(heading)) test_fail(__FILE__, __LINE__, "no %s", heading);
    }
    ENSURE(says(".B \\-\\-threads N\n") && says(".SH EXIT STATUS"));
    if (shell("command -v groff") != 0) SKIP("groff is not installed");
    ENSURE(shell("$HERACLES help man | groff -man -Tascii -ww -z 2>&1") == 0 && !*shell_output);
}

TEST_TABLE({"help.groups", test_groups}, {"help.meant", test_meant}, {"help.completion", test_completion},
           {"help.manual", test_manual})
