// SPDX-License-Identifier: Apache-2.0
// One attempt to send a file by the transfer service: which octets of the image are still to be
// handed to the node, and which of these are on their way. The offer goes first. If the receiver
// may have something of the file, the attempt waits for its answer before it sends blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gateways/common/range_set.h"
#include "gateways/file_relay/transfer_messages.h"

namespace s5066::file_relay {

class TransferAttempt {
 public:
  struct Options {
    std::size_t mtu = 2048;
    bool waits = false;            // the sender waits for the answer to the offer
    bool takes_signature = false;  // the sender can send a difference
  };
  /// The content of a message to the receiver.
  struct Part {
    bool offer = false;
    FileRange range;  // octets of a block
    friend bool operator==(const Part&, const Part&) = default;
  };

  TransferAttempt(TransferNumber number, TransferManifest manifest, const Options& options);

  /// Returns false if the offer does not fit in one U_PDU.
  static bool fits(const TransferManifest& manifest, std::size_t mtu);

  /// Returns the next message to send; nothing while an answer has to come first, or all is sent.
  std::optional<Part> next() const;
  /// Returns the next block to send, before which the offer may still have to go.
  std::optional<FileRange> next_block() const;
  /// Takes the next part. `octets` are those of its range.
  Bytes take(ByteSpan octets);
  void on_confirmed(const Part& part);
  void on_have(const HaveMessage& have);

  const TransferManifest& manifest() const { return manifest_; }
  TransferNumber number() const { return number_; }
  bool waits_for_answer() const { return waits_ && !offer_due_; }
  /// True if the node holds no message of the attempt.
  bool is_clear() const { return in_flight_.empty() && !offer_in_flight_; }
  std::uint64_t octets_left() const { return unsent_.octets(); }
  std::uint64_t octets_confirmed() const;

 private:
  TransferNumber number_;
  TransferManifest manifest_;
  Options options_;
  bool offer_due_ = true;
  bool offer_in_flight_ = false;
  bool waits_ = false;
  gateways::RangeSet unsent_;
  gateways::RangeSet in_flight_;
};

}  // namespace s5066::file_relay
