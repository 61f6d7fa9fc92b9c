// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/proxy_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace s5066::ip_client {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Time that a SOCKS5 client has for its request.
constexpr std::chrono::seconds kRequestTime{30};
/// A client that speaks first does so within this time after it has its connection.
constexpr std::chrono::milliseconds kFirstOctetsTime{150};

}  // namespace

ProxyConnection::ProxyConnection(Tcp::socket socket, const Hooks& hooks)
    : socket_(std::move(socket)), timer_(socket_.get_executor()), hooks_(&hooks) {
  error_code ignored;
  socket_.set_option(Tcp::no_delay(true), ignored);
  // If this process is killed, the kernel resets the connection. Otherwise the application would
  // see a regular end in the middle of its octets.
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
}

// --- SOCKS5 --------------------------------------------------------------------------------------

void ProxyConnection::serve_socks() {
  timer_.expires_after(kRequestTime);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error && !self->closed_) self->hooks_->nonsense(self);
  });
  read_request();
}

void ProxyConnection::read_request() {
  socket_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](error_code error, std::size_t octets) {
                            if (self->closed_) return;
                            if (error) return self->hooks_->nonsense(self);
                            Socks5& socks = self->socks_;
                            socks.on_octets(ByteSpan(self->buffer_).first(octets));
                            if (auto reply = socks.poll_reply()) self->write(std::move(*reply));
                            switch (socks.state()) {
                              case Socks5::State::failed:
                                return self->hooks_->nonsense(self);
                              case Socks5::State::requested:
                                self->timer_.cancel();
                                self->target_ = socks.target();
                                return self->hooks_->requested(self);
                              default:
                                return self->read_request();
                            }
                          });
}

void ProxyConnection::admit() {
  write(Socks5::answer(Socks5::Reply::succeeded));
  untaken_ = socks_.rest();
  wait_for_first_octets();
}

/// Sends the reply and ends the connection. The kernel still sends the reply after the socket is
/// closed.
void ProxyConnection::refuse(Socks5::Reply reply) {
  write(Socks5::answer(reply));
  end();
}

void ProxyConnection::end() {
  timer_.cancel();
  read_ended_ = true;
  write_end();
}

// --- From the start to the stream ----------------------------------------------------------------

void ProxyConnection::serve_intercepted(const streams::Target& target) {
  target_ = target;
  wait_for_first_octets();
}

void ProxyConnection::serve_connected() {
  ready_ = true;
  read();
}

void ProxyConnection::wait_for_first_octets() {
  if (!untaken_.empty()) return become_ready();
  timer_.expires_after(kFirstOctetsTime);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error && !self->closed_) self->become_ready();
  });
  read();
}

void ProxyConnection::become_ready() {
  if (std::exchange(ready_, true)) return;
  timer_.cancel();
  hooks_->ready(shared_from_this());
  if (closed_ || untaken_.empty()) return;
  on_writable();
}

// --- From the application to the stream ----------------------------------------------------------

void ProxyConnection::read() {
  if (reading_ || read_ended_ || closed_ || !untaken_.empty()) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](error_code error, std::size_t octets) {
                            self->reading_ = false;
                            if (self->closed_) return;
                            if (error == asio::error::eof) {
                              self->read_ended_ = true;
                              self->become_ready();
                              if (self->closed_) return;
                              self->hooks_->read_end(self);
                              return self->end_if_over();
                            }
                            if (error) return self->fail();
                            self->give(octets);
                          });
}

void ProxyConnection::give(std::size_t octets) {
  untaken_.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(octets));
  if (!ready_) return become_ready();
  on_writable();
}

void ProxyConnection::on_writable() {
  if (closed_ || !ready_) return;
  if (!untaken_.empty()) {
    const std::size_t taken = hooks_->read(shared_from_this(), untaken_);
    untaken_.erase(untaken_.begin(), untaken_.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  read();
}

// --- From the stream to the application ----------------------------------------------------------

void ProxyConnection::write(Bytes octets) {
  if (closed_) return;
  out_.push_back(std::move(octets));
  write_next();
}

void ProxyConnection::write_end() {
  write_end_wanted_ = true;
  write_next();
}

void ProxyConnection::write_next() {
  if (writing_ || closed_) return;
  if (out_.empty()) {
    if (!write_end_wanted_ || write_ended_) return;
    write_ended_ = true;
    error_code ignored;
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    return end_if_over();
  }
  writing_ = true;
  asio::async_write(socket_, asio::buffer(out_.front()),
                    [self = shared_from_this()](error_code error, std::size_t octets) {
                      self->writing_ = false;
                      if (self->closed_) return;
                      if (error) return self->fail();
                      self->out_.pop_front();
                      if (self->stream) self->hooks_->written(self, octets);
                      self->write_next();
                    });
}

// --- The end -------------------------------------------------------------------------------------

void ProxyConnection::end_if_over() {
  if (closed_ || !read_ended_ || !write_ended_) return;
  close(false);
  hooks_->over(shared_from_this(), false);
}

void ProxyConnection::fail() {
  close(true);
  hooks_->over(shared_from_this(), true);
}

void ProxyConnection::close(bool reset) {
  if (std::exchange(closed_, true)) return;
  timer_.cancel();
  out_.clear();
  error_code ignored;
  if (!reset) socket_.set_option(asio::socket_base::linger(false, 0), ignored);
  socket_.close(ignored);
}

}  // namespace s5066::ip_client
