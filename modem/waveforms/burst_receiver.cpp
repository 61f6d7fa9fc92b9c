// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/burst_receiver.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/dsp/downconverter.h"
#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/ms110a/listener.h"
#include "modem/waveforms/ms110d/listener.h"
#include "modem/waveforms/octet_queue.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4285/listener.h"
#include "modem/waveforms/stanag4539/listener.h"
#include "modem/waveforms/traffic_detector.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/bounded_queue.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kHopSamples = kHop * dsp::Downconverter::kDecimation;
/// The history keeps 10.5 s of half-symbol samples. A receiver that missed the beginning needs a
/// cycle of STANAG 4539, the insertions at its ends, and the time until the insertion is noticed.
constexpr std::size_t kHistorySamples = 50176;
/// A larger sample is not audio; full scale is 1.
constexpr float kSampleMax = 8;
constexpr float kDcPole = 0.995F;  // blocks frequencies below 8 Hz
/// A burst with a good signal is replaced only by a preamble with at least this share of the power.
constexpr float kReplaceStrength = 0.4F;
/// A repeated part of a preamble may lie this many half-symbol samples from its expected place.
constexpr std::int64_t kSamePlace = 64;
/// After about this many samples a transmission that was joined late is known to be over.
constexpr std::uint64_t kTrafficLag = kSampleRate * 8U / 10;
/// A transmission is noticed by its repeated parts before STANAG 4285 is acquired by the same ones.
/// It is reported when this many samples have brought no preamble.
constexpr std::uint64_t kNoticeLag = kSampleRate / 5U;
/// This many blocks wait for the signal to come back. Modes with short blocks, such as 4539-9600-us
/// and 4285-1200-long, end more blocks while a loss is being noticed.
constexpr std::size_t kHeldMax = 8;
/// The size is for the mode that needs most memory: 110D at 16000 bit/s with the long interleaver.
constexpr std::size_t kBurstMemory = std::size_t{16} << 20;
/// A symbol's pulse is centred 1.5 samples after the symbol's beginning.
constexpr double kPulseCentre = 1.5;

// Returns the input sample that belongs to a half-symbol sample.
double input_sample(double half_symbol) {
  return 2 * half_symbol + 1 - static_cast<double>(dsp::Downconverter::kDelay);
}
std::int64_t half_symbol_of(std::uint64_t input) {
  return (static_cast<std::int64_t>(input + dsp::Downconverter::kDelay) - 1) / 2;
}

}  // namespace

class BurstReceiver::Impl {
 public:
  explicit Impl(const Config& config)
      : history_(kHistorySamples), octets_(config.octets_max), events_(config.events_max) {
    S5066_ASSERT(config.octets_max >= kOctetsLeast);
    pending_.reserve(kHopSamples);
    converted_.reserve(kHop);
    listeners_.push_back(std::make_unique<ms110a::Listener>(converter_.noise_share()));
    listeners_.push_back(std::make_unique<stanag4539::Listener>(converter_.noise_share()));
    listeners_.push_back(std::make_unique<ms110d::Listener>(converter_.noise_share()));
    listeners_.push_back(std::make_unique<stanag4285::Listener>(converter_.noise_share()));
    set_modes(config.modes);
    std::vector<TrafficPattern> patterns;
    for (const auto& listener : listeners_) {
      for (auto& pattern : listener->traffic()) patterns.push_back(std::move(pattern));
    }
    traffic_.emplace(patterns);
  }

  void set_modes(std::vector<Mode> modes) {
    modes_ = std::move(modes);
    for (const auto& listener : listeners_) listener->set_modes(modes_);
  }

  void restart() {
    at_sample_ = 0;
    dc_in_ = dc_out_ = 0;
    pending_.clear();
    converter_.restart();
    history_.restart();
    for (const auto& listener : listeners_) listener->restart();
    refused_by_listeners_ = 0;
    demodulator_.reset();
    memory_.release();
    listening_on_ = false;
    traffic_->restart();
    noticed_at_.reset();
    joined_at_.reset();
    while (held_.pop()) continue;
    while (events_.pop()) continue;
    octets_.clear();
    polled_until_ = 0;
  }

  void process(std::span<const float> samples) {
    octets_.release(std::max(octets_.begin(), polled_until_));
    for (const float sample : samples) {
      pending_.push_back(without_dc(sanitized(sample)));
      if (pending_.size() == kHopSamples) hop();
    }
    counters_.add(ReceiverCounter::samples, samples.size());
  }

  std::optional<BurstEvent> poll_event() {
    const auto waiting = events_.pop();
    if (!waiting) return std::nullopt;
    polled_until_ = waiting->octets_until;
    return waiting->event;
  }
  bool busy() const { return receiving() || joined_at_; }
  const ReceiverCounters& counters() const { return counters_; }

 private:
  struct Held {
    BurstBytes bytes;
    std::uint64_t octets_until = 0;  // position in the queue at which the packet has been fetched
  };
  struct Waiting {
    BurstEvent event;
    // This is the position in the queue at which it and all before it have been fetched.
    std::uint64_t octets_until = 0;
  };

  float sanitized(float sample) {
    if (std::isfinite(sample) && std::abs(sample) <= kSampleMax) return sample;
    counters_.add(ReceiverCounter::samples_sanitized);
    return std::isfinite(sample) ? std::copysign(kSampleMax, sample) : 0.0F;
  }

  float without_dc(float sample) {
    const float out = sample - dc_in_ + kDcPole * dc_out_;
    dc_in_ = sample;
    dc_out_ = std::abs(out) < 1e-15F ? 0.0F : out;  // avoids denormal numbers in silence
    return dc_out_;
  }

  // Everything below happens at multiples of a hop, so that it does not depend on the portions.
  void hop() {
    at_sample_ += kHopSamples;
    converted_.clear();
    converter_.process(pending_, converted_);
    pending_.clear();
    history_.push(converted_);
    if (receiving()) {
      receive();
    } else if (demodulator_) {
      listen_on();
    }
    listen();
    watch();
  }

  // Returns true while a burst is being received whose end has not been reported.
  bool receiving() const { return demodulator_ != nullptr && !listening_on_; }

  // A transmission whose preamble was missed also makes the channel busy. The part that follows a
  // burst without a pause is no such transmission.
  void watch() {
    if (demodulator_) return;
    traffic_->advance(history_);
    const auto& found = traffic_->finding();
    if (!found) {
      noticed_at_.reset();
      if (joined_at_) leave(CarrierDownReason::lost);
      return;
    }
    if (!noticed_at_) noticed_at_ = at_sample_;
    if (!joined_at_ && at_sample_ >= *noticed_at_ + kNoticeLag) {
      joined_at_ = at_sample_;
      counters_.add(ReceiverCounter::bursts_joined);
      emit(BurstAcquired{.at_sample = at_sample_, .mode = found->mode, .joined = true});
    }
    enter(*found);
  }

  void enter(const Traffic& traffic) {
    for (const auto& listener : listeners_) {
      const auto reading = listener->enter(history_, traffic);
      if (!reading || !wanted(reading->mode)) continue;
      acquire(*listener, *reading);
      return;
    }
  }

  void leave(CarrierDownReason reason, bool same_signal = false) {
    const std::uint64_t ended = at_sample_ - std::min(at_sample_, kTrafficLag);
    emit(BurstEnded{.at_sample = at_sample_,
                    .ended_sample = reason == CarrierDownReason::lost ? std::max(ended, *joined_at_)
                                                                      : at_sample_,
                    .reason = reason,
                    .same_signal = same_signal});
    joined_at_.reset();
  }

  // Returns true if the preamble was on the air when the joined transmission was noticed.
  bool is_joined_one(const PreambleReading& reading) const {
    if (!noticed_at_) return false;
    const auto preamble = static_cast<double>(dsp::kPhases * preamble_symbols(reading.mode));
    const double began = input_sample(static_cast<double>(reading.data_start) - preamble);
    return reading.late || began < static_cast<double>(*noticed_at_);
  }

  void listen() {
    std::uint64_t refused = 0;
    for (const auto& listener : listeners_) {
      auto reading = listener->advance(history_);
      refused += listener->refused();
      if (!reading) continue;
      reading->mode = agreed(reading->mode);
      if (wanted(reading->mode)) {
        acquire(*listener, *reading);
      } else {
        counters_.add(ReceiverCounter::preambles_refused);
      }
    }
    counters_.add(ReceiverCounter::preambles_refused, refused - refused_by_listeners_);
    refused_by_listeners_ = refused;
  }

  // A preamble of 110A that announces the short interleaver may mean none at all.
  Mode agreed(const Mode& announced) const {
    Mode zero = announced;
    zero.interleaver = Interleaver::zero;
    const bool shared =
        announced.waveform == Waveform::ms110a && announced.interleaver == Interleaver::short_;
    return shared && !modes_.empty() && !wanted(announced) && wanted(zero) ? zero : announced;
  }

  bool wanted(const Mode& mode) const {
    return modes_.empty() || std::find(modes_.begin(), modes_.end(), mode) != modes_.end();
  }

  void acquire(const PreambleListener& listener, const PreambleReading& reading) {
    if (listening_on_ && goes_on_by(reading)) return;
    if (receiving() && ends_by_now() && !demodulator_->covers(reading)) {
      end_burst(CarrierDownReason::end_of_message, *ends_at());
    }
    if (receiving()) {
      if (of_this_preamble(reading)) {
        if (!corrects(reading)) return;
      } else {
        if (demodulator_->covers(reading)) return;
        if (demodulator_->healthy() && reading.strength < kReplaceStrength) return;
      }
      end_burst(CarrierDownReason::replaced, heard_until());
    }
    if (joined_at_) leave(CarrierDownReason::replaced, is_joined_one(reading));
    if (listening_on_) give_up();
    forget_traffic();
    counters_.add(ReceiverCounter::bursts);
    demodulator_ = listener.demodulator(reading, memory_);
    reading_ = reading;
    emit(BurstAcquired{.at_sample = at_sample_,
                       .mode = reading.mode,
                       .snr_db = reading.snr_db,
                       .offset_hz = static_cast<float>(reading.offset_hz),
                       .late = reading.late});
  }

  // In a waveform that repeats its preamble, a preamble may belong to the burst whose end was
  // reported. It does when it began before that end, or earlier than the search went.
  bool goes_on_by(const PreambleReading& reading) const {
    const auto end = ends_at();
    if (!end || !demodulator_->covers(reading)) return false;
    return reading.begun_before ||
           input_sample(static_cast<double>(reading.data_start)) < static_cast<double>(*end);
  }

  // Returns true if the reading is another one of the preamble that found this burst. The first
  // reading may have placed the start of the data too early.
  bool of_this_preamble(const PreambleReading& reading) const {
    const bool repeats = reading.period > 0 && reading.period == reading_.period &&
                         reading.mode.waveform == reading_.mode.waveform;
    if (!repeats || reading.at >= reading_.data_start + reading.period) return false;
    const std::int64_t apart = std::abs(reading.at - reading_.at) % reading.period;
    return std::min(apart, reading.period - apart) < kSamePlace;
  }

  // A second reading with the same result makes the first one more certain.
  bool corrects(const PreambleReading& reading) {
    const bool same = reading.mode == reading_.mode && reading.constraint == reading_.constraint &&
                      demodulator_->covers(reading);
    if (!same) return reading.sureness > reading_.sureness;
    reading_.sureness += reading.sureness;
    return false;
  }

  void receive() {
    while (auto output = demodulator_->advance(history_)) {
      hold(*output);
      if (demodulator_->ending() || demodulator_->healthy() || held_.full()) release();
      if (!output->more && ended()) return;
    }
    if (ended()) return;
    if (demodulator_->healthy()) release();
    if (!demodulator_->lost()) return;
    if (ends_by_now()) {
      end_burst(CarrierDownReason::end_of_message, *ends_at());
    } else {
      end_burst(CarrierDownReason::lost, heard_until());
    }
  }

  // Returns true if the end of the message has been found and the transmission is over.
  bool ended() {
    if (!ends_by_now() || !demodulator_->ending()->certain) return false;
    end_burst(CarrierDownReason::end_of_message, *ends_at());
    return true;
  }

  // Returns the end of the burst if the last mark that was found is the end of the message.
  std::optional<std::uint64_t> ends_at() const {
    const auto& ending = demodulator_->ending();
    if (!ending) return std::nullopt;
    return data_start_sample() + ending->symbols * (kSampleRate / symbol_rate(reading_.mode));
  }
  bool ends_by_now() const {
    const auto at = ends_at();
    return at && at_sample_ >= *at;
  }

  // The user's own bits may have looked like the end of a burst. Then the burst goes on without a
  // gap as a burst of its own.
  void listen_on() {
    // Octets behind the reported end show that it was none, even if there is another end.
    bool goes_on = false;
    while (!goes_on && demodulator_->ending()) {
      const auto output = demodulator_->advance(history_);
      if (!output) break;
      hold(*output);
      goes_on = !output->bytes.empty();
    }
    if (const auto& ending = demodulator_->ending(); ending && !goes_on) {
      if (!ending->over && !demodulator_->lost()) return;
      begin_at(ending->followed ? heard_until() : *ends_at());
      if (ending->followed) forget();
      give_up();
      forget_traffic();
      return;
    }
    listening_on_ = false;
    emit(BurstAcquired{.at_sample = at_sample_,
                       .mode = reading_.mode,
                       .snr_db = reading_.snr_db,
                       .offset_hz = static_cast<float>(reading_.offset_hz)});
    if (goes_on || demodulator_->healthy()) release();
  }

  // A block that ends while the probes are not received belongs to a fade, or to what follows a
  // burst that was cut off. It waits until that is known, because in the second case the octets
  // were never sent.
  void hold(const Demodulator::Output& output) {
    if (output.bytes.empty()) return;
    const Mode& mode = demodulator_->mode();
    while (!octets_.fits(output.bytes.size())) drop_oldest();
    const BurstBytes bytes{
        .at_sample = at_sample_,
        .first_bit_sample = data_start_sample() + output.first_bit * kSampleRate / mode.rate_bps,
        .mode = mode,
        .bytes = octets_.push(output.bytes),
        .soft_quality = output.soft_quality,
        .channel = output.channel};
    const bool stored = held_.push({.bytes = bytes, .octets_until = octets_.end()});
    S5066_ASSERT(stored);
  }

  void release() {
    while (auto held = held_.pop()) {
      held->bytes.at_sample = at_sample_;
      emit(held->bytes, held->octets_until);
    }
  }

  std::uint64_t data_start_sample() const {
    const double sample = input_sample(demodulator_->first_path_start()) - kPulseCentre;
    return static_cast<std::uint64_t>(std::max(0.0, std::round(sample)));
  }

  std::uint64_t heard_until() const {
    const double sample = input_sample(static_cast<double>(demodulator_->last_heard()));
    return std::min(static_cast<std::uint64_t>(std::max(0.0, sample)), at_sample_);
  }

  void end_burst(CarrierDownReason reason, std::uint64_t ended_sample) {
    listening_on_ = reason == CarrierDownReason::end_of_message && !demodulator_->ending()->over;
    if (!listening_on_) give_up();
    if (!listening_on_) begin_at(ended_sample);
    forget();
    emit(BurstEnded{.at_sample = at_sample_, .ended_sample = ended_sample, .reason = reason});
  }

  void forget() {
    for (const auto& listener : listeners_) listener->forget();
  }
  void begin_at(std::uint64_t sample) {
    for (const auto& listener : listeners_) listener->begin_at(half_symbol_of(sample));
  }

  void forget_traffic() {
    traffic_->reset();
    noticed_at_.reset();
  }

  void give_up() {
    listening_on_ = false;
    demodulator_.reset();
    memory_.release();
    while (held_.pop()) counters_.add(ReceiverCounter::blocks_unheard);
  }

  void emit(const BurstEvent& event) { emit(event, octets_.end()); }

  void emit(const BurstEvent& event, std::uint64_t octets_until) {
    if (events_.full()) drop_oldest();
    const bool stored = events_.push({.event = event, .octets_until = octets_until});
    S5066_ASSERT(stored);
  }

  void drop_oldest() {
    const auto oldest = events_.pop();
    S5066_ASSERT(oldest.has_value());
    octets_.release(oldest->octets_until);
    counters_.add(ReceiverCounter::events_dropped);
  }

  std::vector<Mode> modes_;
  ReceiverCounters counters_;
  std::uint64_t at_sample_ = 0;
  float dc_in_ = 0;
  float dc_out_ = 0;
  std::vector<float> pending_;
  std::vector<dsp::Complex> converted_;
  dsp::Downconverter converter_;
  SampleHistory history_;
  std::vector<std::unique_ptr<PreambleListener>> listeners_;  // one listener for each waveform
  std::uint64_t refused_by_listeners_ = 0;  // preambles that were refused since the restart
  BurstMemory memory_{kBurstMemory};
  InMemory<Demodulator> demodulator_;
  PreambleReading reading_;  // the reading from which the demodulator was made
  /// The end has been reported and is not confirmed yet.
  bool listening_on_ = false;
  // The queue has the octets of the waiting events and of the last polled one.
  OctetQueue octets_;
  std::uint64_t polled_until_ = 0;     // octets before this position are no longer used
  BoundedQueue<Held> held_{kHeldMax};  // holds blocks only while the probes are not received
  std::optional<TrafficDetector> traffic_;
  /// A transmission is on the air that is not received, and it has been reported.
  std::optional<std::uint64_t> noticed_at_;
  std::optional<std::uint64_t> joined_at_;
  BoundedQueue<Waiting> events_;
};

BurstReceiver::BurstReceiver() : BurstReceiver(Config{}) {}
BurstReceiver::BurstReceiver(const Config& config) : impl_(std::make_unique<Impl>(config)) {}
BurstReceiver::~BurstReceiver() = default;
BurstReceiver::BurstReceiver(BurstReceiver&&) noexcept = default;
BurstReceiver& BurstReceiver::operator=(BurstReceiver&&) noexcept = default;

void BurstReceiver::set_modes(std::vector<Mode> modes) {
  impl_->set_modes(std::move(modes));
}
void BurstReceiver::restart() {
  impl_->restart();
}
void BurstReceiver::process(std::span<const float> samples) {
  impl_->process(samples);
}
std::optional<BurstEvent> BurstReceiver::poll_event() {
  return impl_->poll_event();
}
bool BurstReceiver::busy() const {
  return impl_->busy();
}
const ReceiverCounters& BurstReceiver::counters() const {
  return impl_->counters();
}

}  // namespace s5066::modem
