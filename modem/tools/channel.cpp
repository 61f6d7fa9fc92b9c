// SPDX-License-Identifier: Apache-2.0
// `hfmodem channel` passes a sound file through the simulated channel into another file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "modem/tools/channel_options.h"
#include "modem/tools/files.h"
#include "modem/tools/options.h"
#include "modem/tools/samples.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

/// Power is measured over windows of this many samples.
constexpr std::size_t kWindow = kSampleRate / 50;
/// A window that is this far below the strongest one is a pause and no part of the signal.
constexpr double kPauseDb = 20;
/// Powers are sorted into classes of 0.1 dB, from -200 dB up.
constexpr std::size_t kClasses = 2400;

/// The mean power of a signal with pauses in it.
class SignalPower {
 public:
  void process(std::span<const float> samples) {
    for (const float sample : samples) {
      energy_ += static_cast<double>(sample) * static_cast<double>(sample);
      if (++in_window_ == kWindow) close_window();
    }
  }
  double power() const {
    std::size_t loudest = kClasses;
    while (loudest > 0 && windows_[loudest - 1] == 0) --loudest;
    const auto pause = static_cast<std::size_t>(10 * kPauseDb);
    double sum = 0;
    double count = 0;
    for (std::size_t i = loudest > pause ? loudest - pause : 1; i < loudest; ++i) {
      sum += power_[i];
      count += windows_[i];
    }
    return count > 0 ? sum / count : 0;
  }

 private:
  void close_window() {
    const double power = energy_ / kWindow;
    const double place = std::clamp(10 * (power_db(power) + 200), 0.0, kClasses - 1.0);
    power_[static_cast<std::size_t>(place)] += power;
    windows_[static_cast<std::size_t>(place)] += 1;
    energy_ = 0;
    in_window_ = 0;
  }

  double energy_ = 0;
  std::size_t in_window_ = 0;
  std::vector<double> power_ = std::vector<double>(kClasses);
  std::vector<double> windows_ = std::vector<double>(kClasses);
};

struct Arguments {
  SourceOptions in;
  ChannelOptions channel;
  std::string out;
  unsigned out_rate = 0;
  double gain_db = 0;
  double signal_db = 0;
  bool signal_given = false;
};

Result<double> signal_power(const Arguments& given) {
  if (given.signal_given) return std::pow(10.0, given.signal_db / 10);
  auto source = SampleSource::open(given.in);
  if (!source) return source.error();
  SignalPower meter;
  for (;;) {
    const auto samples = source->read();
    if (!samples) return samples.error();
    if (samples->empty()) break;
    meter.process(*samples);
  }
  if (meter.power() > 0) return meter.power();
  return Error{
      ErrorCode::bad_field,
      given.in.path + ": the file has no signal that the noise could be set by; give --signal-db"};
}

struct Outcome {
  LevelMeter::Reading in;
  std::uint64_t clipped = 0;
};

Result<Outcome> pass(const Arguments& given, const channel::SimulatedChannel::Config& config) {
  auto source = SampleSource::open(given.in);
  if (!source) return source.error();
  const unsigned rate = given.out_rate == 0 ? source->rate() : given.out_rate;
  auto writer = WavWriter::open(given.out, rate);
  if (!writer) return writer.error();
  SampleSink sink(std::move(*writer), rate);
  Rng rng(given.channel.seed);
  channel::SimulatedChannel channel(config, rng);
  const auto gain = static_cast<float>(std::pow(10.0, given.gain_db / 20));
  std::vector<float> portion;
  bool anything = false;
  for (bool more = true; more;) {
    const auto samples = source->read();
    if (!samples) return samples.error();
    more = !samples->empty();
    anything = anything || more;
    portion.assign(samples->begin(), samples->end());
    if (!more) portion.resize(channel.delay_samples());
    channel.process(portion);
    for (float& sample : portion) sample *= gain;
    if (auto written = sink.write(portion); !written) return written.error();
  }
  if (auto closed = sink.close(); !closed) return closed.error();
  if (!anything) {  // the input was a pipe, and measuring the power consumed it
    return Error{ErrorCode::bad_field,
                 given.in.path + ": the file has no samples; give --signal-db"};
  }
  return Outcome{.in = source->take_level(), .clipped = sink.clipped()};
}

Result<void> check(const Arguments& given) {
  if (auto good = check(given.in); !good) return good;
  if (given.out_rate != 0) {
    if (auto good = check_within("--out-rate", given.out_rate, kFileRateMin, kFileRateMax); !good) {
      return good;
    }
  }
  if (auto good = check_within("--gain-db", given.gain_db, -100, 100); !good) return good;
  if (auto good = check_within("--signal-db", given.signal_db, -100, 20); !good) return good;
  if (given.in.path == "-" && !given.signal_given) {
    return Error{ErrorCode::bad_field, "standard input can be read only once; give --signal-db"};
  }
  if (auto good = check_sound_file_name(given.out); !good) return good;
  return check_apart(given.in.path, given.out);
}

}  // namespace

int run_channel(const std::vector<std::string>& arguments) {
  Arguments given;
  po::options_description description;
  describe(given.in, description);
  description.add_options()                                                              //
      ("in", po::value(&given.in.path)->required(), "sound file; - for standard input")  //
      ("out", po::value(&given.out)->required(),
       "sound file to write; - for samples without a header, s16le, on standard output")  //
      ("out-rate", po::value(&given.out_rate)->default_value(0),
       "samples per second of --out; default: those of the input")  //
      ("signal-db", po::value(&given.signal_db)->default_value(0),
       "power of the clean signal, where 0 is full scale; default: it is measured")  //
      ("gain-db", po::value(&given.gain_db)->default_value(0), "gain of the written sound");
  describe(given.channel, description);
  const PlainArguments plain{.option = "in", .count_max = 1, .words = "FILE"};
  const ParsedOptions parsed = parse_options("channel", description, arguments, plain);
  if (parsed.exit_code) return *parsed.exit_code;
  given.signal_given = !parsed.values["signal-db"].defaulted();
  if (const auto good = check(given); !good) return usage_error("channel", good.error());
  if (const auto good = channel_of(given.channel, 1); !good) {
    return usage_error("channel", good.error());
  }
  const auto power = signal_power(given);
  if (!power) return failure("channel", power.error());
  const auto config = channel_of(given.channel, *power);
  const auto done = pass(given, *config);
  if (!done) return failure("channel", done.error());
  std::fprintf(given.out == "-" ? stderr : stdout,
               "%s  %g dB  signal %.1f dB of full scale  seed %llu\n",
               name_of(given.channel).c_str(), given.channel.snr_db, power_db(*power),
               static_cast<unsigned long long>(given.channel.seed));
  if (done->in.not_numbers > 0) {
    std::fprintf(stderr, "hfmodem channel: %s: %llu samples are not numbers, taken for silence\n",
                 given.in.path.c_str(), static_cast<unsigned long long>(done->in.not_numbers));
  }
  if (done->clipped > 0) {
    std::fprintf(stderr, "hfmodem channel: %s: %llu samples clipped; give --gain-db below 0\n",
                 given.out.c_str(), static_cast<unsigned long long>(done->clipped));
  }
  return kExitOk;
}

}  // namespace s5066::modem::tools
