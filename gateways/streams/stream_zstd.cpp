// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/stream_zstd.h"

#include <zstd.h>

#include <algorithm>
#include <array>

#include "s5066d/base/assert.h"

namespace s5066::streams {
namespace {

constexpr int kLevel = 3;
constexpr int kTableLog = 13;  // size of the hash and chain tables
constexpr std::size_t kPiece = 4096;

}  // namespace

struct Compressor::Context {
  Context() : state(ZSTD_createCCtx()) {
    S5066_ASSERT(state != nullptr);
    for (const auto& [parameter, value] :
         {std::pair{ZSTD_c_compressionLevel, kLevel}, std::pair{ZSTD_c_windowLog, kWindowLog},
          std::pair{ZSTD_c_hashLog, kTableLog}, std::pair{ZSTD_c_chainLog, kTableLog}}) {
      const auto set = ZSTD_CCtx_setParameter(state, parameter, value);
      S5066_ASSERT(ZSTD_isError(set) == 0);
    }
  }
  ~Context() { ZSTD_freeCCtx(state); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ZSTD_CCtx* state;
};

Compressor::Compressor() : context_(std::make_unique<Context>()) {}
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

void Compressor::run(ByteSpan octets, int directive, Bytes& out) {
  const auto how = static_cast<ZSTD_EndDirective>(directive);
  ZSTD_inBuffer in{octets.data(), octets.size(), 0};
  std::array<std::uint8_t, kPiece> piece{};
  for (std::size_t left = 1; left > 0 || in.pos < in.size;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    left = ZSTD_compressStream2(context_->state, &to, &in, how);
    S5066_ASSERT(ZSTD_isError(left) == 0);  // octets of any value can be compressed
    append(out, ByteSpan(piece).first(to.pos));
    out_ += to.pos;
    if (how == ZSTD_e_continue && in.pos == in.size) break;
  }
  in_ += octets.size();
}

void Compressor::write(ByteSpan octets, Bytes& out) {
  if (octets.empty()) return;
  run(octets, ZSTD_e_continue, out);
  unflushed_ = true;
}

void Compressor::flush(Bytes& out) {
  if (!unflushed_) return;
  run({}, ZSTD_e_flush, out);
  unflushed_ = false;
}

void Compressor::end(Bytes& out) {
  run({}, ZSTD_e_end, out);
  unflushed_ = false;
}

struct Decompressor::Context {
  Context() : state(ZSTD_createDCtx()) {
    S5066_ASSERT(state != nullptr);
    // A frame that asks for a larger window is an error, so that a peer cannot choose our use of
    // memory.
    const auto set = ZSTD_DCtx_setParameter(state, ZSTD_d_windowLogMax, kWindowLog);
    S5066_ASSERT(ZSTD_isError(set) == 0);
  }
  ~Context() { ZSTD_freeDCtx(state); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ZSTD_DCtx* state;
};

Decompressor::Decompressor() : context_(std::make_unique<Context>()) {}
Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

Result<void> Decompressor::read(ByteSpan& in, std::size_t room, Bytes& out) {
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  std::array<std::uint8_t, kPiece> piece{};
  while (!ended_ && room > 0 && (from.pos < from.size || more_)) {
    ZSTD_outBuffer to{piece.data(), std::min(room, piece.size()), 0};
    const std::size_t before = from.pos;
    const std::size_t left = ZSTD_decompressStream(context_->state, &to, &from);
    if (ZSTD_isError(left) != 0) return Error{ErrorCode::bad_field, ZSTD_getErrorName(left)};
    append(out, ByteSpan(piece).first(to.pos));
    room -= to.pos;
    ended_ = left == 0;
    more_ = !ended_ && to.pos == to.size;
    if (to.pos == 0 && from.pos == before) break;
  }
  in = in.subspan(from.pos);
  return {};
}

}  // namespace s5066::streams
