#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_MAX ((size_t)1 << 30)
#define LINKS_MAX 40

static int read_all(int fd, char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENODATA;
        if (n <= 0) return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static hrc_status take(int fd, size_t size, const char *path, file_view *view, hrc_error *err)
{
    const bool copy = size <= COPY_MAX;
    void *data = mmap(NULL, size, copy ? PROT_READ | PROT_WRITE : PROT_READ,
                      copy ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, copy ? -1 : fd, 0);
    if (data == MAP_FAILED) return fail(err, HRC_EFILE, "%s: cannot map: %s", path, strerror(errno));
    if (copy && read_all(fd, data, size) != 0) {
        const int cause = errno;
        munmap(data, size);
        return fail(err, HRC_EFILE, "%s: cannot read: %s", path,
                    cause == ENODATA ? "it became shorter meanwhile" : strerror(cause));
    }
    *view = (file_view){data, size};
    return HRC_OK;
}

hrc_status file_map(const char *path, file_view *view, hrc_error *err)
{
    *view = (file_view){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not make us wait */
    if (fd < 0) return fail(err, HRC_EFILE, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    hrc_status status = HRC_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = fail(err, HRC_EFILE, "%s: is not a regular file", path);
    else if (info.st_size > 0)
        status = take(fd, (size_t)info.st_size, path, view, err);
    close(fd);
    return status;
}

void file_unmap(file_view *view)
{
    if (view->data) munmap((void *)view->data, view->size);
    *view = (file_view){0};
}

bool file_begins(file_view bytes, const char *with)
{
    const size_t n = strlen(with);
    return bytes.size >= n && !memcmp(bytes.data, with, n);
}

file_view file_text(file_view bytes)
{
    return file_begins(bytes, "\xef\xbb\xbf") ? (file_view){bytes.data + 3, bytes.size - 3} : bytes;
}

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

hrc_status file_folder(const char *path, hrc_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return HRC_OK;
    return fail(err, HRC_EFILE, "%s: cannot make the folder: %s", path, strerror(errno));
}

void file_stem(char *out, size_t size, const char *path)
{
    snprintf(out, size, "%s", file_name(path));
    char *ending = strrchr(out, '.');
    if (ending && ending != out) *ending = 0; /* a name may begin with a dot */
    status_tame(out, false);
}

bool shipped_path(char *out, size_t size, const char *relative)
{
    static const char *const UNDER[] = {"..", "../share/heracles"};
    char program[4096];
    if (access(relative, R_OK) == 0) return (size_t)snprintf(out, size, "%s", relative) < size;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n < 0 ? 0 : n] = 0;
    char *slash = strrchr(program, '/');
    if (slash) *slash = 0;
    for (int i = 0; slash && i < 2; i++) {
        int length = snprintf(out, size, "%s/%s/%s", program, UNDER[i], relative);
        if (length > 0 && (size_t)length < size && access(out, R_OK) == 0) return true;
    }
    snprintf(out, size, "%s", relative);
    return false;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_pieces(int fd, const file_piece *pieces, int n)
{
    for (int i = 0; i < n; i++)
        if (write_all(fd, pieces[i].data, pieces[i].size) != 0) return -1;
    return 0;
}

/* Where `path` leads to through links, which need not be there yet. */
static int follow(char out[PATH_MAX], const char *path)
{
    char link[PATH_MAX], here[PATH_MAX];
    if ((size_t)snprintf(out, PATH_MAX, "%s", path) >= PATH_MAX) return errno = ENAMETOOLONG, -1;
    for (int depth = 0; depth < LINKS_MAX; depth++) {
        ssize_t n = readlink(out, link, sizeof link - 1);
        if (n < 0) return 0; /* no link, or nothing */
        link[n] = 0;
        snprintf(here, sizeof here, "%s", out);
        const int folder = link[0] == '/' ? 0 : (int)(file_name(here) - here);
        if ((size_t)snprintf(out, PATH_MAX, "%.*s%s", folder, here, link) >= PATH_MAX)
            return errno = ENAMETOOLONG, -1;
    }
    return errno = ELOOP, -1;
}

static int write_through(const char *path, const file_piece *pieces, int n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return -1;
    int bad = write_pieces(fd, pieces, n), cause = errno;
    if (close(fd) != 0 && !bad) return -1;
    return errno = cause, bad;
}

/* A file without a name, so that a killed process leaves nothing; where there is no such thing, one with. */
static int open_temporary(const char *path, const char *temporary, bool *named)
{
    char folder[PATH_MAX];
    const int length = (int)(file_name(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    *named = false;
    int fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) return fd;
    *named = true;
    return open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static int give_name(int fd, const char *temporary)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST || unlink(temporary) != 0) return -1;
    return linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW);
}

static int replace(const char *path, const char *temporary, const file_piece *pieces, int n)
{
    bool named;
    int fd = open_temporary(path, temporary, &named);
    if (fd < 0) return -1;
    int bad = write_pieces(fd, pieces, n) != 0 || fsync(fd) != 0, cause = errno;
    if (!bad && !named && give_name(fd, temporary) != 0) bad = 1, cause = errno;
    if (close(fd) != 0 && !bad) bad = 1, cause = errno;
    if (!bad && rename(temporary, path) != 0) bad = 1, cause = errno;
    if (bad) unlink(temporary);
    return errno = cause, bad ? -1 : 0;
}

hrc_status file_write(const char *path, const file_piece *pieces, int n, hrc_error *err)
{
    char target[PATH_MAX], temporary[PATH_MAX];
    struct stat info;
    int bad = follow(target, path);
    if (!bad && (size_t)snprintf(temporary, sizeof temporary, "%s.%08x", target, (unsigned)getpid()) >=
                    sizeof temporary)
        errno = ENAMETOOLONG, bad = -1;
    if (!bad && stat(target, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        bad = write_through(target, pieces, n);
    else if (!bad)
        bad = replace(target, temporary, pieces, n);
    return bad ? fail(err, HRC_EFILE, "%s: cannot write: %s", path, strerror(errno)) : HRC_OK;
}

hrc_status file_move(const char *path, const char *trial, hrc_error *err)
{
    file_view bytes;
    TRY(file_map(trial, &bytes, err));
    hrc_status status = file_write(path, &(file_piece){bytes.data, bytes.size}, 1, err);
    file_unmap(&bytes);
    if (status == HRC_OK) unlink(trial);
    return status;
}
