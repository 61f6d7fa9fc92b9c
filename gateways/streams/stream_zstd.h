// SPDX-License-Identifier: Apache-2.0
// Compression of one direction of a stream by Zstandard (RFC 8878). The octets of the direction are
// one zstd frame; the octets after the end of that frame are plain. A sender ends the frame as soon
// as compression has not helped.
#pragma once

#include <cstdint>
#include <memory>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::streams {

/// Window of a frame. It bounds the memory of a stream: about 150 KiB here, 180 KiB at the far end.
inline constexpr int kWindowLog = 14;

class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  /// Compresses octets and appends the output, if any, to `out`.
  void write(ByteSpan octets, Bytes& out);
  /// Appends to `out` the rest of the output for all octets written so far.
  void flush(Bytes& out);
  /// Ends the frame.
  void end(Bytes& out);

  bool unflushed() const { return unflushed_; }
  std::uint64_t octets_in() const { return in_; }
  std::uint64_t octets_out() const { return out_; }

 private:
  struct Context;
  void run(ByteSpan octets, int directive, Bytes& out);

  std::unique_ptr<Context> context_;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  bool unflushed_ = false;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Takes octets from the front of `in` and appends at most `room` octets. Returns an error if the
  /// octets are not zstd.
  Result<void> read(ByteSpan& in, std::size_t room, Bytes& out);
  /// True after the end of the frame. The rest of the direction is plain.
  bool ended() const { return ended_; }
  /// True if more output may follow without further input.
  bool more() const { return more_; }

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  bool ended_ = false;
  bool more_ = false;
};

}  // namespace s5066::streams
