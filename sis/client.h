// SPDX-License-Identifier: Apache-2.0
// A SIS client on a Boost.Asio io_context: ClientCore with a timer and a TCP socket, with TLS if
// configured, or a local socket (F.16).
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "s5066d/base/result.h"
#include "sis/client_core.h"
#include "sis/client_events.h"
#include "sis/primitives.h"
#include "sis/send_outcome.h"

namespace s5066::sis {

/// Use it only on the thread that runs the io_context. Handlers are called there, too, and may call
/// any method except the destructor. After the destructor no handler is called.
///
/// A handler of async_send() that is bound to another executor is passed to that one instead, with
/// its outcome. It must not call the client from another thread, and one that was passed on before
/// the destructor still runs after it.
class Client {
 public:
  /// The server must prove its identity; the client proves its own if it has a certificate.
  struct Tls {
    std::string ca_file{};           // PEM; empty: the authorities that the system trusts
    std::string certificate_file{};  // PEM chain, ours first; empty: none
    std::string key_file{};          // PEM; empty: it is in certificate_file
    std::string server_name{};       // name in the server's certificate; empty: the host
  };
  struct Config {
    // A name, an address, or the path of a local socket, which contains a /.
    std::string host = "localhost";
    std::uint16_t port = kDefaultPort;
    std::optional<Tls> tls{};  // files are read again for each connection
    ClientCore::Config core{};
  };
  using OnEvent = std::function<void(const Event&)>;

  /// `seed` spreads the retries of many clients.
  Client(boost::asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// See the methods of the same name in ClientCore. After stop(), written octets still leave, and
  /// the connection is closed when the server has closed its side, each within `stop_timeout`. Then
  /// nothing of the client keeps the io_context running.
  void start();
  void stop();

  /// Sends a UnidataRequest, an ExpeditedUnidataRequest or a ManagementRequest. The handler takes
  /// one SendOutcome; it may be any completion token of Asio. It gets the end of the request
  /// instead of the event handler, and not before async_send() has returned.
  template <typename Request, typename CompletionToken>
  auto async_send(Request request, CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(SendOutcome)>(
        [this](auto handler, Request taken) {
          this->submit(std::move(taken), on_outcome(std::move(handler)));
        },
        token, std::move(request));
  }

  /// These do the same, each with an event at its end.
  Result<RequestId> request_unidata(UnidataRequest request);
  Result<RequestId> request_expedited(ExpeditedUnidataRequest request);
  Result<RequestId> request_management(ManagementRequest request);

  Result<void> request_hard_link(const HardLink& link);
  Result<void> request_hard_link_end(Address remote);
  Result<void> request_hard_link_accept(const HardLink& link);
  Result<void> request_hard_link_reject(const HardLink& link, std::uint8_t reason);

  bool bound() const;
  /// True if the client is closed or was never started.
  bool stopped() const;
  const CounterSet<ClientCounter>& counters() const;

 private:
  class Shell;
  using OnOutcome = std::function<void(SendOutcome)>;

  /// Wraps the handler for its executor. Handlers need not be copyable, but their holder is copied.
  template <typename Handler>
  OnOutcome on_outcome(Handler handler) {
    auto executor = boost::asio::get_associated_executor(handler, io_.get_executor());
    auto shared = std::make_shared<Handler>(std::move(handler));
    return [executor, shared](SendOutcome outcome) {
      boost::asio::dispatch(executor, [shared, outcome = std::move(outcome)]() mutable {
        (*shared)(std::move(outcome));
      });
    };
  }
  void submit(UnidataRequest request, OnOutcome on_outcome);
  void submit(ExpeditedUnidataRequest request, OnOutcome on_outcome);
  void submit(ManagementRequest request, OnOutcome on_outcome);

  boost::asio::io_context& io_;
  std::shared_ptr<Shell> shell_;
};

}  // namespace s5066::sis
