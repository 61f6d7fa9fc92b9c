// SPDX-License-Identifier: Apache-2.0
#include "tests/live/sent_again.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "gateways/common/rcop.h"

namespace s5066::live {

namespace {

using file_relay::BlockMessage;
using file_relay::HaveMessage;
using file_relay::OfferMessage;
using file_relay::TransferMessage;

std::optional<TransferMessage> message_of(const Bytes& updu) {
  const auto pdu = gateways::decode_rcop(updu);
  if (!pdu || pdu->header.application_id != file_relay::kTransferApplication) return {};
  auto message = file_relay::decode_transfer_message(pdu->data);
  if (!message) return {};
  return *std::move(message);
}

std::uint64_t common_octets(const gateways::RangeSet& set, gateways::FileRange range) {
  gateways::RangeSet rest(range);
  rest.remove(set);
  return range.octets() - rest.octets();
}

/// The headers of RCOP and of a block tell the U_PDUs of a relay apart.
std::string header_of(const Bytes& octets) {
  const std::size_t length = gateways::kRcopHeaderBytes + file_relay::kBlockHeaderOctets;
  return {octets.begin(),
          octets.begin() + static_cast<std::ptrdiff_t>(std::min(length, octets.size()))};
}

}  // namespace

void SentAgain::add(const sis::Primitive& primitive) {
  if (std::holds_alternative<sis::BindRequest>(primitive)) {
    // The relay or its node has restarted, so no confirmation of earlier U_PDUs will come.
    flights_.clear();
    in_flight_ = 0;
  } else if (const auto* request = std::get_if<sis::UnidataRequest>(&primitive)) {
    on_handed(request->destination, request->updu);
  } else if (const auto* confirm = std::get_if<sis::UnidataRequestConfirm>(&primitive)) {
    on_confirmed(confirm->destination, confirm->updu_part);
  } else if (const auto* indication = std::get_if<sis::UnidataIndication>(&primitive)) {
    on_received(indication->source, indication->updu);
  }
}

void SentAgain::on_handed(Address peer, const Bytes& updu) {
  const auto message = message_of(updu);
  if (!message) return;
  if (const auto* block = std::get_if<BlockMessage>(&*message)) {
    on_block({peer, block->number.value}, *block, updu);
  } else if (const auto* offer = std::get_if<OfferMessage>(&*message); offer && offer->answer) {
    resume({peer, offer->number.value});
  }
}

void SentAgain::on_block(const Key& key, const BlockMessage& block, const Bytes& updu) {
  const gateways::FileRange range{block.at, block.at + block.octets.size()};
  Transfer& transfer = transfers_[key];
  const std::uint64_t again = common_octets(transfer.handed, range);
  const std::uint64_t confirmed = common_octets(transfer.confirmed, range);
  figures_.resumes += transfer.again == 0 && again > 0;
  transfer.again += again;
  transfer.confirmed_again += confirmed;
  figures_.handed += range.octets();
  figures_.again += again;
  figures_.confirmed_again += confirmed;
  figures_.again_max = std::max(figures_.again_max, transfer.again);
  figures_.confirmed_again_max = std::max(figures_.confirmed_again_max, transfer.confirmed_again);
  transfer.handed.add(range);
  flights_[{key.first, header_of(updu)}] = {key, range};
  in_flight_ += range.octets();
  figures_.in_flight_max = std::max(figures_.in_flight_max, in_flight_);
}

void SentAgain::on_confirmed(Address peer, const Bytes& updu_part) {
  const auto at = flights_.find({peer, header_of(updu_part)});
  if (at == flights_.end()) return;
  transfers_[at->second.key].confirmed.add(at->second.range);
  in_flight_ -= at->second.range.octets();
  flights_.erase(at);
}

void SentAgain::on_received(Address peer, const Bytes& updu) {
  const auto message = message_of(updu);
  if (!message) return;
  if (const auto* have = std::get_if<HaveMessage>(&*message)) resume({peer, have->number.value});
}

void SentAgain::resume(const Key& key) {
  const auto at = transfers_.find(key);
  if (at == transfers_.end()) return;
  at->second.again = 0;
  at->second.confirmed_again = 0;
}

}  // namespace s5066::live
