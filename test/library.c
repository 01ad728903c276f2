/* libheracles as others meet it: installed, linked both ways, nothing but hrc_ names outside. */
#include <stdlib.h>
#include <string.h>

#include "heracles.h"
#include "shell.h"
#include "small.h"

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

/* The same hundred steps as test/library.py. */
static void drive(hrc_target *target, const char *motion_file)
{
    hrc_error err;
    hrc_model *follows, *plans;
    hrc_controller *c;
    hrc_motion m;
    hrc_options o = hrc_defaults();
    o.plan.seed = 5, o.replan = 3;
    ENSURE_OK(hrc_model_load(&follows, test_path("t.safetensors"), &err));
    ENSURE_OK(hrc_model_load(&plans, test_path("p.safetensors"), &err));
    ENSURE_OK(hrc_controller_create(&c, follows, plans, &o, &err));
    ENSURE_OK(hrc_motion_load(&m, motion_file, 0, NULL, &err));
    ENSURE_OK(hrc_follow(c, &m, 0, 0, &err));
    for (int i = 0; i < 100; i++) {
        hrc_state state;
        for (int k = 0; k < HRC_NQ; k++) state.qpos[k] = (double)m.qpos[i * HRC_NQ + k];
        for (int k = 0; k < HRC_NV; k++) state.qvel[k] = (double)m.qvel[i * HRC_NV + k];
        ENSURE_OK(hrc_control(c, &state, target, &err));
    }
    hrc_controller_free(c);
    hrc_motion_free(&m);
    hrc_model_free(plans);
    hrc_model_free(follows);
}

static void test_python(void)
{
    skip_when_sanitized();
    if (shell("command -v python3 > /dev/null") != 0) SKIP("python3 is not installed");
    if (shell("test -e $(dirname $HERACLES)/libheracles.so") != 0) SKIP("libheracles.so was not built");
    static const char MOTION[] = "motions/wave.safetensors";
    char command[1024];
    hrc_target target;
    small_tracker("t.safetensors", "default");
    small_planner("p.safetensors", 38);
    drive(&target, MOTION);
    snprintf(
        command, sizeof command,
        "HERACLES_LIBRARY=$(dirname $HERACLES)/libheracles.so PYTHONDONTWRITEBYTECODE=1 python3 test/library.py "
        "$T/t.safetensors $T/p.safetensors %s %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu",
        MOTION, sizeof(hrc_error), sizeof(hrc_joint), sizeof(hrc_state), sizeof(hrc_frame),
        sizeof(hrc_motion), sizeof(hrc_motion_source), sizeof(hrc_keyframes), sizeof(hrc_target),
        sizeof(hrc_options), sizeof(hrc_report));
    if (shell(command) != 0 || !says("good")) test_fail(__FILE__, __LINE__, "%s", shell_output);
    char *at = shell_output;
    for (int i = 0; i < HRC_JOINTS; i++) ENSURE(strtod(at, &at) == target.q[i]);
}

TEST_TABLE({"library.python", test_python}, {"library.symbols", test_symbols},
           {"library.install_and_link", test_install_and_link})
