// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/multicast_receiver_core.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {

using gateways::SaveBlocks;
using gateways::StoreRequest;
using gateways::StoreResult;
using gateways::TransferKey;
using gateways::TransferNews;

namespace {

constexpr CounterTable<MulticastReceiverCounter> kCounters({
    {MulticastReceiverCounter::messages, "relay_multicast_received", "messages",
     "whole messages with files that came by P_MUL"},
    {MulticastReceiverCounter::parts, "relay_multicast_parts", "messages",
     "messages without acknowledgement of which only a part came"},
    {MulticastReceiverCounter::unreadable, "relay_multicast_unreadable", "messages",
     "messages by P_MUL that bring no file, or in which something cannot be read"},
    {MulticastReceiverCounter::refused, "relay_multicast_refused", "files",
     "files by P_MUL that were refused because of the access table, their size or the room here"},
    {MulticastReceiverCounter::files, "relay_multicast_files", "files",
     "files that came by P_MUL and were stored whole in the inbox"},
    {MulticastReceiverCounter::files_with_holes, "relay_multicast_files_with_holes", "files",
     "files that came by P_MUL and were stored with holes"},
    {MulticastReceiverCounter::files_incomplete, "relay_multicast_files_incomplete", "files",
     "files by P_MUL of which too little came"},
    {MulticastReceiverCounter::store_errors, "relay_multicast_receiver_store_errors", "errors",
     "requests for files by P_MUL that the disk or the spool could not carry out"},
});

/// This many cancelled files are remembered. Parts of an older one are taken again.
constexpr std::size_t kCancelledMax = 64;

/// Cuts a message at the size of its first block. Blocks of other sizes would make more records
/// than a message has blocks, and are no file.
std::vector<Bytes> records_of(const Bytes& content, std::size_t record_octets) {
  std::vector<Bytes> records;
  if (record_octets == 0 || content.size() / record_octets > p_mul::kBlocksMax) return records;
  const ByteSpan all(content);
  for (std::size_t at = 0; at < all.size(); at += record_octets) {
    const ByteSpan record = all.subspan(at, std::min(record_octets, all.size() - at));
    records.emplace_back(record.begin(), record.end());
  }
  return records;
}

}  // namespace

const CounterTable<MulticastReceiverCounter>& counter_table(MulticastReceiverCounter) {
  return kCounters;
}

MulticastReceiverCore::MulticastReceiverCore(const Config& config, IdSource& ids,
                                             const UtcClock& utc, p_mul::PMulCore& p_mul,
                                             MessageOutbox& outbox)
    : config_(config), ids_(ids), utc_(utc), p_mul_(p_mul), outbox_(outbox) {}

void MulticastReceiverCore::on_start(Instant now) {
  names_ticket_ = ids_.next_ticket();
  requests_.push_back({*names_ticket_, gateways::ListNames{utc_.utc(now)}});
  look_at_ = now + config_.look_every;
}

void MulticastReceiverCore::look(Instant now) {
  look_at_ = now + config_.look_every;
  if (overdue_ticket_) return;
  overdue_ticket_ = ids_.next_ticket();
  requests_.push_back({*overdue_ticket_, gateways::EndOverdue{utc_.utc(now)}});
}

// --- From the air --------------------------------------------------------------------------------

void MulticastReceiverCore::on_received(Instant now, const p_mul::Received& message) {
  counters_.add(MulticastReceiverCounter::messages);
  Pending pending{.one_way = message.one_way};
  pending.operation.whole = true;
  pending.operation.last = message.one_way;
  pending.operation.expiry = message.expiry;
  take(now, message.name, records_of(message.content, message.block_octets), std::move(pending));
}

void MulticastReceiverCore::on_part(Instant now, const p_mul::ReceivedPart& part) {
  counters_.add(MulticastReceiverCounter::parts);
  Pending pending{.one_way = true};
  pending.operation.last = true;
  pending.operation.expiry = part.expiry;
  take(now, part.name, part.blocks, std::move(pending));
}

void MulticastReceiverCore::take(Instant now, const p_mul::MessageName& name,
                                 const std::vector<Bytes>& records, Pending pending) {
  Envelope envelope = read_envelope(records);
  if (envelope.unreadable > 0 || !envelope.number) {
    counters_.add(MulticastReceiverCounter::unreadable);
  }
  const Address source{name.source.value};
  if (!envelope.number) {
    RelayEvent event;
    event.kind = RelayEvent::Kind::message_ignored;
    event.peer = source;
    event.detail = "a message by P_MUL brings no file";
    events_.push_back(std::move(event));
    if (pending.operation.whole) p_mul_.on_refused(now, name);
    return;
  }
  gateways::TakeMessage& operation = pending.operation;
  operation.key = {source, envelope.number->value};
  operation.message_id = name.message_id;
  operation.now = utc_.utc(now);
  operation.quota = config_.access.of(source).quota;
  if (std::find(cancelled_.begin(), cancelled_.end(), operation.key) != cancelled_.end()) {
    return refuse(now, name, pending,
                  {*envelope.number, RefuseReason::cancelled, "cancelled by the operator there"});
  }
  auto blocks = std::make_shared<std::vector<SaveBlocks::Block>>();
  const std::uint64_t end = envelope.offer ? envelope.offer->manifest.image_octets : UINT32_MAX;
  for (BlockMessage& block : envelope.blocks) {
    if (std::uint64_t{block.at} + block.octets.size() > end) continue;
    blocks->push_back({block.at, std::move(block.octets)});
  }
  operation.blocks = std::move(blocks);
  if (envelope.offer) {
    if (auto refusal =
            refusal_of(*envelope.offer, config_.access.of(source), config_.file_octets_max)) {
      return refuse(now, name, pending, std::move(*refusal));
    }
    const bool plain = envelope.offer->manifest.form == gateways::ImageForm::plain;
    operation.holes = envelope.offer->holes && plain;  // another image gives no file with holes
    operation.head = operation.holes && envelope.offer->head;
    operation.manifest = std::move(envelope.offer->manifest);
  }
  ask(std::move(pending));
}

void MulticastReceiverCore::refuse(Instant now, const p_mul::MessageName& name,
                                   const Pending& pending, RefuseMessage refusal) {
  counters_.add(MulticastReceiverCounter::refused);
  RelayEvent event;
  event.kind = RelayEvent::Kind::file_dropped;
  event.peer = Address{name.source.value};
  event.detail = refusal.text;
  events_.push_back(std::move(event));
  p_mul_.on_refused(now, name);
  if (!pending.one_way) outbox_.push(Address{name.source.value}, std::move(refusal));
}

// --- The spool -----------------------------------------------------------------------------------

void MulticastReceiverCore::ask(Pending pending) {
  const auto ticket = ids_.next_ticket();
  requests_.push_back({ticket, pending.operation});
  pending_.emplace(ticket, std::move(pending));
}

bool MulticastReceiverCore::on_store_result(Instant now, const StoreResult& result) {
  if (result.ticket == names_ticket_) {
    names_ticket_.reset();
    const auto* known =
        result.answer ? std::get_if<gateways::KnownNames>(&*result.answer) : nullptr;
    if (known == nullptr) {
      counters_.add(MulticastReceiverCounter::store_errors);
      return true;
    }
    for (const auto& name : known->names) {
      p_mul_.on_known(now, {p_mul::NodeId{name.source.value}, name.message_id}, name.expiry);
    }
    return true;
  }
  if (result.ticket == overdue_ticket_) {
    overdue_ticket_.reset();
    const auto* ended =
        result.answer ? std::get_if<gateways::FilesEnded>(&*result.answer) : nullptr;
    if (ended == nullptr) {
      counters_.add(MulticastReceiverCounter::store_errors);
      return true;
    }
    for (const auto& file : ended->files) tell(file.key, file.news);
    return true;
  }
  const auto at = pending_.find(result.ticket);
  if (at == pending_.end()) return false;
  Pending pending = std::move(at->second);
  pending_.erase(at);
  if (const auto* news = result.answer ? std::get_if<TransferNews>(&*result.answer) : nullptr) {
    on_taken(now, pending, *news);
  } else {
    on_failed(now, std::move(pending), result.answer.error());
  }
  return true;
}

void MulticastReceiverCore::on_failed(Instant now, Pending pending, const Error& error) {
  const gateways::TakeMessage& operation = pending.operation;
  const p_mul::MessageName name{p_mul::NodeId{operation.key.source.value}, operation.message_id};
  if (error.code == ErrorCode::not_found) {  // no offer has come of it
    RelayEvent event;
    event.kind = RelayEvent::Kind::file_incomplete;
    event.transfer = std::to_string(operation.key.number);
    event.peer = operation.key.source;
    event.detail = "some of its octets came, but not its name";
    events_.push_back(std::move(event));
    counters_.add(MulticastReceiverCounter::files_incomplete);
    if (operation.whole) p_mul_.on_refused(now, name);
    return;
  }
  counters_.add(MulticastReceiverCounter::store_errors);
  if (operation.whole) return p_mul_.on_not_committed(now, name);
  if (again_.size() >= config_.parts_max) again_.pop_front();
  again_.push_back(std::move(pending));
  again_at_ = now + config_.store_retry;
}

void MulticastReceiverCore::on_taken(Instant now, const Pending& pending,
                                     const TransferNews& news) {
  const gateways::TakeMessage& operation = pending.operation;
  const p_mul::MessageName name{p_mul::NodeId{operation.key.source.value}, operation.message_id};
  using State = TransferNews::State;
  tell(operation.key, news);
  const bool late = !operation.whole || operation.expiry <= utc_.utc(now);
  if (news.state == State::no_room && late) {
    return refuse(now, name, pending,
                  {TransferNumber{operation.key.number}, RefuseReason::no_room, news.text});
  }
  if (!operation.whole) return;
  // A message without holes that does not complete its file has brought something else than was
  // offered. It is tried once more.
  const bool has_offer = operation.manifest.has_value() || !pending.one_way;
  const bool wrong = news.state == State::open && has_offer && !operation.holes;
  if (wrong || news.state == State::no_room) return p_mul_.on_not_committed(now, name);
  if (news.state == State::bad || news.state == State::no_base) {
    return refuse(now, name, pending,
                  {TransferNumber{operation.key.number}, RefuseReason::bad_digest, news.text});
  }
  p_mul_.on_committed(now, name);
}

void MulticastReceiverCore::tell(const TransferKey& key, const TransferNews& news) {
  using State = TransferNews::State;
  RelayEvent event;
  event.transfer =
      news.sha256.empty() ? std::to_string(key.number) : transfer_name(key.number, news.sha256);
  event.peer = key.source;
  event.name = news.name;
  event.octets = news.size;
  switch (news.state) {
    case State::open:
    case State::no_room:
    case State::no_base:
      return;
    case State::done:
      if (news.repeated) {
        event.kind = RelayEvent::Kind::repeat_received;
      } else if (news.holes.empty()) {
        counters_.add(MulticastReceiverCounter::files);
        event.kind = RelayEvent::Kind::file_received;
      } else {
        counters_.add(MulticastReceiverCounter::files_with_holes);
        event.kind = RelayEvent::Kind::file_received;
      }
      event.detail = news.inbox_name;
      if (news.holes.empty()) event.sha256 = news.sha256;
      if (!news.holes.empty()) {
        event.detail += "; " + std::to_string(news.holes.octets()) + " octets are missing";
      }
      break;
    case State::bad:
      counters_.add(MulticastReceiverCounter::files_incomplete);
      event.kind = RelayEvent::Kind::file_incomplete;
      event.detail = news.text;
      break;
  }
  events_.push_back(std::move(event));
}

void MulticastReceiverCore::on_cancelled(const TransferKey& key) {
  std::erase_if(again_, [&](const Pending& part) { return part.operation.key == key; });
  if (cancelled_.size() >= kCancelledMax) cancelled_.pop_front();
  cancelled_.push_back(key);
}

// --- Time and output -----------------------------------------------------------------------------

void MulticastReceiverCore::on_deadline(Instant now) {
  if (look_at_ && *look_at_ <= now) look(now);
  if (again_at_ && *again_at_ <= now) {
    again_at_.reset();
    for (Pending& pending : std::exchange(again_, {})) ask(std::move(pending));
  }
}

std::optional<Instant> MulticastReceiverCore::next_deadline() const {
  return earlier(look_at_, again_at_);
}

std::optional<RelayEvent> MulticastReceiverCore::poll_event() {
  return take_front(events_);
}

std::optional<StoreRequest> MulticastReceiverCore::poll_store() {
  return take_front(requests_);
}

}  // namespace s5066::file_relay
