// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/control_socket.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::gateways {

namespace asio = boost::asio;
using asio::local::stream_protocol;

// One connection; it keeps itself alive until its answer is written or its time is up.
class ControlSocket::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(stream_protocol::socket socket, Answer answer, std::shared_ptr<std::size_t> sessions)
      : socket_(std::move(socket)),
        timeout_(socket_.get_executor()),
        answer_(std::move(answer)),
        sessions_(std::move(sessions)) {
    ++*sessions_;
  }
  ~Session() { --*sessions_; }

  void start() {
    timeout_.expires_after(kRequestTimeout);
    timeout_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
      const auto self = weak.lock();
      boost::system::error_code ignored;
      if (!error && self) self->socket_.close(ignored);
    });
    asio::async_read_until(
        socket_, asio::dynamic_buffer(request_, kRequestOctetsMax), '\n',
        [self = shared_from_this()](boost::system::error_code error, std::size_t octets) {
          if (!error) self->reply(octets);
        });
  }

 private:
  void reply(std::size_t octets) {
    reply_ = answer_(std::string_view(request_).substr(0, octets - 1));
    asio::async_write(socket_, asio::buffer(reply_),
                      [self = shared_from_this()](boost::system::error_code, std::size_t) {
                        boost::system::error_code ignored;
                        self->timeout_.cancel();
                        self->socket_.close(ignored);
                      });
  }

  stream_protocol::socket socket_;
  asio::steady_timer timeout_;
  Answer answer_;
  std::shared_ptr<std::size_t> sessions_;
  std::string request_;
  std::string reply_;
};

ControlSocket::ControlSocket(asio::io_context& io, std::string path, Answer answer)
    : path_(std::move(path)), answer_(std::move(answer)), acceptor_(io), retry_(io) {}

ControlSocket::~ControlSocket() {
  if (bound_) posix::remove_socket(path_);
}

Result<void> ControlSocket::open() {
  auto listener = posix::listen_unix(path_, asio::socket_base::max_listen_connections);
  if (!listener) {
    return Error{listener.error().code, "control socket " + listener.error().detail};
  }
  bound_ = true;
  boost::system::error_code error;
  acceptor_.assign(stream_protocol(), listener->get(), error);
  if (error) return Error{ErrorCode::io, "control socket " + path_ + ": " + error.message()};
  static_cast<void>(listener->release());
  accept();
  return {};
}

void ControlSocket::accept() {
  acceptor_.async_accept([this](boost::system::error_code error, stream_protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Mostly no descriptor is left, and another try at once would fail, too.
      retry_.expires_after(kAcceptRetry);
      retry_.async_wait([this](boost::system::error_code cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    if (*sessions_ < kClientsMax) {
      std::make_shared<Session>(std::move(socket), answer_, sessions_)->start();
    }
    accept();
  });
}

std::string link_state(std::string_view status_json, std::string_view peer) {
  // The text of the next string value after a key; moves `from` behind it.
  const auto value_after = [&](std::string_view key, std::size_t& from) {
    const std::size_t at = status_json.find(key, from);
    const std::size_t colon = at == std::string_view::npos ? at : status_json.find(':', at);
    const std::size_t open = colon == std::string_view::npos ? colon : status_json.find('"', colon);
    const std::size_t close =
        open == std::string_view::npos ? open : status_json.find('"', open + 1);
    from = close;
    return close == std::string_view::npos ? std::string_view()
                                           : status_json.substr(open + 1, close - open - 1);
  };
  std::size_t from = 0;
  while (from != std::string_view::npos) {
    if (value_after("\"peer\"", from) == peer && from != std::string_view::npos) {
      return std::string(value_after("\"state\"", from));
    }
  }
  return {};
}

}  // namespace s5066::gateways
