// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/sis_listener.h"

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <chrono>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::runtime {

namespace {
using boost::system::error_code;
namespace ip = boost::asio::ip;

/// Wait after a failed accept, which usually has no free file descriptor.
constexpr auto kAcceptRetry = std::chrono::seconds(1);

/// Makes output leave at once, and makes the system notice a vanished peer whether we have
/// something to send or not.
void prepare(ip::tcp::socket& socket, Duration dead_peer_timeout) {
  error_code ignored;
  socket.set_option(ip::tcp::no_delay(true), ignored);
  posix::notice_dead_peer(socket.native_handle(), dead_peer_timeout);
}

LocalPeer peer_of(LocalStream& socket) {
  ucred other{};
  socklen_t size = sizeof other;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return {};
  return {.process = other.pid, .user = other.uid};
}

/// Returns the reason for the end of a connection as text.
std::string words_of(error_code why) {
  if (!why) return "the server closed it";
  if (why == boost::asio::error::eof || why == boost::asio::ssl::error::stream_truncated) {
    return "the client closed it";
  }
  if (why == boost::asio::error::timed_out) return "the client's machine does not answer";
  return why.message();
}
}  // namespace

SisListener::SisListener(boost::asio::io_context& io, const SisListenerConfig& config,
                         AsioDriver& driver, LogSink& log)
    : config_(config),
      driver_(driver),
      log_(log),
      gate_(config),
      acceptor_(io),
      local_acceptor_(io),
      retry_(io),
      local_retry_(io) {}

SisListener::~SisListener() {
  accept_no_more();
}

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
  return config_.local ? open_local() : Result<void>{};
}

Result<void> SisListener::open_local() {
  const std::string& path = config_.local->socket_path;
  const auto access =
      config_.local->group_too ? posix::LocalAccess::owner_and_group : posix::LocalAccess::owner;
  auto listener =
      posix::listen_unix(path, boost::asio::socket_base::max_listen_connections, access);
  if (!listener) return Error{listener.error().code, "SIS socket " + listener.error().detail};
  local_bound_ = true;
  error_code failure;
  local_acceptor_.assign(boost::asio::local::stream_protocol(), listener->get(), failure);
  if (failure) return Error{ErrorCode::io, "SIS socket " + path + ": " + failure.message()};
  static_cast<void>(listener->release());
  LogLine(log_, LogLevel::info, "sis_listening").kv("socket", path);
  return {};
}

Result<void> SisListener::change(const SisListenerConfig& config) {
  std::unique_ptr<boost::asio::ssl::context> tls;
  if (config_.tls && config.tls) {
    auto loaded = load_tls(*config.tls);
    if (!loaded) return loaded.error();
    tls = std::move(loaded).value();
  }
  SisListenerConfig changed = config_;
  changed.allow = config.allow;
  changed.connections_max = config.connections_max;
  changed.connections_per_address_max = config.connections_per_address_max;
  changed.connects_per_second_max = config.connects_per_second_max;
  changed.dead_peer_timeout = config.dead_peer_timeout;
  if (tls) changed.tls = config.tls;
  if (auto done = gate_.change(changed); !done) return done;
  config_ = changed;
  if (tls) tls_ = std::move(tls);
  std::vector<ClientId> barred;
  for (const auto& [id, entry] : sessions_) {
    const auto& [peer, origin, names] = entry.caller;
    if (entry.known_to_node && !gate_.permission_of(peer, names)) barred.push_back(id);
  }
  for (const ClientId id : barred) {
    // It may have been closed together with the one before.
    static_cast<void>(
        driver_.drive([id](Node& node, Instant now) { return node.request_disconnect(now, id); }));
  }
  return {};
}

void SisListener::accept() {
  accept_at(acceptor_, retry_);
  if (local_bound_) accept_at(local_acceptor_, local_retry_);
}

template <typename Acceptor>
void SisListener::accept_at(Acceptor& acceptor, boost::asio::steady_timer& retry) {
  acceptor.async_accept([this, &acceptor, &retry](error_code failure, auto socket) {
    if (!acceptor.is_open()) return;
    if (!failure) {
      on_accepted(std::move(socket));
      return accept_at(acceptor, retry);
    }
    LogLine(log_, LogLevel::error, "sis_accept_failed").kv("reason", failure.message());
    retry.expires_after(kAcceptRetry);
    retry.async_wait([this, &acceptor, &retry](error_code cancelled) {
      if (!cancelled) accept_at(acceptor, retry);
    });
  });
}

void SisListener::on_accepted(ip::tcp::socket socket) {
  error_code failure;
  const auto endpoint = socket.remote_endpoint(failure);
  if (failure) return;  // the connection has gone already
  const std::string port = ":" + std::to_string(endpoint.port());
  const std::string address = endpoint.address().to_string();
  const bool v6 = endpoint.address().is_v6();
  const Caller caller{.peer = endpoint.address(),
                      .origin = (v6 ? "[" + address + "]" : address) + port};
  if (!admit(caller)) return;
  prepare(socket, config_.dead_peer_timeout);
  if (tls_) {
    shake_hands(std::move(socket), caller);
  } else {
    serve(std::move(socket), caller);
  }
}

void SisListener::on_accepted(LocalStream socket) {
  const Peer peer = peer_of(socket);
  const Caller caller{.peer = peer, .origin = to_string(peer)};
  if (admit(caller)) serve(std::move(socket), caller);
}

bool SisListener::admit(const Caller& caller) {
  const auto admitted = gate_.admit(std::chrono::steady_clock::now(), caller.peer);
  if (!admitted) refuse(caller, admitted.error().detail);
  return admitted.ok();
}

void SisListener::shake_hands(ip::tcp::socket socket, const Caller& caller) {
  const std::uint64_t number = ++handshakes_begun_;
  handshakes_[number] = TlsHandshake::start(
      std::move(socket), *tls_, config_.tls->handshake_timeout,
      [this, number, caller](std::unique_ptr<TlsStream> stream, const std::string& reason) {
        on_handshake_over(number, caller, std::move(stream), reason);
      });
}

void SisListener::on_handshake_over(std::uint64_t number, Caller caller,
                                    std::unique_ptr<TlsStream> stream, const std::string& failure) {
  handshakes_.erase(number);
  if (!stream) {
    gate_.on_closed(caller.peer);
    return refuse(caller, "TLS: " + failure);
  }
  caller.names = peer_names(*stream);
  serve(std::move(stream), caller);
}

/// The gate has already counted the connection.
template <typename Stream>
void SisListener::serve(Stream stream, const Caller& caller) {
  const auto permission = gate_.permission_of(caller.peer, caller.names);
  if (!permission) {
    gate_.on_closed(caller.peer);
    return refuse(caller, "certificate not allowed");
  }
  const sap::ClientOrigin origin{.access = permission->access,
                                 .host_key = ConnectionGate::host_key_of(caller.peer),
                                 .priority_max = permission->priority_max,
                                 .name = caller.origin};
  const ClientId id =
      driver_.drive([&](Node& node, Instant now) { return node.on_client_connected(now, origin); });
  LogLine line(log_, LogLevel::info, "sis_client_connected");
  line.kv("client", std::uint64_t{id.value}).kv("origin", caller.origin);
  if (!caller.names.empty()) line.kv("certificate", caller.names.front());
  const auto session =
      make_session(std::move(stream), {.id = id,
                                       .read_octets_max = config_.read_octets_max,
                                       .linger = config_.linger,
                                       .owner = static_cast<SisSessionOwner&>(*this)});
  sessions_[id] = {session, caller};
  session->start();
}

void SisListener::refuse(const Caller& caller, const std::string& reason) {
  driver_.drive([](Node& node, Instant) { node.on_client_refused(); });
  LogLine(log_, LogLevel::warning, "sis_client_refused")
      .kv("origin", caller.origin)
      .kv("reason", reason);
}

void SisListener::accept_no_more() {
  error_code ignored;
  acceptor_.close(ignored);
  local_acceptor_.close(ignored);
  if (std::exchange(local_bound_, false)) posix::remove_socket(config_.local->socket_path);
  retry_.cancel();
  local_retry_.cancel();
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
  on_session_over(client, {}, 0);
}

void SisListener::pause(ClientId client, bool paused) {
  const auto found = sessions_.find(client);
  if (found != sessions_.end()) found->second.session->pause(paused);
}

void SisListener::on_session_bytes(ClientId client, ByteSpan bytes) {
  driver_.drive([&](Node& node, Instant now) { node.on_client_bytes(now, client, bytes); });
}

void SisListener::on_session_taken(ClientId client, std::size_t octets) {
  const auto found = sessions_.find(client);
  if (found == sessions_.end() || !found->second.known_to_node) return;
  driver_.drive([&](Node& node, Instant now) { node.on_client_taken(now, client, octets); });
}

void SisListener::on_session_over(ClientId client, error_code why, std::size_t unwritten) {
  const auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  const bool known_to_node = found->second.known_to_node;
  gate_.on_closed(found->second.caller.peer);
  LogLine(log_, LogLevel::info, "sis_client_gone")
      .kv("client", std::uint64_t{client.value})
      .kv("origin", found->second.caller.origin)
      .kv("reason", words_of(known_to_node ? why : error_code{}));
  sessions_.erase(found);
  if (known_to_node) {
    const bool dead = why == boost::asio::error::timed_out;
    const ClientEnd end = dead ? ClientEnd::dead_peer : ClientEnd::left;
    driver_.drive(
        [&](Node& node, Instant now) { node.on_client_closed(now, client, end, unwritten); });
  }
  if (on_finished_ && sessions_.empty()) std::exchange(on_finished_, nullptr)();
}

}  // namespace s5066::runtime
