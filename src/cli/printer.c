#include "cli/printer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    struct timespec until;
    if (!p) return 0;
    pthread_mutex_lock(&p->lock);
    if (p->in_status && p->n < BYTES) append(p, "\n", 1);
    p->stop = true;
    pthread_cond_signal(&p->changed);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LAST_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    while (!p->done && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0) {}
    uint64_t dropped = p->dropped;
    bool done = p->done;
    pthread_mutex_unlock(&p->lock);
    if (done) free(p); /* else its thread still hangs in write() and ends with the process */
    return dropped;
}
