// SPDX-License-Identifier: Apache-2.0
// The running IP client. It connects IpClientCore with the TUN interface, the SIS client, a control
// socket and a timer, on one io_context. All decisions are in the core.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/common/node_time_asker.h"
#include "gateways/common/service_host.h"
#include "gateways/ip_client/ip_client_core.h"
#include "gateways/ip_client/ip_config.h"
#include "gateways/ip_client/tcp_proxy.h"
#include "gateways/ip_client/tun_device.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/base/step_limit.h"
#include "sis/client.h"

namespace s5066::ip_client {

/// Requests of operators.
extern const control::VerbInfo kStatusVerb;
extern const control::VerbInfo kTableVerb;
extern const control::VerbInfo kFlowsVerb;
extern const control::VerbInfo kQueueVerb;
extern const control::VerbInfo kReloadVerb;

/// The result of reading the configuration again.
struct Reloaded {
  std::optional<IpConfig> config;
  std::vector<std::string> problems;  // each with file:line:column
};

class IpService {
 public:
  using Reload = std::function<Reloaded()>;

  IpService(const IpConfig& config, Reload reload, LogSink& log);
  ~IpService();

  /// Serves until SIGINT or SIGTERM. SIGHUP reads the table again. Returns an error if the service
  /// cannot start.
  Result<void> run();
  /// Does the first part of run(), for tests. The test then runs io().
  Result<void> start();
  boost::asio::io_context& io() { return host_.io(); }
  /// Answers one request of an operator, for tests.
  Result<std::string> answer(std::string_view request) { return host_.verbs().answer(request); }
  /// Returns the counters of all parts of the process, after start().
  CounterRows counters() const;

 private:
  void stop();
  Instant now() const;
  void add_verbs();
  std::string status();
  Result<std::string> reload();

  Result<void> open_interface();
  void lose_interface(const Error& why);
  void retry_interface();
  void set_kernel_routes();
  void wait_for_datagrams();
  void read_datagrams();
  void look_for_proxy(ByteSpan octets);

  void on_sis(const sis::Event& event);
  void to_core(const gateways::SisEvent& event);
  void to_both(const gateways::SisEvent& event);
  /// A request of the proxy or of the core for datagrams.
  struct Request {
    bool proxy = false;
    gateways::SisRequestId id;
  };
  void to_owner(const Request& request, const gateways::SisEvent& event);
  std::optional<Request> take_request(sis::RequestId id);
  void send(gateways::SisUnidata updu, bool proxy);
  void drain();
  void carry_out(const IpEvent& event);
  void carry_out(const IpClientCore::ToInterface& datagram);
  void carry_out(gateways::SisUnidata updu);
  void arm_timer();

  IpConfig config_;
  Reload reload_;
  gateways::ServiceHost host_;
  LogSink& log_;
  boost::asio::steady_timer timer_{host_.io()};
  boost::asio::steady_timer interface_timer_{host_.io()};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::optional<IpClientCore> core_;  // set by start()
  StepLimit steps_;
  bool draining_ = false;
  bool stopping_ = false;
  std::optional<TunDevice> device_;  // present while the interface exists
  std::optional<boost::asio::posix::stream_descriptor> readable_;
  std::vector<IpPrefix> kernel_routes_;     // routes that we have added
  std::deque<gateways::SisEvent> refused_;  // reports on requests that the client did not take
  std::map<sis::RequestId, Request> requests_;
  std::unique_ptr<TcpProxy> proxy_;  // present if the proxy is enabled
  std::unique_ptr<sis::Client> client_;
  std::optional<gateways::NodeTimeAsker> node_;  // present if the node is asked for its rate
};

}  // namespace s5066::ip_client
