// SPDX-License-Identifier: Apache-2.0
#include "sis/client_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace s5066::sis {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kReadOctetsMax = 1 << 14;

Error io_error(const std::string& what, const error_code& code) {
  return Error{ErrorCode::io, what.empty() ? code.message() : what + ": " + code.message()};
}
std::optional<Error> error_of(const error_code& code) {
  if (!code) return std::nullopt;
  return io_error({}, code);
}

/// Calls `then` with the plain socket or the TLS stream.
template <typename Socket, typename Stream, typename Then>
void with_stream(Socket& plain, std::optional<Stream>& tls, Then then) {
  if (tls) {
    then(*tls);
  } else {
    then(plain);
  }
}

}  // namespace

ClientConnection::ClientConnection(asio::io_context& io, const Client::Config& config)
    : config_(config), io_(io), resolver_(io), plain_(io), finish_by_(io), in_(kReadOctetsMax) {}

void ClientConnection::open(OnDone on_done) {
  on_open_ = std::move(on_done);
  const bool local = config_.host.find('/') != std::string::npos;
  std::optional<Error> error;
  if (local) {
    error = connect_locally();
  } else if (config_.tls) {
    error = prepare_tls();
  }
  if (error) {
    asio::post(io_, [self = shared_from_this(), error] { self->opened(error); });
    return;
  }
  if (local) return;
  resolver_.async_resolve(config_.host, std::to_string(config_.port),
                          [self = shared_from_this()](const error_code& code,
                                                      const tcp::resolver::results_type& found) {
                            if (code) return self->opened(error_of(code));
                            Endpoints endpoints;
                            for (const auto& one : found) endpoints.emplace_back(one.endpoint());
                            self->connect(endpoints);
                          });
}

std::optional<Error> ClientConnection::connect_locally() {
  if (config_.tls) return Error{ErrorCode::bad_field, "TLS is not for a local socket"};
  if (config_.host.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{ErrorCode::bad_field, config_.host + ": the path is too long"};
  }
  connect({asio::local::stream_protocol::endpoint(config_.host)});
  return std::nullopt;
}

std::optional<Error> ClientConnection::prepare_tls() {
  const Client::Tls& tls = *config_.tls;
  error_code code;
  context_.emplace(ssl::context::tls_client);
  context_->set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, code);
  if (code) return io_error("TLS", code);
  if (tls.ca_file.empty()) {
    context_->set_default_verify_paths(code);
  } else {
    context_->load_verify_file(tls.ca_file, code);
  }
  if (code) return io_error("authorities " + tls.ca_file, code);
  if (!tls.certificate_file.empty()) {
    context_->use_certificate_chain_file(tls.certificate_file, code);
    if (code) return io_error("certificate " + tls.certificate_file, code);
    const std::string& key = tls.key_file.empty() ? tls.certificate_file : tls.key_file;
    context_->use_private_key_file(key, ssl::context::pem, code);
    if (code) return io_error("key " + key, code);
  }
  const std::string& name = tls.server_name.empty() ? config_.host : tls.server_name;
  tls_.emplace(io_, *context_);
  tls_->set_verify_mode(ssl::verify_peer, code);
  if (code) return io_error("TLS", code);
  tls_->set_verify_callback(ssl::host_name_verification(name), code);
  if (code) return io_error("TLS", code);
  asio::ip::make_address(name, code);
  const bool is_address = !code;  // addresses are not sent as a server name
  if (!is_address && SSL_set_tlsext_host_name(tls_->native_handle(), name.c_str()) != 1) {
    return Error{ErrorCode::io, "TLS: server name " + name};
  }
  return std::nullopt;
}

void ClientConnection::connect(const Endpoints& endpoints) {
  if (closed_) return;
  asio::async_connect(socket(), endpoints,
                      [self = shared_from_this()](const error_code& code, const auto&) {
                        if (self->closed_ || code) return self->opened(error_of(code));
                        // The option is optional: without it the connection is only slower.
                        error_code ignored;
                        self->socket().set_option(tcp::no_delay(true), ignored);
                        self->notice_dead_server();
                        if (!self->tls_) return self->opened(std::nullopt);
                        self->shake_hands();
                      });
}

// A client that only receives never sends anything that would go unanswered. Without keep-alive
// probes it would notice only after two hours that the server lost its power. If the system does
// not know an option, its own default applies.
void ClientConnection::notice_dead_server() {
  const auto set = [this](int level, int option, int value) {
    static_cast<void>(::setsockopt(socket().native_handle(), level, option, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);  // seconds, as is the next
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

void ClientConnection::shake_hands() {
  tls_->async_handshake(ssl::stream_base::client,
                        [self = shared_from_this()](const error_code& code) {
                          if (!code) return self->opened(std::nullopt);
                          self->opened(io_error("TLS handshake", code));
                        });
}

void ClientConnection::opened(const std::optional<Error>& error) {
  if (closed_) return;
  open_ = !error;
  std::exchange(on_open_, nullptr)(error);
}

/// Goes on reading, even if a handler of the application has thrown.
class ClientConnection::ReadsOn {
 public:
  explicit ReadsOn(ClientConnection& connection) : connection_(connection) {}
  ~ReadsOn() {
    if (!connection_.closed_) connection_.read_on();
  }
  ReadsOn(const ReadsOn&) = delete;
  ReadsOn& operator=(const ReadsOn&) = delete;

 private:
  ClientConnection& connection_;
};

void ClientConnection::read(OnBytes on_bytes) {
  on_bytes_ = std::move(on_bytes);
  read_on();
}

void ClientConnection::read_on() {
  with_stream(plain_, tls_, [this](auto& stream) {
    stream.async_read_some(asio::buffer(in_),
                           [self = shared_from_this()](const error_code& code, std::size_t size) {
                             self->on_read(code, size);
                           });
  });
}

void ClientConnection::on_read(const error_code& code, std::size_t size) {
  if (closed_) return;
  if (code) return on_finished_ ? finished() : on_bytes_(io_error({}, code));
  const ReadsOn afterwards(*this);
  if (!on_finished_) on_bytes_(ByteSpan(in_).first(size));
}

void ClientConnection::write(Bytes octets, OnDone on_done) {
  out_ = std::move(octets);
  writing_ = true;
  with_stream(plain_, tls_, [this, &on_done](auto& stream) {
    asio::async_write(stream, asio::buffer(out_),
                      [self = shared_from_this(), on_done = std::move(on_done)](
                          const error_code& code, std::size_t) {
                        self->writing_ = false;
                        if (!self->closed_) on_done(error_of(code));
                      });
  });
}

// A socket that is closed while input is unread, or still arrives, resets the connection and loses
// written octets that have not left. So input is read and discarded until the server closes.
void ClientConnection::finish(std::function<void()> on_closed) {
  on_finished_ = std::move(on_closed);
  if (!open_ || writing_) return finished();
  finish_by_.expires_after(config_.core.stop_timeout);
  finish_by_.async_wait([self = shared_from_this()](const error_code& code) {
    if (!code) self->finished();
  });
  if (tls_) {
    // It ends together with the read, or in an error if input still arrives; only the end of the
    // read counts.
    tls_->async_shutdown([self = shared_from_this()](const error_code&) {});
  } else {
    error_code ignored;  // the read reports it as well
    plain_.shutdown(Socket::shutdown_send, ignored);
  }
}

void ClientConnection::finished() {
  if (closed_) return;
  close();
  std::exchange(on_finished_, nullptr)();
}

void ClientConnection::close() {
  closed_ = true;
  finish_by_.cancel();
  error_code ignored;  // it may already be closed
  resolver_.cancel();
  socket().shutdown(Socket::shutdown_both, ignored);
  socket().close(ignored);
}

}  // namespace s5066::sis
