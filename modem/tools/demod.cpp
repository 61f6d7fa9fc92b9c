// hfmodem demod: finds the bursts in a file of samples, writes their octets, says what each was.
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "modem/tools/burst_record.h"
#include "modem/tools/files.h"
#include "modem/tools/options.h"
#include "modem/tools/samples.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_receiver.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

/// Silence behind the file: lets the receiver finish a burst that ends with it, or give it up.
constexpr unsigned kSilenceSeconds = 6;
/// While it still has one: it waits for the signal of some modes longer.
constexpr unsigned kSilenceSecondsMax = 60;

/// Follows the events of one source: writes octets as they come, prints a line whenever a burst
/// ends. The file is made for the first one, so that nothing is overwritten for none.
class Listing {
 public:
  Listing(std::string out, bool json) : out_(std::move(out)), json_(json) {}

  /// An error is one of the outputs', and there is no use in going on.
  Result<void> take(const BurstEvent& event) {
    if (const auto* acquired = std::get_if<BurstAcquired>(&event)) {
      heard_ = true;
      burst_.emplace(*acquired);
    } else if (const auto* received = std::get_if<BurstBytes>(&event)) {
      if (burst_) burst_->take(*received);
      if (auto opened = open(); !opened) return opened;
      return file_->write(received->bytes);
    } else if (const auto* ended = std::get_if<BurstEnded>(&event); ended && burst_) {
      burst_->take(*ended);
      if (auto opened = open(); !opened) return opened;
      return print();
    }
    return {};
  }
  /// What comes from now on is not of the source.
  void on_end_of_input(std::uint64_t samples) { input_ended_ = samples; }
  /// Tells of a burst that is still going on.
  Result<void> close() {
    if (burst_) {
      if (auto printed = print(); !printed) return printed;
    }
    return file_ ? file_->close() : Result<void>{};
  }

  bool heard() const { return heard_; }
  /// That were listed.
  unsigned bursts() const { return bursts_; }
  /// Bursts of which the end, or the beginning with the preamble, was not heard.
  unsigned cut_off() const { return cut_off_; }

 private:
  Result<void> open() {
    if (file_) return {};
    auto made = OctetFile::create(out_);
    if (!made) return made.error();
    file_.emplace(std::move(made).value());
    return {};
  }
  /// A burst that was given up in what we added may have gone on behind the input.
  std::string_view how_it_ended() const {
    const auto& ended = burst_->ended();
    if (!ended) return "input_ended";
    const bool added = input_ended_ && ended->at_sample > *input_ended_;
    return added && ended->reason == CarrierDownReason::lost ? "input_ended"
                                                             : to_string(ended->reason);
  }
  Result<void> print() {
    const std::string how(how_it_ended());
    const BurstRecord burst = *std::exchange(burst_, std::nullopt);
    if (burst.is_next()) return {};
    ++bursts_;
    if (!burst.whole()) ++cut_off_;
    if (burst.acquired().joined) {
      print_joined(burst, how);
    } else {
      print_received(burst, how);
    }
    if (std::fflush(stdout) != 0) return posix::errno_error("standard output");
    return {};
  }
  double end_of(const BurstRecord& burst) const {
    return seconds(burst.ended() ? burst.ended()->ended_sample : input_ended_.value_or(0));
  }
  void print_received(const BurstRecord& burst, const std::string& how) const {
    const char* const format =
        json_ ? "{\"mode\":\"%s\",\"mode_known\":true,\"acquired_s\":%.3f,\"ended_s\":%.3f,"
                "\"snr_db\":%.1f,\"offset_hz\":%.2f,\"multipath_ms\":%.1f,\"doppler_hz\":%.1f,"
                "\"octets\":%zu,\"soft_quality\":%.3f,\"soft_quality_min\":%.3f,"
                "\"reason\":\"%s\"}\n"
              : "%s  acquired %.3f s  ended %.3f s  SNR %.1f dB  offset %.2f Hz  multipath %.1f "
                "ms  Doppler %.1f Hz  %zu octets  quality %.3f, at least %.3f  %s\n";
    const ChannelEstimate& channel = burst.channel();
    std::printf(format, modem::to_string(burst.mode()).c_str(), seconds(burst.acquired().at_sample),
                end_of(burst), static_cast<double>(burst.snr_db()),
                static_cast<double>(channel.offset_hz), static_cast<double>(channel.multipath_ms),
                static_cast<double>(channel.doppler_hz), burst.octets(),
                static_cast<double>(burst.quality()), static_cast<double>(burst.worst_quality()),
                how.c_str());
  }
  /// Nothing is known but that it was there.
  void print_joined(const BurstRecord& burst, const std::string& how) const {
    const char* const format =
        json_ ? "{\"mode\":\"%s\",\"mode_known\":false,\"acquired_s\":%.3f,\"ended_s\":%.3f,"
                "\"snr_db\":null,\"offset_hz\":null,\"multipath_ms\":null,\"doppler_hz\":null,"
                "\"octets\":0,\"soft_quality\":null,\"soft_quality_min\":null,"
                "\"reason\":\"%s\"}\n"
              : "%s of an unknown mode  noticed %.3f s  ended %.3f s  0 octets  %s\n";
    std::printf(format, waveform_name(burst.mode()).c_str(), seconds(burst.acquired().at_sample),
                end_of(burst), how.c_str());
  }
  static double seconds(std::uint64_t sample) { return static_cast<double>(sample) / kSampleRate; }

  std::string out_;
  bool json_;
  std::optional<OctetFile> file_;
  std::optional<BurstRecord> burst_;  // that goes on
  std::optional<std::uint64_t> input_ended_;
  bool heard_ = false;  // a burst
  unsigned bursts_ = 0;
  unsigned cut_off_ = 0;
};

Result<void> feed(BurstReceiver& receiver, std::span<const float> samples, Listing& listing) {
  receiver.process(samples);
  while (const auto event = receiver.poll_event()) {
    if (auto taken = listing.take(*event); !taken) return taken;
  }
  return {};
}

/// To the end of the source, or until it cannot be read: what came before counts all the same.
Result<void> demodulate(SampleSource& source, const std::vector<Mode>& modes, Listing& listing) {
  BurstReceiver receiver({.modes = modes});
  Result<void> read;
  for (;;) {
    const auto samples = source.read();
    if (!samples) read = samples.error();
    if (!samples || samples->empty()) break;
    if (auto fed = feed(receiver, *samples, listing); !fed) return fed;
  }
  listing.on_end_of_input(receiver.stats().samples);
  const std::vector<float> silence(kSampleRate, 0.0F);
  for (unsigned i = 0; i < (receiver.busy() ? kSilenceSecondsMax : kSilenceSeconds); ++i) {
    if (auto fed = feed(receiver, silence, listing); !fed) return fed;
  }
  const auto closed = listing.close();
  return read ? closed : read;
}

/// What is wrong with the sound, before anybody wonders about the modem.
void warn_of_level(const std::string& path, const LevelMeter::Reading& level) {
  if (level.not_numbers > 0) {
    std::cerr << "hfmodem demod: " << path << ": " << level.not_numbers
              << " samples are no numbers, taken for silence\n";
  }
  const auto verdict = level.verdict();
  if (level.samples == 0 || verdict == LevelMeter::Verdict::good) return;
  std::fprintf(stderr, "hfmodem demod: %s: sound is %s: %.1f dB of full scale, peak %.1f dB\n",
               path.c_str(), std::string(to_string(verdict)).c_str(), power_db(level.power),
               power_db(level.peak * level.peak));
}

}  // namespace

int run_demod(const std::vector<std::string>& arguments) {
  SourceOptions in;
  std::string out;
  std::vector<std::string> mode_names_given;
  po::options_description description;
  describe(in, description);
  description.add_options()                                             //
      ("out", po::value(&out)->required(), "file for the bytes found")  //
      ("mode", po::value(&mode_names_given)->composing(),
       "listen for this mode only, several times for several; 4285 must be named, others find "
       "themselves")  //
      ("json", po::bool_switch(), "print one JSON object per burst");
  const ParsedOptions parsed = parse_options("demod", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  for (const Result<void>& good : {check(in), check_apart(in.path, out)}) {
    if (!good) return usage_error("demod", good.error());
  }
  const auto modes = modes_of(mode_names_given);
  if (!modes) return usage_error("demod", modes.error());

  auto source = SampleSource::open(in);
  if (!source) return failure("demod", source.error());
  Listing listing(out, parsed.values["json"].as<bool>());
  const auto done = demodulate(*source, *modes, listing);
  warn_of_level(in.path, source->take_level());
  if (!done) std::cerr << "hfmodem demod: " << done.error().detail << '\n';
  if (!listing.heard()) {
    std::cerr << "hfmodem demod: " << in.path << ": no burst found\n";
    return kExitFailed;
  }
  if (listing.cut_off() > 0) {
    std::cerr << "hfmodem demod: " << in.path << ": " << listing.cut_off() << " of "
              << listing.bursts()
              << " bursts were not heard from their beginning to their end of message; octets are "
                 "missing\n";
  }
  return done && listing.cut_off() == 0 ? kExitOk : kExitFailed;
}

}  // namespace s5066::modem::tools
