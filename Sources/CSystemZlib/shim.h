// inflateInit2 and deflateInit2 are macros that pass the struct's size, so Swift cannot import
// them.
#ifndef PUSHER_CSYSTEM_ZLIB_SHIM_H
#define PUSHER_CSYSTEM_ZLIB_SHIM_H

#include <zlib.h>

static inline int pusher_inflateInit2(z_stream *stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}

static inline int pusher_deflateInit2(z_stream *stream, int level, int windowBits, int memLevel) {
  return deflateInit2(stream, level, Z_DEFLATED, windowBits, memLevel, Z_DEFAULT_STRATEGY);
}

#endif
