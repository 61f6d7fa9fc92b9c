// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/peer_control.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/take_front.h"
#include "s5066d/dts/data_rate.h"

namespace s5066::dts {
namespace {

using pdu::DpduType;
using pdu::EowType;

/// Number of transmissions that announce a change of our capabilities.
constexpr unsigned kCapabilityTold = 3;

constexpr std::uint8_t to_number(EowType type) {
  return static_cast<std::uint8_t>(type);
}

/// Returns the mode that a request of either type asks for.
std::optional<modem::Mode> requested_mode(const MessageExchange::Message& message,
                                          modem::Waveform in_use) {
  if (message.eow.type == to_number(EowType::drc_request)) {
    return mode_of(pdu::read_drc_request(message.eow), in_use);
  }
  const auto request = pdu::read_hdr_request(message.eow, message.extension);
  return request ? mode_of(*request, in_use) : std::nullopt;
}

/// Returns the refusal of a frequency change (Annex I), which we do not support.
pdu::Eow frequency_refusal() {
  return pdu::make_eow(
      EowType::frequency_response,
      pdu::DrcResponse{pdu::DrcAnswer::refuse, pdu::DrcReason::cannot_change_frequency});
}

RateChange::Config rate_config(Address peer, const PeerControl::Config& config) {
  return {.mode = config.mode,
          .capable = config.rate_change,
          .outranks = peer < config.self,
          .unusable = config.unusable,
          .listened = config.listened};
}

}  // namespace

PeerControl::PeerControl(Address peer, const Config& config, Counters& counters)
    : peer_(peer),
      config_(config),
      counters_(counters),
      rate_(rate_config(peer, config)),
      told_mode_(config.mode) {}

void PeerControl::on_connected(bool connected) {
  connected_ = connected;
  advices_sent_.clear();
  management_ = {};
  rate_ = RateChange(rate_config(peer_, config_));
  advice_.reset();
  advised_.reset();
  advise_with_data_ = false;
  one_choice_ = false;
  misses_ = 0;
  wants_reply_ = false;
  frequency_refused_ = false;
  told_mode_ = rate_.mode();  // a peer that knows of the connection knows its first mode
}

void PeerControl::on_restarted() {
  rate_.abandon();
  collect();
  on_connected(true);
}

Result<void> PeerControl::request_mode(const modem::Mode& mode) {
  if (!connected_) return Error{ErrorCode::link_down, "no link with the station"};
  auto message = rate_.request(mode);
  if (!message) return message.error();
  management_.send(std::move(*message), MessageExchange::Until::stopped);
  return {};
}

void PeerControl::set_mode(const modem::Mode& mode) {
  rate_.set_mode(mode);
  collect();
}

void PeerControl::advise(const std::optional<modem::Mode>& mode,
                         const std::optional<modem::Mode>& told) {
  rate_.set_advice(mode);
  advice_ = told && drc_request(*told) ? told : std::nullopt;
}

void PeerControl::set_full_duplex(bool on) {
  if (config_.full_duplex == on) return;
  config_.full_duplex = on;
  capability_due_ = kCapabilityTold;
}

void PeerControl::on_advice_sent(const modem::Mode& mode) {
  if (std::find(advices_sent_.begin(), advices_sent_.end(), mode) != advices_sent_.end()) return;
  advices_sent_.push_back(mode);
}

// --- What was heard of the peer ------------------------------------------------------------------

bool PeerControl::on_management(const pdu::Management& dpdu, std::optional<Instant> formed_at) {
  const MessageExchange::Heard heard = management_.on_management(dpdu, formed_at);
  if (heard.message) {
    on_message(*heard.message, heard.acknowledged);
  } else if (heard.acknowledged) {
    say(rate_.on_acknowledged());
  }
  if (!dpdu.valid && dpdu.ack) {
    if (!heard.acknowledged && !management_.outstanding()) rate_.on_unexpected_ack();
    on_eow(dpdu.common.eow);
  }
  if (heard.repeated) {
    counters_.add(Counter::managements_repeated);
    management_.make_due();  // our answer was lost
  }
  say_what_waits();
  if (waits_for_nothing()) rate_.abandon();  // else it would hold back data for ever
  collect();
  const bool progress = heard.message || heard.acknowledged || heard.repeated;
  if (!progress) return false;
  misses_ = 0;
  wants_reply_ = false;  // full duplex: it came while we were sending
  return true;
}

void PeerControl::on_message(const MessageExchange::Message& message, bool acknowledged) {
  const RateChange::Step before = rate_.step();
  auto answer = answer_to(message);
  if (!answer && rate_.step() != before) {
    management_.stop();                  // the peer's answer ends repetitions, acknowledged or not
  } else if (!answer && acknowledged) {  // whatever else the message says
    answer = rate_.on_acknowledged();
  }
  say(std::move(answer));
}

std::optional<MessageExchange::Message> PeerControl::answer_to(
    const MessageExchange::Message& message) {
  const pdu::Eow& eow = message.eow;
  const auto type = static_cast<EowType>(eow.type);
  if (type == EowType::frequency_request) {
    frequency_refused_ = true;
    return std::nullopt;
  }
  const bool request = type == EowType::drc_request || type == EowType::hdr_request;
  if (!request && type != EowType::drc_response) {
    on_eow(eow);
    management_.attach(std::exchange(owed_, {}));
    return std::nullopt;
  }
  if (type == EowType::drc_request && pdu::read_drc_request(eow).advisory) {
    on_advisory(pdu::read_drc_request(eow));
    return std::nullopt;
  }
  if (type == EowType::hdr_request && !pdu::read_hdr_request(eow, message.extension)) {
    counters_.add(Counter::dpdus_malformed);
    management_.attach(pdu::make_unrecognised(eow.type));
    return std::nullopt;
  }
  // A change belongs to a connection (C.6.4.2(4)); a station without one is refused at once, so
  // that no other is held up.
  if (request && !connected_) {
    const auto reason = pdu::DrcReason::cannot_change_either;
    return MessageExchange::Message{
        pdu::make_eow(EowType::drc_response, pdu::DrcResponse{pdu::DrcAnswer::refuse, reason})};
  }
  if (const auto mode = requested_mode(message, config_.mode.waveform); request && mode) {
    const auto& sent = advices_sent_;
    asks_ = asks_ || std::find(sent.begin(), sent.end(), *mode) != sent.end();
  }
  return rate_.on_message(message);
}

// Without a connection a message is repeated only on demand, because the station may never be heard
// again, and may ask under many addresses.
void PeerControl::say(std::optional<MessageExchange::Message> message) {
  using Until = MessageExchange::Until;
  if (message)
    management_.send(std::move(*message), connected_ ? Until::acknowledged : Until::sent);
}

void PeerControl::say_what_waits() {
  if (rate_.step() != RateChange::Step::idle || management_.outstanding()) return;
  if (std::exchange(frequency_refused_, false)) say(MessageExchange::Message{frequency_refusal()});
}

bool PeerControl::waits_for_nothing() const {
  return rate_.step() != RateChange::Step::idle &&
         rate_.step() != RateChange::Step::awaiting_confirm && !management_.outstanding();
}

void PeerControl::on_eow(const pdu::Eow& eow) {
  switch (static_cast<EowType>(eow.type)) {
    case EowType::drc_request:
      if (pdu::read_drc_request(eow).advisory) on_advisory(pdu::read_drc_request(eow));
      return;
    case EowType::capability:
      capabilities_ = eow.contents;
      return;
    case EowType::unrecognised:
      return on_unrecognised(eow.contents & 0x0F);
    case EowType::frequency_request:
      owed_ = frequency_refusal();
      return;
    case EowType::none:
    case EowType::drc_response:  // has no meaning outside a procedure
    case EowType::frequency_response:
      return;
    case EowType::offering_advice:
      if (config_.extensions == 0) break;
      if (const auto advice = pdu::read_offering_advice(eow)) {
        on_advised(mode_of(*advice, config_.mode.waveform), false);
      }
      return;
    case EowType::hdr_request:  // only in a type 6, with its extension (C.5.5)
    case EowType::extensions:   // only if we offer some ourselves
      break;
  }
  counters_.add(Counter::eows_unrecognised);
  owed_ = pdu::make_unrecognised(eow.type);
}

void PeerControl::on_warning() {
  management_.stop();
  frequency_refused_ = false;
  rate_.abandon();
  misses_ = 0;
  collect();
}

// A repeated acknowledgement of the master can end the slave's procedure before its confirmation
// was heard, and the last acknowledgement can be lost. In both cases data follows.
void PeerControl::on_data() {
  if (!rate_.on_data()) return;
  management_.stop();
  misses_ = 0;
}

void PeerControl::on_advisory(const pdu::DrcRequest& advice) {
  on_advised(mode_of(advice, config_.mode.waveform), advice.equal);
}

// Every acknowledgement carries the advice, so it is reported only when it changes.
void PeerControl::on_advised(const std::optional<modem::Mode>& mode, bool equal) {
  if (!connected_ || !mode) return;
  const Advised advised{*mode, equal};
  if (std::exchange(advised_, advised) == advised) return;
  events_.push_back(DataRateAdvised{peer_, *mode, equal});
}

std::optional<modem::Mode> PeerControl::advised() const {
  if (!advised_) return std::nullopt;
  return advised_->mode;
}

void PeerControl::on_unrecognised(std::uint8_t type) {
  if (type == to_number(EowType::capability)) knows_capabilities_ = false;
  if (type == to_number(EowType::extensions)) knows_extensions_ = false;
  const RateChange::Step before = rate_.step();
  rate_.on_unrecognised(type);
  if (rate_.step() != before) management_.stop();
  collect();
}

// --- Transmissions -------------------------------------------------------------------------------

bool PeerControl::open() const {
  return rate_.step() != RateChange::Step::idle || management_.outstanding() ||
         management_.answer_owed() || frequency_refused_;
}

bool PeerControl::fill(IntervalBudget& budget, BurstBuilder& burst) {
  const pdu::Common common{.destination = peer_, .source = config_.self};
  if (!management_.fill(common, budget, burst)) return false;
  wants_reply_ = management_.outstanding() || rate_.step() == RateChange::Step::awaiting_confirm;
  return true;
}

bool PeerControl::waits_longer() const {
  return rate_.step() != RateChange::Step::requesting && rate_.step() != RateChange::Step::idle &&
         rate_.step() != RateChange::Step::cancelling;
}

void PeerControl::on_transmitted(bool sent) {
  management_.on_transmitted(sent);
  if (sent) {
    rate_.on_ack_sent();
  } else if (rate_.step() == RateChange::Step::awaiting_confirm) {
    management_.owe_ack();
  }
  wants_reply_ = false;
  collect();
}

PeerControl::Missed PeerControl::on_reply_missing() {
  if (++misses_ <= config_.repeats_max) {
    make_due();
    return Missed::again;
  }
  misses_ = 0;
  // A peer that acknowledged but has no answer is not lost.
  const bool lost =
      connected_ && rate_.step() != RateChange::Step::idle && !management_.acknowledged_only();
  management_.stop();
  rate_.abandon();
  collect();
  return lost ? Missed::link_lost : Missed::given_up;
}

void PeerControl::make_due() {
  say_what_waits();
  management_.make_due();
  if (rate_.step() == RateChange::Step::awaiting_confirm) management_.owe_ack();
}

std::uint8_t PeerControl::own_capabilities() const {
  namespace bits = pdu::capability;
  const std::uint8_t duplex = config_.full_duplex ? bits::kFullDuplex | bits::kSplitFrequency : 0;
  const std::uint8_t heard = capabilities_of(config_.mode.waveform, config_.listened);
  const std::uint8_t offered = config_.rate_change ? heard : heard & ~bits::kDrc;
  return static_cast<std::uint8_t>(offered | duplex);
}

pdu::Eow PeerControl::eow_for(std::uint8_t dpdu_type) const {
  if (owed_.type != 0) return owed_;
  const bool acknowledges = dpdu_type == static_cast<std::uint8_t>(DpduType::ack_only) ||
                            dpdu_type == static_cast<std::uint8_t>(DpduType::data_ack) ||
                            dpdu_type == static_cast<std::uint8_t>(DpduType::long_ack);
  const bool of_connection = dpdu_type <= static_cast<std::uint8_t>(DpduType::expedited_ack) ||
                             dpdu_type == static_cast<std::uint8_t>(DpduType::long_data);
  const bool told_first = capability_due_ > 0 && knows_capabilities_;
  if (advice_ && !told_first && (acknowledges || (advise_with_data_ && of_connection))) {
    return advice_eow();
  }
  return knows_capabilities_ ? pdu::make_capability(own_capabilities()) : pdu::Eow{};
}

// Type 1 names modes of the waveform in use only.
pdu::Eow PeerControl::advice_eow() const {
  if (one_choice_) return pdu::make_eow(*offering_advice(*advice_, true));
  auto request = *drc_request(*advice_);
  request.advisory = true;
  return pdu::make_eow(EowType::drc_request, request);
}

// A station that has offered its extensions gets ours and the advice in one EOW, so that a burst
// with a single header tells everything. A call offers, in the first header only if it is the only
// one. The answer to a call without an offer tells nothing but what the standard defines.
pdu::Eow PeerControl::set_up_eow(std::size_t copy, std::size_t copies, bool offered) const {
  if (owed_.type != 0 && copy == 0) return owed_;
  // Full duplex begins when both have told that they have it, which only the capabilities do.
  if (config_.full_duplex && copy % 2 == 0) {
    return eow_for(static_cast<std::uint8_t>(DpduType::expedited_nonarq));
  }
  if (offered && advice_) return pdu::make_eow(*offering_advice(*advice_, one_choice_));
  const bool offers = !connected_ && config_.extensions != 0 && knows_extensions_;
  const bool alone = copies == 1 && (config_.extensions & pdu::extension::kAdapts) != 0;
  if (offers && (alone || copy % 2 == 1)) return pdu::make_extensions(config_.extensions);
  return eow_for(static_cast<std::uint8_t>(DpduType::expedited_nonarq));
}

void PeerControl::collect() {
  if (rate_.mode() != told_mode_) {
    told_mode_ = rate_.mode();
    counters_.add(Counter::rates_changed);
    events_.push_back(TransmitModeChanged{peer_, told_mode_});
  }
  if (const auto reason = rate_.take_refusal()) {
    events_.push_back(DataRateRefused{peer_, *reason});
  }
}

std::optional<PeerControl::Event> PeerControl::poll_event() {
  return take_front(events_);
}

}  // namespace s5066::dts
