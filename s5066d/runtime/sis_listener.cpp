#include "s5066d/runtime/sis_listener.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <string>
#include <utility>

namespace s5066::runtime {

namespace {
using boost::system::error_code;
namespace ip = boost::asio::ip;

/// After a failed accept, which is mostly for want of file descriptors.
constexpr auto kAcceptRetry = std::chrono::seconds(1);

ip::address plain(const ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  }
  return address;
}
}  // namespace

SisListener::SisListener(boost::asio::io_context& io, const SisListenerConfig& config,
                         AsioDriver& driver, LogSink& log)
    : config_(config), driver_(driver), log_(log), acceptor_(io), retry_(io) {}

Result<void> SisListener::open() {
  error_code failure;
  for (const std::string& peer : config_.allowed_peers) {
    allowed_.push_back(plain(ip::make_address(peer, failure)));
    if (failure) return Error{ErrorCode::bad_field, "allowed peer " + peer};
  }
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
      .kv("port", unsigned{port_});
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
  const auto peer = socket.remote_endpoint(failure);
  if (failure) return;  // gone already
  if (!is_allowed(peer.address())) {
    LogLine(log_, LogLevel::warning, "sis_peer_refused").kv("peer", peer.address().to_string());
    return;
  }
  if (sessions_.size() >= config_.connections_max) {
    LogLine(log_, LogLevel::warning, "sis_client_refused").kv("reason", "too many connections");
    return;
  }
  const auto id =
      driver_.drive([](Node& node, Instant now) { return node.on_client_connected(now); });
  if (!id) {
    LogLine(log_, LogLevel::warning, "sis_client_refused").kv("reason", to_string(id.error()));
    return;
  }
  LogLine(log_, LogLevel::info, "sis_client_connected")
      .kv("client", std::uint64_t{id->value})
      .kv("peer", peer.address().to_string());
  auto session = std::make_shared<SisSession>(std::move(socket), *id, config_.read_octets_max,
                                              static_cast<SisSessionOwner&>(*this));
  sessions_[*id] = {session};
  session->start();
}

bool SisListener::is_allowed(const ip::address& peer) const {
  return allowed_.empty() ||
         std::find(allowed_.begin(), allowed_.end(), plain(peer)) != allowed_.end();
}

void SisListener::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  for (auto& [id, entry] : std::exchange(sessions_, {})) entry.session->abandon();
}

std::size_t SisListener::send(ClientId client, Bytes bytes) {
  const auto found = sessions_.find(client);
  return found == sessions_.end() ? 0 : found->second.session->send(std::move(bytes));
}

void SisListener::close(ClientId client) {
  const auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  found->second.known_to_node = false;
  found->second.session->finish();
}

void SisListener::pause(ClientId client, bool paused) {
  const auto found = sessions_.find(client);
  if (found != sessions_.end()) found->second.session->pause(paused);
}

void SisListener::on_session_bytes(ClientId client, ByteSpan bytes) {
  driver_.drive([&](Node& node, Instant now) { node.on_client_bytes(now, client, bytes); });
}

void SisListener::on_session_backlog(ClientId client, std::size_t unsent_octets) {
  driver_.drive(
      [&](Node& node, Instant now) { node.on_client_backlog(now, client, unsent_octets); });
}

void SisListener::on_session_over(ClientId client) {
  const auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  const bool known_to_node = found->second.known_to_node;
  sessions_.erase(found);
  LogLine(log_, LogLevel::info, "sis_client_gone").kv("client", std::uint64_t{client.value});
  if (!known_to_node) return;
  driver_.drive([&](Node& node, Instant now) { node.on_client_closed(now, client); });
}

}  // namespace s5066::runtime
