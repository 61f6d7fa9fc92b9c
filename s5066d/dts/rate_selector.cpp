#include "s5066d/dts/rate_selector.h"

#include <algorithm>
#include <cmath>

#include "modem/api/airtime.h"
#include "s5066d/base/assert.h"
#include "s5066d/dts/data_rate.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
using modem::Mode;

/// Before anything was learnt: multipath costs something, more with the short interleaver.
constexpr double kOffsetShortDb = 3;
constexpr double kOffsetLongDb = 1.5;
/// Of blocks, until it is measured.
constexpr double kSpreadShortDb = 2.5;
constexpr double kSpreadLongDb = 1.2;
/// No receiver is better than the table by more than that.
constexpr double kOffsetMinDb = -4;
constexpr double kOffsetMaxDb = 30;
/// Of the transition between nothing and all, where there is no fading.
constexpr double kWidthDb = 1;
/// Silence between two transmissions, and the answer.
constexpr double kBulkReplySeconds = 3;
/// What a short transmission that was lost costs besides itself: waiting, and asking again.
constexpr double kShortReplySeconds = 9;
/// So long a transmission is no single short message.
constexpr double kBulkSeconds = 8;
/// A preamble shorter than most fades is missed when it lies in one.
constexpr double kPreambleWidthDb = 3.5;
/// A ratio this many widths away is another channel, not the same one measured again.
constexpr double kStepWidths = 3;
constexpr double kLooksMax = 20;
constexpr double kCleanLoss = 0.02;
/// Nearly two long transmissions.
constexpr double kCleanMin = 1.6;
constexpr double kTryLoss = 0.1;
constexpr int kWaitsFirst = 2;
constexpr int kWaitsMax = 64;
/// It has cost a link.
constexpr int kWaitsNeverHeard = 32;
constexpr int kWaitsUnsureMax = 8;
/// Transmissions in a row of a mode that was never heard, of which a single one may have been
/// missed; and of one that was.
constexpr unsigned kUnheardMax = 2;
constexpr unsigned kUnheardAgainMax = 6;
/// What is undone within so many receptions was no gain.
constexpr std::size_t kSettled = 16;
/// With fewer blocks a failure may be a single fade.
constexpr double kLooksSure = 8;
/// With so much more signal a failure says nothing any more.
constexpr double kFailureReachDb = 3;
constexpr Duration kForgottenAfter = std::chrono::minutes(10);

/// Where a preamble can just be made out.
double preamble_needed_db(const Mode& mode) {
  if (mode.waveform != modem::Waveform::ms110a) return 3;
  return mode.interleaver == Interleaver::long_ ? -10 : -5;
}

double normal(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// The inverse of `normal` by bisection; `p` between 0.001 and 0.999.
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

double snr_needed_db(const Mode& mode) {
  struct Need {
    std::uint32_t rate_bps;
    double snr_db;
  };
  static constexpr std::array kNeeds = {
      Need{75, -10},    Need{150, -5},   Need{300, -2.5}, Need{600, 0.5},
      Need{1200, 3.5},  Need{1600, 4},   Need{2400, 8},   Need{3200, 6},
      Need{3600, 11},   Need{4800, 11},  Need{6400, 13},  Need{8000, 16},
      Need{9600, 18.5}, Need{12000, 24}, Need{12800, 27}, Need{16000, 30}};
  for (const Need& need : kNeeds) {
    const bool is_8psk_3200 = need.rate_bps == 3200 && mode.waveform == modem::Waveform::ms110d;
    if (mode.rate_bps <= need.rate_bps && !is_8psk_3200) return need.snr_db;
  }
  return kNeeds.back().snr_db;
}

RateSelector::RateSelector(const Config& config)
    : config_(config),
      mode_(config.start),
      kinds_{Interleaving{kOffsetShortDb, {}}, Interleaving{kOffsetLongDb, {}}},
      failures_(config_.modes.size()) {
  S5066_ASSERT(!config_.modes.empty());
}

// --- What is expected of a mode ------------------------------------------------------------------

// A block is lost when its own ratio is too low; the ratios of blocks differ by the fading that the
// interleaver does not even out. What one interleaver shows bounds what the other will.
double RateSelector::width_db(const Mode& mode) const {
  const auto& own = kinds_[kind(mode)].spread_db;
  const auto& other = kinds_[1 - kind(mode)].spread_db;
  double spread = blind_ ? 0 : kind(mode) == 0 ? kSpreadShortDb : kSpreadLongDb;
  if (own) {
    spread = *own;
  } else if (other) {
    spread = kind(mode) == 0 ? 1.5 * *other : 0.6 * *other;
  }
  return std::hypot(kWidthDb, spread);
}

double RateSelector::loss(const Mode& mode) const {
  const double needed = snr_needed_db(mode) + kinds_[kind(mode)].offset_db;
  return normal((needed - snr_db_.value_or(0)) / width_db(mode));
}

double RateSelector::yield(const Mode& mode, double lost) const {
  const auto largest = *std::max_element(octets_.begin(), octets_.end());
  const std::size_t octets =
      bulk_ ? modem::capacity(mode, config_.transmission_max) : std::max<std::size_t>(largest, 20);
  const double seconds =
      to_seconds(modem::airtime(mode, octets)) + (bulk_ ? kBulkReplySeconds : kShortReplySeconds);
  const double missed =
      blind_ ? 0 : normal((preamble_needed_db(mode) - snr_db_.value_or(0)) / kPreambleWidthDb);
  return static_cast<double>(octets) * (1 - missed) * (1 - lost) / seconds;
}

// --- What was measured ---------------------------------------------------------------------------

void RateSelector::on_reception(Instant now, const Reception& reception) {
  if (now - heard_at_ > kForgottenAfter) snr_stale_ = true;
  heard_at_ = now;
  if (blind_ && !reception.snr_db && !snr_db_) {
    // Without a ratio the offset is all there is: it begins where the present mode just works.
    snr_db_ = 0;
    for (auto& entry : kinds_) entry.offset_db = -snr_needed_db(mode_) - 2 * kWidthDb;
  }
  if (reception.snr_db) measure_snr(reception);
  octets_[receptions_++ % octets_.size()] = reception.octets;
  const double octets_bulk = kBulkSeconds * reception.mode.rate_bps / 8;
  bulk_ = std::any_of(octets_.begin(), octets_.end(),
                      [&](std::size_t n) { return static_cast<double>(n) > octets_bulk; });
  for (Failure& failure : failures_) failure.waits = std::max(0, failure.waits - 1);
  if (Failure* own = failure_of(reception.mode)) {
    own->heard = true;
    own->unheard = 0;
  }
  learn(reception);
  choose();
}

void RateSelector::measure_snr(const Reception& reception) {
  const double looks = std::clamp<double>(reception.blocks, 1, kLooksMax);
  auto& spread = kinds_[kind(reception.mode)].spread_db;
  if (reception.blocks >= 4) {
    const double weight = spread ? looks / (looks + 8) : 1;
    spread = (1 - weight) * spread.value_or(0) + weight * reception.spread_db;
  }
  const double change = *reception.snr_db - snr_db_.value_or(0);
  if (reception.blocks < 4 && snr_db_ && !snr_stale_ && !blind_) {
    // Short transmissions tell it by how they differ.
    const double before =
        spread.value_or(kind(reception.mode) == 0 ? kSpreadShortDb : kSpreadLongDb);
    const double bounded = std::min(std::abs(change), 2 * width_db(reception.mode));
    spread = std::sqrt(0.9 * before * before + 0.1 * bounded * bounded);
  }
  const bool another = std::abs(change) > kStepWidths * width_db(reception.mode);
  const bool fresh = !snr_db_ || snr_stale_ || blind_ || another;
  snr_db_ = fresh ? *reception.snr_db : *snr_db_ + change * looks / (looks + 30);
  blind_ = snr_stale_ = false;
  measured_db_ = *snr_db_;
}

// What is lost with the long interleaver at some offset is lost with the short one, too.
void RateSelector::set_offset(const Mode& mode, double offset_db) {
  const double floor = blind_ ? -60 : kOffsetMinDb;
  const double set = std::clamp(offset_db, floor, blind_ ? 60 : kOffsetMaxDb);
  kinds_[kind(mode)].offset_db = set;
  auto& other = kinds_[1 - kind(mode)].offset_db;
  other = kind(mode) == 1 ? std::max(other, set) : std::min(other, set);
}

void RateSelector::learn(const Reception& reception) {
  if (reception.octets == 0) return;
  const double looks = std::clamp<double>(reception.blocks, 2, kLooksMax);
  const double lost = 1 - static_cast<double>(std::min(reception.octets_intact, reception.octets)) /
                              static_cast<double>(reception.octets);
  if (lost < 0.5) lost_in_row_ = 0;
  const double share = std::clamp(lost, 0.5 / looks, 1 - 0.5 / looks);
  const double at = snr_db_.value_or(0);  // by which the choice is made as well
  const double seen =
      at - snr_needed_db(reception.mode) + quantile(share) * width_db(reception.mode);
  const double now = kinds_[kind(reception.mode)].offset_db;
  const double weight = (lost > 0.5 ? 1 : 0.5) * looks / (looks + 4);
  const bool bounds_above = lost < 0.5 / looks;
  const bool bounds_below = lost > 1 - 0.5 / looks;
  if (seen > now && !bounds_above) set_offset(reception.mode, now + weight * (seen - now));
  if (seen < now && !bounds_below) set_offset(reception.mode, now + 0.7 * weight * (seen - now));

  note_outcome(reception.mode, lost, looks);
  if (lost > kCleanLoss || reception.mode != mode_) {
    clean_ = 0;
  } else {
    try_next(looks);
  }
}

// A mode that brought less than another would have is left alone for a while, longer each time, and
// so is all that needs more.
void RateSelector::note_outcome(const Mode& mode, double lost, double looks) {
  Failure* failure = failure_of(mode);
  if (!failure) return;
  if (lost < 0.3 && looks >= kLooksSure) {
    failure->waits = 0;
    if (receptions_ - raised_at_ > kSettled) failure->next_waits /= 2;
  }
  const Mode* other = best_other(mode);
  if (lost < 0.5 || !other || yield(*other) < yield(mode, lost)) return;
  bar(mode, looks >= kLooksSure);
}

RateSelector::Failure* RateSelector::failure_of(const Mode& mode) {
  const auto at = std::find(config_.modes.begin(), config_.modes.end(), mode);
  if (at == config_.modes.end()) return nullptr;
  return &failures_[static_cast<std::size_t>(at - config_.modes.begin())];
}

void RateSelector::bar(const Mode& mode, bool sure) {
  Failure* failure = failure_of(mode);
  if (!failure) return;
  failure->at_db = measured_db_;
  failure->waits = std::max(sure ? 2 * kWaitsFirst : kWaitsFirst, failure->next_waits);
  const int most = sure ? kWaitsMax : std::max(kWaitsUnsureMax, failure->waits);
  failure->next_waits = std::min(most, 2 * failure->waits);
}

bool RateSelector::is_barred(const Mode& mode) const {
  if (mode.rate_bps > rate_max_bps_) return true;
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    const Mode& failed = config_.modes[i];
    if (failures_[i].waits == 0 || kind(mode) > kind(failed)) continue;
    const bool needs_as_much = snr_needed_db(mode) >= snr_needed_db(failed);
    if (needs_as_much && snr_db_.value_or(0) < failures_[i].at_db + kFailureReachDb) return true;
  }
  return false;
}

// After transmissions without loss the next mode is given a chance, unless the ratio leaves it
// none.
void RateSelector::try_next(double looks) {
  clean_ += looks / (looks + 2);
  if (clean_ < kCleanMin) return;
  const Mode* next = nullptr;
  for (const Mode& mode : config_.modes) {
    if (mode.rate_bps <= mode_.rate_bps || mode.interleaver != mode_.interleaver) continue;
    if (is_barred(mode)) continue;
    if (!next || snr_needed_db(mode) < snr_needed_db(*next)) next = &mode;
  }
  if (!next || loss(*next) < kTryLoss) return;
  const double needed =
      snr_db_.value_or(0) - snr_needed_db(*next) - quantile(1 - kTryLoss) * width_db(*next);
  if (!blind_ && needed < kOffsetMinDb) return;
  set_offset(*next, needed);
  clean_ = 0;
}

// It may be the ratio that fell; until it is measured again, it counts as just too low. When it
// turns out not to have fallen, twice, this mode needs more than was thought.
void RateSelector::on_lost(const Mode& mode) {
  if (!snr_db_) return;
  clean_ = 0;
  if (++lost_in_row_ >= 2 || blind_) {
    set_offset(mode, std::max(kinds_[kind(mode)].offset_db,
                              measured_db_ - snr_needed_db(mode) + width_db(mode)));
    note_outcome(mode, 1, kLooksSure);
  }
  on_missed(mode);
  assume_below(mode);
  choose();
}

// What comes in other modes says nothing for one in which nothing does.
void RateSelector::on_missed(const Mode& mode) {
  Failure* failure = failure_of(mode);
  if (!failure) return;
  const unsigned most = failure->heard ? kUnheardAgainMax : kUnheardMax;
  if (++failure->unheard >= most && failure->waits == 0) bar(mode, true);
}

// With either interleaver: a link that is lost costs more than a rate that is not tried.
void RateSelector::on_never_heard(const Mode& mode) {
  for (const Mode& other : config_.modes) {
    if (other.rate_bps != mode.rate_bps) continue;
    bar(other, true);
    Failure* failure = failure_of(other);
    failure->waits = std::max(failure->waits, kWaitsNeverHeard);
    failure->next_waits = std::min(kWaitsMax, 2 * failure->waits);
  }
  choose();
}

void RateSelector::on_silence() {
  if (!snr_db_) return;
  assume_below(mode_);
  choose();
}

void RateSelector::assume_below(const Mode& mode) {
  if (blind_) return;
  const double needed = snr_needed_db(mode) + kinds_[kind(mode)].offset_db;
  snr_db_ = std::min(*snr_db_, needed - width_db(mode));
  snr_stale_ = true;
}

// --- The choice ----------------------------------------------------------------------------------

const Mode* RateSelector::best_other(const Mode& than) const {
  const Mode* best = nullptr;
  double most = 0;
  for (const Mode& mode : config_.modes) {
    const double brings = yield(mode);
    if (mode == than || is_barred(mode) || (best && brings <= most)) continue;
    best = &mode;
    most = brings;
  }
  return best;
}

void RateSelector::choose() {
  const Mode* best = best_other(mode_);
  if (!best) return;
  if (!is_barred(mode_) && yield(*best) < config_.gain_min * yield(mode_)) return;
  const double more_db = snr_needed_db(*best) - snr_needed_db(mode_);
  const bool raises = more_db > 0 || (more_db == 0 && kind(*best) < kind(mode_));
  if (raises) raised_at_ = receptions_;
  const bool undone = !raises && raised_at_ > 0 && receptions_ - raised_at_ <= kSettled;
  if (undone && !snr_stale_) bar(mode_, true);
  mode_ = *best;
  clean_ = 0;
}

}  // namespace s5066::dts
