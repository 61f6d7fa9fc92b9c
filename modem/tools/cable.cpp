// SPDX-License-Identifier: Apache-2.0
// `hfmodem cable` runs the audio cable that connects modem processes of one machine.
#include <iostream>

#include "modem/audio/cable_hub.h"
#include "modem/tools/options.h"
#include "modem/tools/signals.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_transmitter.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

/// The options of the command line before they are parsed and checked.
struct Arguments {
  CableHub::Config hub;
  std::string pace;
  std::string channel;
  std::size_t stations = 0;
};

po::options_description describe(Arguments& arguments) {
  CableMixer::Config& mixer = arguments.hub.mixer;
  po::options_description description;
  description.add_options()                                                                     //
      ("socket", po::value(&arguments.hub.socket_path)->required(), "path of the Unix socket")  //
      ("stations", po::value(&arguments.stations)->default_value(2),
       "number of ends of the cable")  //
      ("pace", po::value(&arguments.pace)->default_value("real"),
       "real: real time; max: lockstep, as fast as the processors allow")  //
      ("delay-blocks", po::value(&arguments.hub.delay_blocks)->default_value(10),
       "number of 20 ms blocks in which a station must answer at pace real")  //
      ("channel", po::value(&arguments.channel)->default_value("clean"),
       "clean, awgn, two-path or watterson")  //
      ("snr-db", po::value(&mixer.snr_db)->default_value(20),
       "signal-to-noise ratio in dB, in 3 kHz")                                                  //
      ("delay-ms", po::value(&mixer.delay_ms)->default_value(2), "delay between the two paths")  //
      ("doppler-hz", po::value(&mixer.doppler_hz)->default_value(1),
       "Doppler spread of a fading path")                                                    //
      ("offset-hz", po::value(&mixer.offset_hz)->default_value(0), "offset of the carrier")  //
      ("seed", po::value(&mixer.seed)->default_value(1),
       "seed of noise and fading, to repeat a run");
  return description;
}

Result<void> check(Arguments& arguments) {
  const auto channel = parse_cable_channel(arguments.channel);
  if (!channel) return channel.error();
  CableMixer::Config& mixer = arguments.hub.mixer;
  mixer.channel = *channel;
  mixer.stations = arguments.stations;
  mixer.signal_power = kTransmitPower;
  if (arguments.pace != "real" && arguments.pace != "max") {
    return Error{ErrorCode::bad_field, "--pace must be real or max"};
  }
  arguments.hub.pace = arguments.pace == "max" ? cable::Pace::max : cable::Pace::real;
  if (mixer.stations < 1 || mixer.stations > cable::kStationsMax) {
    return Error{ErrorCode::bad_field,
                 "--stations must be 1 to " + std::to_string(cable::kStationsMax)};
  }
  if (arguments.hub.delay_blocks > cable::kDelayBlocksMax) {
    return Error{ErrorCode::bad_field,
                 "--delay-blocks must be at most " + std::to_string(cable::kDelayBlocksMax)};
  }
  for (const Result<void>& checked : {check_within("--snr-db", mixer.snr_db, -50, 100),
                                      check_within("--delay-ms", mixer.delay_ms, 0, 50),
                                      check_within("--doppler-hz", mixer.doppler_hz, 0.01, 100),
                                      check_within("--offset-hz", mixer.offset_hz, -500, 500)}) {
    if (!checked) return checked.error();
  }
  return {};
}

void print_summary(const CableCounters& counters, const CableHub::Config& config) {
  const double seconds = static_cast<double>(counters[CableCounter::blocks]) *
                         config.block_samples / config.mixer.rate_hz;
  std::cout << "cable carried_s=" << seconds;
  CounterRows rows;
  counters.list(rows);
  for (const CounterRow& row : rows) std::cout << " " << row.name << "=" << row.value;
  std::cout << std::endl;
}

}  // namespace

int run_cable(const std::vector<std::string>& arguments) {
  Arguments given;
  const ParsedOptions parsed = parse_options("cable", describe(given), arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  if (const auto good = check(given); !good) return usage_error("cable", good.error());
  CableHub hub(given.hub);
  if (const auto opened = hub.open(); !opened) return failure("cable", opened.error());
  std::cout << "cable socket=" << given.hub.socket_path << " stations=" << given.stations
            << " pace=" << given.pace << " channel=" << given.channel
            << " seed=" << given.hub.mixer.seed << std::endl;
  const auto ended = run_until_signalled([&] { return hub.run(); }, [&] { hub.stop(); });
  print_summary(hub.counters(), given.hub);
  return ended ? kExitOk : failure("cable", ended.error());
}

}  // namespace s5066::modem::tools
