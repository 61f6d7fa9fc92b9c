// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/traffic_receiver.h"

#include <utility>

#include "gateways/traffic/utc_now.h"

namespace s5066::traffic {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::steady_clock;

namespace {

constexpr int kReadsMax = 64;  // before signals and timers have their turn
constexpr int kReceiveBuffer = 1 << 20;
constexpr Duration kAcceptRetry = std::chrono::seconds(1);  // without file descriptors

std::size_t headers_of(const asio::ip::udp::endpoint& from) {
  return (from.address().is_v6() ? 40 : 20) + 8;
}

}  // namespace

TrafficReceiver::TrafficReceiver(const ReceiveOptions& options, std::uint16_t port, bool tcp)
    : options_(options), port_(port), tcp_(tcp), core_(options.core) {}

ReceiverCore::Time TrafficReceiver::now() const {
  return {Instant(steady_clock::now() - started_), utc_now_us()};
}

Result<void> TrafficReceiver::open() {
  error_code error;
  const auto address = asio::ip::make_address(options_.bind);
  if (tcp_) {
    const asio::ip::tcp::endpoint at(address, port_);
    acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(static_cast<int>(ReceiverCore::kStreamsMax), error);
  } else {
    const asio::ip::udp::endpoint at(address, port_);
    udp_.open(at.protocol(), error);
    if (!error) udp_.bind(at, error);
    if (!error) udp_.non_blocking(true, error);
    error_code ignored;  // the kernel may allow less
    udp_.set_option(asio::socket_base::receive_buffer_size(kReceiveBuffer), ignored);
  }
  if (error) {
    return Error{ErrorCode::io,
                 options_.bind + " port " + std::to_string(port_) + ": " + error.message()};
  }
  return {};
}

Result<void> TrafficReceiver::receive() {
  if (auto opened = open(); !opened) return opened.error();
  signals_.async_wait([this](const error_code& error, int) {
    if (!error) stop();
  });
  if (options_.length) {
    length_timer_.expires_after(*options_.length);
    length_timer_.async_wait([this](const error_code& error) {
      if (!error) stop();
    });
  }
  tcp_ ? accept() : read_datagrams();
  io_.run();
  return {};
}

void TrafficReceiver::read_datagrams() {
  udp_.async_wait(asio::ip::udp::socket::wait_read, [this](const error_code& gone) {
    if (gone) return;
    for (int i = 0; i < kReadsMax; ++i) {
      asio::ip::udp::endpoint from;
      error_code error;
      const std::size_t octets = udp_.receive_from(asio::buffer(datagram_), from, 0, error);
      if (error) break;
      core_.on_datagram(now(), from.address().to_string(), ByteSpan(datagram_).first(octets),
                        octets + headers_of(from));
    }
    end_if_over();
    if (udp_.is_open()) read_datagrams();
  });
}

void TrafficReceiver::accept() {
  acceptor_.async_accept([this](const error_code& error, asio::ip::tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error) {
      accept_timer_.expires_after(kAcceptRetry);
      accept_timer_.async_wait([this](const error_code& gone) {
        if (!gone && acceptor_.is_open()) accept();
      });
      return;
    }
    error_code unknown;
    const auto from = socket.remote_endpoint(unknown);
    const ReceiverCore::StreamId id = ++last_stream_;
    if (!unknown && core_.on_stream(id, from.address().to_string())) {
      connections_.emplace(id, Connection{std::move(socket)});
      read_stream(id);
    }
    accept();
  });
}

void TrafficReceiver::read_stream(ReceiverCore::StreamId id) {
  Connection& connection = connections_.at(id);
  connection.socket.async_read_some(
      asio::buffer(connection.octets), [this, id](const error_code& error, std::size_t octets) {
        const auto found = connections_.find(id);
        if (found == connections_.end()) return;
        const bool more = !error && core_.on_stream_octets(
                                        now(), id, ByteSpan(found->second.octets).first(octets));
        if (!more) close_stream(id);
        end_if_over();
        if (more && connections_.contains(id)) read_stream(id);
      });
}

void TrafficReceiver::close_stream(ReceiverCore::StreamId id) {
  core_.on_stream_end(id);
  connections_.erase(id);
}

/// Ends if all runs are over; otherwise looks again when nothing may have arrived for too long.
void TrafficReceiver::end_if_over() {
  if (core_.is_over(now().at)) return stop();
  const auto next = core_.next_deadline();
  if (!next) return;
  timer_.expires_at(started_ + next->time_since_epoch());
  timer_.async_wait([this](const error_code& error) {
    if (!error) end_if_over();
  });
}

void TrafficReceiver::stop() {
  error_code ignored;
  signals_.cancel(ignored);
  timer_.cancel();
  accept_timer_.cancel();
  length_timer_.cancel();
  acceptor_.close(ignored);
  udp_.close(ignored);
  connections_.clear();
}

}  // namespace s5066::traffic
