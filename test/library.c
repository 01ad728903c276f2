/* libheracles as others meet it: installed, linked both ways, nothing but hrc_ names outside. */
#include <stdlib.h>
#include <string.h>

#include "heracles.h"
#include "test.h"

static const char USER[] =
    "#include <heracles.h>\n"
    "#include <stdio.h>\n"
    "int main(void) {\n"
    "    printf(\"%s %d %s\\n\", hrc_version(), hrc_robot_joint_index(\"left_knee_joint\"),\n"
    "           hrc_strerror(HRC_EFILE));\n"
    "    return 0;\n"
    "}\n";

/* Sanitizer builds have their own run-time symbols and flags: the plain build covers this. */
static void skip_when_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer build is not one to install");
#endif
}

static void test_symbols(void)
{
    skip_when_sanitized();
    char out[4096];
    ENSURE(test_shell(out, sizeof out,
                      "nm -D --defined-only $(dirname $HERACLES)/libheracles.so | grep -v ' hrc_'") == 1);
    ENSURE(
        test_shell(
            out, sizeof out,
            "nm -g --defined-only $(dirname $HERACLES)/libheracles.a | grep ' [A-Z] ' | grep -v ' hrc_'") ==
        1);
    /* libc and libm only */
    ENSURE(
        test_shell(
            out, sizeof out,
            "objdump -p $(dirname $HERACLES)/libheracles.so | grep NEEDED | grep -v 'libc.so\\|libm.so'") ==
        1);
}

static void test_install_and_link(void)
{
    skip_when_sanitized();
    char out[4096];
    const char *path = test_path("user.c");
    test_write(path, USER, sizeof USER - 1);
    int code = test_shell(
        out, sizeof out,
        "set -e; unset MAKEFLAGS MAKELEVEL; b=$(basename $(dirname $HERACLES)); make -s install BUILD=$b prefix=$T/i >/dev/null\n"
        "export PKG_CONFIG_PATH=$T/i/lib/pkgconfig LD_LIBRARY_PATH=$T/i/lib\n"
        "test -x $T/i/bin/heracles\n"
        "flags=\"-I$T/i/include -L$T/i/lib\"\n"
        "grep -q \"prefix=$T/i\" $T/i/lib/pkgconfig/heracles.pc\n"
        "cc $T/user.c -o $T/shared $flags -lheracles && $T/shared\n"
        "cc $T/user.c -o $T/static $flags -l:libheracles.a -lm -pthread && $T/static");
    if (code != 0) test_fail(__FILE__, __LINE__, "exit %d: %s", code, out);
    ENSURE(!strcmp(out, HRC_VERSION " 3 cannot read or write file\n" HRC_VERSION
                                    " 3 cannot read or write file\n"));
}

TEST_TABLE({"library.symbols", test_symbols}, {"library.install_and_link", test_install_and_link})
