// SPDX-License-Identifier: Apache-2.0
// `hfmodem serve` provides this machine's modem to another process or machine over TCP.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "modem/ptt/ptt.h"
#include "modem/remote/modem_host.h"
#include "modem/tools/device_options.h"
#include "modem/tools/key_options.h"
#include "modem/tools/options.h"
#include "modem/tools/serve_control.h"
#include "modem/tools/signals.h"
#include "modem/tools/subcommands.h"
#include "modem/worker/worker.h"
#include "s5066d/control/event_ring.h"
#include "s5066d/posix/end_hung.h"
#include "s5066d/posix/ending_signals.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_loop_watch.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

struct Arguments {
  ModemHost::Config host;
  unsigned control_port = 0;
  unsigned data_port = 0;
  DeviceOptions device;
  KeyOptions key;
  LeadOptions lead;
  bool full_duplex = false;
  Ms110dChoice ms110d;
  std::vector<std::string> modes;
  std::string control;
  std::vector<std::string> request;
  bool json = false;
};

void describe(Arguments& given, po::options_description& description) {
  description.add_options()  //
      ("listen", po::value(&given.host.address)->default_value(given.host.address),
       "IP address to listen on; every host that can reach it can transmit")  //
      ("control-port", po::value(&given.control_port)->default_value(5067),
       "TCP port of the control connection")  //
      ("data-port", po::value(&given.data_port)->default_value(5068),
       "TCP port of the data connection")  //
      ("mode", po::value(&given.modes)->composing(),
       "listen for this mode only; the option may be repeated")  //
      ("full-duplex", po::bool_switch(&given.full_duplex),
       "receive while transmitting, on another frequency; the node needs full_duplex as well")  //
      ("control", po::value(&given.control)->value_name("SOCKET"),
       "local socket that answers requests; with a REQUEST, ask the modem that has this socket")  //
      ("request", po::value(&given.request)->value_name("REQUEST"),
       "status, counters, events or help")  //
      ("json", po::bool_switch(&given.json), "print the answer to a request as JSON");
  describe(given.device, description);
  describe(given.key, description);
  describe(given.lead, description);
  tools::describe(given.ms110d, description);
}

Result<Worker::Config> check(Arguments& given, const KeyWay& way) {
  for (const Result<void>& checked :
       {check_within("--control-port", given.control_port, 0, 65535),
        check_within("--data-port", given.data_port, 0, 65535),
        posix::check_ip_address(given.host.address), check(given.device), check(given.lead, way)}) {
    if (!checked) return checked.error();
  }
  Worker::Config worker{.ptt_lead = given.lead.lead(),
                        .ptt_tail = given.lead.tail(),
                        .full_duplex = given.full_duplex,
                        .lead_tone = given.lead.vox,
                        .ms110d = given.ms110d};
  auto modes = modes_of_one_receiver(given.modes);
  if (!modes) return modes.error();
  worker.receive_modes = std::move(*modes);
  given.host.control_port = static_cast<std::uint16_t>(given.control_port);
  given.host.data_port = static_cast<std::uint16_t>(given.data_port);
  given.host.receive_modes = worker.receive_modes;
  return worker;
}

}  // namespace

int run_serve(const std::vector<std::string>& arguments) {
  Arguments given;
  po::options_description description;
  describe(given, description);
  const PlainArguments plain{.option = "request", .count_max = -1, .words = "[REQUEST...]"};
  const ParsedOptions parsed = parse_options("serve", description, arguments, plain);
  if (parsed.exit_code) return *parsed.exit_code;
  if (!given.request.empty()) {
    if (!given.control.empty()) return ask_serve(given.control, given.request, given.json);
    return usage_error("serve", {ErrorCode::bad_field, "the request " + given.request.front() +
                                                           " needs --control SOCKET"});
  }
  auto way = key_way_of(given.key);
  if (!way) return usage_error("serve", way.error());
  auto worker = check(given, *way);
  if (!worker) return usage_error("serve", worker.error());
  std::unique_ptr<Ptt> ptt = way->ptt ? std::move(way->ptt) : std::make_unique<NoPtt>();

  posix::ignore_terminal_stops();
  block_signals();  // the threads of the modem and the key start after this
  posix::LogWriter writer;
  control::EventRing events(writer);
  posix::LogLimiter log(events);
  ServeControl control(events, log);
  worker->on_hang = [&log] { posix::end_hung(log, "modem"); };
  std::optional<posix::MainLoopWatch> watch;  // exists while it serves
  given.host.on_turn = [&] {
    watch->turned();
    control.turn();
  };
  ModemHost host(
      given.host,
      [&](std::function<void()> notify) {
        return std::make_unique<Worker>(*worker, make_device(given.device), std::move(ptt),
                                        std::move(notify));
      },
      log);
  if (const auto opened = host.open(); !opened) return failure("serve", opened.error());
  if (!given.control.empty()) {
    const auto opened = control.open(given.control, host);
    if (!opened) return failure("serve", opened.error());
  }
  LogLine(log, LogLevel::info, "modem_serving")
      .kv("address", given.host.address)
      .kv("control_port", std::uint64_t{host.control_port()})
      .kv("data_port", std::uint64_t{host.data_port()});
  const auto ended = run_until_signalled(
      [&] {
        watch.emplace(log);
        watch->ready();
        auto served = host.run();
        watch->stopping();
        return served;
      },
      [&] { host.stop(); });
  control.stop();
  return ended ? kExitOk : failure("serve", ended.error());
}

}  // namespace s5066::modem::tools
