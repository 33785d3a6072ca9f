// A handler may only call functions that are safe in signals: no allocation, no formatting, no Swift.
#include "CrashNote.h"
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
static const char *const names[] = {"SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV"};
enum { count = sizeof numbers / sizeof *numbers };

static _Thread_local struct crash_note own;
// A stack overflow leaves no room for a handler on the stack itself.
static _Thread_local char spare[32 << 10];
static _Thread_local _Bool has_spare;
// The note that was asked for last: for a crash of a thread that user code started itself.
static struct crash_note *latest;

static struct sigaction earlier[count];
static _Bool is_installed, chains_on;
static int target, code_of_exit;
static const char *advice_in, *advice_outside;

static void take_spare(void) {
    if (has_spare) return;
    has_spare = 1;
    stack_t stack = {.ss_sp = spare, .ss_size = sizeof spare};
    sigaltstack(&stack, NULL);
}

struct crash_note *crash_note_of_thread(void) {
    if (is_installed) {
        take_spare();
        __atomic_store_n(&latest, &own, __ATOMIC_RELAXED);
    }
    return &own;
}

void crash_note_clear(void) {
    own = (struct crash_note){0};
    struct crash_note *mine = &own;
    __atomic_compare_exchange_n(&latest, &mine, NULL, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

struct line {
    char text[1024];
    size_t length;
};

static void add(struct line *line, const char *text) {
    if (!text) return;
    // One byte is kept for the line's end.
    for (; *text && line->length < sizeof line->text - 1; text++) {
        line->text[line->length++] = (unsigned char)*text < ' ' ? '?' : *text;
    }
}

static void add_number(struct line *line, int64_t number) {
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) digits[--at] = '-';
    add(line, digits + at);
}

// Adds the place of user code, and the failure that it did not live to see.
static void add_place(struct line *line, const struct crash_note *note) {
    add(line, note->code);
    if (note->method) add(line, "."), add(line, note->method);
    if (note->mapping) add(line, ", entity mapping "), add(line, note->mapping);
    if (note->entity) {
        add(line, ", object ");
        add(line, note->entity);
        add(line, "/p");
        add_number(line, note->key);
    }
    if (note->failure) add(line, ". Recorded before: "), add(line, note->failure);
}

static void print(struct line *line) {
    line->text[line->length++] = '\n';
    ssize_t written = write(target, line->text, line->length);
    (void)written;
}

// User code has called exit(): the run is not over, so it is no success.
static void on_exit_of_user_code(void) {
    if (!own.code) return;
    struct line line = {.length = 0};
    add(&line, "stagecoach: exit() was called in ");
    add_place(&line, &own);
    add(&line, ". A policy ends a run by throwing an error");
    add(&line, advice_in);
    fflush(NULL);
    print(&line);
    _exit(code_of_exit);
}

static void on_crash(int number, siginfo_t *info, void *context) {
    (void)context;
    int which = 0;
    while (which < count - 1 && numbers[which] != number) which++;
    const struct crash_note *note = &own;
    if (!note->code) note = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    struct line line = {.length = 0};
    add(&line, "stagecoach: ");
    add(&line, names[which]);
    if (note && note->code) {
        add(&line, " in ");
        add_place(&line, note);
        add(&line, advice_in);
    } else {
        add(&line, advice_outside);
    }
    print(&line);
    struct sigaction by_default;
    memset(&by_default, 0, sizeof by_default);
    by_default.sa_handler = SIG_DFL;
    sigaction(number, chains_on ? &earlier[which] : &by_default, NULL);
    // A faulting instruction is run again, and ends the process. A signal that was sent has to be sent again.
    if (info->si_code <= 0) raise(number);
}

void crash_note_install(int descriptor, const char *advice, const char *outside, int exit_code, _Bool chains) {
    target = descriptor;
    code_of_exit = exit_code;
    advice_in = advice;
    advice_outside = outside;
    chains_on = chains;
    is_installed = 1;
    atexit(on_exit_of_user_code);
    take_spare();
    for (int which = 0; which < count; which++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_crash;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        sigaction(numbers[which], &action, &earlier[which]);
    }
}
