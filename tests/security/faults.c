/* Makes one chosen write of a process fail. Loaded in front of the C library with LD_PRELOAD.
 *
 * Counted are the calls that change files below the folder named by FAULTS_BELOW. `faults_arm` starts the
 * count; the call with the chosen number fails, and with `lasting` every one after it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, IO_ERROR, NO_SPACE, SHORT, DEATH };

static long chosen, seen;
static int how, keeps_on;
static const char *below;

__attribute__((constructor)) static void begin(void) { below = getenv("FAULTS_BELOW"); }

void faults_arm(long number, int kind, int lasting) {
    chosen = number;
    how = kind;
    keeps_on = lasting;
    __atomic_store_n(&seen, 0, __ATOMIC_SEQ_CST);
}

/* How many calls were counted since. */
long faults_disarm(void) {
    how = NONE;
    chosen = LONG_MAX;
    return __atomic_load_n(&seen, __ATOMIC_SEQ_CST);
}

static int is_below(const char *path) { return below && strncmp(path, below, strlen(below)) == 0; }

static int file_is_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    return is_below(path);
}

/* What happens to this call: NONE when it goes through. */
static int fault(int concerned) {
    if (!concerned)
        return NONE;
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (how == NONE || number < chosen || (number > chosen && !keeps_on))
        return NONE;
    if (how == DEATH)
        kill(getpid(), SIGKILL);
    return how;
}

static int fail(int kind) {
    errno = kind == IO_ERROR ? EIO : ENOSPC;
    return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITES(name, DECLARATION, fd, size, CALL)          \
    ssize_t name DECLARATION {                             \
        __typeof__(&name) real = REAL(name);               \
        int kind = fault(file_is_below(fd));               \
        if (kind == SHORT) {                               \
            if (size < 2)                                  \
                return fail(NO_SPACE);                     \
            size /= 2;                                     \
        } else if (kind != NONE)                           \
            return fail(kind);                             \
        return real CALL;                                  \
    }

#define CHANGES(name, DECLARATION, concerned, CALL)        \
    int name DECLARATION {                                 \
        int kind = fault(concerned);                       \
        return kind == NONE ? REAL(name) CALL : fail(kind); \
    }

WRITES(write, (int fd, const void *data, size_t size), fd, size, (fd, data, size))
WRITES(pwrite, (int fd, const void *data, size_t size, off_t at), fd, size, (fd, data, size, at))
WRITES(pwrite64, (int fd, const void *data, size_t size, off64_t at), fd, size, (fd, data, size, at))
CHANGES(fsync, (int fd), file_is_below(fd), (fd))
CHANGES(fdatasync, (int fd), file_is_below(fd), (fd))
CHANGES(ftruncate, (int fd, off_t size), file_is_below(fd), (fd, size))
CHANGES(ftruncate64, (int fd, off64_t size), file_is_below(fd), (fd, size))
CHANGES(rename, (const char *from, const char *to), is_below(from), (from, to))
