// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/sis_session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <utility>

#include "s5066d/posix/tcp_progress.h"
#include "s5066d/runtime/gather.h"

namespace s5066::runtime {

namespace {
using boost::system::error_code;
using tcp = boost::asio::ip::tcp;

/// Interval at which a connection that is not read is checked for a client that has left.
constexpr auto kLookEvery = std::chrono::seconds(2);
constexpr std::size_t kWriteOctetsMax = 64 * 1024;
/// Intervals of the check for acknowledged octets. Nothing reports when the other end's TCP
/// acknowledges them, so they are checked soon after each write and then less and less often.
constexpr auto kTakenFirstLook = std::chrono::milliseconds(1);
constexpr auto kTakenLookMax = std::chrono::milliseconds(500);
/// Largest number of unacknowledged writes that are tracked separately; later ones count with the
/// last.
constexpr std::size_t kUntakenWritesMax = 1024;

tcp::socket& socket_of(PlainStream& stream) {
  return stream;
}
tcp::socket& socket_of(TlsStream& stream) {
  return stream.next_layer();
}
LocalStream& socket_of(LocalStream& stream) {
  return stream;
}

/// Announces that we send nothing more. The result is ignored, because inside TLS it fails as soon
/// as the other side sends more. The end of the other side's output shows that it has received it.
void say_goodbye(PlainStream& stream, const std::shared_ptr<void>&) {
  error_code ignored;
  stream.shutdown(tcp::socket::shutdown_send, ignored);
}
void say_goodbye(LocalStream& stream, const std::shared_ptr<void>&) {
  error_code ignored;
  stream.shutdown(LocalStream::shutdown_send, ignored);
}
void say_goodbye(TlsStream& stream, const std::shared_ptr<void>& owner) {
  stream.async_shutdown([owner](error_code) {});
}

/// Returns the octets of one segment to the other side; more if the stream has records of its own.
std::size_t segment_octets(PlainStream& stream) {
  int octets = 0;
  socklen_t size = sizeof octets;
  const bool known =
      ::getsockopt(stream.native_handle(), IPPROTO_TCP, TCP_MAXSEG, &octets, &size) == 0;
  return known && octets > 0 ? static_cast<std::size_t>(octets) : kWriteOctetsMax;
}
std::size_t segment_octets(TlsStream&) {
  return kWriteOctetsMax;
}
std::size_t segment_octets(LocalStream&) {
  return kWriteOctetsMax;
}

/// True if the other side has closed or reset the connection, even if input is still unread.
bool has_left(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_CLOSE;
}

bool has_left(LocalStream& socket) {
  pollfd look{.fd = socket.native_handle(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&look, 1, 0) != 0;
}

/// Writes what the socket takes at once, which saves a pass through the event loop. Inside TLS only
/// the asynchronous write knows what else the stream has to do. Later octets begin a segment of
/// their own.
std::size_t write_at_once(PlainStream& stream, ByteSpan octets, error_code& failure) {
  const std::size_t written = stream.send(boost::asio::buffer(octets.data(), octets.size()),
                                          tcp::socket::message_end_of_record, failure);
  if (failure == boost::asio::error::would_block) failure = {};
  return written;
}
std::size_t write_at_once(LocalStream& stream, ByteSpan octets, error_code& failure) {
  const std::size_t written =
      stream.send(boost::asio::buffer(octets.data(), octets.size()), 0, failure);
  if (failure == boost::asio::error::would_block) failure = {};
  return written;
}
std::size_t write_at_once(TlsStream&, ByteSpan, error_code&) {
  return 0;
}

/// Waits until the socket takes octets again; `done` gets how many it has taken since.
template <typename Done>
void write_later(PlainStream& stream, ByteSpan, Done&& done) {
  stream.async_wait(tcp::socket::wait_write,
                    [done = std::forward<Done>(done)](error_code failure) { done(failure, 0); });
}
template <typename Done>
void write_later(LocalStream& stream, ByteSpan, Done&& done) {
  stream.async_wait(LocalStream::wait_write,
                    [done = std::forward<Done>(done)](error_code failure) { done(failure, 0); });
}
template <typename Done>
void write_later(TlsStream& stream, ByteSpan octets, Done&& done) {
  boost::asio::async_write(stream, boost::asio::buffer(octets.data(), octets.size()),
                           std::forward<Done>(done));
}

template <typename Stream>
class SessionOver final : public SisSession,
                          public std::enable_shared_from_this<SessionOver<Stream>> {
 public:
  SessionOver(std::unique_ptr<Stream> stream, const SisSessionSetup& setup)
      : stream_(std::move(stream)),
        linger_(stream_->get_executor()),
        look_(stream_->get_executor()),
        taken_look_(stream_->get_executor()),
        id_(setup.id),
        owner_(&setup.owner),
        input_(setup.read_octets_max),
        linger_max_(setup.linger) {}

  void start() override {
    error_code ignored;
    socket_of(*stream_).non_blocking(true, ignored);
    segment_octets_ = std::min(segment_octets(*stream_), kWriteOctetsMax);
    read();
  }

  std::size_t send(const Bytes& bytes) override {
    if (finishing_) return unsent_octets();
    append(waiting_, bytes);
    write_soon();
    return unsent_octets();
  }

  void pause(bool paused) override {
    paused_ = paused;
    if (paused_) return look_whether_it_is_there();
    look_.cancel();
    // Reading is posted, because octets that were already read may again exceed the limit.
    boost::asio::post(stream_->get_executor(), [self = this->shared_from_this()] { self->read(); });
  }

  // Closing a socket with unread input would reset the connection and discard our last primitives.
  // So input is read and discarded until the client has closed its side too.
  void finish() override {
    if (finishing_) return;
    finishing_ = true;
    linger_.expires_after(linger_max_);
    linger_.async_wait([self = this->shared_from_this()](error_code cancelled) {
      if (!cancelled) self->end();
    });
    if (unsent_octets() == 0) say_that_this_was_all();
    read();
  }

  void abandon() override {
    owner_ = nullptr;
    error_code ignored;
    socket_of(*stream_).set_option(boost::asio::socket_base::linger(true, 0), ignored);
    end();
  }

 private:
  bool is_open() { return socket_of(*stream_).is_open(); }
  std::size_t unsent_octets() const { return writing_.size() - written_ + waiting_.size(); }

  void read() {
    if (reading_ || (paused_ && !finishing_) || !is_open()) return;
    reading_ = true;
    stream_->async_read_some(
        boost::asio::buffer(input_),
        [self = this->shared_from_this()](error_code failure, std::size_t count) {
          self->on_read(failure, count);
        });
  }

  // A connection that is not read does not report that the client has left, although others may
  // wait for its SAP.
  void look_whether_it_is_there() {
    look_.expires_after(kLookEvery);
    look_.async_wait([self = this->shared_from_this()](error_code cancelled) {
      if (cancelled || !self->paused_ || !self->is_open()) return;
      if (has_left(socket_of(*self->stream_))) return self->end(boost::asio::error::eof);
      self->look_whether_it_is_there();
    });
  }

  void on_read(error_code failure, std::size_t count) {
    reading_ = false;
    if (failure) {
      if (said_goodbye_ && failure != boost::asio::error::eof) return hear_out();
      input_over_ = true;
      const bool last_octets_leaving = finishing_ && failure == boost::asio::error::eof;
      if (!last_octets_leaving || unsent_octets() == 0) end(failure);
      return;
    }
    if (owner_ && !finishing_) owner_->on_session_bytes(id_, ByteSpan(input_.data(), count));
    read();
  }

  // The write is posted, so that other output of the same event leaves with it.
  void write_soon() {
    if (writing_now_ || std::exchange(write_is_due_, true)) return;
    boost::asio::post(stream_->get_executor(), [self = this->shared_from_this()] {
      self->write_is_due_ = false;
      self->write();
    });
  }

  void write() {
    while (!writing_now_ && is_open() && unsent_octets() > 0) {
      const ByteSpan next = next_octets();
      error_code failure;
      const std::size_t octets = write_at_once(*stream_, next, failure);
      if (failure || octets > 0) {
        on_written(failure, octets);
        continue;
      }
      writing_now_ = true;
      write_later(*stream_, next,
                  [self = this->shared_from_this()](error_code late, std::size_t taken) {
                    self->writing_now_ = false;
                    self->on_written(late, taken);
                    self->write();
                  });
    }
    tell_what_was_taken();
  }

  /// Notes written octets. If the system does not count acknowledgements, written octets count as
  /// taken.
  void note_written(std::size_t octets) {
    if (octets == 0) return;
    written_total_ += octets;
    const auto progress = posix::tcp_progress(socket_of(*stream_).native_handle());
    const Write write{progress ? progress->written : 0, written_total_};
    if (untaken_.size() >= kUntakenWritesMax) {
      untaken_.back() = write;
    } else {
      untaken_.push_back(write);
    }
    if (!taken_look_is_due_) taken_wait_ = kTakenFirstLook;
  }

  void tell_what_was_taken() {
    if (untaken_.empty() || !is_open()) return;
    const auto progress = posix::tcp_progress(socket_of(*stream_).native_handle());
    std::uint64_t taken = taken_total_;
    while (!untaken_.empty() && (!progress || untaken_.front().on_wire <= progress->acknowledged)) {
      taken = untaken_.front().octets;
      untaken_.pop_front();
    }
    const std::uint64_t more = taken - std::exchange(taken_total_, taken);
    if (!untaken_.empty()) look_again_what_was_taken(more > 0);
    if (more > 0 && owner_) owner_->on_session_taken(id_, more);
  }

  void look_again_what_was_taken(bool progressed) {
    if (std::exchange(taken_look_is_due_, true)) return;
    taken_wait_ = progressed ? kTakenFirstLook : std::min(2 * taken_wait_, kTakenLookMax);
    taken_look_.expires_after(taken_wait_);
    taken_look_.async_wait([self = this->shared_from_this()](error_code cancelled) {
      self->taken_look_is_due_ = false;
      if (!cancelled) self->tell_what_was_taken();
    });
  }

  /// Returns the rest of a write that has begun, or whole primitives.
  ByteSpan next_octets() {
    if (written_ == writing_.size()) {
      written_ = write_to_ = 0;
      if (writing_.capacity() > kWriteOctetsMax) writing_ = {};  // a backlog has been sent
      writing_.clear();
      std::swap(writing_, waiting_);
    }
    if (written_ == write_to_) {
      write_to_ += octets_of_whole_frames(ByteSpan(writing_).subspan(written_), segment_octets_);
    }
    return ByteSpan(writing_).subspan(written_, write_to_ - written_);
  }

  void on_written(error_code failure, std::size_t octets) {
    if (failure) {
      end(failure);
      return;
    }
    written_ += octets;
    note_written(octets);
    if (unsent_octets() == 0) {
      written_ = write_to_ = 0;
      writing_.clear();
      if (finishing_) say_that_this_was_all();
      if (finishing_ && input_over_) end();
    }
  }

  void say_that_this_was_all() {
    said_goodbye_ = true;
    say_goodbye(*stream_, this->shared_from_this());
  }

  // TLS ends when the client sends more after our close_notify, but its connection does not.
  void hear_out() {
    socket_of(*stream_).async_read_some(boost::asio::buffer(input_),
                                        [self = this->shared_from_this()](error_code over, auto) {
                                          over ? self->end() : self->hear_out();
                                        });
  }

  void end(error_code why = {}) {
    error_code ignored;
    tell_what_was_taken();
    socket_of(*stream_).close(ignored);
    linger_.cancel();
    look_.cancel();
    taken_look_.cancel();
    SisSessionOwner* owner = std::exchange(owner_, nullptr);
    if (owner) owner->on_session_over(id_, why, unsent_octets());
  }

  std::unique_ptr<Stream> stream_;
  boost::asio::steady_timer linger_;
  boost::asio::steady_timer look_;        // used while paused
  boost::asio::steady_timer taken_look_;  // used while `untaken_` is not empty
  const ClientId id_;
  SisSessionOwner* owner_;  // null once it needs no more calls
  Bytes input_;
  const Duration linger_max_;
  // The node bounds the size, because it is told how much waits.
  Bytes writing_;  // being written, from `written_` on
  std::size_t written_ = 0;
  std::size_t segment_octets_ = kWriteOctetsMax;
  std::size_t write_to_ = 0;  // end of the part of `writing_` that is written at a time
  Bytes waiting_;             // written next
  struct Write {
    std::uint64_t on_wire = 0;  // octets of the connection up to the end of this write
    std::uint64_t octets = 0;   // octets of send() up to the end of this write
  };
  std::deque<Write> untaken_;  // written, and not acknowledged by the other end
  std::uint64_t written_total_ = 0;
  std::uint64_t taken_total_ = 0;
  std::chrono::milliseconds taken_wait_ = kTakenFirstLook;
  bool taken_look_is_due_ = false;
  bool write_is_due_ = false;
  bool writing_now_ = false;  // an asynchronous write is under way
  bool paused_ = false;
  bool reading_ = false;
  bool finishing_ = false;
  bool said_goodbye_ = false;
  bool input_over_ = false;
};

}  // namespace

std::shared_ptr<SisSession> make_session(PlainStream stream, const SisSessionSetup& setup) {
  return std::make_shared<SessionOver<PlainStream>>(
      std::make_unique<PlainStream>(std::move(stream)), setup);
}

std::shared_ptr<SisSession> make_session(LocalStream stream, const SisSessionSetup& setup) {
  return std::make_shared<SessionOver<LocalStream>>(
      std::make_unique<LocalStream>(std::move(stream)), setup);
}

std::shared_ptr<SisSession> make_session(std::unique_ptr<TlsStream> stream,
                                         const SisSessionSetup& setup) {
  return std::make_shared<SessionOver<TlsStream>>(std::move(stream), setup);
}

}  // namespace s5066::runtime
