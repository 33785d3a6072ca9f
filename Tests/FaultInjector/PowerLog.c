#define _GNU_SOURCE
#include "PowerLog.h"
#include "FaultPlan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum change { WROTE, TRUNCATED, CREATED, LINKED, UNLINKED, RENAMED, MADE, REMOVED };

struct identity {
    dev_t device;
    ino_t inode;
};

struct entry {
    enum change change;
    int durable;
    /// The file whose bytes change, or the folder that the name is in; for a rename also the other folder.
    struct identity of, also;
    /// The number of the link in the stash: to the file whose bytes change, or to what a name stood for. 0: none.
    unsigned stash;
    char *path, *other;
    off_t offset, size_before, size_after;
    size_t count, count_after;
    char *before, *after;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct entry *entries;
static size_t used, room;
static unsigned next_stash = 1;

static struct known { struct identity of; unsigned stash; } *files;
static size_t files_used, files_room;

void power_begin(void) { pthread_mutex_lock(&lock); }
void power_end(void) {
    int number = errno;
    pthread_mutex_unlock(&lock);
    errno = number;
}

// Every call here is the kernel's own: nothing is counted, nothing is noted.
static int plain_open(const char *path, int flags) { return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0); }
static void plain_close(int file) { syscall(SYS_close, file); }
static int plain_link(const char *from, const char *to, int flags) {
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, flags);
}
static void plain_unlink(const char *path) { syscall(SYS_unlinkat, AT_FDCWD, path, 0); }
static void plain_rename(const char *from, const char *to) { syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); }

static int same(struct identity one, struct identity other) {
    return one.device == other.device && one.inode == other.inode;
}

static int status_of(int file, struct stat *status) { return (int)syscall(SYS_newfstatat, file, "", status, AT_EMPTY_PATH); }

static char *stash_path(unsigned number, char path[4096]) {
    snprintf(path, 4096, "%s/%u", fault_stash(), number);
    return path;
}

/// The folder that a path is in.
static struct identity folder_of(const char *path) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) slash[slash == folder] = 0;
    struct stat status;
    struct identity result = {0, 0};
    if (syscall(SYS_newfstatat, AT_FDCWD, folder, &status, 0) == 0)
        result = (struct identity){status.st_dev, status.st_ino};
    return result;
}

static struct entry *add(enum change change) {
    if (used == room) {
        room = room == 0 ? 1024 : room * 2;
        entries = realloc(entries, room * sizeof *entries);
        if (entries == NULL) abort();
    }
    struct entry *entry = &entries[used++];
    memset(entry, 0, sizeof *entry);
    entry->change = change;
    return entry;
}

static unsigned stash_file(int file, struct identity of) {
    for (size_t index = 0; index < files_used; index++)
        if (same(files[index].of, of)) return files[index].stash;
    char from[64], to[4096];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file);
    // A file without a name is gone after a crash in any case.
    if (plain_link(from, stash_path(next_stash, to), AT_SYMLINK_FOLLOW) != 0) return 0;
    if (files_used == files_room) {
        files_room = files_room == 0 ? 64 : files_room * 2;
        files = realloc(files, files_room * sizeof *files);
        if (files == NULL) abort();
    }
    files[files_used++] = (struct known){of, next_stash};
    return next_stash++;
}

static unsigned stash_name(const char *path) {
    char to[4096];
    return plain_link(path, stash_path(next_stash, to), 0) == 0 ? next_stash++ : 0;
}

/// Reads bytes of a file; fewer at its end.
static size_t take(int file, off_t offset, size_t count, char **bytes) {
    *bytes = malloc(count == 0 ? 1 : count);
    if (*bytes == NULL) abort();
    size_t done = 0;
    while (done < count) {
        long got = syscall(SYS_pread64, file, *bytes + done, count - done, offset + (off_t)done);
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

static void put(int file, off_t offset, const char *bytes, size_t count) {
    size_t done = 0;
    while (done < count) {
        long written = syscall(SYS_pwrite64, file, bytes + done, count - done, offset + (off_t)done);
        if (written <= 0) return;
        done += (size_t)written;
    }
}

static void note_bytes(enum change change, int file, off_t offset, size_t count) {
    struct stat status;
    if (status_of(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0) return;
    struct identity of = {status.st_dev, status.st_ino};
    unsigned stash = stash_file(file, of);
    if (stash == 0) return;
    struct entry *entry = add(change);
    entry->of = of;
    entry->stash = stash;
    entry->offset = offset;
    entry->size_before = status.st_size;
    // The descriptor may be for writing only.
    char path[4096];
    int reader = plain_open(stash_path(stash, path), O_RDONLY);
    if (reader < 0) abort();
    size_t end = offset < status.st_size ? (size_t)(status.st_size - offset) : 0;
    entry->count = take(reader, offset, count < end ? count : end, &entry->before);
    // The bytes that the write itself covers, for the time after it.
    entry->count_after = count;
    plain_close(reader);
}

void power_note_write(int file, off_t offset, size_t count) { note_bytes(WROTE, file, offset, count); }

void power_note_truncate(int file, off_t size) { note_bytes(TRUNCATED, file, size, (size_t)1 << 40); }

static struct entry *note_name(enum change change, const char *path) {
    struct entry *entry = add(change);
    entry->path = strdup(path);
    entry->of = entry->also = folder_of(path);
    return entry;
}

void power_note_create(const char *path) { note_name(CREATED, path); }
void power_note_link(const char *path) { note_name(LINKED, path); }
void power_note_mkdir(const char *path) { note_name(MADE, path); }
void power_note_rmdir(const char *path) { note_name(REMOVED, path); }

void power_note_unlink(const char *path) {
    unsigned stash = stash_name(path);
    note_name(UNLINKED, path)->stash = stash;
}

void power_note_rename(const char *from, const char *to) {
    unsigned stash = stash_name(to);
    struct entry *entry = note_name(RENAMED, from);
    entry->other = strdup(to);
    entry->also = folder_of(to);
    entry->stash = stash;
}

void power_forget(void) {
    struct entry *entry = &entries[--used];
    free(entry->path);
    free(entry->other);
    free(entry->before);
}

static void settle(struct entry *entry) {
    entry->durable = 1;
    free(entry->before);
    entry->before = NULL;
}

void power_all_synced(void) {
    for (size_t index = 0; index < used; index++) settle(&entries[index]);
}

void power_synced(int file) {
    struct stat status;
    if (status_of(file, &status) != 0) return;
    struct identity of = {status.st_dev, status.st_ino};
    int is_folder = S_ISDIR(status.st_mode);
    for (size_t index = 0; index < used; index++) {
        struct entry *entry = &entries[index];
        int is_bytes = entry->change == WROTE || entry->change == TRUNCATED;
        if (entry->durable || is_bytes == is_folder) continue;
        if (!same(entry->of, of) && !same(entry->also, of)) continue;
        settle(entry);
    }
}

static unsigned long state;
static unsigned long chance(unsigned long below) {
    state += 0x9E3779B97F4A7C15ul;
    unsigned long mixed = state;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ul;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBul;
    return below == 0 ? 0 : (mixed ^ mixed >> 31) % below;
}

static void undo(struct entry *entry) {
    char path[4096];
    int file;
    struct stat status;
    switch (entry->change) {
    case WROTE:
    case TRUNCATED:
        file = plain_open(stash_path(entry->stash, path), O_RDWR);
        if (file < 0 || status_of(file, &status) != 0) return;
        entry->size_after = status.st_size;
        if (entry->change == WROTE) entry->count_after = take(file, entry->offset, entry->count_after, &entry->after);
        syscall(SYS_ftruncate, file, entry->size_before);
        put(file, entry->offset, entry->before, entry->count);
        plain_close(file);
        return;
    case CREATED:
    case LINKED:
        entry->stash = stash_name(entry->path);
        plain_unlink(entry->path);
        return;
    case UNLINKED: plain_link(stash_path(entry->stash, path), entry->path, 0); return;
    case RENAMED:
        plain_rename(entry->other, entry->path);
        if (entry->stash != 0) plain_link(stash_path(entry->stash, path), entry->other, 0);
        return;
    case MADE:
        entry->stash = next_stash++;
        plain_rename(entry->path, stash_path(entry->stash, path));
        return;
    case REMOVED: syscall(SYS_mkdirat, AT_FDCWD, entry->path, 0755); return;
    }
}

static void redo(struct entry *entry, int tears) {
    char path[4096];
    int file;
    struct stat status;
    switch (entry->change) {
    case WROTE:
    case TRUNCATED:
        file = plain_open(stash_path(entry->stash, path), O_RDWR);
        if (file < 0) return;
        if (entry->change == TRUNCATED) {
            syscall(SYS_ftruncate, file, entry->size_after);
        } else {
            size_t count = entry->count_after;
            if (tears) count = chance(count / 512 + 1) * 512;
            if (status_of(file, &status) == 0) put(file, entry->offset, entry->after, count);
        }
        plain_close(file);
        return;
    case CREATED:
    case LINKED:
        if (entry->stash != 0) plain_link(stash_path(entry->stash, path), entry->path, 0);
        return;
    case UNLINKED: plain_unlink(entry->path); return;
    case RENAMED: plain_rename(entry->path, entry->other); return;
    case MADE: plain_rename(stash_path(entry->stash, path), entry->path); return;
    case REMOVED: syscall(SYS_unlinkat, AT_FDCWD, entry->path, AT_REMOVEDIR); return;
    }
}

void power_fail(void) {
    power_begin();
    size_t names = 0;
    for (size_t index = used; index-- > 0;) {
        if (entries[index].durable) continue;
        undo(&entries[index]);
        if (entries[index].change != WROTE && entries[index].change != TRUNCATED) names++;
    }
    state = fault_seed();
    if (state == 0) return;
    // Half the time the folders are brought up to date and the bytes are not, or the other way round.
    size_t kept_names = chance(3) == 0 ? names : chance(names + 1);
    unsigned long one_in = chance(4) == 0 ? 0 : 1 + chance(3);
    size_t last = used;
    char *keeps = calloc(used + 1, 1);
    if (keeps == NULL) abort();
    for (size_t index = 0; index < used; index++) {
        if (entries[index].durable) continue;
        if (entries[index].change == WROTE || entries[index].change == TRUNCATED) {
            keeps[index] = one_in > 0 && chance(one_in + 1) != 0;
            if (keeps[index] && entries[index].change == WROTE) last = index;
        } else if (kept_names > 0) {
            kept_names--;
            keeps[index] = 1;
        }
    }
    for (size_t index = 0; index < used; index++)
        if (keeps[index]) redo(&entries[index], index == last);
}
