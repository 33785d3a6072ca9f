// Calls of glibc that the toolchain's Glibc module does not show: malloc's tunables, holes in files, a file
// system's sync, pipes that no program inherits, and the end of a parent.
#include <malloc.h>
#include <sys/prctl.h>

int fallocate64(int descriptor, int mode, long offset, long length);
int syncfs(int descriptor);
int pipe2(int ends[2], int flags);

/// Lets the calling process get a signal when the thread that started it ends. prctl takes any number of arguments, which
/// Swift cannot call.
static inline int signal_at_end_of_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }
