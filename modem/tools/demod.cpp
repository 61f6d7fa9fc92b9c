// hfmodem demod: finds the bursts in a file of samples, writes their octets, says what each was.
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

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

std::string_view to_string(CarrierDownReason reason) {
  switch (reason) {
    case CarrierDownReason::end_of_message:
      return "end_of_message";
    case CarrierDownReason::lost:
      return "lost";
    case CarrierDownReason::replaced:
      return "replaced";
  }
  return "unknown";
}

/// Follows the events of one source: writes octets as they come, prints a line whenever a burst
/// ends. The file is made for the first one, so that nothing is overwritten for none.
class Listing {
 public:
  Listing(std::string out, bool json) : out_(std::move(out)), json_(json) {}

  /// An error is one of the outputs', and there is no use in going on.
  Result<void> take(const BurstEvent& event) {
    if (const auto* acquired = std::get_if<BurstAcquired>(&event)) {
      current_ = *acquired;
      octets_ = 0;
      quality_ = 0;
    } else if (const auto* received = std::get_if<BurstBytes>(&event)) {
      octets_ += received->bytes.size();
      quality_ = received->soft_quality;
      if (auto opened = open(); !opened) return opened;
      return file_->write(received->bytes);
    } else if (const auto* ended = std::get_if<BurstEnded>(&event)) {
      ++bursts_;
      if (ended->reason != CarrierDownReason::end_of_message) ++cut_off_;
      if (auto opened = open(); !opened) return opened;
      return print(*ended);
    }
    return {};
  }
  Result<void> close() { return file_ ? file_->close() : Result<void>{}; }

  unsigned bursts() const { return bursts_; }
  /// Bursts whose end was not heard.
  unsigned cut_off() const { return cut_off_; }

 private:
  Result<void> open() {
    if (file_) return {};
    auto made = OctetFile::create(out_);
    if (!made) return made.error();
    file_.emplace(std::move(made).value());
    return {};
  }
  Result<void> print(const BurstEnded& ended) const {
    const char* const format =
        json_ ? "{\"mode\":\"%s\",\"acquired_s\":%.3f,\"ended_s\":%.3f,\"snr_db\":%.1f,"
                "\"offset_hz\":%.2f,\"octets\":%zu,\"soft_quality\":%.3f,\"reason\":\"%s\"}\n"
              : "%s  acquired %.3f s  ended %.3f s  SNR %.1f dB  offset %.2f Hz  %zu octets  "
                "quality %.3f  %s\n";
    std::printf(format, modem::to_string(current_.mode).c_str(), seconds(current_.at_sample),
                seconds(ended.ended_sample), static_cast<double>(current_.snr_db),
                static_cast<double>(current_.offset_hz), octets_, static_cast<double>(quality_),
                std::string(to_string(ended.reason)).c_str());
    if (std::fflush(stdout) != 0) return posix::errno_error("standard output");
    return {};
  }
  static double seconds(std::uint64_t sample) { return static_cast<double>(sample) / kSampleRate; }

  std::string out_;
  bool json_;
  std::optional<OctetFile> file_;
  BurstAcquired current_;
  std::size_t octets_ = 0;
  float quality_ = 0;
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

Result<void> demodulate(SampleSource& source, const std::vector<Mode>& modes, Listing& listing) {
  BurstReceiver receiver({.modes = modes});
  for (;;) {
    const auto samples = source.read();
    if (!samples) return samples.error();
    if (samples->empty()) break;
    if (auto fed = feed(receiver, *samples, listing); !fed) return fed;
  }
  const std::vector<float> silence(kSampleRate, 0.0F);
  for (unsigned i = 0; i < kSilenceSeconds; ++i) {
    if (auto fed = feed(receiver, silence, listing); !fed) return fed;
  }
  return listing.close();
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
  if (listing.bursts() == 0) {
    std::cerr << "hfmodem demod: " << in.path << ": no burst found\n";
    return kExitFailed;
  }
  if (listing.cut_off() > 0) {
    std::cerr << "hfmodem demod: " << in.path << ": " << listing.cut_off() << " of "
              << listing.bursts()
              << " bursts ended before their end of message; octets are missing\n";
  }
  return done && listing.cut_off() == 0 ? kExitOk : kExitFailed;
}

}  // namespace s5066::modem::tools
