#include "cli/operator.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "deploy/clock.h"

#define LOOK_MS 20
#define KEYS_PRIORITY 65 /* a busy machine does not keep a key waiting */

static struct {
    deploy *run;
    atomic_int interrupts, ended_by, ends;
    struct termios terminal; /* as it was */
    bool raw, realtime;
    atomic_bool stop;
    pthread_t thread;
    struct sigaction before[_NSIG];
} op;

/* ---- Signals ---- */

static void end_at_third(void)
{
    if (atomic_fetch_add(&op.ends, 1) >= 2) _exit(EXIT_INTERRUPTED);
}

static void on_interrupt(int number)
{
    (void)number;
    deploy_damp(op.run);
    atomic_fetch_add(&op.interrupts, 1);
    end_at_third();
}

static void on_end(int number)
{
    deploy_damp(op.run);
    atomic_store(&op.ended_by, number);
    end_at_third();
}

/* After the last command: the program is about to end, and does so with its own exit code. */
static void on_late(int number)
{
    (void)number;
    end_at_third();
}

static void on_suspend(int number)
{
    (void)number;
    deploy_ask(op.run, ASK_DAMP);
}

/* Reset to the default before it runs, so that the signal, raised again, ends the program. */
static void on_crash(int number)
{
    deploy_crash(op.run);
    if (op.raw) tcsetattr(STDIN_FILENO, TCSANOW, &op.terminal);
    raise(number);
}

static void handle(const int *numbers, size_t n, void (*handler)(int), int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    for (size_t i = 0; i < n; i++) sigaction(numbers[i], &a, &op.before[numbers[i]]);
}

#define HANDLE(handler, flags, ...)                                                                          \
    handle((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int), handler, flags)

/* System calls are restarted: nothing waits for their end, and the control threads need not know. */
static void handle_all(void)
{
    for (int i = 1; i < _NSIG; i++) sigaction(i, NULL, &op.before[i]);
    HANDLE(on_interrupt, SA_RESTART, SIGINT);
    HANDLE(on_end, SA_RESTART, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGPWR, SIGUSR1, SIGUSR2, SIGALRM,
           SIGVTALRM, SIGPROF, SIGPOLL, SIGSTKFLT);
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++) HANDLE(on_end, SA_RESTART, i);
    HANDLE(on_suspend, SA_RESTART, SIGTSTP);
    HANDLE(SIG_IGN, 0, SIGPIPE, SIGTTIN, SIGTTOU, SIGXFSZ);
    HANDLE(on_crash, SA_RESETHAND | SA_NODEFER, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP);
}

/* ---- Keys ---- */

static uint32_t meaning(const char *keys, ssize_t n)
{
    uint32_t asks = 0;
    for (ssize_t i = 0; i < n; i++)
        asks |= keys[i] == 'r'                     ? ASK_RAMP
                : keys[i] == 'g'                   ? ASK_GO
                : keys[i] == ' ' || keys[i] == 'd' ? ASK_DAMP
                                                   : 0;
    return asks;
}

static void *read_keys(void *arg)
{
    (void)arg;
    if (op.realtime) realtime_take(KEYS_PRIORITY);
    while (!atomic_load(&op.stop)) {
        char keys[64];
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&in, 1, LOOK_MS) <= 0) continue;
        ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
        if (n > 0) {
            uint32_t asks = meaning(keys, n);
            if (asks) deploy_ask(op.run, asks);
        } else if (in.revents & (POLLHUP | POLLERR | POLLNVAL)) {
            on_end(SIGHUP);
            break;
        } else { /* in the background now: the keys are the shell's */
            clock_sleep_until(clock_now_ns() + LOOK_MS * NS_PER_MS);
        }
    }
    return NULL;
}

static bool keys_on(void)
{
    struct termios t;
    if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &op.terminal))
        return false;
    t = op.terminal;
    t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    t.c_cc[VMIN] = t.c_cc[VTIME] = 0; /* a read without a key returns at once */
    op.raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
    if (op.raw && pthread_create(&op.thread, NULL, read_keys, NULL)) {
        tcsetattr(STDIN_FILENO, TCSANOW, &op.terminal);
        op.raw = false;
    }
    return op.raw;
}

/* ---- Begin and end ---- */

bool operator_begin(deploy *run, bool realtime)
{
    memset(&op, 0, sizeof op);
    op.run = run, op.realtime = realtime;
    handle_all();
    return keys_on();
}

int operator_interrupts(void)
{
    return atomic_load(&op.interrupts);
}

int operator_ended_by(void)
{
    return atomic_load(&op.ended_by);
}

void operator_end(void)
{
    if (!op.run) return;
    if (op.raw) {
        atomic_store(&op.stop, true);
        pthread_join(op.thread, NULL);
        tcsetattr(STDIN_FILENO, TCSANOW, &op.terminal);
        op.raw = false;
    }
    const bool ending = atomic_load(&op.ends) > 0;
    for (int i = 1; i < _NSIG; i++) {
        struct sigaction now, late = {.sa_handler = on_late, .sa_flags = SA_RESTART};
        if (i == SIGKILL || i == SIGSTOP || sigaction(i, NULL, &now)) continue;
        const bool ends = now.sa_handler == on_end || now.sa_handler == on_interrupt;
        sigaction(i, ending && ends ? &late : &op.before[i], NULL);
    }
    op.run = NULL;
}
