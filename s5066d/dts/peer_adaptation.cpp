// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/peer_adaptation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "s5066d/dts/data_rate.h"

namespace s5066::dts {
namespace {

/// Longest trial transmission. A connection begins with trial transmissions until its receiver has
/// told what it can receive, and so does a mode until something was received in it.
constexpr Duration kTrial = std::chrono::seconds(13);
constexpr unsigned kTrialsMax = 2;
/// The mode of the first trial of a connection is chosen with a margin, and its measurement leads
/// to a faster one. So it holds no more octets than this, and is no shorter than a dozen blocks.
constexpr std::size_t kFirstTrialOctets = 2500;
constexpr Duration kFirstTrialMin = std::chrono::seconds(5);
/// One trial in this many fails, as a rule, where the peer has measured us and advised the mode.
constexpr int kFailuresPerTrial = 10;
/// Missing replies from which on the channel may be such that only a long interleaver helps.
constexpr unsigned kMissesForLong = 3;
/// Missing replies that count; a single one may be a chance loss.
constexpr unsigned kMissesUnheard = 2;
/// Number of type 6 messages of a change by agreement, and an upper bound of the octets of one.
constexpr int kMessagesOfChange = 5;
constexpr std::size_t kControlOctets = 40;
/// This many octets need no long interleaver if another mode takes less time.
constexpr std::size_t kFewOctets = 1000;
/// The short interleaver of 110A needs this much more than the long one on a fading channel (dB),
/// and its preamble is hardly ever missed from this SNR on.
constexpr double kShortNeedsMoreDb = 2;
constexpr double kShortPreambleDb = -3;
/// Octets of an answer to a call. The caller may receive us worse than we receive it, so a quicker
/// mode must need that much less (dB) than was measured, or less if it saves more than kMuchSooner.
constexpr std::size_t kReplyOctets = 29;
constexpr double kReplyDb = 6;
constexpr double kReplyMuchDb = 2;
constexpr Duration kMuchSooner = std::chrono::seconds(4);
/// Largest factor of a rate step. It is rare that a rate cannot be received although a quarter of
/// it can.
constexpr std::uint32_t kStepMax = 4;
/// Time for which an unanswered mode is not tried again; it doubles each further time.
constexpr Duration kUnansweredWait = std::chrono::minutes(10);
constexpr unsigned kUnansweredDoublingsMax = 5;
constexpr Duration kUnansweredMemory = std::chrono::hours(1);  // counted from the end of that time
/// Largest number of remembered transmissions; more in a row than may go without an answer.
constexpr std::size_t kSentMax = 64;

std::size_t block_octets(const modem::Mode& mode) {
  return modem::block_bits(mode) / 8;
}

/// True if few octets are received as well in `other` as in `mode`, which has a long interleaver.
bool is_as_sure(const modem::Mode& other, const modem::Mode& mode) {
  if (mode.interleaver != modem::Interleaver::long_) return false;
  if (other.interleaver != modem::Interleaver::short_) return false;
  const bool is_110a = other.waveform == modem::Waveform::ms110a;
  if (is_110a && snr_needed_db(mode) < kShortPreambleDb) return false;
  return snr_needed_db(other) + kShortNeedsMoreDb <= snr_needed_db(mode);
}

/// True if both ends follow advice without a message.
bool adapts(std::uint8_t extensions) {
  return (extensions & pdu::extension::kAdapts) != 0;
}
bool adapts(const Connection& connection) {
  return adapts(connection.extensions());
}

}  // namespace

void PeerAdaptation::on_connected() {
  guess_.reset();
  refused_mode_.reset();
  refusal_.reset();
  probe_.reset();
  proven_modes_.clear();
  advised_mode_.reset();
  agreed_mode_.reset();
  answered_mode_.reset();
  answered_modes_.clear();
  trials_ = 0;
  sent_.clear();
}

// Perhaps no burst was received in the mode that the peer was to use by agreement.
void PeerAdaptation::on_link_ended(const PeerControl& control) {
  const auto agreed = control.peer_mode();
  if (!selector_ || !agreed || agreed_mode_ == agreed) return;
  selector_->on_never_heard(*agreed);
}

// --- The peer's transmissions --------------------------------------------------------------------

const std::vector<modem::Mode>& PeerAdaptation::modes_with(std::uint8_t extensions) const {
  const bool one = adapts(extensions) && (extensions & pdu::extension::kOneChoice) != 0;
  return one ? one_choice_ : modes_;
}

// If our receiver can decode none of the modes that adaptation may use, give no advice.
std::optional<RateSelector> PeerAdaptation::new_selector() const {
  std::vector<modem::Mode> modes;
  std::copy_if(one_choice_.begin(), one_choice_.end(), std::back_inserter(modes),
               [this](const modem::Mode& mode) { return hears(config_, mode); });
  if (modes.empty()) return std::nullopt;
  const modem::Mode start = hears(config_, config_.mode) ? config_.mode : modes.front();
  return RateSelector(
      {.modes = std::move(modes), .start = start, .transmission_max = config_.transmission_max});
}

void PeerAdaptation::on_measured(Instant now, HeardBurst& burst, bool cut, Duration reply_time,
                                 const PeerControl& control, std::uint8_t extensions) {
  if (!selector_) selector_ = new_selector();
  if (!selector_) return;
  const bool free = adapts(extensions);
  selector_->set_one_choice(&modes_with(extensions) == &one_choice_);
  // The transmission is slower than advised. If it is also slower than the one before, or too late
  // for an answer to our advice, a transmission between was not heard. A peer that asks for a
  // change first stays slower until the change is agreed.
  const bool slower = advised_mode_ && less_robust(*advised_mode_, burst.mode);
  const Instant began = *burst.start - modem::preamble_duration(burst.mode);
  const bool late = began > advised_at_ + reply_time;
  // A peer that adapts sends few octets in a quicker mode than it was advised for its data.
  const bool managed = burst.managed || (burst.link_control && free);
  const bool few = !burst.data || burst.meter.octets() <= kFewOctets + block_octets(burst.mode);
  const bool answers = free && slower && few && carries_few(burst.mode, *advised_mode_, extensions);
  if (slower && !managed && !answers) {
    if (received_mode_ != burst.mode) {
      selector_->on_lost(*advised_mode_);
    } else if (late) {
      selector_->on_missed(*advised_mode_);
    }
  }
  advised_mode_.reset();
  received_mode_ = burst.mode;
  if (burst.mode == control.peer_mode()) agreed_mode_ = burst.mode;
  if (burst.meter.any_intact()) {
    received_max_bps_ = std::max(received_max_bps_, burst.mode.rate_bps);
  }
  if (cut && burst.announced && *burst.announced > now) {
    const double unheard = to_seconds(*burst.announced - now) * burst.mode.rate_bps / 8;
    burst.meter.on_cut(static_cast<std::size_t>(unheard));
  }
  // If each change needs an agreement, and a failed one costs a link, a step must stay near a
  // working mode, because a mode may not be received at all although the SNR suffices.
  const std::uint32_t most = std::max(received_max_bps_, config_.mode.rate_bps);
  selector_->set_rate_max(free ? UINT32_MAX : kStepMax * most);
  for (const Reception& reception : burst.meter.receptions(managed)) {
    selector_->on_reception(now, reception);
  }
}

std::optional<PeerAdaptation::Advice> PeerAdaptation::advice(const PeerControl& control,
                                                             const Connection& connection) {
  if (!selector_) return std::nullopt;
  const bool free = adapts(connection);
  selector_->set_by_agreement(!free);
  selector_->set_one_choice(&modes_with(connection.extensions()) == &one_choice_);
  const modem::Mode& preferred = selector_->mode();
  return Advice{preferred, free ? preferred : advice_to(control, connection, preferred)};
}

// Edition 3 lets an advised station change without a message if receivers detect the mode by
// themselves (C.6.4.2), and defines no way back. Our own stations go back by themselves. A peer of
// another make is told what we prefer only when it has been seen to ask first. Until then it is
// told the longer interleaver at its present rate, which can always be received. A peer that
// changes to it without asking is told what we prefer as well, but nothing less robust than its
// mode before.
std::optional<modem::Mode> PeerAdaptation::advice_to(const PeerControl& control,
                                                     const Connection& connection,
                                                     const modem::Mode& preferred) {
  if (control.asks_for_changes()) return preferred;
  if ((control.capabilities().value_or(pdu::capability::kDrc) & pdu::capability::kDrc) == 0) {
    return std::nullopt;
  }
  if (connection.extensions() != 0) return preferred;
  if (!received_mode_) return std::nullopt;
  const modem::Mode& heard = *received_mode_;
  // It has changed on its own, so its earlier mode tells nothing any more.
  if (probe_ && !probe_->followed && heard != probe_->advised && heard != probe_->before)
    probe_.reset();
  if (!probe_) {
    const auto safer = std::find_if(modes_.begin(), modes_.end(), [&](const modem::Mode& mode) {
      return mode.waveform == heard.waveform && mode.rate_bps == heard.rate_bps &&
             less_robust(heard, mode) && hears(config_, mode);
    });
    if (safer == modes_.end()) return std::nullopt;
    probe_ = {*safer, heard};
  }
  probe_->followed = probe_->followed || heard == probe_->advised;
  if (!probe_->followed) return probe_->advised;
  if (less_robust(heard, probe_->before)) probe_->before = heard;
  return less_robust(preferred, probe_->before) ? probe_->before : preferred;
}

void PeerAdaptation::on_advice_sent(Instant now, const modem::Mode& mode) {
  advised_mode_ = mode;
  advised_at_ = now;
}

// --- Our transmissions ---------------------------------------------------------------------------

// Every D_PDU carries the advice, and it is followed each time, because a missing answer may have
// made us slower meanwhile. It may also have waited for the peer's offer.
bool PeerAdaptation::follow_advice(Instant now, PeerControl& control,
                                   const Connection& connection) {
  const auto advised = control.advised();
  if (!advised) return false;
  const auto& modes = modes_with(connection.extensions());
  if (std::find(modes.begin(), modes.end(), *advised) != modes.end()) {
    return go_to(now, control, connection, *advised);
  }
  // Choose the least robust of our modes that is no less robust than advised; if there is none, the
  // most robust one.
  const modem::Mode* nearest = nullptr;
  for (const modem::Mode& mode : modes) {
    const bool suits = !less_robust(mode, *advised);
    if (suits && (!nearest || less_robust(mode, *nearest))) nearest = &mode;
  }
  return go_to(now, control, connection,
               nearest ? *nearest : *std::max_element(modes.begin(), modes.end(), less_robust));
}

bool PeerAdaptation::go_to(Instant now, PeerControl& control, const Connection& connection,
                           const modem::Mode& mode) {
  if (mode == control.mode() || mode == refused_mode_ || is_unanswered(now, mode)) return false;
  refused_mode_.reset();
  // A peer that advises can be asked, unless it tells that it cannot change.
  const std::uint8_t unsaid = control.advised() ? pdu::capability::kDrc : 0;
  if (adapts(connection)) {
    control.set_mode(mode);
  } else if (extensions(config_) != 0 && trials_ <= kTrialsMax) {
    return false;  // the peer may not have told yet that it needs no agreement
  } else if ((control.capabilities().value_or(unsaid) & pdu::capability::kDrc) != 0) {
    // The request is refused while another change is under way; the answer to that one counts.
    if (control.request_mode(mode).ok()) requested_mode_ = mode;
  }
  return true;
}

void PeerAdaptation::follow(Instant now, PeerControl& control, const DataRateAdvised& advised) {
  const modem::Mode& mode = advised.mode;
  if (!config_.rate_change || mode == control.mode() || !may_use(config_, mode)) return;
  // The peer would then send in a mode that we do not decode.
  if (advised.equal && !hears(config_, mode)) return;
  if (!modem::tells_itself(mode)) {
    // The request is refused if a change is already under way; its answer then settles the advice.
    static_cast<void>(control.request_mode(mode));
  } else if (is_unanswered(now, mode)) {
    control.forget_advice();
  } else {
    followed_mode_ = mode;
    control.set_mode(mode);
  }
}

bool PeerAdaptation::was_answered(const modem::Mode& mode) const {
  return std::find(answered_modes_.begin(), answered_modes_.end(), mode) != answered_modes_.end();
}

// If a receiver advises nothing, we judge its reception by its acknowledgements.
bool PeerAdaptation::on_answer(Instant now, PeerControl& control, const Connection& connection,
                               const ArqSender::Answer& answer, std::optional<Instant> formed_at) {
  const auto sent_in = mode_answered(formed_at);
  note_answered_in(sent_in, 2 * answer.lost < answer.frames);
  if (!config_.adaptation || control.advised() || trials_ < kTrialsMax) return false;
  const modem::Mode& mode = control.mode();
  // An agreement cannot change the waveform, which may be one that this peer advised before.
  if (guess_ && !heard_together(guess_->mode().waveform, mode.waveform)) guess_.reset();
  if (!guess_) {
    std::vector<modem::Mode> modes;
    std::copy_if(one_choice_.begin(), one_choice_.end(), std::back_inserter(modes),
                 [&](const modem::Mode& m) { return heard_together(m.waveform, mode.waveform); });
    if (modes.empty()) return false;
    guess_.emplace(RateSelector::Config{.modes = std::move(modes),
                                        .start = mode,
                                        .transmission_max = config_.transmission_max,
                                        .by_agreement = true});
  }
  const std::size_t lost = answer.octets * answer.lost / answer.frames;
  guess_->on_reception({}, {.mode = formed_at && sent_in ? *sent_in : mode,
                            .octets = answer.octets,
                            .octets_intact = answer.octets - lost,
                            .blocks = static_cast<unsigned>(answer.frames)});
  const modem::Mode& wanted = guess_->mode();
  // A change by agreement costs five transmissions, which the waiting data must make up for.
  const double waits_bits = 8.0 * static_cast<double>(connection.queued_octets());
  const double saves = waits_bits / mode.rate_bps - waits_bits / wanted.rate_bps;
  const double costs =
      kMessagesOfChange * to_seconds(modem::airtime(mode, kControlOctets) + config_.turnaround);
  const bool faster = wanted.rate_bps > mode.rate_bps;
  return (!faster || saves > costs) && go_to(now, control, connection, wanted);
}

void PeerAdaptation::note_answered_in(const std::optional<modem::Mode>& mode, bool most) {
  answered_mode_ = mode;
  if (!mode) return;
  if (!was_answered(*mode)) answered_modes_.push_back(*mode);
  std::erase_if(unanswered_,
                [&](const Unanswered& noted) { return !less_robust(noted.mode, *mode); });
  if (!config_.adaptation) return;
  std::erase_if(proven_modes_, [&](const modem::Mode& proven) {
    return proven == *mode || (!most && less_robust(proven, *mode));
  });
  if (most) proven_modes_.push_back(*mode);
}

// A peer that no longer receives us cannot advise, so we go slower. The next advice of the peer
// tells how fast we may send again.
bool PeerAdaptation::fall_back(Instant now, PeerControl& control, const Connection& connection,
                               unsigned missed) {
  if (!config_.adaptation) return fall_back_from_advice(now, control, connection, missed);
  if (selector_) selector_->on_silence();
  if (guess_) guess_->on_lost(control.mode());
  if (!adapts(connection)) return false;
  const modem::Mode& present = control.mode();
  const bool to_long = missed >= kMissesForLong;
  const modem::Mode* slower = nullptr;
  const auto& modes = modes_with(connection.extensions());
  for (const modem::Mode& mode : modes) {
    const bool slow_enough =
        2 * mode.rate_bps <= present.rate_bps || mode.rate_bps == modes.front().rate_bps;
    const bool is_long = mode.interleaver == modem::Interleaver::long_;
    if (slow_enough && is_long == to_long && less_robust(present, mode)) slower = &mode;
  }
  // Go back from modes that may not be received at all to the last one that was answered.
  const auto& heard = answered_mode_;
  if (missed >= kMissesUnheard && !was_answered(present) && heard &&
      less_robust(slower ? *slower : present, *heard)) {
    slower = &*heard;
  }
  if (!slower) return false;
  control.set_mode(*slower);
  return true;
}

// A mode that was followed without agreement can be left without one.
bool PeerAdaptation::fall_back_from_advice(Instant now, PeerControl& control,
                                           const Connection& connection, unsigned missed) {
  if (missed < kMissesForLong || followed_mode_ != control.mode()) return false;
  if (!less_robust(control.mode(), config_.mode)) return false;
  note_unanswered(now, control, connection, false);
  control.set_mode(config_.mode);
  control.forget_advice();
  return true;
}

void PeerAdaptation::on_lost(Instant now, const PeerControl& control,
                             const Connection& connection) {
  note_unanswered(now, control, connection, true);
}

// Notes a mode that the peer advised or agreed to, but in which it answered nothing. The peer may
// not receive that mode, and would advise it again as soon as it receives anything else. The mode
// is tried a second time at once if it has not cost a link.
void PeerAdaptation::note_unanswered(Instant now, const PeerControl& control,
                                     const Connection& connection, bool lost) {
  const modem::Mode& mode = control.mode();
  if (mode == config_.mode || was_answered(mode) || adapts(connection)) return;
  std::erase_if(unanswered_,
                [now](const Unanswered& noted) { return now > noted.until + kUnansweredMemory; });
  auto noted = std::find_if(unanswered_.begin(), unanswered_.end(),
                            [&mode](const Unanswered& of) { return of.mode == mode; });
  if (noted == unanswered_.end()) {
    noted = unanswered_.insert(noted, Unanswered{.mode = mode});
  }
  const unsigned times = noted->times++ + (lost ? 1 : 0);
  noted->until = now;
  if (times == 0) return;
  noted->until += kUnansweredWait * (1 << std::min(times - 1, kUnansweredDoublingsMax));
}

bool PeerAdaptation::is_unanswered(Instant now, const modem::Mode& mode) const {
  return std::any_of(unanswered_.begin(), unanswered_.end(), [&](const auto& noted) {
    return now < noted.until && !less_robust(noted.mode, mode);
  });
}

void PeerAdaptation::on_refused(pdu::DrcReason reason) {
  refusal_ = reason;
  if (reason != pdu::DrcReason::none) refused_mode_ = std::exchange(requested_mode_, std::nullopt);
}

// A long interleaver takes a long preamble and a whole long block for a few octets. A slower rate
// with the short interleaver is as sure and quicker, as long as its preamble can be heard.
modem::Mode PeerAdaptation::mode_for(const Connection& connection, const modem::Mode& mode) const {
  const std::size_t data = connection.owes_only_ack() ? 0 : connection.queued_octets();
  const std::size_t octets = kControlOctets + data;
  return octets > kFewOctets ? mode : quickest(mode, octets, connection.extensions());
}

modem::Mode PeerAdaptation::quickest(const modem::Mode& mode, std::size_t octets,
                                     std::uint8_t extensions) const {
  modem::Mode quickest = mode;
  for (const modem::Mode& other : modes_with(extensions)) {
    if (!is_as_sure(other, mode)) continue;
    if (modem::airtime(other, octets) < modem::airtime(quickest, octets)) quickest = other;
  }
  return quickest;
}

// The octets that the peer had to send are not known, because the last block is filled up.
bool PeerAdaptation::carries_few(const modem::Mode& mode, const modem::Mode& advised,
                                 std::uint8_t extensions) const {
  if (!is_as_sure(mode, advised)) return false;
  for (std::size_t octets = kControlOctets; octets <= kFewOctets; octets += 10) {
    if (quickest(advised, octets, extensions) == mode) return true;
  }
  return false;
}

modem::Mode PeerAdaptation::reply_mode(const modem::Mode& mode, std::uint8_t extensions) const {
  const auto snr_db = selector_ ? selector_->snr_db() : std::nullopt;
  if (!snr_db) return mode;
  const auto seconds = [](const modem::Mode& of) { return modem::airtime(of, kReplyOctets); };
  modem::Mode quickest = mode;
  for (const modem::Mode& other : modes_with(extensions)) {
    if (other.waveform != modem::Waveform::ms110d) continue;  // its preamble is heard the best
    const bool much = seconds(mode) > seconds(other) + kMuchSooner;
    if (snr_needed_db(other) + (much ? kReplyMuchDb : kReplyDb) > *snr_db) continue;
    if (seconds(other) < seconds(quickest)) quickest = other;
  }
  return quickest;
}

void PeerAdaptation::on_transmitted(Instant now, const modem::Mode& mode, bool sent, bool asks) {
  if (sent) ++trials_;
  if (sent && asks && config_.full_duplex) {
    sent_.push_back({now, mode});
    if (sent_.size() > kSentMax) sent_.pop_front();
  }
  sent_mode_ = mode;
}

// Returns the mode of the last transmission that had ended when the answer was formed; in half
// duplex that is our last transmission.
std::optional<modem::Mode> PeerAdaptation::mode_answered(std::optional<Instant> formed_at) {
  if (!formed_at) return sent_mode_;
  while (sent_.size() > 1 && sent_[1].until <= *formed_at) sent_.pop_front();
  if (sent_.empty() || sent_.front().until > *formed_at) return std::nullopt;
  return sent_.front().mode;
}

// A transmission shorter than its longest frame would hold up that frame.
Duration PeerAdaptation::transmission_max(const PeerControl& control, const Connection& connection,
                                          const modem::Mode& mode, Duration otherwise) const {
  if (!config_.adaptation) return otherwise;
  const bool began = trials_ >= kTrialsMax || (connection.extensions() != 0 && control.advised());
  const bool untried =
      std::none_of(proven_modes_.begin(), proven_modes_.end(),
                   [&](const modem::Mode& proven) { return !less_robust(mode, proven); });
  if (began && !untried) return otherwise;
  const std::size_t longest =
      pdu::data_ack_octets(connection.longest_waiting(), pdu::kSelectiveOctetsMax);
  // A trial costs another preamble and answer, and a failure the whole transmission.
  const Duration trial_costs =
      2 * modem::preamble_duration(mode) + modem::data_duration(mode, kControlOctets);
  const auto& modes = modes_with(connection.extensions());
  const bool is_last = std::none_of(modes.begin(), modes.end(), [&](const modem::Mode& other) {
    return less_robust(mode, other);
  });
  const Duration whole = modem::data_duration(mode, connection.queued_octets() + longest);
  if (is_last || (began && whole <= kTrial + kFailuresPerTrial * trial_costs)) return otherwise;
  const Duration first =
      std::clamp(modem::data_duration(mode, kFirstTrialOctets), kFirstTrialMin, kTrial);
  const Duration trial = trials_ == 0 && began ? first : kTrial;
  return std::min(otherwise, std::max(trial, modem::data_duration(mode, longest)));
}

}  // namespace s5066::dts
