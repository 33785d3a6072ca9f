// Counts what a process allocates: preloaded, it comes before the C library's own functions, and at the end writes the
// number of calls to the file that ALLOCATION_COUNT names.
#include "AllocationCounter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong calls;

static void count(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

unsigned long allocation_count(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count();
    *block = __libc_memalign(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("ALLOCATION_COUNT");
    unsigned long number = allocation_count();
    if (path == NULL) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%lu", number);
    fclose(file);
}
