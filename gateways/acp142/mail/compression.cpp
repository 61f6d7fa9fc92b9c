// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/compression.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "s5066d/base/assert.h"

namespace s5066::acp142 {
namespace {

/// Octets that are enough for a change of strategy in mid-stream.
constexpr std::size_t kFlushOctets = 64;
constexpr int kMemoryLevel = 8;  // the default of zlib
constexpr int kGzip = 16;        // added to the window bits
constexpr int kAny = 32;         // added to the window bits: zlib or gzip, as the header says
constexpr int kUnknownSystem = 255;

/// Codes the first `coded` octets symbol by symbol, without matches, so that each takes at least
/// one bit.
Bytes deflated(ByteSpan content, Container container, std::size_t coded) {
  z_stream stream{};
  const bool gzip = container == Container::gzip;
  // The calls fail only for lack of memory, which ends the process anyway.
  S5066_ASSERT(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + (gzip ? kGzip : 0),
                            kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK);
  gz_header header{};
  header.os = kUnknownSystem;
  if (gzip) S5066_ASSERT(deflateSetHeader(&stream, &header) == Z_OK);
  Bytes out(deflateBound(&stream, static_cast<uLong>(content.size())) + kFlushOctets);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  stream.next_in = const_cast<Bytef*>(content.data());
  if (coded > 0) {
    S5066_ASSERT(deflateParams(&stream, Z_BEST_COMPRESSION, Z_HUFFMAN_ONLY) == Z_OK);
    stream.avail_in = static_cast<uInt>(coded);
    S5066_ASSERT(deflate(&stream, Z_NO_FLUSH) == Z_OK && stream.avail_in == 0);
    S5066_ASSERT(deflateParams(&stream, Z_BEST_COMPRESSION, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  stream.avail_in = static_cast<uInt>(content.size() - coded);
  S5066_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Inflater {
 public:
  explicit Inflater(Container container) : gzip_(container == Container::gzip) {
    S5066_ASSERT(inflateInit2(&stream_, MAX_WBITS + (gzip_ ? kAny : 0)) == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<Bytes> run(ByteSpan compressed, std::size_t octets_max) {
    stream_.next_in = const_cast<Bytef*>(compressed.data());
    stream_.avail_in = static_cast<uInt>(compressed.size());
    Bytes out;
    std::array<std::uint8_t, 16384> piece;
    while (true) {
      stream_.next_out = piece.data();
      stream_.avail_out = static_cast<uInt>(piece.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t octets = piece.size() - stream_.avail_out;
      if (octets > octets_max - out.size()) {
        return Error{ErrorCode::too_large, "the decompressed content exceeds its limit"};
      }
      append(out, ByteSpan(piece.data(), octets));
      if (result == Z_STREAM_END && !begin_member()) return out;
      if (result == Z_STREAM_END) continue;
      if (result == Z_BUF_ERROR || (result == Z_OK && stream_.avail_in == 0 && octets == 0)) {
        return Error{ErrorCode::truncated, "the zlib stream has no end"};
      }
      if (result != Z_OK) return Error{ErrorCode::bad_checksum, "the zlib stream is damaged"};
    }
  }

 private:
  /// True if another member of a gzip file follows.
  bool begin_member() {
    const bool more =
        gzip_ && stream_.avail_in >= 2 && stream_.next_in[0] == 0x1F && stream_.next_in[1] == 0x8B;
    return more && inflateReset(&stream_) == Z_OK;
  }

  const bool gzip_;
  z_stream stream_{};
};

}  // namespace

// A receiver refuses content that is longer than this by a ratio, because it may be a decompression
// bomb.
Bytes deflated(ByteSpan content, Container container) {
  const InflateLimits limits;
  Bytes out = deflated(content, container, 0);
  for (std::size_t coded = content.size() / 64 + 1; content.size() > limits.octets_always_allowed &&
                                                    content.size() > limits.ratio_max * out.size();
       coded *= 2) {
    out = deflated(content, container, std::min(coded, content.size()));
  }
  return out;
}

Result<Bytes> inflated(ByteSpan compressed, const InflateLimits& limits, Container container) {
  const std::size_t by_ratio =
      std::max(limits.octets_always_allowed, compressed.size() * limits.ratio_max);
  return Inflater(container).run(compressed, std::min(limits.octets_max, by_ratio));
}

}  // namespace s5066::acp142
