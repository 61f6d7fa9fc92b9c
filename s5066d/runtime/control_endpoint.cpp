// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/control_endpoint.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <istream>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::runtime {

namespace {
using boost::system::error_code;
using local = boost::asio::local::stream_protocol;

constexpr auto kAcceptRetry = std::chrono::seconds(1);
}  // namespace

/// A client that requests nothing or does not read is closed after the timeout, and delays no
/// other.
class ControlEndpoint::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(local::socket socket, const ControlEndpoint& endpoint)
      : socket_(std::move(socket)),
        timeout_(socket_.get_executor()),
        answer_of_(endpoint.answer_),
        request_(endpoint.config_.request_octets_max) {}

  void start(Duration timeout) {
    timeout_.expires_after(timeout);
    timeout_.async_wait([weak = weak_from_this()](error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self) self->close();
    });
    boost::asio::async_read_until(socket_, request_, '\n',
                                  [self = shared_from_this()](error_code failure, std::size_t) {
                                    if (!failure) self->on_request();
                                  });
  }

  /// True if the client has not requested anything yet.
  bool idle() const { return text_.empty(); }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void on_request() {
    std::istream stream(&request_);
    std::string request;
    std::getline(stream, request);
    const auto answer = answer_of_(request);
    text_ = answer ? *answer : "error: " + to_string(answer.error());
    if (text_.empty() || text_.back() != '\n') text_.push_back('\n');
    boost::asio::async_write(socket_, boost::asio::buffer(text_),
                             [self = shared_from_this()](error_code, std::size_t) {
                               self->close();
                               self->timeout_.cancel();
                             });
  }

  local::socket socket_;
  boost::asio::steady_timer timeout_;
  Answer answer_of_;
  boost::asio::streambuf request_;
  std::string text_;
};

ControlEndpoint::ControlEndpoint(boost::asio::io_context& io, const ControlConfig& config,
                                 Answer answer, LogSink& log)
    : config_(config), answer_(std::move(answer)), log_(log), acceptor_(io), retry_(io) {}

ControlEndpoint::~ControlEndpoint() {
  stop();
}

Result<void> ControlEndpoint::open() {
  auto listener =
      posix::listen_unix(config_.socket_path, boost::asio::socket_base::max_listen_connections);
  if (!listener) {
    return Error{listener.error().code, "control socket " + listener.error().detail};
  }
  bound_ = true;
  error_code failure;
  acceptor_.assign(local(), listener->get(), failure);
  if (failure) {
    return Error{ErrorCode::io, "control socket " + config_.socket_path + ": " + failure.message()};
  }
  static_cast<void>(listener->release());
  accept();
  return {};
}

void ControlEndpoint::accept() {
  acceptor_.async_accept([this](error_code failure, local::socket socket) {
    if (!acceptor_.is_open()) return;
    if (failure) {
      LogLine(log_, LogLevel::error, "control_accept_failed").kv("reason", failure.message());
      retry_.expires_after(kAcceptRetry);
      retry_.async_wait([this](error_code cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    if (make_room()) {
      const auto session = std::make_shared<Session>(std::move(socket), *this);
      sessions_.push_back(session);
      session->start(config_.request_timeout);
    }
    accept();
  });
}

// Idle clients must not keep an operator out: the oldest of them is closed.
bool ControlEndpoint::make_room() {
  std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
  if (sessions_.size() < config_.clients_max) return true;
  const auto oldest = std::find_if(sessions_.begin(), sessions_.end(),
                                   [](const auto& session) { return session.lock()->idle(); });
  if (oldest == sessions_.end()) return false;
  oldest->lock()->close();
  sessions_.erase(oldest);
  return true;
}

void ControlEndpoint::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  if (std::exchange(bound_, false)) posix::remove_socket(config_.socket_path);
}

}  // namespace s5066::runtime
