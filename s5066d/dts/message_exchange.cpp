// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/message_exchange.h"

#include <algorithm>
#include <utility>

namespace s5066::dts {
namespace {
/// Largest number of copies; more of so short a frame add nothing.
constexpr int kCopiesMax = 8;

/// True for types 1, 2 and 7, which are steps of a change that both stations follow.
bool is_of_rate_change(const MessageExchange::Message& message) {
  const auto type = static_cast<pdu::EowType>(message.eow.type);
  return type == pdu::EowType::drc_request || type == pdu::EowType::drc_response ||
         type == pdu::EowType::hdr_request;
}
}  // namespace

void MessageExchange::send(Message message, Until until) {
  S5066_ASSERT(message.extension.size() <= pdu::kExtensionOctetsMax);
  out_ = Outgoing{.message = std::move(message), .frame_id = next_id_++, .until = until};
  out_filled_ = false;  // the message on the air is another one
}

bool MessageExchange::outstanding() const {
  return out_.has_value() && (out_->until != Until::sent || out_->due);
}

// STANDARD: which ID an acknowledgement without a message carries is not said, and some stations
// repeat ours. Such an ID is therefore ignored: it numbers no message that could be new.
MessageExchange::Heard MessageExchange::on_management(const pdu::Management& dpdu,
                                                      std::optional<Instant> formed_at) {
  Heard heard;
  bool fresh_ack = dpdu.ack;
  if (dpdu.valid) {
    // STANDARD: C.3.9(21)-(25) treat each message with the ID of the last one as a repetition.
    // Without a connection, however, nothing tells that the peer has restarted and counts its IDs
    // from 0 again. Here a different message is a new one even with that ID. A step of a rate
    // change is not, because it would be followed.
    Message message{dpdu.common.eow, dpdu.extension};
    heard.repeated =
        rx_id_ == dpdu.frame_id && (rx_message_ == message || is_of_rate_change(message));
    // A copy acknowledges only once, or it would acknowledge our next message as well.
    if (heard.repeated && rx_had_ack_) fresh_ack = false;
    rx_had_ack_ = dpdu.ack || (heard.repeated && rx_had_ack_);
    rx_id_ = dpdu.frame_id;
    ack_owed_ = true;
    if (!heard.repeated) rx_message_ = heard.message.emplace(std::move(message));
  }
  if (!fresh_ack || !may_be_answered(formed_at)) return heard;
  out_->acknowledged = true;
  if (out_->until == Until::stopped) return heard;
  heard.acknowledged = true;
  out_.reset();
  return heard;
}

// In full duplex the answer may come while our transmission still goes on, and an answer to the
// message before may come after its end.
bool MessageExchange::may_be_answered(std::optional<Instant> formed_at) const {
  if (!out_) return false;
  return formed_at ? out_->answered_from && *out_->answered_from <= *formed_at : out_->sent;
}

bool MessageExchange::fill(const pdu::Common& common, IntervalBudget& budget, BurstBuilder& burst) {
  ack_filled_ = out_filled_ = false;
  if (!has_work()) return false;
  pdu::Management dpdu{.common = common};
  const bool with_message = outstanding();
  if (with_message) {
    out_->with_ack = out_->with_ack || ack_owed_;
    dpdu.valid = true;
    dpdu.ack = out_->with_ack;
    dpdu.frame_id = out_->frame_id;
    dpdu.common.eow = out_->message.eow;
    dpdu.extension = out_->message.extension;
  } else {
    dpdu.ack = true;
    dpdu.frame_id = next_id_;
    dpdu.common.eow = attached_;
  }
  const std::size_t octets = pdu::management_octets(dpdu.extension.size());
  int copies = 0;
  for (; copies < kCopiesMax && budget.fits(octets); ++copies) {
    if (copies > 0 && octets > budget.left_in_block()) break;
    budget.take(octets);
    burst.add(dpdu);
  }
  if (copies == 0) return false;
  ack_filled_ = std::exchange(ack_owed_, false);
  out_filled_ = with_message;
  if (with_message) {
    out_->due = false;
  } else {
    ++next_id_;  // C.3.9(18): each one that is not a copy has the next ID
  }
  return true;
}

void MessageExchange::on_keyed(Instant answered_from) {
  if (out_filled_ && out_ && !out_->answered_from) out_->answered_from = answered_from;
}

void MessageExchange::on_transmitted(bool sent) {
  if (!sent && out_filled_ && out_ && !out_->sent) out_->answered_from.reset();
  if (sent && out_filled_ && out_) out_->sent = true;
  if (!sent && out_filled_) make_due();
  if (!sent && ack_filled_) ack_owed_ = true;
  if (sent && ack_filled_ && !out_filled_) attached_ = {};
  ack_filled_ = out_filled_ = false;
}

void MessageExchange::make_due() {
  if (out_) out_->due = true;
}

}  // namespace s5066::dts
