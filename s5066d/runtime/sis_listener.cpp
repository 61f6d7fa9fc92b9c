#include "s5066d/runtime/sis_listener.h"

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::runtime {

namespace {
using boost::system::error_code;
namespace ip = boost::asio::ip;

/// After a failed accept, which is mostly for want of file descriptors.
constexpr auto kAcceptRetry = std::chrono::seconds(1);

/// What is ready leaves at once, and a peer that has vanished without a word is noticed whether we
/// have something to send or not.
void prepare(ip::tcp::socket& socket, Duration dead_peer_timeout) {
  error_code ignored;
  socket.set_option(ip::tcp::no_delay(true), ignored);
  posix::notice_dead_peer(socket.native_handle(), dead_peer_timeout);
}
}  // namespace

SisListener::SisListener(boost::asio::io_context& io, const SisListenerConfig& config,
                         AsioDriver& driver, LogSink& log)
    : config_(config), driver_(driver), log_(log), gate_(config), acceptor_(io), retry_(io) {}

Result<void> SisListener::open() {
  if (auto opened = gate_.open(); !opened) return opened;
  if (config_.tls) {
    auto tls = load_tls(*config_.tls);
    if (!tls) return tls.error();
    tls_ = std::move(tls).value();
  }
  error_code failure;
  const ip::tcp::endpoint endpoint(ip::make_address(config_.address, failure), config_.port);
  if (!failure) acceptor_.open(endpoint.protocol(), failure);
  if (!failure) acceptor_.set_option(ip::tcp::acceptor::reuse_address(true), failure);
  if (!failure) acceptor_.bind(endpoint, failure);
  if (!failure) acceptor_.listen(boost::asio::socket_base::max_listen_connections, failure);
  if (failure) {
    return Error{ErrorCode::io, "SIS port " + std::to_string(config_.port) + " on " +
                                    config_.address + ": " + failure.message()};
  }
  port_ = acceptor_.local_endpoint(failure).port();
  LogLine(log_, LogLevel::info, "sis_listening")
      .kv("address", config_.address)
      .kv("port", unsigned{port_})
      .kv("tls", tls_ ? "yes" : "no");
  return {};
}

void SisListener::accept() {
  acceptor_.async_accept([this](error_code failure, ip::tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (failure) {
      on_accept_failed(failure);
      return;
    }
    on_accepted(std::move(socket));
    accept();
  });
}

void SisListener::on_accept_failed(error_code failure) {
  LogLine(log_, LogLevel::error, "sis_accept_failed").kv("reason", failure.message());
  retry_.expires_after(kAcceptRetry);
  retry_.async_wait([this](error_code cancelled) {
    if (!cancelled) accept();
  });
}

void SisListener::on_accepted(ip::tcp::socket socket) {
  error_code failure;
  const Peer peer = socket.remote_endpoint(failure).address();
  if (failure) return;  // gone already
  const auto admitted = gate_.admit(std::chrono::steady_clock::now(), peer);
  if (!admitted) return refuse(peer, admitted.error().detail);
  prepare(socket, config_.dead_peer_timeout);
  if (tls_) {
    shake_hands(std::move(socket), peer);
  } else {
    serve(std::move(socket), peer, {});
  }
}

void SisListener::shake_hands(ip::tcp::socket socket, const Peer& peer) {
  const std::uint64_t number = ++handshakes_begun_;
  handshakes_[number] = TlsHandshake::start(
      std::move(socket), *tls_, config_.tls->handshake_timeout,
      [this, number, peer](std::unique_ptr<TlsStream> stream, const std::string& reason) {
        on_handshake_over(number, peer, std::move(stream), reason);
      });
}

void SisListener::on_handshake_over(std::uint64_t number, const Peer& peer,
                                    std::unique_ptr<TlsStream> stream, const std::string& failure) {
  handshakes_.erase(number);
  if (!stream) {
    gate_.on_closed(peer);
    return refuse(peer, "TLS: " + failure);
  }
  const auto names = peer_names(*stream);
  serve(std::move(stream), peer, names);
}

/// Counted by the gate already.
template <typename Stream>
void SisListener::serve(Stream stream, const Peer& peer, const std::vector<std::string>& names) {
  const auto permission = gate_.permission_of(peer, names);
  if (!permission) {
    gate_.on_closed(peer);
    return refuse(peer, "certificate not allowed");
  }
  const sap::ClientOrigin origin{permission->access, ConnectionGate::household_of(peer)};
  const ClientId id =
      driver_.drive([&](Node& node, Instant now) { return node.on_client_connected(now, origin); });
  LogLine line(log_, LogLevel::info, "sis_client_connected");
  line.kv("client", std::uint64_t{id.value}).kv("peer", peer.to_string());
  if (!names.empty()) line.kv("certificate", names.front());
  const auto session =
      make_session(std::move(stream), {.id = id,
                                       .read_octets_max = config_.read_octets_max,
                                       .linger = config_.linger,
                                       .owner = static_cast<SisSessionOwner&>(*this)});
  sessions_[id] = {session, peer};
  session->start();
}

void SisListener::refuse(const Peer& peer, const std::string& reason) {
  LogLine(log_, LogLevel::warning, "sis_client_refused")
      .kv("peer", peer.to_string())
      .kv("reason", reason);
}

void SisListener::accept_no_more() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  for (auto& [number, handshake] : std::exchange(handshakes_, {})) handshake->abandon();
}

void SisListener::finish(std::function<void()> done) {
  accept_no_more();
  if (sessions_.empty()) return done();
  on_finished_ = std::move(done);
  for (auto& [id, entry] : sessions_) {
    entry.known_to_node = false;
    entry.session->finish();
  }
}

void SisListener::stop() {
  accept_no_more();
  on_finished_ = nullptr;
  for (auto& [id, entry] : std::exchange(sessions_, {})) entry.session->abandon();
}

std::size_t SisListener::send(ClientId client, const Bytes& bytes) {
  const auto found = sessions_.find(client);
  return found == sessions_.end() ? 0 : found->second.session->send(bytes);
}

void SisListener::close(ClientId client, bool discard_unsent) {
  const auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  found->second.known_to_node = false;
  if (!discard_unsent) return found->second.session->finish();
  found->second.session->abandon();
  on_session_over(client);
}

void SisListener::pause(ClientId client, bool paused) {
  const auto found = sessions_.find(client);
  if (found != sessions_.end()) found->second.session->pause(paused);
}

void SisListener::on_session_bytes(ClientId client, ByteSpan bytes) {
  driver_.drive([&](Node& node, Instant now) { node.on_client_bytes(now, client, bytes); });
}

void SisListener::on_session_over(ClientId client) {
  const auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  const bool known_to_node = found->second.known_to_node;
  gate_.on_closed(found->second.peer);
  sessions_.erase(found);
  LogLine(log_, LogLevel::info, "sis_client_gone").kv("client", std::uint64_t{client.value});
  if (known_to_node) {
    driver_.drive([&](Node& node, Instant now) { node.on_client_closed(now, client); });
  }
  if (on_finished_ && sessions_.empty()) std::exchange(on_finished_, nullptr)();
}

}  // namespace s5066::runtime
