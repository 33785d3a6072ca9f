// Calls of glibc that the toolchain's Glibc module does not show: malloc's tunables, and holes in files.
#include <malloc.h>

int fallocate64(int descriptor, int mode, long offset, long length);
