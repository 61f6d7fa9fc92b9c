// SPDX-License-Identifier: Apache-2.0
// The content of a P_MUL message that carries a file: messages of the transfer service, an OFFER
// and BLOCKs. It consists of records as large as the blocks of P_MUL, so that each block can be
// read without the others. A record holds whole messages, each with its length in two octets in
// front; a length of 0 ends it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/bytes.h"

namespace s5066::file_relay {

/// Returns the smallest record in which an offer fits.
std::size_t record_octets_min(const OfferMessage& offer);

struct EnvelopeOptions {
  std::size_t record_octets = 0;  // at least record_octets_min(), at most 65535
  bool offer_again = false;       // repeats the offer at the end, because the first may be lost
};
/// Puts the octets `range` of an image into an envelope.
Bytes to_envelope(const OfferMessage& offer, ByteSpan image, FileRange range,
                  const EnvelopeOptions& options);

/// The messages in records, of which some may be missing.
struct Envelope {
  std::optional<OfferMessage> offer;
  /// Number of all messages; messages with another number are left out.
  std::optional<TransferNumber> number;
  std::vector<BlockMessage> blocks;
  std::size_t unreadable = 0;  // number of messages that cannot be read
};
Envelope read_envelope(const std::vector<Bytes>& records);

}  // namespace s5066::file_relay
