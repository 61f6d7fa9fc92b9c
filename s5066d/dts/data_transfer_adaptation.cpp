// DataTransfer: mode adaptation. It measures transmissions, derives advice from them, and follows
// the advice of others (C.6.4.2; docs/protocol/rate_control.md).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "s5066d/dts/data_rate.h"
#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {
namespace {

/// Longest trial transmission. A connection begins with trial transmissions until its receiver has
/// told what it can receive, and so does a mode until something was received in it.
constexpr Duration kFeeler = std::chrono::seconds(13);
constexpr unsigned kFeelersMax = 2;
/// Missing replies from which on the channel may be such that only a long interleaver helps.
constexpr unsigned kMissesForLong = 3;
/// Missing replies that count; a single one may be a chance loss.
constexpr unsigned kMissesUnheard = 2;
/// Number of type 6 messages of a change by agreement, and an upper bound of the octets of one.
constexpr int kMessagesOfChange = 5;
constexpr std::size_t kControlOctets = 40;
/// Largest factor of a rate step. It is rare that a rate cannot be received although a quarter of
/// it can.
constexpr std::uint32_t kStepMax = 4;
/// Time for which an unanswered mode is not tried again; it doubles each further time.
constexpr Duration kUnansweredWait = std::chrono::minutes(10);
constexpr unsigned kUnansweredDoublingsMax = 5;
constexpr Duration kUnansweredMemory = std::chrono::hours(1);  // after the end of that time
/// Longest transmission while others wait for theirs.
constexpr Duration kTransmissionShared = std::chrono::seconds(60);

/// True if both ends follow advice without a message.
bool adapts(const Connection& connection) {
  return (connection.extensions() & pdu::extension::kAdapts) != 0;
}

std::size_t usual_segment_octets(const modem::Mode& mode) {
  if (mode.rate_bps <= 300) return 200;
  return mode.rate_bps <= 2400 ? 400 : 800;
}

/// Returns the octets that the longest transmission holds beside an acknowledgement.
std::size_t room_for_segment(const Config& config, const modem::Mode& mode) {
  const std::size_t holds = modem::capacity(mode, config.transmission_max);
  return holds - std::min(holds, pdu::data_ack_octets(0, pdu::kSelectiveOctetsMax));
}

}  // namespace

bool hears(const Config& config, const modem::Mode& mode) {
  return modem::is_heard(mode, modem::listen_modes(config.receive_modes, config.mode));
}

std::uint8_t extensions(const Config& config) {
  if (!config.offer_extensions) return 0;
  const auto modes = modes_in_use(config);
  const bool adapts = config.adaptation &&
                      std::all_of(modes.begin(), modes.end(), [&config](const modem::Mode& mode) {
                        return hears(config, mode);
                      });
  return pdu::extension::kAnySegmentLength | pdu::extension::kLargeWindow |
         (adapts ? pdu::extension::kAdapts : std::uint8_t{0});
}

std::size_t segment_octets(const Config& config, const modem::Mode& mode) {
  if (config.segment_octets > 0) return config.segment_octets;
  const std::size_t usual = usual_segment_octets(mode);
  return mode == config.mode ? usual : std::min(usual, segment_octets_max(config));
}

std::size_t segment_octets_max(const Config& config) {
  if (config.segment_octets > 0) return config.segment_octets;
  std::size_t longest = pdu::kSegmentOctetsMax;
  for (const modem::Mode& mode : modes_in_use(config)) {
    longest = std::min(longest, room_for_segment(config, mode));
  }
  return std::max(longest, usual_segment_octets(config.mode));
}

std::vector<modem::Mode> modes_in_use(const Config& config) {
  std::vector<modem::Mode> modes;
  if (config.adaptation) modes = modes_to_choose_from(config.mode, *config.adaptation);
  modes.push_back(config.mode);
  return modes;
}

bool holds_segment(const Config& config, const modem::Mode& mode, std::size_t octets) {
  return room_for_segment(config, mode) >= octets;
}

// Bulk data uses the longest transmission of the standard, because preamble and turnaround cost the
// same for any length.
Duration DataTransfer::transmission_max(const modem::Mode& mode) const {
  const auto busy = std::count_if(connections_.begin(), connections_.end(),
                                  [](const auto& entry) { return entry.second.has_work(); });
  const Duration max =
      busy > 1 ? std::min(config_.transmission_max, kTransmissionShared) : config_.transmission_max;
  // A frame that was cut for another mode must fit, too.
  const std::size_t longest =
      pdu::data_ack_octets(segment_octets_max(config_), pdu::kSelectiveOctetsMax);
  return modem::capacity(mode, max) < longest ? config_.transmission_max : max;
}

// --- What is measured ----------------------------------------------------------------------------

// Received octets count even if the SNR is not a number.
void DataTransfer::note_quality(const modem::ReceivedBytes& event) {
  const double snr_db = event.channel.snr_db;
  heard_->meter.on_bytes(event.bytes.size(),
                         std::isfinite(snr_db) ? std::optional(snr_db) : std::nullopt);
}

/// Returns the peer that sent the transmission. If no header was received intact, only elimination
/// can tell: if other stations are on the air, it is the peer's only if that peer had been asked
/// and answered in time.
DataTransfer::Peer* DataTransfer::heard_peer(Instant now) {
  if (is_own_echo()) return nullptr;
  if (heard_->source) {
    const auto record = peers_.find(*heard_->source);
    return record == peers_.end() ? nullptr : &record->second;
  }
  if (connections_.size() != 1) return nullptr;
  const Address only = connections_.begin()->first;
  if (turn_.third_stations(now) && turn_.answers() != only) return nullptr;
  Peer& record = peers_.at(only);
  const bool expected = heard_->mode == record.advice_out || heard_->mode == record.heard_in;
  return expected ? &record : nullptr;
}

// If our receiver can decode none of the modes that adaptation may use, give no advice.
std::optional<RateSelector> DataTransfer::new_selector() const {
  std::vector<modem::Mode> modes;
  std::copy_if(modes_.begin(), modes_.end(), std::back_inserter(modes),
               [this](const modem::Mode& mode) { return hears(config_, mode); });
  if (modes.empty()) return std::nullopt;
  const modem::Mode start = hears(config_, config_.mode) ? config_.mode : modes.front();
  return RateSelector(
      {.modes = std::move(modes), .start = start, .transmission_max = config_.transmission_max});
}

void DataTransfer::on_measured(Instant now, const modem::CarrierDown& event) {
  if (!config_.adaptation || !heard_->meter.measured()) return;
  Peer* record = heard_peer(now);
  if (!record) return;
  if (!record->selector) record->selector = new_selector();
  if (!record->selector) return;
  // The transmission is slower than advised. If it is also slower than the one before, or too late
  // for an answer to our advice, a transmission between was not heard. A peer that asks for a
  // change first stays slower until the change is agreed.
  const bool slower = record->advice_out && less_robust(*record->advice_out, heard_->mode);
  const Instant began = *heard_->start - modem::preamble_duration(heard_->mode);
  const bool late = began > record->advice_at + reply_time(now);
  if (slower && !heard_->managed) {
    if (record->heard_in != heard_->mode) {
      record->selector->on_lost(*record->advice_out);
    } else if (late) {
      record->selector->on_missed(*record->advice_out);
    }
  }
  record->advice_out.reset();
  record->heard_in = heard_->mode;
  if (heard_->mode == record->control.peer_mode()) record->agreed_heard = heard_->mode;
  if (heard_->meter.any_intact()) {
    record->heard_max_bps = std::max(record->heard_max_bps, heard_->mode.rate_bps);
  }
  const bool cut = event.reason == modem::CarrierDownReason::lost && heard_->announced;
  if (cut && *heard_->announced > now) {
    const double unheard = to_seconds(*heard_->announced - now) * heard_->mode.rate_bps / 8;
    heard_->meter.on_cut(static_cast<std::size_t>(unheard));
  }
  // If each change needs an agreement, and a failed one costs a link, a step must stay near a
  // working mode, because a mode may not be received at all although the SNR suffices.
  const auto connection = connections_.find(record->control.peer());
  const bool free = connection != connections_.end() && adapts(connection->second);
  const std::uint32_t most = std::max(record->heard_max_bps, config_.mode.rate_bps);
  record->selector->set_rate_max(free ? UINT32_MAX : kStepMax * most);
  for (const Reception& reception : heard_->meter.receptions(heard_->managed)) {
    record->selector->on_reception(now, reception);
  }
}

// --- What is advised -----------------------------------------------------------------------------

void DataTransfer::tell_advice(Instant now) {
  if (!config_.adaptation) return;
  for (auto& [peer, connection] : connections_) {
    Peer& record = peers_.at(peer);
    if (!record.selector) continue;
    const bool free = adapts(connection);
    record.selector->set_by_agreement(!free);
    const modem::Mode& wish = record.selector->mode();
    const auto told = free ? wish : advice_for(record, wish);
    record.control.advise(wish, told);
    record.control.advise_with_data(free);
    turn_.on_preamble(now, modem::preamble_duration(wish));  // the peer may ask for that mode
    if (told) turn_.on_preamble(now, modem::preamble_duration(*told));
  }
}

// Edition 3 lets an advised station change without a message if receivers detect the mode by
// themselves (C.6.4.2), and defines no way back. Our own stations go back by themselves. A peer of
// another make is told what we wish only when it has been seen to ask first. Until then it is told
// the longer interleaver at its present rate, which can always be received. A peer that changes to
// it without asking is told what we wish as well, but nothing less robust than its mode before.
std::optional<modem::Mode> DataTransfer::advice_for(Peer& record, const modem::Mode& wish) const {
  const PeerControl& control = record.control;
  if (control.asks_for_changes()) return wish;
  if ((control.capabilities().value_or(pdu::capability::kDrc) & pdu::capability::kDrc) == 0) {
    return std::nullopt;
  }
  if (connections_.at(control.peer()).extensions() != 0) return wish;
  if (!record.heard_in) return std::nullopt;
  const modem::Mode& heard = *record.heard_in;
  auto& probe = record.probe;
  // It has changed on its own, so its earlier mode tells nothing any more.
  if (probe && !probe->followed && heard != probe->told && heard != probe->before) probe.reset();
  if (!probe) {
    const auto safer = std::find_if(modes_.begin(), modes_.end(), [&](const modem::Mode& mode) {
      return mode.waveform == heard.waveform && mode.rate_bps == heard.rate_bps &&
             less_robust(heard, mode) && hears(config_, mode);
    });
    if (safer == modes_.end()) return std::nullopt;
    probe = {*safer, heard};
  }
  probe->followed = probe->followed || heard == probe->told;
  if (!probe->followed) return probe->told;
  if (less_robust(heard, probe->before)) probe->before = heard;
  return less_robust(wish, probe->before) ? probe->before : wish;
}

// Call when the link ended before anything was received in the mode that the peer was to use by
// agreement.
void DataTransfer::note_never_heard(Peer& record) {
  const auto agreed = record.control.peer_mode();
  if (!record.selector || !agreed || record.agreed_heard == agreed) return;
  record.selector->on_never_heard(*agreed);
}

// --- What is done with advice --------------------------------------------------------------------

// Every D_PDU carries the advice, and it is followed each time, because a missing answer may have
// made us slower meanwhile. It may also have waited for the peer's offer.
void DataTransfer::heed_advice(Address source, const pdu::Eow& eow) {
  const bool told = eow.type == static_cast<std::uint8_t>(pdu::EowType::drc_request) ||
                    eow.type == static_cast<std::uint8_t>(pdu::EowType::extensions);
  if (!config_.adaptation || !told || !connections_.contains(source)) return;
  Peer& record = peers_.at(source);
  const auto advised = record.control.advised();
  if (!advised) return;
  // Choose the least robust of our modes that is no less robust than advised; if there is none, the
  // most robust one.
  const modem::Mode* nearest = nullptr;
  for (const modem::Mode& mode : modes_) {
    const bool suits = !less_robust(mode, *advised);
    if (suits && (!nearest || less_robust(mode, *nearest))) nearest = &mode;
  }
  go_to(record, nearest ? *nearest : *std::max_element(modes_.begin(), modes_.end(), less_robust));
}

void DataTransfer::go_to(Peer& record, const modem::Mode& mode) {
  PeerControl& control = record.control;
  if (mode == control.mode() || mode == record.refused || is_unanswered(record, mode)) return;
  record.refused.reset();
  const Connection& connection = connections_.at(control.peer());
  // A peer that advises can be asked, unless it tells that it cannot change.
  const std::uint8_t unsaid = control.advised() ? pdu::capability::kDrc : 0;
  if (adapts(connection)) {
    control.set_mode(mode);
  } else if (extensions(config_) != 0 && record.feelers <= kFeelersMax) {
    return;  // the peer may not have told yet that it needs no agreement
  } else if ((control.capabilities().value_or(unsaid) & pdu::capability::kDrc) != 0) {
    // The request is refused while another change is under way; the answer to that one counts.
    if (control.request_mode(mode).ok()) record.asked = mode;
  }
  collect(control);
}

bool DataTransfer::was_answered(const Peer& record, const modem::Mode& mode) {
  return std::find(record.answered.begin(), record.answered.end(), mode) != record.answered.end();
}

// If a receiver advises nothing, we judge its reception by its acknowledgements.
void DataTransfer::note_answer(Connection& connection, std::optional<Instant> formed_at) {
  const auto answer = connection.take_answer();
  if (!answer) return;
  Peer& record = peers_.at(connection.peer());
  const auto sent_in = mode_answered(record, formed_at);
  record.answered_in = sent_in;
  if (sent_in && !was_answered(record, *sent_in)) record.answered.push_back(*sent_in);
  std::erase_if(record.unanswered, [&](const Unanswered& noted) {
    return sent_in && !less_robust(noted.mode, *sent_in);
  });
  if (!config_.adaptation) return;
  const bool most = 2 * answer->lost < answer->frames;
  if (sent_in) {
    std::erase_if(record.proven, [&](const modem::Mode& proven) {
      return proven == *sent_in || (!most && less_robust(proven, *sent_in));
    });
    if (most) record.proven.push_back(*sent_in);
  }
  if (record.control.advised() || record.feelers < kFeelersMax) return;
  const modem::Mode& mode = record.control.mode();
  if (!record.guess) {
    record.guess.emplace(RateSelector::Config{.modes = modes_,
                                              .start = mode,
                                              .transmission_max = config_.transmission_max,
                                              .by_agreement = true});
  }
  const std::size_t lost = answer->octets * answer->lost / answer->frames;
  record.guess->on_reception({}, {.mode = formed_at && sent_in ? *sent_in : mode,
                                  .octets = answer->octets,
                                  .octets_intact = answer->octets - lost,
                                  .blocks = static_cast<unsigned>(answer->frames)});
  const modem::Mode& wanted = record.guess->mode();
  // A change by agreement costs five transmissions, which the waiting data must make up for.
  const double waits_bits = 8.0 * static_cast<double>(connection.queued_octets());
  const double saves = waits_bits / mode.rate_bps - waits_bits / wanted.rate_bps;
  const double costs =
      kMessagesOfChange * to_seconds(modem::airtime(mode, kControlOctets) + config_.turnaround);
  const bool faster = wanted.rate_bps > mode.rate_bps;
  if (!faster || saves > costs) go_to(record, wanted);
}

// A peer that no longer receives us cannot advise, so we go slower. The next advice of the peer
// tells how fast we may send again.
void DataTransfer::fall_back(Peer& record, unsigned missed) {
  const auto connection = connections_.find(record.control.peer());
  if (connection == connections_.end()) return;
  if (!config_.adaptation) return fall_back_from_advice(record, missed);
  if (record.selector) record.selector->on_silence();
  if (record.guess) record.guess->on_lost(record.control.mode());
  if (!adapts(connection->second)) return;
  const modem::Mode& now = record.control.mode();
  const bool to_long = missed >= kMissesForLong;
  const modem::Mode* slower = nullptr;
  for (const modem::Mode& mode : modes_) {
    const bool slow_enough =
        2 * mode.rate_bps <= now.rate_bps || mode.rate_bps == modes_.front().rate_bps;
    const bool is_long = mode.interleaver == modem::Interleaver::long_;
    if (slow_enough && is_long == to_long && less_robust(now, mode)) slower = &mode;
  }
  // Go back from modes that may not be received at all to the last one that was answered.
  const auto& heard = record.answered_in;
  if (missed >= kMissesUnheard && !was_answered(record, now) && heard &&
      less_robust(slower ? *slower : now, *heard)) {
    slower = &*heard;
  }
  if (!slower) return;
  counters_.add(Counter::fallbacks);
  record.control.set_mode(*slower);
  collect(record.control);
}

// A mode that was followed without agreement can be left without one.
void DataTransfer::fall_back_from_advice(Peer& record, unsigned missed) {
  PeerControl& control = record.control;
  if (missed < kMissesForLong || record.followed != control.mode()) return;
  if (!less_robust(control.mode(), config_.mode)) return;
  counters_.add(Counter::fallbacks);
  note_unanswered(record, false);
  control.set_mode(config_.mode);
  control.forget_advice();
  collect(control);
}

// Notes a mode that the peer advised or agreed to, but in which it answered nothing. The peer may
// not receive that mode, and would advise it again as soon as it receives anything else. The mode
// is tried a second time at once if it has not cost a link.
void DataTransfer::note_unanswered(Peer& record, bool lost) {
  const modem::Mode& mode = record.control.mode();
  if (mode == config_.mode || was_answered(record, mode)) return;
  const auto connection = connections_.find(record.control.peer());
  if (connection == connections_.end()) return;
  if (adapts(connection->second)) return;
  std::erase_if(record.unanswered,
                [this](const Unanswered& noted) { return now_ > noted.until + kUnansweredMemory; });
  auto noted = std::find_if(record.unanswered.begin(), record.unanswered.end(),
                            [&mode](const Unanswered& of) { return of.mode == mode; });
  if (noted == record.unanswered.end()) {
    noted = record.unanswered.insert(noted, Unanswered{.mode = mode});
  }
  const unsigned times = noted->times++ + (lost ? 1 : 0);
  noted->until = now_;
  if (times == 0) return;
  noted->until += kUnansweredWait * (1 << std::min(times - 1, kUnansweredDoublingsMax));
}

bool DataTransfer::is_unanswered(const Peer& record, const modem::Mode& mode) const {
  return std::any_of(record.unanswered.begin(), record.unanswered.end(), [&](const auto& noted) {
    return now_ < noted.until && !less_robust(noted.mode, mode);
  });
}

// A transmission shorter than its longest frame would hold up that frame.
Duration DataTransfer::feeler_max(Address peer, const modem::Mode& mode, Duration otherwise) const {
  const Peer& record = peers_.at(peer);
  if (!config_.adaptation) return otherwise;
  const bool began = record.feelers >= kFeelersMax ||
                     (connections_.at(peer).extensions() != 0 && record.control.advised());
  const bool untried =
      std::none_of(record.proven.begin(), record.proven.end(),
                   [&](const modem::Mode& proven) { return !less_robust(mode, proven); });
  if (began && !untried) return otherwise;
  const std::size_t longest =
      pdu::data_ack_octets(connections_.at(peer).longest_waiting(), pdu::kSelectiveOctetsMax);
  return std::min(otherwise, std::max(kFeeler, modem::data_duration(mode, longest)));
}

}  // namespace s5066::dts
