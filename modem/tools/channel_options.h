// SPDX-License-Identifier: Apache-2.0
// The options of a command line for the simulated channel.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "modem/channel/simulated_channel.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

struct ChannelOptions {
  std::string name;
  double snr_db = 20;
  double delay_ms = 0;
  double doppler_hz = 0;
  double offset_hz = 0;
  double skew_ppm = 0;
  double impulses_per_s = 0;
  double impulse_db = 20;
  bool ssb_filter = false;
  std::uint64_t seed = 1;
};

/// Adds these options to those of a subcommand.
void describe(ChannelOptions& options, boost::program_options::options_description& description);
/// An error names the option. `signal_power` is that of the clean signal.
Result<channel::SimulatedChannel::Config> channel_of(const ChannelOptions& options,
                                                     double signal_power);
/// Returns the name of the paths.
std::string name_of(const ChannelOptions& options);

/// Returns two paths of equal mean power, or one if there is no delay.
std::vector<channel::Path> two_paths(double delay_ms, double spread_hz);
std::string name_of(double delay_ms, double spread_hz);
/// Finds paths by "awgn", "two-path", or a name of ITU-R F.1487.
Result<std::vector<channel::Path>> paths_of(std::string_view name);

}  // namespace s5066::modem::tools
