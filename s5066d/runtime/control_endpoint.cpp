#include "s5066d/runtime/control_endpoint.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <istream>
#include <utility>

namespace s5066::runtime {

namespace {
using boost::system::error_code;
using local = boost::asio::local::stream_protocol;

constexpr std::size_t kAnswerOctetsMax = 16 * 1024 * 1024;
constexpr auto kAcceptRetry = std::chrono::seconds(1);

// Only a refused connection proves that nobody listens; no other failure does, and the probe must
// not wait for a process that does not accept.
error_code probe(boost::asio::io_context& io, const std::string& path) {
  error_code failure;
  local::socket socket(io);
  socket.open(local(), failure);
  if (!failure) socket.native_non_blocking(true, failure);
  if (failure) return failure;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.native_handle(), generic, sizeof address) == 0) return {};
  return {errno, boost::system::system_category()};
}
}  // namespace

/// A client that asks for nothing or does not read is closed after the time-out and holds up
/// nobody.
class ControlEndpoint::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(local::socket socket, const ControlEndpoint& endpoint)
      : socket_(std::move(socket)),
        timeout_(socket_.get_executor()),
        answer_of_(endpoint.answer_),
        request_(endpoint.config_.request_octets_max) {}

  void start(Duration timeout) {
    timeout_.expires_after(timeout);
    timeout_.async_wait([weak = weak_from_this()](error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self) self->close();
    });
    boost::asio::async_read_until(socket_, request_, '\n',
                                  [self = shared_from_this()](error_code failure, std::size_t) {
                                    if (!failure) self->on_request();
                                  });
  }

  /// It has not asked for anything yet.
  bool idle() const { return text_.empty(); }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void on_request() {
    std::istream stream(&request_);
    std::string request;
    std::getline(stream, request);
    const auto answer = answer_of_(request);
    text_ = answer ? *answer : "error: " + to_string(answer.error());
    if (text_.empty() || text_.back() != '\n') text_.push_back('\n');
    boost::asio::async_write(socket_, boost::asio::buffer(text_),
                             [self = shared_from_this()](error_code, std::size_t) {
                               self->close();
                               self->timeout_.cancel();
                             });
  }

  local::socket socket_;
  boost::asio::steady_timer timeout_;
  Answer answer_of_;
  boost::asio::streambuf request_;
  std::string text_;
};

ControlEndpoint::ControlEndpoint(boost::asio::io_context& io, const ControlConfig& config,
                                 Answer answer, LogSink& log)
    : config_(config), answer_(std::move(answer)), log_(log), io_(io), acceptor_(io), retry_(io) {}

ControlEndpoint::~ControlEndpoint() {
  stop();
}

Result<void> ControlEndpoint::open() {
  const std::string& path = config_.socket_path;
  const auto fail = [&](const std::string& why) {
    return Error{ErrorCode::io, "control socket " + path + ": " + why};
  };
  if (path.size() >= sizeof(sockaddr_un::sun_path)) return fail("path too long");
  error_code failure;
  struct stat existing {};
  if (::lstat(path.c_str(), &existing) == 0) {
    if (!S_ISSOCK(existing.st_mode)) return fail("something else is in its place");
    failure = probe(io_, path);
    if (!failure || failure == boost::asio::error::would_block) {
      return fail("another process answers there");
    }
    if (failure != boost::asio::error::connection_refused) {
      return fail("cannot tell whether it is in use: " + failure.message());
    }
    if (::unlink(path.c_str()) != 0) {
      return fail(error_code(errno, boost::system::system_category()).message());
    }
    failure.clear();
  }
  acceptor_.open(local(), failure);
  if (failure) return fail(failure.message());
  // The mode must hold from the first moment on, so the mask and not a later chmod gives it.
  const mode_t mask = ::umask(0177);
  acceptor_.bind(local::endpoint(path), failure);
  ::umask(mask);
  if (failure) return fail(failure.message());
  bound_ = true;
  acceptor_.listen(boost::asio::socket_base::max_listen_connections, failure);
  if (failure) return fail(failure.message());
  accept();
  return {};
}

void ControlEndpoint::accept() {
  acceptor_.async_accept([this](error_code failure, local::socket socket) {
    if (!acceptor_.is_open()) return;
    if (failure) {
      LogLine(log_, LogLevel::error, "control_accept_failed").kv("reason", failure.message());
      retry_.expires_after(kAcceptRetry);
      retry_.async_wait([this](error_code cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    if (make_room()) {
      const auto session = std::make_shared<Session>(std::move(socket), *this);
      sessions_.push_back(session);
      session->start(config_.request_timeout);
    }
    accept();
  });
}

// Clients that only sit there must not keep an operator out: the oldest of them has to go.
bool ControlEndpoint::make_room() {
  std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
  if (sessions_.size() < config_.clients_max) return true;
  const auto oldest = std::find_if(sessions_.begin(), sessions_.end(),
                                   [](const auto& session) { return session.lock()->idle(); });
  if (oldest == sessions_.end()) return false;
  oldest->lock()->close();
  sessions_.erase(oldest);
  return true;
}

void ControlEndpoint::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  if (std::exchange(bound_, false)) ::unlink(config_.socket_path.c_str());
}

Result<std::string> ask_control(const std::string& socket_path, const std::string& request,
                                Duration timeout) {
  const auto fail = [&](const error_code& failure) {
    return Error{ErrorCode::io, "control socket " + socket_path + ": " + failure.message()};
  };
  if (socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{ErrorCode::too_large, "control socket " + socket_path + ": path too long"};
  }
  boost::asio::io_context io;
  local::socket socket(io);
  error_code failure;
  socket.connect(local::endpoint(socket_path), failure);
  if (failure) return fail(failure);

  const std::string line = request + "\n";
  boost::asio::streambuf answer(kAnswerOctetsMax);
  error_code outcome = boost::asio::error::timed_out;
  boost::asio::async_write(socket, boost::asio::buffer(line), [&](error_code e, std::size_t) {
    if (e) {
      outcome = e;
      return;
    }
    boost::asio::async_read(socket, answer, [&](error_code end, std::size_t) { outcome = end; });
  });
  io.run_for(timeout);
  if (outcome != boost::asio::error::eof) return fail(outcome);
  if (answer.size() == 0) {
    return Error{ErrorCode::io, "control socket " + socket_path + ": no answer"};
  }
  return std::string(boost::asio::buffers_begin(answer.data()),
                     boost::asio::buffers_end(answer.data()));
}

}  // namespace s5066::runtime
