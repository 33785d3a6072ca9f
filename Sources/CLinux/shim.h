// Calls of glibc that the toolchain's Glibc module does not show: malloc's tunables, holes in files, and a file
// system's sync.
#include <malloc.h>

int fallocate64(int descriptor, int mode, long offset, long length);
int syncfs(int descriptor);
