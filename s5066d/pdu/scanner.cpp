// SPDX-License-Identifier: Apache-2.0
#include "s5066d/pdu/scanner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {
namespace {

constexpr unsigned kSyncWord = kSyncSecond << 8 | kSyncFirst;
constexpr std::size_t kSyncBits = 8 * kSyncOctets;

/// A sync word that begins `shift` bits into an octet fills the next octet completely. For each
/// value of that octet the table has the shifts (bit 0 for shift 0) at which a sync word may begin.
/// All but eight values rule out a sync at any shift, so the search checks one octet at a time.
constexpr std::array<std::uint8_t, 256> make_shift_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned shift = 0; shift < 8; ++shift) {
    table[kSyncWord >> (8 - shift) & 0xFF] |= static_cast<std::uint8_t>(1u << shift);
  }
  return table;
}
constexpr auto kShifts = make_shift_table();

}  // namespace

void Scanner::push(ByteSpan bytes) {
  S5066_ASSERT(stream_.buffer.size() + bytes.size() <= kUnpolledOctetsMax);
  append(stream_.buffer, bytes);
}

void Scanner::finish() {
  unfinished_ = stream_;
  finished_ = true;
}

void Scanner::reset() {
  stream_ = {};
  finished_ = false;
}

void Scanner::resume() {
  stream_ = std::exchange(unfinished_, {});
  finished_ = false;
}

std::optional<Received> Scanner::poll() {
  std::optional<Received> received;
  while (hunt()) {
    const Look look = look_at_candidate(received);
    if (look == Look::found) return received;
    if (look == Look::waiting && !finished_) break;
    if (look == Look::waiting) ++stream_.at_bit;  // the rest of this one will never come
  }
  discard_before(stream_.at_bit);
  return std::nullopt;
}

/// Moves to the next sync word, or as far as the octets allow. Returns true if it found one.
bool Scanner::hunt() {
  std::size_t octet = stream_.at_bit / 8;
  unsigned allowed =
      0xFFu << stream_.at_bit % 8;  // shifts in the first octet that are not yet searched
  for (; octet + 1 < stream_.buffer.size(); ++octet, allowed = 0xFF) {
    for (unsigned shifts = kShifts[stream_.buffer[octet + 1]] & allowed; shifts != 0;
         shifts &= shifts - 1) {
      const auto shift = static_cast<unsigned>(std::countr_zero(shifts));
      stream_.at_bit = 8 * octet + shift;
      if (stream_.at_bit + kSyncBits > bits_held()) return false;
      const unsigned third = shift == 0 ? 0u : stream_.buffer[octet + 2];
      const unsigned bits =
          third << 16 | unsigned{stream_.buffer[octet + 1]} << 8 | stream_.buffer[octet];
      if ((bits >> shift & 0xFFFF) == kSyncWord) return true;
    }
  }
  stream_.at_bit = std::max(stream_.at_bit, 8 * octet);
  return false;
}

/// Reads the D_PDU whose sync word is at `stream_.at_bit`, and moves past the part that was
/// decoded.
Scanner::Look Scanner::look_at_candidate(std::optional<Received>& out) {
  const std::size_t held = (bits_held() - stream_.at_bit) / 8;
  if (held < kFixedOctets) return Look::waiting;
  std::array<std::uint8_t, kHeaderOctetsMax> octets;
  read_octets(stream_.at_bit, kFixedOctets, octets.data());
  const std::size_t header_size = header_octets(octets);
  if (header_size > held) return Look::waiting;
  if (header_size > 0) read_octets(stream_.at_bit, header_size, octets.data());
  const Result<Header> header = read_header(ByteSpan(octets).first(header_size));
  if (!header) {
    counters_.add(Counter::dpdus_bad_header_crc);
    ++stream_.at_bit;
    return Look::nothing;
  }

  const std::size_t begin = stream_.at_bit;
  const std::size_t after_header = begin + 8 * header->octets;
  Result<Dpdu> dpdu = read_dpdu(*header);
  if (!dpdu) {
    counters_.add(Counter::dpdus_malformed);
    ++stream_.at_bit;
    return Look::nothing;
  }
  if (header->frame_octets() > held && !finished_) return Look::waiting;

  Received received{.dpdu = std::move(*dpdu),
                    .first_bit = stream_.buffer_start + stream_.at_bit,
                    .octets = header->frame_octets()};
  if (!header->has_segment()) {
    counters_.add(Counter::dpdus_received);
    stream_.place = stream_.at_bit = after_header;
    out = std::move(received);
    return Look::found;
  }

  // A segment that was cut off is passed on like a damaged one, as far as it was received.
  const bool whole = header->frame_octets() <= held;
  const std::size_t came =
      whole ? header->segment_octets : std::min(header->segment_octets, held - header->octets);
  Bytes tail(came + kSegmentCrcOctets);
  read_octets(after_header, whole ? tail.size() : came, tail.data());
  received.segment_ok = attach_segment(std::move(tail), received.dpdu) && whole;
  const std::size_t end = begin + 8 * header->frame_octets();
  if (received.segment_ok) {
    stream_.place = stream_.at_bit = end;
  } else if (!whole && begin == stream_.place) {
    // A pattern like a D_PDU in it is user data, and the transmission may still go on.
    counters_.add(Counter::dpdus_bad_segment_crc);
    stream_.at_bit = bits_held();
  } else {
    // Bits may have slipped, and one header in 65536 is false, so the next D_PDU may begin
    // anywhere. If the next one is at its expected place, no bits have slipped, and a pattern like
    // a D_PDU in between is user data.
    const std::optional<bool> in_place = whole ? goes_on_at(end) : false;
    if (!in_place) return Look::waiting;
    counters_.add(Counter::dpdus_bad_segment_crc);
    if (*in_place) stream_.place = end;
    stream_.at_bit = *in_place ? end : begin + 1;
  }
  counters_.add(Counter::dpdus_received);
  out = std::move(received);
  return Look::found;
}

std::optional<bool> Scanner::goes_on_at(std::size_t bit) const {
  const std::size_t held = (bits_held() - bit) / 8;
  const auto missing = finished_ ? std::optional(true) : std::nullopt;
  std::array<std::uint8_t, kHeaderOctetsMax> octets;
  const std::size_t first = std::min(held, kFixedOctets);
  read_octets(bit, first, octets.data());
  constexpr std::array kSync = {kSyncFirst, kSyncSecond};
  if (!std::equal(kSync.begin(), kSync.begin() + std::min(first, kSyncOctets), octets.begin())) {
    return false;
  }
  if (held < kFixedOctets) return missing;
  const std::size_t size = header_octets(octets);
  if (size > held) return missing;
  if (size > 0) read_octets(bit, size, octets.data());
  return read_header(ByteSpan(octets).first(size)).ok();
}

void Scanner::read_octets(std::size_t from_bit, std::size_t count, std::uint8_t* out) const {
  const std::uint8_t* from = stream_.buffer.data() + from_bit / 8;
  const unsigned shift = from_bit % 8;
  if (shift == 0) {
    std::copy_n(from, count, out);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>(from[i] >> shift | from[i + 1] << (8 - shift));
  }
}

void Scanner::discard_before(std::size_t bit) {
  const std::size_t octets = bit / 8;
  stream_.buffer.erase(stream_.buffer.begin(),
                       stream_.buffer.begin() + static_cast<std::ptrdiff_t>(octets));
  stream_.buffer_start += 8 * octets;
  stream_.at_bit -= 8 * octets;
  if (stream_.place) {
    stream_.place =
        *stream_.place < 8 * octets ? std::nullopt : std::optional(*stream_.place - 8 * octets);
  }
}

}  // namespace s5066::pdu
