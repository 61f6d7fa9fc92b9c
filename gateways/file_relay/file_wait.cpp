// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/file_wait.h"

#include <unistd.h>

#include <algorithm>
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
constexpr const char* kFramesResent = "frames_sent_again";  // a counter of the node

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

/// Returns the transfer of a file; nothing if it is not on its way, and an error if the relay does
/// not answer.
Result<std::optional<proto::Transfer>> transfer_of(const gateways::ServiceClient& relay,
                                                   double id) {
  const auto status = relay.ask<proto::RelayStatus>("status", kControlTimeout);
  if (!status) return status.error();
  for (const proto::Transfer& transfer : status->transfers()) {
    if (transfer.id() == id) return std::optional(transfer);
  }
  return std::optional<proto::Transfer>();
}

/// Shows how far a file is that is not over: as a line, or as JSON when it has come further.
class Progress {
 public:
  Progress(const gateways::ServiceClient& relay, const AwaitedFile& file)
      : relay_(relay), file_(file), line_(file.progress && relay.text()) {}

  void show(const proto::FileDetails& details) {
    if (!file_.progress) return;
    auto transfer = transfer_of(relay_, details.id());
    if (!transfer) return show_no_answer();
    if (!*transfer) {
      first_.reset();
      const std::string link = relay_.text() ? ask_link(file_) : "";
      const std::string reason = details.last().empty() ? "" : ": " + escaped(details.last());
      return line_.show(details.state() + reason + (link.empty() ? "" : "; link " + link));
    }
    const ProgressSample now = sample_of(**transfer, file_.node_control_socket);
    if (!first_) first_ = now;
    if (relay_.text()) {
      return line_.show(
          progress_text(ask_link(file_), octets_of((*transfer)->octets()), *first_, now));
    }
    if (now.octets_confirmed == printed_) return;
    printed_ = now.octets_confirmed;
    add_progress(**transfer, *first_, now);
    control::print(**transfer, control::Form::json);
  }
  void show_no_answer() { line_.show("the relay does not answer; the file waits in the spool"); }
  void show_end(const std::string& state) { line_.show(state); }

 private:
  const gateways::ServiceClient& relay_;
  const AwaitedFile& file_;
  ProgressLine line_;
  std::optional<ProgressSample> first_;  // first sample of the transfer
  std::optional<std::uint64_t> printed_;
};

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
  Progress progress(relay, file);
  const std::string request = "show " + std::to_string(file.id.value);
  while (true) {
    const auto details = relay.ask<proto::FileDetails>(request, kControlTimeout);
    if (!details && !gives_no_answer(details.error())) return relay.fail(details.error());
    const auto state = details ? gateways::parse_spool_state(details->state())
                               : Result<SpoolState>(details.error());
    if (state && is_final(*state) && *state != SpoolState::held) {
      if (*state == SpoolState::delivered || *state == SpoolState::sent) {
        progress.show_end(details->state());
      }
      return report(relay, *details, *state);
    }
    if (details) {
      progress.show(*details);
    } else {
      progress.show_no_answer();
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

ProgressSample sample_of(const proto::Transfer& transfer, const std::string& node_control_socket) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  ProgressSample sample{.at_s = std::chrono::duration<double>(now).count(),
                        .octets_confirmed = octets_of(transfer.octets_confirmed())};
  if (node_control_socket.empty()) return sample;
  const auto counters =
      control::ask<proto::CounterTable>(node_control_socket, "counters", kControlTimeout);
  if (!counters) return sample;
  for (const proto::CounterValue& counter : counters->counters()) {
    if (counter.name() == kFramesResent) sample.frames_resent = counter.value();
  }
  return sample;
}

void add_progress(proto::Transfer& transfer, const ProgressSample& first,
                  const ProgressSample& last) {
  const double elapsed_s = last.at_s - first.at_s;
  const double gained =
      static_cast<double>(last.octets_confirmed) - static_cast<double>(first.octets_confirmed);
  if (elapsed_s > 0 && gained > 0) {
    const double octets_per_s = gained / elapsed_s;
    const double left = transfer.octets() - static_cast<double>(last.octets_confirmed);
    transfer.set_rate_bps(octets_per_s * 8);
    transfer.set_left_s(std::max(left, 0.0) / octets_per_s);
  }
  // The counter begins again with the node.
  if (first.frames_resent && last.frames_resent && *last.frames_resent >= *first.frames_resent) {
    transfer.set_frames_resent(*last.frames_resent - *first.frames_resent);
  }
}

std::string progress_text(const std::string& link, std::uint64_t octets,
                          const ProgressSample& first, const ProgressSample& last) {
  std::ostringstream text;
  if (!link.empty()) text << "link " << link << ", ";
  const std::uint64_t percent = octets == 0 ? 0 : last.octets_confirmed * 100 / octets;
  text << last.octets_confirmed << " of " << octets << " octets acknowledged (" << percent << " %)";
  proto::Transfer progress;
  progress.set_octets(static_cast<double>(octets));
  add_progress(progress, first, last);
  if (progress.has_rate_bps()) {
    text << ", " << static_cast<std::int64_t>(progress.rate_bps()) << " bit/s, "
         << static_cast<std::int64_t>(progress.left_s() + 0.5) << " s left";
  }
  if (progress.frames_resent() > 0) {
    const auto frames = static_cast<std::int64_t>(progress.frames_resent());
    text << ", " << frames << (frames == 1 ? " frame resent" : " frames resent");
  }
  return text.str();
}

std::uint64_t octets_of(double value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace s5066::file_relay
