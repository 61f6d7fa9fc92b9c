// hfmodem scope: what comes from a sound card, an audio cable or a file, as a line that follows it:
// level, and of a burst its mode, SNR, offset, multipath, Doppler spread and quality.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>
#include <variant>

#include "modem/tools/device_options.h"
#include "modem/tools/examination.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_receiver.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

constexpr double kBarBottomDb = -60;
constexpr std::size_t kBarLength = 20;
constexpr double kForEver = 0;

struct Arguments {
  DeviceOptions device;
  double interval = 0.5;
  double seconds = kForEver;
  std::vector<std::string> modes;
};

Result<std::vector<Mode>> check(Arguments& given) {
  for (const Result<void>& checked :
       {check(given.device), check_within("--interval", given.interval, 0.1, 60),
        check_within("--seconds", given.seconds, 0, 1e7)}) {
    if (!checked) return checked.error();
  }
  return modes_of(given.modes);
}

std::string bar(double db) {
  const double share = std::clamp((db - kBarBottomDb) / -kBarBottomDb, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * kBarLength + 0.5);
  return std::string(filled, '#') + std::string(kBarLength - filled, '.');
}

/// Follows the receiver.
class View {
 public:
  explicit View(bool one_line) : one_line_(one_line) {}

  void take(const BurstEvent& event) {
    if (const auto* acquired = std::get_if<BurstAcquired>(&event)) {
      mode_ = to_string(acquired->mode);
      channel_ = {.snr_db = acquired->snr_db, .offset_hz = acquired->offset_hz};
      quality_ = 0;
      octets_ = 0;
    } else if (const auto* bytes = std::get_if<BurstBytes>(&event)) {
      channel_ = bytes->channel;
      quality_ = bytes->soft_quality;
      octets_ += bytes->bytes.size();
    } else {
      ended_ = true;
    }
  }

  /// The line of a burst that ended since the last one is its last.
  void print(const LevelMeter::Reading& level) {
    const double db = power_db(level.power);
    std::array<char, 256> line{};
    int length = std::snprintf(line.data(), line.size(), "%6.1f dB [%s] %-8s", db, bar(db).c_str(),
                               std::string(to_string(level.verdict())).c_str());
    if (!mode_.empty()) {
      length += std::snprintf(line.data() + length, line.size() - static_cast<std::size_t>(length),
                              "  %s  SNR %.1f dB  offset %.1f Hz  multipath %.1f ms  Doppler %.1f "
                              "Hz  quality %.2f  %zu octets%s",
                              mode_.c_str(), static_cast<double>(channel_.snr_db),
                              static_cast<double>(channel_.offset_hz),
                              static_cast<double>(channel_.multipath_ms),
                              static_cast<double>(channel_.doppler_hz),
                              static_cast<double>(quality_), octets_, ended_ ? "  ended" : "");
    }
    // A burst's last line stays, and so does every line where there is no terminal.
    const bool stays = !one_line_ || ended_;
    std::printf("%s%s%s", one_line_ ? "\r\x1b[K" : "", line.data(), stays ? "\n" : "");
    std::fflush(stdout);
    if (std::exchange(ended_, false)) mode_.clear();
  }

 private:
  bool one_line_;
  std::string mode_;
  ChannelEstimate channel_;
  float quality_ = 0;
  std::size_t octets_ = 0;
  bool ended_ = false;
};

Result<void> follow(Device& device, const std::vector<Mode>& modes, const Arguments& given) {
  auto examination = Examination::begin(device, posix::monotonic_now);
  if (!examination) return examination.error();
  BurstReceiver receiver({.modes = modes});
  View view(::isatty(STDOUT_FILENO) == 1);
  const std::vector<float> silence(examination->block_samples());
  double since_line = 0;
  double heard = 0;
  while (given.seconds == kForEver || heard < given.seconds) {
    const auto samples = examination->exchange(silence);
    if (!samples) return samples.error();
    receiver.process(*samples);
    while (const auto event = receiver.poll_event()) view.take(*event);
    const double block = static_cast<double>(samples->size()) / kSampleRate;
    heard += block;
    since_line += block;
    if (since_line < given.interval) continue;
    since_line = 0;
    view.print(examination->take_level());
    if (std::ferror(stdout) != 0) break;  // nobody looks any more
  }
  return {};
}

}  // namespace

int run_scope(const std::vector<std::string>& arguments) {
  Arguments given;
  po::options_description description;
  describe(given.device, description);
  description.add_options()                                                                      //
      ("interval", po::value(&given.interval)->default_value(0.5), "seconds between two lines")  //
      ("seconds", po::value(&given.seconds)->default_value(kForEver),
       "to listen; 0: until a signal ends it")  //
      ("mode", po::value(&given.modes)->composing(),
       "listen for this mode only; repeat it; 4285 must be named");
  const ParsedOptions parsed = parse_options("scope", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  const auto modes = check(given);
  if (!modes) return usage_error("scope", modes.error());
  const std::unique_ptr<Device> device = make_device(given.device);
  const auto done = follow(*device, *modes, given);
  return done ? kExitOk : failure("scope", done.error());
}

}  // namespace s5066::modem::tools
