/* How `heracles deploy` lives and dies: whatever stops it, from a key to kill -9, the robot is damped. Bounds
 * are generous where only a busy machine could break them: what they are against is a robot that stays stiff
 * for ever. The figures that are printed are the real ones. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "desk.h"
#include "shell.h"

#define SOON_S 0.25
#define ATTEMPTS 3 /* a controller that trips by itself in so many runs is broken, not unlucky */

#define ARMED "--arm --damp 0.2 --motion motions/wave.safetensors "

typedef enum { DRY, DAMP, RAMP, HOLD, POLICY, STATES } stage;
static const char *const STAGE[] = {"dry run", "damping", "ramp", "hold", "policy"};

/* ---- Into a state ---- */

static bool try_reach(stage s, const char *options)
{
    char line[400];
    snprintf(line, sizeof line, "%s %s", s == DRY ? "--damp 0.2 --motion motions/wave.safetensors" : ARMED,
             options);
    if (!desk_deploy(line, s == DRY ? "dry run" : "ARMED") || !desk_waits_for("damp\r\n", 5)) return false;
    if (s == DRY || s == DAMP) return true;
    desk_press("r");
    if (!desk_waits_for("ramp\r\n", 5) || !desk_stiff(1)) return false;
    if (s == RAMP) return true;
    if (!desk_waits_for("hold\r\n", 5)) return false;
    if (s == HOLD) return true;
    desk_press("g");
    if (!desk_waits_for("policy\r\n", 5)) return false;
    desk_sleep(0.3);
    return desk_stiff(1) && !strstr(desk_output(), "tripped");
}

static void reach(stage s, const char *options)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        desk_end(); /* what an attempt before left */
        if (!desk_silent(0.1, 10)) test_fail(__FILE__, __LINE__, "somebody still sends commands");
        if (try_reach(s, options)) return;
    }
    test_fail(__FILE__, __LINE__, "deploy did not come to %s in %d attempts, the last one said: %s", STAGE[s],
              ATTEMPTS, desk_output());
}

static void ensure_damped(int64_t since_ns, const char *after, desk_delay *delay)
{
    if (!desk_damped(since_ns, SOON_S, 0.15, delay))
        test_fail(__FILE__, __LINE__, "no damping within %g s of %s: %s", SOON_S, after, desk_output());
}

static void ensure_exits(int code)
{
    int status = desk_wait(6);
    if (status < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != code)
        test_fail(__FILE__, __LINE__, "ended with status %x, expected exit code %d: %s", (unsigned)status,
                  code, desk_output());
}

/* ---- Terminals ---- */

static void press_and_damp(const char *keys, const char *name)
{
    desk_delay d;
    int64_t then = desk_now();
    desk_press(keys);
    ensure_damped(then, name, &d);
    printf("(%s %.0f ms) ", name, d.from_event);
}

static void test_keys(void)
{
    desk_open("");
    static const char *const KEYS[] = {"d", " "};
    for (int i = 0; i < 2; i++) {
        reach(POLICY, "");
        press_and_damp(KEYS[i], i ? "space" : "d");
        ENSURE(desk_wait(0) < 0); /* it goes on damping */
        press_and_damp("\003", "Ctrl-C");
        ENSURE(desk_wait(0.5) < 0);
        desk_press("r"); /* after Ctrl-C nothing but damping */
        desk_sleep(0.2);
        ENSURE(!desk_order_at(desk_orders() - 1).stiff);
        desk_press("\003");
        ensure_exits(130);
    }
    reach(POLICY, "");
    press_and_damp("\003", "Ctrl-C");
    ENSURE(desk_wait(0.5) < 0);
    desk_press("\003");
    ensure_exits(130);
    desk_close();
}

/* Nothing can be printed: Ctrl-S, or a terminal that is full. Keys and signals work as ever. */
static void test_stopped_terminal(void)
{
    static const struct {
        bool full;
        const char *keys; /* NULL: SIGTERM */
        const char *name;
    } CASES[] = {{false, "d", "Ctrl-S, d"},
                 {false, "\003", "Ctrl-S, Ctrl-C"},
                 {false, NULL, "Ctrl-S, TERM"},
                 {true, "d", "full, d"},
                 {true, NULL, "full, TERM"}};
    desk_open("");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        desk_delay d;
        reach(POLICY, "");
        if (CASES[i].full)
            desk_fill();
        else
            desk_press("\023");
        desk_sleep(0.6); /* the status line is due three times */
        ENSURE(desk_stiff(0.1));
        int64_t then = desk_now();
        if (CASES[i].keys)
            desk_press(CASES[i].keys);
        else
            kill(desk_process(), SIGTERM);
        ensure_damped(then, CASES[i].name, &d);
        printf("(%s %.0f ms) ", CASES[i].name, d.from_event);
        kill(desk_process(), SIGTERM);
        ensure_exits(130);
    }
    desk_close();
}

/* ---- Signals ---- */

typedef enum { ENDS, DIES, STAYS, SUSPENDS, STOPS, KILLED, ANSWERS } answer;

static const struct {
    int number;
    const char *name;
    answer what;
} SIGNAL[] = {
    {SIGKILL, "KILL", KILLED}, {SIGSTOP, "STOP", STOPS},    {SIGSEGV, "SEGV", DIES},
    {SIGTERM, "TERM", ENDS},   {SIGHUP, "HUP", ENDS},       {SIGQUIT, "QUIT", ENDS},
    {SIGINT, "INT", SUSPENDS}, {SIGTSTP, "TSTP", SUSPENDS}, {SIGUSR1, "USR1", ENDS},
    {SIGUSR2, "USR2", ENDS},   {SIGALRM, "ALRM", ENDS},     {SIGABRT, "ABRT", DIES},
    {SIGBUS, "BUS", DIES},     {SIGFPE, "FPE", DIES},       {SIGILL, "ILL", DIES},
    {SIGTRAP, "TRAP", DIES},   {SIGSYS, "SYS", DIES},       {SIGXCPU, "XCPU", ENDS},
    {SIGPWR, "PWR", ENDS},     {SIGVTALRM, "VTALRM", ENDS}, {SIGPROF, "PROF", ENDS},
    {SIGPOLL, "POLL", ENDS},   {SIGSTKFLT, "STKFLT", ENDS}, {SIGPIPE, "PIPE", STAYS},
    {SIGTTIN, "TTIN", STAYS},  {SIGTTOU, "TTOU", STAYS},    {SIGXFSZ, "XFSZ", STAYS},
};
enum { SIGNALS = sizeof SIGNAL / sizeof *SIGNAL };

typedef struct {
    double last[400], event[400]; /* ms */
    int n;
} delays;

static void add_delay(delays *all, const desk_delay *d)
{
    if (all->n == 400) return;
    all->last[all->n] = d->from_last, all->event[all->n++] = d->from_event;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_delays(const char *name, delays *d)
{
    if (!d->n) return;
    qsort(d->last, (size_t)d->n, sizeof *d->last, by_size);
    qsort(d->event, (size_t)d->n, sizeof *d->event, by_size);
    printf("\n  %-10s %3d times: damping after the last command p50 %.1f max %.1f ms, after the signal p50 "
           "%.1f max %.1f ms",
           name, d->n, d->last[d->n / 2], d->last[d->n - 1], d->event[d->n / 2], d->event[d->n - 1]);
}

/* It runs again since `before` commands were heard: it must not go on where it was. */
static void ensure_goes_on_damping(stage at, int before)
{
    desk_sleep(0.3);
    int stiff = 0, n = desk_orders();
    for (int i = before; i < n; i++) stiff += desk_order_at(i).stiff;
    ENSURE(stiff <= 1 && n > before + 20); /* the one that was on its way when it was stopped */
    if (at == DAMP) desk_press("r");
    if (!desk_waits_for(at == DAMP ? "not now: " : "tripped: ", 5))
        test_fail(__FILE__, __LINE__, "it would go on: %s", desk_output());
    kill(desk_process(), SIGTERM);
    ensure_exits(at == DAMP ? 130 : 3);
}

static void check_end(stage at, int s)
{
    const answer what = SIGNAL[s].what;
    if (what == STOPS) {
        int before = desk_orders();
        kill(desk_process(), SIGCONT);
        ensure_goes_on_damping(at, before);
    } else if (what == DIES || what == KILLED) {
        int status = desk_wait(5);
        ENSURE(status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGNAL[s].number);
    } else {
        if (what != ENDS) {
            ENSURE(desk_wait(0.1) < 0);
            kill(desk_process(), SIGTERM);
        }
        ensure_exits(130);
    }
}

/* One signal in one state; what is ignored is tried with the next. */
static void strike(stage at, int s, delays *all)
{
    desk_delay d;
    reach(at, "");
    int before = desk_orders();
    int64_t then = desk_now();
    kill(desk_process(), SIGNAL[s].number);
    if (at == DRY) {
        if (SIGNAL[s].what == STOPS) kill(desk_process(), SIGCONT);
        if (SIGNAL[s].what != DIES && SIGNAL[s].what != KILLED) kill(desk_process(), SIGTERM);
        ENSURE(desk_wait(5) >= 0);
        desk_sleep(0.1);
        ENSURE(desk_orders() == before); /* nothing was sent, nothing is */
        return;
    }
    if (SIGNAL[s].what == STAYS) {
        desk_sleep(0.1);
        ENSURE(at == DAMP || desk_order_at(desk_orders() - 1).stiff);
        ENSURE(desk_wait(0) < 0 && desk_orders() > before);
        then = desk_now();
        kill(desk_process(), SIGTERM);
    }
    char name[40];
    snprintf(name, sizeof name, "%s in %s", SIGNAL[s].name, STAGE[at]);
    ensure_damped(then, name, &d);
    add_delay(&all[SIGNAL[s].what], &d);
    check_end(at, s);
    if (!desk_silent(0.1, 5)) test_fail(__FILE__, __LINE__, "%s: commands go on", name);
}

static void print_all(delays all[ANSWERS])
{
    static const char *const NAME[] = {"ends", "crash", "ignored", "damps", "STOP", "KILL"};
    for (int i = 0; i < ANSWERS; i++) print_delays(NAME[i], &all[i]);
    printf("\n  ");
}

/* Every signal once, the states in turn; KILL and STOP in every state. */
static void test_signals(void)
{
    static delays all[ANSWERS];
    memset(all, 0, sizeof all);
    desk_open("");
    for (int i = 0; i < SIGNALS; i++)
        for (int k = 0; k < STATES; k++)
            if (i < 2 || k == STATES - 1 - i % STATES) strike((stage)k, i, all);
    print_all(all);
    desk_close();
}

/* All of them in every state, KILL and STOP ten times each, when it is asked for: LIFE=all build/test/run
 * life.matrix (a quarter of an hour). */
static void test_matrix(void)
{
    static delays all[ANSWERS];
    if (!getenv("LIFE")) SKIP("a quarter of an hour; LIFE=all asks for it");
    memset(all, 0, sizeof all);
    desk_open("");
    for (int i = 0; i < SIGNALS; i++)
        for (int k = 0; k < STATES; k++)
            for (int n = i < 2 && k != DRY ? 10 : 1; n > 0; n--) strike((stage)k, i, all);
    print_all(all);
    desk_close();
}

static void test_hung_up(void)
{
    desk_delay d;
    desk_open("");
    reach(POLICY, "");
    int64_t then = desk_now();
    desk_hang_up();
    ensure_damped(then, "the terminal's end", &d);
    printf("(%.0f ms) ", d.from_event);
    ensure_exits(130);
    desk_close();
}

/* ---- The watchdog ---- */

/* The writer thread alone stands still: a deadlock, a driver that does not return. The others go on. */
static void test_frozen_writer(void)
{
    desk_delay d;
    desk_open("");
    reach(POLICY, "");
    pid_t writer = desk_thread("writer");
    ENSURE(writer > 0);
    int64_t then = desk_now();
    if (ptrace(PTRACE_SEIZE, writer, NULL, NULL) || ptrace(PTRACE_INTERRUPT, writer, NULL, NULL))
        SKIP("ptrace is not allowed here");
    ensure_damped(then, "the writer's standstill", &d);
    printf("(%.0f ms after the last command) ", d.from_last);
    ENSURE(waitpid(writer, NULL, __WALL) == writer);
    int before = desk_orders();
    ENSURE(ptrace(PTRACE_DETACH, writer, NULL, NULL) == 0);
    ensure_goes_on_damping(POLICY, before);
    desk_close();
}

/* A test that fails leaves all as it is, here a controller that flies with its writer held; the runner may
 * repeat it in the same process. */
static void test_again(void)
{
    for (int i = 0; i < 2; i++) {
        desk_open("");
        reach(POLICY, "");
        pid_t writer = desk_thread("writer");
        ENSURE(writer > 0);
        if (ptrace(PTRACE_SEIZE, writer, NULL, NULL) || ptrace(PTRACE_INTERRUPT, writer, NULL, NULL))
            SKIP("ptrace is not allowed here");
    }
    desk_close();
    ENSURE(waitpid(-1, NULL, WNOHANG | __WALL) < 0); /* nothing is left */
}

/* Without its watchdog the controller does not go on: it trips, and refuses to start again. */
static void test_watchdog_lost(void)
{
    static const int HOW[] = {SIGKILL, SIGSTOP};
    desk_open("");
    for (int i = 0, tries = 0; i < 2; i++) {
        desk_delay d;
        reach(POLICY, "");
        pid_t dog = desk_watchdog();
        ENSURE(dog > 0 && getsid(dog) == dog && getpgid(dog) != getpgid(desk_process()));
        int64_t then = desk_now();
        kill(dog, HOW[i]);
        if (!desk_damped(then, 1, 0.1, &d)) test_fail(__FILE__, __LINE__, "no damping: %s", desk_output());
        printf("(%s %.0f ms) ", i ? "stopped" : "killed", d.from_event);
        ENSURE(desk_waits_for("tripped: ", 5));
        kill(desk_process(), SIGTERM);
        kill(dog, SIGCONT);
        ensure_exits(3);
        if (strstr(desk_output(), "tripped: the watchdog")) continue;
        ENSURE(++tries < ATTEMPTS); /* a busy machine: something else was late before */
        i--;
    }
    reach(DAMP, "");
    kill(desk_watchdog(), SIGKILL);
    desk_sleep(0.7);
    desk_press("r");
    ENSURE(desk_waits_for("not now: the watchdog", 5));
    kill(desk_process(), SIGTERM);
    ENSURE(desk_wait(5) >= 0);
    desk_close();
}

/* It survives what ends its controller, and goes when all is over. */
static void test_watchdog_leaves(void)
{
    static const int ENOUGH[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGTSTP};
    desk_open("");
    reach(POLICY, "");
    pid_t dog = desk_watchdog();
    ENSURE(dog > 0);
    for (int i = 0; i < 6; i++) kill(dog, ENOUGH[i]);
    desk_sleep(0.6);
    ENSURE(kill(dog, 0) == 0 && desk_stiff(0.1) && !strstr(desk_output(), "tripped"));
    kill(desk_process(), SIGTERM); /* a regular end: the watchdog sends nothing and goes with it */
    ensure_exits(130);
    ENSURE(kill(dog, 0) != 0);
    reach(POLICY, "--damp 1");
    dog = desk_watchdog();
    int64_t then = desk_now();
    kill(desk_process(), SIGKILL);
    ENSURE(desk_wait(5) >= 0);
    desk_sleep(0.5);
    ENSURE(kill(dog, 0) == 0);
    ENSURE(desk_silent(0.2, 10));
    double damped = 1e-9 * (double)(desk_order_at(desk_orders() - 1).ns - then);
    ENSURE(damped > 0.9 && damped < 3); /* as long as --damp says */
    for (int i = 0; i < 200 && kill(dog, 0) == 0; i++) desk_sleep(0.01);
    ENSURE(kill(dog, 0) != 0);
    desk_close();
}

TEST_TABLE({"life.keys", test_keys}, {"life.stopped_terminal", test_stopped_terminal},
           {"life.signals", test_signals}, {"life.matrix", test_matrix}, {"life.hung_up", test_hung_up},
           {"life.frozen_writer", test_frozen_writer}, {"life.again", test_again},
           {"life.watchdog_lost", test_watchdog_lost}, {"life.watchdog_leaves", test_watchdog_leaves})
