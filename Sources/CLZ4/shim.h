// LZ4 block compression.
#include <lz4.h>
