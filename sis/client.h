// A SIS client on a Boost.Asio io_context: ClientCore with a TCP socket and a timer (F.16).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "s5066d/base/result.h"
#include "sis/client_core.h"
#include "sis/client_events.h"
#include "sis/primitives.h"

namespace boost::asio {
class io_context;
}

namespace s5066::sis {

/// Use it only on the thread that runs the io_context; the handler is called there, too, and may
/// call any method but the destructor. After the destructor no handler runs any more.
class Client {
 public:
  struct Config {
    std::string host = "localhost";
    std::uint16_t port = kDefaultPort;
    ClientCore::Config core{};
  };
  using OnEvent = std::function<void(const Event&)>;

  /// `seed` spreads the retries of many clients.
  Client(boost::asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// See the methods of the same name in ClientCore. stop() lets what is being written leave;
  /// when all is closed, nothing of the client keeps the io_context running.
  void start();
  void stop();
  Result<RequestId> request_unidata(UnidataRequest request);

  bool bound() const;
  bool stopped() const;
  const ClientCore::Stats& stats() const;

 private:
  class Shell;
  std::shared_ptr<Shell> shell_;
};

}  // namespace s5066::sis
