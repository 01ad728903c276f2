#include "busy.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

#define NAP_MS 2
#define LATE_MS 4 /* the deployment's writer has a period of 2 ms and a few of them in reserve */
#define CALM_S 2
#define PATIENCE_S 30

static atomic_long late;

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        const double asleep = clock_s();
        nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000L}, NULL);
        if (1e3 * (clock_s() - asleep) > NAP_MS + LATE_MS) atomic_fetch_add(&late, 1);
    }
    return NULL;
}

void busy_watch(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); /* the tests' signals are not for this thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

long busy_moments(void)
{
    return atomic_load(&late);
}

void busy_wait_for_calm(void)
{
    for (int s = 0; s < PATIENCE_S; s += CALM_S) {
        const long before = busy_moments();
        sleep(CALM_S);
        if (busy_moments() == before) return;
    }
}

static bool has_entry(const char *path, const char *entry)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        if (strcmp(text + at, entry) == 0) return true;
    return false;
}

void busy_end_leftovers(const char *folder)
{
    char entry[256], path[300];
    DIR *d = opendir("/proc");
    snprintf(entry, sizeof entry, "T=%s", folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        const int pid = atoi(e->d_name);
        if (!isdigit((unsigned char)e->d_name[0]) || pid == getpid()) continue;
        snprintf(path, sizeof path, "/proc/%d/environ", pid);
        if (has_entry(path, entry)) kill(pid, SIGKILL);
    }
    if (d) closedir(d);
}

/* A runner that is stopped for a moment has woken late. */
static void test_watch(void)
{
    const long before = busy_moments();
    ENSURE(test_shell(NULL, 0, "sh -c 'kill -STOP '$PPID' ; sleep 0.05 ; kill -CONT '$PPID") == 0);
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000000L}, NULL);
    ENSURE(busy_moments() > before);
}

static void test_leftovers(void)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", test_path(""));
    folder[strlen(folder) - 1] = 0;
    ENSURE(test_shell(NULL, 0, "sleep 600 >/dev/null 2>&1 & echo $! > $T/pid; kill -0 $(cat $T/pid)") == 0);
    busy_end_leftovers(folder);
    ENSURE(test_shell(NULL, 0, "sleep 0.2; ! grep -q sleep /proc/$(cat $T/pid)/cmdline") == 0);
}

TEST_TABLE({"busy.watch", test_watch}, {"busy.leftovers", test_leftovers})
