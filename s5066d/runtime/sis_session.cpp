#include "s5066d/runtime/sis_session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

namespace s5066::runtime {

namespace {
using boost::system::error_code;
using tcp = boost::asio::ip::tcp;

/// A client that does not take its last primitives in this time has lost them.
constexpr auto kLinger = std::chrono::seconds(5);
/// The node is told of a shrinking backlog in steps of this size, and when it is gone.
constexpr std::size_t kBacklogStep = 64 * 1024;
}  // namespace

SisSession::SisSession(tcp::socket socket, ClientId id, std::size_t read_octets_max,
                       SisSessionOwner& owner)
    : socket_(std::move(socket)),
      linger_(socket_.get_executor()),
      id_(id),
      owner_(&owner),
      input_(read_octets_max) {
  error_code ignored;
  // Each primitive leaves in one segment and at once: some dissectors and clients want it so.
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
}

std::size_t SisSession::send(Bytes bytes) {
  if (finishing_) return unsent_octets_;
  unsent_octets_ += bytes.size();
  unsent_.push_back(std::move(bytes));
  if (unsent_.size() == 1) write();
  unsent_reported_ = unsent_octets_;
  return unsent_octets_;
}

void SisSession::pause(bool paused) {
  paused_ = paused;
  read();
}

void SisSession::read() {
  if (reading_ || (paused_ && !finishing_) || !socket_.is_open()) return;
  reading_ = true;
  socket_.async_read_some(boost::asio::buffer(input_),
                          [self = shared_from_this()](error_code failure, std::size_t count) {
                            self->on_read(failure, count);
                          });
}

void SisSession::on_read(error_code failure, std::size_t count) {
  reading_ = false;
  if (failure) {
    input_over_ = true;
    const bool last_octets_leaving = finishing_ && failure == boost::asio::error::eof;
    if (!last_octets_leaving || unsent_.empty()) end();
    return;
  }
  if (owner_ && !finishing_) owner_->on_session_bytes(id_, ByteSpan(input_.data(), count));
  read();
}

void SisSession::write() {
  boost::asio::async_write(
      socket_, boost::asio::buffer(unsent_.front()),
      [self = shared_from_this()](error_code failure, std::size_t) { self->on_written(failure); });
}

void SisSession::on_written(error_code failure) {
  if (failure) {
    end();
    return;
  }
  unsent_octets_ -= unsent_.front().size();
  unsent_.pop_front();
  if (!unsent_.empty()) {
    write();
  } else if (finishing_) {
    say_goodbye();
    if (input_over_) end();
  }
  const bool much_less = unsent_octets_ + kBacklogStep <= unsent_reported_;
  if (owner_ && !finishing_ && (much_less || (unsent_octets_ == 0 && unsent_reported_ > 0))) {
    unsent_reported_ = unsent_octets_;
    owner_->on_session_backlog(id_, unsent_octets_);
  }
}

// Closing a socket with unread input would reset the connection and take our last primitives with
// it, so input is read and thrown away until the client has closed its side too.
void SisSession::finish() {
  if (finishing_) return;
  finishing_ = true;
  linger_.expires_after(kLinger);
  linger_.async_wait([self = shared_from_this()](error_code cancelled) {
    if (!cancelled) self->end();
  });
  if (unsent_.empty()) say_goodbye();
  read();
}

void SisSession::say_goodbye() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void SisSession::end() {
  error_code ignored;
  socket_.close(ignored);
  linger_.cancel();
  SisSessionOwner* owner = std::exchange(owner_, nullptr);
  if (owner) owner->on_session_over(id_);
}

void SisSession::abandon() {
  owner_ = nullptr;
  end();
}

}  // namespace s5066::runtime
