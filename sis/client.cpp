#include "sis/client.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

#include "s5066d/base/rng.h"

namespace s5066::sis {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kReadOctetsMax = 1 << 14;

/// One connection or the attempt at it. Handlers hold it, so that its buffers outlive them, and
/// compare it with the current one, so that an old connection is never heard again.
struct Connection {
  explicit Connection(asio::io_context& io) : resolver(io), socket(io) {}
  tcp::resolver resolver;
  tcp::socket socket;
  std::array<std::uint8_t, kReadOctetsMax> in{};
  Bytes out;
};

Error io_error(const error_code& code) {
  return Error{ErrorCode::io, code.message()};
}

Instant steady_now() {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

class Client::Shell : public std::enable_shared_from_this<Shell> {
 public:
  Shell(asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event)
      : io_(io),
        timer_(io),
        config_(config),
        rng_(seed),
        core_(config.core, rng_),
        on_event_(std::move(on_event)) {}

  void start() {
    core_.start(steady_now());
    drain();
  }

  void stop() {
    core_.stop(steady_now());
    drain();
  }

  Result<RequestId> request_unidata(UnidataRequest request) {
    auto result = core_.request_unidata(steady_now(), std::move(request));
    drain();
    return result;
  }

  void abandon() {
    on_event_ = nullptr;
    abandoned_ = true;
    timer_.cancel();
    disconnect();
  }

  const ClientCore& core() const { return core_; }

 private:
  using ConnectionPtr = std::shared_ptr<Connection>;

  bool current(const ConnectionPtr& connection) const { return connection == connection_; }

  /// The core's contract: carry out the actions, hand on the events, arm the timer. The handler of
  /// an event may call us; the outermost call drains what it causes.
  void drain() {
    if (draining_) return;
    draining_ = true;
    while (!abandoned_) {
      if (const auto action = core_.poll_action()) {
        std::visit([this](const auto& a) { perform(a); }, *action);
      } else if (const auto event = core_.poll_event()) {
        on_event_(*event);
      } else {
        break;
      }
    }
    draining_ = false;
    if (!abandoned_) arm_timer();
  }

  void arm_timer() {
    const auto deadline = core_.next_deadline();
    if (deadline == armed_for_) return;
    armed_for_ = deadline;
    timer_.cancel();
    if (!deadline) return;
    timer_.expires_at(std::chrono::steady_clock::time_point(deadline->time_since_epoch()));
    timer_.async_wait([self = shared_from_this()](const error_code& code) {
      if (code || self->abandoned_) return;
      self->armed_for_.reset();
      self->core_.on_deadline(steady_now());
      self->drain();
    });
  }

  void perform(const ClientCore::Connect&) {
    connection_ = std::make_shared<Connection>(io_);
    connection_->resolver.async_resolve(
        config_.host, std::to_string(config_.port),
        [self = shared_from_this(), connection = connection_](
            const error_code& code, const tcp::resolver::results_type& endpoints) {
          if (!self->current(connection)) return;
          if (code) return self->lost(code);
          self->connect(connection, endpoints);
        });
  }

  void connect(const ConnectionPtr& connection, const tcp::resolver::results_type& endpoints) {
    asio::async_connect(
        connection->socket, endpoints,
        [self = shared_from_this(), connection](const error_code& code, const tcp::endpoint&) {
          if (!self->current(connection)) return;
          if (code) return self->lost(code);
          self->connected(connection);
        });
  }

  void connected(const ConnectionPtr& connection) {
    error_code ignored;  // without them it works as well, only slower
    connection->socket.set_option(tcp::no_delay(true), ignored);
    connection->socket.set_option(asio::socket_base::keep_alive(true), ignored);
    core_.on_connected(steady_now());
    read(connection);
    drain();
  }

  void read(const ConnectionPtr& connection) {
    connection->socket.async_read_some(
        asio::buffer(connection->in),
        [self = shared_from_this(), connection](const error_code& code, std::size_t size) {
          if (!self->current(connection)) return;
          if (code) return self->lost(code);
          self->core_.on_bytes(steady_now(), ByteSpan(connection->in).first(size));
          self->drain();
          if (self->current(connection)) self->read(connection);
        });
  }

  void perform(const ClientCore::SendBytes& send) {
    connection_->out = send.octets;
    asio::async_write(
        connection_->socket, asio::buffer(connection_->out),
        [self = shared_from_this(), connection = connection_](const error_code& code, std::size_t) {
          if (!self->current(connection)) return;
          if (code) return self->lost(code);
          self->core_.on_sent(steady_now());
          self->drain();
        });
  }

  void perform(const ClientCore::Disconnect&) { disconnect(); }

  void lost(const error_code& code) {
    disconnect();
    core_.on_disconnected(steady_now(), io_error(code));
    drain();
  }

  void disconnect() {
    if (!connection_) return;
    error_code ignored;  // it may be closed already
    connection_->resolver.cancel();
    connection_->socket.shutdown(tcp::socket::shutdown_both, ignored);
    connection_->socket.close(ignored);
    connection_.reset();
  }

  asio::io_context& io_;
  asio::steady_timer timer_;
  const Config config_;
  Rng rng_;
  ClientCore core_;
  OnEvent on_event_;
  ConnectionPtr connection_;
  std::optional<Instant> armed_for_;
  bool draining_ = false;
  bool abandoned_ = false;
};

Client::Client(asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event)
    : shell_(std::make_shared<Shell>(io, config, seed, std::move(on_event))) {}

Client::~Client() {
  shell_->abandon();
}

void Client::start() {
  shell_->start();
}

void Client::stop() {
  shell_->stop();
}

Result<RequestId> Client::request_unidata(UnidataRequest request) {
  return shell_->request_unidata(std::move(request));
}

bool Client::bound() const {
  return shell_->core().bound();
}

bool Client::stopped() const {
  return shell_->core().stopped();
}

const ClientCore::Stats& Client::stats() const {
  return shell_->core().stats();
}

}  // namespace s5066::sis
