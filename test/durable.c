/* What was written is on the disk before anyone is told so. The runner's fsync stands before the C library's
 * and notes which file was settled, and how long it was then. */
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "deploy/record.h"
#include "test.h"

static struct stat settled; /* the last file */

int fsync(int fd);
int fsync(int fd)
{
    if (fstat(fd, &settled)) settled.st_ino = 0;
    return (int)syscall(SYS_fsync, fd);
}

/* This very file, with all of its bytes. */
static void ensure_settled(const char *path)
{
    struct stat now;
    ENSURE(stat(path, &now) == 0 && now.st_size > 0);
    ENSURE(settled.st_ino == now.st_ino && settled.st_dev == now.st_dev);
    ENSURE(settled.st_size == now.st_size);
    memset(&settled, 0, sizeof settled);
}

static void test_file(void)
{
    hrc_error err;
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("durable.bin"));
    ENSURE_OK(file_write(path, (file_piece[]){{"one", 3}, {"two", 3}}, 2, &err));
    ensure_settled(path);
}

static void test_recording(void)
{
    hrc_error err;
    recorder *r;
    record_tick tick = {.now_ns = 1};
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("durable.mcap"));
    ENSURE_OK(recorder_open(&r, path, &(mcap_note){"name", "value"}, 1, false, &err));
    record(r, RING_WRITER, RECORD_TICK, 1, &tick);
    ENSURE_OK(recorder_close(r, NULL, &err));
    ensure_settled(path);
}

TEST_TABLE({"durable.file", test_file}, {"durable.recording", test_recording})
