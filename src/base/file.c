#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hrc_status file_map(const char *path, file_view *view, hrc_error *err)
{
    *view = (file_view){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(err, HRC_EFILE, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return fail(err, HRC_EFILE, "%s: is not a regular file", path);
    }
    if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            close(fd);
            return fail(err, HRC_EFILE, "%s: cannot map: %s", path, strerror(errno));
        }
        view->data = data;
        view->size = (size_t)info.st_size;
    }
    close(fd);
    return HRC_OK;
}

void file_unmap(file_view *view)
{
    if (view->data) munmap((void *)view->data, view->size);
    *view = (file_view){0};
}

void file_stem(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    char *ending = strrchr(out, '.');
    if (ending && ending != out) *ending = 0; /* a name may begin with a dot */
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

hrc_status file_write(const char *path, const file_piece *pieces, int n, hrc_error *err)
{
    size_t length = strlen(path) + 16;
    char *temporary = malloc(length);
    if (!temporary) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    snprintf(temporary, length, "%s.%08x", path, (unsigned)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int bad = fd < 0;
    for (int i = 0; i < n && !bad; i++) bad = write_all(fd, pieces[i].data, pieces[i].size) != 0;
    if (!bad) bad = fsync(fd) != 0;
    int cause = errno;
    if (fd >= 0 && close(fd) != 0 && !bad) bad = 1, cause = errno;
    if (!bad && rename(temporary, path) != 0) bad = 1, cause = errno;
    if (bad && fd >= 0) unlink(temporary);
    free(temporary);
    return bad ? fail(err, HRC_EFILE, "%s: cannot write: %s", path, strerror(cause)) : HRC_OK;
}
