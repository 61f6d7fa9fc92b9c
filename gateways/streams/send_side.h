// SPDX-License-Identifier: Apache-2.0
// Octets of one direction of a stream at its sender: from the application until the far end has
// acknowledged them. Offsets count the octets as they go over the air, after compression; the end
// of the direction counts as one octet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "gateways/streams/stream_pdu.h"
#include "gateways/streams/stream_zstd.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::streams {

class SendSide {
 public:
  /// Octets and, with `end`, the end of the direction.
  struct Piece {
    std::uint64_t offset = 0;
    Bytes octets;
    bool end = false;
    bool compressed = false;
    bool repeated = false;
    std::uint64_t past() const { return offset + octets.size() + (end ? 1 : 0); }
  };

  SendSide(std::uint64_t limit, bool compress);

  // The application.
  void write(ByteSpan octets);
  void finish();
  bool finished() const { return finished_; }
  /// Octets held: those that wait and those that are not acknowledged.
  std::size_t held() const { return wire_.size() + unflushed_; }

  // The air.
  /// Octets that wait and may be sent, before compression, and one for the end.
  std::size_t waiting() const;
  /// True if all that waits is beyond what the far end can take.
  bool blocked() const;
  /// Takes at most `octets_max` octets of what waits first; nothing if nothing may be sent.
  std::optional<Piece> take(std::size_t octets_max);
  void on_confirmed(Instant now, std::uint64_t offset, std::uint64_t past);
  void on_failed(std::uint64_t offset, std::uint64_t past);
  /// Octets that were confirmed until `until` and are not acknowledged go again.
  void on_lost(Instant until);
  /// False if the acknowledgement contradicts what was sent.
  bool on_ack(std::uint64_t received, std::uint64_t limit);
  /// True if everything and the end is acknowledged.
  bool done() const { return end_acknowledged_; }
  /// The oldest confirmation that the far end has not acknowledged.
  std::optional<Instant> oldest_confirmed() const;
  /// Octets handed over and not acknowledged.
  std::size_t outstanding() const {
    return end_acknowledged_ ? 0 : static_cast<std::size_t>(next_ - base_);
  }
  std::uint64_t acknowledged() const { return base_; }

  bool compressed() const { return compressor_.has_value(); }
  bool gave_up() const { return gave_up_; }
  std::uint64_t octets_before() const { return compressor_ ? compressor_->octets_in() : before_; }
  std::uint64_t octets_after() const { return compressor_ ? compressor_->octets_out() : after_; }
  std::uint64_t octets_resent() const { return resent_; }

 private:
  /// Octets that were handed to the node.
  struct Flight {
    std::uint64_t past = 0;
    std::optional<Instant> confirmed;
  };
  std::uint64_t end_offset() const { return base_ + wire_.size(); }
  /// First offset that does not exist yet.
  std::uint64_t past() const { return end_offset() + (finished_ ? 1 : 0); }
  void flush();
  void give_up_compression();
  Piece piece(std::uint64_t offset, std::uint64_t past) const;
  void send_again(std::uint64_t offset, std::uint64_t past);

  std::optional<Compressor> compressor_;
  bool start_compressed_ = false;
  bool gave_up_ = false;
  std::uint64_t before_ = 0;
  std::uint64_t after_ = 0;
  std::size_t unflushed_ = 0;  // octets that went into compression and may not have come out
  Bytes wire_;                 // octets from base_ on
  std::uint64_t base_ = 0;     // acknowledged
  std::uint64_t next_ = 0;     // never sent
  std::uint64_t limit_;
  bool finished_ = false;
  bool end_acknowledged_ = false;
  std::map<std::uint64_t, Flight> flights_;
  std::map<std::uint64_t, std::uint64_t> again_;  // offset to past
  std::uint64_t resent_ = 0;
};

}  // namespace s5066::streams
