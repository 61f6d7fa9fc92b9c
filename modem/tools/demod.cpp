// SPDX-License-Identifier: Apache-2.0
// `hfmodem demod` finds the bursts in files of samples, describes each, and writes or shows its
// octets.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "modem/api/receive_modes.h"
#include "modem/tools/burst_choice.h"
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

/// Passes the samples of one file through its receivers.
class Demodulation {
 public:
  Demodulation(const std::vector<std::vector<Mode>>& groups, BurstListing& listing)
      : choice_(groups.size(), listing) {
    for (const auto& modes : groups) {
      receivers_.emplace_back(BurstReceiver::Config{.modes = modes});
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
    choice_.end_input(receivers_.front().counters()[ReceiverCounter::samples]);
    const std::vector<float> silence(kSampleRate, 0.0F);
    for (unsigned i = 0; i < (busy() ? kSilenceSecondsMax : kSilenceSeconds); ++i) {
      if (auto fed = feed(silence); !fed) return fed;
    }
    const auto printed = choice_.close();
    return read ? printed : read;
  }
  /// Returns true if there was a burst, whether or not it could be printed.
  bool heard() const { return heard_; }

 private:
  bool busy() const {
    return std::any_of(receivers_.begin(), receivers_.end(),
                       [](const BurstReceiver& receiver) { return receiver.busy(); });
  }
  Result<void> feed(std::span<const float> samples) {
    for (std::size_t i = 0; i < receivers_.size(); ++i) {
      receivers_[i].process(samples);
      while (const auto event = receivers_[i].poll_event()) {
        heard_ = heard_ || std::holds_alternative<BurstAcquired>(*event);
        if (auto taken = choice_.take(i, *event); !taken) return taken;
      }
    }
    return choice_.advance(receivers_.front().counters()[ReceiverCounter::samples]);
  }

  std::vector<BurstReceiver> receivers_;
  BurstChoice choice_;
  bool heard_ = false;
};

/// Reports faults of the sound, so that they are not looked for in the modem.
void warn_of_sound(const std::string& path, SampleSource& source) {
  const auto warn = [&](const std::string& what) {
    std::cerr << "hfmodem demod: " << path << ": " << what << '\n';
  };
  if (source.file().unfinished()) {
    warn(
        "the header has no number of samples, as if the recorder was killed; all octets after it "
        "are read as samples");
  }
  const LevelMeter::Reading level = source.take_level();
  if (level.not_numbers > 0) {
    warn(std::to_string(level.not_numbers) + " samples are not numbers, taken for silence");
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
       "sound file, also as a plain argument, and repeatable; - for standard input");
  describe(in, description);
  description.add_options()  //
      ("out", po::value(&out),
       "file for the bytes found; - for standard output. Without it they are shown with each "
       "burst, as text or in hex")  //
      ("mode", po::value(&mode_names_given)->composing(),
       "listen for this mode only; the option may be repeated: a name, the beginning of names "
       "(4285), a pattern (4539-*-vl). 4285 must be named; the other modes are recognised")  //
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
    std::cerr
        << "hfmodem demod: " << listing.cut_off() << " of " << listing.bursts()
        << " bursts were not received from their beginning to their end of message; octets are "
           "missing\n";
  }
  return good && listing.cut_off() == 0 ? kExitOk : kExitFailed;
}

}  // namespace s5066::modem::tools
