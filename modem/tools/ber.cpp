// SPDX-License-Identifier: Apache-2.0
// `hfmodem ber` measures the bit error rate of a mode over the simulated channel.
#include <cstdio>

#include "modem/api/airtime.h"
#include "modem/tools/bit_errors.h"
#include "modem/tools/channel_options.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

struct Arguments {
  std::string mode;
  ChannelOptions channel;
  BitErrorPlan plan;
};

Result<void> check(Arguments& given) {
  const auto mode = parse_mode(given.mode);
  if (!mode) {
    return Error{ErrorCode::bad_field, "--mode " + given.mode + ": one of " + mode_names()};
  }
  BitErrorPlan& plan = given.plan;
  plan.mode = *mode;
  if (auto good = check_within("--bits", plan.bits, 1, 1e12); !good) return good;
  if (auto good = check_within("--burst-s", plan.burst_seconds, 0.1, 600); !good) return good;
  if (capacity(plan.mode, from_seconds(plan.burst_seconds)) == 0) {
    return Error{ErrorCode::bad_field, "--burst-s is too short for an octet in this mode"};
  }
  auto path = channel_of(given.channel, 1);
  if (!path) return path.error();
  plan.path = *path;
  plan.channel = name_of(given.channel);
  plan.seed = given.channel.seed;
  return {};
}

}  // namespace

int run_ber(const std::vector<std::string>& arguments) {
  Arguments given;
  po::options_description description;
  description.add_options()  //
      ("mode", po::value(&given.mode)->required(),
       "waveform, rate and interleaver, such as 110a-2400-short")  //
      ("bits", po::value(&given.plan.bits)->default_value(1e5),
       "bits to send, in whole bursts")  //
      ("burst-s", po::value(&given.plan.burst_seconds)->default_value(20),
       "seconds of a burst, without the preamble")  //
      ("json", po::bool_switch(), "print one JSON object");
  describe(given.channel, description);
  describe(given.plan.ms110d, description);
  const ParsedOptions parsed = parse_options("ber", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  if (const auto good = check(given); !good) return usage_error("ber", good.error());
  const BitErrorCounts counts = measure_bit_errors(given.plan);
  if (parsed.values["json"].as<bool>()) {
    std::printf("{%s}\n", to_json(given.plan, counts).c_str());
  } else {
    std::puts(to_text(given.plan, counts).c_str());
  }
  return kExitOk;
}

}  // namespace s5066::modem::tools
