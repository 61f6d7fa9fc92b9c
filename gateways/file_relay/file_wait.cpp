// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/file_wait.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

#include "config/proto/control.pb.h"
#include "s5066d/base/log.h"
#include "s5066d/control/json.h"
#include "s5066d/posix/main_tail.h"

namespace s5066::file_relay {

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr auto kControlTimeout = std::chrono::milliseconds(2000);

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : wanted_(wanted), terminal_(::isatty(STDOUT_FILENO) == 1) {}
  ~ProgressLine() {
    if (drawn_ && terminal_) std::cout << std::endl;
  }
  void show(const std::string& text) {
    if (!wanted_ || text == last_) return;
    last_ = text;
    drawn_ = true;
    if (terminal_) {
      std::cout << "\r\033[K" << text << std::flush;
    } else {
      std::cout << text << std::endl;
    }
  }

 private:
  bool wanted_;
  bool terminal_;
  bool drawn_ = false;
  std::string last_;
};

std::string ask_link(const AwaitedFile& file) {
  if (file.node_control_socket.empty()) return "";
  const auto status =
      control::ask<proto::Status>(file.node_control_socket, "status", kControlTimeout);
  if (!status) return "node does not answer";
  for (const proto::LinkStatus& link : status->links()) {
    if (link.peer() == to_string(file.to)) return link.state();
  }
  return "";
}

/// Returns a line about a file that is not over. `first` is the first sample of its transfer.
std::string progress_of(const gateways::ServiceClient& relay, const AwaitedFile& file,
                        const proto::FileDetails& details, std::optional<ProgressSample>& first) {
  const auto status = relay.ask<proto::RelayStatus>("status", kControlTimeout);
  if (!status) return "the relay does not answer; the file waits in the spool";
  const std::string link = ask_link(file);
  for (const proto::Transfer& transfer : status->transfers()) {
    if (transfer.id() != details.id()) continue;
    const ProgressSample now{sample_time_s(), octets_of(transfer.octets_confirmed())};
    if (!first) first = now;
    return progress_text(link, octets_of(transfer.octets()), *first, now);
  }
  first.reset();
  const std::string reason = details.last().empty() ? "" : ": " + escaped(details.last());
  return details.state() + reason + (link.empty() ? "" : "; link " + link);
}

int report(const gateways::ServiceClient& relay, const proto::FileDetails& file,
           gateways::SpoolState state) {
  const bool good = state == SpoolState::delivered || state == SpoolState::sent;
  if (!relay.text()) {
    proto::FileSent sent;
    sent.set_version(control::kInterfaceVersion);
    sent.set_id(file.id());
    sent.set_state(file.state());
    sent.set_attempts(file.attempts());
    sent.set_reason(file.last());
    control::print(sent, control::Form::json);
    return good ? posix::kExitOk : posix::kExitEnvironment;
  }
  if (!good) {
    return relay.fail({ErrorCode::refused, "not delivered: " + file.state() + ": " + file.last()});
  }
  std::cout << file.state() << " item=" << octets_of(file.id())
            << " attempts=" << octets_of(file.attempts()) << std::endl;
  return posix::kExitOk;
}

}  // namespace

bool gives_no_answer(const Error& error) {
  return error.code == ErrorCode::link_down || error.code == ErrorCode::timed_out ||
         error.code == ErrorCode::io;
}

int wait_for_file(const gateways::ServiceClient& relay, const AwaitedFile& file) {
  ProgressLine line(file.progress && relay.text());
  const std::string request = "show " + std::to_string(file.id.value);
  std::optional<ProgressSample> first;
  while (true) {
    const auto details = relay.ask<proto::FileDetails>(request, kControlTimeout);
    if (!details && !gives_no_answer(details.error())) return relay.fail(details.error());
    const auto state = details ? gateways::parse_spool_state(details->state())
                               : Result<SpoolState>(details.error());
    if (state && is_final(*state) && *state != SpoolState::held) {
      if (*state == SpoolState::delivered || *state == SpoolState::sent) {
        line.show(details->state());
      }
      return report(relay, *details, *state);
    }
    if (file.progress && relay.text()) {
      line.show(details ? progress_of(relay, file, *details, first)
                        : "the relay does not answer; the file waits in the spool");
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

std::string progress_text(const std::string& link, std::uint64_t octets, ProgressSample first,
                          ProgressSample last) {
  std::ostringstream text;
  if (!link.empty()) text << "link " << link << ", ";
  const std::uint64_t percent = octets == 0 ? 0 : last.octets_confirmed * 100 / octets;
  text << last.octets_confirmed << " of " << octets << " octets acknowledged (" << percent << " %)";
  const double elapsed_s = last.at_s - first.at_s;
  const auto gained = static_cast<double>(last.octets_confirmed - first.octets_confirmed);
  if (elapsed_s <= 0 || gained <= 0) return text.str();
  const double octets_per_s = gained / elapsed_s;
  const auto left = static_cast<double>(octets - last.octets_confirmed);
  text << ", " << static_cast<std::int64_t>(octets_per_s * 8) << " bit/s, "
       << static_cast<std::int64_t>(left / octets_per_s + 0.5) << " s left";
  return text.str();
}

double sample_time_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t octets_of(double value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace s5066::file_relay
