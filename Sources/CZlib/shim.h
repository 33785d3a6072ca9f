// zlib, for the raw deflate streams of cached models. The init macros pass the library's version.
#ifndef STAGECOACH_CZLIB_SHIM_H
#define STAGECOACH_CZLIB_SHIM_H
#include <zlib.h>

static inline int stagecoach_inflate_init(z_stream *stream, int windowBits) {
    return inflateInit2(stream, windowBits);
}
static inline int stagecoach_deflate_init(z_stream *stream, int level, int windowBits) {
    return deflateInit2(stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
}
#endif
