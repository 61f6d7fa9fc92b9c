// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/key_options.h"

#include <array>
#include <cstdio>
#include <utility>

#include "modem/ptt/cm108.h"
#include "modem/ptt/crash_guard.h"
#include "modem/ptt/rigctld.h"
#include "modem/ptt/serial_line.h"
#include "modem/tools/options.h"
#include "modem/worker/worker.h"

namespace s5066::modem::tools {

namespace po = boost::program_options;

namespace {

constexpr double kLeadTailMaxMs = 2000;

}  // namespace

void describe(LeadOptions& o, po::options_description& description) {
  description.add_options()  //
      ("vox", po::bool_switch(&o.vox), "the radio keys on sound (VOX): a tone fills the lead")(
          "ptt-lead-ms", po::value<double>()->notifier([&o](double ms) { o.lead_ms = ms; }),
          "time from keying to the first sample; default: 0, with --vox 300")  //
      ("ptt-tail-ms", po::value(&o.tail_ms)->default_value(0),
       "time from the last sample to unkeying");
}

Result<void> check(const LeadOptions& o, const KeyWay& way) {
  if (o.vox && way.ptt) {
    return Error{ErrorCode::bad_field, "--vox cannot be combined with another way to key"};
  }
  if (auto good = check_within("--ptt-lead-ms", o.lead_ms.value_or(0), 0, kLeadTailMaxMs); !good) {
    return good;
  }
  return check_within("--ptt-tail-ms", o.tail_ms, 0, kLeadTailMaxMs);
}

Duration LeadOptions::lead() const {
  return lead_ms ? from_seconds(*lead_ms / 1000) : vox ? kVoxLead : Duration::zero();
}

/// The lead is stated when the radio keys on sound, because it must be found by trial.
std::string setting_of(const LeadOptions& o) {
  std::array<char, 128> text{};
  const double lead_ms = 1000 * to_seconds(o.lead());
  std::string setting = o.vox ? "vox {}" : "";
  for (const auto& [field, ms] : {std::pair{"ptt_lead_ms", lead_ms}, {"ptt_tail_ms", o.tail_ms}}) {
    if (ms <= 0) continue;
    std::snprintf(text.data(), text.size(), "%s%s: %.0f", setting.empty() ? "" : "\n  ", field, ms);
    setting += text.data();
  }
  return setting;
}

void describe(KeyOptions& o, po::options_description& description) {
  description.add_options()  //
      ("rigctld-port", po::value(&o.rigctld_port),
       "key with rigctld of hamlib at this port, mostly 4532")  //
      ("data-input", po::bool_switch(&o.data_input),
       "rigctld: key with T 3 (data input) instead of T 1")                         //
      ("serial-rts", po::value(&o.serial_rts), "key with RTS of this serial port")  //
      ("serial-dtr", po::value(&o.serial_dtr), "key with DTR of this serial port")  //
      ("other-line-up", po::bool_switch(&o.other_line_up),
       "serial port: raise the other line, the one that does not key")                      //
      ("cm108", po::value(&o.cm108), "key with the sound chip at this /dev/hidraw device")  //
      ("pin", po::value(&o.pin)->default_value(3), "cm108: number of the pin that keys, 1 to 8");
}

namespace {

KeyWay serial_way(const KeyOptions& given, SerialLinePtt::Line line) {
  const bool rts = line == SerialLinePtt::Line::rts;
  const std::string& path = rts ? given.serial_rts : given.serial_dtr;
  return {std::make_unique<SerialLinePtt>(SerialLinePtt::Config{
              .path = path, .line = line, .other_line_up = given.other_line_up}),
          std::string(rts ? "serial_rts" : "serial_dtr") + " { path: \"" + path + "\"" +
              (given.other_line_up ? " other_line_up: true" : "") + " }",
          "the line reads as down", "the port is closed"};
}

std::unique_ptr<Ptt> guarded(std::string key, std::unique_ptr<Ptt> ptt) {
  return std::make_unique<CrashGuardedPtt>(CrashGuardedPtt::Config{.key = std::move(key)},
                                           std::move(ptt));
}

}  // namespace

Result<KeyWay> key_way_of(const KeyOptions& given) {
  const int ways = (given.rigctld_port != 0) + !given.serial_rts.empty() +
                   !given.serial_dtr.empty() + !given.cm108.empty();
  if (ways == 0) return KeyWay{};
  if (ways > 1) return Error{ErrorCode::bad_field, kOneWay};
  if (given.rigctld_port > 65535)
    return Error{ErrorCode::bad_field, "--rigctld-port must be 1 to 65535"};
  if (given.pin < 1 || given.pin > 8) return Error{ErrorCode::bad_field, "--pin must be 1 to 8"};
  if (!given.serial_rts.empty()) return serial_way(given, SerialLinePtt::Line::rts);
  if (!given.serial_dtr.empty()) return serial_way(given, SerialLinePtt::Line::dtr);
  if (!given.cm108.empty()) {
    const Cm108Ptt::Config chip{.path = given.cm108, .pin = given.pin};
    return KeyWay{guarded(key_name(chip), std::make_unique<Cm108Ptt>(chip)),
                  "cm108 { path: \"" + given.cm108 + "\" pin: " + std::to_string(given.pin) + " }",
                  {},
                  "the chip took the report, but it reports no key state"};
  }
  const RigctldPtt::Config rigctld{.port = static_cast<std::uint16_t>(given.rigctld_port),
                                   .data_input = given.data_input};
  return KeyWay{guarded(key_name(rigctld), std::make_unique<RigctldPtt>(rigctld)),
                "rigctld { port: " + std::to_string(given.rigctld_port) +
                    (given.data_input ? " data_input: true" : "") + " }",
                "the radio reports it (t of rigctld)",
                "rigctld answers RPRT 0, but the radio reports no key state (t)"};
}

std::string text_of(Unkeyed unkeyed, const KeyWay& way) {
  if (unkeyed == Unkeyed::confirmed) return "unkeyed, confirmed: " + way.confirmed;
  return "unkeyed, but this cannot be confirmed, so check the transmitter: " + way.unconfirmed;
}

}  // namespace s5066::modem::tools
