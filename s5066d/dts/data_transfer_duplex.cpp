// DataTransfer in full duplex: no station waits for a turn. Answers tell when they were formed, and
// go out while the transmission that they answer continues.
#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {
namespace {

/// Interval between transmissions that only acknowledge, while the transmission that they
/// acknowledge goes on.
constexpr Duration kAcknowledgedEach = std::chrono::seconds(15);
/// Largest difference between the clocks of receiver and transmitter.
constexpr Duration kClockSlack = std::chrono::milliseconds(50);
/// If more of our transmissions in a row are not heard here, the frequencies are separate again.
constexpr unsigned kOwnUnheardMax = 5;
/// Largest number of remembered transmissions; more in a row than may go without an answer.
constexpr std::size_t kSentMax = 64;

}  // namespace

std::string_view to_string(Duplex duplex) {
  switch (duplex) {
    case Duplex::half:
      return "half";
    case Duplex::full:
      return "full";
    case Duplex::no_link:
      return "no_link";
    case Duplex::untold:
      return "untold";
    case Duplex::peer_is_half:
      return "peer_is_half";
    case Duplex::hears_itself:
      return "hears_itself";
    case Duplex::third_station:
      return "third_station";
  }
  return "unknown";
}

// --- Whether both may send at the same time ------------------------------------------------------

// Returns what we announce to peers. No third station receives two stations with a frequency each.
bool DataTransfer::may_hear_while_sending(Instant now) const {
  return config_.full_duplex && !hears_itself_ && !turn_.third_stations(now);
}

// A peer of another make that announces nothing may not receive us while it sends.
Duplex DataTransfer::duplex_now(Instant now) const {
  if (!config_.full_duplex) return Duplex::half;
  if (hears_itself_) return Duplex::hears_itself;
  if (turn_.third_stations(now)) return Duplex::third_station;
  if (connections_.empty()) return Duplex::no_link;
  for (const auto& [peer, connection] : connections_) {
    const auto capabilities = peers_.at(peer).control.capabilities();
    if (!capabilities && !connection.heard()) return Duplex::untold;
    if (!capabilities || (*capabilities & pdu::capability::kFullDuplex) == 0) {
      return Duplex::peer_is_half;
    }
  }
  return Duplex::full;
}

// Each station knows of the other from the first transmission that it has heard, mostly REQUEST and
// ACCEPTED of a link. The state does not change while we send, because half a transmission would
// then have no end announced.
void DataTransfer::settle_duplex(Instant now) {
  if (burst_) return;
  const Duplex before = std::exchange(duplex_, duplex_now(now));
  if (duplex_ == before) return;
  const bool may = may_hear_while_sending(now);
  for (auto& [peer, record] : peers_) record.control.set_full_duplex(may);
  const bool was_full = before == Duplex::full;
  if (was_full || in_full_duplex()) turn_.set_full_duplex(now, in_full_duplex());
  for (auto& [peer, connection] : connections_) {
    if (was_full) connection.on_turns_begun();
  }
}

// True if the D_PDU is of our last transmission; otherwise another station uses our address.
bool DataTransfer::is_own(Instant first_bit_at) const {
  return config_.full_duplex && first_bit_at >= own_began_ &&
         (burst_ || first_bit_at <= own_ended_);
}

void DataTransfer::note_own_heard() {
  hears_itself_ = true;
  own_unheard_ = 0;
}

void DataTransfer::note_own_ended(Instant now, bool sent) {
  own_ended_ = now;
  if (sent && hears_itself_ && ++own_unheard_ > kOwnUnheardMax) hears_itself_ = false;
}

// --- What was written when -----------------------------------------------------------------------

// Returns when the transmission being received was formed: when its sender keyed, a little before
// its first symbol. The sender leaves a turnaround after a transmission that it has heard. If turns
// are taken, a station that keyed after our transmission has heard it, however soon it keyed.
std::optional<Instant> DataTransfer::formed_at() const {
  if (!config_.full_duplex) return std::nullopt;
  const Instant keyed = *heard_->start - modem::preamble_duration(heard_->mode);
  const Instant formed = keyed - config_.turnaround / 2;
  const bool in_turn = !in_full_duplex() && !burst_ && keyed + kClockSlack >= own_ended_;
  return in_turn ? std::max(formed, own_ended_) : formed;
}

// Each D_PDU draws an acknowledgement, and more D_PDUs follow, so the acknowledgement may wait. A
// transmission that has ended is acknowledged at once, because its sender waits for that.
bool DataTransfer::may_rest(const Connection& connection) const {
  return in_full_duplex() && heard_ && connection.owes_only_ack() && !connection.ack_is_ripe() &&
         now_ < answered_at_ + kAcknowledgedEach;
}

std::optional<Instant> DataTransfer::rest_ends() const {
  const bool rests = std::any_of(connections_.begin(), connections_.end(),
                                 [this](const auto& entry) { return may_rest(entry.second); });
  auto ends = rests ? std::optional(answered_at_ + kAcknowledgedEach) : std::nullopt;
  for (const auto& [peer, connection] : connections_) {
    ends = earlier(ends, expedited_rest_ends(connection));
  }
  return ends;
}

// A second answer to the last C_PDU comes within the time for an answer, or when the transmission
// being heard has ended.
std::optional<Instant> DataTransfer::expedited_rest_ends(const Connection& connection) const {
  const auto since = connection.expedited_rests_since();
  if (!since) return std::nullopt;
  if (heard_) return *since + TurnControl::kCarrierMax;
  return std::max(*since, heard_until_) + reply_time(now_);
}

void DataTransfer::end_expedited_rests(Instant now) {
  for (auto& [peer, connection] : connections_) {
    const auto ends = expedited_rest_ends(connection);
    if (ends && now >= *ends) connection.end_expedited_rest();
  }
}

// Waits for answers to frames that have left while we go on sending. If we may not send, we do not
// wait, because we could not ask for a missing answer.
void DataTransfer::await_answers(Instant now) {
  if (!config_.full_duplex || !may_send() || burst_ || turn_.reply_awaited()) return;
  const auto waits = std::find_if(connections_.begin(), connections_.end(), [&](const auto& entry) {
    return entry.second.awaits_answer() && !peers_.at(entry.first).control.open();
  });
  if (waits == connections_.end()) return;
  reply_awaited_from_ = waits->first;
  turn_.await_reply(now, reply_time(now));
}

// Type 6 and resets have their own time for an answer, from their end on; the time for data must
// not run out meanwhile.
void DataTransfer::note_keyed(Instant now) {
  if (!config_.full_duplex || !burst_->peer) return;
  const Instant answered_from = now + modem::preamble_duration(burst_->mode);
  const auto connection = connections_.find(*burst_->peer);
  if (burst_->managed) {
    peers_.at(*burst_->peer).control.on_keyed(answered_from);
  } else if (connection != connections_.end()) {
    connection->second.on_keyed(answered_from);
  }
  const bool resets = connection != connections_.end() && connection->second.wants_silence();
  if (!in_full_duplex() || (!burst_->managed && !resets)) return;
  reply_awaited_from_.reset();
  turn_.await_no_reply();
}

void DataTransfer::note_sent(Peer& record, Instant until, const modem::Mode& mode) {
  if (!config_.full_duplex) return;
  record.sent.push_back({until, mode});
  if (record.sent.size() > kSentMax) record.sent.pop_front();
}

// Returns the mode of the last transmission that had ended when the answer was formed; in half
// duplex that is our last transmission.
std::optional<modem::Mode> DataTransfer::mode_answered(Peer& record,
                                                       std::optional<Instant> formed_at) {
  if (!formed_at) return record.sent_in;
  while (record.sent.size() > 1 && record.sent[1].until <= *formed_at) record.sent.pop_front();
  if (record.sent.empty() || record.sent.front().until > *formed_at) return std::nullopt;
  return record.sent.front().mode;
}

}  // namespace s5066::dts
