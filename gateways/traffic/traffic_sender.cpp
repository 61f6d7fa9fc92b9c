// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/traffic_sender.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

#include "gateways/traffic/probe.h"
#include "gateways/traffic/utc_now.h"

namespace s5066::traffic {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::steady_clock;

TrafficSender::TrafficSender(const SendOptions& options, std::uint16_t port, bool tcp,
                             std::uint32_t run)
    : options_(options), port_(port), tcp_(tcp), schedule_(options.plan) {
  figures_.run = run;
  if (options.plan.rate_bps > 0) {
    if (const auto count = LoadSchedule::count(options.plan)) planned_ = *count;
  } else if (options.plan.count && !options.plan.length) {
    planned_ = *options.plan.count;
  }
}

Result<SendFigures> TrafficSender::send() {
  opened_ = steady_clock::now();
  signals_.async_wait([this](const error_code& error, int) {
    if (!error) stop();
  });
  if (tcp_) {
    connect_tcp();
  } else {
    if (auto opened = open_udp(); !opened) return opened.error();
    start_run();
  }
  io_.run();
  if (failed_) return *failed_;
  return figures_;
}

Result<void> TrafficSender::set_options(int socket) const {
  const auto failure = [](const char* what) {
    return Error{ErrorCode::io, std::string(what) + ": " + std::strerror(errno)};
  };
  if (options_.dscp) {
    const int tos = *options_.dscp << 2;
    const bool v6 = asio::ip::make_address(options_.to).is_v6();
    const int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    const int name = v6 ? IPV6_TCLASS : IP_TOS;
    if (::setsockopt(socket, level, name, &tos, sizeof tos) != 0) return failure("DSCP");
  }
  if (!options_.congestion.empty()) {
    const std::string& name = options_.congestion;
    if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                     static_cast<socklen_t>(name.size())) != 0) {
      return failure("congestion control");
    }
  }
  return {};
}

Result<void> TrafficSender::open_udp() {
  error_code error;
  const asio::ip::udp::endpoint to(asio::ip::make_address(options_.to), port_);
  udp_.open(to.protocol(), error);
  if (!error) udp_.connect(to, error);
  if (!error) udp_.non_blocking(true, error);
  if (error) return Error{ErrorCode::io, error.message()};
  return set_options(udp_.native_handle());
}

void TrafficSender::fail(const std::string& what, const error_code& error) {
  if (!failed_) failed_ = Error{ErrorCode::io, what + ": " + error.message()};
  stop();
}

void TrafficSender::connect_tcp() {
  const asio::ip::tcp::endpoint to(asio::ip::make_address(options_.to), port_);
  error_code error;
  tcp_socket_.open(to.protocol(), error);
  if (error) return fail("socket", error);
  if (auto set = set_options(tcp_socket_.native_handle()); !set) {
    failed_ = set.error();
    return stop();
  }
  give_up_.expires_after(options_.connect_max);
  give_up_.async_wait([this](const error_code& gone) {
    if (!gone) fail("connection", asio::error::timed_out);
  });
  tcp_socket_.async_connect(to, [this](const error_code& refused) {
    if (refused == asio::error::operation_aborted) return;
    if (refused) return fail("connection", refused);
    give_up_.cancel();
    figures_.connected = since(opened_);
    start_run();
  });
}

Duration TrafficSender::since(steady_clock::time_point begin) const {
  return steady_clock::now() - begin;
}

void TrafficSender::start_run() {
  started_ = steady_clock::now();
  item_ = schedule_.next();
  next();
}

/// Waits until the next probe is due.
void TrafficSender::next() {
  if (!item_) return finish();
  const bool free_running = options_.plan.rate_bps <= 0;
  if (free_running && options_.plan.length && since(started_) >= *options_.plan.length) {
    return finish();
  }
  timer_.expires_at(started_ + item_->at);
  timer_.async_wait([this](const error_code& error) {
    if (!error) send_probe();
  });
}

void TrafficSender::send_probe() {
  const LoadSchedule::Item item = *item_;
  item_ = schedule_.next();
  probe_ = encode({.last = !item_,
                   .octets = item.octets - options_.headers,
                   .run = figures_.run,
                   .number = item.number,
                   .planned = planned_,
                   .line_rate_bps = options_.line_rate_bps,
                   .sent_us = static_cast<std::uint64_t>(utc_now_us())});
  if (!tcp_) {
    error_code error;
    udp_.send(asio::buffer(probe_), 0, error);
    if (error == asio::error::connection_refused) udp_.send(asio::buffer(probe_), 0, error);
    if (error) {
      ++figures_.refused;
      figures_.last_refusal = error.message();
    } else {
      ++figures_.sent;
      figures_.octets += item.octets;
    }
    return next();
  }
  asio::async_write(tcp_socket_, asio::buffer(probe_),
                    [this, item](const error_code& error, std::size_t) {
                      if (error == asio::error::operation_aborted) return;
                      if (error) return fail("connection", error);
                      ++figures_.sent;
                      figures_.octets += item.octets;
                      next();
                    });
}

/// Ends at once with UDP. With TCP the receiver closes when it has read everything.
void TrafficSender::finish() {
  if (!tcp_) {
    figures_.complete = true;
    return stop();
  }
  error_code error;
  tcp_socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  give_up_.expires_after(options_.connect_max);
  give_up_.async_wait([this](const error_code& gone) {
    if (!gone) fail("end of the connection", asio::error::timed_out);
  });
  tcp_socket_.async_read_some(asio::buffer(&answer_, 1),
                              [this](const error_code& end, std::size_t) {
                                if (end == asio::error::operation_aborted) return;
                                if (end != asio::error::eof)
                                  return fail("end of the connection", end);
                                figures_.complete = true;
                                stop();
                              });
}

void TrafficSender::stop() {
  figures_.took = since(opened_);
  signals_.cancel();
  timer_.cancel();
  give_up_.cancel();
  error_code ignored;
  if (!figures_.complete && tcp_socket_.is_open()) {
    // The kernel shall not send what it still holds.
    tcp_socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }
  tcp_socket_.close(ignored);
  udp_.close(ignored);
}

}  // namespace s5066::traffic
