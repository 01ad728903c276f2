#include "desk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/clock.h"
#include "motion/clip.h"
#include "small.h"
#include "synthetic.h"

#define ORDERS 1000000 /* half an hour */

static struct {
    wire *ear;
    pid_t robot, deploy;
    int master;
    pthread_t reader;
    atomic_bool reading, stop;
    bool reader_runs;
    pthread_mutex_t lock;
    char said[1 << 18]; /* by deploy, under the lock */
    size_t n;
    desk_order orders[ORDERS];
    atomic_int norders;
} desk = {.master = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static int domain(void)
{
    return 100 + (int)(getpid() % 100);
}

int64_t desk_now(void)
{
    return clock_now_ns();
}

void desk_sleep(double seconds)
{
    clock_sleep_until(clock_now_ns() + (int64_t)(seconds * NS_PER_S));
}

/* ---- The ear ---- */

static void on_order(void *ctx, const wire_order *order)
{
    (void)ctx;
    int i = atomic_load(&desk.norders);
    if (i == ORDERS) return;
    desk_order o = {.ns = clock_now_ns()};
    for (int k = 0; k < HRC_JOINTS; k++) o.stiff |= order->command.kp[k] > 0;
    desk.orders[i] = o;
    atomic_store(&desk.norders, i + 1);
}

int desk_orders(void)
{
    return atomic_load(&desk.norders);
}

desk_order desk_order_at(int i)
{
    return desk.orders[i];
}

/* ---- Processes ---- */

/* It does not outlive the test. */
static void run_shell(const char *line)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

/* A thread of it that a failed test still traces keeps its process from ending until it is waited for. */
static void end_process(pid_t *process)
{
    if (*process > 0) {
        kill(*process, SIGKILL);
        for (pid_t ended = 0; ended != *process && ended >= 0;) ended = waitpid(-1, NULL, __WALL);
    }
    *process = 0;
}

static void start_robot(const char *options)
{
    char line[500];
    snprintf(line, sizeof line,
             "exec $HERACLES robot-sim --net lo --domain %d --band 0 --quiet --json %s > $T/sim.json",
             domain(), options);
    desk.robot = fork();
    ENSURE(desk.robot >= 0);
    if (desk.robot == 0) run_shell(line);
}

static void make_files(void)
{
    hrc_error err;
    clip motion;
    small_tracker("t.safetensors", "default");
    synthetic_turn(&motion, 50, 50);
    ENSURE_OK(clip_save(&motion, test_path("turn.safetensors"), &err));
    clip_free(&motion);
}

static void stop_terminal(void)
{
    atomic_store(&desk.stop, true);
    if (desk.reader_runs) pthread_join(desk.reader, NULL);
    desk.reader_runs = false;
    if (desk.master >= 0) close(desk.master);
    desk.master = -1;
}

void desk_close(void)
{
    end_process(&desk.deploy);
    end_process(&desk.robot);
    stop_terminal();
    wire_close(desk.ear);
    desk.ear = NULL;
}

void desk_open(const char *options_of_robot)
{
    hrc_error err;
    desk_close();
    make_files();
    atomic_store(&desk.norders, 0);
    if (!options_of_robot) return;
    wire_address at = {.net = "lo", .domain = domain(), .realtime = true};
    ENSURE_OK(wire_open_robot(&desk.ear, &at, &(wire_robot){.command = on_order}, &err));
    start_robot(options_of_robot);
}

/* ---- deploy and its terminal ---- */

static void *read_terminal(void *arg)
{
    (void)arg;
    while (!atomic_load(&desk.stop)) {
        struct pollfd in = {.fd = desk.master, .events = POLLIN};
        char bytes[4096];
        if (!atomic_load(&desk.reading)) desk_sleep(0.005);
        if (!atomic_load(&desk.reading) || poll(&in, 1, 10) <= 0) continue;
        ssize_t got = read(desk.master, bytes, sizeof bytes);
        if (got <= 0) desk_sleep(0.01); /* no process at the other end */
        pthread_mutex_lock(&desk.lock);
        for (ssize_t i = 0; i < got && desk.n + 1 < sizeof desk.said; i++) desk.said[desk.n++] = bytes[i];
        pthread_mutex_unlock(&desk.lock);
    }
    return NULL;
}

void desk_end(void)
{
    end_process(&desk.deploy);
}

bool desk_deploy(const char *options, const char *until)
{
    char line[1000];
    desk_end();
    stop_terminal();
    memset(desk.said, 0, sizeof desk.said);
    desk.n = 0;
    atomic_store(&desk.stop, false);
    atomic_store(&desk.reading, true);
    snprintf(
        line, sizeof line,
        "exec $HERACLES deploy --net lo --domain %d --tracker $T/t.safetensors --planner off --patience 20 "
        "--ramp 0.5 --record off %s",
        domain(), options);
    desk.deploy = forkpty(&desk.master, NULL, NULL, NULL);
    ENSURE(desk.deploy >= 0);
    if (desk.deploy == 0) run_shell(line);
    fcntl(desk.master, F_SETFD, FD_CLOEXEC);
    ENSURE(pthread_create(&desk.reader, NULL, read_terminal, NULL) == 0);
    desk.reader_runs = true;
    return !until || desk_waits_for(until, 30);
}

pid_t desk_process(void)
{
    return desk.deploy;
}

pid_t desk_thread(const char *name)
{
    char line[200], out[40] = "";
    snprintf(line, sizeof line, "cd /proc/%d/task && grep -lx %s */comm | cut -d/ -f1", (int)desk.deploy,
             name);
    test_shell(out, sizeof out, line);
    return (pid_t)atoi(out);
}

pid_t desk_watchdog(void)
{
    char line[100], out[40] = "";
    snprintf(line, sizeof line, "pgrep -P %d -x hrc-watchdog", (int)desk.deploy);
    test_shell(out, sizeof out, line);
    return (pid_t)atoi(out);
}

const char *desk_output(void)
{
    static char copy[sizeof desk.said];
    pthread_mutex_lock(&desk.lock);
    memcpy(copy, desk.said, desk.n + 1);
    pthread_mutex_unlock(&desk.lock);
    return copy;
}

void desk_fill(void)
{
    atomic_store(&desk.reading, false);
    desk_sleep(0.03);
    int end = open(ptsname(desk.master), O_WRONLY | O_NOCTTY | O_NONBLOCK);
    ENSURE(end >= 0);
    while (write(end, "full", 4) > 0) {}
    close(end);
}

void desk_hang_up(void)
{
    stop_terminal();
}

void desk_press(const char *keys)
{
    ENSURE(write(desk.master, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

bool desk_waits_for(const char *text, double seconds)
{
    for (int64_t until = clock_now_ns() + (int64_t)(seconds * NS_PER_S); clock_now_ns() < until;) {
        bool gone = desk_wait(0) >= 0;
        desk_sleep(gone ? 0.05 : 0.002);
        if (strstr(desk_output(), text)) return true;
        if (gone) return false;
    }
    return false;
}

int desk_wait(double seconds)
{
    static int status;
    int64_t until = clock_now_ns() + (int64_t)(seconds * NS_PER_S);
    do {
        if (desk.deploy <= 0) return status;
        if (waitpid(desk.deploy, &status, WNOHANG) == desk.deploy) {
            desk.deploy = 0;
            return status;
        }
        if (seconds > 0) desk_sleep(0.002);
    } while (clock_now_ns() < until);
    return -1;
}

/* ---- What was heard ---- */

static bool only_damping_since(int from, int n)
{
    for (int i = from; i < n; i++)
        if (desk.orders[i].stiff) return false;
    return true;
}

static int longest_pause(int from, int n)
{
    int longest = from;
    for (int i = from; i < n; i++)
        if (desk.orders[i].ns - desk.orders[i - 1].ns > desk.orders[longest].ns - desk.orders[longest - 1].ns)
            longest = i;
    return longest;
}

bool desk_damped(int64_t since_ns, double patience_s, double quiet_s, desk_delay *out)
{
    int64_t until = since_ns + (int64_t)(patience_s * NS_PER_S);
    int first = 0, n = 0;
    for (; clock_now_ns() < until + NS_PER_S; desk_sleep(0.002)) {
        n = desk_orders();
        for (first = n; first > 0 && !desk.orders[first - 1].stiff && desk.orders[first - 1].ns > since_ns;)
            first--;
        if (first < n && desk.orders[first].ns > until) return false;
        if (first < n && first > 0) break;
    }
    if (first >= n || first == 0) return false;
    desk_sleep(quiet_s);
    n = desk_orders();
    bool was_stiff = desk.orders[first - 1].stiff;
    int back = was_stiff ? first : longest_pause(first, n);
    out->from_last = 1e-6 * (double)(desk.orders[back].ns - desk.orders[back - 1].ns);
    out->from_event = was_stiff ? 1e-6 * (double)(desk.orders[back].ns - since_ns) : out->from_last;
    return only_damping_since(first, n);
}

bool desk_stiff(double seconds)
{
    for (int64_t until = clock_now_ns() + (int64_t)(seconds * NS_PER_S); clock_now_ns() < until;
         desk_sleep(0.002)) {
        int n = desk_orders();
        if (n > 0 && desk.orders[n - 1].stiff) return true;
    }
    return false;
}

bool desk_silent(double seconds, double patience_s)
{
    for (int64_t until = clock_now_ns() + (int64_t)(patience_s * NS_PER_S); clock_now_ns() < until;
         desk_sleep(0.01)) {
        int n = desk_orders();
        if (n == 0 || (double)(clock_now_ns() - desk.orders[n - 1].ns) > seconds * NS_PER_S) return true;
    }
    return false;
}
