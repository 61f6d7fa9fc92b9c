// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/channel_options.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "modem/tools/options.h"

namespace s5066::modem::tools {

namespace po = boost::program_options;

namespace {
constexpr double kDopplerMin = 0.01;  // slower fading needs hours of signal to have an effect
}  // namespace

void describe(ChannelOptions& o, po::options_description& description) {
  description.add_options()  //
      ("channel", po::value(&o.name),
       "name of the channel: awgn, two-path (2 ms), or one of ITU-R F.1487, such as poor")  //
      ("snr-db", po::value(&o.snr_db)->default_value(20),
       "signal-to-noise ratio in dB, in 3 kHz")  //
      ("delay-ms", po::value(&o.delay_ms)->default_value(0),
       "delay between the two paths, which have equal power")                                    //
      ("doppler-hz", po::value(&o.doppler_hz)->default_value(0), "Doppler spread of each path")  //
      ("offset-hz", po::value(&o.offset_hz)->default_value(0), "offset of the carrier")          //
      ("skew-ppm", po::value(&o.skew_ppm)->default_value(0),
       "error of the receiver's sample clock; above 0: too fast")  //
      ("impulses-per-s", po::value(&o.impulses_per_s)->default_value(0),
       "bursts of static per second, 5 ms long on average")  //
      ("impulse-db", po::value(&o.impulse_db)->default_value(20),
       "power of a burst of static above the signal's")  //
      ("ssb-filter", po::bool_switch(&o.ssb_filter),
       "limit the receiver to 300 to 3000 Hz")  //
      ("seed", po::value(&o.seed)->default_value(1), "seed of noise and fading, to repeat a run");
}

Result<channel::SimulatedChannel::Config> channel_of(const ChannelOptions& o, double signal_power) {
  for (const Result<void>& checked :
       {check_within("--snr-db", o.snr_db, -50, 100), check_within("--delay-ms", o.delay_ms, 0, 50),
        check_within("--doppler-hz", o.doppler_hz, 0, 100),
        check_within("--offset-hz", o.offset_hz, -500, 500),
        check_within("--skew-ppm", o.skew_ppm, -1000, 1000),
        check_within("--impulses-per-s", o.impulses_per_s, 0, 1000),
        check_within("--impulse-db", o.impulse_db, -50, 100)}) {
    if (!checked) return checked.error();
  }
  if (o.doppler_hz > 0 && o.doppler_hz < kDopplerMin) {
    return Error{ErrorCode::bad_field, "--doppler-hz must be 0 or at least 0.01"};
  }
  channel::SimulatedChannel::Config config;
  if (o.name.empty()) {
    config.paths = two_paths(o.delay_ms, o.doppler_hz);
  } else if (o.delay_ms != 0 || o.doppler_hz != 0) {
    return Error{ErrorCode::bad_field, "--channel has its own --delay-ms and --doppler-hz"};
  } else if (auto paths = paths_of(o.name); paths) {
    config.paths = std::move(*paths);
  } else {
    return paths.error();
  }
  config.offset_hz = o.offset_hz;
  config.signal_power = signal_power;
  config.snr_db = o.snr_db;
  config.skew_ppm = o.skew_ppm;
  if (o.impulses_per_s > 0) {
    config.impulses = channel::ImpulseNoise::Config{
        .per_second = o.impulses_per_s,
        .deviation = std::sqrt(signal_power * std::pow(10.0, o.impulse_db / 10))};
  }
  if (o.ssb_filter) config.filter.emplace();
  return config;
}

std::string name_of(const ChannelOptions& o) {
  return o.name.empty() ? name_of(o.delay_ms, o.doppler_hz) : o.name;
}

std::vector<channel::Path> two_paths(double delay_ms, double spread_hz) {
  std::vector<channel::Path> paths = {{.spread_hz = spread_hz}};
  if (delay_ms > 0) paths.push_back({.delay_ms = delay_ms, .spread_hz = spread_hz});
  return paths;
}

std::string name_of(double delay_ms, double spread_hz) {
  if (delay_ms == 0 && spread_hz == 0) return "awgn";
  if (delay_ms == 2 && spread_hz == 1) return "poor";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%gms-%ghz", delay_ms, spread_hz);
  return text.data();
}

Result<std::vector<channel::Path>> paths_of(std::string_view name) {
  if (name == "awgn") return two_paths(0, 0);
  if (name == "two-path") return two_paths(2, 0);
  if (auto paths = channel::paths_by_name(name); !paths.empty()) return paths;
  std::string known = "unknown channel; the channels are awgn two-path";
  for (const auto other : channel::channel_names()) known += " " + std::string(other);
  return Error{ErrorCode::bad_field, known};
}

}  // namespace s5066::modem::tools
