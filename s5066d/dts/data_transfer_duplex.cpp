// What DataTransfer does otherwise in full duplex: nobody waits for a turn, so answers say when
// they were formed, and go out while what they answer goes on.
#include <algorithm>

#include "modem/api/airtime.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {
namespace {

/// So long after the last one a transmission begins that only acknowledges, while the one that it
/// acknowledges goes on.
constexpr Duration kAcknowledgedEach = std::chrono::seconds(15);
/// More transmissions in a row than may go without an answer to any.
constexpr std::size_t kSentMax = 64;

}  // namespace

// The transmission being heard was put together when its sender keyed, a little before its first
// symbol; he leaves a turnaround after what he has heard.
std::optional<Instant> DataTransfer::formed_at() const {
  if (!config_.full_duplex) return std::nullopt;
  return *heard_->start - modem::preamble_duration(heard_->mode) - config_.turnaround / 2;
}

// Each D_PDU owes an acknowledgement, and more of them are to come. What has ended is acknowledged
// at once: its sender awaits that.
bool DataTransfer::may_rest(const Connection& connection) const {
  return config_.full_duplex && heard_ && connection.owes_only_ack() && !connection.ack_is_ripe() &&
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

// A second answer to the last C_PDU comes within the time for one, or when the transmission being
// heard has ended.
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

// While we go on, answers are awaited to what has left. Who may not send cannot ask for one that is
// missing.
void DataTransfer::await_answers(Instant now) {
  if (!config_.full_duplex || silent_ || burst_ || turn_.reply_awaited()) return;
  const auto waits = std::find_if(connections_.begin(), connections_.end(), [&](const auto& entry) {
    return entry.second.awaits_answer() && !peers_.at(entry.first).control.open();
  });
  if (waits == connections_.end()) return;
  reply_awaited_from_ = waits->first;
  turn_.await_reply(now, reply_time(now));
}

// What asks for an answer of its own has its own time for it, from its end on: that for data is not
// to run out meanwhile.
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
  if (!burst_->managed && !resets) return;
  reply_awaited_from_.reset();
  turn_.await_no_reply();
}

void DataTransfer::note_sent(Peer& record, Instant until, const modem::Mode& mode) {
  if (!config_.full_duplex) return;
  record.sent.push_back({until, mode});
  if (record.sent.size() > kSentMax) record.sent.pop_front();
}

// Of the last transmission that had ended when the answer was formed; in half duplex that is the
// last there was.
std::optional<modem::Mode> DataTransfer::mode_answered(Peer& record,
                                                       std::optional<Instant> formed_at) {
  if (!formed_at) return record.sent_in;
  while (record.sent.size() > 1 && record.sent[1].until <= *formed_at) record.sent.pop_front();
  if (record.sent.empty() || record.sent.front().until > *formed_at) return std::nullopt;
  return record.sent.front().mode;
}

}  // namespace s5066::dts
