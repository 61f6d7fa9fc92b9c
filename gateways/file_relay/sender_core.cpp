// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/sender_core.h"

#include <algorithm>
#include <utility>

#include "gateways/common/rcop.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/fair_turn.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {

using gateways::SaveItem;
using gateways::SisRequestId;
using gateways::SisUnidata;
using gateways::StoreRequest;
using gateways::StoreResult;
using gateways::StoreTicket;

namespace {

constexpr CounterTable<RelaySenderCounter> kSenderCounters({
    {RelaySenderCounter::attempts, "relay_attempts", "attempts",
     "attempts to send a file that began"},
    {RelaySenderCounter::attempts_failed, "relay_attempts_failed", "attempts",
     "attempts that failed and are repeated later"},
    {RelaySenderCounter::delivered, "relay_files_delivered", "files",
     "files delivered, as the configured acknowledgement requires"},
    {RelaySenderCounter::failed, "relay_files_failed", "files", "files given up"},
    {RelaySenderCounter::expired, "relay_files_expired", "files",
     "files whose time ended before their delivery"},
    {RelaySenderCounter::corrupt, "relay_files_corrupt", "files",
     "files of the spool whose content was damaged"},
    {RelaySenderCounter::acknowledgements_unmatched, "relay_acknowledgements_unmatched", "messages",
     "acknowledgements received that match no file under way"},
    {RelaySenderCounter::store_errors, "relay_sender_store_errors", "errors",
     "requests of the sender that the spool could not carry out"},
    {RelaySenderCounter::spool_scans, "relay_spool_scans", "scans",
     "times that all waiting files were looked through"},
    {RelaySenderCounter::offers, "relay_offers_sent", "offers",
     "offers of the transfer service handed to the node"},
    {RelaySenderCounter::blocks, "relay_blocks_sent", "blocks",
     "blocks of files handed to the node"},
    {RelaySenderCounter::resumed_octets, "relay_resumed_octets", "octets",
     "octets that a receiver had from an earlier attempt, so that they were not sent again"},
    {RelaySenderCounter::transfers, "relay_transfers_delivered", "files",
     "files delivered by the transfer service"},
    {RelaySenderCounter::messages_unmatched, "relay_answers_unmatched", "messages",
     "answers of the transfer service that match no file here"},
    {RelaySenderCounter::udop_segments, "relay_udop_segments", "segments",
     "segments of files handed to the node without ARQ"},
    {RelaySenderCounter::sent, "relay_files_sent", "files",
     "files sent without ARQ and without acknowledgement"},
});

constexpr std::uint32_t kConnectionIds = 16;
/// One of so many U_PDUs to a station belongs to the file served longest ago.
constexpr std::uint64_t kFairTurn = 4;
/// A file whose acknowledgement may be lost goes again before so many others have arrived, because
/// the receiver takes its U_PDU_ID for a new file after twice as many (decision 0001).
constexpr unsigned kOvertakenMax = 64;
constexpr std::uint64_t kUpduLifetimeMinS = 60;
constexpr const char* kNoAcknowledgement = "no acknowledgement";
constexpr const char* kConnectionLost = "connection to the node lost";
constexpr const char* kOwnSilence = "our own EMCON began";
constexpr const char* kWindowClosed = "its transfer window ended";
constexpr std::size_t kTransmissionOctetsMin = 16384;
constexpr std::size_t kDoneOctets = 14;  // octets of a DONE message
// Most requests for releases that are at the store at one time.
constexpr std::size_t kReleasesMax = 64;
// Unanswered offers before the station is asked whether it has the service.
constexpr unsigned kUnansweredMax = 3;
constexpr int kAnswerShare = 4;  // an answer may take this many times as long as its offer
constexpr std::size_t kSignatureFileMin = 4096;                           // smaller files go whole
constexpr Duration kTransmissionMax = std::chrono::milliseconds(127500);  // limit of the EOT field
constexpr SapId kUdopSap{7};
/// Tells the requests of this core from those of P_MUL, which uses the same SAP.
constexpr std::uint64_t kUdopRequests = std::uint64_t{1} << 63;

// The U_PDU_ID names the item, the CONNECTION_ID the attempt: segments of two attempts never mix,
// and the receiver still knows a repeat of the same file (decision 0001).
std::uint8_t connection_of(std::uint32_t attempt) {
  S5066_ASSERT(attempt > 0);
  return static_cast<std::uint8_t>((attempt - 1) % kConnectionIds);
}

// The spool never uses a number again, and the receiver compares the hash, too.
TransferNumber number_of(SpoolId id) {
  return {static_cast<std::uint32_t>(id.value & UINT32_MAX)};
}

bool was_used(std::uint8_t connection_id, std::uint32_t attempts) {
  return connection_id < std::min(attempts, kConnectionIds);
}

}  // namespace

const CounterTable<RelaySenderCounter>& counter_table(RelaySenderCounter) {
  return kSenderCounters;
}

SenderCore::SenderCore(const Config& config, IdSource& ids, const UtcClock& utc,
                       MessageOutbox& outbox)
    : config_(config), ids_(ids), utc_(utc), outbox_(outbox) {
  S5066_ASSERT(config.active_max > 0 && config.items_max > 0);
  S5066_ASSERT(config.line_rate_bps > 0);
  S5066_ASSERT(config.priority < 16);
  S5066_ASSERT(config.unheard_outstanding_max > 0 && config.station_outstanding_max > 0);
  S5066_ASSERT(config.outstanding_max > 0 && config.piece_octets > 1);
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

// The node will not report on segments under way. Files that had only the acknowledgement to come
// keep waiting for it; the others start again as soon as there is a subnet.
void SenderCore::on_lost(Instant now) {
  note(now);
  mtu_.reset();
  outstanding_.clear();
  octets_outstanding_ = 0;
  for (auto& [address, station] : stations_) {
    station.outstanding = 0;
    station.window.on_lost();
  }
  for (const SpoolId id : active_) {
    Item& item = items_.at(id);
    if (by_udop(item)) continue;
    if (item.phase == Phase::sending && !is_all_confirmed(item)) {
      fail_attempt(item, kConnectionLost, true);
    }
  }
}

void SenderCore::on_udop_bound(Instant now, std::size_t mtu) {
  note(now);
  udop_mtu_ = mtu;
  udop_clear_at_ = now;
  admit();
}

// The node has dropped what it had not transmitted.
void SenderCore::on_udop_lost(Instant now) {
  note(now);
  udop_mtu_.reset();
  fail_unsent_udop(kConnectionLost);
}

// The node keeps what it was given and transmits none of it, so that nobody knows when it leaves. A
// repeat does no harm.
void SenderCore::on_own_silence(Instant now) {
  note(now);
  fail_unsent_udop(kOwnSilence);
}

void SenderCore::fail_unsent_udop(const std::string& reason) {
  for (const SpoolId id : active_) {
    Item& item = items_.at(id);
    if (!by_udop(item) || item.phase != Phase::sending) continue;
    if (is_all_sent(item) && item.left_at <= now_) continue;
    fail_attempt(item, reason, true);
  }
}

void SenderCore::on_udop_refused(Instant now, SisRequestId id, const std::string& reason) {
  note(now);
  if (!udop_last_ || udop_last_->first != id) return;
  const auto at = items_.find(udop_last_->second);
  if (at == items_.end() || at->second.phase != Phase::sending) return;
  fail_attempt(at->second, reason, false);
}

SenderCore::Outstanding SenderCore::end_outstanding(
    std::map<SisRequestId, Outstanding>::iterator at) {
  Outstanding ended = at->second;
  outstanding_.erase(at);
  octets_outstanding_ -= ended.octets;
  --stations_.at(ended.station).outstanding;
  return ended;
}

bool SenderCore::on_confirmed(Instant now, SisRequestId id) {
  const auto found = outstanding_.find(id);
  if (found == outstanding_.end()) return false;
  note(now);
  stations_.at(found->second.station).window.on_confirmed(now, id);
  const Outstanding done = end_outstanding(found);
  on_heard(now, done.station);
  const auto at = items_.find(done.item);
  if (at == items_.end()) return true;
  Item& item = at->second;
  if (item.phase != Phase::sending || item.row.attempts != done.attempt) return true;
  item.progress_at = now;
  if (item.transfer) {
    item.advanced_at = now;
    if (done.part.offer) item.offer_took = now - done.handed;
    item.transfer->on_confirmed(done.part);
    if (is_all_sent(item)) arm_ack_deadline(item);
    return true;
  }
  ++item.segments_confirmed;
  item.octets_confirmed += done.octets;
  if (item.next_segment == item.segments) arm_ack_deadline(item);
  const bool unacknowledged = acknowledgement_of(done.station) == AckMode::none;
  if (item.segments_confirmed == item.segments && unacknowledged) {
    item.acknowledged = true;
    settle(item);
  }
  return true;
}

bool SenderCore::on_refused(Instant now, SisRequestId id, std::string reason) {
  const auto found = outstanding_.find(id);
  if (found == outstanding_.end()) return false;
  note(now);
  stations_.at(found->second.station).window.on_failed(id);
  const Outstanding refused = end_outstanding(found);
  const auto at = items_.find(refused.item);
  if (at == items_.end()) return true;
  Item& item = at->second;
  if (item.phase != Phase::sending || item.row.attempts != refused.attempt) return true;
  on_station_failed(item, reason);
  fail_attempt(item, reason, false);
  return true;
}

void SenderCore::on_acknowledgement(Instant now, const Acknowledgement& acknowledgement) {
  note(now);
  Item* item = match(acknowledgement);
  if (item == nullptr) {
    counters_.add(RelaySenderCounter::acknowledgements_unmatched);
    events_.push_back({.kind = RelayEvent::Kind::acknowledgement_unmatched,
                       .item = {},
                       .transfer = std::to_string(acknowledgement.updu_id),
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
    add(row);
  }
  for (const SpoolId id : open.parked) {
    counters_.add(RelaySenderCounter::corrupt);
    events_.push_back(parked_event(id));
  }
  listed_before_ = true;
}

void SenderCore::add(const gateways::SpoolItem& row) {
  Item item;
  item.row = row;
  item.listed = now_;
  item.pdu_octets = encoded_bytes({row.name, row.size}) + row.size;
  // An attempt that was running when the power went is simply over. Where the clock is or was wrong
  // by years, nothing waits for longer than one that begins now.
  item.next_try = now_;
  if (row.state == SpoolState::deferred) {
    item.next_try = std::min(utc_.instant(row.next_try), now_ + config_.retry_delay_max);
    item.station_failed = row.reason != kNoAcknowledgement && row.reason != kWindowClosed;
  }
  // A file that was handed over while we run is new, whatever a clock that was set meanwhile says.
  const bool is_new = listed_before_ && row.attempts == 0;
  const Instant accepted = is_new ? now_ : std::min(utc_.instant(row.created), now_);
  item.expires = accepted + config_.lifetime_max;
  item.advanced_at = accepted;
  // The row does not say which attempts those were.
  if (config_.transfer_service || row.reason == kWindowClosed) {
    item.attempts_not_counted = row.attempts;
  }
  stations_.try_emplace(row.destination);
  items_.emplace(row.id, std::move(item));
}

SenderCore::InHand SenderCore::in_hand(SpoolId id) const {
  const auto at = items_.find(id);
  if (at == items_.end()) {
    // The list that is under way may have the file as it is now.
    return list_ticket_ && id > last_listed_ ? InHand::busy : InHand::no;
  }
  if (at->second.phase == Phase::waiting) return InHand::no;
  return at->second.phase == Phase::sending ? InHand::sending : InHand::busy;
}

void SenderCore::on_changed(Instant now, const gateways::SpoolItem& row, bool at_once) {
  note(now);
  S5066_ASSERT(in_hand(row.id) != InHand::busy);
  if (const auto at = items_.find(row.id); at != items_.end()) {
    if (gateways::is_over(row.state)) tell_cancelled(at->second);
    forget(at->second);
  }
  if (row.id > last_listed_) return list(now);
  if (!gateways::is_final(row.state)) add(row);
  const auto station = stations_.find(row.destination);
  if (at_once && station != stations_.end()) station->second.probe_at = now;
  admit();
}

void SenderCore::set_phase(Item& item, Phase phase) {
  item.phase = phase;
  if (phase == Phase::waiting || phase == Phase::finishing) place_freed_ = true;
  if (phase == Phase::waiting) {
    active_.erase(item.row.id);
  } else {
    active_.insert(item.row.id);
  }
}

// Expiry needs no subnet and no place.
void SenderCore::expire_waiting() {
  for (auto& [id, item] : items_) {
    if (item.phase != Phase::waiting || item.expires > now_) continue;
    save(item, SpoolState::expired, now_, expiry_reason(item));
  }
}

std::string SenderCore::expiry_reason(const Item& item) const {
  const bool some =
      item.transfer ? item.transfer->octets_confirmed() > 0 : item.segments_confirmed > 0;
  if (item.phase == Phase::sending && some) {
    return "its lifetime ended before the whole file had arrived";
  }
  if (window_opens_at(item) > now_) return "its lifetime ended outside of its transfer window";
  if (!item.row.reason.empty()) return item.row.reason;
  if (!is_silent(item.row.destination)) return "its lifetime ended";
  return "the station does not answer: " + stations_.at(item.row.destination).reason;
}

Instant SenderCore::window_opens_at(const Item& item) const {
  const UtcSeconds now = utc_.utc(now_);
  const UtcSeconds opens =
      config_.sending.of(item.row.destination).opens_at(now, priority_of(item));
  return opens == now ? now_ : utc_.instant(opens);
}

/// Returns when the window ends in which octets of the item are being handed over.
std::optional<Instant> SenderCore::window_closes_at(const Item& item) const {
  if (!has_segments_left(item)) return std::nullopt;
  const UtcSeconds now = utc_.utc(now_);
  const SendingRule& rule = config_.sending.of(item.row.destination);
  if (rule.opens_at(now, priority_of(item)) > now) return now_;
  const auto closes = rule.closes_at(now, priority_of(item));
  return closes ? std::optional(utc_.instant(*closes)) : std::nullopt;
}

// The node may still send what it has. The attempt has not failed, so it does not count. The next
// window is looked up when it is needed, because the clock may be set until then.
void SenderCore::end_for_window(Item& item) {
  emit(RelayEvent::Kind::attempt_failed, item, kWindowClosed);
  if (!item.by_transfer) ++item.attempts_not_counted;
  save(item, SpoolState::deferred, now_, kWindowClosed);
}

/// When the item may be tried next. A silent station is tried with one file at growing intervals; a
/// file that was accepted since then need not wait for the whole of such an interval.
Instant SenderCore::due_at(const Item& item) const {
  const Station& station = stations_.at(item.row.destination);
  const Instant opens = window_opens_at(item);
  if (!station.silent_since || by_udop(item)) return std::max(item.next_try, opens);
  const bool newer = item.listed > station.failed_at;
  const Instant probe =
      newer ? std::min(station.probe_at, station.failed_at + config_.retry_delay_min)
            : station.probe_at;
  return std::max({item.next_try, probe, opens});
}

void SenderCore::take_place(const Item& item, Places& places) const {
  const bool large = is_large(item);
  ++places.taken[large];
  places.priority_max[large] = std::max(places.priority_max[large], priority_of(item));
}

bool SenderCore::has_place(const Item& item, const Places& places, std::size_t active) const {
  const std::uint32_t both = places.taken[0] + places.taken[1];
  if (both == 0) return true;
  if (active >= config_.active_total_max) return false;
  if (is_silent(item.row.destination) && !by_udop(item)) return false;
  const bool large = is_large(item);
  if (places.taken[large] < config_.active_max) return true;
  return priority_of(item) > places.priority_max[large] &&
         places.taken[large] < 2 * config_.active_max;
}

// Looks through all files that wait, of which there may be thousands, so it is not done for
// nothing.
void SenderCore::admit_if_due() {
  if (place_freed_ || (waiting_deadline_ && *waiting_deadline_ <= now_)) admit();
}

void SenderCore::admit() {
  counters_.add(RelaySenderCounter::spool_scans);
  expire_waiting();
  place_freed_ = false;
  std::map<Address, Places> places;
  std::size_t active = 0;
  for (const SpoolId id : active_) {
    const Item& item = items_.at(id);
    if (item.phase == Phase::finishing) continue;
    take_place(item, places[item.row.destination]);
    ++active;
  }
  waiting_deadline_.reset();
  std::vector<Item*> due;
  for (auto& [id, item] : items_) {
    if (item.phase != Phase::waiting) continue;
    waiting_deadline_ = earlier(waiting_deadline_, item.expires);
    if (!mtu_for(item)) continue;
    const Instant at = due_at(item);
    if (at <= now_) {
      due.push_back(&item);
    } else {
      waiting_deadline_ = earlier(waiting_deadline_, at);
    }
  }
  std::stable_sort(due.begin(), due.end(), [&](const Item* a, const Item* b) {
    const auto urgency = [&](const Item& item) {
      return std::pair(item.overtaken >= kOvertakenMax, priority_of(item));
    };
    const auto first = urgency(*a);
    const auto second = urgency(*b);
    return first != second ? first > second : a->next_try < b->next_try;
  });
  for (Item* item : due) {
    Places& of_station = places[item->row.destination];
    if (!has_place(*item, of_station, active)) continue;
    take_place(*item, of_station);
    ++active;
    set_phase(*item, Phase::reading);
    item->admitted = now_;
    item->ticket = ask(first_request(*item));
    tickets_[*item->ticket] = item->row.id;
  }
}

void SenderCore::forget(Item& item) {
  const SpoolId id = item.row.id;
  active_.erase(id);
  items_.erase(id);
  place_freed_ = true;
}

// --- Stations ------------------------------------------------------------------------------------

// A station without files is as good as new once it was not heard for so long that it would be
// sent little at first, or was silent for so long that a new file would be tried at once. A station
// without the transfer service is kept until it is asked again, so that it costs one offer a day.
void SenderCore::forget_stations() {
  std::set<Address> with_files;
  for (const auto& [id, item] : items_) with_files.insert(item.row.destination);
  std::erase_if(stations_, [&](const auto& entry) {
    const auto& [address, station] = entry;
    if (station.outstanding > 0 || with_files.contains(address)) return false;
    const bool absent = station.service == Service::absent &&
                        now_ - station.service_at < config_.service_asked_again;
    if (absent && stations_.size() <= config_.stations_max) return false;
    if (station.silent_since) return now_ - station.failed_at >= config_.retry_delay_max;
    return !station.heard_at || now_ - *station.heard_at >= config_.heard_for;
  });
}

bool SenderCore::is_silent(Address station) const {
  const auto at = stations_.find(station);
  return at != stations_.end() && at->second.silent_since.has_value();
}

// A refusal between confirmations is about one file, not about the station. Otherwise files of
// which the node has nothing go back, too; of the others it will tell.
void SenderCore::on_station_failed(Item& item, const std::string& reason) {
  Station& station = stations_.at(item.row.destination);
  if (station.heard_at && now_ - *station.heard_at < config_.retry_delay_min) return;
  item.station_failed = true;
  if (!station.silent_since) {
    station.silent_since = now_;
    emit(RelayEvent::Kind::station_silent, item.row.destination, reason);
  }
  station.failed_at = now_;
  const Duration silent_for = now_ - *station.silent_since;
  station.probe_at =
      now_ + (item.by_transfer ? early_retry_delay(silent_for) : retry_delay(silent_for));
  station.reason = reason;
  for (const SpoolId id : active_) {
    Item& other = items_.at(id);
    if (&other == &item || other.row.destination != item.row.destination) continue;
    if (by_udop(other) || !has_segments_left(other) || has_octets_at_node(other)) continue;
    other.station_failed = true;
    fail_attempt(other, reason, false);
  }
}

/// True if the station of the item has failed since the item was admitted.
bool SenderCore::failed_meanwhile(const Item& item) const {
  const Station& station = stations_.at(item.row.destination);
  return !by_udop(item) && station.silent_since && item.admitted <= station.failed_at;
}

// Files that were refused while it was silent go again at once, but not within a minute.
void SenderCore::on_heard(Instant now, Address address) {
  note(now);
  const auto at = stations_.find(address);
  if (at == stations_.end()) return;
  Station& station = at->second;
  station.heard_at = now;
  if (!station.silent_since) return;
  station.silent_since.reset();
  emit(RelayEvent::Kind::station_answering, address, {});
  const Instant again = std::max(now, station.failed_at + config_.retry_delay_min);
  for (auto& [id, item] : items_) {
    if (item.row.destination != address || !item.station_failed) continue;
    item.next_try = std::min(item.next_try, again);
  }
  admit();
}

Duration SenderCore::retry_delay(Duration since) const {
  return std::clamp(since, config_.retry_delay_min, config_.retry_delay_max);
}

// An attempt that fails costs a station without the transfer service one of a limited number, and
// a whole file on the air.
Duration SenderCore::early_retry_delay(Duration since) const {
  const Duration delay = retry_delay(since);
  if (since >= config_.early_for) return delay;
  return std::min(delay, std::max(config_.early_delay_max, config_.retry_delay_min));
}

// --- One attempt ---------------------------------------------------------------------------------

void SenderCore::start_attempt(Item& item, Bytes content) {
  item.transfer.reset();
  item.by_transfer = false;
  item.pdu_octets = encoded_bytes({item.row.name, item.row.size}) + item.row.size;
  item.mtu = *mtu_for(item);
  item.segments = gateways::rcop_segment_count(item.pdu_octets, item.mtu);
  if (item.segments > gateways::kRcopSegmentsMax) {
    save(item, SpoolState::failed, now_, "the file needs too many segments at the MTU of the node");
    return;
  }
  item.piece.clear();
  encode(BftpHeader{item.row.name, item.row.size}, item.piece);
  append(item.piece, content);
  item.piece_at = 0;
  item.next_segment = 0;
  item.segments_confirmed = 0;
  item.octets_confirmed = 0;
  item.progress_at = now_;
  item.station_failed = false;
  item.overtaken = 0;
  ++item.row.attempts;
  save(item, SpoolState::active, now_, item.row.reason);
}

std::uint8_t SenderCore::priority_of(const Item& item) const {
  return item.row.priority.value_or(config_.priority);
}

std::uint8_t SenderCore::updu_priority(const Item& item) const {
  const std::uint8_t priority = priority_of(item);
  const bool stalled = now_ - item.progress_at >= config_.stalled_after;
  return is_large(item) && !stalled && priority > 0 ? priority - 1 : priority;
}

bool SenderCore::has_segments_left(const Item& item) {
  return item.phase == Phase::sending && !is_all_sent(item);
}

bool SenderCore::is_all_sent(const Item& item) {
  return item.transfer ? !item.transfer->next().has_value() : item.next_segment == item.segments;
}

/// Returns true if only the answer of the other relay is missing.
bool SenderCore::is_all_confirmed(const Item& item) {
  if (item.transfer) return is_all_sent(item) && item.transfer->is_clear();
  return item.segments_confirmed == item.segments;
}

bool SenderCore::has_octets_at_node(const Item& item) {
  return item.transfer ? !item.transfer->is_clear() : item.next_segment > item.segments_confirmed;
}

std::size_t SenderCore::octets_left(const Item& item) const {
  if (item.transfer) return static_cast<std::size_t>(item.transfer->octets_left());
  return item.pdu_octets - item.next_segment * (item.mtu - gateways::kRcopHeaderBytes);
}

std::size_t SenderCore::outstanding_max(const Station& station) const {
  if (station.silent_since) return 1;
  const bool heard = station.heard_at && now_ - *station.heard_at < config_.heard_for;
  return heard ? config_.station_outstanding_max : config_.unheard_outstanding_max;
}

/// Returns what the longest transmission carries at the configured rate. Small transmissions tell
/// little about what a full one carries, so this is handed over in any case.
std::size_t SenderCore::transmission_octets() const {
  const double octets = config_.line_rate_bps / 8.0 * to_seconds(kTransmissionMax);
  return std::max(static_cast<std::size_t>(octets), kTransmissionOctetsMin);
}

// A quarter of what a station may have is for small files and those of higher priority, and a
// quarter of all for stations that have no U_PDU at the node.
bool SenderCore::has_room(const Item& item, const Station& station) const {
  std::size_t most = outstanding_max(station);
  if (is_large(item) && priority_of(item) <= config_.priority) most -= most / 4;
  if (station.outstanding >= most) return false;
  if (item.transfer &&
      !station.window.has_room(item.mtu, updu_priority(item), transmission_octets())) {
    return false;
  }
  const std::size_t kept = station.outstanding == 0 ? 0 : config_.outstanding_max / 4;
  return outstanding_.size() + kept < config_.outstanding_max;
}

// The receiver keeps what has arrived of each large file in memory.
bool SenderCore::may_begin(const Item& item) const {
  if (item.transfer || item.next_segment > 0 || !is_large(item)) return true;
  std::size_t begun = 0;
  for (const SpoolId id : active_) {
    const Item& other = items_.at(id);
    if (other.row.destination != item.row.destination || other.phase != Phase::sending) continue;
    if (other.transfer) continue;  // the receiver keeps a file of the transfer service on its disk
    const bool arrives = other.next_segment > 0 && other.segments_confirmed < other.segments;
    if (arrives && is_large(other)) begun += other.pdu_octets;
  }
  return begun == 0 || begun + item.pdu_octets <= config_.begun_octets_max;
}

bool SenderCore::goes_before(const Item& a, const Item& b, bool fair) const {
  if (fair) return a.served < b.served;
  const auto first = priority_of(a);
  const auto second = priority_of(b);
  return first != second ? first > second : octets_left(a) < octets_left(b);
}

SenderCore::Item* SenderCore::choose_item_for(Address address, const Station& station, bool udop) {
  const bool fair = is_fair_turn(station.turns, kFairTurn);
  Item* best = nullptr;
  for (const SpoolId id : active_) {
    Item& item = items_.at(id);
    if (item.row.destination != address || !has_segments_left(item)) continue;
    if (window_opens_at(item) > now_) continue;
    if ((!udop && !has_room(item, station)) || !may_begin(item)) continue;
    if (!has_next_segment(item)) {
      ask_for_piece(item);
    } else if (best == nullptr || goes_before(item, *best, fair)) {
      best = &item;
    }
  }
  return best;
}

/// Returns an item of the station served longest ago that has one to send and room at the node.
SenderCore::Item* SenderCore::choose_item(bool udop) {
  std::vector<std::pair<std::uint64_t, Address>> stations;
  for (const SpoolId id : active_) {
    const Item& item = items_.at(id);
    if (!has_segments_left(item) || by_udop(item) != udop) continue;
    stations.emplace_back(stations_.at(item.row.destination).served, item.row.destination);
  }
  std::sort(stations.begin(), stations.end());
  stations.erase(std::unique(stations.begin(), stations.end()), stations.end());
  for (const auto& [served, address] : stations) {
    if (Item* item = choose_item_for(address, stations_.at(address), udop)) return item;
  }
  return nullptr;
}

std::optional<SisUnidata> SenderCore::poll_updu() {
  if (!mtu_ || outstanding_.size() >= config_.outstanding_max) return std::nullopt;
  Item* chosen = choose_item(false);
  if (chosen == nullptr) return std::nullopt;
  Item& item = *chosen;
  Station& station = stations_.at(item.row.destination);
  const auto part = item.transfer ? item.transfer->next() : std::nullopt;
  SisUnidata updu{
      .id = ids_.next_request(),
      .priority = updu_priority(item),
      .destination = item.row.destination,
      .destination_sap = gateways::kRcopSap,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
      .time_to_live_s = time_to_live_s(item),
      .updu = next_updu(item)};
  const std::size_t octets = updu.updu.size() - gateways::kRcopHeaderBytes;
  outstanding_[updu.id] = {.item = item.row.id,
                           .station = item.row.destination,
                           .attempt = item.row.attempts,
                           .octets = octets,
                           .part = part.value_or(TransferAttempt::Part{}),
                           .handed = now_};
  octets_outstanding_ += octets;
  ++station.outstanding;
  station.window.on_handed(now_, updu.id, updu.updu.size(), updu.priority);
  ++station.turns;
  station.served = item.served = ++turn_;
  after_segment(item);
  return updu;
}

void SenderCore::after_segment(Item& item) {
  if (is_all_sent(item)) {
    item.piece = {};
    arm_ack_deadline(item);
  } else if (!item.transfer && item.piece_at + item.piece.size() <
                                   item.next_segment * (item.mtu - gateways::kRcopHeaderBytes) +
                                       config_.piece_octets / 2) {
    ask_for_piece(item);
  }
}

// --- Without ARQ ---------------------------------------------------------------------------------

/// Returns when the node takes the next U_PDU by UDOP, if it has as many as it should have.
std::optional<Instant> SenderCore::udop_room_at() const {
  const Instant room = udop_clear_at_ - kTransmissionMax;
  return room > now_ ? std::optional(room) : std::nullopt;
}

std::optional<SisUnidata> SenderCore::poll_udop(Instant node_clear_at) {
  if (!udop_mtu_ || udop_room_at()) return std::nullopt;
  Item* chosen = choose_item(true);
  if (chosen == nullptr) return std::nullopt;
  Item& item = *chosen;
  Station& station = stations_.at(item.row.destination);
  const std::uint8_t repeats = config_.sending.of(item.row.destination).udop_repeats;
  SisUnidata updu{.id = {ids_.next_request().value | kUdopRequests},
                  .priority = updu_priority(item),
                  .destination = item.row.destination,
                  .destination_sap = kUdopSap,
                  .delivery = {.mode = sis::TransmissionMode::nonarq, .retransmissions = repeats},
                  .time_to_live_s = time_to_live_s(item),
                  .updu = next_updu(item)};
  counters_.add(RelaySenderCounter::udop_segments);
  udop_last_ = {updu.id, item.row.id};
  const Duration takes = time_on_air((1u + repeats) * updu.updu.size());
  udop_clear_at_ = std::max(udop_clear_at_, now_) + takes;
  item.left_at = std::max(udop_clear_at_, node_clear_at + takes);
  item.octets_confirmed += updu.updu.size() - gateways::kRcopHeaderBytes;
  ++item.segments_confirmed;
  item.progress_at = now_;
  ++station.turns;
  station.served = item.served = ++turn_;
  after_segment(item);
  return updu;
}

/// Returns the next U_PDU of a file that goes by the transfer service.
Bytes SenderCore::next_message(Item& item) {
  const auto part = item.transfer->next();
  // An offer has the U_PDU_ID of the file, so that a receiver knows it if it comes by BFTP as well.
  // The node reports on a U_PDU by its first octets, so the headers of blocks all differ.
  gateways::RcopHeader header{.connection_id = connection_of(item.row.attempts),
                              .updu_id = item.row.updu_id,
                              .segment = 0,
                              .application_id = kTransferApplication};
  if (!part->offer) {
    const std::uint32_t number = next_block_++;
    header.connection_id = static_cast<std::uint8_t>(1 + number / 256 % 15);
    header.updu_id = static_cast<std::uint8_t>(number % 256);
  }
  Bytes updu;
  encode(header, updu);
  counters_.add(part->offer ? RelaySenderCounter::offers : RelaySenderCounter::blocks);
  const auto from = static_cast<std::size_t>(part->range.begin) - (part->offer ? 0 : item.piece_at);
  const ByteSpan octets =
      part->offer
          ? ByteSpan()
          : ByteSpan(item.piece).subspan(from, static_cast<std::size_t>(part->range.octets()));
  append(updu, item.transfer->take(octets));
  return updu;
}

Bytes SenderCore::next_updu(Item& item) {
  if (item.transfer) return next_message(item);
  const gateways::RcopHeader header{.connection_id = connection_of(item.row.attempts),
                                    .updu_id = item.row.updu_id,
                                    .segment = static_cast<std::uint16_t>(item.next_segment),
                                    .application_id = kBftpApplication};
  ++item.next_segment;
  return gateways::rcop_segment(header, {item.piece, item.piece_at, item.pdu_octets}, item.mtu);
}

// The U_PDU lives long enough for the octets in front of it at the node and for its own file, but
// no longer than the file.
std::uint32_t SenderCore::time_to_live_s(const Item& item) const {
  const Duration air = time_on_air(item.pdu_octets + octets_outstanding_);
  const std::uint64_t wanted_s =
      config_.updu_lifetime_s + 2 * static_cast<std::uint64_t>(to_seconds(air));
  const Duration left = std::max(item.expires - now_, Duration::zero());
  const auto left_s = std::max(static_cast<std::uint64_t>(to_seconds(left)), kUpduLifetimeMinS);
  return static_cast<std::uint32_t>(
      std::min({wanted_s, left_s, std::uint64_t{2} * sis::kTimeToLiveMax}));
}

// --- The transfer service ------------------------------------------------------------------------

/// Returns true if the next attempt goes by the transfer service.
bool SenderCore::uses_transfer(const Item& item) {
  if (!config_.transfer_service || item.by_bftp || by_udop(item)) return false;
  Station& station = stations_.at(item.row.destination);
  if (station.service == Service::absent &&
      now_ - station.service_at >= config_.service_asked_again) {
    station.service = Service::unknown;
  }
  return station.service != Service::absent;
}

gateways::StoreOperation SenderCore::first_request(const Item& item) {
  if (!uses_transfer(item)) return gateways::ReadContent{item.row.id, 0, config_.piece_octets};
  gateways::PrepareImage prepare{
      .id = item.row.id, .signature = {}, .base = item.base, .without_delta = item.without_delta};
  const bool whole = item.signature_total > 0 && item.signature.size() == item.signature_total;
  if (whole) prepare.signature = std::make_shared<const Bytes>(item.signature);
  return prepare;
}

// A receiver that may have some of the file, or another version of it, is asked before blocks are
// sent. To any other they go at once, so that the offer costs no turnaround.
void SenderCore::start_transfer(Item& item, const gateways::ImageReady& ready) {
  if (!TransferAttempt::fits(ready.manifest, *mtu_)) {
    item.by_bftp = true;
    set_phase(item, Phase::waiting);
    return;
  }
  const Station& station = stations_.at(item.row.destination);
  TransferManifest manifest = ready.manifest;
  manifest.priority = priority_of(item);
  manifest.expiry_s = static_cast<std::uint32_t>(
      std::clamp<double>(to_seconds(item.expires - now_), 0, UINT32_MAX));
  const bool delta = ready.known_there && manifest.form != gateways::ImageForm::delta &&
                     !item.without_delta && item.signature_total == 0 &&
                     item.row.size >= kSignatureFileMin;
  const bool waits =
      station.service == Service::unknown || item.row.attempts > 0 || ready.known_there;
  item.pdu_octets = manifest.image_octets;
  item.transfer.emplace(
      number_of(item.row.id), std::move(manifest),
      TransferAttempt::Options{.mtu = *mtu_, .waits = waits, .takes_signature = delta});
  item.by_transfer = true;
  item.progressed = false;
  item.mtu = *mtu_;
  item.piece.clear();
  item.piece_at = 0;
  item.progress_at = now_;
  item.station_failed = false;
  item.overtaken = 0;
  ++item.row.attempts;
  ++item.attempts_not_counted;
  save(item, SpoolState::active, now_, item.row.reason);
}

/// Makes another image of the file for the same attempt.
void SenderCore::prepare_again(Item& item) {
  item.transfer.reset();
  item.ack_deadline.reset();
  item.piece_ticket.reset();
  set_phase(item, Phase::reading);
  item.admitted = now_;
  item.ticket = ask(first_request(item));
  tickets_[*item.ticket] = item.row.id;
}

SenderCore::Item* SenderCore::find(Address peer, TransferNumber number) {
  for (auto& [id, item] : items_) {
    if (item.row.destination == peer && number_of(id) == number) return &item;
  }
  counters_.add(RelaySenderCounter::messages_unmatched);
  return nullptr;
}

void SenderCore::on_service_heard(Instant now, Address peer) {
  note(now);
  const bool room = stations_.contains(peer) || stations_.size() < config_.stations_max;
  if (!config_.transfer_service || !room) return;
  Station& station = stations_[peer];
  station.unanswered = 0;
  if (station.service == Service::present) return;
  station.service = Service::present;
  emit(RelayEvent::Kind::service_found, peer, {});
}

void SenderCore::on_message(Instant now, Address peer, const HaveMessage& message) {
  note(now);
  Item* item = find(peer, message.number);
  if (item == nullptr) {
    // The receiver keeps a part of a file that may be held, or no longer sent.
    if (message.answer || find_tickets_.size() >= kReleasesMax) return;
    const SpoolId id{message.number.value};
    const StoreTicket ticket = ask(gateways::FindOpen{.id = id, .destination = peer});
    find_tickets_.emplace(ticket, std::pair(peer, message.number));
    return;
  }
  if (item->transfer && item->phase == Phase::sending) {
    std::uint64_t there = 0;
    for (const FileRange& range : message.ranges) there += range.octets();
    item->progressed = item->progressed || there > item->octets_there;
    item->octets_there = there;
    item->advanced_at = now;
    if (item->transfer->waits_for_answer()) {
      counters_.add(RelaySenderCounter::resumed_octets, there);
    }
    item->transfer->on_have(message);
    item->progress_at = now;
    item->ack_deadline.reset();
    if (is_all_sent(*item)) arm_ack_deadline(*item);
    return;
  }
  if (item->phase != Phase::waiting) return;
  item->next_try = now;
  admit();
}

void SenderCore::on_message(Instant now, Address peer, const DoneMessage& message) {
  note(now);
  Item* item = find(peer, message.number);
  if (item == nullptr || item->row.attempts == 0) return;
  // A spool that was made anew gives the same numbers to other files.
  const bool same =
      item->row.sha256.size() >= message.digest.size() &&
      std::equal(message.digest.begin(), message.digest.end(), item->row.sha256.begin());
  if (!same) {
    counters_.add(RelaySenderCounter::messages_unmatched);
    return;
  }
  item->acknowledged = true;
  settle(*item);
}

/// Lets the receiver forget what it has of a file that is given up.
void SenderCore::tell_cancelled(const Item& item) {
  if (!item.by_transfer) return;
  outbox_.push(item.row.destination, ControlMessage{.number = number_of(item.row.id),
                                                    .action = ControlAction::cancel,
                                                    .from_sender = true,
                                                    .text = "its sender gave it up"});
}

/// Ends a file as the other station wants it. The store may be at work on it; then the order waits
/// for its answer.
void SenderCore::order(Item& item, SpoolState state, const std::string& reason) {
  item.ordered = {state, reason};
  settle(item);
}

void SenderCore::on_message(Instant now, Address peer, const RefuseMessage& message) {
  note(now);
  Item* item = find(peer, message.number);
  if (item == nullptr || item->row.attempts == 0) return;
  const std::string reason = "the other station refuses it: " + message.text;
  switch (message.reason) {
    case RefuseReason::no_room:
    case RefuseReason::failed:
      // A refused file has not gone, although the node there took the offer.
      item->advanced_at = item->expires - config_.lifetime_max;
      if (item->phase == Phase::sending) fail_attempt(*item, reason, false);
      return;
    case RefuseReason::no_base:
      item->without_delta = true;
      item->signature.clear();
      item->signature_total = 0;
      if (item->phase == Phase::sending) prepare_again(*item);
      return;
    default:
      order(*item, SpoolState::failed, reason);
  }
}

// Parts come in order, because they go by ARQ.
void SenderCore::on_message(Instant now, Address peer, const SignatureMessage& message) {
  note(now);
  Item* item = find(peer, message.number);
  if (item == nullptr || item->phase != Phase::sending || !item->transfer) return;
  if (!item->transfer->waits_for_answer() || message.total > config_.signature_octets_max) return;
  if (message.at == 0) {
    item->signature.clear();
    item->base = message.base;
    item->signature_total = message.total;
  }
  if (message.at != item->signature.size() || message.base != item->base ||
      message.total != item->signature_total) {
    return;
  }
  append(item->signature, message.octets);
  item->progress_at = now;
  arm_ack_deadline(*item);
  if (item->signature.size() == item->signature_total) prepare_again(*item);
}

void SenderCore::on_message(Instant now, Address peer, const ControlMessage& message) {
  note(now);
  if (message.action == ControlAction::resume) {
    if (release_tickets_.size() >= kReleasesMax) return;
    release_tickets_.insert(ask(gateways::ReleaseSuspended{
        .id = SpoolId{message.number.value}, .destination = peer, .now = utc_.utc(now)}));
    return;
  }
  Item* item = find(peer, message.number);
  if (item == nullptr) return;
  if (message.action == ControlAction::cancel) {
    order(*item, SpoolState::failed, "cancelled by the other station");
  } else {
    order(*item, SpoolState::held, std::string(gateways::kSuspendedThere));
  }
}

/// The other relay has not answered in time.
void SenderCore::on_no_answer(Item& item) {
  const bool unacknowledged = acknowledgement_of(item.row.destination) == AckMode::none;
  if (by_udop(item) && unacknowledged) return order(item, SpoolState::sent, "");
  if (!item.transfer) return fail_attempt(item, kNoAcknowledgement, false);
  Station& station = stations_.at(item.row.destination);
  if (!item.transfer->waits_for_answer()) {
    // Which of the octets it has is asked at once.
    return fail_attempt(item, kNoAcknowledgement, item.progressed);
  }
  if (station.service != Service::present) {
    // Other files may have been offered before the first of them was not answered.
    if (station.service == Service::unknown) {
      station.service = Service::absent;
      station.service_at = now_;
      emit(RelayEvent::Kind::service_absent, item.row.destination, {});
    }
    station.unanswered = 0;
    return fail_attempt(item, "the station does not answer an offer", true);
  }
  if (++station.unanswered >= kUnansweredMax) {
    station.service = Service::unknown;
    station.unanswered = 0;
  }
  fail_attempt(item, kNoAcknowledgement, false);
}

// --- Pieces of the content -----------------------------------------------------------------------

// An offer without its first blocks would go in a transmission of its own.
bool SenderCore::has_next_segment(const Item& item) const {
  if (item.transfer) {
    const auto block = item.transfer->next_block();
    return !block ||
           (block->begin >= item.piece_at && block->end <= item.piece_at + item.piece.size());
  }
  const std::size_t per_segment = item.mtu - gateways::kRcopHeaderBytes;
  const std::size_t end = std::min((item.next_segment + 1) * per_segment, item.pdu_octets);
  return end <= item.piece_at + item.piece.size();
}

void SenderCore::ask_for_piece(Item& item) {
  if (item.transfer) {
    if (item.piece_ticket) return;
    const std::uint64_t from = item.transfer->next_block()->begin;
    item.piece_ticket = ask(gateways::ReadImage{item.row.id, from, config_.piece_octets});
    tickets_[*item.piece_ticket] = item.row.id;
    item.piece_at = static_cast<std::size_t>(from);
    item.piece.clear();
    return;
  }
  const std::size_t end = item.piece_at + item.piece.size();
  if (item.piece_ticket || end == item.pdu_octets) return;
  const std::size_t header = item.pdu_octets - item.row.size;
  item.piece_ticket = ask(gateways::ReadContent{item.row.id, end - header, config_.piece_octets});
  tickets_[*item.piece_ticket] = item.row.id;
}

void SenderCore::on_piece(Item& item, const StoreResult& result) {
  if (is_corrupt(item, result)) return;
  if (!result.answer) {
    store_failed(result.answer.error());
    fail_attempt(item, "the spool cannot read its content now", false);
    return;
  }
  store_works();
  const auto* content = std::get_if<gateways::Content>(&*result.answer);
  S5066_ASSERT(content != nullptr && !content->octets.empty());
  if (item.transfer) {
    item.piece = content->octets;
    return;
  }
  const std::size_t sent =
      item.next_segment * (item.mtu - gateways::kRcopHeaderBytes) - item.piece_at;
  item.piece.erase(item.piece.begin(), item.piece.begin() + static_cast<std::ptrdiff_t>(sent));
  item.piece_at += sent;
  append(item.piece, content->octets);
}

bool SenderCore::is_corrupt(Item& item, const StoreResult& result) {
  if (result.answer || result.answer.error().code != ErrorCode::bad_checksum) return false;
  item.row.state = SpoolState::corrupt;  // the store has parked it
  counters_.add(RelaySenderCounter::corrupt);
  emit(RelayEvent::Kind::corrupt, item, result.answer.error().detail);
  return true;
}

// --- Acknowledgements and the end of an attempt
// ---------------------------------------------------

Duration SenderCore::time_on_air(std::uint64_t octets) const {
  return from_seconds(static_cast<double>(octets) * 8 / config_.line_rate_bps);
}

// The wait is counted from the last sign of life. While segments are unconfirmed, the node still
// works on them behind everything queued in front. Once the far relay has them all, it answers soon
// or never: it may have died with segments that it had confirmed.
void SenderCore::arm_ack_deadline(Item& item) {
  if (by_udop(item)) {
    item.ack_deadline = item.left_at;
    if (acknowledgement_of(item.row.destination) == AckMode::none) return;
    *item.ack_deadline += config_.ack_wait + 2 * way_of_acknowledgement(item);
    return;
  }
  if (is_all_confirmed(item)) {
    const bool asks = item.transfer && item.transfer->waits_for_answer() &&
                      stations_.at(item.row.destination).service == Service::unknown;
    const Duration answer_wait = std::min<Duration>(kAnswerShare * item.offer_took,
                                                    std::chrono::seconds(config_.updu_lifetime_s));
    const Duration wait = asks ? std::max(config_.answer_wait, answer_wait) : config_.ack_wait;
    item.ack_deadline = now_ + wait + 2 * way_of_acknowledgement(item);
  } else {
    item.ack_deadline = now_ + config_.confirm_wait + 2 * time_on_air(octets_outstanding_);
  }
}

// Other files may be sent before the line turns round, but no transmission takes longer than its
// announced end can be away (C.3.2.3).
Duration SenderCore::way_of_acknowledgement(const Item& item) const {
  std::uint64_t others = octets_outstanding_;
  for (const SpoolId id : active_) {
    const Item& other = items_.at(id);
    if (has_segments_left(other)) others += octets_left(other);
  }
  const std::size_t answer = item.transfer ? kDoneOctets : item.pdu_octets - item.row.size;
  const std::size_t octets = gateways::kRcopHeaderBytes + answer;
  return std::min(time_on_air(others), kTransmissionMax) + time_on_air(octets);
}

// The next attempt waits as long as the item is old: 1, 1, 2, 4 … minutes, up to the longest delay.
// By the transfer service it waits as long as nothing of it has gone; while the station is silent
// it is that which counts. A node that is restarted again and again uses up no attempts: only the
// lifetime of the file ends that.
void SenderCore::fail_attempt(Item& item, const std::string& reason, bool retry_at_once) {
  counters_.add(RelaySenderCounter::attempts_failed);
  emit(RelayEvent::Kind::attempt_failed, item, reason);
  if (retry_at_once && !item.by_transfer) ++item.attempts_not_counted;
  if (item.expires <= now_) {
    save(item, SpoolState::expired, now_, reason);
  } else if (item.row.attempts - item.attempts_not_counted >= config_.attempts_max &&
             !retry_at_once && !item.transfer) {
    save(item, SpoolState::failed, now_, reason);
  } else {
    const bool at_once = retry_at_once || item.overtaken >= kOvertakenMax;
    Duration delay = retry_delay(now_ - (item.expires - config_.lifetime_max));
    if (item.by_transfer) {
      delay = item.station_failed ? config_.retry_delay_min
                                  : early_retry_delay(now_ - item.advanced_at);
    }
    save(item, SpoolState::deferred, at_once ? now_ : now_ + delay, reason);
  }
}

void SenderCore::save(Item& item, SpoolState state, Instant next_try, const std::string& reason) {
  set_phase(item, state == SpoolState::active ? Phase::starting : Phase::finishing);
  item.next_try = next_try;
  item.row.reason = reason;
  item.ack_deadline.reset();
  if (state != SpoolState::active) {
    item.piece = {};
    item.transfer.reset();
  }
  item.piece_ticket.reset();  // the answer with this ticket will be ignored
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
  tickets_[*item.ticket] = item.row.id;
}

/// Goes on with an item that is not waiting for the store.
void SenderCore::settle(Item& item) {
  if (item.ticket) return;
  if (item.acknowledged && item.row.state != SpoolState::delivered) {
    save(item, SpoolState::delivered, now_, "");
  } else if (item.ordered && !gateways::is_over(item.row.state)) {
    const auto [state, reason] = *std::exchange(item.ordered, std::nullopt);
    save(item, state, now_, reason);
  }
}

// --- The store -----------------------------------------------------------------------------------

StoreTicket SenderCore::ask(gateways::StoreOperation operation) {
  const StoreTicket ticket = ids_.next_ticket();
  requests_.push_back({ticket, std::move(operation)});
  return ticket;
}

void SenderCore::on_clock_set(Instant now, std::chrono::seconds step, SpoolId others) {
  note(now);
  clock_tickets_.insert(ask(gateways::MoveTimes{step, std::max(last_listed_, others)}));
  place_freed_ = true;  // transfer windows open and close by the time of the day
}

bool SenderCore::on_store_result(Instant now, const StoreResult& result) {
  note(now);
  if (clock_tickets_.erase(result.ticket) > 0) {
    if (!result.answer) store_failed(result.answer.error());
    return true;
  }
  if (const auto found = find_tickets_.find(result.ticket); found != find_tickets_.end()) {
    const auto* open = result.answer ? std::get_if<gateways::OpenItems>(&*result.answer) : nullptr;
    const bool gone = open != nullptr && open->items.empty();
    const auto [peer, number] = found->second;
    find_tickets_.erase(found);
    if (gone) {
      outbox_.push(peer, ControlMessage{.number = number,
                                        .action = ControlAction::cancel,
                                        .from_sender = true,
                                        .text = "its sender no longer has it"});
    }
    return true;
  }
  if (release_tickets_.erase(result.ticket) > 0) {
    const auto* open = result.answer ? std::get_if<gateways::OpenItems>(&*result.answer) : nullptr;
    if (open == nullptr) {
      store_failed(result.answer.error());
    } else {
      for (const auto& row : open->items) {
        if (row.p_mul) {
          released_.push_back(row);
        } else if (!items_.contains(row.id)) {
          on_changed(now, row, true);
        }
      }
    }
    return true;
  }
  if (result.ticket == list_ticket_) {
    list_ticket_.reset();
    if (const auto* open =
            result.answer ? std::get_if<gateways::OpenItems>(&*result.answer) : nullptr) {
      add_listed(*open);
      store_works();
      if (std::exchange(list_again_, false)) list(now);
      if (!open->items.empty()) admit();
    } else {
      store_failed(result.answer.error());
    }
    admit_if_due();
    return true;
  }
  if (result.ticket == purge_ticket_) {
    purge_ticket_.reset();
    if (!result.answer) store_failed(result.answer.error());
    return true;
  }
  const auto ticket = tickets_.find(result.ticket);
  if (ticket == tickets_.end()) return false;
  const SpoolId id = ticket->second;
  tickets_.erase(ticket);
  const auto at = items_.find(id);
  if (at != items_.end()) on_item_result(at->second, result);
  return true;
}

void SenderCore::on_item_result(Item& item, const StoreResult& result) {
  if (item.piece_ticket == result.ticket) {
    item.piece_ticket.reset();
    on_piece(item, result);
    if (!gateways::is_final(item.row.state)) return;
  } else if (item.ticket == result.ticket) {
    item.ticket.reset();
    if (item.phase == Phase::reading) {
      on_content(item, result);
    } else {
      on_saved(item, result);
    }
  } else {
    return;  // the piece belongs to an attempt that is over
  }
  if (gateways::is_final(item.row.state)) forget(item);
  admit_if_due();
}

void SenderCore::on_content(Item& item, const StoreResult& result) {
  if (is_corrupt(item, result)) return;
  if (!result.answer) {
    store_failed(result.answer.error());
    item.next_try = now_ + config_.store_retry;
    return set_phase(item, Phase::waiting);
  }
  store_works();
  if (item.acknowledged || item.ordered) return settle(item);
  if (!mtu_for(item) || failed_meanwhile(item)) return set_phase(item, Phase::waiting);
  if (const auto* ready = std::get_if<gateways::ImageReady>(&*result.answer)) {
    return start_transfer(item, *ready);
  }
  const auto* content = std::get_if<gateways::Content>(&*result.answer);
  S5066_ASSERT(content != nullptr);
  start_attempt(item, content->octets);
}

void SenderCore::on_saved(Item& item, const StoreResult& result) {
  const bool starts = item.save.state == SpoolState::active;
  if (starts && !result.answer && result.answer.error().code == ErrorCode::refused) {
    --item.row.attempts;  // no U_PDU_ID is free
    item.piece = {};
    item.next_try = now_ + config_.retry_delay_min;
    set_phase(item, Phase::waiting);
    settle(item);
    return;
  }
  if (!result.answer) {
    store_failed(result.answer.error());
    item.save_again = now_ + config_.store_retry;
    if (item.acknowledged) item.save.state = SpoolState::delivered;
    return;
  }
  store_works();
  if (item.acknowledged && item.save.state != SpoolState::delivered) {
    // The acknowledgement came while the store noted something else.
    save(item, SpoolState::delivered, now_, "");
    return;
  }
  item.row.state = item.save.state;
  if (item.ordered && !gateways::is_over(item.row.state)) return settle(item);
  switch (item.save.state) {
    case SpoolState::active:
      if (item.row.attempts == 1)
        item.row.updu_id = std::get<gateways::Saved>(*result.answer).updu_id;
      set_phase(item, Phase::sending);
      counters_.add(RelaySenderCounter::attempts);
      emit(RelayEvent::Kind::attempt_started, item);
      if (!mtu_for(item)) {
        fail_attempt(item, kConnectionLost, true);
      } else if (failed_meanwhile(item)) {
        item.station_failed = true;
        fail_attempt(item, stations_.at(item.row.destination).reason, false);
      }
      break;
    case SpoolState::delivered:
      if (item.by_transfer) counters_.add(RelaySenderCounter::transfers);
      counters_.add(RelaySenderCounter::delivered);
      emit(RelayEvent::Kind::delivered, item);
      note_delivered(item);
      return;
    case SpoolState::sent:
      counters_.add(RelaySenderCounter::sent);
      return emit(RelayEvent::Kind::sent, item);
    case SpoolState::failed:
      counters_.add(RelaySenderCounter::failed);
      emit(RelayEvent::Kind::failed, item, item.row.reason);
      tell_cancelled(item);
      return;
    case SpoolState::expired:
      counters_.add(RelaySenderCounter::expired);
      emit(RelayEvent::Kind::expired, item, item.row.reason);
      tell_cancelled(item);
      return;
    default:
      set_phase(item, Phase::waiting);
      break;
  }
}

void SenderCore::note_delivered(const Item& item) {
  for (auto& [id, other] : items_) {
    if (&other == &item || other.row.destination != item.row.destination) continue;
    // The receiver knows a file of the transfer service by its number.
    if (other.by_transfer) continue;
    if (other.row.attempts == 0 || ++other.overtaken < kOvertakenMax) continue;
    if (other.phase == Phase::waiting) {
      other.next_try = Instant{};  // this file goes before all others
    } else if (other.phase == Phase::sending && is_all_confirmed(other)) {
      // All others were acknowledged, so the acknowledgement of this one is lost.
      other.ack_deadline = now_;
    }
  }
}

// Writes one line to the log when storage begins to fail and one when it works again, not one per
// try.
void SenderCore::store_failed(const Error& error) {
  counters_.add(RelaySenderCounter::store_errors);
  if (std::exchange(store_failing_, true)) return;
  RelayEvent event;
  event.kind = RelayEvent::Kind::store_failed;
  event.detail = to_string(error);
  events_.push_back(std::move(event));
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
    forget_stations();
    if (!purge_ticket_) purge_ticket_ = ask(gateways::Purge{utc_.utc(now)});
  }
  for (const SpoolId id : active_) {
    Item& item = items_.at(id);
    if (item.save_again && *item.save_again <= now) {
      request_save(item);
    } else if (item.ack_deadline && *item.ack_deadline <= now) {
      on_no_answer(item);
    } else if (expires_under_way(item) && item.expires <= now) {
      fail_attempt(item, expiry_reason(item), false);
    } else if (const auto closes = window_closes_at(item); closes && *closes <= now) {
      end_for_window(item);
    }
  }
  admit_if_due();
}

// A file of which only the acknowledgement is missing gets the time for that.
bool SenderCore::expires_under_way(const Item& item) {
  return item.phase == Phase::sending && !is_all_confirmed(item);
}

std::optional<Instant> SenderCore::next_deadline() const {
  std::optional<Instant> next = earlier(list_at_, purge_at_);
  next = earlier(next, waiting_deadline_);
  for (const SpoolId id : active_) {
    const Item& item = items_.at(id);
    next = earlier(next, item.save_again);
    next = earlier(next, item.ack_deadline);
    if (expires_under_way(item)) next = earlier(next, item.expires);
    next = earlier(next, window_closes_at(item));
    if (by_udop(item) && has_segments_left(item)) next = earlier(next, udop_room_at());
  }
  return next;
}

std::optional<RelayEvent> SenderCore::poll_event() {
  return take_front(events_);
}

std::optional<StoreRequest> SenderCore::poll_store() {
  return take_front(requests_);
}

std::size_t SenderCore::octets_held() const {
  std::size_t octets = 0;
  for (const SpoolId id : active_) octets += items_.at(id).piece.size();
  return octets;
}

std::vector<TransferStatus> SenderCore::transfers() const {
  std::vector<TransferStatus> transfers;
  for (const SpoolId id : active_) {
    const Item& item = items_.at(id);
    if (item.phase != Phase::sending) continue;
    transfers.push_back({.item = id,
                         .destination = item.row.destination,
                         .name = item.row.name,
                         .attempt = item.row.attempts,
                         .octets = item.pdu_octets,
                         .octets_confirmed = item.transfer ? item.transfer->octets_confirmed()
                                                           : item.octets_confirmed});
  }
  return transfers;
}

std::vector<SilentStation> SenderCore::silent_stations(Instant now) const {
  std::vector<SilentStation> silent;
  for (const auto& [address, station] : stations_) {
    if (!station.silent_since) continue;
    SilentStation& status = silent.emplace_back();
    status.address = address;
    status.silent_for = now - *station.silent_since;
    status.tried_again_in = std::max(station.probe_at - now, Duration::zero());
    status.files = static_cast<std::size_t>(std::count_if(
        items_.begin(), items_.end(),
        [&](const auto& entry) { return entry.second.row.destination == status.address; }));
    status.reason = station.reason;
  }
  return silent;
}

void SenderCore::emit(RelayEvent::Kind kind, Address station, std::string detail) {
  RelayEvent event;
  event.kind = kind;
  event.peer = station;
  event.detail = std::move(detail);
  events_.push_back(std::move(event));
}

std::string SenderCore::transfer_of(const Item& item) {
  if (item.row.attempts == 0) return {};  // an item that was never tried has no U_PDU_ID
  if (item.by_transfer) return transfer_name(number_of(item.row.id).value, item.row.sha256);
  return transfer_id(item.row.updu_id, item.row.name, item.row.sha256);
}

void SenderCore::emit(RelayEvent::Kind kind, const Item& item, std::string detail) {
  events_.push_back(event_of(kind, item.row, transfer_of(item), std::move(detail)));
}

}  // namespace s5066::file_relay
