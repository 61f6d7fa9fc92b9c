#include "gateways/file_relay/sender_core.h"

#include <algorithm>
#include <utility>

#include "gateways/common/rcop.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::file_relay {

using gateways::SaveItem;
using gateways::SisRequestId;
using gateways::SisUnidata;
using gateways::StoreRequest;
using gateways::StoreResult;
using gateways::StoreTicket;

namespace {

constexpr std::uint32_t kConnectionIds = 16;
constexpr Duration kTransmissionMax = std::chrono::milliseconds(127500);  // by the EOT field

// The U_PDU_ID names the item, the CONNECTION_ID the attempt: segments of two attempts never mix,
// and the receiver still knows a repeat of the same file (decision 0001).
std::uint8_t connection_of(std::uint32_t attempt) {
  S5066_ASSERT(attempt > 0);
  return static_cast<std::uint8_t>((attempt - 1) % kConnectionIds);
}

bool was_used(std::uint8_t connection_id, std::uint32_t attempts) {
  return connection_id < std::min(attempts, kConnectionIds);
}

}  // namespace

SenderCore::SenderCore(const Config& config, IdSource& ids, const gateways::UtcReference& utc)
    : config_(config), ids_(ids), utc_(utc) {
  S5066_ASSERT(config.active_max > 0 && config.items_max > 0);
  S5066_ASSERT(config.line_rate_bps > 0);
  S5066_ASSERT(config.priority < 16);
}

// --- The subnet ----------------------------------------------------------------------------------

void SenderCore::on_start(Instant now) {
  note(now);
  list(now);
  purge_at_ = now + config_.purge_every;
}

void SenderCore::on_bound(Instant now, std::size_t mtu) {
  note(now);
  mtu_ = mtu;
  admit();
}

// Nobody will report on what was under way. Files that had only the acknowledgement to come keep
// waiting for it; the others start again as soon as there is a subnet.
void SenderCore::on_lost(Instant now) {
  note(now);
  mtu_.reset();
  outstanding_.clear();
  for (auto& [id, item] : items_) {
    if (item.phase == Phase::sending && item.segments_confirmed < item.segments) {
      fail_attempt(item, "connection to the node lost", true);
    }
  }
}

bool SenderCore::on_confirmed(Instant now, SisRequestId id) {
  const auto found = outstanding_.find(id);
  if (found == outstanding_.end()) return false;
  note(now);
  const Outstanding done = found->second;
  outstanding_.erase(found);
  const auto at = items_.find(done.item);
  if (at == items_.end()) return true;
  Item& item = at->second;
  if (item.phase != Phase::sending || item.row.attempts != done.attempt) return true;
  ++item.segments_confirmed;
  item.octets_confirmed += done.octets;
  if (item.next_segment == item.segments) arm_ack_deadline(item);
  if (item.segments_confirmed == item.segments && config_.acknowledgement == AckMode::none) {
    item.acknowledged = true;
    settle(item);
  }
  return true;
}

bool SenderCore::on_refused(Instant now, SisRequestId id, std::string reason) {
  const auto found = outstanding_.find(id);
  if (found == outstanding_.end()) return false;
  note(now);
  const Outstanding refused = found->second;
  outstanding_.erase(found);
  const auto at = items_.find(refused.item);
  if (at == items_.end()) return true;
  Item& item = at->second;
  if (item.phase != Phase::sending || item.row.attempts != refused.attempt) return true;
  fail_attempt(item, reason, false);
  return true;
}

void SenderCore::on_acknowledgement(Instant now, const Acknowledgement& acknowledgement) {
  note(now);
  Item* item = match(acknowledgement);
  if (item == nullptr) {
    ++stats_.acknowledgements_unmatched;
    events_.push_back({.kind = RelayEvent::Kind::acknowledgement_unmatched,
                       .item = {},
                       .peer = acknowledgement.peer,
                       .name = acknowledgement.header ? acknowledgement.header->name : "",
                       .octets = 0,
                       .attempt = 0,
                       .detail = {}});
    return;
  }
  item->acknowledged = true;
  settle(*item);
}

// STANDARD: F.10.2.4 lets a FRAPv2 carry any IDs. Ours must match unless configured otherwise: a
// late acknowledgement of a file must not pass for that of another with the same name and size.
SenderCore::Item* SenderCore::match(const Acknowledgement& acknowledgement) {
  for (auto& [id, item] : items_) {
    const auto& row = item.row;
    if (row.destination != acknowledgement.peer || row.attempts == 0) continue;
    const bool ids = row.updu_id == acknowledgement.updu_id &&
                     was_used(acknowledgement.connection_id, row.attempts);
    const bool header =
        acknowledgement.header && *acknowledgement.header == BftpHeader{row.name, row.size};
    if (acknowledgement.header && !header) continue;
    if (ids || (header && !config_.frap_v2_needs_ids)) return &item;
  }
  return nullptr;
}

// --- Choosing what to send -----------------------------------------------------------------------

void SenderCore::on_spool_changed(Instant now) {
  note(now);
  list(now);
}

void SenderCore::list(Instant now) {
  list_at_ = now + config_.spool_poll;
  if (list_ticket_) {
    list_again_ = true;
    return;
  }
  if (items_.size() >= config_.items_max) return;
  const auto room = static_cast<std::uint32_t>(config_.items_max - items_.size());
  list_ticket_ = ask(gateways::ListOpen{.after = last_listed_, .items_max = room});
}

void SenderCore::add_listed(const gateways::OpenItems& open) {
  for (const auto& row : open.items) {
    last_listed_ = std::max(last_listed_, row.id);
    Item item;
    item.row = row;
    // An attempt that was running when the power went is simply over. Where the clock is or was
    // wrong by years, nothing waits for longer than one that begins now.
    item.next_try = now_;
    if (row.state == SpoolState::deferred) {
      item.next_try = std::min(utc_.instant(row.next_try), now_ + config_.retry_delay_max);
    }
    item.expires = std::min(utc_.instant(row.created), now_) + config_.lifetime_max;
    items_.emplace(row.id, std::move(item));
  }
}

std::uint32_t SenderCore::active() const {
  return static_cast<std::uint32_t>(std::count_if(items_.begin(), items_.end(), [](const auto& at) {
    return at.second.phase != Phase::waiting;
  }));
}

// Expired items are finished whether or not there is a subnet. Then the free places are filled, a
// fresh item and a deferred one in turn, so that neither kind starves the other.
void SenderCore::admit() {
  for (auto& [id, item] : items_) {
    if (item.phase == Phase::waiting && item.expires <= now_) {
      save(item, SpoolState::expired, now_,
           item.row.reason.empty() ? "its time was up" : item.row.reason);
    }
  }
  if (!mtu_) return;
  while (active() < config_.active_max) {
    Item* item = choose_waiting();
    if (item == nullptr) return;
    item->phase = Phase::reading;
    item->ticket = ask(gateways::ReadContent{item->row.id});
  }
}

SenderCore::Item* SenderCore::choose_waiting() {
  Item* fresh = nullptr;
  Item* deferred = nullptr;
  for (auto& [id, item] : items_) {
    if (item.phase != Phase::waiting || item.next_try > now_) continue;
    Item*& best = item.row.attempts == 0 ? fresh : deferred;
    if (best == nullptr || item.next_try < best->next_try) best = &item;
  }
  Item* chosen = prefer_new_ ? (fresh ? fresh : deferred) : (deferred ? deferred : fresh);
  if (chosen != nullptr) prefer_new_ = chosen == deferred;
  return chosen;
}

// --- One attempt ---------------------------------------------------------------------------------

void SenderCore::start_attempt(Item& item, Bytes content) {
  item.pdu = bftp_pdu({item.row.name, item.row.size}, content);
  item.mtu = *mtu_;
  item.segments = gateways::rcop_segment_count(item.pdu.size(), item.mtu);
  if (item.segments > gateways::kRcopSegmentsMax) {
    save(item, SpoolState::failed, now_, "too large for the MTU of the node");
    return;
  }
  item.next_segment = 0;
  item.segments_confirmed = 0;
  item.octets_confirmed = 0;
  ++item.row.attempts;
  save(item, SpoolState::active, now_, item.row.reason);
  item.phase = Phase::starting;
}

std::optional<SisUnidata> SenderCore::poll_updu() {
  if (!mtu_) return std::nullopt;
  const auto at = std::find_if(items_.begin(), items_.end(), [](const auto& entry) {
    return entry.second.phase == Phase::sending &&
           entry.second.next_segment < entry.second.segments;
  });
  if (at == items_.end()) return std::nullopt;
  Item& item = at->second;
  const gateways::RcopHeader header{.connection_id = connection_of(item.row.attempts),
                                    .updu_id = item.row.updu_id,
                                    .segment = static_cast<std::uint16_t>(item.next_segment),
                                    .application_id = kBftpApplication};
  const auto air_s = static_cast<std::uint64_t>(to_seconds(time_on_air(item.pdu.size())));
  const std::uint64_t lifetime_s = config_.updu_lifetime_s + 2 * air_s;
  SisUnidata updu{
      .id = ids_.next_request(),
      .priority = config_.priority,
      .destination = item.row.destination,
      .destination_sap = gateways::kRcopSap,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
      .time_to_live_s = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(lifetime_s, std::uint64_t{2} * sis::kTimeToLiveMax)),
      .updu = gateways::rcop_segment(header, item.pdu, item.mtu)};
  outstanding_[updu.id] = {.item = item.row.id,
                           .attempt = item.row.attempts,
                           .octets = updu.updu.size() - gateways::kRcopHeaderBytes};
  ++item.next_segment;
  if (item.next_segment == item.segments) arm_ack_deadline(item);
  return updu;
}

Duration SenderCore::time_on_air(std::uint64_t octets) const {
  return from_seconds(static_cast<double>(octets) * 8 / config_.line_rate_bps);
}

// Counted from the last sign of life. While segments are unconfirmed the node still works on them,
// behind everything queued in front. Once the far relay has them all it answers soon or never: it
// may have died with segments that it had confirmed.
void SenderCore::arm_ack_deadline(Item& item) {
  if (item.segments_confirmed == item.segments) {
    item.ack_deadline = now_ + config_.ack_wait + 2 * way_of_acknowledgement(item);
  } else {
    item.ack_deadline = now_ + config_.confirm_wait + 2 * time_on_air(octets_outstanding());
  }
}

// Other files may be sent before the line turns round, but no transmission takes longer than its
// announced end can be away (C.3.2.3).
Duration SenderCore::way_of_acknowledgement(const Item& item) const {
  const Duration others = time_on_air(octets_outstanding());
  const std::size_t octets =
      gateways::kRcopHeaderBytes + encoded_bytes({item.row.name, item.row.size});
  return std::min(others, kTransmissionMax) + time_on_air(octets);
}

std::uint64_t SenderCore::octets_outstanding() const {
  std::uint64_t octets = 0;
  for (const auto& [id, outstanding] : outstanding_) octets += outstanding.octets;
  return octets;
}

// The next attempt waits as long as the item is old: 1, 1, 2, 4 … minutes, up to an hour.
void SenderCore::fail_attempt(Item& item, const std::string& reason, bool retry_at_once) {
  ++stats_.attempts_failed;
  emit(RelayEvent::Kind::attempt_failed, item, reason);
  if (item.expires <= now_) {
    save(item, SpoolState::expired, now_, reason);
  } else if (item.row.attempts >= config_.attempts_max) {
    save(item, SpoolState::failed, now_, reason);
  } else {
    const Duration age = now_ - (item.expires - config_.lifetime_max);
    const Duration delay = std::clamp(age, config_.retry_delay_min, config_.retry_delay_max);
    save(item, SpoolState::deferred, retry_at_once ? now_ : now_ + delay, reason);
  }
}

void SenderCore::save(Item& item, SpoolState state, Instant next_try, const std::string& reason) {
  item.phase = Phase::finishing;
  item.next_try = next_try;
  item.row.reason = reason;
  item.ack_deadline.reset();
  if (state != SpoolState::active) item.pdu = {};
  item.save = {.id = item.row.id,
               .state = state,
               .attempts = item.row.attempts,
               .next_try = utc_.utc(next_try),
               .now = utc_.utc(now_),
               .reason = reason};
  request_save(item);
}

void SenderCore::request_save(Item& item) {
  item.save_again.reset();
  item.ticket = ask(item.save);
}

/// Goes on with an item that is not waiting for the store.
void SenderCore::settle(Item& item) {
  if (item.ticket) return;
  if (item.acknowledged && item.row.state != SpoolState::delivered) {
    save(item, SpoolState::delivered, now_, "");
  }
}

// --- The store -----------------------------------------------------------------------------------

StoreTicket SenderCore::ask(gateways::StoreOperation operation) {
  const StoreTicket ticket = ids_.next_ticket();
  requests_.push_back({ticket, std::move(operation)});
  return ticket;
}

void SenderCore::on_clock_set(Instant now, std::chrono::seconds step) {
  note(now);
  clock_tickets_.insert(ask(gateways::MoveTimes{step}));
}

bool SenderCore::on_store_result(Instant now, const StoreResult& result) {
  note(now);
  if (clock_tickets_.erase(result.ticket) > 0) {
    if (!result.answer) store_failed(result.answer.error());
    return true;
  }
  if (result.ticket == list_ticket_) {
    list_ticket_.reset();
    if (const auto* open =
            result.answer ? std::get_if<gateways::OpenItems>(&*result.answer) : nullptr) {
      add_listed(*open);
      store_works();
      if (std::exchange(list_again_, false)) list(now);
    } else {
      store_failed(result.answer.error());
    }
    admit();
    return true;
  }
  if (result.ticket == purge_ticket_) {
    purge_ticket_.reset();
    if (!result.answer) store_failed(result.answer.error());
    return true;
  }
  const auto at = std::find_if(items_.begin(), items_.end(), [&](const auto& entry) {
    return entry.second.ticket == result.ticket;
  });
  if (at == items_.end()) return false;
  at->second.ticket.reset();
  if (at->second.phase == Phase::reading) {
    on_content(at->second, result);
  } else {
    on_saved(at->second, result);
  }
  std::erase_if(items_,
                [](const auto& entry) { return gateways::is_final(entry.second.row.state); });
  admit();
  return true;
}

void SenderCore::on_content(Item& item, const StoreResult& result) {
  if (!result.answer && result.answer.error().code == ErrorCode::bad_checksum) {
    item.row.state = SpoolState::corrupt;  // the store has parked it
    ++stats_.corrupt;
    emit(RelayEvent::Kind::corrupt, item, result.answer.error().detail);
    return;
  }
  item.phase = Phase::waiting;
  if (!result.answer) {
    store_failed(result.answer.error());
    item.next_try = now_ + config_.store_retry;
    return;
  }
  store_works();
  if (item.acknowledged) return settle(item);
  if (!mtu_) return;
  const auto* content = std::get_if<gateways::Content>(&*result.answer);
  S5066_ASSERT(content != nullptr);
  start_attempt(item, content->octets);
}

void SenderCore::on_saved(Item& item, const StoreResult& result) {
  if (!result.answer) {
    store_failed(result.answer.error());
    item.save_again = now_ + config_.store_retry;
    if (item.acknowledged) item.save.state = SpoolState::delivered;
    return;
  }
  store_works();
  if (item.acknowledged && item.save.state != SpoolState::delivered) {
    save(item, SpoolState::delivered, now_, "");  // it came while something else was being noted
    return;
  }
  item.row.state = item.save.state;
  switch (item.save.state) {
    case SpoolState::active:
      item.phase = Phase::sending;
      ++stats_.attempts;
      emit(RelayEvent::Kind::attempt_started, item);
      if (!mtu_) fail_attempt(item, "connection to the node lost", true);
      break;
    case SpoolState::delivered:
      ++stats_.delivered;
      emit(RelayEvent::Kind::delivered, item);
      return;
    case SpoolState::failed:
      ++stats_.failed;
      emit(RelayEvent::Kind::failed, item, item.row.reason);
      return;
    case SpoolState::expired:
      ++stats_.expired;
      emit(RelayEvent::Kind::expired, item, item.row.reason);
      return;
    default:
      item.phase = Phase::waiting;
      break;
  }
}

// One line when storage begins to fail and one when it works again, not one per try.
void SenderCore::store_failed(const Error& error) {
  ++stats_.store_errors;
  if (std::exchange(store_failing_, true)) return;
  events_.push_back({.kind = RelayEvent::Kind::store_failed,
                     .item = {},
                     .peer = {},
                     .name = {},
                     .octets = 0,
                     .attempt = 0,
                     .detail = to_string(error)});
}

void SenderCore::store_works() {
  if (!std::exchange(store_failing_, false)) return;
  RelayEvent event;
  event.kind = RelayEvent::Kind::store_works;
  events_.push_back(event);
}

// --- Time and output -----------------------------------------------------------------------------

void SenderCore::on_deadline(Instant now) {
  note(now);
  if (list_at_ && *list_at_ <= now) list(now);
  if (purge_at_ && *purge_at_ <= now) {
    purge_at_ = now + config_.purge_every;
    if (!purge_ticket_) purge_ticket_ = ask(gateways::Purge{utc_.utc(now)});
  }
  for (auto& [id, item] : items_) {
    if (item.save_again && *item.save_again <= now) {
      request_save(item);
    } else if (item.ack_deadline && *item.ack_deadline <= now) {
      fail_attempt(item, "no acknowledgement", false);
    }
  }
  admit();
}

std::optional<Instant> SenderCore::next_deadline() const {
  std::optional<Instant> next = earlier(list_at_, purge_at_);
  const bool may_start = mtu_ && active() < config_.active_max;
  for (const auto& [id, item] : items_) {
    next = earlier(next, item.save_again);
    next = earlier(next, item.ack_deadline);
    if (item.phase != Phase::waiting) continue;
    next = earlier(next, item.expires);
    if (may_start) next = earlier(next, item.next_try);
  }
  return next;
}

std::optional<RelayEvent> SenderCore::poll_event() {
  if (events_.empty()) return std::nullopt;
  RelayEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::optional<StoreRequest> SenderCore::poll_store() {
  if (requests_.empty()) return std::nullopt;
  StoreRequest request = std::move(requests_.front());
  requests_.pop_front();
  return request;
}

std::vector<TransferStatus> SenderCore::transfers() const {
  std::vector<TransferStatus> transfers;
  for (const auto& [id, item] : items_) {
    if (item.phase != Phase::sending) continue;
    transfers.push_back({.item = id,
                         .destination = item.row.destination,
                         .name = item.row.name,
                         .attempt = item.row.attempts,
                         .octets = item.pdu.size(),
                         .octets_confirmed = item.octets_confirmed});
  }
  return transfers;
}

void SenderCore::emit(RelayEvent::Kind kind, const Item& item, std::string detail) {
  events_.push_back({.kind = kind,
                     .item = item.row.id,
                     .peer = item.row.destination,
                     .name = item.row.name,
                     .octets = item.row.size,
                     .attempt = item.row.attempts,
                     .detail = std::move(detail)});
}

}  // namespace s5066::file_relay
