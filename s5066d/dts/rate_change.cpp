// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/rate_change.h"

#include <algorithm>

#include "modem/api/receive_modes.h"
#include "s5066d/base/assert.h"
#include "s5066d/dts/data_rate.h"

namespace s5066::dts {
namespace {

using pdu::DrcAnswer;
using pdu::DrcReason;
using pdu::EowType;
using Message = MessageExchange::Message;

Message response(DrcAnswer answer, DrcReason reason = DrcReason::none) {
  return {pdu::make_eow(EowType::drc_response, pdu::DrcResponse{answer, reason})};
}

}  // namespace

void RateChange::go(Step next) {
  const bool master = next == Step::awaiting_confirm || next == Step::cancelling;
  const bool confirms = next == Step::confirming;
  S5066_ASSERT(!master || step_ == Step::requesting);
  S5066_ASSERT(!confirms || step_ == Step::accepting);
  S5066_ASSERT(next != Step::requesting || step_ == Step::idle);
  step_ = next;
  if (next != Step::idle) confirmed_ = false;
  if (next != Step::confirming) mode_before_.reset();
  in_old_mode_ = false;
}

void RateChange::change() {
  if (!mode_before_) mode_before_ = mode_;
  mode_ = wanted_;
}

// Goes back to the old mode, because the change was not confirmed.
void RateChange::break_off() {
  mode_ = mode_before_.value_or(mode_);
  go(Step::idle);
}

Result<Message> RateChange::request(const modem::Mode& mode) {
  if (step_ != Step::idle) {
    return Error{ErrorCode::refused, "another data rate change is in progress"};
  }
  if (!config_.capable) return Error{ErrorCode::refused, "rate_change is off at this node"};
  if (peer_incapable_) {
    return Error{ErrorCode::refused, "the station does not support data rate change"};
  }
  const bool other_waveform = mode.waveform != mode_.waveform;
  if (rate_fixed_ && (mode.rate_bps != mode_.rate_bps || other_waveform)) {
    return Error{ErrorCode::unsupported, "the station cannot change its data rate"};
  }
  if (interleaver_fixed_ && mode.interleaver != mode_.interleaver) {
    return Error{ErrorCode::unsupported, "the station cannot change its interleaver"};
  }
  wanted_ = mode;
  both_ = false;
  go(Step::requesting);
  const auto drc = drc_request(mode);
  hdr_ = !drc;
  if (drc) return Message{pdu::make_eow(EowType::drc_request, *drc)};
  Message message;
  message.eow = pdu::make_hdr_request(hdr_request(mode), message.extension);
  return message;
}

std::optional<Message> RateChange::on_message(const Message& message) {
  switch (static_cast<EowType>(message.eow.type)) {
    case EowType::drc_request: {
      const auto request = pdu::read_drc_request(message.eow);
      if (request.advisory) return std::nullopt;
      return on_request(mode_of(request, config_.mode.waveform),
                        why_not(request, config_.mode.waveform, config_.listened), request.equal);
    }
    case EowType::hdr_request: {
      const auto request = pdu::read_hdr_request(message.eow, message.extension);
      if (!request) return std::nullopt;
      return on_request(mode_of(*request, config_.mode.waveform),
                        why_not(*request, config_.mode.waveform, config_.listened), false);
    }
    case EowType::drc_response:
      return on_response(as_far_as_heard(pdu::read_drc_response(message.eow)));
    default:
      return std::nullopt;
  }
}

std::optional<Message> RateChange::on_request(const std::optional<modem::Mode>& mode,
                                              DrcReason why_not, bool equal) {
  if (step_ == Step::requesting) {
    if (config_.outranks) return std::nullopt;  // ours stands, and the peer answers it
    refused(DrcReason::none);
  }
  if (!config_.capable || !mode || !modem::is_heard(*mode, config_.listened)) {
    go(Step::refusing);
    return response(DrcAnswer::refuse, config_.capable ? why_not : DrcReason::cannot_change_either);
  }
  if (advice_ && less_robust(*mode, *advice_)) {
    go(Step::refusing);
    return response(DrcAnswer::refuse, DrcReason::not_consistent_with_conditions);
  }
  const auto& unusable = config_.unusable;
  if (equal && std::find(unusable.begin(), unusable.end(), *mode) != unusable.end()) {
    go(Step::refusing);
    return response(DrcAnswer::refuse, DrcReason::not_consistent_with_conditions);
  }
  wanted_ = *mode;
  both_ = equal;
  go(Step::accepting);
  return response(DrcAnswer::accept);
}

// If a peer can only send in the mode in which it receives, it must not change to a mode that we do
// not decode.
pdu::DrcResponse RateChange::as_far_as_heard(const pdu::DrcResponse& said) const {
  const bool both = said.answer == DrcAnswer::accept && said.reason == DrcReason::must_be_equal;
  if (!both || modem::is_heard(wanted_, config_.listened)) return said;
  return {DrcAnswer::refuse, DrcReason::not_consistent_with_conditions};
}

std::optional<Message> RateChange::on_response(const pdu::DrcResponse& said) {
  if (step_ == Step::requesting) return on_answer(said);
  if (said.answer == DrcAnswer::cancel && (step_ == Step::accepting || step_ == Step::refusing)) {
    go(Step::idle);
    closing_ = true;
  } else if (said.answer == DrcAnswer::confirm && step_ == Step::awaiting_confirm) {
    go(Step::idle);
  }
  return std::nullopt;
}

// Handles the answer to our request (Table C-27). An answer that neither accepts nor refuses fixes
// no parameter, and the request is withdrawn as after a refusal.
std::optional<Message> RateChange::on_answer(const pdu::DrcResponse& said) {
  if (said.answer == DrcAnswer::accept) {
    both_ = both_ || said.reason == DrcReason::must_be_equal;
    go(Step::awaiting_confirm);
    return std::nullopt;  // both change after the bare acknowledgement (C.6.4.2(28))
  }
  go(Step::cancelling);
  const bool refuses = said.answer == DrcAnswer::refuse;
  refusal_ = refuses ? said.reason : DrcReason::cannot_change_either;
  if (refuses && !hdr_) {
    const bool either = said.reason == DrcReason::cannot_change_either;
    rate_fixed_ = rate_fixed_ || either || said.reason == DrcReason::cannot_change_rate;
    interleaver_fixed_ =
        interleaver_fixed_ || either || said.reason == DrcReason::cannot_change_interleaver;
  }
  return response(DrcAnswer::cancel);
}

std::optional<Message> RateChange::on_acknowledged() {
  switch (step_) {
    case Step::accepting:
      peer_mode_ = wanted_;
      if (both_) change();
      go(Step::confirming);
      return response(DrcAnswer::confirm);
    case Step::refusing:  // the master stopped without cancelling
      go(Step::idle);
      closing_ = true;
      return std::nullopt;
    case Step::confirming:
      go(Step::idle);
      confirmed_ = true;
      closing_ = true;
      return std::nullopt;
    case Step::cancelling:
      go(Step::idle);
      return std::nullopt;
    case Step::idle:
    case Step::requesting:
    case Step::awaiting_confirm:
      return std::nullopt;
  }
  return std::nullopt;
}

void RateChange::on_ack_sent() {
  if (step_ != Step::awaiting_confirm) return;
  change();
  in_old_mode_ = !in_old_mode_;
}

bool RateChange::on_data() {
  if (step_ != Step::confirming && step_ != Step::awaiting_confirm) return false;
  if (step_ == Step::confirming) confirmed_ = closing_ = true;
  go(Step::idle);
  return true;
}

// The master missed our confirmation, assumes that its own acknowledgement was lost, and repeats
// it.
void RateChange::on_unexpected_ack() {
  if (step_ == Step::idle && confirmed_) closing_ = true;
}

void RateChange::on_unrecognised(std::uint8_t type) {
  const auto eow = static_cast<EowType>(type);
  const bool request = eow == (hdr_ ? EowType::hdr_request : EowType::drc_request);
  if (step_ == Step::requesting && request) {
    if (!hdr_) peer_incapable_ = true;
    refused(DrcReason::cannot_change_either);
  } else if (step_ != Step::requesting && eow == EowType::drc_response) {
    break_off();
  }
}

void RateChange::abandon() {
  if (step_ == Step::requesting) refusal_ = DrcReason::cannot_change_either;
  break_off();
}

void RateChange::refused(DrcReason reason) {
  refusal_ = reason;
  go(Step::idle);
}

}  // namespace s5066::dts
