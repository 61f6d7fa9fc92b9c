// Finds D_PDUs in the bit stream of one transmission (C.3.1): modems do not keep octets aligned, so
// a sync sequence may begin at any bit. Octets carry their least significant bit first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/metrics.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::pdu {

/// Call `push` as octets arrive, then `poll` until it has nothing more. After that at most one
/// unfinished D_PDU is kept.
class Scanner {
 public:
  /// More than this waiting to be polled is a bug of the caller.
  static constexpr std::size_t kUnpolledOctetsMax = std::size_t{16} << 20;

  /// Counts dpdus_received, dpdus_bad_header_crc, dpdus_bad_segment_crc and dpdus_malformed.
  explicit Scanner(Counters& counters) : counters_(counters) {}

  /// Appends to the bit stream.
  void push(ByteSpan bytes);
  std::optional<Received> poll();

  /// The transmission has ended: polls no longer wait for octets that cannot come. A frame whose
  /// header is good but whose segment was cut off is then reported with a bad segment; nothing is
  /// looked for in what came of it where it stands right behind another, or begins the
  /// transmission.
  void finish();
  /// A new transmission: bit index 0.
  void reset();
  /// The transmission that was finished last goes on all the same, as if it had not been.
  void resume();

 private:
  enum class Look : std::uint8_t { found, waiting, nothing };

  std::size_t bits_held() const { return stream_.buffer.size() * 8; }
  bool hunt();
  Look look_at_candidate(std::optional<Received>& out);
  /// A header begins at this bit, or the transmission ends there; none while octets are missing.
  std::optional<bool> goes_on_at(std::size_t bit) const;
  void read_octets(std::size_t from_bit, std::size_t count, std::uint8_t* out) const;
  void discard_before(std::size_t bit);

  struct Stream {
    Bytes buffer;
    std::size_t at_bit = 0;  // of the buffer: everything before it has been dealt with
    /// Of the buffer: where the next D_PDU stands, if there is one and no bits slip.
    std::optional<std::size_t> place = 0;
    std::uint64_t buffer_start = 0;  // index in the stream of the buffer's first bit
  };

  Counters& counters_;
  Stream stream_;
  Stream unfinished_;  // as it was when it was finished last
  bool finished_ = false;
};

}  // namespace s5066::pdu
