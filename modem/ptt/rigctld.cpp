#include "modem/ptt/rigctld.h"

#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kAnswerMax = 128;
/// From one question whether the radio is unkeyed to the next.
constexpr Duration kAskPause = std::chrono::milliseconds(20);

}  // namespace

/// A connection, and how much of what was sent on it has had no answer. rigctld works off the lines
/// of one connection in their order, those of two in any.
class RigctldConnection {
 public:
  RigctldConnection(posix::Fd socket, bool data_input)
      : socket_(std::move(socket)), data_input_(data_input) {}

  /// Sends a line and waits for every answer there is to come; the last one counts.
  Result<void> ask(bool on, Duration timeout) {
    if (auto sent = send(on); !sent) return sent;
    return settle(timeout);
  }
  bool unanswered() const {
    const std::lock_guard lock(mutex_);
    return unanswered_ > 0;
  }
  bool keying_unanswered() const {
    const std::lock_guard lock(mutex_);
    return up_to_keying_ > 0;
  }

 private:
  Result<void> send(bool on);
  Result<void> settle(Duration timeout);
  Result<void> take(std::string_view octets);
  void on_answer();
  void on_end();

  posix::Fd socket_;
  bool data_input_;
  std::mutex reading_;  // of the thread that waits for answers, and of the line
  std::string line_;
  mutable std::mutex mutex_;  // guards all below; not held while waiting
  unsigned unanswered_ = 0;
  unsigned up_to_keying_ = 0;  // so many of them up to the answer to the newest keying
  Result<void> newest_answer_;
};

/// Does not wait. Where the line before was the same "T 0", and has had no answer, that one will
/// do.
Result<void> RigctldConnection::send(bool on) {
  const std::string_view keys = data_input_ ? "T 3\n" : "T 1\n";
  const std::string_view line = on ? keys : "T 0\n";
  const Bytes octets(line.begin(), line.end());
  const std::lock_guard lock(mutex_);
  if (!on && unanswered_ > up_to_keying_) return {};
  if (auto sent = posix::send_all(socket_.get(), octets, Duration::zero()); !sent) return sent;
  ++unanswered_;
  if (on) up_to_keying_ = unanswered_;
  return {};
}

Result<void> RigctldConnection::settle(Duration timeout) {
  const std::unique_lock reading(reading_, std::try_to_lock);
  if (!reading) return Error{ErrorCode::timed_out, "rigctld: another thread waits for it"};
  const Duration end = posix::monotonic_now() + timeout;
  while (unanswered()) {
    std::array<char, kAnswerMax> part;
    const auto octets = std::as_writable_bytes(std::span(part));
    const auto got = posix::receive_some(
        socket_.get(), {reinterpret_cast<std::uint8_t*>(octets.data()), octets.size()},
        end - posix::monotonic_now());
    if (!got && got.error().code != ErrorCode::timed_out) on_end();
    if (!got) return Error{got.error().code, "rigctld: " + got.error().detail};
    if (auto taken = take({part.data(), *got}); !taken) return taken;
  }
  const std::lock_guard lock(mutex_);
  return newest_answer_;
}

Result<void> RigctldConnection::take(std::string_view octets) {
  for (const char octet : octets) {
    if (octet == '\n') {
      on_answer();
    } else if (line_.size() == kAnswerMax) {
      return Error{ErrorCode::too_large, "answer of rigctld"};
    } else {
      line_.push_back(octet);
    }
  }
  return {};
}

void RigctldConnection::on_answer() {
  const std::string line = std::exchange(line_, {});
  const std::lock_guard lock(mutex_);
  if (unanswered_ > 0) --unanswered_;
  if (up_to_keying_ > 0) --up_to_keying_;
  newest_answer_ = {};
  if (line != "RPRT 0") newest_answer_ = Error{ErrorCode::refused, "rigctld: " + line};
}

/// rigctld does no more of what came on a connection that it has closed.
void RigctldConnection::on_end() {
  const std::lock_guard lock(mutex_);
  unanswered_ = up_to_keying_ = 0;
}

// --- The key
// -------------------------------------------------------------------------------------------

RigctldPtt::~RigctldPtt() {
  if (keyed_) static_cast<void>(key(false));
}

std::shared_ptr<RigctldConnection> RigctldPtt::connection() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

void RigctldPtt::set_connection(std::shared_ptr<RigctldConnection> connection) {
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
}

Result<std::shared_ptr<RigctldConnection>> RigctldPtt::connect() const {
  auto socket = posix::connect_loopback(config_.port, config_.timeout);
  if (!socket) return socket.error();
  return std::make_shared<RigctldConnection>(std::move(*socket), config_.data_input);
}

Result<void> RigctldPtt::key(bool on) {
  if (on) keyed_ = true;  // perhaps, from now on
  auto to = connection();
  const bool unknown = !to || to->unanswered();
  if (!to) {
    auto connected = connect();
    if (!connected) return connected.error();
    to = *connected;
    set_connection(to);
  }
  Result<void> done;
  if (on && unknown) done = to->ask(false, config_.timeout);
  if (done) done = to->ask(on, config_.timeout);
  if (done) {
    if (!on) done = await_unkeyed();
    if (done) keyed_ = on;
  } else if (done.error().code != ErrorCode::timed_out || !to->keying_unanswered()) {
    set_connection(nullptr);
  }
  return done;
}

Result<void> RigctldPtt::release() {
  const auto first = connection();
  if (first && first->ask(false, config_.timeout)) return {};
  const auto second = connect();
  if (!second) return second.error();
  if (auto unkeyed = (*second)->ask(false, config_.timeout); !unkeyed) return unkeyed;
  if (first && first->keying_unanswered()) {
    return Error{ErrorCode::timed_out, "rigctld: unkeyed, but may still key"};
  }
  return {};
}

/// The whole time once: after that who insists asks again, and has other things to do between.
Result<void> RigctldPtt::await_unkeyed() {
  const Duration until = posix::monotonic_now() + (stuck_ ? Duration::zero() : config_.settle);
  for (;;) {
    const auto unkeyed = confirm_unkeyed();
    stuck_ = !unkeyed && unkeyed.error().code == ErrorCode::refused;
    if (unkeyed) return {};
    if (!stuck_ || posix::monotonic_now() >= until) return unkeyed.error();
    std::this_thread::sleep_for(kAskPause);
  }
}

/// "0" is unkeyed, "1" to "3" are ways to be keyed, and "RPRT" says that nobody knows.
Result<Unkeyed> RigctldPtt::confirm_unkeyed() {
  const auto socket = posix::connect_loopback(config_.port, config_.timeout);
  if (!socket) return socket.error();
  const Bytes question = {'t', '\n'};
  const auto sent = posix::send_all(socket->get(), question, Duration::zero());
  if (!sent) return sent.error();
  const Duration end = posix::monotonic_now() + config_.timeout;
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < kAnswerMax) {
    Bytes part(kAnswerMax);
    const auto got = posix::receive_some(socket->get(), part, end - posix::monotonic_now());
    if (!got) return Error{got.error().code, "rigctld: " + got.error().detail};
    line.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*got));
  }
  const bool keyed = line == "1\n" || line == "2\n" || line == "3\n";
  if (keyed) return Error{ErrorCode::refused, "rigctld: the transmitter is keyed"};
  return line == "0\n" ? Unkeyed::confirmed : Unkeyed::untold;
}

std::string key_name(const RigctldPtt::Config& rigctld) {
  return "rigctld " + std::to_string(rigctld.port);
}

}  // namespace s5066::modem
