// SPDX-License-Identifier: Apache-2.0
#include "sis/framer.h"

#include <algorithm>

namespace s5066::sis {

void Framer::push(ByteSpan octets) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  append(buffer_, octets);
}

std::optional<Framer::Item> Framer::poll() {
  const std::size_t skipped = std::min(skip_, buffered());
  begin_ += skipped;
  skip_ -= skipped;
  if (skip_ > 0) return std::nullopt;

  const std::size_t garbage = garbage_in(pending());
  begin_ += garbage;
  if (garbage > 0 && !in_garbage_) {
    in_garbage_ = true;
    garbage_octets_ = garbage;
    return Problem::garbage;
  }
  garbage_octets_ += garbage;
  if (in_garbage_ && garbage_octets_ >= kGarbageReportOctets) {
    garbage_octets_ -= kGarbageReportOctets;
    return Problem::garbage;
  }
  const ByteSpan frame = pending();
  if (frame.size() < kHeaderOctets) return std::nullopt;
  in_garbage_ = false;

  const std::size_t size = get_u16(frame, 3);
  if (frame[2] != kVersion) {
    begin_ += kHeaderOctets;
    skip_ = size;
    return Problem::bad_version;
  }
  if (size == 0) {
    begin_ += kHeaderOctets;
    return Problem::empty;
  }
  if (frame.size() < kHeaderOctets + size) return std::nullopt;
  begin_ += kHeaderOctets + size;
  return Frame{frame.subspan(kHeaderOctets, size)};
}

// A client begins with S_BIND_REQUEST. If the request fits its frame with the octets of the size
// exchanged, and most of the frame is missing with the size as it is, the sender has the wrong
// octet order.
std::optional<Framer::Mistake> Framer::mistake() const {
  const ByteSpan octets = pending();
  constexpr std::uint8_t kTlsHandshake = 22;
  constexpr std::uint8_t kTlsMajor = 3;
  if (octets.size() < 2) return std::nullopt;
  if (octets[0] == kTlsHandshake && octets[1] == kTlsMajor) return Mistake::tls;
  if (octets[0] == kPreamble1 && octets[1] == kPreamble0) return Mistake::octet_order;
  if (octets[0] != kPreamble0 || octets[1] != kPreamble1 || octets.size() <= kHeaderOctets) {
    return std::nullopt;
  }
  const std::size_t size = get_u16(octets, 3);
  const std::size_t exchanged = (size >> 8) | (size & 0xFF) << 8;
  const ByteSpan body = octets.subspan(kHeaderOctets);
  if (body.size() >= size || body.size() < exchanged || exchanged == 0) return std::nullopt;
  const auto primitive = decode(body.first(exchanged));
  if (!primitive || type_of(*primitive) != Type::bind_request) return std::nullopt;
  return Mistake::octet_order;
}

std::optional<std::uint8_t> Framer::next_type() const {
  if (skip_ >= buffered()) return std::nullopt;
  const ByteSpan octets = pending().subspan(skip_);
  const ByteSpan frame = octets.subspan(garbage_in(octets));
  if (frame.size() <= kHeaderOctets || frame[2] != kVersion || get_u16(frame, 3) == 0) {
    return std::nullopt;
  }
  return frame[kHeaderOctets];
}

/// Returns the number of octets before the next preamble. A last octet that may be its first half
/// does not count.
std::size_t Framer::garbage_in(ByteSpan octets) const {
  std::size_t at = 0;
  while (at < octets.size()) {
    const bool last = at + 1 == octets.size();
    if (octets[at] == kPreamble0 && (last || octets[at + 1] == kPreamble1)) break;
    ++at;
  }
  return at;
}

}  // namespace s5066::sis
