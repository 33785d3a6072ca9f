#pragma once
#include <stdint.h>

/// The call of user code that a thread is in. Its texts stay until the note is cleared.
struct crash_note {
    /// The class, or the function; NULL outside user code.
    const char *_Nullable code;
    /// The class's method; NULL for a function.
    const char *_Nullable method;
    /// The entity mapping; NULL if the call is for none.
    const char *_Nullable mapping;
    /// The entity of the object; NULL if the call is not for one.
    const char *_Nullable entity;
    int64_t key;
    /// The first failure that was recorded during the call, which ends the run when the call returns; NULL if there is none.
    const char *_Nullable failure;
};

/// Returns the calling thread's note.
struct crash_note *_Nonnull crash_note_of_thread(void);

/// Clears the calling thread's note, so that its texts may be freed.
void crash_note_clear(void);

/// Lets a crash of this process print one line that names the user code, before the process ends by the signal. A call of exit()
/// by user code prints such a line too, and ends the process with exit_code.
///
/// descriptor: where the line goes. advice: the end of the line. outside: the end of the line of a crash outside user code.
/// chains: whether handlers from before, such as that of Swift's backtraces, run afterwards. Both texts stay for good.
void crash_note_install(
    int descriptor, const char *_Nonnull advice, const char *_Nonnull outside, int exit_code, _Bool chains);
