// Makes the calls of a process on files fail: preloaded, it stands before the C library's own functions for whoever calls
// them, the program, SQLite or Foundation. What it does is in FaultPlan.c, what a power failure loses in PowerLog.c.
//
// Every call is passed on to the kernel directly. What the C library does on files by itself (fopen's reads, opendir) is
// not seen, but for fopen itself.
#define _GNU_SOURCE
#include "FaultInjector.h"
#include "FaultPlan.h"
#include "PowerLog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PATHS 4096
enum { WATCHED_FILES = 65536 };
/// The descriptors of watched files.
static atomic_bool watched[WATCHED_FILES];

static bool is_watched(int file) { return file >= 0 && file < WATCHED_FILES && atomic_load(&watched[file]); }
static void watch(int file, bool is) { if (file >= 0 && file < WATCHED_FILES) atomic_store(&watched[file], is); }

static const char *path_of(int file, char path[PATHS]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATHS - 1);
    path[length < 0 ? 0 : length] = 0;
    return path;
}

/// Counts a call on an open file. True: it fails.
static bool fails(unsigned kind, int file) {
    char path[PATHS];
    return fault_count(kind, path_of(file, path), NULL, NULL) == FAULT_FAIL;
}

/// Counts a call on a path. True: it fails.
static bool fails_at(unsigned kind, const char *path) { return fault_count(kind, path, NULL, NULL) == FAULT_FAIL; }

// MARK: - Opening and closing

static int open_at(int directory, const char *path, int flags, mode_t mode) {
    char absolute[PATHS];
    bool is = fault_watches(directory, path, absolute);
    if (!is) {
        int file = (int)syscall(SYS_openat, directory, path, flags, mode);
        watch(file, false);
        return file;
    }
    bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
    struct stat there;
    // An existing file takes no space to open.
    bool makes = is_nameless
        || (flags & O_CREAT && syscall(SYS_newfstatat, AT_FDCWD, absolute, &there, AT_SYMLINK_NOFOLLOW) != 0);
    unsigned kinds = FAULT_OPEN | (makes ? FAULT_CREATE : 0);
    if (fails_at(kinds, absolute)) return -1;
    if (!fault_plays_power() || is_nameless) {
        int file = (int)syscall(SYS_openat, directory, path, flags, mode);
        watch(file, true);
        return file;
    }
    power_begin();
    struct stat status;
    bool was = syscall(SYS_newfstatat, AT_FDCWD, absolute, &status, AT_SYMLINK_NOFOLLOW) == 0;
    int file = (int)syscall(SYS_openat, directory, path, flags & ~O_TRUNC, mode);
    if (file >= 0 && !was) power_note_create(absolute);
    if (file >= 0 && flags & O_TRUNC) {
        power_note_truncate(file, 0);
        syscall(SYS_ftruncate, file, 0);
    }
    watch(file, true);
    power_end();
    return file;
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define OPENS(name)                                         \
    int name(const char *path, int flags, ...) {            \
        va_list arguments;                                  \
        va_start(arguments, flags);                         \
        mode_t mode = mode_of(flags, arguments);            \
        va_end(arguments);                                  \
        return open_at(AT_FDCWD, path, flags, mode);        \
    }
#define OPENS_AT(name)                                            \
    int name(int directory, const char *path, int flags, ...) {   \
        va_list arguments;                                        \
        va_start(arguments, flags);                               \
        mode_t mode = mode_of(flags, arguments);                  \
        va_end(arguments);                                        \
        return open_at(directory, path, flags, mode);             \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
int creat(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

static FILE *open_stream(const char *path, const char *mode) {
    int flags = strchr(mode, '+') != NULL ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    if (*mode == 'w') flags |= O_CREAT | O_TRUNC;
    if (*mode == 'a') flags |= O_CREAT | O_APPEND;
    if (strchr(mode, 'x') != NULL) flags |= O_EXCL;
    if (strchr(mode, 'e') != NULL) flags |= O_CLOEXEC;
    int file = open_at(AT_FDCWD, path, flags, 0666);
    if (file < 0) return NULL;
    // The stream closes the descriptor unseen; its reads and writes are the library's own.
    watch(file, false);
    return fdopen(file, mode);
}
FILE *fopen(const char *path, const char *mode) { return open_stream(path, mode); }
FILE *fopen64(const char *path, const char *mode) { return open_stream(path, mode); }

int close(int file) {
    bool is = is_watched(file);
    bool fail = is && fails(FAULT_CLOSE, file);
    int number = errno;
    watch(file, false);
    int result = (int)syscall(SYS_close, file);
    // As Linux does it: the descriptor is gone, whatever the call says.
    if (!fail) return result;
    errno = number;
    return -1;
}

static int duplicated(int from, int file) {
    watch(file, is_watched(from));
    return file;
}
int dup(int file) { return duplicated(file, (int)syscall(SYS_dup, file)); }
int dup3(int from, int to, int flags) { return duplicated(from, (int)syscall(SYS_dup3, from, to, flags)); }
int dup2(int from, int to) { return from == to ? from : dup3(from, to, 0); }

// MARK: - Reading and writing

struct part {
    bool writes;
    int file;
    void *bytes;
    size_t count;
    /// -1: where the file stands.
    off_t offset;
};

static ssize_t transfer(struct part *part, size_t count) {
    bool notes = part->writes && fault_plays_power() && is_watched(part->file);
    if (notes) {
        power_begin();
        off_t offset = part->offset;
        int flags = (int)syscall(SYS_fcntl, part->file, F_GETFL, 0);
        if (flags & O_APPEND) offset = syscall(SYS_lseek, part->file, 0, SEEK_END);
        else if (offset < 0) offset = syscall(SYS_lseek, part->file, 0, SEEK_CUR);
        power_note_write(part->file, offset, count);
    }
    ssize_t result =
        part->offset < 0 ? syscall(part->writes ? SYS_write : SYS_read, part->file, part->bytes, count)
                         : syscall(part->writes ? SYS_pwrite64 : SYS_pread64, part->file, part->bytes, count, part->offset);
    if (notes) power_end();
    return result;
}

static void transfer_before_kill(void *part, bool is_whole) {
    transfer(part, ((struct part *)part)->count / (is_whole ? 1 : 2));
}

static ssize_t transferred(struct part part) {
    size_t count = part.count;
    if (is_watched(part.file)) {
        char path[PATHS];
        switch (fault_count(
            part.writes ? FAULT_WRITE : FAULT_READ, path_of(part.file, path), part.writes ? transfer_before_kill : NULL,
            &part)) {
        case FAULT_FAIL: return -1;
        case FAULT_SHORT: count = count > 1 ? count / 2 : count;
        case FAULT_NONE: break;
        }
    }
    return transfer(&part, count);
}

ssize_t read(int file, void *bytes, size_t count) { return transferred((struct part){false, file, bytes, count, -1}); }
ssize_t write(int file, const void *bytes, size_t count) {
    return transferred((struct part){true, file, (void *)bytes, count, -1});
}
ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    return transferred((struct part){false, file, bytes, count, offset});
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return transferred((struct part){true, file, (void *)bytes, count, offset});
}
ssize_t pread64(int file, void *bytes, size_t count, off_t offset) { return pread(file, bytes, count, offset); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) { return pwrite(file, bytes, count, offset); }

/// Several parts in turn, each a call as far as counting goes; a short one ends it, as the kernel may.
static ssize_t vectored(bool writes, int file, const struct iovec *parts, int number, off_t offset) {
    ssize_t done = 0;
    for (int index = 0; index < number; index++) {
        struct part part = {writes, file, parts[index].iov_base, parts[index].iov_len, offset < 0 ? -1 : offset + done};
        if (part.count == 0) continue;
        ssize_t count = transferred(part);
        if (count < 0) return done > 0 ? done : -1;
        done += count;
        if ((size_t)count < part.count) break;
    }
    return done;
}
ssize_t readv(int file, const struct iovec *parts, int number) { return vectored(false, file, parts, number, -1); }
ssize_t writev(int file, const struct iovec *parts, int number) { return vectored(true, file, parts, number, -1); }
ssize_t preadv(int file, const struct iovec *parts, int number, off_t offset) {
    return vectored(false, file, parts, number, offset);
}
ssize_t pwritev(int file, const struct iovec *parts, int number, off_t offset) {
    return vectored(true, file, parts, number, offset);
}

void *mmap(void *place, size_t count, int protection, int flags, int file, off_t offset) {
    if (!(flags & MAP_ANONYMOUS) && is_watched(file) && fails(FAULT_MMAP, file)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, place, count, protection, flags, file, offset);
}
void *mmap64(void *place, size_t count, int protection, int flags, int file, off_t offset) {
    return mmap(place, count, protection, flags, file, offset);
}

// MARK: - Copies within the kernel

/// Copies that the kernel makes are writes of the target.
#define COPIES(target, offset, count, call)                                 \
    if (is_watched(target)) {                                               \
        if (fails(FAULT_CLONE, target)) return -1;                          \
        if (fault_plays_power()) {                                          \
            power_begin();                                                  \
            off_t place = (offset);                                         \
            if (place < 0) place = syscall(SYS_lseek, target, 0, SEEK_CUR); \
            power_note_write(target, place, count);                         \
            ssize_t result = call;                                          \
            power_end();                                                    \
            return result;                                                  \
        }                                                                   \
    }                                                                       \
    return call;

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t count, unsigned flags) {
    COPIES(to, to_offset == NULL ? -1 : *to_offset, count < (1u << 30) ? count : 1u << 30,
           syscall(SYS_copy_file_range, from, from_offset, to, to_offset, count, flags))
}
ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    COPIES(to, -1, count < (1u << 30) ? count : 1u << 30, syscall(SYS_sendfile, to, from, offset, count))
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) { return sendfile(to, from, offset, count); }

static int clone_blocks(int to, unsigned long request, void *argument) {
    struct stat status;
    off_t size = syscall(SYS_newfstatat, (int)(long)argument, "", &status, AT_EMPTY_PATH) == 0 ? status.st_size : 0;
    COPIES(to, 0, (size_t)size, (int)syscall(SYS_ioctl, to, request, argument))
}
int ioctl(int file, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    // FICLONE of linux/fs.h.
    if (request == 0x40049409ul) return clone_blocks(file, request, argument);
    return (int)syscall(SYS_ioctl, file, request, argument);
}

// MARK: - Making durable

static int synced(long call, int file) {
    if (is_watched(file)) {
        if (fails(FAULT_SYNC, file)) return -1;
        if (fault_plays_power()) {
            power_begin();
            // The kernel need not be bothered: the disk that fails is the one that is played.
            power_synced(file);
            power_end();
            return 0;
        }
    }
    return (int)syscall(call, file);
}
int syncfs(int file) {
    if (is_watched(file)) {
        if (fails(FAULT_SYNC, file)) return -1;
        if (fault_plays_power()) {
            power_begin();
            power_all_synced();
            power_end();
            return 0;
        }
    }
    return (int)syscall(SYS_syncfs, file);
}
int fsync(int file) { return synced(SYS_fsync, file); }
int fdatasync(int file) { return synced(SYS_fdatasync, file); }
int sync_file_range(int file, off64_t offset, off64_t count, unsigned flags) {
    // Makes nothing durable.
    if (is_watched(file) && fails(FAULT_SYNC, file)) return -1;
    return (int)syscall(SYS_sync_file_range, file, offset, count, flags);
}

// MARK: - Sizes

#define RESIZES(file, size, call)                \
    if (is_watched(file)) {                      \
        if (fails(FAULT_TRUNCATE, file)) return -1; \
        if (fault_plays_power()) {               \
            power_begin();                       \
            power_note_truncate(file, size);     \
            int result = call;                   \
            power_end();                         \
            return result;                       \
        }                                        \
    }                                            \
    return call;

int ftruncate(int file, off_t size) { RESIZES(file, size, (int)syscall(SYS_ftruncate, file, size)) }
int ftruncate64(int file, off_t size) { return ftruncate(file, size); }
int fallocate(int file, int mode, off_t offset, off_t count) {
    // A hole is no matter of durability here: what is punched is not read again.
    if (is_watched(file) && fails(FAULT_TRUNCATE, file)) return -1;
    return (int)syscall(SYS_fallocate, file, mode, offset, count);
}
int fallocate64(int file, int mode, off64_t offset, off64_t count) { return fallocate(file, mode, offset, count); }
int posix_fallocate(int file, off_t offset, off_t count) {
    return fallocate(file, 0, offset, count) == 0 ? 0 : errno;
}
int posix_fallocate64(int file, off64_t offset, off64_t count) { return posix_fallocate(file, offset, count); }

// MARK: - Names

static int renamed(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char source[PATHS], target[PATHS];
    bool is = fault_watches(from_folder, from, source);
    is = fault_watches(to_folder, to, target) || is;
    if (is && fails_at(FAULT_RENAME, target)) return -1;
    if (!is || !fault_plays_power()) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    power_begin();
    power_note_rename(source, target);
    int result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (result != 0) power_forget();
    power_end();
    return result;
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return renamed(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return renamed(from_folder, from, to_folder, to, flags);
}

static int linked(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char target[PATHS];
    bool is = fault_watches(to_folder, to, target);
    if (is && fails_at(FAULT_LINK, target)) return -1;
    bool notes = is && fault_plays_power();
    if (notes) power_begin();
    int result = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (notes) {
        if (result == 0) power_note_link(target);
        power_end();
    }
    return result;
}
int link(const char *from, const char *to) { return linked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return linked(from_folder, from, to_folder, to, flags);
}

static int unlinked(int folder, const char *path, int flags) {
    char absolute[PATHS];
    bool is = fault_watches(folder, path, absolute);
    if (is && fails_at(FAULT_UNLINK, absolute)) return -1;
    bool notes = is && fault_plays_power();
    if (notes) {
        power_begin();
        if (!(flags & AT_REMOVEDIR)) power_note_unlink(absolute);
    }
    int result = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (notes) {
        if (result != 0 && !(flags & AT_REMOVEDIR)) power_forget();
        if (result == 0 && flags & AT_REMOVEDIR) power_note_rmdir(absolute);
        power_end();
    }
    return result;
}
int unlink(const char *path) { return unlinked(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return unlinked(folder, path, flags); }
int rmdir(const char *path) { return unlinked(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
    struct stat status;
    bool is_folder = syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
    return unlinked(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}

static int made(int folder, const char *path, mode_t mode) {
    char absolute[PATHS];
    bool is = fault_watches(folder, path, absolute);
    if (is && fails_at(FAULT_MKDIR, absolute)) return -1;
    bool notes = is && fault_plays_power();
    if (notes) power_begin();
    int result = (int)syscall(SYS_mkdirat, folder, path, mode);
    if (notes) {
        if (result == 0) power_note_mkdir(absolute);
        power_end();
    }
    return result;
}
int mkdir(const char *path, mode_t mode) { return made(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return made(folder, path, mode); }

// MARK: - Locks

int flock(int file, int operation) {
    if (is_watched(file) && fails(FAULT_LOCK, file)) return -1;
    return (int)syscall(SYS_flock, file, operation);
}
static int controlled(int file, int command, void *argument) {
    bool locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    if (locks && is_watched(file) && fails(FAULT_LOCK, file)) return -1;
    int result = (int)syscall(SYS_fcntl, file, command, argument);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicated(file, result) : result;
}
#define CONTROLS(name)                              \
    int name(int file, int command, ...) {          \
        va_list arguments;                          \
        va_start(arguments, command);               \
        void *argument = va_arg(arguments, void *); \
        va_end(arguments);                          \
        return controlled(file, command, argument); \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

// MARK: - What a file is

static int status_at(int folder, const char *path, struct stat *status, int flags) {
    char absolute[PATHS];
    if (path != NULL && *path == 0 && is_watched(folder) && fails(FAULT_STAT, folder)) return -1;
    if (path != NULL && *path != 0 && fault_watches(folder, path, absolute) && fails_at(FAULT_STAT, absolute)) return -1;
    return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
int stat(const char *restrict path, struct stat *restrict status) { return status_at(AT_FDCWD, path, status, 0); }
int lstat(const char *restrict path, struct stat *restrict status) {
    return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat *status) { return status_at(file, "", status, AT_EMPTY_PATH); }
int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags) {
    return status_at(folder, path, status, flags);
}
// One layout on 64-bit systems.
int stat64(const char *restrict path, struct stat64 *restrict status) { return stat(path, (struct stat *)status); }
int lstat64(const char *restrict path, struct stat64 *restrict status) { return lstat(path, (struct stat *)status); }
int fstat64(int file, struct stat64 *status) { return fstat(file, (struct stat *)status); }
int fstatat64(int folder, const char *restrict path, struct stat64 *restrict status, int flags) {
    return fstatat(folder, path, (struct stat *)status, flags);
}
int access(const char *path, int mode) {
    char absolute[PATHS];
    if (fault_watches(AT_FDCWD, path, absolute) && fails_at(FAULT_STAT, absolute)) return -1;
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

// MARK: - Time

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result != 0 || clock != CLOCK_BOOTTIME) return result;
    long passed = fault_clock();
    time->tv_sec += passed / 1000;
    time->tv_nsec += passed % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
        time->tv_sec += 1;
        time->tv_nsec -= 1000000000;
    }
    return result;
}
