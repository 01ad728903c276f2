#include "deploy/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/clock.h"
#include "deploy/gate.h"

#define PRIORITY 85      /* above the controller's own threads: it is due when they have failed */
#define LEAST_DAMP_S 0.2 /* also with --damp 0 */
#define LEAVE_MS 1000
#define LOOK_MS 5
#define PAGE_FD 3
#define PIPE_FD 4

extern char **environ;

/* Which process sends commands. OVER: none, all is damped. */
enum { CONTROLLER, WATCHDOG, OVER };

/* The page that both processes see. A torn q mixes targets of two commands 2 ms apart; damping has no
 * stiffness, so that does not matter. */
typedef struct {
    _Atomic uint32_t charge;
    _Atomic int64_t sent_ns;  /* of the controller's latest command; 0: none yet */
    _Atomic int64_t awake_ns; /* when the watchdog last looked; 0: it does not see the robot yet */
    _Atomic int32_t peers;    /* readers of commands that it must see before; 0: not known yet */
    float q[HRC_JOINTS];
    char trouble[sizeof((hrc_error *)0)->text]; /* why the watchdog could not start */
} page;

/* ---- The controller's end ---- */

struct watchdog {
    page *shared;
    int pipe; /* written to by an alarm; closed by every death */
    pid_t process;
};

static hrc_status map_page(page **out, int fd, hrc_error *err)
{
    void *at = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return fail(err, HRC_ENOMEM, "watchdog: no shared memory: %s", strerror(errno));
    *out = at;
    return HRC_OK;
}

/* A process with the page, the pipe and nothing else of ours; it must not keep our terminal or pipes open. */
static hrc_status spawn(watchdog *w, int memory, int end, char *const argv[], hrc_error *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    for (int i = 0; i < 3; i++) posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, memory, PAGE_FD);
    posix_spawn_file_actions_adddup2(&files, end, PIPE_FD);
    posix_spawn_file_actions_addclosefrom_np(&files, PIPE_FD + 1);
    int failed = posix_spawn(&w->process, "/proc/self/exe", &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return failed ? fail(err, HRC_ENOMEM, "watchdog: no process: %s", strerror(failed)) : HRC_OK;
}

/* Above PIPE_FD, so that putting one in its place does not close the other. */
static int moved_up(int fd)
{
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, PIPE_FD + 1);
    if (fd >= 0) close(fd);
    return up;
}

static hrc_status start(watchdog *w, const wire_address *at, int machine, double damp_s, hrc_error *err)
{
    char domain[16], robot[16], seconds[32];
    int ends[2] = {-1, -1}, memory = moved_up(memfd_create("heracles watchdog", MFD_CLOEXEC));
    snprintf(domain, sizeof domain, "%d", at->domain);
    snprintf(robot, sizeof robot, "%d", machine);
    snprintf(seconds, sizeof seconds, "%.3f", damp_s);
    char *const argv[] = {(char[]){WATCHDOG_NAME},
                          (char *)at->net,
                          domain,
                          robot,
                          seconds,
                          at->realtime ? (char[]){"realtime"} : (char[]){"normal"},
                          NULL};
    hrc_status status = HRC_OK;
    if (memory < 0 || ftruncate(memory, sizeof(page)) || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        status = fail(err, HRC_ENOMEM, "watchdog: no shared memory: %s", strerror(errno));
    ends[0] = moved_up(ends[0]);
    w->pipe = ends[1];
    if (status == HRC_OK) status = map_page(&w->shared, memory, err);
    if (status == HRC_OK) status = spawn(w, memory, ends[0], argv, err);
    if (memory >= 0) close(memory);
    if (ends[0] >= 0) close(ends[0]);
    return status;
}

hrc_status watchdog_start(watchdog **out, const wire_address *at, int machine, double damp_s, hrc_error *err)
{
    watchdog *w = calloc(1, sizeof *w);
    if (!w) return fail(err, HRC_ENOMEM, "watchdog: out of memory");
    w->pipe = -1;
    hrc_status status = start(w, at, machine, damp_s, err);
    if (status < 0) {
        watchdog_stop(w);
        return status;
    }
    *out = w;
    return HRC_OK;
}

static bool ended(watchdog *w)
{
    if (w->process > 0 && waitpid(w->process, NULL, WNOHANG) != 0) w->process = 0;
    return w->process <= 0;
}

hrc_status watchdog_ready(watchdog *w, const wire *net, double patience_s, hrc_error *err)
{
    int64_t until = clock_now_ns() + (int64_t)(patience_s * NS_PER_S);
    while (!atomic_load(&w->shared->awake_ns)) {
        atomic_store(&w->shared->peers, wire_peers(net) + 1); /* and ours, which hears other writers */
        if (ended(w))
            return fail(err, HRC_EFILE, "the watchdog process has ended before the start%s%s",
                        w->shared->trouble[0] ? ": " : "", w->shared->trouble);
        if (clock_now_ns() > until)
            return fail(err, HRC_EFILE, "the watchdog process does not see the robot within %g s",
                        patience_s);
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    return HRC_OK;
}

void watchdog_beat(watchdog *w, const float q[HRC_JOINTS], int64_t now_ns)
{
    if (!w) return;
    memcpy(w->shared->q, q, sizeof w->shared->q);
    atomic_store(&w->shared->sent_ns, now_ns);
}

bool watchdog_took_over(const watchdog *w)
{
    return w && atomic_load(&w->shared->charge) == WATCHDOG;
}

bool watchdog_lost(const watchdog *w, int64_t now_ns)
{
    if (!w) return false;
    return watchdog_took_over(w) || now_ns - atomic_load(&w->shared->awake_ns) > ASLEEP_MS * NS_PER_MS;
}

void watchdog_alarm(watchdog *w)
{
    if (w && write(w->pipe, "!", 1) < 0) return; /* it is gone, or has been called already */
}

void watchdog_over(watchdog *w)
{
    if (w) atomic_store(&w->shared->charge, OVER);
}

void watchdog_stop(watchdog *w)
{
    if (!w) return;
    if (w->pipe >= 0) close(w->pipe);
    for (int ms = 0; ms < LEAVE_MS && !ended(w); ms++) clock_sleep_until(clock_now_ns() + NS_PER_MS);
    if (w->shared) munmap(w->shared, sizeof *w->shared);
    free(w);
}

/* ---- The process ---- */

typedef struct {
    page *shared;
    wire *net;
    int machine;
    double damp_s;
    bool gone, called; /* the controller is no more; its crash handler called */
} dog;

/* Nothing that is sent to every process of a session, a group or a name ends it. */
static void ignore_signals(void)
{
    static const int FATAL[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (int number = 1; number <= SIGRTMAX; number++) {
        bool fatal = false;
        for (size_t i = 0; i < sizeof FATAL / sizeof *FATAL; i++) fatal |= number == FATAL[i];
        if (!fatal) signal(number, SIG_IGN);
    }
}

/* Sleeps until then, or until the controller dies or calls. */
static void listen_until(dog *d, int64_t ns)
{
    char call[8];
    int64_t left = ns - clock_now_ns();
    struct timespec t = clock_spec(left > 0 ? left : 0);
    struct pollfd end = {.fd = d->gone ? -1 : PIPE_FD, .events = POLLIN};
    if (ppoll(&end, 1, &t, NULL) <= 0) return;
    if (end.revents & POLLIN && read(PIPE_FD, call, sizeof call) > 0)
        d->called = true;
    else if (end.revents & (POLLHUP | POLLERR))
        d->gone = true;
}

static bool over(const dog *d)
{
    return atomic_load(&d->shared->charge) == OVER;
}

static bool silent(const dog *d, int64_t now_ns)
{
    int64_t sent = atomic_load(&d->shared->sent_ns);
    return sent && now_ns - sent >= SILENCE_MS * NS_PER_MS;
}

/* True: the robot is left to the watchdog. False: the controller has ended regularly, or before it began. */
static bool watch_controller(dog *d)
{
    for (;;) {
        int64_t now = clock_now_ns(), sent = atomic_load(&d->shared->sent_ns);
        atomic_store(&d->shared->awake_ns, now);
        if (over(d) || (d->gone && !sent)) return false;
        if (sent && (d->gone || d->called || silent(d, now))) break;
        listen_until(d, (sent ? sent : now) + SILENCE_MS * NS_PER_MS);
    }
    uint32_t from = CONTROLLER;
    return atomic_compare_exchange_strong(&d->shared->charge, &from, WATCHDOG);
}

static void send_damping(dog *d)
{
    robot_command c = {.mode_machine = (uint32_t)d->machine, .on = 1};
    float q[HRC_JOINTS];
    memcpy(q, d->shared->q, sizeof q);
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!isfinite(q[i])) q[i] = (float)G1_JOINT[i].q0;
    gate_damping(&c, q, NULL);
    wire_send_command(d->net, &c);
}

static void damp(dog *d)
{
    int64_t begun = clock_now_ns(), until = begun + (int64_t)(d->damp_s * NS_PER_S);
    for (int64_t next = begun; !over(d); next += TICK_NS) {
        int64_t now = clock_now_ns();
        atomic_store(&d->shared->awake_ns, now);
        if (d->gone && now > until) return;
        if (now < until || silent(d, now)) send_damping(d);
        if (now - next > 10 * TICK_NS) next = now; /* after a pause no burst to catch up */
        while (clock_now_ns() < next + TICK_NS) listen_until(d, next + TICK_NS);
    }
}

static hrc_status open_net(dog *d, char **argv, hrc_error *err)
{
    wire_address at = {.net = argv[1], .domain = atoi(argv[2]), .realtime = !strcmp(argv[5], "realtime")};
    d->machine = atoi(argv[3]);
    d->damp_s = fmax(atof(argv[4]), LEAST_DAMP_S);
    TRY(wire_open_writer(&d->net, &at, err));
    if (at.realtime) {
        mlockall(MCL_CURRENT | MCL_FUTURE);
        realtime_take(PRIORITY);
    }
    return HRC_OK;
}

static bool sees_robot(const dog *d)
{
    int32_t wanted = atomic_load(&d->shared->peers);
    return wanted > 1 && wire_peers(d->net) >= wanted;
}

int watchdog_main(int argc, char **argv)
{
    hrc_error err;
    dog d = {0};
    prctl(PR_SET_NAME, WATCHDOG_NAME);
    ignore_signals();
    if (argc != 6 || map_page(&d.shared, PAGE_FD, &err) < 0) return 1; /* called by hand */
    if (open_net(&d, argv, &err) < 0) {
        snprintf(d.shared->trouble, sizeof d.shared->trouble, "%s", err.text);
        return 1;
    }
    while (!sees_robot(&d) && !d.gone && !over(&d)) listen_until(&d, clock_now_ns() + LOOK_MS * NS_PER_MS);
    if (watch_controller(&d)) damp(&d);
    wire_close(d.net);
    return 0;
}
