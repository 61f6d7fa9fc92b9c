// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ip_service.h"

#include <algorithm>
#include <random>
#include <utility>

#include "gateways/ip_client/ip_report.h"
#include "gateways/ip_client/net_link.h"
#include "gateways/ip_client/tproxy_rules.h"
#include "s5066d/control/json.h"

namespace s5066::ip_client {

namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

/// An event causes at most as many actions as datagrams wait, and those are bounded.
constexpr std::size_t kStepsMax = 1'000'000;
constexpr int kReadsMax = 64;  // datagrams read before other events have their turn
constexpr seconds kInterfaceRetry{5};
/// The SIS client holds this many requests, and as many more may wait for an answer. The number is
/// above the core's limit for outstanding U_PDUs, because the core hands over all that the window
/// admits before the client sends the first.
constexpr std::size_t kClientRequestsMax = 2048;

LogLevel level_of(IpEvent::Kind kind) {
  switch (kind) {
    case IpEvent::Kind::mtu_too_small:
      return LogLevel::error;
    case IpEvent::Kind::lost:
    case IpEvent::Kind::station_silent:
    case IpEvent::Kind::datagrams_dropped:
      return LogLevel::warning;
    default:
      return LogLevel::info;
  }
}

IpClientCore::Config core_config(const IpConfig& config, RouteTable routes) {
  IpClientCore::Config core;
  core.routes = std::move(routes);
  core.qos = config.qos;
  core.drops = config.drops;
  core.own_addresses = addresses_of(config.interface);
  core.check_sources = config.check_sources;
  core.fragment = config.fragment;
  core.report_not_bound = config.report_not_bound;
  core.icmp_from_v4 = config.icmp_from_v4;
  core.icmp_from_v6 = config.icmp_from_v6;
  core.line_rate_bps = config.line_rate_bps;
  core.age_max = seconds(config.age_max_s);
  return core;
}

sis::Client::Config client_config(const IpConfig& config) {
  sis::Client::Config client;
  client.host = config.sis_host;
  client.port = config.sis_port;
  client.core.sap = kIpSap;
  client.core.rank = config.rank;
  client.core.service = {.mode = sis::TransmissionMode::arq,
                         .confirmation = sis::Confirmation::node};
  client.core.queue_max = kClientRequestsMax;
  client.core.unconfirmed_max = kClientRequestsMax;
  return client;
}

/// Returns the prefixes of the table that get a route in the kernel.
std::vector<IpPrefix> wanted_routes(const IpConfig& config) {
  std::vector<IpPrefix> wanted;
  if (!config.kernel_routes) return wanted;
  for (const Route& route : config.routes) {
    const IpPrefix& prefix = route.prefix;
    if (prefix.bits == 0 && !config.default_route) continue;
    if (prefix.address.is_broadcast()) continue;
    wanted.push_back(prefix);
  }
  return wanted;
}

}  // namespace

const control::VerbInfo kStatusVerb = {"status", "",
                                       "the binding, the interface, and why datagrams were dropped",
                                       control::answered_by<proto::IpStatus>};
const control::VerbInfo kTableVerb = {"table", "", "which station or group carries which prefix",
                                      control::answered_by<proto::IpTable>};
const control::VerbInfo kFlowsVerb = {"flows", "",
                                      "who talks to whom, and how long their datagrams wait",
                                      control::answered_by<proto::IpFlows>};
const control::VerbInfo kQueueVerb = {"queue", "", "what waits for each station",
                                      control::answered_by<proto::IpQueue>};
const control::VerbInfo kReloadVerb = {"reload", "", "read the table again, as SIGHUP does",
                                       control::answered_by<proto::Done>};

IpService::IpService(const IpConfig& config, Reload reload, LogSink& log)
    : config_(config),
      reload_(std::move(reload)),
      host_("s5066-ip", log),
      log_(host_.log()),
      steps_("IpService::drain ends", kStepsMax) {}

IpService::~IpService() = default;

// --- Start and stop ------------------------------------------------------------------------------

Result<void> IpService::run() {
  if (auto started = start(); !started) return started;
  host_.ready();
  host_.run();
  client_.reset();
  proxy_.reset();
  LogLine(log_, LogLevel::info, "ip_stopped");
  return {};
}

Result<void> IpService::start() {
  auto table = RouteTable::make(config_.routes);
  if (!table) return table.error();
  if (auto opened = open_interface(); !opened) return opened;
  core_.emplace(core_config(config_, std::move(table).value()));
  std::random_device random;
  const auto seed = [&random] { return std::uint64_t{random()} << 32 | random(); };
  client_ = std::make_unique<sis::Client>(host_.io(), client_config(config_), seed(),
                                          [this](const sis::Event& event) { on_sis(event); });
  TproxyRules(config_.interface).remove_stale();
  if (config_.proxy.enabled) {
    proxy_ = std::make_unique<TcpProxy>(
        host_.io(), config_.proxy, config_.interface,
        TcpProxy::Hooks{.send = [this](gateways::SisUnidata updu) { send(std::move(updu), true); },
                        .routes = [this]() -> const RouteTable& { return core_->routes(); }},
        seed(), log_);
    proxy_->start();
  }
  add_verbs();
  auto opened =
      host_.open_control({.path = config_.control_socket, .group_too = config_.control_group_too},
                         [this] { return counters(); });
  if (!opened) return opened;
  host_.on_hangup([this] { (void)reload(); });
  host_.on_end([this] { stop(); });
  LogLine(log_, LogLevel::info, "ip_started")
      .kv("sis", config_.sis_host)
      .kv("port", unsigned{config_.sis_port})
      .kv("interface", config_.interface)
      .kv("routes", config_.routes.size());
  client_->start();
  if (!config_.node_control_socket.empty()) {
    node_.emplace(host_.io(), config_.node_control_socket,
                  [this](const std::optional<gateways::NodeTime>& node) {
                    if (node && node->rate_bps > 0) core_->on_node_rate(node->rate_bps);
                  });
    node_->ask();
  }
  wait_for_datagrams();
  return {};
}

// The client unbinds and closes. The io_context then has no work left and ends.
void IpService::stop() {
  LogLine(log_, LogLevel::info, "ip_stopping");
  stopping_ = true;
  host_.stopping();
  timer_.cancel();
  interface_timer_.cancel();
  if (proxy_) proxy_->stop();
  node_.reset();
  readable_.reset();
  device_.reset();
  client_->stop();
}

Instant IpService::now() const {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started_));
}

/// Reads the table again and takes it over if it has no errors.
Result<std::string> IpService::reload() {
  Reloaded read = reload_();
  auto table = RouteTable::make(read.config ? read.config->routes : std::vector<Route>());
  if (read.config && !table) {
    read.problems.push_back(table.error().detail);
    read.config.reset();
  }
  if (!read.config) {
    std::string text = "the table in use stays, because the new one has errors";
    for (const std::string& problem : read.problems) {
      LogLine(log_, LogLevel::error, "table_refused").kv("problem", std::string_view(problem));
      text += "; " + problem;
    }
    return Error{ErrorCode::bad_field, text};
  }
  config_.routes = std::move(read.config->routes);
  config_.book = std::move(read.config->book);
  core_->on_routes(now(), std::move(table).value());
  set_kernel_routes();
  if (proxy_) proxy_->on_routes();
  LogLine(log_, LogLevel::info, "table_loaded").kv("routes", config_.routes.size());
  drain();
  return control::done_json();
}

// --- The interface -------------------------------------------------------------------------------

Result<void> IpService::open_interface() {
  auto device = TunDevice::open(config_.interface);
  if (!device) return device.error();
  auto link = NetLink::open();
  if (!link) return link.error();
  for (const IpPrefix& address : config_.addresses) {
    if (auto added = link->add_address(config_.interface, address); !added) return added;
  }
  if (auto up = link->bring_up(config_.interface, config_.mtu); !up) return up;
  device_.emplace(std::move(device).value());
  kernel_routes_.clear();
  set_kernel_routes();
  readable_.emplace(host_.io(), ::dup(device_->fd()));
  return {};
}

void IpService::set_kernel_routes() {
  if (!device_) return;  // the routes come with the interface
  const auto wanted = wanted_routes(config_);
  auto link = NetLink::open();
  if (!link) return;
  const auto fail = [&](const Error& error) {
    LogLine(log_, LogLevel::error, "kernel_route_failed").kv("reason", error.detail);
  };
  for (const IpPrefix& old : kernel_routes_) {
    if (std::find(wanted.begin(), wanted.end(), old) != wanted.end()) continue;
    if (auto removed = link->remove_route(config_.interface, old); !removed) fail(removed.error());
  }
  for (const IpPrefix& prefix : wanted) {
    if (std::find(kernel_routes_.begin(), kernel_routes_.end(), prefix) != kernel_routes_.end()) {
      continue;
    }
    if (auto added = link->add_route(config_.interface, prefix); !added) fail(added.error());
  }
  kernel_routes_ = wanted;
}

void IpService::lose_interface(const Error& why) {
  LogLine(log_, LogLevel::error, "interface_lost")
      .kv("interface", config_.interface)
      .kv("reason", why.detail);
  readable_.reset();
  device_.reset();
  retry_interface();
}

void IpService::retry_interface() {
  interface_timer_.expires_after(kInterfaceRetry);
  interface_timer_.async_wait([this](boost::system::error_code error) {
    if (error || stopping_) return;
    if (auto opened = open_interface(); !opened) {
      LogLine(log_, LogLevel::warning, "interface_missing").kv("reason", opened.error().detail);
      return retry_interface();
    }
    LogLine(log_, LogLevel::info, "interface_back").kv("interface", config_.interface);
    wait_for_datagrams();
  });
}

void IpService::wait_for_datagrams() {
  readable_->async_wait(asio::posix::stream_descriptor::wait_read,
                        [this](boost::system::error_code error) {
                          if (!error && !stopping_) read_datagrams();
                        });
}

void IpService::read_datagrams() {
  for (int i = 0; i < kReadsMax; ++i) {
    auto datagram = device_->read();
    if (!datagram) return lose_interface(datagram.error());
    if (!*datagram) break;
    if (proxy_) look_for_proxy(**datagram);
    core_->on_datagram(now(), std::move(**datagram));
    drain();
  }
  wait_for_datagrams();
}

/// Asks whether the station has a proxy when a host opens a TCP connection that goes as datagrams.
void IpService::look_for_proxy(ByteSpan octets) {
  constexpr std::uint8_t kOpening = TcpSegment::kSyn | TcpSegment::kAck;
  const auto parsed = parse_datagram(octets);
  const auto* const datagram = std::get_if<Datagram>(&parsed);
  if (datagram == nullptr || !datagram->tcp) return;
  if ((datagram->tcp->flags & kOpening) != TcpSegment::kSyn) return;
  const Route* const route = core_->routes().find(datagram->destination);
  if (route != nullptr && !route->station.group) proxy_->on_connection_by_ip(route->station);
}

// --- The subnetwork ------------------------------------------------------------------------------

void IpService::on_sis(const sis::Event& event) {
  namespace in = sis::event;
  if (const auto* bound = std::get_if<in::Bound>(&event)) {
    to_both(gateways::SisBound{bound->mtu});
  } else if (std::holds_alternative<in::Lost>(event) ||
             std::holds_alternative<in::Unbound>(event) ||
             std::holds_alternative<in::BindRejected>(event)) {
    LogLine(log_, LogLevel::warning, "sis").kv("event", sis::to_string(event));
    requests_.clear();
    to_both(gateways::SisLost{});
  } else if (std::holds_alternative<in::FlowOff>(event)) {
    to_both(gateways::SisFlow{false});
  } else if (std::holds_alternative<in::FlowOn>(event)) {
    to_both(gateways::SisFlow{true});
  } else if (const auto* arrived = std::get_if<in::Indication>(&event)) {
    const gateways::SisIndication indication{arrived->unidata.source, arrived->unidata.source_sap,
                                             arrived->unidata.updu};
    to_owner({.proxy = proxy_ && streams::is_streams_updu(indication.updu)}, indication);
  } else if (const auto* confirmed = std::get_if<in::Confirmed>(&event)) {
    if (const auto ours = take_request(confirmed->id)) {
      to_owner(*ours, gateways::SisConfirmed{ours->id});
    }
  } else if (const auto* rejected = std::get_if<in::Rejected>(&event)) {
    if (const auto ours = take_request(rejected->id)) {
      to_owner(*ours, gateways::SisRejected{ours->id, rejected->reason});
    }
  } else if (const auto* left = std::get_if<in::Sent>(&event)) {
    take_request(left->id);  // without ARQ no further report comes
  } else if (const auto* unresolved = std::get_if<in::Unresolved>(&event)) {
    if (const auto ours = take_request(unresolved->id)) {
      to_owner(*ours, gateways::SisUnresolved{ours->id});
    }
  }
}

void IpService::to_both(const gateways::SisEvent& event) {
  to_core(event);
  if (proxy_) proxy_->on_sis(event);
}

void IpService::to_owner(const Request& request, const gateways::SisEvent& event) {
  if (!request.proxy) return to_core(event);
  proxy_->on_sis(event);
}

std::optional<IpService::Request> IpService::take_request(sis::RequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return std::nullopt;
  const Request ours = found->second;
  requests_.erase(found);
  return ours;
}

void IpService::to_core(const gateways::SisEvent& event) {
  core_->on_sis(now(), event);
  drain();
}

void IpService::drain() {
  if (std::exchange(draining_, true)) return;  // a client may report while it takes a request
  for (steps_.begin();; steps_.count()) {
    if (auto action = core_->poll_action()) {
      std::visit([this](auto& value) { carry_out(std::move(value)); }, *action);
    } else if (!refused_.empty()) {
      const gateways::SisEvent refused = refused_.front();
      refused_.pop_front();
      core_->on_sis(now(), refused);
    } else {
      break;
    }
  }
  draining_ = false;
  arm_timer();
}

void IpService::carry_out(const IpEvent& event) {
  LogLine line(log_, level_of(event.kind), to_string(event.kind));
  if (event.station.value != 0) put_station(line, "station", event.station, config_.book);
  if (!event.detail.empty()) line.kv("detail", std::string_view(event.detail));
}

void IpService::carry_out(const IpClientCore::ToInterface& datagram) {
  if (!device_ || !device_->write(datagram.octets)) core_->on_interface_refused();
}

void IpService::carry_out(gateways::SisUnidata updu) {
  send(std::move(updu), false);
}

void IpService::send(gateways::SisUnidata updu, bool proxy) {
  const auto accepted = client_->request_unidata({.priority = updu.priority,
                                                  .destination_sap = updu.destination_sap,
                                                  .destination = updu.destination,
                                                  .delivery = updu.delivery,
                                                  .time_to_live = (updu.time_to_live_s + 1) / 2,
                                                  .updu = std::move(updu.updu)});
  if (accepted) {
    requests_[*accepted] = {proxy, updu.id};
    return;
  }
  LogLine(log_, LogLevel::warning, "request_refused").kv("reason", to_string(accepted.error()));
  const gateways::SisEvent refused = gateways::SisUnresolved{updu.id};
  if (!proxy) {
    refused_.push_back(refused);
    return;
  }
  asio::post(host_.io(), [this, refused] {
    if (!stopping_) proxy_->on_sis(refused);
  });
}

void IpService::arm_timer() {
  timer_.cancel();
  const auto next = core_->next_deadline();
  if (!next || stopping_) return;
  timer_.expires_at(started_ + next->time_since_epoch());
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    core_->on_deadline(now());
    drain();
  });
}

// --- The operator --------------------------------------------------------------------------------

void IpService::add_verbs() {
  host_.verbs().name_stations(config_.book);
  const auto add = [this](const control::VerbInfo& verb,
                          std::function<Result<std::string>()> answer) {
    host_.verbs().add(verb, [answer](const control::Words& words) -> control::VerbTable::Answer {
      if (!words.empty()) return std::nullopt;
      return answer();
    });
  };
  add(kStatusVerb, [this] { return Result<std::string>(status()); });
  add(kTableVerb,
      [this] { return Result<std::string>(control::answer_json(ip_table(core_->routes()))); });
  add(kFlowsVerb, [this] {
    proto::IpFlows flows = ip_flows(*core_, now());
    if (proxy_) add_streams(*proxy_, flows);
    return Result<std::string>(control::answer_json(std::move(flows)));
  });
  add(kQueueVerb,
      [this] { return Result<std::string>(control::answer_json(ip_queue(*core_, now()))); });
  add(kReloadVerb, [this] { return reload(); });
}

std::string IpService::status() {
  proto::IpStatus status = ip_status(*core_);
  *status.mutable_program() = host_.program();
  status.set_interface(config_.interface);
  status.set_interface_present(device_.has_value());
  if (proxy_) *status.mutable_proxy() = ip_proxy(*proxy_);
  return control::answer_json(std::move(status));
}

CounterRows IpService::counters() const {
  CounterRows rows;
  core_->list(rows);
  client_->counters().list(rows);
  if (proxy_) proxy_->list(rows);
  return rows;
}

}  // namespace s5066::ip_client
