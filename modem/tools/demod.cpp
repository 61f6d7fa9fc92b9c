// `hfmodem demod` finds the bursts in files of samples, describes each, and writes or shows its
// octets.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "modem/api/receive_modes.h"
#include "modem/tools/burst_listing.h"
#include "modem/tools/files.h"
#include "modem/tools/options.h"
#include "modem/tools/samples.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_receiver.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

/// Silence of this length follows the file, so that the receiver finishes or gives up a burst at
/// its end.
constexpr unsigned kSilenceSeconds = 6;
/// The silence lasts longer while the receiver still has a burst, because some modes need more
/// time.
constexpr unsigned kSilenceSecondsMax = 60;

/// Returns the modes in groups; one receiver can listen for all modes of a group.
std::vector<std::vector<Mode>> receivers_for(const std::vector<Mode>& modes) {
  std::vector<std::vector<Mode>> groups;
  if (modes.empty()) groups.emplace_back();
  for (const Mode& mode : modes) {
    const auto fits = [&](const std::vector<Mode>& group) {
      std::vector<Mode> with = group;
      with.push_back(mode);
      return check_receive_modes(with).ok() &&
             std::all_of(with.begin(), with.end(),
                         [&](const Mode& m) { return is_heard(m, with); });
    };
    const auto group = std::find_if(groups.begin(), groups.end(), fits);
    (group == groups.end() ? groups.emplace_back() : *group).push_back(mode);
  }
  return groups;
}

/// Passes the samples of one file through its receivers. With a single receiver octets and lines
/// appear at once. With several, the best reading of each burst is printed at the end of the file.
class Demodulation {
 public:
  Demodulation(const std::vector<std::vector<Mode>>& groups, BurstListing& listing)
      : listing_(listing) {
    for (const auto& modes : groups) {
      readings_.emplace_back(BurstReceiver::Config{.modes = modes});
    }
  }

  /// Runs to the end of the source, or until it cannot be read. What was read before counts as
  /// well.
  Result<void> run(SampleSource& source) {
    Result<void> read;
    for (;;) {
      const auto samples = source.read();
      if (!samples) read = samples.error();
      if (!samples || samples->empty()) break;
      if (auto fed = feed(*samples); !fed) return fed;
    }
    input_ended_ = readings_.front().receiver.stats().samples;
    const std::vector<float> silence(kSampleRate, 0.0F);
    for (unsigned i = 0; i < (busy() ? kSilenceSecondsMax : kSilenceSeconds); ++i) {
      if (auto fed = feed(silence); !fed) return fed;
    }
    const auto printed = finish();
    return read ? printed : read;
  }
  /// Returns true if there was a burst, whether or not it could be printed.
  bool heard() const { return heard_; }

 private:
  struct Reading {
    explicit Reading(const BurstReceiver::Config& config) : receiver(config) {}
    BurstReceiver receiver;
    BurstCollector collector;
    std::vector<ListedBurst> bursts;  // used with several receivers
  };

  bool busy() const {
    return std::any_of(readings_.begin(), readings_.end(),
                       [](const Reading& reading) { return reading.receiver.busy(); });
  }
  Result<void> feed(std::span<const float> samples) {
    for (Reading& reading : readings_) {
      reading.receiver.process(samples);
      while (const auto event = reading.receiver.poll_event()) {
        if (auto taken = take(reading, *event); !taken) return taken;
      }
    }
    return {};
  }
  Result<void> take(Reading& reading, const BurstEvent& event) {
    heard_ = heard_ || std::holds_alternative<BurstAcquired>(event);
    const auto* received = std::get_if<BurstBytes>(&event);
    if (received != nullptr && readings_.size() == 1) {
      if (auto written = listing_.write(received->bytes); !written) return written;
    }
    auto over = reading.collector.take(event);
    if (!over) return {};
    if (readings_.size() == 1) return listing_.print(*over, input_ended_);
    reading.bursts.push_back(std::move(*over));
    return {};
  }
  Result<void> finish() {
    if (readings_.size() == 1) {
      const auto burst = readings_.front().collector.close();
      return burst ? listing_.print(*burst, input_ended_) : Result<void>{};
    }
    for (const ListedBurst& burst : best_readings()) {
      if (auto written = listing_.write(burst.octets); !written) return written;
      if (auto printed = listing_.print(burst, input_ended_); !printed) return printed;
    }
    return {};
  }
  std::vector<ListedBurst> best_readings() {
    std::vector<ListedBurst> all;
    for (Reading& reading : readings_) {
      if (auto burst = reading.collector.close()) reading.bursts.push_back(std::move(*burst));
      for (ListedBurst& burst : reading.bursts) {
        if (!burst.record.is_next()) all.push_back(std::move(burst));
      }
    }
    const auto began = [](const ListedBurst& burst) { return burst.record.acquired().at_sample; };
    const auto ended = [&](const ListedBurst& burst) {
      const auto& end = burst.record.ended();
      return end ? end->ended_sample : *input_ended_;
    };
    std::stable_sort(all.begin(), all.end(), [](const ListedBurst& a, const ListedBurst& b) {
      return a.record.quality() > b.record.quality();
    });
    std::vector<ListedBurst> best;
    for (ListedBurst& burst : all) {
      const bool overlaps = std::any_of(best.begin(), best.end(), [&](const ListedBurst& other) {
        return began(burst) <= ended(other) && began(other) <= ended(burst);
      });
      if (!overlaps) best.push_back(std::move(burst));
    }
    std::sort(best.begin(), best.end(),
              [&](const ListedBurst& a, const ListedBurst& b) { return began(a) < began(b); });
    return best;
  }

  BurstListing& listing_;
  std::deque<Reading> readings_;  // a deque, because a receiver cannot be moved
  std::optional<std::uint64_t> input_ended_;
  bool heard_ = false;
};

/// Reports faults of the sound, so that they are not looked for in the modem.
void warn_of_sound(const std::string& path, SampleSource& source) {
  const auto warn = [&](const std::string& what) {
    std::cerr << "hfmodem demod: " << path << ": " << what << '\n';
  };
  if (source.file().unfinished()) {
    warn(
        "the header has no number of samples, as if the recorder was killed; everything behind "
        "it is taken for samples");
  }
  const LevelMeter::Reading level = source.take_level();
  if (level.not_numbers > 0) {
    warn(std::to_string(level.not_numbers) + " samples are no numbers, taken for silence");
  }
  if (const auto channel = source.file().channel_with_sound()) {
    const std::string number = std::to_string(*channel);
    warn("the sound is in channel " + number + "; read it with --take-channel " + number);
  }
  const auto verdict = level.verdict();
  if (level.samples == 0 || verdict == LevelMeter::Verdict::good) return;
  std::fprintf(stderr, "hfmodem demod: %s: sound is %s: %.1f dB of full scale, peak %.1f dB\n",
               path.c_str(), std::string(to_string(verdict)).c_str(), power_db(level.power),
               power_db(level.peak * level.peak));
}

/// Returns true if the file could be read and had a burst.
bool demodulate_file(const SourceOptions& in, const std::vector<std::vector<Mode>>& groups,
                     BurstListing& listing) {
  auto source = SampleSource::open(in);
  if (!source) {
    failure("demod", source.error());
    return false;
  }
  Demodulation demodulation(groups, listing);
  const auto done = demodulation.run(*source);
  warn_of_sound(in.path, *source);
  if (!done) failure("demod", done.error());
  if (!demodulation.heard()) std::cerr << "hfmodem demod: " << in.path << ": no burst found\n";
  return done && demodulation.heard();
}

}  // namespace

int run_demod(const std::vector<std::string>& arguments) {
  SourceOptions in;
  std::string out;
  std::vector<std::string> paths;
  std::vector<std::string> mode_names_given;
  po::options_description description;
  description.add_options()  //
      ("in", po::value(&paths)->required()->composing(),
       "sound file, as a plain argument too, and several times; - for standard input");
  describe(in, description);
  description.add_options()  //
      ("out", po::value(&out),
       "file for the bytes found; - for standard output. Without it they are shown with each "
       "burst, as text or in hex")  //
      ("mode", po::value(&mode_names_given)->composing(),
       "listen for this mode only, several times for several: a name, the beginning of some "
       "(4285), a pattern (4539-*-vl). 4285 must be named, others find themselves")  //
      ("json", po::bool_switch(), "print one JSON object per burst");
  const PlainArguments plain{.option = "in", .count_max = -1, .words = "FILE..."};
  const ParsedOptions parsed = parse_options("demod", description, arguments, plain);
  if (parsed.exit_code) return *parsed.exit_code;
  for (const std::string& path : paths) {
    in.path = path;
    for (const Result<void>& good : {check(in), check_apart(path, out)}) {
      if (!good) return usage_error("demod", good.error());
    }
  }
  const auto modes = modes_of(mode_names_given);
  if (!modes) return usage_error("demod", modes.error());

  const auto groups = receivers_for(*modes);
  BurstListing listing({.out = out, .source = {}, .json = parsed.values["json"].as<bool>()});
  bool good = true;
  for (const std::string& path : paths) {
    in.path = path;
    if (paths.size() > 1) listing.set_source(path);
    good = demodulate_file(in, groups, listing) && good;
  }
  if (const auto closed = listing.close(); !closed) {
    failure("demod", closed.error());
    good = false;
  }
  if (listing.cut_off() > 0) {
    std::cerr << "hfmodem demod: " << listing.cut_off() << " of " << listing.bursts()
              << " bursts were not heard from their beginning to their end of message; octets are "
                 "missing\n";
  }
  return good && listing.cut_off() == 0 ? kExitOk : kExitFailed;
}

}  // namespace s5066::modem::tools
