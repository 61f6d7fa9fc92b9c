// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/rate_selector.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "modem/api/airtime.h"
#include "s5066d/base/assert.h"
#include "s5066d/dts/data_rate.h"
#include "s5066d/dts/segment_size.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
using modem::Mode;

/// Additional SNR (dB) for the short interleaver on a channel on which the long one evens out all
/// fading.
constexpr double kExtraShortDb = 3;
/// Variance of a single reception (dB squared), in addition to its small sample size.
constexpr double kVarianceSeen = 0.7 * 0.7;
/// Share of what was learnt that is lost with each reception, and when the channel has changed.
constexpr double kForget = 0.015;
constexpr double kForgetStep = 0.5;
/// Drift variance of the SNR (dB squared per second), and variance of one reading.
constexpr double kDriftPerSecond = 0.01;
constexpr double kVarianceRead = 0.1;
/// Standard deviations by which an uncertain mode is judged better than expected, because a mode
/// that is never tried is never known.
constexpr double kHope = 0.5;
/// Factor in yield that a change must bring, and that a change by agreement must bring.
constexpr double kGain = 1.1;
constexpr double kGainByAgreement = 1.3;
/// Factor for the short interleaver at the same rate, if the variance of its offset is more than
/// kLessKnown times that of the long one. The factor is small and kHopeShort is 1, because little
/// is at stake and one transmission settles the question.
constexpr double kGainShort = 1.02;
constexpr double kLessKnown = 1.5;
constexpr double kHopeShort = 1;
/// Spread of blocks and their correlation, until they are measured.
constexpr double kSpreadShortDb = 2.5;
constexpr double kSpreadLongDb = 1.2;
constexpr double kCorrelation = 0.3;
/// Fewer blocks tell nothing about their correlation; kCorrelationBlocks weigh as much as all
/// before.
constexpr unsigned kCorrelationBlocksMin = 8;
constexpr double kCorrelationBlocks = 20;
/// The first advice is for a message of this many octets, because no data has been heard yet. A
/// failure of the first data costs this many seconds for the wait and another request, and its own
/// time again.
constexpr std::size_t kFirstOctets = 2000;
constexpr double kFirstLostSeconds = 9;
/// The first data does not go in a mode in which less of it is expected to arrive, unless that is
/// so in every mode.
constexpr double kFirstComesMin = 0.4;
constexpr double kFirstUnlikely = 1e-3;
/// The blocks of link control are few. If they have one SNR all the same, the channel probably does
/// not fade. The many blocks of data tell it more sharply by their spread (dB): this much at most
/// without fading, and hardly ever less than this with it, for each kind of interleaver.
constexpr std::array kSpreadSteadyDb = {0.6, 0.4};
constexpr std::array kSpreadFadingDb = {1.4, 0.8};
/// Factors in the widths of the detection of the preamble and of the transition between nothing and
/// all received, on a channel that does not fade.
constexpr double kSteadyWidth = 0.3;
constexpr double kSteadyTransition = 0.6;
/// Weight, in blocks, of the spread that is expected before it is measured.
constexpr double kSpreadBlocksBefore = 0.5;
/// Spread of the SNRs that are read of blocks without fading.
constexpr double kSpreadWhiteDb = 0.3;
/// Width of the transition between nothing and all received, without fading.
constexpr double kWidthDb = 1;
/// Without fading a sender that shortens its segments (docs/decisions/0018) gets more through than
/// the share of segments of kUsualOctets that arrives; not if that share is below kShortenFrom,
/// because the error rate then rises tenfold with each dB, and wholly from kShortenAll on.
constexpr double kUsualOctets = 400;
constexpr double kShortenFrom = 0.35;
constexpr double kShortenAll = 0.5;
/// At a lower rate a message is over before its segments are short enough.
constexpr std::uint32_t kShortenBpsMin = 1200;
/// The short interleaver is taken in bulk from this steadiness on if it brings nearly as much as
/// the long one, because the last block of a message, and each repetition of a few octets, ends up
/// to 4 s sooner. kFavourShort is its factor without fading.
constexpr double kSteadyForShort = 0.3;
constexpr double kFavourShort = 1.1;
/// Beside 110A and STANAG 4539 the modes of 110D up to this rate are worth choosing.
constexpr std::uint32_t kUseful110dMaxBps = 2400;
/// Seconds between two bulk transmissions, including the answer.
constexpr double kBulkReplySeconds = 3;
/// Seconds that a lost short transmission costs besides itself: waiting, and asking again.
constexpr double kShortReplySeconds = 9;
/// A transmission of this length is no single short message.
constexpr double kBulkSeconds = 8;
/// Mean difference of the SNR that is read of 110D from 150 to 2400 bit/s in white noise of -4 to
/// 4 dB.
constexpr double kReadsHigh110dDb = 2.2;
/// Width of preamble detection: a preamble is shorter than most fades and is missed in one.
constexpr double kPreambleWidthDb = 3.5;
/// An SNR this many widths away is another channel, not the same one measured again.
constexpr double kStepWidths = 3;
/// A transmission counts as this many independent blocks, at most one in a second.
constexpr double kLooksMin = 0.2;
constexpr double kLooksMax = 30;
/// If more than kEmptyLoss of a mode is lost kEmptyMax times in a row, it is not chosen for
/// kWaitsFirst receptions, unless the SNR rises by kFailureReachDb.
constexpr double kEmptyLoss = 0.95;
constexpr unsigned kEmptyMax = 2;
/// One loss is enough if its probability by the SNR is below kUnlikely and it has at least
/// kManyOctets; fewer octets are in so few D_PDUs that single blocks may have hit them all.
constexpr double kUnlikely = 0.05;
constexpr std::size_t kManyOctets = 2500;
constexpr int kWaitsFirst = 4;
constexpr int kWaitsMax = 96;
constexpr double kFailureReachDb = 5;
/// Receptions for which a mode is not chosen that has cost a link.
constexpr int kWaitsNeverHeard = 32;
/// Missed transmissions in a row in a mode that was never heard, of which a single one may be
/// chance, and in a mode that was heard before.
constexpr unsigned kUnheardMax = 2;
constexpr unsigned kUnheardAgainMax = 6;
constexpr Duration kForgottenAfter = std::chrono::minutes(10);

/// Returns how many blocks of the short interleaver have the length of one of the long one.
int blocks_in_long(const Mode& mode) {
  if (mode.waveform == modem::Waveform::ms110d) return 16;
  return mode.waveform == modem::Waveform::ms110a ? 8 : 4;
}

double share_lost(std::size_t octets, std::size_t octets_intact) {
  return 1 - static_cast<double>(std::min(octets_intact, octets)) / static_cast<double>(octets);
}

/// Returns the number of independent blocks with the same weight; blocks of one fade are not
/// independent.
double looks_of(const Reception& reception) {
  if (!reception.snr_db) return std::clamp<double>(reception.blocks, 1, kLooksMax);
  const double bits = 8.0 * static_cast<double>(reception.octets);
  const double blocks = bits / static_cast<double>(modem::block_bits(reception.mode));
  return std::clamp(std::min(bits / reception.mode.rate_bps, blocks), kLooksMin, kLooksMax);
}

/// Returns by how much (dB) the receiver reads the SNR of the mode too high.
double reads_high_db(const Mode& mode) {
  const bool walsh = mode.rate_bps <= 75;
  return mode.waveform == modem::Waveform::ms110d && !walsh ? kReadsHigh110dDb : 0;
}

/// Returns the SNR (dB) at which a preamble can just be detected.
double preamble_needed_db(const Mode& mode) {
  if (mode.waveform == modem::Waveform::ms110d) return -10;
  if (mode.waveform != modem::Waveform::ms110a) return 3;
  return mode.interleaver == Interleaver::long_ ? -10 : -5;
}

/// Returns the share of the octets that arrives in segments of the best length, compared with those
/// of kUsualOctets, of which `arrives` arrive because single bits go wrong.
double share_of_best_segments(double arrives) {
  if (arrives >= 1 || arrives < kShortenFrom) return arrives;
  const double header = pdu::data_octets(0);
  const double errors = -std::log(arrives) / (8 * (kUsualOctets + header));
  const auto n = static_cast<double>(best_segment_octets(errors, pdu::data_octets(0)));
  const double yield = n / (n + header) * std::exp(-8 * errors * (n + header));
  return std::clamp(yield * (kUsualOctets + header) / kUsualOctets, arrives, 1.0);
}

/// Computes the inverse of `normal` by bisection; `p` between 0.001 and 0.999.
double quantile(double p) {
  double low = -4;
  double high = 4;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (normal(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

std::vector<Mode> modes_to_choose_from(const Mode& like, const RateLimits& limits) {
  std::vector<Mode> modes;
  for (const Mode& mode : modem::all_modes()) {
    if (mode.rate_bps < limits.rate_min_bps || mode.rate_bps > limits.rate_max_bps) continue;
    if (mode.interleaver != Interleaver::short_ && mode.interleaver != Interleaver::long_) continue;
    const auto named = drc_request(mode);
    if (named && mode_of(*named, like.waveform) == mode) modes.push_back(mode);
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.rate_bps < b.rate_bps; });
  if (modes.empty()) modes.push_back(like);
  return modes;
}

// In white noise 110D needs up to 4.5 dB less than 110A, and no less than STANAG 4539 (see
// docs/measurements/modem.md), whose preamble is shorter.
std::vector<Mode> modes_of_one_choice(const Mode& like, const RateLimits& limits) {
  std::vector<Mode> modes = modes_to_choose_from(like, limits);
  Mode other = like;
  if (like.waveform == modem::Waveform::ms110d) {
    other.waveform = modem::Waveform::ms110a;
  } else if (heard_together(like.waveform, modem::Waveform::ms110a)) {
    other.waveform = modem::Waveform::ms110d;
  } else {
    return modes;
  }
  for (const Mode& mode : modes_to_choose_from(other, limits)) {
    if (mode.waveform == modem::Waveform::ms110d && mode.rate_bps > kUseful110dMaxBps) continue;
    if (mode.waveform == other.waveform || heard_together(mode.waveform, other.waveform)) {
      modes.push_back(mode);
    }
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.rate_bps < b.rate_bps; });
  return modes;
}

RateSelector::RateSelector(const Config& config)
    : config_(config),
      mode_(config.start),
      offsets_(config.modes),
      failures_(config_.modes.size()) {
  S5066_ASSERT(!config_.modes.empty());
}

// --- What is expected of a mode ------------------------------------------------------------------

// Returns the share of the spread between blocks of the short interleaver that remains with the
// long one.
double RateSelector::evened_out(const Mode& mode) const {
  const double c = correlation_.value_or(kCorrelation);
  const int n = blocks_in_long(mode);
  double sum = 1;
  double power = 1;
  for (int i = 1; i < n; ++i) sum += 2 * (1 - static_cast<double>(i) / n) * (power *= c);
  return std::sqrt(sum / n);
}

// Returns the width of the transition. A block is lost when its own SNR is too low, and the SNRs of
// blocks differ by the fading that the interleaver does not even out. The spread of one interleaver
// predicts that of the other.
double RateSelector::width_db(const Mode& mode) const {
  const double white = kWidthDb * (1 - (1 - kSteadyTransition) * steadiness_);
  return std::hypot(white, spread_of(mode));
}

double RateSelector::spread_of(const Mode& mode) const {
  const auto& own = spread_db_[kind(mode)];
  const auto& other = spread_db_[1 - kind(mode)];
  if (own) return *own;
  if (other) return kind(mode) == 0 ? *other / evened_out(mode) : *other * evened_out(mode);
  return blind_ ? 0 : kind(mode) == 0 ? kSpreadShortDb : kSpreadLongDb;
}

// The steadiness is 1 if all blocks have the same SNR. Until data is heard, it is 0 for as much
// spread as is expected of a channel not yet measured.
void RateSelector::note_steadiness(const Mode& mode) {
  const double usual = kind(mode) == 0 ? kSpreadShortDb : kSpreadLongDb;
  const double least = data_heard_ ? kSpreadSteadyDb[kind(mode)] : kSpreadWhiteDb;
  const double most = data_heard_ ? kSpreadFadingDb[kind(mode)] : usual;
  steadiness_ = 1 - std::clamp((spread_of(mode) - least) / (most - least), 0.0, 1.0);
  offsets_.set_steadiness(steadiness_);
}

double RateSelector::needed_db(std::size_t at) const {
  const Mode& mode = config_.modes[at];
  return snr_needed_db(mode) + offsets_.expected_db(at) + extra_db(mode);
}

// The more the long interleaver evens out, the more the remaining fading hits the short one.
double RateSelector::extra_db(const Mode& mode) const {
  return kind(mode) == 0 ? kExtraShortDb * (1 - evened_out(mode)) * (1 - steadiness_) : 0;
}

// The first data is no trial.
double RateSelector::hoped_db(std::size_t at) const {
  if (!data_heard_) return needed_db(at);
  return needed_db(at) - kHope * std::sqrt(offsets_.variance(at));
}

// Returns the width including all uncertainty.
double RateSelector::full_width_db(std::size_t at) const {
  const double blocks = width_db(config_.modes[at]);
  return std::sqrt(blocks * blocks + offsets_.variance(at) + snr_variance_);
}

double RateSelector::arrives(std::size_t at) const {
  return normal((snr_db_.value_or(0) - hoped_db(at)) / full_width_db(at));
}

// Returns the arriving share if the mode needs as little SNR as may well be.
double RateSelector::arrives_at_best(std::size_t at) const {
  const double needed = needed_db(at) - kHopeShort * std::sqrt(offsets_.variance(at));
  const double width = std::hypot(width_db(config_.modes[at]), std::sqrt(snr_variance_));
  return normal((snr_db_.value_or(0) - needed) / width);
}

// Returns the share of the transmissions whose preamble is not detected.
double RateSelector::missed(const Mode& mode) const {
  if (blind_) return 0;
  const double width = kPreambleWidthDb * (1 - (1 - kSteadyWidth) * steadiness_);
  return normal((preamble_needed_db(mode) - snr_db_.value_or(0)) / width);
}

// Returns the octets per second, if that share of them arrives.
double RateSelector::yield(std::size_t at, double arrives) const {
  const Mode& mode = config_.modes[at];
  const double heard = 1 - missed(mode);
  if (!data_heard_) {
    const double whole = to_seconds(modem::airtime(mode, kFirstOctets));
    const double lost = 1 - heard * arrives;
    if (1 - lost < kFirstComesMin) return kFirstUnlikely * (1 - lost);
    return static_cast<double>(kFirstOctets) * (1 - lost) /
           (whole + kBulkReplySeconds + lost * (kFirstLostSeconds + whole));
  }
  const auto largest = *std::max_element(octets_.begin(), octets_.end());
  const std::size_t octets =
      bulk_ ? modem::capacity(mode, config_.transmission_max) : std::max<std::size_t>(largest, 20);
  const double seconds =
      to_seconds(modem::airtime(mode, octets)) + (bulk_ ? kBulkReplySeconds : kShortReplySeconds);
  return static_cast<double>(octets) * heard * share(mode, arrives) / seconds;
}

// Returns the share of bulk data that gets through, if `arrives` of the usual segments arrive. A
// station that changes by agreement may have segments of one length.
double RateSelector::share(const Mode& mode, double arrives) const {
  if (!bulk_ || blind_ || config_.by_agreement || mode.rate_bps < kShortenBpsMin) return arrives;
  const double shortens =
      std::clamp((arrives - kShortenFrom) / (kShortenAll - kShortenFrom), 0.0, 1.0);
  return arrives + steadiness_ * shortens * (share_of_best_segments(arrives) - arrives);
}

// --- What was measured ---------------------------------------------------------------------------

void RateSelector::on_reception(Instant now, const Reception& measured) {
  Reception reception = measured;
  if (reception.snr_db) *reception.snr_db -= reads_high_db(reception.mode);
  if (now - heard_at_ > kForgottenAfter) snr_stale_ = true;
  if (blind_ && !reception.snr_db && !snr_db_) {
    // Without an SNR only the offsets are known; they begin where the present mode just works.
    snr_db_ = 0;
    offsets_.expect(-snr_needed_db(mode_) - 2 * kWidthDb);
  }
  data_heard_ = data_heard_ || !reception.managed;
  if (reception.snr_db) measure_snr(now, reception);
  heard_at_ = now;
  if (reception.more_follows) {
    octets_before_ += reception.octets;
    octets_intact_before_ += reception.octets_intact;
    return learn(reception);
  }
  const std::size_t octets = std::exchange(octets_before_, 0) + reception.octets;
  const std::size_t octets_intact =
      std::exchange(octets_intact_before_, 0) + reception.octets_intact;
  if (!reception.managed) octets_[receptions_++ % octets_.size()] = octets;
  const double octets_bulk = kBulkSeconds * reception.mode.rate_bps / 8;
  bulk_ = std::any_of(octets_.begin(), octets_.end(),
                      [&](std::size_t n) { return static_cast<double>(n) > octets_bulk; });
  for (Failure& mode : failures_) mode.waits = std::max(0, mode.waits - 1);
  const double lost = octets > 0 ? share_lost(octets, octets_intact) : 0;
  const bool unlikely = lost > kEmptyLoss && octets >= kManyOctets && is_unlikely(reception);
  if (Failure* mode = failure_of(reception.mode)) {
    mode->heard = true;
    mode->times = 0;
    if (octets > 0) note_outcome(*mode, lost, unlikely);
  }
  // The few octets of link control tell no more than is known of a channel without fading.
  if (!unlikely && (!reception.managed || steadiness_ < 0.5)) learn(reception);
  choose();
}

void RateSelector::measure_snr(Instant now, const Reception& reception) {
  const double blocks = std::clamp<double>(reception.blocks, 1, kLooksMax);
  auto& spread = spread_db_[kind(reception.mode)];
  if (reception.blocks >= 4) {
    const double weight = spread ? blocks / (blocks + 8) : 1;
    spread = (1 - weight) * spread.value_or(0) + weight * reception.spread_db;
  } else if (reception.blocks > 1 && !spread) {
    const double weight = blocks / (blocks + kSpreadBlocksBefore);
    spread = (1 - weight) * spread_of(reception.mode) + weight * reception.spread_db;
  }
  if (reception.blocks >= kCorrelationBlocksMin) {
    const double own = kind(reception.mode) == 0
                           ? reception.correlation
                           : std::pow(reception.correlation, 1.0 / blocks_in_long(reception.mode));
    const double weight = correlation_ ? blocks / (blocks + kCorrelationBlocks) : 1;
    correlation_ = (1 - weight) * correlation_.value_or(0) + weight * own;
  }
  const double change = *reception.snr_db - snr_db_.value_or(0);
  if (reception.blocks < 4 && snr_db_ && !snr_stale_ && !blind_) {
    // Short transmissions tell the spread by how they differ.
    const double before = spread_of(reception.mode);
    const double bounded = std::min(std::abs(change), 2 * width_db(reception.mode));
    spread = std::sqrt(0.9 * before * before + 0.1 * bounded * bounded);
  }
  const double width = width_db(reception.mode);
  // The blocks of link control differ by fading alone.
  const double differs = !data_heard_ ? spread_of(reception.mode) : width;
  const double variance = differs * differs / looks_of(reception) + kVarianceRead;
  const bool another = std::abs(change) > kStepWidths * std::max(width, kWidthDb);
  const bool fresh = !snr_db_ || snr_stale_ || blind_ || another;
  if (another && snr_db_ && !snr_stale_ && !blind_) offsets_.forget(kForgetStep);
  if (fresh) {
    snr_db_ = *reception.snr_db;
    snr_variance_ = variance;
  } else {
    snr_variance_ += kDriftPerSecond * std::max(0.0, to_seconds(now - heard_at_));
    const double gain = snr_variance_ / (snr_variance_ + variance);
    *snr_db_ += gain * change;
    snr_variance_ *= 1 - gain;
  }
  blind_ = snr_stale_ = false;
  measured_db_ = *snr_db_;
  note_steadiness(reception.mode);
}

RateSelector::Seen RateSelector::seen_in(const Reception& reception) const {
  const double lost = share_lost(reception.octets, reception.octets_intact);
  const double looks = looks_of(reception);
  const double sure = 1 - 0.5 / std::max(looks, 1.0);
  const double share = std::clamp(lost, 1 - sure, sure);
  const double width = width_db(reception.mode);
  const double z = quantile(share);
  const double density = bell(z);  // density of the block SNRs at the needed SNR
  const double ratio = reception.snr_db.value_or(snr_db_.value_or(0));
  return {
      .at = offsets_.nearest(reception.mode),
      .offset_db = ratio - snr_needed_db(reception.mode) - extra_db(reception.mode) + z * width,
      .variance = kVarianceSeen + width * width * share * (1 - share) / (looks * density * density),
      .lost = lost,
      .bound = lost < 1 - sure || lost > sure};
}

// True if it is unlikely that the mode needs as much SNR as would explain the loss.
bool RateSelector::is_unlikely(const Reception& reception) const {
  if (!reception.snr_db || reception.octets == 0) return false;
  const Seen seen = seen_in(reception);
  const double width = std::sqrt(offsets_.variance(seen.at) + seen.variance);
  return normal((offsets_.expected_db(seen.at) - seen.offset_db) / width) < kUnlikely;
}

void RateSelector::learn(const Reception& reception) {
  if (reception.octets == 0) return;
  const Seen seen = seen_in(reception);
  if (seen.lost < 0.5) lost_in_row_ = 0;
  offsets_.forget(kForget);
  if (seen.bound) {
    offsets_.observe_bound(seen.at, seen.offset_db, seen.variance, seen.lost < 0.5);
  } else {
    offsets_.observe(seen.at, seen.offset_db, seen.variance);
  }
}

/// Returns nullptr for a mode that cannot be chosen.
RateSelector::Failure* RateSelector::failure_of(const Mode& mode) {
  const auto found = std::find(config_.modes.begin(), config_.modes.end(), mode);
  return found == config_.modes.end() ? nullptr : &failures_[found - config_.modes.begin()];
}

// Another cause than the SNR may make a mode fail, for example an echo that is too long for it.
// Then its losses tell nothing about the other modes.
void RateSelector::note_outcome(Failure& mode, double lost, bool unlikely) {
  if (lost < 0.5) {
    mode.empty = 0;
    if (mode.waits == 0) mode.next_waits /= 2;
  } else if (lost > kEmptyLoss && (++mode.empty >= kEmptyMax || unlikely)) {
    bar(mode, kWaitsFirst);
  }
}

void RateSelector::bar(Failure& mode, int waits) {
  mode.at_db = measured_db_;
  mode.waits = std::max(waits, mode.next_waits);
  mode.next_waits = std::min(kWaitsMax, 2 * mode.waits);
}

bool RateSelector::is_allowed(const Mode& mode) const {
  return one_choice_ || heard_together(mode.waveform, config_.start.waveform);
}

bool RateSelector::is_barred(std::size_t at) const {
  const Mode& mode = config_.modes[at];
  if (mode.rate_bps > rate_max_bps_ || !is_allowed(mode)) return true;
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    const Mode& failed = config_.modes[i];
    if (failures_[i].waits == 0 || kind(mode) > kind(failed)) continue;
    if (snr_db_.value_or(0) > failures_[i].at_db + kFailureReachDb) continue;
    if (snr_needed_db(mode) >= snr_needed_db(failed)) return true;
  }
  return false;
}

// The SNR may have fallen; until it is measured again, it counts as just too low. If it turns out
// twice not to have fallen, this mode needs more SNR than assumed.
void RateSelector::on_lost(const Mode& mode) {
  if (!snr_db_) return;
  if (++lost_in_row_ >= 2 || blind_) {
    const double at_least = measured_db_ - snr_needed_db(mode) - extra_db(mode) + width_db(mode);
    offsets_.observe_bound(offsets_.nearest(mode), at_least, kVarianceSeen + 1, false);
  }
  on_missed(mode);
  assume_below(mode);
  choose();
}

// Receptions in other modes tell nothing about a mode in which nothing is received.
void RateSelector::on_missed(const Mode& mode) {
  Failure* failure = failure_of(mode);
  if (!failure) return;
  const unsigned most = failure->heard ? kUnheardAgainMax : kUnheardMax;
  if (++failure->times >= most && failure->waits == 0) bar(*failure, kWaitsFirst);
}

// Excludes both interleavers at the rate, because a lost link costs more than a rate that is not
// tried.
void RateSelector::on_never_heard(const Mode& mode) {
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    if (config_.modes[i].rate_bps == mode.rate_bps) bar(failures_[i], kWaitsNeverHeard);
  }
  choose();
}

void RateSelector::set_one_choice(bool one_choice) {
  if (std::exchange(one_choice_, one_choice) == one_choice || !snr_db_) return;
  choose();
}

void RateSelector::on_silence() {
  if (!snr_db_) return;
  assume_below(mode_);
  choose();
}

void RateSelector::assume_below(const Mode& mode) {
  if (blind_) return;
  const std::size_t at = offsets_.nearest(mode);
  const double below = hoped_db(at) - full_width_db(at);
  snr_db_ = std::min(*snr_db_ - (snr_stale_ ? width_db(mode) : 0), below);
  snr_stale_ = true;
}

// --- The choice ----------------------------------------------------------------------------------

void RateSelector::choose() {
  std::optional<std::size_t> best;
  double most = 0;
  double present = 0;
  for (std::size_t i = 0; i < config_.modes.size(); ++i) {
    if (is_barred(i)) continue;
    const double brings = yield(i, arrives(i));
    if (config_.modes[i] == mode_) present = brings;
    if (best && brings <= most) continue;
    best = i;
    most = brings;
  }
  if (!best) {  // all modes are excluded: take the most robust one
    for (std::size_t i = 0; i < config_.modes.size(); ++i) {
      if (!is_allowed(config_.modes[i])) continue;
      if (!best || less_robust(config_.modes[*best], config_.modes[i])) best = i;
    }
    present = 0;
  }
  if (!best) return;  // no mode is heard together with the first one
  // If no data was heard, the peer has sent none in the present mode yet.
  const double gain = config_.by_agreement ? kGainByAgreement : !data_heard_ ? 1 : kGain;
  if (most >= gain * present) mode_ = config_.modes[*best];
  if (!config_.by_agreement && bulk_ && !blind_) try_short_interleaver();
}

// The change back to the long interleaver needs the normal gain, so that they do not alternate.
void RateSelector::try_short_interleaver() {
  const auto present = std::find(config_.modes.begin(), config_.modes.end(), mode_);
  if (present == config_.modes.end()) return;
  const std::size_t now = present - config_.modes.begin();
  for (std::size_t i = 0; i < config_.modes.size(); ++i) {
    const Mode& mode = config_.modes[i];
    if (mode.rate_bps != mode_.rate_bps || mode.waveform != mode_.waveform) continue;
    if (kind(mode) >= kind(mode_) || is_barred(i)) continue;
    const double favour = 1 + (kFavourShort - 1) * steadiness_;
    const bool is_near = favour * yield(i, arrives(i)) > yield(now, arrives(now));
    if (steadiness_ >= kSteadyForShort && is_near) {
      mode_ = mode;
      return;
    }
    if (offsets_.variance(i) <= kLessKnown * offsets_.variance(now)) continue;
    const double least = kGainShort * yield(now, arrives_at_best(now));
    if (yield(i, arrives_at_best(i)) > least) mode_ = mode;
    return;
  }
}

}  // namespace s5066::dts
