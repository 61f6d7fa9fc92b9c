// SPDX-License-Identifier: Apache-2.0
// Finds D_PDUs in the bit stream of one transmission (C.3.1). Modems do not keep octets aligned, so
// a sync sequence may begin at any bit. Octets carry their least significant bit first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::pdu {

/// Call `push` as octets arrive, then `poll` until it returns nothing. After that at most one
/// unfinished D_PDU is kept.
class Scanner {
 public:
  /// Largest number of octets that wait to be polled; more is a bug of the caller.
  static constexpr std::size_t kUnpolledOctetsMax = std::size_t{16} << 20;

  /// Counts dpdus_received, dpdus_bad_header_crc, dpdus_bad_segment_crc and dpdus_malformed.
  explicit Scanner(Counters& counters) : counters_(counters) {}

  /// Appends to the bit stream.
  void push(ByteSpan bytes);
  std::optional<Received> poll();

  /// Call when the transmission has ended: poll no longer waits for further octets. A frame with a
  /// good header and a segment that was cut off is then reported with a bad segment. If that frame
  /// directly follows another one, or begins the transmission, its octets are not searched for
  /// D_PDUs.
  void finish();
  /// Call when a new transmission begins, at bit index 0.
  void reset();
  /// Continues the transmission that was finished last, as if it had not been finished.
  void resume();

 private:
  enum class Look : std::uint8_t { found, waiting, nothing };

  std::size_t bits_held() const { return stream_.buffer.size() * 8; }
  bool hunt();
  Look look_at_candidate(std::optional<Received>& out);
  /// Returns true if a header begins at this bit, or the transmission ends there; nothing while
  /// octets are missing.
  std::optional<bool> goes_on_at(std::size_t bit) const;
  void read_octets(std::size_t from_bit, std::size_t count, std::uint8_t* out) const;
  void discard_before(std::size_t bit);

  struct Stream {
    Bytes buffer;
    std::size_t at_bit = 0;  // position in the buffer: everything before it is done
    /// Position in the buffer of the next D_PDU, if there is one and no bits slip.
    std::optional<std::size_t> place = 0;
    std::uint64_t buffer_start = 0;  // index in the stream of the buffer's first bit
  };

  Counters& counters_;
  Stream stream_;
  Stream unfinished_;  // state when the transmission was finished last
  bool finished_ = false;
};

}  // namespace s5066::pdu
