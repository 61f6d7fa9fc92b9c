// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_receiver.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {

using gateways::RangeSet;
using gateways::SaveBlocks;
using gateways::StoreRequest;
using gateways::StoreResult;
using gateways::StoreTicket;
using gateways::TransferKey;
using gateways::TransferNews;

namespace {

constexpr CounterTable<TransferReceiverCounter> kCounters({
    {TransferReceiverCounter::offers, "relay_offers_received", "offers",
     "offers of the transfer service"},
    {TransferReceiverCounter::refused, "relay_offers_refused", "offers",
     "offers that were refused because of the access table, their size or the room here"},
    {TransferReceiverCounter::blocks, "relay_blocks_received", "blocks",
     "blocks of files that were new"},
    {TransferReceiverCounter::blocks_repeated, "relay_blocks_repeated", "blocks",
     "blocks of files that were here already"},
    {TransferReceiverCounter::blocks_unknown, "relay_blocks_unknown", "blocks",
     "blocks of files that were not offered, or outside of what was offered"},
    {TransferReceiverCounter::blocks_dropped, "relay_blocks_dropped", "blocks",
     "blocks for which there was no memory while the spool could not be written"},
    {TransferReceiverCounter::files, "relay_transfers_received", "files",
     "files received by the transfer service and stored in the inbox"},
    {TransferReceiverCounter::store_errors, "relay_transfer_store_errors", "errors",
     "requests of the transfer service that the disk or the spool could not carry out"},
});

Bytes done_digest_of(const TransferManifest& manifest) {
  const ByteSpan digest = ByteSpan(manifest.sha256).first(kDoneDigestOctets);
  return {digest.begin(), digest.end()};
}

constexpr std::size_t kSignaturePartOctets = 240;  // such a part fits in the smallest MTU

}  // namespace

const CounterTable<TransferReceiverCounter>& counter_table(TransferReceiverCounter) {
  return kCounters;
}

TransferReceiver::TransferReceiver(const Config& config, IdSource& ids, const UtcClock& utc,
                                   MessageOutbox& outbox)
    : config_(config), ids_(ids), utc_(utc), outbox_(outbox) {
  S5066_ASSERT(config.transfers_max > 0 && config.pending_octets_max > 0);
}

void TransferReceiver::emit(RelayEvent::Kind kind, const Transfers::value_type& entry,
                            std::string detail) {
  const auto& [key, transfer] = entry;
  RelayEvent event;
  event.kind = kind;
  event.transfer = transfer_name(key.number, transfer.manifest.sha256);
  event.peer = key.source;
  event.name = transfer.manifest.name;
  event.octets = transfer.manifest.size;
  event.detail = std::move(detail);
  event.request = transfer.manifest.request;
  events_.push_back(std::move(event));
}

// --- Start ---------------------------------------------------------------------------------------

void TransferReceiver::on_start(Instant) {
  list_ticket_ = ids_.next_ticket();
  requests_.push_back(
      {*list_ticket_, gateways::ListTransfers{static_cast<std::uint32_t>(config_.transfers_max)}});
}

void TransferReceiver::on_listed(Instant now, const gateways::OpenTransfers& open) {
  listed_ = true;
  for (const auto& from : open.transfers) {
    Incoming transfer;
    transfer.manifest = from.manifest;
    transfer.source_sap = {};
    transfer.updu_id = from.updu_id;
    transfer.phase = Phase::open;
    transfer.saved = from.have;
    transfer.store_retry = config_.store_retry_min;
    transfer.begun = utc_.instant(from.begun);
    const auto [at, added] = transfers_.emplace(from.key, std::move(transfer));
    if (added) settle(now, *at);
  }
  announce();
}

void TransferReceiver::on_bound(Instant) {
  bound_ = true;
  for (auto& [key, transfer] : transfers_) transfer.announced = false;
  announce();
}

// The sender of each is told what is here, because blocks that the node had confirmed may not have
// come to the spool.
void TransferReceiver::announce() {
  if (!bound_ || !listed_) return;
  std::map<Address, std::size_t> announced;
  for (auto& [key, transfer] : transfers_) {
    if (transfer.phase != Phase::open || transfer.announced) continue;
    if (++announced[key.source] > config_.announced_max) continue;
    transfer.announced = true;
    send_have(key, transfer, false);
  }
}

// --- From the sender -----------------------------------------------------------------------------

void TransferReceiver::on_offer(Instant now, Address source, SapId source_sap, std::uint8_t updu_id,
                                OfferMessage offer) {
  counters_.add(TransferReceiverCounter::offers);
  const TransferKey key{source, offer.number.value};
  if (auto refusal = refusal_of(offer, config_.access.of(source), config_.file_octets_max)) {
    counters_.add(TransferReceiverCounter::refused);
    outbox_.push(source, std::move(*refusal));
    return;
  }
  const auto known = transfers_.find(key);
  const bool begins_again = known != transfers_.end() && !known->second.ticket &&
                            (!known->second.manifest.has_same_image(offer.manifest) ||
                             (known->second.saved.empty() && !known->second.store_again));
  if (known != transfers_.end() && !begins_again) {
    // The new image will be offered.
    if (!known->second.manifest.has_same_image(offer.manifest)) return;
    Incoming& waiting = known->second;
    const bool incomplete = waiting.saved.octets() != waiting.manifest.image_octets;
    if (waiting.store_again && incomplete) {  // the spool may refuse blocks for long
      waiting.told_no_room = true;
      counters_.add(TransferReceiverCounter::refused);
      outbox_.push(source, RefuseMessage{offer.number, RefuseReason::no_room,
                                         "the spool there cannot be written now"});
      return;
    }
    known->second.answer = known->second.answer || offer.answer;
    settle(now, *known);
    return;
  }
  if (begins_again) forget(known);
  if (!make_room(source)) {
    counters_.add(TransferReceiverCounter::refused);
    outbox_.push(source, RefuseMessage{offer.number, RefuseReason::no_room,
                                       "too many files arrive at this time"});
    return;
  }
  Incoming& transfer = transfers_[key];
  transfer.source_sap = source_sap;
  transfer.updu_id = updu_id;
  transfer.answer = offer.answer;
  transfer.announced = true;
  transfer.store_retry = config_.store_retry_min;
  transfer.begun = now;
  transfer.manifest = std::move(offer.manifest);
  ask(key, transfer,
      gateways::OpenTransfer{.key = key,
                             .source_sap = source_sap,
                             .updu_id = updu_id,
                             .manifest = transfer.manifest,
                             .wants_signature = offer.takes_signature,
                             .now = utc_.utc(now),
                             .quota = config_.access.of(source).quota});
}

/// Forgets the oldest transfer that has nothing in memory, if there are too many. Its octets stay
/// in the spool until the file is offered again.
bool TransferReceiver::make_room(Address source) {
  if (transfers_.size() < config_.transfers_max) return true;
  auto oldest = transfers_.end();
  for (auto at = transfers_.begin(); at != transfers_.end(); ++at) {
    if (at->second.ticket || at->second.pending_octets > 0) continue;
    const bool other = at->first.source != source;
    if (oldest == transfers_.end() ||
        (other == (oldest->first.source != source) ? at->second.begun < oldest->second.begun
                                                   : !other)) {
      oldest = at;
    }
  }
  if (oldest == transfers_.end()) return false;
  forget(oldest);
  return true;
}

void TransferReceiver::on_block(Instant now, Address source, BlockMessage block) {
  const auto at = transfers_.find(TransferKey{source, block.number.value});
  const FileRange range{block.at, std::uint64_t{block.at} + block.octets.size()};
  if (at == transfers_.end() || range.end > at->second.manifest.image_octets ||
      at->second.phase == Phase::finishing) {
    counters_.add(TransferReceiverCounter::blocks_unknown);
    return;
  }
  Incoming& transfer = at->second;
  RangeSet fresh(range);
  fresh.remove(transfer.saved);
  fresh.remove(transfer.pending_ranges);
  if (fresh.empty()) {
    counters_.add(TransferReceiverCounter::blocks_repeated);
    return;
  }
  if (transfer.pending_octets + fresh.octets() > config_.pending_octets_max ||
      pending_octets_ + fresh.octets() > config_.all_pending_octets_max) {
    counters_.add(TransferReceiverCounter::blocks_dropped);
    return;
  }
  counters_.add(TransferReceiverCounter::blocks);
  for (const FileRange& part : fresh.ranges()) {
    const auto from = block.octets.begin() + static_cast<std::ptrdiff_t>(part.begin - block.at);
    transfer.pending.push_back({static_cast<std::uint32_t>(part.begin),
                                Bytes(from, from + static_cast<std::ptrdiff_t>(part.octets()))});
    transfer.pending_ranges.add(part);
    transfer.pending_octets += static_cast<std::size_t>(part.octets());
    pending_octets_ += static_cast<std::size_t>(part.octets());
  }
  settle(now, *at);
}

void TransferReceiver::on_cancelled(Instant, Address source, TransferNumber number,
                                    const std::string& text) {
  const auto at = transfers_.find(TransferKey{source, number.value});
  if (at == transfers_.end()) return;
  emit(RelayEvent::Kind::file_incomplete, *at, text.empty() ? "its sender gave it up" : text);
  const StoreTicket ticket = ids_.next_ticket();
  tickets_[ticket] = at->first;
  requests_.push_back({ticket, gateways::DropTransfer{at->first}});
  forget(at);
}

// --- The spool -----------------------------------------------------------------------------------

void TransferReceiver::ask(TransferKey key, Incoming& transfer,
                           gateways::StoreOperation operation) {
  transfer.ticket = ids_.next_ticket();
  transfer.store_again.reset();
  tickets_[*transfer.ticket] = key;
  requests_.push_back({*transfer.ticket, std::move(operation)});
}

/// Goes on with a transfer for which the spool is not at work.
void TransferReceiver::settle(Instant now, Transfers::value_type& entry) {
  auto& [key, transfer] = entry;
  if (transfer.ticket || transfer.store_again || transfer.phase == Phase::opening) return;
  if (!transfer.pending.empty()) {
    transfer.saving =
        std::make_shared<const std::vector<SaveBlocks::Block>>(std::exchange(transfer.pending, {}));
    ask(key, transfer, SaveBlocks{key, transfer.saving, utc_.utc(now)});
  } else if (transfer.saved.octets() == transfer.manifest.image_octets) {
    transfer.phase = Phase::finishing;
    ask(key, transfer,
        gateways::FinishTransfer{key, utc_.utc(now), config_.access.of(key.source).quota});
  } else if (std::exchange(transfer.answer, false)) {
    send_have(key, transfer, true);
  }
}

void TransferReceiver::ask_again(Instant now, Transfers::value_type& entry) {
  auto& [key, transfer] = entry;
  if (transfer.phase == Phase::finishing) {
    ask(key, transfer,
        gateways::FinishTransfer{key, utc_.utc(now), config_.access.of(key.source).quota});
  } else {
    ask(key, transfer, SaveBlocks{key, transfer.saving, utc_.utc(now)});
  }
}

bool TransferReceiver::on_store_result(Instant now, const StoreResult& result) {
  if (result.ticket == list_ticket_) {
    list_ticket_.reset();
    const auto* open =
        result.answer ? std::get_if<gateways::OpenTransfers>(&*result.answer) : nullptr;
    if (open == nullptr) counters_.add(TransferReceiverCounter::store_errors);
    on_listed(now, open != nullptr ? *open : gateways::OpenTransfers{});
    return true;
  }
  const auto ticket = tickets_.find(result.ticket);
  if (ticket == tickets_.end()) return false;
  const auto at = transfers_.find(ticket->second);
  tickets_.erase(ticket);
  if (at == transfers_.end() || at->second.ticket != result.ticket) return true;
  Incoming& transfer = at->second;
  transfer.ticket.reset();
  if (!result.answer) {
    if (transfer.phase != Phase::opening && result.answer.error().code == ErrorCode::not_found) {
      forget(at);  // the sender offers it again
    } else {
      on_failed(now, *at, result.answer.error());
      if (transfer.phase == Phase::opening) forget(at);
    }
    return true;
  }
  transfer.store_retry = config_.store_retry_min;
  transfer.reported = false;
  if (const auto* news = std::get_if<TransferNews>(&*result.answer)) {
    on_news(now, at, *news);
    return true;
  }
  S5066_ASSERT(transfer.saving != nullptr);
  for (const SaveBlocks::Block& block : *transfer.saving) {
    const FileRange range{block.at, std::uint64_t{block.at} + block.octets.size()};
    transfer.saved.add(range);
    transfer.pending_ranges.remove(range);
    transfer.pending_octets -= block.octets.size();
    pending_octets_ -= block.octets.size();
  }
  transfer.saving.reset();
  if (std::exchange(transfer.told_no_room, false)) {
    const bool incomplete =
        transfer.saved.octets() + transfer.pending_ranges.octets() < transfer.manifest.image_octets;
    if (incomplete) send_have(at->first, transfer, false);
  }
  settle(now, *at);
  return true;
}

void TransferReceiver::on_failed(Instant now, Transfers::value_type& entry, const Error& error) {
  auto& [key, transfer] = entry;
  counters_.add(TransferReceiverCounter::store_errors);
  if (!std::exchange(transfer.reported, true)) {
    emit(RelayEvent::Kind::store_failed, entry, to_string(error));
  }
  if (transfer.phase == Phase::opening) {
    outbox_.push(key.source, RefuseMessage{TransferNumber{key.number}, RefuseReason::no_room,
                                           "the spool there cannot be written now"});
    return;
  }
  transfer.store_again = now + transfer.store_retry;
  transfer.store_retry = std::min(2 * transfer.store_retry, config_.store_retry_max);
}

void TransferReceiver::on_news(Instant now, Transfers::iterator at, TransferNews news) {
  const auto& [key, transfer] = *at;
  const TransferNumber number{key.number};
  switch (news.state) {
    case TransferNews::State::open: {
      const bool rejected = at->second.phase == Phase::finishing;
      at->second.saved = news.have;
      at->second.phase = Phase::open;
      at->second.answer = at->second.answer || rejected;
      if (!news.signature.empty()) {
        at->second.answer = false;
        send_signature(key, news);
      }
      return settle(now, *at);
    }
    case TransferNews::State::done:
      if (news.repeated) {
        emit(RelayEvent::Kind::repeat_received, *at, news.inbox_name);
      } else {
        counters_.add(TransferReceiverCounter::files);
        emit(RelayEvent::Kind::file_received, *at, news.inbox_name);
        events_.back().sha256 = transfer.manifest.sha256;
        const Instant begun = news.begun ? utc_.instant(*news.begun) : transfer.begun;
        events_.back().took = std::max(now - begun, Duration{});
      }
      outbox_.push(key.source, DoneMessage{number, news.had_it, done_digest_of(transfer.manifest)});
      return forget(at);
    case TransferNews::State::no_room:
      counters_.add(TransferReceiverCounter::refused);
      outbox_.push(key.source, RefuseMessage{number, RefuseReason::no_room, news.text});
      return forget(at);
    case TransferNews::State::bad:
    case TransferNews::State::no_base: {
      const bool bad = news.state == TransferNews::State::bad;
      emit(RelayEvent::Kind::file_incomplete, *at, news.text);
      outbox_.push(
          key.source,
          RefuseMessage{number, bad ? RefuseReason::bad_digest : RefuseReason::no_base, news.text});
      return forget(at);
    }
  }
}

void TransferReceiver::forget(Transfers::iterator at) {
  pending_octets_ -= at->second.pending_octets;
  transfers_.erase(at);
}

// --- To the sender -------------------------------------------------------------------------------

void TransferReceiver::send_have(const TransferKey& key, const Incoming& transfer, bool answer) {
  HaveMessage have{.number = {key.number}, .answer = answer, .ranges = transfer.saved.ranges()};
  if (have.ranges.size() > kHaveRangesMax) have.ranges.resize(kHaveRangesMax);
  // The smallest MTU that a node may have takes fewer.
  constexpr std::size_t kRangesInSmallestMtu = 35;
  if (have.ranges.size() > kRangesInSmallestMtu) have.ranges.resize(kRangesInSmallestMtu);
  outbox_.push(key.source, std::move(have));
}

void TransferReceiver::send_signature(const TransferKey& key, const TransferNews& news) {
  for (std::size_t at = 0; at < news.signature.size(); at += kSignaturePartOctets) {
    const ByteSpan part =
        ByteSpan(news.signature)
            .subspan(at, std::min(kSignaturePartOctets, news.signature.size() - at));
    outbox_.push(key.source,
                 SignatureMessage{.number = {key.number},
                                  .total = static_cast<std::uint32_t>(news.signature.size()),
                                  .at = static_cast<std::uint32_t>(at),
                                  .base = news.base,
                                  .octets = Bytes(part.begin(), part.end())});
  }
}

// --- For an operator -----------------------------------------------------------------------------

std::vector<TransferReceiver::Status> TransferReceiver::transfers() const {
  std::vector<Status> list;
  for (const auto& [key, transfer] : transfers_) {
    list.push_back({.key = key,
                    .name = transfer.manifest.name,
                    .octets = transfer.manifest.image_octets,
                    .octets_here = transfer.saved.octets()});
  }
  return list;
}

bool TransferReceiver::request(Instant now, const TransferKey& key, ControlAction action) {
  const auto at = transfers_.find(key);
  if (at == transfers_.end()) return false;
  const TransferNumber number{key.number};
  if (action == ControlAction::cancel) {
    const std::string text = "cancelled by the operator there";
    outbox_.push(key.source, RefuseMessage{number, RefuseReason::cancelled, text});
    on_cancelled(now, key.source, number, "cancelled by the operator");
  } else {
    outbox_.push(
        key.source,
        ControlMessage{.number = number, .action = action, .from_sender = false, .text = {}});
  }
  return true;
}

// --- Time and output -----------------------------------------------------------------------------

void TransferReceiver::on_deadline(Instant now) {
  for (auto& entry : transfers_) {
    const auto again = entry.second.store_again;
    if (again && *again <= now) ask_again(now, entry);
  }
}

std::optional<Instant> TransferReceiver::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, transfer] : transfers_) next = earlier(next, transfer.store_again);
  return next;
}

std::optional<RelayEvent> TransferReceiver::poll_event() {
  return take_front(events_);
}

std::optional<StoreRequest> TransferReceiver::poll_store() {
  return take_front(requests_);
}

}  // namespace s5066::file_relay
