// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/resync.h"

namespace s5066::dts {
namespace {
constexpr int kCopiesMax = 3;
}

void Resync::start(Kind kind) {
  asked_ = kind;
  ++frame_id_;
  tries_ = 0;
}

Resync::Effects Resync::on_reset(const pdu::Reset& reset) {
  Effects effects;
  // An acknowledgement does not name its command: that of a full reset is all zeros.
  const bool acknowledged = reset.ack && asked_ && *asked_ != Kind::tx_window;
  if (acknowledged) {
    effects.restart_all = *asked_ == Kind::full;
    effects.answered = true;
    asked_.reset();
  }
  const bool repeated = executed_ == reset.frame_id;
  const bool commanded = reset.full_reset || reset.rx_window_command || reset.tx_window_request;
  if (commanded) executed_ = reset.frame_id;

  if (reset.full_reset) {
    full_ack_owed_ = true;
    if (repeated) return effects;
    effects.restart_all = true;
    effects.answered = effects.answered || asked_.has_value();
    asked_.reset();
    return effects;
  }
  // STANDARD: C.3.6(15) has the receiver of this command set its TX LWE; C.3.6(10) and (18) show
  // that RX LWE is meant.
  if (reset.rx_window_command) {
    ack_owed_ = true;
    if (!repeated) effects.restart_rx = reset.new_rx_lwe;
    if (asked_ == Kind::tx_window) {
      effects.answered = true;
      asked_.reset();
    }
  }
  if (reset.tx_window_request && !(repeated && asked_)) {
    effects.restart_tx = true;
    ack_owed_ = true;
    start(Kind::rx_window);
  }
  return effects;
}

pdu::Reset Resync::request(const pdu::Common& common, FrameNumber tx_lwe) const {
  pdu::Reset reset{.common = common, .frame_id = frame_id_};
  switch (*asked_) {
    case Kind::full:
      reset.full_reset = true;
      break;
    case Kind::tx_window:
      reset.tx_window_request = true;
      break;
    case Kind::rx_window:
      reset.rx_window_command = true;
      reset.new_rx_lwe = tx_lwe;
      break;
  }
  return reset;
}

bool Resync::fill(const pdu::Common& common, FrameNumber tx_lwe, IntervalBudget& budget,
                  BurstBuilder& burst) {
  ack_filled_ = full_ack_filled_ = request_filled_ = false;
  const auto add = [&](const pdu::Reset& reset) {
    int copies = 0;
    for (; copies < kCopiesMax && budget.fits(pdu::kResetOctets); ++copies) {
      if (copies > 0 && pdu::kResetOctets > budget.left_in_block()) break;
      budget.take(pdu::kResetOctets);
      burst.add(reset);
    }
    return copies > 0;
  };
  // The acknowledgement of a full reset is zero except for its one bit, so it goes alone
  // (C.6.5(14)).
  if (full_ack_owed_) full_ack_filled_ = add({.common = common, .ack = true});
  if (asked_) {
    pdu::Reset reset = request(common, tx_lwe);
    reset.ack = ack_owed_ && *asked_ != Kind::full;
    request_filled_ = add(reset);
    ack_filled_ = request_filled_ && reset.ack;
  }
  if (ack_owed_ && !ack_filled_) {
    ack_filled_ = add({.common = common, .ack = true, .frame_id = ++frame_id_});
  }
  if (full_ack_filled_) full_ack_owed_ = false;
  if (ack_filled_) ack_owed_ = false;
  return request_filled_;
}

void Resync::on_transmitted(bool sent) {
  if (!sent && ack_filled_) ack_owed_ = true;
  if (!sent && full_ack_filled_) full_ack_owed_ = true;
  if (sent && request_filled_) ++tries_;
  ack_filled_ = full_ack_filled_ = request_filled_ = false;
}

}  // namespace s5066::dts
