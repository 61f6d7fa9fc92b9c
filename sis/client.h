// A SIS client on a Boost.Asio io_context: ClientCore with a TCP socket, TLS if wanted, or a local
// socket, and a timer (F.16).
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

/// Use it only on the thread that runs the io_context; handlers are called there, too, and may call
/// any method but the destructor. After the destructor none is called any more.
///
/// A handler of async_send() that is bound to another executor is handed to that one instead, with
/// its outcome. It must not call the client from another thread, and one that was handed over
/// before the destructor still runs after it.
class Client {
 public:
  /// The server must prove who it is; the client does so with a certificate if it has one.
  struct Tls {
    std::string ca_file{};           // PEM; empty: the authorities that the system trusts
    std::string certificate_file{};  // PEM chain, ours first; empty: none
    std::string key_file{};          // PEM; empty: it is in certificate_file
    std::string server_name{};       // that the server's certificate must be for; empty: the host
  };
  struct Config {
    std::string host = "localhost";  // a name, an address, or the path of a local socket,
                                     // which is known by a / in it
    std::uint16_t port = kDefaultPort;
    std::optional<Tls> tls{};  // files are read anew for each connection
    ClientCore::Config core{};
  };
  using OnEvent = std::function<void(const Event&)>;

  /// `seed` spreads the retries of many clients.
  Client(boost::asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// See the methods of the same name in ClientCore. After stop(), what has been written leaves,
  /// and the connection is closed when the server has closed its side, each within `stop_timeout`;
  /// then nothing of the client keeps the io_context running.
  void start();
  void stop();

  /// Sends a UnidataRequest, an ExpeditedUnidataRequest or a ManagementRequest. The handler takes a
  /// SendOutcome, once; it may be any completion token of Asio. The end of the request is told to
  /// it instead of the event handler, and not before async_send() has returned.
  template <typename Request, typename CompletionToken>
  auto async_send(Request request, CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(SendOutcome)>(
        [this](auto handler, Request taken) {
          this->submit(std::move(taken), on_outcome(std::move(handler)));
        },
        token, std::move(request));
  }

  /// The same, each with an event at its end.
  Result<RequestId> request_unidata(UnidataRequest request);
  Result<RequestId> request_expedited(ExpeditedUnidataRequest request);
  Result<RequestId> request_management(ManagementRequest request);

  Result<void> request_hard_link(const HardLink& link);
  Result<void> request_hard_link_end(Address remote);
  Result<void> request_hard_link_accept(const HardLink& link);
  Result<void> request_hard_link_reject(const HardLink& link, std::uint8_t reason);

  bool bound() const;
  /// Closed, or never started.
  bool stopped() const;
  const ClientCore::Stats& stats() const;

 private:
  class Shell;
  using OnOutcome = std::function<void(SendOutcome)>;

  /// The handler on its executor. Handlers need not be copyable, but what holds them is copied.
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
