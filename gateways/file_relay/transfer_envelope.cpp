// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_envelope.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "s5066d/base/assert.h"

namespace s5066::file_relay {
namespace {

constexpr std::size_t kLengthOctets = 2;
/// Octets of an envelope that stand in front of those of a BLOCK.
constexpr std::size_t kBlockFrontOctets = kLengthOctets + kBlockHeaderOctets;

void put_message(Bytes& out, const Bytes& message) {
  put_u16(out, static_cast<std::uint16_t>(message.size()));
  append(out, message);
}

void fill_record(Bytes& out, std::size_t record_octets) {
  const std::size_t begun = out.size() % record_octets;
  if (begun > 0) out.resize(out.size() + record_octets - begun);
}

void read_message(ByteSpan octets, Envelope& envelope) {
  auto message = decode_transfer_message(octets);
  auto* offer = message ? std::get_if<OfferMessage>(&*message) : nullptr;
  auto* block = message ? std::get_if<BlockMessage>(&*message) : nullptr;
  if (offer == nullptr && block == nullptr) {
    ++envelope.unreadable;
    return;
  }
  const TransferNumber number = offer != nullptr ? offer->number : block->number;
  if (envelope.number.value_or(number) != number) {
    ++envelope.unreadable;
    return;
  }
  envelope.number = number;
  if (offer != nullptr) {
    envelope.offer = std::move(*offer);
  } else {
    envelope.blocks.push_back(std::move(*block));
  }
}

}  // namespace

std::size_t record_octets_min(const OfferMessage& offer) {
  return kLengthOctets + encode(offer).size();
}

Bytes to_envelope(const OfferMessage& offer, ByteSpan image, FileRange range,
                  const EnvelopeOptions& options) {
  const std::size_t record = options.record_octets;
  S5066_ASSERT(record >= record_octets_min(offer) && record > kBlockFrontOctets);
  S5066_ASSERT(record <= UINT16_MAX && range.end <= image.size());
  Bytes out;
  put_message(out, encode(offer));
  while (range.begin < range.end) {
    std::size_t room = record - out.size() % record;
    if (room <= kBlockFrontOctets) {
      fill_record(out, record);
      room = record;
    }
    const auto octets =
        static_cast<std::size_t>(std::min<std::uint64_t>(range.octets(), room - kBlockFrontOctets));
    const ByteSpan part = image.subspan(static_cast<std::size_t>(range.begin), octets);
    put_message(out, encode(BlockMessage{.number = offer.number,
                                         .at = static_cast<std::uint32_t>(range.begin),
                                         .octets = Bytes(part.begin(), part.end())}));
    range.begin += octets;
  }
  if (options.offer_again) {
    fill_record(out, record);
    put_message(out, encode(offer));
  }
  return out;
}

Envelope read_envelope(const std::vector<Bytes>& records) {
  Envelope envelope;
  for (const Bytes& record : records) {
    ByteSpan left(record);
    while (left.size() > kLengthOctets) {
      const std::size_t octets = get_u16(left, 0);
      if (octets == 0) break;
      left = left.subspan(kLengthOctets);
      if (octets > left.size()) {
        ++envelope.unreadable;
        break;
      }
      read_message(left.first(octets), envelope);
      left = left.subspan(octets);
    }
  }
  return envelope;
}

}  // namespace s5066::file_relay
