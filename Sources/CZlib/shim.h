#pragma once
#include <zlib.h>

// deflateInit2 is a macro, which Swift does not see. The negative window makes raw deflate, without a header or a checksum.
static inline int cz_raw_deflate_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
}

static inline int cz_gzip_inflate_init(z_stream *stream) {
    return inflateInit2(stream, 31);
}
