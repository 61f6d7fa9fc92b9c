// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/control_socket.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "s5066d/control/json.h"
#include "s5066d/posix/socket.h"

namespace s5066::control {

namespace asio = boost::asio;

namespace {
using boost::system::error_code;
using local = asio::local::stream_protocol;

/// Wait after a failed accept: mostly no descriptor is left, and another try at once would fail.
constexpr auto kAcceptRetry = std::chrono::seconds(1);
/// Largest number of reads that take the rest of a line that is too long.
constexpr int kRestReadsMax = 16;
}  // namespace

/// One connection. It keeps itself alive until its answer is written or its time is up.
class ControlSocket::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(local::socket socket, const ControlSocket& owner)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        answer_of_(owner.answer_),
        timeout_(owner.config_.timeout),
        request_octets_max_(owner.config_.request_octets_max),
        takes_files_(owner.config_.takes_files) {}

  void start() {
    limit_time();
    wait_for_request();
  }

  /// True if the client has not sent its request yet.
  bool idle() const { return text_.empty(); }
  void close() {
    error_code ignored;
    closed_ = true;
    timer_.cancel();
    socket_.close(ignored);
  }

 private:
  void limit_time() {
    timer_.expires_after(timeout_);
    timer_.async_wait([weak = weak_from_this()](error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self) self->close();
    });
  }

  void wait_for_request() {
    socket_.async_wait(local::socket::wait_read, [self = shared_from_this()](error_code failure) {
      if (failure) {
        self->close();
      } else {
        self->receive();
      }
    });
  }

  /// Reads what has come. A client that has gone needs no answer.
  void receive() {
    if (closed_) return;
    std::array<std::uint8_t, 4096> part;
    const std::size_t room = std::min(part.size(), request_octets_max_ - request_.size());
    const auto octets = read_some(std::span(part).first(room));
    if (!octets) return close();
    request_.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*octets));
    const std::size_t end = request_.find('\n');
    if (end != std::string::npos) {
      reply(answer_of_(std::string_view(request_).substr(0, end), std::move(file_)));
    } else if (request_.size() == request_octets_max_) {
      refuse_long_request();
    } else {
      wait_for_request();
    }
  }

  /// Reads what there is now; 0 if there is nothing yet. Without takes_files the system drops the
  /// descriptors that come.
  Result<std::size_t> read_some(std::span<std::uint8_t> bytes) {
    if (takes_files_) return posix::receive_with_file(socket_.native_handle(), bytes, file_);
    error_code failure;
    socket_.non_blocking(true, failure);
    const std::size_t octets = socket_.read_some(asio::buffer(bytes.data(), bytes.size()), failure);
    if (failure == asio::error::would_block) return std::size_t{0};
    if (failure) return Error{ErrorCode::io, failure.message()};
    return octets;
  }

  /// Reads the rest of the line, because the system would end a connection with unread octets by an
  /// error.
  void refuse_long_request() {
    std::array<char, 4096> rest;
    error_code end;
    socket_.non_blocking(true, end);
    for (int i = 0; i < kRestReadsMax && !end; ++i) socket_.read_some(asio::buffer(rest), end);
    reply(Error{ErrorCode::too_large,
                "a request has at most " + std::to_string(request_octets_max_ - 1) + " octets"});
  }

  void reply(const Result<std::string>& answer) {
    text_ = answer ? *answer : failure_json(answer.error());
    if (text_.empty() || text_.back() != '\n') text_.push_back('\n');
    if (closed_) return;
    limit_time();
    asio::async_write(socket_, asio::buffer(text_),
                      [self = shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  local::socket socket_;
  asio::steady_timer timer_;
  Answer answer_of_;
  Duration timeout_;
  std::size_t request_octets_max_;
  bool takes_files_;
  std::string request_;
  posix::PassedFile file_;  // closed with the session, if no request takes it
  std::string text_;
  bool closed_ = false;
};

ControlSocket::ControlSocket(asio::io_context& io, const SocketConfig& config, Answer answer,
                             LogSink& log)
    : config_(config), answer_(std::move(answer)), log_(log), acceptor_(io), retry_(io) {}

ControlSocket::~ControlSocket() {
  stop();
}

Result<void> ControlSocket::open() {
  const auto access =
      config_.group_too ? posix::LocalAccess::owner_and_group : posix::LocalAccess::owner;
  auto listener =
      posix::listen_unix(config_.path, asio::socket_base::max_listen_connections, access);
  if (!listener) {
    return Error{listener.error().code, "control socket " + listener.error().detail};
  }
  bound_ = true;
  error_code failure;
  acceptor_.assign(local(), listener->get(), failure);
  if (failure) {
    return Error{ErrorCode::io, "control socket " + config_.path + ": " + failure.message()};
  }
  static_cast<void>(listener->release());
  open_ = std::make_shared<int>();
  accept();
  return {};
}

void ControlSocket::accept() {
  acceptor_.async_accept(
      [this, open = std::weak_ptr<int>(open_)](error_code failure, local::socket socket) {
        if (open.expired()) return;  // `this` may be gone
        if (failure) {
          LogLine(log_, LogLevel::error, "control_accept_failed").kv("reason", failure.message());
          retry_.expires_after(kAcceptRetry);
          retry_.async_wait([this, open](error_code cancelled) {
            if (!cancelled && !open.expired()) accept();
          });
          return;
        }
        if (make_room()) {
          const auto session = std::make_shared<Session>(std::move(socket), *this);
          sessions_.push_back(session);
          session->start();
        }
        accept();
      });
}

// Idle clients must not keep an operator out: the oldest of them is closed.
bool ControlSocket::make_room() {
  std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
  if (sessions_.size() < config_.clients_max) return true;
  const auto oldest = std::find_if(sessions_.begin(), sessions_.end(),
                                   [](const auto& session) { return session.lock()->idle(); });
  if (oldest == sessions_.end()) return false;
  oldest->lock()->close();
  sessions_.erase(oldest);
  return true;
}

void ControlSocket::stop() {
  error_code ignored;
  open_.reset();
  acceptor_.close(ignored);
  retry_.cancel();
  for (const auto& weak : sessions_) {
    if (const auto session = weak.lock()) session->close();
  }
  sessions_.clear();
  if (std::exchange(bound_, false)) posix::remove_socket(config_.path);
}

}  // namespace s5066::control
