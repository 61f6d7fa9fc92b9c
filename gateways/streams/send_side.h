// SPDX-License-Identifier: Apache-2.0
// Keeps the octets of one direction of a stream at its sender, from the application until the far
// end has acknowledged them. Offsets count the octets as they go over the air, after compression;
// the end of the direction counts as one octet.
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
  /// Octets to send. If `end` is true, the end of the direction follows them.
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
  /// Returns the octets held: octets that wait and octets that are not acknowledged.
  std::size_t held() const { return wire_.size() + unflushed_; }

  // The air.
  /// Returns the octets that wait and may be sent, and one for the end. Octets still in the
  /// compressor count as they went in.
  std::size_t waiting() const;
  /// True if octets wait and all of them are beyond the limit of the far end.
  bool blocked() const;
  /// Takes at most `octets_max` octets, and octets that are sent again before new ones. Returns
  /// nothing if no octets may be sent.
  std::optional<Piece> take(std::size_t octets_max);
  void on_confirmed(Instant now, std::uint64_t offset, std::uint64_t past);
  void on_failed(std::uint64_t offset, std::uint64_t past);
  /// Queues again the octets that were confirmed at `until` or before and are not acknowledged.
  void on_lost(Instant until);
  /// Returns false if the acknowledgement contradicts the octets that were sent.
  bool on_ack(std::uint64_t received, std::uint64_t limit);
  /// True if all octets and the end are acknowledged.
  bool done() const { return end_acknowledged_; }
  /// Returns the time of the oldest confirmation of octets that the far end has not acknowledged.
  std::optional<Instant> oldest_confirmed() const;
  /// Returns the octets handed over and not acknowledged.
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
  /// Returns the first offset after all octets and the end.
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
  std::uint64_t base_ = 0;     // first octet that is not acknowledged
  std::uint64_t next_ = 0;     // first octet that was never sent
  std::uint64_t limit_;
  bool finished_ = false;
  bool end_acknowledged_ = false;
  std::map<std::uint64_t, Flight> flights_;
  std::map<std::uint64_t, std::uint64_t> again_;  // offset to past
  std::uint64_t resent_ = 0;
};

}  // namespace s5066::streams
