// SPDX-License-Identifier: Apache-2.0
// `hfmodem doctor` tests the sound card and the key before the first transmission, reports their
// faults, and prints the configuration.
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "modem/tools/device_options.h"
#include "modem/tools/examination.h"
#include "modem/tools/key_options.h"
#include "modem/tools/key_trial.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "s5066d/posix/ending_signals.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

constexpr double kSecondsMax = 10;
/// The first sound of a device is not evaluated.
constexpr double kSettleSeconds = 2;
/// A sound card with a larger deviation has another rate than it reports.
constexpr double kRateErrorMax = 0.005;
constexpr const char* kConfiguredMode = "110a-2400-short";

struct Arguments {
  DeviceOptions device;
  KeyOptions key;
  LeadOptions lead;
  double seconds = 2;
  double tone_seconds = 0;
  bool loop = false;
  std::string mode;
};

Result<Mode> check(Arguments& given) {
  for (const Result<void>& checked :
       {check(given.device), check_within("--seconds", given.seconds, 0.1, kSecondsMax),
        check_within("--tone-seconds", given.tone_seconds, 0, kSecondsMax)}) {
    if (!checked) return checked.error();
  }
  const auto mode = parse_mode(given.mode);
  if (!mode) {
    return Error{ErrorCode::bad_field, "--mode " + given.mode + ": one of " + mode_names()};
  }
  return *mode;
}

/// This class prints the results and counts the faults.
class Findings {
 public:
  void sound(const Examination::Sound& sound, unsigned rate_hz) {
    const auto verdict = sound.level.verdict();
    std::printf("%s  sound    %s: %.1f dB of full scale, peak %.1f dB, %llu clipped, mean %.4f\n",
                mark(verdict == LevelMeter::Verdict::good), std::string(to_string(verdict)).c_str(),
                power_db(sound.level.power), power_db(sound.level.peak * sound.level.peak),
                static_cast<unsigned long long>(sound.level.clipped), sound.level.mean);
    if (sound.level.not_numbers > 0) {
      std::printf("%s  sound    %llu samples are not numbers\n", mark(false),
                  static_cast<unsigned long long>(sound.level.not_numbers));
    }
    if (sound.rate_hz > 0) {
      const double error_hz = std::abs(sound.rate_hz - rate_hz);
      std::printf("%s  clock    %.0f samples/s, nominal %u, accuracy %.0f\n",
                  mark(error_hz < kRateErrorMax * rate_hz + sound.rate_doubt_hz), sound.rate_hz,
                  rate_hz, sound.rate_doubt_hz);
    }
    losses("listening", sound.lost);
  }
  void losses(const char* when, std::uint64_t samples) {
    std::printf("%s  losses   %llu samples while %s\n", mark(samples == 0),
                static_cast<unsigned long long>(samples), when);
  }
  void tone(const Result<Examination::Sound>& sound) {
    step("tone", sound ? Result<void>{} : sound.error(), "sent");
    if (sound) losses("sending the tone", sound->lost);
  }
  void loop(const Examination::Loop& loop) {
    losses("sending and receiving the burst", loop.lost);
    const bool right = loop.heard && loop.octets_right == loop.octets;
    if (!loop.heard) {
      std::printf("%s  loop     the burst did not come back\n", mark(false));
      return;
    }
    std::printf(
        "%s  loop     %zu of %zu octets correct, SNR %.1f dB, offset %.2f Hz, %.0f ms round trip\n",
        mark(right), loop.octets_right, loop.octets, static_cast<double>(loop.snr_db),
        static_cast<double>(loop.offset_hz), loop.round_trip_ms);
  }
  void step(const char* name, const Result<void>& done, const std::string& good) {
    std::printf("%s  %-8s %s\n", mark(done.ok()), name,
                (done ? good : to_string(done.error())).c_str());
  }
  /// A result that cannot be determined counts neither as good nor as bad.
  void key(Unkeyed unkeyed, const KeyWay& way) {
    std::printf("%s  key      %s\n", unkeyed == Unkeyed::confirmed ? mark(true) : "?? ",
                text_of(unkeyed, way).c_str());
  }
  bool all_good() const { return bad_ == 0; }

 private:
  const char* mark(bool good) {
    bad_ += good ? 0 : 1;
    return good ? "ok " : "BAD";
  }
  unsigned bad_ = 0;
};

void print_setting(const Arguments& given, const std::string& key) {
  std::printf("\nmodem {\n  mode: \"%s\"\n", kConfiguredMode);
  std::printf("  %s\n", setting_of(given.device).c_str());
  for (const std::string& setting : {key, setting_of(given.lead)}) {
    if (!setting.empty()) std::printf("  %s\n", setting.c_str());
  }
  std::printf("}\n");
}

/// `meanwhile` is called while the key is down.
void try_key(KeyWay& way, double seconds, const std::function<void()>& meanwhile,
             Findings& findings) {
  const auto tried = tools::try_key(std::move(way.ptt), seconds, meanwhile);
  if (tried) {
    findings.key(*tried, way);
  } else {
    findings.step("key", tried.error(), "");
  }
}

/// Sends the tone with the key, if there is one, or for a radio that keys on sound.
void send_tone(const Arguments& given, Examination& examination, KeyWay& way, Findings& findings) {
  const bool keys = way.ptt || given.lead.vox;
  const double seconds = given.tone_seconds > 0 ? given.tone_seconds : keys ? 1 : 0;
  if (seconds <= 0) return;
  Result<Examination::Sound> tone = Error{ErrorCode::refused, "not keyed"};
  const auto send = [&] { tone = examination.send_tone(seconds); };
  if (way.ptt) {
    try_key(way, seconds, send, findings);
  } else {
    send();
    if (given.lead.vox) findings.key(Unkeyed::unconfirmed, {.unconfirmed = "it keys on sound"});
  }
  findings.tone(tone);
}

/// Faults of the device are results as well, so that the rest of the list is still printed, and the
/// key can be tested without the device. The measured round trip of the loop becomes part of the
/// setting.
void examine(Arguments& given, const Mode& mode, Device& device, KeyWay way, Findings& findings) {
  auto begun = Examination::begin(device, posix::monotonic_now);
  if (!begun) {
    findings.step("device", begun.error(), "");
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::seconds(1)); };
    if (way.ptt) try_key(way, 1, wait, findings);
    return;
  }
  Examination& examination = *begun;
  findings.step("device", {}, device.info().name);
  const auto settled = examination.settle(kSettleSeconds);
  const auto heard =
      settled ? examination.listen(given.seconds) : Result<Examination::Sound>(settled.error());
  if (heard) {
    findings.sound(*heard, device.info().rate_hz);
  } else {
    findings.step("sound", heard.error(), "");
  }
  send_tone(given, examination, way, findings);
  if (!given.loop) return;
  const auto loop =
      examination.send_around(mode, 100, given.lead.vox ? given.lead.lead() : Duration::zero());
  if (!loop) return findings.step("loop", loop.error(), "");
  findings.loop(*loop);
  if (loop->heard) given.device.round_trip_ms = static_cast<int>(std::lround(loop->round_trip_ms));
}

}  // namespace

int run_doctor(const std::vector<std::string>& arguments) {
  Arguments given;
  po::options_description description;
  description.add_options()                                                                    //
      ("seconds", po::value(&given.seconds)->default_value(2), "seconds to listen, up to 10")  //
      ("tone-seconds", po::value(&given.tone_seconds)->default_value(0),
       "seconds to send a tone of 1500 Hz; default: 1 with a key, else 0")  //
      ("loop", po::bool_switch(&given.loop),
       "send a burst from the output to the input, which must be connected")  //
      ("mode", po::value(&given.mode)->default_value("110a-1200-short"),
       "mode of the burst of --loop");
  describe(given.device, description);
  describe(given.key, description);
  describe(given.lead, description);
  const ParsedOptions parsed = parse_options("doctor", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  const auto mode = check(given);
  if (!mode) return usage_error("doctor", mode.error());
  auto way = key_way_of(given.key);
  if (!way) return usage_error("doctor", way.error());
  if (const auto good = check(given.lead, *way); !good) return usage_error("doctor", good.error());
  posix::ignore_terminal_stops();
  const std::unique_ptr<Device> device = make_device(given.device);
  const std::string key_setting = way->setting;
  Findings findings;
  examine(given, *mode, *device, std::move(*way), findings);
  device->close();
  print_setting(given, key_setting);
  return findings.all_good() ? kExitOk : kExitFailed;
}

}  // namespace s5066::modem::tools
