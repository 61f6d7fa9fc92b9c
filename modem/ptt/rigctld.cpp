// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/rigctld.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kAnswerMax = 128;
/// This is the pause between two questions whether the radio is unkeyed.
constexpr Duration kAskPause = std::chrono::milliseconds(20);
constexpr std::string_view kRefusal = "RPRT ";

/// These texts explain the negative numbers behind RPRT, from 1 on, after hamlib's rig_errcode_e.
constexpr std::array<std::string_view, 20> kRefusals = {
    "rigctld cannot do that with this radio; was it started without a way to key (option -P)?",
    "the configuration of rigctld is not valid",
    "rigctld has no memory left",
    "hamlib has no such function for this radio",
    "the radio did not answer in time",
    "the port of the radio cannot be read or written",
    "an internal error of hamlib",
    "the radio answered something that hamlib does not understand",
    "the radio refused it",
    "an argument was cut off",
    "this radio has no such function",
    "this radio cannot do that on the VFO that was named",
    "an error on the bus of the radio",
    "the bus of the radio is busy",
    "an argument is not valid",
    "the VFO is not valid",
    "a value is out of range",
    "the function is no longer supported",
    "rigctld wants a password",
    "the radio is switched off",
};

}  // namespace

std::string rigctld_words(std::string_view answer) {
  std::string text(answer);
  int code = 0;
  if (!answer.starts_with(kRefusal)) return text;
  const std::string_view number = answer.substr(kRefusal.size());
  std::from_chars(number.data(), number.data() + number.size(), code);
  const bool known = code < 0 && static_cast<std::size_t>(-code) <= kRefusals.size();
  if (known) text.append(" (").append(kRefusals[static_cast<std::size_t>(-code) - 1]).append(")");
  return text;
}

/// A connection, and the number of its lines without an answer. rigctld handles the lines of one
/// connection in order, but those of two connections in any order.
class RigctldConnection {
 public:
  /// `vfo` applies until learn_vfo() has had an answer.
  RigctldConnection(posix::Fd socket, bool data_input, bool vfo)
      : socket_(std::move(socket)), data_input_(data_input), vfo_(vfo) {}

  /// Asks whether each line has to name the VFO. It must be the first call. An answer that comes
  /// after `timeout` is still evaluated.
  Result<bool> learn_vfo(Duration timeout);
  bool vfo_learned() const {
    const std::lock_guard lock(mutex_);
    return vfo_learned_;
  }
  /// Sends a line and waits for all outstanding answers; the last one is the result.
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
  Result<void> receive(Duration until);
  Result<void> take(std::string_view octets);
  void on_answer();
  void on_end();

  posix::Fd socket_;
  bool data_input_;
  // This mutex serves the thread that waits for answers, and guards `line_`.
  std::mutex reading_;
  std::string line_;
  mutable std::mutex mutex_;  // guards all below; it is not held while waiting
  bool vfo_;
  bool vfo_learned_ = false;
  unsigned unanswered_ = 0;  // lines that move the key and have no answer
  // These are the lines among them up to the newest one that keys.
  unsigned up_to_keying_ = 0;
  Result<void> newest_answer_;
};

Result<bool> RigctldConnection::learn_vfo(Duration timeout) {
  const std::string_view question = "\\chk_vfo\n";
  const Bytes octets(question.begin(), question.end());
  const std::lock_guard reading(reading_);
  const Duration end = posix::monotonic_now() + timeout;
  if (auto sent = posix::send_all(socket_.get(), octets, Duration::zero()); !sent) {
    return sent.error();
  }
  while (!vfo_learned()) {
    if (auto got = receive(end); !got) return got.error();
  }
  const std::lock_guard lock(mutex_);
  return vfo_;
}

/// Does not wait. When the line before was the same "T 0" and has no answer yet, no second one is
/// sent.
Result<void> RigctldConnection::send(bool on) {
  const std::lock_guard lock(mutex_);
  const std::string line = std::string("T ") + (vfo_ ? "currVFO " : "") +
                           (!on           ? "0"
                            : data_input_ ? "3"
                                          : "1") +
                           "\n";
  const Bytes octets(line.begin(), line.end());
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
    if (auto got = receive(end); !got) return got;
  }
  const std::lock_guard lock(mutex_);
  return newest_answer_;
}

/// Waits for the first octets and takes all that are available.
Result<void> RigctldConnection::receive(Duration until) {
  std::array<char, kAnswerMax> part;
  const auto octets = std::as_writable_bytes(std::span(part));
  const auto got = posix::receive_some(
      socket_.get(), {reinterpret_cast<std::uint8_t*>(octets.data()), octets.size()},
      until - posix::monotonic_now());
  if (!got && got.error().code != ErrorCode::timed_out) on_end();
  if (!got) return Error{got.error().code, "rigctld: " + got.error().detail};
  return take({part.data(), *got});
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
  if (!std::exchange(vfo_learned_, true)) {
    vfo_ = line == "1" || line == "CHKVFO 1";  // the second form is that of older versions
    return;
  }
  if (unanswered_ > 0) --unanswered_;
  if (up_to_keying_ > 0) --up_to_keying_;
  newest_answer_ = {};
  if (line != "RPRT 0")
    newest_answer_ = Error{ErrorCode::refused, "rigctld: " + rigctld_words(line)};
}

/// rigctld executes no more lines of a connection that it has closed.
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

std::optional<bool> RigctldPtt::wants_vfo() const {
  const std::lock_guard lock(mutex_);
  return wants_vfo_;
}

/// Returns a connection also when rigctld does not answer the question about the VFO, because
/// unkeying must be sent anyway, in the form that was last right.
Result<std::shared_ptr<RigctldConnection>> RigctldPtt::connect() {
  auto socket = posix::connect_loopback(config_.port, config_.timeout);
  if (!socket) return socket.error();
  auto made = std::make_shared<RigctldConnection>(std::move(*socket), config_.data_input,
                                                  wants_vfo().value_or(false));
  const auto vfo = made->learn_vfo(config_.timeout);
  if (!vfo && vfo.error().code != ErrorCode::timed_out) return vfo.error();
  const std::lock_guard lock(mutex_);
  if (vfo) wants_vfo_ = *vfo;
  return made;
}

Result<void> RigctldPtt::key(bool on) {
  if (on) keyed_ = true;  // the radio may be keyed from now on
  auto to = connection();
  const bool unknown = !to || to->unanswered();
  if (!to) {
    auto connected = connect();
    if (!connected) return connected.error();
    to = *connected;
    set_connection(to);
  }
  if (on && !to->vfo_learned()) {
    set_connection(nullptr);
    return Error{ErrorCode::timed_out, "rigctld does not answer"};
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
    return Error{ErrorCode::timed_out,
                 "rigctld: unkeyed, but an earlier request to key has no answer and may still key "
                 "the transmitter"};
  }
  return {};
}

/// Waits the whole time only once. After that the owner repeats the question, because it has other
/// work between.
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

/// The answer "0" is unkeyed, "1" to "3" are keyed, and "RPRT" means that the radio cannot tell.
Result<Unkeyed> RigctldPtt::confirm_unkeyed() {
  if (!wants_vfo()) {
    if (const auto asked = connect(); !asked) return asked.error();
  }
  const auto vfo = wants_vfo();
  if (!vfo) return Error{ErrorCode::timed_out, "rigctld does not answer"};
  const auto socket = posix::connect_loopback(config_.port, config_.timeout);
  if (!socket) return socket.error();
  const std::string_view words = *vfo ? "t currVFO\n" : "t\n";
  const Bytes question(words.begin(), words.end());
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
  return line == "0\n" ? Unkeyed::confirmed : Unkeyed::unconfirmed;
}

std::string key_name(const RigctldPtt::Config& rigctld) {
  return "rigctld " + std::to_string(rigctld.port);
}

}  // namespace s5066::modem
