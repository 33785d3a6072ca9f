// The plan comes by the environment:
//
//     FAULT_ROOTS   folders, separated by colons; calls on other files are passed on
//     FAULT_KINDS   kinds that count, separated by commas: all, open, create, read, write, sync, rename, truncate, unlink,
//                   link, clone, mmap, lock, mkdir, stat, close, space for all that takes
//                   disk, and disk for all but stat and lock
//     FAULT_NAME    a part of the names of the files that count; absent: all files
//     FAULT_AT      the number of the call that fails, from 1; 0 or absent: none, calls are only counted
//     FAULT_TIMES   how many calls fail from there on; 0: all
//     FAULT_DO      EIO, ENOSPC, EDQUOT, EINTR, another error's number; short; kill; torn (half of a write, then kill);
//                   written (a write, then kill);
//                   power (what was not synced is put back, then kill)
//     FAULT_WAIT    milliseconds from the call at which the process is killed to the kill. Other threads go on meanwhile.
//     FAULT_SEED    for power: what survives. 0: nothing that was not synced
//     FAULT_STASH   for power: a folder
//     FAULT_CLOCK   milliseconds that pass, beside the real ones, whenever the time since the machine's start is read
//                   (CLOCK_BOOTTIME): Swift's ContinuousClock. 0 or absent: none
//     FAULT_REPORT  a file: a line for the first call that failed, and at the end one with all counts
#define _GNU_SOURCE
#include "FaultPlan.h"
#include "PowerLog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "FaultInjector.h"

static const char *const names[FAULT_KINDS] = {"open",   "create", "read",  "write", "sync", "rename", "truncate", "unlink",
                                               "link",   "clone",  "mmap",  "lock",  "mkdir", "stat",  "close"};

enum deed { DEED_ERROR, DEED_SHORT, DEED_KILL, DEED_TORN, DEED_WRITTEN, DEED_POWER };

static struct {
    const char *roots, *stash, *report, *name;
    unsigned mask;
    long at, times, clock, wait;
    unsigned long seed;
    enum deed deed;
    int error;
} plan;

static atomic_ulong counts[FAULT_KINDS];
static atomic_ulong all;
static atomic_ulong matching;
static atomic_bool fired;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text == NULL || *text == 0 ? otherwise : atol(text);
}

static int error_number(const char *name) {
    static const struct { const char *name; int number; } known[] = {
        {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR}, {"EROFS", EROFS}, {"EMFILE", EMFILE}};
    for (size_t index = 0; index < sizeof known / sizeof *known; index++)
        if (strcmp(name, known[index].name) == 0) return known[index].number;
    return atoi(name);
}

static void read_plan(void) {
    plan.roots = getenv("FAULT_ROOTS");
    plan.stash = getenv("FAULT_STASH");
    plan.report = getenv("FAULT_REPORT");
    plan.name = getenv("FAULT_NAME");
    plan.at = number("FAULT_AT", 0);
    plan.clock = number("FAULT_CLOCK", 0);
    plan.times = number("FAULT_TIMES", 1);
    plan.wait = number("FAULT_WAIT", 0);
    plan.seed = (unsigned long)number("FAULT_SEED", 0);
    const char *deed = getenv("FAULT_DO");
    if (deed == NULL) deed = "EIO";
    plan.deed = strcmp(deed, "short") == 0     ? DEED_SHORT
                : strcmp(deed, "kill") == 0    ? DEED_KILL
                : strcmp(deed, "torn") == 0    ? DEED_TORN
                : strcmp(deed, "written") == 0 ? DEED_WRITTEN
                : strcmp(deed, "power") == 0   ? DEED_POWER
                                               : DEED_ERROR;
    plan.error = plan.deed == DEED_ERROR ? error_number(deed) : 0;
    const char *kinds = getenv("FAULT_KINDS");
    char copy[256];
    snprintf(copy, sizeof copy, "%s", kinds == NULL ? "all" : kinds);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "all") == 0) plan.mask |= (1u << FAULT_KINDS) - 1;
        if (strcmp(word, "disk") == 0) plan.mask |= ((1u << FAULT_KINDS) - 1) & ~(FAULT_STAT | FAULT_LOCK);
        if (strcmp(word, "space") == 0)
            plan.mask |= FAULT_CREATE | FAULT_WRITE | FAULT_MKDIR | FAULT_LINK | FAULT_CLONE | FAULT_TRUNCATE;
        for (int kind = 0; kind < FAULT_KINDS; kind++)
            if (strcmp(word, names[kind]) == 0) plan.mask |= 1u << kind;
    }
}

static void prepare(void) { pthread_once(&once, read_plan); }

static void report(const char *format, ...) {
    if (plan.report == NULL) return;
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    if ((size_t)length >= sizeof line) length = sizeof line - 1;
    int file = (int)syscall(SYS_openat, AT_FDCWD, plan.report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    syscall(SYS_write, file, line, (size_t)length);
    syscall(SYS_close, file);
}

long fault_clock(void) {
    static atomic_long passed;
    prepare();
    return plan.clock > 0 ? atomic_fetch_add(&passed, plan.clock) + plan.clock : 0;
}

/// Tells whether calls on a file count, by the last part of its path.
static bool is_named(const char *path) {
    if (plan.name == NULL) return true;
    const char *name = strrchr(path, '/');
    return strstr(name == NULL ? path : name, plan.name) != NULL;
}

unsigned long fault_calls(void) { return atomic_load(&all); }
bool fault_plays_power(void) { prepare(); return plan.deed == DEED_POWER && plan.stash != NULL; }
const char *fault_stash(void) { return plan.stash; }
unsigned long fault_seed(void) { return plan.seed; }

void fault_die(void) {
    if (plan.wait > 0) usleep((useconds_t)(plan.wait * 1000));
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

enum fault_action fault_count(unsigned kinds, const char *path, void (*writes)(void *, bool), void *context) {
    prepare();
    atomic_fetch_add(&all, 1);
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        if (kinds & 1u << kind) atomic_fetch_add(&counts[kind], 1);
    if (!(kinds & plan.mask) || !is_named(path)) return FAULT_NONE;
    long call = (long)atomic_fetch_add(&matching, 1) + 1;
    if (plan.at <= 0 || call < plan.at || (plan.times > 0 && call >= plan.at + plan.times)) return FAULT_NONE;
    if (!atomic_exchange(&fired, true)) {
        int kind = 0;
        while (kind < FAULT_KINDS - 1 && !(kinds & plan.mask & 1u << kind)) kind++;
        report("fired %ld %s %s\n", call, names[kind], path);
    }
    switch (plan.deed) {
    case DEED_KILL: fault_die();
    case DEED_TORN:
    case DEED_WRITTEN:
        if (writes != NULL) writes(context, plan.deed == DEED_WRITTEN);
        fault_die();
    case DEED_POWER:
        power_fail();
        fault_die();
    case DEED_SHORT: return FAULT_SHORT;
    case DEED_ERROR:
        errno = plan.error;
        return FAULT_FAIL;
    }
    return FAULT_NONE;
}

bool fault_watches(int directory, const char *path, char absolute[4096]) {
    prepare();
    if (plan.roots == NULL || path == NULL || *path == 0) return false;
    absolute[0] = 0;
    if (*path != '/') {
        ssize_t length;
        if (directory == AT_FDCWD) {
            // The system call counts the closing zero.
            length = syscall(SYS_getcwd, absolute, 2048) - 1;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
            length = syscall(SYS_readlinkat, AT_FDCWD, link, absolute, 2048);
        }
        if (length <= 0) return false;
        absolute[length] = '/';
        absolute[length + 1] = 0;
    }
    // A path through a descriptor is one in the folder that it opened.
    int through = -1, length = 0;
    if (sscanf(path, "/proc/self/fd/%d%n", &through, &length) == 1 && (path[length] == '/' || path[length] == 0)) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", through);
        ssize_t told = syscall(SYS_readlinkat, AT_FDCWD, link, absolute, 2048);
        absolute[told < 0 ? 0 : told] = 0;
        path += length;
    }
    size_t used = strlen(absolute);
    snprintf(absolute + used, 4096 - used, "%s", path);
    for (const char *root = plan.roots; root != NULL && *root != 0;) {
        const char *end = strchr(root, ':');
        size_t length = end == NULL ? strlen(root) : (size_t)(end - root);
        if (strncmp(absolute, root, length) == 0 && (absolute[length] == '/' || absolute[length] == 0)) return true;
        root = end == NULL ? NULL : end + 1;
    }
    return false;
}

/// The peak of resident memory, in KiB, as the kernel counts it.
static long peak(void) {
    char text[4096];
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return -1;
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    if (length <= 0) return -1;
    text[length] = 0;
    const char *line = strstr(text, "VmHWM:");
    return line == NULL ? -1 : atol(line + 6);
}

__attribute__((destructor)) static void summarise(void) {
    prepare();
    if (plan.report == NULL) return;
    char line[1024];
    int used = snprintf(line, sizeof line, "counts all=%lu", atomic_load(&all));
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %s=%lu", names[kind], atomic_load(&counts[kind]));
    report("%s matching=%lu peak=%ld\n", line, atomic_load(&matching), peak());
}
