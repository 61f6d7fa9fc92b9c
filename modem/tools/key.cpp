// hfmodem key: keys the transmitter for a moment, says whether it was unkeyed, and prints the
// setting for a configuration.
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "modem/ptt/cm108.h"
#include "modem/ptt/crash_guard.h"
#include "modem/ptt/key_watchdog.h"
#include "modem/ptt/rigctld.h"
#include "modem/ptt/serial_line.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

constexpr double kSecondsMax = 10;
constexpr unsigned kUnkeyAttempts = 20;
constexpr auto kUnkeyPause = std::chrono::milliseconds(250);

struct Arguments {
  unsigned rigctld_port = 0;
  bool data_input = false;
  std::string serial_rts;
  std::string serial_dtr;
  bool other_line_up = false;
  std::string cm108;
  unsigned pin = 3;
  double seconds = 1;
};

po::options_description describe(Arguments& arguments) {
  po::options_description description;
  description.add_options()                                                                  //
      ("rigctld-port", po::value(&arguments.rigctld_port), "hamlib's daemon, mostly 4532")   //
      ("data-input", po::bool_switch(&arguments.data_input), "rigctld: T 3 instead of T 1")  //
      ("serial-rts", po::value(&arguments.serial_rts), "RTS of this serial port")            //
      ("serial-dtr", po::value(&arguments.serial_dtr), "DTR of this serial port")            //
      ("other-line-up", po::bool_switch(&arguments.other_line_up),
       "serial port: raise the line that does not key")                                  //
      ("cm108", po::value(&arguments.cm108), "sound chip with this /dev/hidraw device")  //
      ("pin", po::value(&arguments.pin)->default_value(3), "cm108: 1 to 8")              //
      ("seconds", po::value(&arguments.seconds)->default_value(1), "to key, up to 10");
  return description;
}

struct Way {
  std::unique_ptr<Ptt> ptt;
  std::string setting;    // of a configuration
  std::string confirmed;  // what speaks for it that the transmitter is unkeyed
};

Way serial_way(const Arguments& given, SerialLinePtt::Line line) {
  const bool rts = line == SerialLinePtt::Line::rts;
  const std::string& path = rts ? given.serial_rts : given.serial_dtr;
  return {std::make_unique<SerialLinePtt>(SerialLinePtt::Config{
              .path = path, .line = line, .other_line_up = given.other_line_up}),
          std::string(rts ? "serial_rts" : "serial_dtr") + " { path: \"" + path + "\"" +
              (given.other_line_up ? " other_line_up: true" : "") + " }",
          "the line reads as down"};
}

Result<Way> way_of(const Arguments& given) {
  const int ways = (given.rigctld_port != 0) + !given.serial_rts.empty() +
                   !given.serial_dtr.empty() + !given.cm108.empty();
  if (ways != 1) {
    return Error{ErrorCode::bad_field,
                 "name one of --rigctld-port, --serial-rts, --serial-dtr and --cm108"};
  }
  if (given.rigctld_port > 65535) return Error{ErrorCode::bad_field, "--rigctld-port is a port"};
  if (given.pin < 1 || given.pin > 8) return Error{ErrorCode::bad_field, "--pin is 1 to 8"};
  if (!(given.seconds > 0 && given.seconds <= kSecondsMax)) {
    return Error{ErrorCode::bad_field, "--seconds is above 0 and at most 10"};
  }
  if (!given.serial_rts.empty()) return serial_way(given, SerialLinePtt::Line::rts);
  if (!given.serial_dtr.empty()) return serial_way(given, SerialLinePtt::Line::dtr);
  if (!given.cm108.empty()) {
    return Way{std::make_unique<CrashGuardedPtt>(CrashGuardedPtt::Config{},
                                                 std::make_unique<Cm108Ptt>(Cm108Ptt::Config{
                                                     .path = given.cm108, .pin = given.pin})),
               "cm108 { path: \"" + given.cm108 + "\" pin: " + std::to_string(given.pin) + " }",
               "the chip took the report, and does not answer more"};
  }
  return Way{
      std::make_unique<CrashGuardedPtt>(CrashGuardedPtt::Config{},
                                        std::make_unique<RigctldPtt>(RigctldPtt::Config{
                                            .port = static_cast<std::uint16_t>(given.rigctld_port),
                                            .data_input = given.data_input})),
      "rigctld { port: " + std::to_string(given.rigctld_port) +
          (given.data_input ? " data_input: true" : "") + " }",
      "rigctld says RPRT 0"};
}

/// Whatever it takes: a transmitter is keyed.
Result<void> insist_on_unkeying(KeyWatchdog& key) {
  for (unsigned attempt = 1;; ++attempt) {
    auto unkeyed = key.unkey();
    if (unkeyed || attempt == kUnkeyAttempts) return unkeyed;
    std::this_thread::sleep_for(kUnkeyPause);
  }
}

}  // namespace

int run_key(const std::vector<std::string>& arguments) {
  Arguments given;
  const ParsedOptions parsed = parse_options("key", describe(given), arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  auto way = way_of(given);
  if (!way) {
    std::cerr << "hfmodem key: " << way.error().detail << '\n';
    return kExitUsage;
  }
  KeyWatchdog key({.hang_max = from_seconds(given.seconds + 3)}, std::move(way->ptt),
                  posix::monotonic_now);
  if (const auto unkeyed = key.unkey(); !unkeyed) {
    std::cerr << "hfmodem key: not keyed: " << to_string(unkeyed.error()) << '\n';
    return kExitFailed;
  }
  const auto keyed = key.key(from_seconds(given.seconds + 2));
  if (keyed) std::this_thread::sleep_for(from_seconds(given.seconds));
  const auto unkeyed = insist_on_unkeying(key);
  if (!keyed) std::cerr << "hfmodem key: " << to_string(keyed.error()) << '\n';
  if (!unkeyed) {
    std::cerr << "hfmodem key: NOT UNKEYED, switch the transmitter off: "
              << to_string(unkeyed.error()) << '\n';
  }
  if (!keyed || !unkeyed) return kExitFailed;
  std::cout << "keyed for " << given.seconds << " s, then unkeyed: " << way->confirmed
            << "\n\nmodem {\n  " << way->setting << "\n}\n";
  return kExitOk;
}

}  // namespace s5066::modem::tools
