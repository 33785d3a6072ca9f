// A log of what would not survive a power failure: changes of files and folders that no sync has made durable.
//
// The model is a journaling file system's at its meanest: a file's bytes are durable once the file is synced, a name once
// its folder is. What is not durable may be lost: bytes in any choice of writes, the last of those that survive torn at a
// sector; names from some moment on, in the order they were made.
#pragma once

#include <sys/types.h>

/// Holds the log, from noting a change to having made it; calls nest.
void power_begin(void);
void power_end(void);

/// Notes that bytes of an open file are about to be written.
void power_note_write(int file, off_t offset, size_t count);
/// Notes that an open file is about to get another size.
void power_note_truncate(int file, off_t size);
/// Notes that names are about to change. Relative paths must be made absolute before.
void power_note_create(const char *path);
void power_note_link(const char *path);
void power_note_unlink(const char *path);
void power_note_rename(const char *from, const char *to);
void power_note_mkdir(const char *path);
void power_note_rmdir(const char *path);
/// The last noted change did not happen.
void power_forget(void);
/// A file or folder was synced.
void power_synced(int file);
/// The whole file system was synced.
void power_all_synced(void);

/// Puts the files into the state after a power failure. Returns with the log held.
void power_fail(void);
