/* A disk that fails on demand. Preloaded into a program, it counts the calls that change files in one
   folder or make the changes durable, and records, fails or ends them; see faulty_disk.py. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KILL_BEFORE = -1, KILL_DURING = -2 }; /* else: the error that the calls return */

static char folder[4096];
static char watched[65536]; /* by descriptor */
static long calls, first, last;
static int outcome, record = -1;

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

void disk_watch(const char *path, int recorded_in) {
    snprintf(folder, sizeof folder, "%s", path);
    record = recorded_in;
}

void disk_fail(long from, long to, int how) {
    calls = 0, first = from, last = to, outcome = how;
}

long disk_calls(void) { return calls; }

static int in_folder(const char *path) {
    size_t length = strlen(folder);
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int is_watched(int file) { return file >= 0 && file < (int)sizeof watched && watched[file]; }

static void put(const void *content, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t)(record, content, size);
}

static void note(const char *what, int file, long offset, const void *content, size_t size,
                 const char *path) {
    struct stat found = {0};
    char head[8192];
    if (record < 0) return;
    if (file >= 0) fstat(file, &found);
    put(head, snprintf(head, sizeof head, "%s %lu %ld %zu %s\n", what, (unsigned long)found.st_ino,
                       offset, size, path));
    if (size) put(content, size);
}

void disk_mark(const char *text) { note("mark", -1, 0, NULL, 0, text); }

/* Whether a call is to fail; a program that is killed before it ends here. */
static int fails(void) {
    calls++;
    if (calls < first || calls > last) return 0;
    if (outcome == KILL_BEFORE) raise(SIGKILL);
    return 1;
}

/* The result of a call that is to fail, of which as much as may happen has happened. */
static int failed(void) {
    if (outcome == KILL_DURING) raise(SIGKILL);
    errno = outcome;
    return -1;
}

static int opened(const char *name, const char *path, int flags, int mode) {
    int (*real)(const char *, int, ...) = REAL(int, name, const char *, int, ...);
    if (!in_folder(path)) return real(path, flags, mode);
    int creates = (flags & O_CREAT) && access(path, F_OK), changes = creates || (flags & O_TRUNC);
    int fault = changes && fails();
    if (fault && outcome > 0) return failed();
    int file = real(path, flags, mode);
    if (fault) return failed();
    if (file < 0 || file >= (int)sizeof watched) return file;
    watched[file] = 1;
    if (creates) note("create", file, 0, NULL, 0, path);
    else if (flags & O_TRUNC) note("truncate", file, 0, NULL, 0, path);
    return file;
}

#define OPEN(name)                                    \
    int name(const char *path, int flags, ...) {      \
        va_list rest;                                 \
        va_start(rest, flags);                        \
        int mode = flags & O_CREAT ? va_arg(rest, int) : 0; \
        va_end(rest);                                 \
        return opened(#name, path, flags, mode);      \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    if (is_watched(file)) watched[file] = 0;
    return REAL(int, "close", int)(file);
}

static ssize_t written(int file, const void *content, size_t size, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    if (!is_watched(file)) return real(file, content, size, offset);
    int fault = fails();
    ssize_t done = real(file, content, fault ? size / 2 : size, offset);
    if (done > 0) note("write", file, offset, content, done, "");
    return fault ? failed() : done;
}

ssize_t pwrite(int file, const void *content, size_t size, off_t offset) {
    return written(file, content, size, offset);
}

ssize_t pwrite64(int file, const void *content, size_t size, off64_t offset) {
    return written(file, content, size, offset);
}

ssize_t write(int file, const void *content, size_t size) {
    if (!is_watched(file)) return REAL(ssize_t, "write", int, const void *, size_t)(file, content, size);
    ssize_t done = written(file, content, size, lseek(file, 0, SEEK_CUR));
    if (done > 0) lseek(file, done, SEEK_CUR);
    return done;
}

/* Nothing is flushed: what a kill leaves does not depend on it, and what a power failure leaves is
   computed from the record. */
#define SYNC(name)                                      \
    int name(int file) {                                \
        if (!is_watched(file)) return REAL(int, #name, int)(file); \
        if (fails()) return failed();                   \
        note("sync", file, 0, NULL, 0, "");             \
        return 0;                                       \
    }
SYNC(fsync)
SYNC(fdatasync)

static int truncated(int file, off_t size) {
    int (*real)(int, off_t) = REAL(int, "ftruncate64", int, off_t);
    if (!is_watched(file)) return real(file, size);
    int fault = fails();
    if (fault && outcome > 0) return failed();
    int result = real(file, size);
    if (!result) note("truncate", file, size, NULL, 0, "");
    return fault ? failed() : result;
}

int ftruncate(int file, off_t size) { return truncated(file, size); }

int ftruncate64(int file, off64_t size) { return truncated(file, size); }

#define ON_PATH(name, arguments, call, other)                            \
    int name arguments {                                                 \
        if (!in_folder(path)) return call;                               \
        int fault = fails() && outcome != ENOSPC; /* a full disk can do these */ \
        if (fault && outcome > 0) return failed();                       \
        int result = call;                                               \
        if (!result) note(#name, -1, 0, other, strlen(other), path);     \
        return fault ? failed() : result;                                \
    }
ON_PATH(unlink, (const char *path), REAL(int, "unlink", const char *)(path), "")
ON_PATH(link, (const char *path, const char *to), REAL(int, "link", const char *, const char *)(path, to), to)
ON_PATH(rename, (const char *path, const char *to), REAL(int, "rename", const char *, const char *)(path, to), to)
