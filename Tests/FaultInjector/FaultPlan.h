// The planned fault, read from the environment, and the counting of calls.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// Kinds of calls. A plan names some of them; calls of those are counted, and one of them is the one that fails.
enum fault_kind {
    FAULT_OPEN = 1 << 0,      // open, openat, creat, fopen
    FAULT_CREATE = 1 << 1,    // those that may make a file
    FAULT_READ = 1 << 2,      // read, pread, readv, preadv
    FAULT_WRITE = 1 << 3,     // write, pwrite, writev, pwritev
    FAULT_SYNC = 1 << 4,      // fsync, fdatasync, sync_file_range
    FAULT_RENAME = 1 << 5,    // rename, renameat, renameat2
    FAULT_TRUNCATE = 1 << 6,  // ftruncate, truncate, fallocate
    FAULT_UNLINK = 1 << 7,    // unlink, unlinkat, remove, rmdir
    FAULT_LINK = 1 << 8,      // link, linkat
    FAULT_CLONE = 1 << 9,     // ioctl(FICLONE), copy_file_range, sendfile
    FAULT_MMAP = 1 << 10,     // mmap of a file
    FAULT_LOCK = 1 << 11,     // flock, fcntl's locks
    FAULT_MKDIR = 1 << 12,    // mkdir, mkdirat
    FAULT_STAT = 1 << 13,     // stat and its like, access
    FAULT_CLOSE = 1 << 14,    // close
    FAULT_KINDS = 15,
};

/// The effect of a watched call.
enum fault_action { FAULT_NONE, FAULT_FAIL, FAULT_SHORT };

/// Counts a call on a watched file; kills the process where the plan says so.
///
/// - kinds: what the call is, one or two bits.
/// - path: of the file, for the report.
/// - writes: for a write before a kill: writes all bytes or the first half; may be null.
/// Returns what the call is to do; for FAULT_FAIL `errno` is set.
enum fault_action fault_count(unsigned kinds, const char *path, void (*writes)(void *, bool), void *context);

/// Tells whether a path belongs to the watched folders. A relative path starts at `directory`, a descriptor.
bool fault_watches(int directory, const char *path, char absolute[4096]);

/// Tells whether a power failure is to be played. Every change is then recorded.
bool fault_plays_power(void);

/// The folder for what a power failure may have to put back; in the file system of the watched ones.
const char *fault_stash(void);

/// The milliseconds that have passed beside the real ones, those of this call included.
long fault_clock(void);

/// The seed of what a power failure keeps.
unsigned long fault_seed(void);

/// Kills the process.
void fault_die(void) __attribute__((noreturn));
