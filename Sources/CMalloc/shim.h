// glibc's malloc tunables, which the toolchain's Glibc module does not show.
#include <malloc.h>
