// SPDX-License-Identifier: Apache-2.0
// Splits the octet stream of a SIS connection into frames (F.16, A.2.2.2): bounded, incremental,
// and able to find the next frame after garbage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "s5066d/base/bytes.h"
#include "sis/codec.h"

namespace s5066::sis {

/// Octets after which a run of garbage is reported again, so that endless garbage has consequences.
inline constexpr std::size_t kGarbageReportOctets = 4096;

class Framer {
 public:
  /// The body of one frame, type octet first. Valid until the next push().
  struct Frame {
    ByteSpan body;
  };
  enum class Problem : std::uint8_t {
    // Octets without a preamble; reported at the first of a run, and after kGarbageReportOctets
    // more.
    garbage,
    bad_version,  // a frame of another version; its octets are skipped as they arrive
    empty,        // a frame of size 0
  };
  using Item = std::variant<Frame, Problem>;

  /// Takes the next octets of the stream. Drain poll() after each call: then no more than one
  /// incomplete frame, less than kHeaderOctets + kBodyOctetsMax octets, stays in memory.
  void push(ByteSpan octets);

  /// Another protocol that the peer uses, as far as its first octets show.
  enum class Mistake {
    tls,          // the beginning of a TLS handshake
    octet_order,  // a preamble with its octets exchanged, or a size with the low octet first
  };
  /// Checks the pushed octets that are not used up; useful before the first frame. Call it before
  /// poll().
  std::optional<Mistake> mistake() const;

  /// Returns the next frame or problem; nothing until more octets come.
  std::optional<Item> poll();

  /// Returns the type octet of the next frame as soon as it has come, even if the frame is
  /// incomplete. Returns nothing if the next header is invalid.
  std::optional<std::uint8_t> next_type() const;

  /// True if a frame has begun and not ended. A peer that leaves it so for long has failed.
  bool partial() const { return buffered() > 0 || skip_ > 0; }
  std::size_t buffered() const { return buffer_.size() - begin_; }

 private:
  ByteSpan pending() const { return ByteSpan(buffer_).subspan(begin_); }
  std::size_t garbage_in(ByteSpan octets) const;

  Bytes buffer_;
  std::size_t begin_ = 0;           // octets before it are used up
  std::size_t skip_ = 0;            // octets of a refused frame that are still to come
  bool in_garbage_ = false;         // the present run of garbage has been reported
  std::size_t garbage_octets_ = 0;  // octets of it since then
};

}  // namespace s5066::sis
