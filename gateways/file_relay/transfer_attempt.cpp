// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_attempt.h"

#include <algorithm>
#include <utility>

#include "gateways/common/rcop.h"
#include "s5066d/base/assert.h"

namespace s5066::file_relay {

TransferAttempt::TransferAttempt(TransferNumber number, TransferManifest manifest,
                                 const Options& options)
    : number_(number),
      manifest_(std::move(manifest)),
      options_(options),
      waits_(options.waits),
      unsent_(FileRange{0, manifest_.image_octets}) {
  S5066_ASSERT(options.mtu > gateways::kRcopHeaderBytes + kBlockHeaderOctets);
}

bool TransferAttempt::fits(const TransferManifest& manifest, std::size_t mtu) {
  Bytes octets;
  gateways::encode(manifest, octets);
  return gateways::kRcopHeaderBytes + kOfferHeaderOctets + octets.size() <= mtu;
}

std::optional<TransferAttempt::Part> TransferAttempt::next() const {
  if (offer_due_) return Part{.offer = true, .range = {}};
  const auto block = next_block();
  if (!block) return std::nullopt;
  return Part{.offer = false, .range = *block};
}

std::optional<FileRange> TransferAttempt::next_block() const {
  const auto first = unsent_.first();
  if (waits_ || !first) return std::nullopt;
  const std::size_t most = options_.mtu - gateways::kRcopHeaderBytes - kBlockHeaderOctets;
  return FileRange{first->begin, std::min<std::uint64_t>(first->end, first->begin + most)};
}

Bytes TransferAttempt::take(ByteSpan octets) {
  const auto part = next();
  S5066_ASSERT(part.has_value());
  if (part->offer) {
    offer_due_ = false;
    offer_in_flight_ = true;
    return encode(OfferMessage{.number = number_,
                               .answer = waits_,
                               .takes_signature = options_.takes_signature,
                               .manifest = manifest_});
  }
  S5066_ASSERT(octets.size() == part->range.octets());
  unsent_.remove(part->range);
  in_flight_.add(part->range);
  return encode(BlockMessage{.number = number_,
                             .at = static_cast<std::uint32_t>(part->range.begin),
                             .octets = Bytes(octets.begin(), octets.end())});
}

void TransferAttempt::on_confirmed(const Part& part) {
  if (part.offer) {
    offer_in_flight_ = false;
    return;
  }
  in_flight_.remove(part.range);
}

// Blocks that the node has may still arrive, so they are not sent again before the node has
// reported on them.
void TransferAttempt::on_have(const HaveMessage& have) {
  const bool late = have.answer && !waits_;  // an announcement came before the answer
  if (offer_due_ || late) return;
  waits_ = false;
  unsent_ = gateways::RangeSet(FileRange{0, manifest_.image_octets});
  for (const FileRange& range : have.ranges) unsent_.remove(range);
  unsent_.remove(in_flight_);
}

std::uint64_t TransferAttempt::octets_confirmed() const {
  return manifest_.image_octets - unsent_.octets() - in_flight_.octets();
}

}  // namespace s5066::file_relay
