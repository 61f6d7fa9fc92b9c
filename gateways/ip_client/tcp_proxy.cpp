// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/tcp_proxy.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "gateways/ip_client/net_link.h"

namespace s5066::ip_client {

namespace asio = boost::asio;
using boost::system::error_code;
using streams::ResetCode;
using streams::StreamEvent;

namespace {

constexpr std::size_t kStepsMax = 1'000'000;
constexpr std::chrono::seconds kAcceptRetry{1};
constexpr Duration kRefusedLogInterval = std::chrono::minutes(1);
constexpr std::size_t kAddressesMax = 8;  // limit for the addresses of one name that are tried
constexpr int kBacklog = 128;

IpAddress ip_of(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return ip_of(asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()));
  }
  if (address.is_v4()) return IpAddress::read(false, address.to_v4().to_bytes());
  return IpAddress::read(true, address.to_v6().to_bytes());
}

LogLevel level_of(StreamEvent::Kind kind) {
  switch (kind) {
    case StreamEvent::Kind::peer_capable:
    case StreamEvent::Kind::peer_incapable:
    case StreamEvent::Kind::peer_answering:
      return LogLevel::info;
    default:
      return LogLevel::warning;
  }
}

streams::StreamsConfig core_config(const ProxyConfig& config) {
  streams::StreamsConfig core;
  core.compress = config.compress;
  core.streams_max = config.streams_max;
  core.priority = config.priority;
  core.interactive_priority = config.interactive_priority;
  return core;
}

}  // namespace

/// A connection to a server that a far end wants, until it is made.
struct TcpProxy::Dial {
  explicit Dial(asio::io_context& io) : resolver(io), socket(io), timer(io) {}
  streams::StreamId id;
  streams::Target target;
  Tcp::resolver resolver;
  Tcp::socket socket;
  asio::steady_timer timer;
  std::chrono::steady_clock::time_point until{};
  std::uint64_t attempt = 0;             // number of the address that is tried
  std::vector<Tcp::endpoint> addresses;  // addresses to be tried, beginning with the last
  std::vector<Bytes> early;              // octets from the far end; the stream bounds them
  bool ended = false;
  bool over = false;
};

TcpProxy::TcpProxy(asio::io_context& io, const ProxyConfig& config, std::string interface,
                   Hooks hooks, std::uint64_t seed, LogSink& log)
    : io_(io),
      config_(config),
      interface_(std::move(interface)),
      hooks_(std::move(hooks)),
      log_(log),
      core_(core_config(config), seed),
      loop_(io, core_,
            {.now = [this] { return now(); },
             .carry_out =
                 [this](streams::Action& action) {
                   std::visit([this](auto& one) { carry_out(one); }, action);
                 }},
            StepLimit("the loop of TcpProxy ends", kStepsMax)),
      rules_(interface_),
      rules_retry_(io),
      socks_retry_(io),
      v4_retry_(io),
      v6_retry_(io) {
  make_hooks();
  if (!config_.dns.address.empty()) make_dns_stub(seed);
}

TcpProxy::~TcpProxy() = default;

Instant TcpProxy::now() const {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started_));
}

void TcpProxy::list(CounterRows& rows) const {
  CounterSet<ProxyCounter> counters = counters_;
  counters.set(ProxyCounter::connections, connections_.size());
  counters.list(rows);
  core_.counters().list(rows);
  if (dns_) dns_->list(rows);
}

// --- Start and stop ------------------------------------------------------------------------------

void TcpProxy::start() {
  if (config_.socks_port != 0) open_socks();
  if (config_.transparent) open_transparent();
  if (dns_) dns_->start();
}

void TcpProxy::stop() {
  stopping_ = true;
  loop_.stop();
  rules_retry_.cancel();
  for (auto* timer : {&socks_retry_, &v4_retry_, &v6_retry_}) timer->cancel();
  error_code ignored;
  for (auto* acceptor : {&socks_, &transparent_v4_, &transparent_v6_}) {
    if (*acceptor) (*acceptor)->close(ignored);
  }
  for (const auto& [id, dial] : dials_) {
    dial->over = true;
    dial->resolver.cancel();
    dial->socket.close(ignored);
    dial->timer.cancel();
  }
  dials_.clear();
  if (dns_) dns_->stop();
  far_questions_.clear();
  // The connections are reset, so that applications see that the waiting octets are lost.
  for (const Connection& connection : connections_) connection->close(true);
  connections_.clear();
  by_stream_.clear();
  rules_.remove();
}

void TcpProxy::open_socks() {
  error_code error;
  const auto address = asio::ip::make_address(config_.socks_address, error);
  const Tcp::endpoint endpoint(address, config_.socks_port);
  Tcp::acceptor acceptor(io_);
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) {
    LogLine(log_, LogLevel::error, "socks_unavailable")
        .kv("address", std::string_view(config_.socks_address))
        .kv("port", unsigned{config_.socks_port})
        .kv("reason", std::string_view(error.message()));
    return;
  }
  LogLine(log_, LogLevel::info, "socks_open")
      .kv("address", std::string_view(config_.socks_address))
      .kv("port", unsigned{config_.socks_port});
  socks_.emplace(std::move(acceptor));
  accept(*socks_, socks_retry_, false);
}

/// Opens a listener that accepts connections to any address, on the loopback interface only.
std::optional<TcpProxy::Tcp::acceptor> TcpProxy::transparent_listener(bool v6) {
  const asio::ip::address loopback = v6 ? asio::ip::address(asio::ip::address_v6::loopback())
                                        : asio::ip::address(asio::ip::address_v4::loopback());
  const Tcp::endpoint endpoint(loopback, 0);
  Tcp::acceptor acceptor(io_);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  const int on = 1;
  if (!error && ::setsockopt(acceptor.native_handle(), v6 ? SOL_IPV6 : SOL_IP,
                             v6 ? IPV6_TRANSPARENT : IP_TRANSPARENT, &on, sizeof on) != 0) {
    error = error_code(errno, boost::system::system_category());
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (!error) return acceptor;
  if (!v6) {
    transparent_state_ = "off: " + error.message();
    LogLine(log_, LogLevel::error, "interception_unavailable")
        .kv("reason", std::string_view(error.message()));
  }
  return std::nullopt;
}

void TcpProxy::open_transparent() {
  transparent_v4_ = transparent_listener(false);
  if (!transparent_v4_) return;
  transparent_state_ = "waits for a station with a proxy";
  accept(*transparent_v4_, v4_retry_, true);
  transparent_v6_ = transparent_listener(true);
  if (transparent_v6_) accept(*transparent_v6_, v6_retry_, true);
  set_rules();  // shows at once whether the host allows the rules
}

/// Sets the rules so that connections to stations with a proxy come to our listeners, and no
/// others. If a prefix of a station without a proxy is inside a wider prefix of a station with one,
/// its connections are not intercepted.
void TcpProxy::set_rules() {
  if (!transparent_v4_ || stopping_) return;
  TproxyPlan plan{.interface = interface_};
  error_code ignored;
  plan.port_v4 = transparent_v4_->local_endpoint(ignored).port();
  if (transparent_v6_) plan.port_v6 = transparent_v6_->local_endpoint(ignored).port();
  plan.prefixes = hooks_.routes().prefixes_where([this](const Route& route) {
    if (route.station.group || route.prefix.address.is_multicast()) return false;
    return core_.capability(now(), route.station) == streams::Capability::capable;
  });
  const auto done = hooks_.set_rules ? hooks_.set_rules(plan) : rules_.set(plan);
  rules_retry_.cancel();
  if (!done) {
    rules_retry_.expires_after(config_.rules_retry);
    rules_retry_.async_wait([this](error_code cancelled) {
      if (!cancelled) set_rules();
    });
  }
  const std::string state = !done                   ? "off: " + done.error().detail
                            : plan.prefixes.empty() ? "waits for a station with a proxy"
                                                    : "on";
  if (state == transparent_state_) return;
  transparent_state_ = state;
  if (!done) {
    LogLine(log_, LogLevel::error, "interception_unavailable").kv("reason", done.error().detail);
  } else {
    LogLine(log_, LogLevel::info, "interception").kv("state", std::string_view(state));
  }
}

// --- Connections of this side --------------------------------------------------------------------

void TcpProxy::make_hooks() {
  connection_hooks_ = {
      .requested = [this](const Connection& one) { requested(one); },
      .nonsense =
          [this](const Connection& one) {
            counters_.add(ProxyCounter::socks_errors);
            one->end();
          },
      .ready = [this](const Connection& one) { open_stream(one); },
      .read = [this](const Connection& one, ByteSpan octets) -> std::size_t {
        if (!one->stream) return 0;
        const std::size_t taken = core_.request_write(now(), *one->stream, octets);
        loop_.run();
        return taken;
      },
      .read_end =
          [this](const Connection& one) {
            if (one->stream) core_.request_finish(now(), *one->stream);
            loop_.run();
          },
      .written =
          [this](const Connection& one, std::size_t octets) {
            core_.request_consumed(now(), *one->stream, octets);
            loop_.run();
          },
      .over = [this](const Connection& one, bool failed) { over(one, failed); },
  };
}

void TcpProxy::accept(Tcp::acceptor& acceptor, asio::steady_timer& retry, bool intercepted) {
  acceptor.async_accept(
      [this, &acceptor, &retry, intercepted](error_code error, Tcp::socket socket) {
        if (stopping_ || error == asio::error::operation_aborted) return;
        if (!error) {
          accepted(std::move(socket), intercepted);
          return accept(acceptor, retry, intercepted);
        }
        // No file descriptors are left. Descriptors become free when connections end.
        retry.expires_after(kAcceptRetry);
        retry.async_wait([this, &acceptor, &retry, intercepted](error_code cancelled) {
          if (!cancelled && !stopping_) accept(acceptor, retry, intercepted);
        });
      });
}

void TcpProxy::accepted(Tcp::socket socket, bool intercepted) {
  counters_.add(intercepted ? ProxyCounter::intercepted : ProxyCounter::socks_accepted);
  if (connections_.size() >= config_.streams_max) {
    counters_.add(ProxyCounter::refused_limit);
    log_refused("as many connections as proxy.streams_max allows are open");
    error_code ignored;
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
    return;
  }
  error_code error;
  const auto server = socket.local_endpoint(error);
  auto connection = std::make_shared<ProxyConnection>(std::move(socket), connection_hooks_);
  connections_.insert(connection);
  if (!intercepted) return connection->serve_socks();
  const IpAddress address = error ? IpAddress() : ip_of(server.address());
  if (error || !station_for(to_string(address))) {
    // A connection to the address of the listener itself comes here.
    counters_.add(ProxyCounter::no_station);
    connection->close(true);
    connections_.erase(connection);
    return;
  }
  connection->serve_intercepted({to_string(address), server.port()});
}

/// Logs at most one line a minute. The counters count all refusals.
void TcpProxy::log_refused(std::string_view reason) {
  if (refused_logged_at_ && now() < *refused_logged_at_ + kRefusedLogInterval) return;
  refused_logged_at_ = now();
  LogLine(log_, LogLevel::warning, "connection_refused").kv("reason", reason);
}

/// Returns the station that resolves names. The configured station comes first, then the next hop
/// of the default route, then the only station of the table.
std::optional<Address> TcpProxy::station_of_names() const {
  if (config_.name_station) return config_.name_station;
  std::optional<Address> only;
  for (const Route& route : hooks_.routes().routes()) {
    if (route.station.group) continue;
    if (route.prefix.bits == 0) return route.station;
    if (only && *only != route.station) return std::nullopt;
    only = route.station;
  }
  return only;
}

std::optional<Address> TcpProxy::station_for(const std::string& host) const {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) return station_of_names();
  const Route* const route = hooks_.routes().find(ip_of(address));
  if (route == nullptr || route->station.group) return std::nullopt;
  return route->station;
}

void TcpProxy::requested(const Connection& connection) {
  const auto station = station_for(connection->target().host);
  if (!station) {
    counters_.add(ProxyCounter::no_station);
    return connection->refuse(Socks5::Reply::network_unreachable);
  }
  if (core_.capability(now(), *station) == streams::Capability::incapable) {
    counters_.add(ProxyCounter::no_station);
    return connection->refuse(Socks5::Reply::host_unreachable);
  }
  connection->admit();
}

void TcpProxy::open_stream(const Connection& connection) {
  const auto station = station_for(connection->target().host);
  auto opened = station ? core_.request_open(now(), *station, connection->target())
                        : Result<streams::StreamId>(Error{ErrorCode::not_found, "no station"});
  if (!opened) {
    counters_.add(ProxyCounter::no_station);
    log_refused(opened.error().detail);
    connection->close(true);
    return forget(connection);
  }
  connection->stream = *opened;
  by_stream_[*opened] = connection;
  // The loop runs later, so that the first octets are written before the core makes a U_PDU.
  asio::post(io_, [this] { loop_.run(); });
}

void TcpProxy::over(const Connection& connection, bool failed) {
  if (failed && connection->stream) {
    core_.request_reset(now(), *connection->stream, ResetCode::by_application);
  }
  forget(connection);
  loop_.run();
}

void TcpProxy::forget(const Connection& connection) {
  const Connection kept = connection;
  if (kept->stream) {
    by_stream_.erase(*kept->stream);
    far_questions_.erase(*kept->stream);
  }
  connections_.erase(kept);
}

// --- DNS -----------------------------------------------------------------------------------------

void TcpProxy::make_dns_stub(std::uint64_t seed) {
  dns_ = std::make_unique<DnsStub>(
      io_, config_.dns,
      DnsStub::Hooks{.now = [this] { return now(); },
                     .open = [this](ByteSpan question) { return ask_far_resolver(question); },
                     .close =
                         [this](streams::StreamId id) {
                           core_.request_reset(now(), id, ResetCode::by_application);
                           loop_.run();
                         }},
      seed, log_);
}

std::optional<streams::StreamId> TcpProxy::ask_far_resolver(ByteSpan question) {
  const auto station = station_of_names();
  if (!station) {
    log_refused("no station resolves names; set name_station");
    return std::nullopt;
  }
  // Compression does not help for so few octets.
  const auto opened = core_.request_open(now(), *station, kFarResolver, false);
  if (!opened) return std::nullopt;
  core_.request_write(now(), *opened, question);
  asio::post(io_, [this] { loop_.run(); });
  return *opened;
}

/// Connects a stream of the far end to the resolver of this host. A resolver with the address of
/// our own stub is left out, because it would ask by radio.
void TcpProxy::dial_resolver(const std::shared_ptr<Dial>& dial) {
  if (!config_.dns.answer) return not_allowed(dial, "dns.answer is false");
  const auto resolvers =
      config_.dns.resolver ? std::vector{*config_.dns.resolver} : hooks_.resolvers();
  for (const IpAddress& resolver : resolvers) {
    const auto address = asio::ip::make_address(to_string(resolver));
    if (is_own_listener(ip_of(address), config_.dns.resolver_port)) continue;
    dial->addresses.emplace_back(address, config_.dns.resolver_port);
  }
  std::reverse(dial->addresses.begin(), dial->addresses.end());
  if (dial->addresses.empty()) {
    return not_allowed(dial, "the only resolver is the stub itself; set dns.resolver");
  }
  counters_.add(ProxyCounter::dns_served);
  far_questions_.emplace(dial->id, DnsFrames(kDnsQuestionOctetsMax));
  connect_next(dial);
}

/// Returns false if a far end sends octets to our resolver that are not DNS questions.
bool TcpProxy::is_valid_question(streams::StreamId id, ByteSpan octets) {
  const auto found = far_questions_.find(id);
  if (found == far_questions_.end()) return true;
  DnsFrames& frames = found->second;
  frames.on_octets(octets);
  while (const auto message = frames.poll_message()) {
    if (!parse_dns_question(*message)) return false;
  }
  return !frames.failed();
}

void TcpProxy::refuse_questions(streams::StreamId id) {
  counters_.add(ProxyCounter::dns_refused);
  far_questions_.erase(id);
  if (const auto dial = dials_.find(id); dial != dials_.end()) {
    return dial_failed(dial->second, ResetCode::protocol_error);
  }
  if (const auto found = by_stream_.find(id); found != by_stream_.end()) {
    const Connection connection = found->second;
    connection->close(true);
    forget(connection);
  }
  core_.request_reset(now(), id, ResetCode::protocol_error);
}

// --- The core ------------------------------------------------------------------------------------

void TcpProxy::on_sis(const gateways::SisEvent& event) {
  core_.on_sis(now(), event);
  loop_.run();
}

void TcpProxy::on_connection_by_ip(Address station) {
  if (core_.capability(now(), station) != streams::Capability::unknown) return;
  core_.request_discovery(now(), station);
  loop_.run();
}

void TcpProxy::carry_out(const StreamEvent& event) {
  LogLine line(log_, level_of(event.kind), to_string(event.kind));
  line.kv("station", to_string(event.station));
  if (!event.detail.empty()) line.kv("detail", std::string_view(event.detail));
  if (event.kind == StreamEvent::Kind::peer_capable ||
      event.kind == StreamEvent::Kind::peer_incapable ||
      event.kind == StreamEvent::Kind::peer_given_up) {
    set_rules();
  }
}

void TcpProxy::carry_out(streams::Arrived& arrived) {
  if (dns_ && dns_->on_octets(arrived.id, arrived.octets)) {
    return core_.request_consumed(now(), arrived.id, arrived.octets.size());
  }
  if (!is_valid_question(arrived.id, arrived.octets)) return refuse_questions(arrived.id);
  if (const auto found = by_stream_.find(arrived.id); found != by_stream_.end()) {
    found->second->write(std::move(arrived.octets));
  } else if (const auto dial = dials_.find(arrived.id); dial != dials_.end()) {
    dial->second->early.push_back(std::move(arrived.octets));
  }
}

void TcpProxy::carry_out(const streams::Ended& ended) {
  if (dns_ && dns_->on_over(ended.id)) return;
  if (const auto found = by_stream_.find(ended.id); found != by_stream_.end()) {
    const Connection connection = found->second;
    connection->write_end();
  } else if (const auto dial = dials_.find(ended.id); dial != dials_.end()) {
    dial->second->ended = true;
  }
}

void TcpProxy::carry_out(const streams::Reset& reset) {
  if (dns_ && dns_->on_over(reset.id)) return;
  // The far end ends each question that has its answer by a reset.
  const bool question = far_questions_.erase(reset.id) > 0;
  if (const auto found = by_stream_.find(reset.id); found != by_stream_.end()) {
    const Connection connection = found->second;
    if (!question) {
      LogLine(log_, LogLevel::info, "stream_reset")
          .kv("server", std::string_view(connection->target().host))
          .kv("reason", to_string(reset.code));
    }
    connection->close(true);
    forget(connection);
  } else if (const auto dial = dials_.find(reset.id); dial != dials_.end()) {
    dial_failed(dial->second, ResetCode::by_application);
  }
}

void TcpProxy::carry_out(const streams::Writable& writable) {
  const auto found = by_stream_.find(writable.id);
  if (found == by_stream_.end()) return;
  const Connection connection = found->second;
  connection->on_writable();
}

void TcpProxy::carry_out(gateways::SisUnidata& unidata) {
  hooks_.send(std::move(unidata));
}

// --- Connections to servers ----------------------------------------------------------------------

std::vector<TcpProxy::Tcp::endpoint> TcpProxy::listeners() const {
  std::vector<Tcp::endpoint> found;
  for (const auto* const acceptor : {&socks_, &transparent_v4_, &transparent_v6_}) {
    if (!*acceptor) continue;
    error_code error;
    const auto endpoint = (*acceptor)->local_endpoint(error);
    if (!error) found.push_back(endpoint);
  }
  const auto dns = dns_ ? dns_->endpoint() : std::nullopt;
  if (dns) found.push_back(*dns);
  return found;
}

/// Returns true if the address and port reach one of our listeners. A far end must not reach them,
/// because it could then use the radio as an application of this host can.
bool TcpProxy::is_own_listener(const IpAddress& address, std::uint16_t port) const {
  const auto reaches = [&](const Tcp::endpoint& listener) {
    if (listener.port() != port) return false;
    const IpAddress at = ip_of(listener.address());
    // The kernel connects to loopback if the address of a server is unspecified.
    if (!at.is_unspecified())
      return at == address || (address.is_unspecified() && at.is_loopback());
    if (address.is_loopback() || address.is_unspecified()) return true;
    const auto own = addresses_of_host();
    return std::find(own.begin(), own.end(), address) != own.end();
  };
  const auto all = listeners();
  return std::any_of(all.begin(), all.end(), reaches);
}

bool TcpProxy::allowed(const IpAddress& address, std::uint16_t port) const {
  if (is_own_listener(address, port)) return false;
  return std::any_of(config_.allow.begin(), config_.allow.end(), [&](const ProxyAllow& rule) {
    return rule.prefix.contains(address) && (!rule.port || *rule.port == port);
  });
}

void TcpProxy::carry_out(const streams::Opened& opened) {
  auto dial = std::make_shared<Dial>(io_);
  dial->id = opened.id;
  dial->target = opened.target;
  dials_[opened.id] = dial;
  if (connections_.size() + dials_.size() > config_.streams_max) {
    counters_.add(ProxyCounter::refused_limit);
    return dial_failed(dial, ResetCode::limit);
  }
  dial->until = std::chrono::steady_clock::now() + config_.connect_time;
  dial->timer.expires_at(dial->until);
  dial->timer.async_wait([this, dial](error_code error) {
    if (!error && !dial->over && dial->attempt == 0) dial_failed(dial, ResetCode::unreachable);
  });
  if (opened.target == kFarResolver) return dial_resolver(dial);
  error_code error;
  const auto address = asio::ip::make_address(opened.target.host, error);
  if (!error) {
    dial->addresses = {Tcp::endpoint(address, opened.target.port)};
    return resolved(dial);
  }
  dial->resolver.async_resolve(
      opened.target.host, std::to_string(opened.target.port), Tcp::resolver::numeric_service,
      [this, dial](error_code failed, const Tcp::resolver::results_type& results) {
        if (dial->over) return;
        if (failed) return dial_failed(dial, ResetCode::unreachable);
        for (const auto& result : results) {
          if (dial->addresses.size() == kAddressesMax) break;
          dial->addresses.push_back(result.endpoint());
        }
        std::reverse(dial->addresses.begin(), dial->addresses.end());
        resolved(dial);
      });
}

void TcpProxy::resolved(const std::shared_ptr<Dial>& dial) {
  std::erase_if(dial->addresses, [&](const Tcp::endpoint& endpoint) {
    return !allowed(ip_of(endpoint.address()), endpoint.port());
  });
  if (!dial->addresses.empty()) return connect_next(dial);
  not_allowed(dial, "`allow` lacks it");
}

void TcpProxy::not_allowed(const std::shared_ptr<Dial>& dial, std::string_view reason) {
  counters_.add(ProxyCounter::not_allowed);
  LogLine(log_, LogLevel::warning, "server_not_allowed")
      .kv("server", std::string_view(dial->target.host))
      .kv("port", unsigned{dial->target.port})
      .kv("reason", reason);
  dial_failed(dial, ResetCode::not_allowed);
}

/// Tries the next address. Each address gets an equal part of the time that is left.
void TcpProxy::connect_next(const std::shared_ptr<Dial>& dial) {
  const std::uint64_t attempt = ++dial->attempt;
  const auto left = dial->until - std::chrono::steady_clock::now();
  dial->timer.expires_after(left / static_cast<int>(dial->addresses.size()));
  dial->timer.async_wait([this, dial, attempt](error_code cancelled) {
    if (cancelled || dial->over || attempt != dial->attempt) return;
    if (!dial->addresses.empty()) return connect_next(dial);
    counters_.add(ProxyCounter::connect_failed);
    dial_failed(dial, ResetCode::unreachable);
  });
  const Tcp::endpoint endpoint = dial->addresses.back();
  dial->addresses.pop_back();
  error_code ignored;
  dial->socket.close(ignored);
  dial->socket.async_connect(endpoint, [this, dial, attempt](error_code error) {
    if (dial->over || attempt != dial->attempt) return;
    if (!error) return connected(dial);
    if (!dial->addresses.empty()) return connect_next(dial);
    counters_.add(ProxyCounter::connect_failed);
    const bool refused = error == asio::error::connection_refused;
    dial_failed(dial, refused ? ResetCode::refused : ResetCode::unreachable);
  });
}

void TcpProxy::connected(const std::shared_ptr<Dial>& dial) {
  dial->over = true;
  dial->timer.cancel();
  counters_.add(ProxyCounter::connected);
  auto connection = std::make_shared<ProxyConnection>(std::move(dial->socket), connection_hooks_);
  connection->stream = dial->id;
  connections_.insert(connection);
  by_stream_[dial->id] = connection;
  dials_.erase(dial->id);
  for (Bytes& octets : dial->early) connection->write(std::move(octets));
  if (dial->ended) connection->write_end();
  connection->serve_connected();
}

/// Resets the stream and forgets the server.
void TcpProxy::dial_failed(const std::shared_ptr<Dial>& dial, ResetCode code) {
  const std::shared_ptr<Dial> kept = dial;
  kept->over = true;
  kept->timer.cancel();
  kept->resolver.cancel();
  error_code ignored;
  kept->socket.close(ignored);
  dials_.erase(kept->id);
  far_questions_.erase(kept->id);
  core_.request_reset(now(), kept->id, code);
  loop_.run();
}

}  // namespace s5066::ip_client
