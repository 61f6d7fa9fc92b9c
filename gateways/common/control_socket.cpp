#include "gateways/common/control_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gateways/common/unique_fd.h"

namespace s5066::gateways {

namespace asio = boost::asio;
using asio::local::stream_protocol;

namespace {

constexpr std::size_t kAnswerOctetsMax = 1u << 20;

Error os_error(const std::string& what) {
  return Error{ErrorCode::io, what + ": " + std::strerror(errno)};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Only a refused connection proves that nobody listens; no other failure does, and the probe must
// not wait for a process that does not accept.
Result<void> remove_dead_socket(const std::string& path, const std::string& what) {
  struct stat existing {};
  if (::lstat(path.c_str(), &existing) != 0) return {};  // bind() says what is wrong, if anything
  if (!S_ISSOCK(existing.st_mode)) {
    return Error{ErrorCode::already_exists, what + ": something else is in its place"};
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return os_error(what);
  const sockaddr_un address = address_of(path);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), generic, sizeof address) == 0 || errno == EAGAIN) {
    return Error{ErrorCode::already_exists, what + ": another process answers there"};
  }
  if (errno != ECONNREFUSED) return os_error(what + ": cannot tell whether it is in use");
  if (::unlink(path.c_str()) != 0) return os_error(what);
  return {};
}

}  // namespace

// One connection; it keeps itself alive until its answer is written or its time is up.
class ControlSocket::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(stream_protocol::socket socket, Answer answer, std::shared_ptr<std::size_t> sessions)
      : socket_(std::move(socket)),
        timeout_(socket_.get_executor()),
        answer_(std::move(answer)),
        sessions_(std::move(sessions)) {
    ++*sessions_;
  }
  ~Session() { --*sessions_; }

  void start() {
    timeout_.expires_after(kRequestTimeout);
    timeout_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
      const auto self = weak.lock();
      boost::system::error_code ignored;
      if (!error && self) self->socket_.close(ignored);
    });
    asio::async_read_until(
        socket_, asio::dynamic_buffer(request_, kRequestOctetsMax), '\n',
        [self = shared_from_this()](boost::system::error_code error, std::size_t octets) {
          if (!error) self->reply(octets);
        });
  }

 private:
  void reply(std::size_t octets) {
    reply_ = answer_(std::string_view(request_).substr(0, octets - 1));
    asio::async_write(socket_, asio::buffer(reply_),
                      [self = shared_from_this()](boost::system::error_code, std::size_t) {
                        boost::system::error_code ignored;
                        self->timeout_.cancel();
                        self->socket_.close(ignored);
                      });
  }

  stream_protocol::socket socket_;
  asio::steady_timer timeout_;
  Answer answer_;
  std::shared_ptr<std::size_t> sessions_;
  std::string request_;
  std::string reply_;
};

ControlSocket::ControlSocket(asio::io_context& io, std::string path, Answer answer)
    : path_(std::move(path)), answer_(std::move(answer)), acceptor_(io), retry_(io) {}

ControlSocket::~ControlSocket() {
  if (bound_) ::unlink(path_.c_str());
}

Result<void> ControlSocket::open() {
  sockaddr_un limits{};
  const std::string what = "control socket " + path_;
  if (path_.size() >= sizeof limits.sun_path) {
    return Error{ErrorCode::too_large, what + ": the path is too long"};
  }
  if (auto removed = remove_dead_socket(path_, what); !removed) return removed;
  boost::system::error_code error;
  acceptor_.open(stream_protocol(), error);
  const ::mode_t old_mask = ::umask(0177);
  if (!error) acceptor_.bind(stream_protocol::endpoint(path_), error);
  ::umask(old_mask);
  bound_ = !error;
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Error{ErrorCode::io, what + ": " + error.message()};
  accept();
  return {};
}

void ControlSocket::accept() {
  acceptor_.async_accept([this](boost::system::error_code error, stream_protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Such as no descriptor left; at once it would only fail again.
      retry_.expires_after(kAcceptRetry);
      retry_.async_wait([this](boost::system::error_code cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    if (*sessions_ < kClientsMax) {
      std::make_shared<Session>(std::move(socket), answer_, sessions_)->start();
    }
    accept();
  });
}

Result<std::string> ask_control(const std::string& path, const std::string& request,
                                std::chrono::milliseconds timeout) {
  const std::string what = "control socket " + path;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) return Error{ErrorCode::too_large, what};
  const sockaddr_un address = address_of(path);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return os_error(what);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return os_error(what);
  }
  const std::string line = request + "\n";
  if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return os_error(what);
  }
  std::string answer;
  while (answer.size() < kAnswerOctetsMax) {
    pollfd ready{socket.get(), POLLIN, 0};
    const int n = ::poll(&ready, 1, static_cast<int>(timeout.count()));
    if (n == 0) return Error{ErrorCode::timed_out, what};
    char buffer[4096];
    const ssize_t octets = n < 0 ? -1 : ::read(socket.get(), buffer, sizeof buffer);
    if (octets < 0 && errno == EINTR) continue;
    if (octets < 0) return os_error(what);
    if (octets == 0 && answer.empty()) return Error{ErrorCode::io, what + ": no answer"};
    if (octets == 0) return answer;
    answer.append(buffer, static_cast<std::size_t>(octets));
  }
  return Error{ErrorCode::too_large, what};
}

std::string link_state(std::string_view status_json, std::string_view peer) {
  // The text of the next string value after a key; moves `from` behind it.
  const auto value_after = [&](std::string_view key, std::size_t& from) {
    const std::size_t at = status_json.find(key, from);
    const std::size_t colon = at == std::string_view::npos ? at : status_json.find(':', at);
    const std::size_t open = colon == std::string_view::npos ? colon : status_json.find('"', colon);
    const std::size_t close =
        open == std::string_view::npos ? open : status_json.find('"', open + 1);
    from = close;
    return close == std::string_view::npos ? std::string_view()
                                           : status_json.substr(open + 1, close - open - 1);
  };
  std::size_t from = 0;
  while (from != std::string_view::npos) {
    if (value_after("\"peer\"", from) == peer && from != std::string_view::npos) {
      return std::string(value_after("\"state\"", from));
    }
  }
  return {};
}

}  // namespace s5066::gateways
