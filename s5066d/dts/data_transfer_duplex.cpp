// What DataTransfer does otherwise in full duplex: nobody waits for a turn, so answers say when
// they were formed, and go out while what they answer goes on.
#include <algorithm>

#include "modem/api/airtime.h"
#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {
namespace {

/// So long after the last one a transmission begins that only acknowledges, while the one that it
/// acknowledges goes on.
constexpr Duration kAcknowledgedEach = std::chrono::seconds(15);

}  // namespace

// The transmission being heard was put together when its sender keyed, a little before its first
// symbol; he leaves a turnaround after what he has heard.
std::optional<Instant> DataTransfer::formed_at() const {
  if (!config_.full_duplex) return std::nullopt;
  return *heard_->start - modem::preamble_duration(heard_->mode) - config_.turnaround / 2;
}

// Each D_PDU owes an acknowledgement, and more of them are to come.
bool DataTransfer::may_rest(const Connection& connection) const {
  return config_.full_duplex && heard_ && connection.owes_only_ack() &&
         now_ < answered_at_ + kAcknowledgedEach;
}

std::optional<Instant> DataTransfer::rest_ends() const {
  const bool rests = std::any_of(connections_.begin(), connections_.end(),
                                 [this](const auto& entry) { return may_rest(entry.second); });
  return rests ? std::optional(answered_at_ + kAcknowledgedEach) : std::nullopt;
}

// While we go on, answers are awaited to what has left.
void DataTransfer::await_answers(Instant now) {
  if (!config_.full_duplex || burst_ || turn_.reply_awaited()) return;
  const auto waits = std::find_if(connections_.begin(), connections_.end(),
                                  [](const auto& entry) { return entry.second.awaits_answer(); });
  if (waits == connections_.end()) return;
  reply_awaited_from_ = waits->first;
  turn_.await_reply(now, reply_time(now));
}

}  // namespace s5066::dts
