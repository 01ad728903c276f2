/* What was built: hardened, and showing no more than it must. */
#include "shell.h"

static void test_hardened(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer build is not one to ship");
#endif
    if (shell("command -v readelf nm > /dev/null") != 0) SKIP("binutils are not installed");
    static const char *const FILES[] = {"heracles", "libheracles.so"};
    for (int i = 0; i < 2; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "f=$(dirname $HERACLES)/%s; readelf -lW $f | grep -q GNU_RELRO && readelf -dW $f | grep -q "
                 "BIND_NOW && ! readelf -lW $f | grep GNU_STACK | grep -q E",
                 FILES[i]);
        if (shell(command) != 0)
            test_fail(__FILE__, __LINE__, "%s: no full RELRO, or a stack to run", FILES[i]);
        snprintf(command, sizeof command, "nm -D $(dirname $HERACLES)/%s | grep -q __stack_chk_fail",
                 FILES[i]);
        if (shell(command) != 0) test_fail(__FILE__, __LINE__, "%s: no stack protector", FILES[i]);
        /* gcc notes its switches; a page that is skipped leaves no other trace */
        snprintf(command, sizeof command,
                 "s=$(readelf -p .debug_str $(dirname $HERACLES)/%s | grep 'GNU C11'); test -z \"$s\" || "
                 "echo \"$s\" | grep -q fstack-clash-protection",
                 FILES[i]);
        if (shell(command) != 0) test_fail(__FILE__, __LINE__, "%s: no guarded stack", FILES[i]);
    }
    ENSURE(shell("nm -D $HERACLES | grep -q '__.*_chk@'") == 0); /* FORTIFY */
    ENSURE(shell("nm -D --defined-only $(dirname $HERACLES)/libheracles.so | grep -v ' hrc_'") == 1);
}

/* The optional checks take npm's packages by version and digest, and run none of their scripts. */
static void test_pinned(void)
{
    ENSURE(
        shell(
            "grep -n 'npm ' Makefile tools/* .ci/run 2>/dev/null | grep -E 'npm (i|install|ci|exec|x)( |$)' | "
            "grep -v 'npm ci .*--ignore-scripts'") == 1);
    ENSURE(shell("grep -q 'npm ci .*--ignore-scripts' Makefile") == 0);
    ENSURE(
        shell(
            "n=$(grep -cE '\"node_modules/[^\"]*\": [{]' tools/npm/package-lock.json); test $n -gt 4 -a $n -eq "
            "$(grep -c '\"integrity\": \"sha512-' tools/npm/package-lock.json)") == 0);
    ENSURE(shell("grep -nE '\"[^\"]+\": *\"([\\^~><*]|latest)' tools/npm/package.json") == 1);
}

TEST_TABLE({"build.hardened", test_hardened}, {"build.pinned", test_pinned})
