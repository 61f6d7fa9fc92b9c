// SPDX-License-Identifier: Apache-2.0
// `hfmodem scope` shows what a sound card or an audio cable receives, as a line that is updated:
// the level, and of a burst its mode, SNR, offset, multipath, Doppler spread and quality.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "modem/tools/device_options.h"
#include "modem/tools/examination.h"
#include "modem/tools/options.h"
#include "modem/tools/scope_view.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_receiver.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

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
  return modes_of_one_receiver(given.modes);
}

Result<void> follow(Device& device, const std::vector<Mode>& modes, const Arguments& given) {
  auto examination = Examination::begin(device, posix::monotonic_now);
  if (!examination) return examination.error();
  BurstReceiver receiver({.modes = modes});
  ScopeView view(stdout, ::isatty(STDOUT_FILENO) == 1);
  LevelMeter::Reading level;  // level of the previous interval
  const std::vector<float> silence(examination->block_samples());
  double since_line = 0;
  double heard = 0;
  while (given.seconds == kForEver || heard < given.seconds) {
    const auto samples = examination->exchange(silence);
    if (!samples) {
      view.end(level);
      return samples.error();
    }
    receiver.process(*samples);
    while (const auto event = receiver.poll_event()) view.take(*event, level);
    const double block = static_cast<double>(samples->size()) / kSampleRate;
    heard += block;
    since_line += block;
    if (since_line < given.interval) continue;
    since_line = 0;
    level = examination->take_level();
    view.print(level);
    if (std::ferror(stdout) != 0) break;  // nobody reads the output any more
  }
  view.end(level);
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
       "seconds to listen; 0: until it is stopped with Ctrl-C or a signal")  //
      ("mode", po::value(&given.modes)->composing(),
       "listen for this mode only; the option may be repeated; 4285 must be named");
  const ParsedOptions parsed = parse_options("scope", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  const auto modes = check(given);
  if (!modes) return usage_error("scope", modes.error());
  const std::unique_ptr<Device> device = make_device(given.device);
  const auto done = follow(*device, *modes, given);
  return done ? kExitOk : failure("scope", done.error());
}

}  // namespace s5066::modem::tools
