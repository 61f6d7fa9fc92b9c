#include "modem/ptt/rigctld.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace s5066::modem {
namespace {

constexpr std::size_t kAnswerMax = 128;

}  // namespace

RigctldPtt::~RigctldPtt() {
  if (keyed_) static_cast<void>(key(false));
}

Result<void> RigctldPtt::key(bool on) {
  if (on) keyed_ = true;  // perhaps, from now on
  Result<void> done;
  if (!socket_) {
    auto socket = posix::connect_loopback(config_.port, config_.timeout);
    if (!socket) return socket.error();
    socket_ = std::move(*socket);
    if (on) done = ask(socket_.get(), false);
  }
  if (done) done = ask(socket_.get(), on);
  if (!done) {
    socket_.reset();
    return done;
  }
  keyed_ = on;
  return {};
}

Result<void> RigctldPtt::release() {
  const auto socket = posix::connect_loopback(config_.port, config_.timeout);
  if (!socket) return socket.error();
  return ask(socket->get(), false);
}

Result<void> RigctldPtt::ask(int socket, bool on) const {
  const std::string_view keys = config_.data_input ? "T 3\n" : "T 1\n";
  const std::string_view line = on ? keys : "T 0\n";
  const Bytes octets(line.begin(), line.end());
  const Duration end = posix::monotonic_now() + config_.timeout;
  if (auto sent = posix::send_all(socket, octets, config_.timeout); !sent) return sent;
  std::string answer;
  while (answer.empty() || answer.back() != '\n') {
    std::array<std::uint8_t, kAnswerMax> part;
    const auto got = posix::receive_some(socket, part, end - posix::monotonic_now());
    if (!got) return Error{got.error().code, "rigctld: " + got.error().detail};
    answer.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*got));
    if (answer.size() > kAnswerMax) return Error{ErrorCode::too_large, "answer of rigctld"};
  }
  if (answer == "RPRT 0\n") return {};
  answer.pop_back();
  return Error{ErrorCode::refused, "rigctld: " + answer};
}

}  // namespace s5066::modem
