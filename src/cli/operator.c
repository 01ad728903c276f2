#include "cli/operator.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "deploy/clock.h"

/* ---- Printing while the control threads run ---- */

#define BYTES 8192
#define LAST_MS 200

/* The lock is held for copies of memory only, never while writing. */
struct printer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char text[BYTES]; /* not yet taken by the thread */
    size_t n;
    bool writing, in_status, stop, done;
    uint64_t dropped, told; /* lines, all; of which the reader knows */
};

/* All of it, or what is left is lost with the reader. */
static bool write_out(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t w = write(STDERR_FILENO, text, n);
        if (w < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        if (w < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (w > 0) text += w, n -= (size_t)w;
    }
    return true;
}

static void append(printer *p, const char *text, size_t n)
{
    memcpy(p->text + p->n, text, n);
    p->n += n;
}

/* With the lock held: what to write next; false: no more. */
static bool next(printer *p, char text[BYTES], size_t *n)
{
    while (!p->n && !p->stop) pthread_cond_wait(&p->changed, &p->lock);
    memcpy(text, p->text, p->n);
    *n = p->n;
    p->n = 0;
    p->writing = *n > 0;
    return p->writing;
}

static void *keep_writing(void *arg)
{
    printer *p = arg;
    char text[BYTES];
    size_t n;
    pthread_mutex_lock(&p->lock);
    while (next(p, text, &n)) {
        pthread_mutex_unlock(&p->lock);
        bool read = write_out(text, n);
        pthread_mutex_lock(&p->lock);
        p->writing = false;
        if (!read) p->dropped++;
    }
    p->done = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

hrc_status printer_open(printer **out, hrc_error *err)
{
    pthread_t thread;
    pthread_condattr_t clock;
    printer *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "printer: out of memory");
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&thread, NULL, keep_writing, p)) {
        free(p);
        return fail(err, HRC_ENOMEM, "printer: no thread");
    }
    pthread_detach(thread); /* it may hang in write() for ever */
    *out = p;
    return HRC_OK;
}

void printer_line(printer *p, const char *text)
{
    char missing[64];
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    int m = p->dropped == p->told ? 0
                                  : snprintf(missing, sizeof missing, "(%llu lines were not shown)\n",
                                             (unsigned long long)(p->dropped - p->told));
    size_t length = strlen(text);
    if (p->n + (size_t)m + length + 2 > BYTES) {
        p->dropped++;
    } else {
        if (p->in_status) append(p, "\n", 1);
        p->in_status = false;
        append(p, missing, (size_t)m);
        append(p, text, length);
        append(p, "\n", 1);
        p->told = p->dropped;
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
}

void printer_status(printer *p, const char *text)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    size_t length = strlen(text);
    if (!p->n && !p->writing && length + 1 < BYTES) {
        append(p, "\r", 1);
        append(p, text, length);
        p->in_status = true;
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
}

uint64_t printer_close(printer *p)
{
    if (!p) return 0;
    pthread_mutex_lock(&p->lock);
    if (p->in_status && p->n < BYTES) append(p, "\n", 1);
    p->stop = true;
    pthread_cond_signal(&p->changed);
    const struct timespec until = clock_spec(clock_now_ns() + LAST_MS * NS_PER_MS);
    while (!p->done && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0) {}
    uint64_t dropped = p->dropped;
    bool done = p->done;
    pthread_mutex_unlock(&p->lock);
    if (done) free(p); /* else its thread still hangs in write() and ends with the process */
    return dropped;
}

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
