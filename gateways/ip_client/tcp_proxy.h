// SPDX-License-Identifier: Apache-2.0
// The TCP proxy. It serves SOCKS5 and intercepted connections on this side, and connects to servers
// for the far ends. StreamsCore carries the octets between the two ends. The IP client gives it the
// events of its SIS client and sends its U_PDUs.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/common/sis_port.h"
#include "gateways/ip_client/core_loop.h"
#include "gateways/ip_client/dns_frames.h"
#include "gateways/ip_client/dns_stub.h"
#include "gateways/ip_client/proxy_connection.h"
#include "gateways/ip_client/proxy_types.h"
#include "gateways/ip_client/resolver_list.h"
#include "gateways/ip_client/route_table.h"
#include "gateways/ip_client/tproxy_rules.h"
#include "gateways/streams/streams_core.h"
#include "s5066d/base/log.h"

namespace s5066::ip_client {

class TcpProxy {
 public:
  struct Hooks {
    std::function<void(gateways::SisUnidata)> send;
    /// Returns the table in use.
    std::function<const RouteTable&()> routes;
    /// Puts the rules of interception in force. If this function is empty, the proxy sets the rules
    /// of the kernel.
    std::function<Result<void>(const TproxyPlan&)> set_rules;
    /// Returns the resolvers for questions of far ends. Not used if the configuration names a
    /// resolver.
    std::function<std::vector<IpAddress>()> resolvers = resolvers_of_host;
  };

  TcpProxy(boost::asio::io_context& io, const ProxyConfig& config, std::string interface,
           Hooks hooks, std::uint64_t seed, LogSink& log);
  ~TcpProxy();

  /// Opens the listeners. A listener that cannot be opened is logged, and the others work.
  void start();
  void stop();

  void on_sis(const gateways::SisEvent& event);
  /// Call when the host opens a TCP connection through the interface and not through the proxy.
  void on_connection_by_ip(Address station);
  /// Call when the table has changed.
  void on_routes() { set_rules(); }

  const streams::StreamsCore& core() const { return core_; }
  Instant now() const;
  bool socks_open() const { return socks_.has_value(); }
  const std::string& transparent_state() const { return transparent_state_; }
  std::size_t connections() const { return connections_.size(); }
  void list(CounterRows& rows) const;

 private:
  using Tcp = boost::asio::ip::tcp;
  using Connection = ProxyConnection::Self;
  struct Dial;

  void make_hooks();
  void open_socks();
  void open_transparent();
  std::optional<Tcp::acceptor> transparent_listener(bool v6);
  void accept(Tcp::acceptor& acceptor, boost::asio::steady_timer& retry, bool intercepted);
  void accepted(Tcp::socket socket, bool intercepted);
  void set_rules();

  void requested(const Connection& connection);
  void open_stream(const Connection& connection);
  void over(const Connection& connection, bool failed);
  void forget(const Connection& connection);
  void log_refused(std::string_view reason);
  std::optional<Address> station_for(const std::string& host) const;
  std::optional<Address> station_of_names() const;

  // DNS by the far end, and for it.
  void make_dns_stub(std::uint64_t seed);
  std::optional<streams::StreamId> ask_far_resolver(ByteSpan question);
  void dial_resolver(const std::shared_ptr<Dial>& dial);
  bool is_valid_question(streams::StreamId id, ByteSpan octets);
  void refuse_questions(streams::StreamId id);

  // Actions of the core.
  void carry_out(const streams::StreamEvent& event);
  void carry_out(const streams::Opened& opened);
  void carry_out(streams::Arrived& arrived);
  void carry_out(const streams::Ended& ended);
  void carry_out(const streams::Reset& reset);
  void carry_out(const streams::Writable& writable);
  void carry_out(gateways::SisUnidata& unidata);

  // Connections to servers.
  void resolved(const std::shared_ptr<Dial>& dial);
  void not_allowed(const std::shared_ptr<Dial>& dial, std::string_view reason);
  void connect_next(const std::shared_ptr<Dial>& dial);
  void connected(const std::shared_ptr<Dial>& dial);
  void dial_failed(const std::shared_ptr<Dial>& dial, streams::ResetCode code);
  std::vector<Tcp::endpoint> listeners() const;
  bool is_own_listener(const IpAddress& address, std::uint16_t port) const;
  bool allowed(const IpAddress& address, std::uint16_t port) const;

  boost::asio::io_context& io_;
  ProxyConfig config_;
  std::string interface_;
  Hooks hooks_;
  LogSink& log_;
  streams::StreamsCore core_;
  CoreLoop<streams::StreamsCore> loop_;
  ProxyConnection::Hooks connection_hooks_;
  TproxyRules rules_;
  std::string transparent_state_ = "off";
  std::optional<Tcp::acceptor> socks_;
  std::optional<Tcp::acceptor> transparent_v4_;
  std::optional<Tcp::acceptor> transparent_v6_;
  boost::asio::steady_timer rules_retry_;
  // Each listener has its own timer, so that one listener does not cancel the wait of another.
  boost::asio::steady_timer socks_retry_;
  boost::asio::steady_timer v4_retry_;
  boost::asio::steady_timer v6_retry_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::set<Connection> connections_;
  std::map<streams::StreamId, Connection> by_stream_;
  std::map<streams::StreamId, std::shared_ptr<Dial>> dials_;
  std::unique_ptr<DnsStub> dns_;                          // present if dns.address is set
  std::map<streams::StreamId, DnsFrames> far_questions_;  // streams of far ends to our resolver
  CounterSet<ProxyCounter> counters_;
  std::optional<Instant> refused_logged_at_;
  bool stopping_ = false;
};

}  // namespace s5066::ip_client
