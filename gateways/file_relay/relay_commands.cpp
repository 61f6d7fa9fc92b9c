// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_commands.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "config/proto/control.pb.h"
#include "gateways/common/spool_lock.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/control/log_fields.h"
#include "s5066d/control/station_names.h"
#include "s5066d/posix/socket.h"
#include "s5066d/posix/utc_now.h"

namespace s5066::file_relay {

using gateways::SpoolItem;
using gateways::SqliteStore;

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr auto kControlTimeout = std::chrono::milliseconds(2000);
constexpr auto kChangeTimeout = std::chrono::seconds(10);

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<SqliteStore> open_spool(const RelayConfig& config) {
  if (auto acts = gateways::act_as_spool_owner(config.spool_directory); !acts) return acts.error();
  if (auto may = gateways::check_may_make_spool(config.spool_directory); !may) return may.error();
  if (auto may = gateways::check_spool_writable(config.spool_directory); !may) return may.error();
  std::random_device random;
  return SqliteStore::open(
      operator_store_config(config, static_cast<std::uint8_t>(random() & 0xFF)));
}

Result<Bytes> read_whole(const std::string& path, std::size_t octets_max) {
  const auto failed = [&](int code) {
    return Error{ErrorCode::io, path + ": " + std::strerror(code)};
  };
  // O_NONBLOCK, because a FIFO would wait for a writer.
  const posix::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failed(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed(errno);
  if (S_ISDIR(status.st_mode)) return failed(EISDIR);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::io, path + ": Not a regular file"};
  Bytes content;
  std::uint8_t buffer[65536];
  while (true) {
    const ssize_t octets = ::read(file.get(), buffer, sizeof buffer);
    if (octets < 0 && errno == EINTR) continue;
    if (octets < 0) return failed(errno);
    if (octets == 0) return content;
    append(content, ByteSpan(buffer, static_cast<std::size_t>(octets)));
    if (content.size() > octets_max) {
      return Error{ErrorCode::too_large,
                   path + " is larger than the limit of " + std::to_string(octets_max) + " octets"};
    }
  }
}

int complain(LogSink& log, const std::string& what, const Error& error) {
  LogLine(log, LogLevel::error, "send_failed").kv("file", what).kv("reason", to_string(error));
  std::cerr << "s5066-relay: " << escaped(error.detail) << "\n";
  return 1;
}

int fail(const Error& error, control::Form form) {
  return control::print_failure("s5066-relay", error, form);
}

/// Asks the relay how far a file is; nothing if the file is not on its way.
Result<std::optional<proto::Transfer>> ask_transfer(const RelayConfig& config, SpoolId id) {
  const auto status =
      control::ask<proto::RelayStatus>(control_socket_path(config), "status", kControlTimeout);
  if (!status) return status.error();
  for (const proto::Transfer& transfer : status->transfers()) {
    if (transfer.id() == static_cast<double>(id.value)) return std::optional(transfer);
  }
  return std::optional<proto::Transfer>();
}

/// Returns a count of octets, which a relay cannot have sent as less than 0.
std::uint64_t octets_of(double value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

/// Returns what a file waits for outside of its transfer window; empty if it may be sent now.
std::string window_of(const RelayConfig& config, const SpoolItem& item) {
  if (is_final(item.state)) return {};
  const UtcSeconds now = posix::utc_seconds_now();
  const UtcSeconds opens =
      config.sending.of(item.destination).opens_at(now, item.priority.value_or(config.priority));
  return opens > now ? "its transfer window, which opens at " + control::utc_text(opens) : "";
}

/// Returns what a file waits for; empty for one that is over.
std::string waits_for(const RelayConfig& config, const SpoolItem& item) {
  if (item.state == SpoolState::held) return "the operator, who holds it";
  if (item.state == SpoolState::corrupt) return "the operator: it cannot be read";
  if (is_final(item.state)) return {};
  const auto transfer = ask_transfer(config, item.id);
  if (!transfer) return "the relay, which does not run";
  if (*transfer) {
    return "acknowledgements: it is on its way, " +
           std::to_string(octets_of((*transfer)->octets_confirmed())) + " of " +
           std::to_string(octets_of((*transfer)->octets())) + " octets acknowledged";
  }
  if (const std::string window = window_of(config, item); !window.empty()) return window;
  if (item.next_try > posix::utc_seconds_now()) {
    return "the next try at " + control::utc_text(item.next_try);
  }
  return "its turn";
}

/// Changes a file while no relay runs, and keeps one from starting meanwhile.
Result<void> change_spool(const RelayConfig& config, gateways::SpoolChange change, SpoolId id) {
  auto store = open_spool(config);
  if (!store) return store.error();
  const auto lock = gateways::lock_spool(config.spool_directory, "relay");
  if (!lock) return lock.error();
  const auto item = store->change(change, id, posix::utc_seconds_now());
  if (!item) return item.error();
  return {};
}

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

std::string ask_link(const RelayConfig& config, Address peer) {
  if (config.node_control_socket.empty()) return "";
  const auto status =
      control::ask<proto::Status>(config.node_control_socket, "status", kControlTimeout);
  if (!status) return "node does not answer";
  for (const proto::LinkStatus& link : status->links()) {
    if (link.peer() == to_string(peer)) return link.state();
  }
  return "";
}

void print_sent(const SpoolItem& item) {
  proto::FileSent sent;
  sent.set_version(control::kInterfaceVersion);
  sent.set_id(static_cast<double>(item.id.value));
  sent.set_state(std::string(to_string(item.state)));
  sent.set_attempts(item.attempts);
  sent.set_reason(item.reason);
  control::print(sent, control::Form::json);
}

int report(const SpoolItem& item, control::Form form) {
  if (form == control::Form::json) {
    print_sent(item);
    return item.state == SpoolState::delivered || item.state == SpoolState::sent ? 0 : 1;
  }
  if (item.state == SpoolState::delivered || item.state == SpoolState::sent) {
    std::cout << to_string(item.state) << " item=" << item.id.value << " attempts=" << item.attempts
              << std::endl;
    return 0;
  }
  std::cerr << "s5066-relay: not delivered: " << to_string(item.state) << ": "
            << escaped(item.reason) << "\n";
  return 1;
}

/// Returns a line about a file that is not over. `first` is the first sample of its transfer.
std::string progress_of(const SpoolItem& item, const RelayConfig& config, Address destination,
                        std::optional<ProgressSample>& first) {
  const auto transfer = ask_transfer(config, item.id);
  if (!transfer) return "the relay does not run; the file waits in the spool";
  const std::string link = ask_link(config, destination);
  if (!*transfer) {
    first.reset();
    const std::string reason = item.reason.empty() ? "" : ": " + escaped(item.reason);
    return std::string(to_string(item.state)) + reason + (link.empty() ? "" : "; link " + link);
  }
  const ProgressSample now{seconds_now(), octets_of((*transfer)->octets_confirmed())};
  if (!first) first = now;
  return progress_text(link, octets_of((*transfer)->octets()), *first, now);
}

/// Shows how far the file is until it is delivered or given up.
Result<int> wait_for(SqliteStore& store, gateways::SpoolId id, const RelayConfig& config,
                     const SendOptions& options) {
  ProgressLine line(options.progress && options.form == control::Form::text);
  std::optional<ProgressSample> first;
  while (true) {
    const auto item = store.find(id);
    if (!item) return item.error();
    if (!item->has_value()) return Error{ErrorCode::not_found, "the spool row is gone"};
    if (is_final((*item)->state) && (*item)->state != SpoolState::held) {
      const bool good =
          (*item)->state == SpoolState::delivered || (*item)->state == SpoolState::sent;
      if (good) line.show(std::string(to_string((*item)->state)));
      return report(**item, options.form);
    }
    if (options.progress) line.show(progress_of(**item, config, options.destination, first));
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace

int send_file(const RelayConfig& config, const SendOptions& options, LogSink& log) {
  auto content = read_whole(options.file, config.file_octets_max);
  if (!content) return complain(log, options.file, content.error());
  auto store = open_spool(config);
  if (!store) return complain(log, options.file, store.error());
  const auto id = store->enqueue({.destination = options.destination,
                                  .name = std::filesystem::path(options.file).filename().string(),
                                  .content = std::move(content).value(),
                                  .now = posix::utc_seconds_now(),
                                  .priority = options.priority});
  if (!id) return complain(log, options.file, id.error());
  const bool text = options.form == control::Form::text;
  if (text) std::cout << "accepted item=" << id->value << std::endl;

  const auto woken =
      control::ask<proto::Done>(control_socket_path(config), "wake", kControlTimeout);
  if (!woken) std::cerr << "s5066-relay: the relay does not run; the file waits in the spool\n";
  if (options.wait) {
    const auto ended = wait_for(*store, *id, config, options);
    return ended ? *ended : complain(log, options.file, ended.error());
  }
  if (text) return 0;
  SpoolItem accepted;
  accepted.id = *id;
  print_sent(accepted);
  return 0;
}

int wait_for_file(const RelayConfig& config, SpoolId id, Address to, bool progress,
                  control::Form form) {
  auto store = open_spool(config);
  if (!store) return fail(store.error(), form);
  const auto ended =
      wait_for(*store, id, config,
               {.destination = to, .file = {}, .wait = true, .progress = progress, .form = form});
  return ended ? *ended : fail(ended.error(), form);
}

int show_queue(const RelayConfig& config, const gateways::ListFilter& filter, control::Form form) {
  auto store = open_spool(config);
  const auto items = store ? store->list(filter, kRowsListed + 1) : store.error();
  if (!items) return fail(items.error(), form);
  proto::FileQueue queue;
  queue.set_version(control::kInterfaceVersion);
  if (items->empty()) {
    const bool filtered = filter.state || filter.destination;
    queue.set_note(filtered      ? "no file matches"
                   : filter.over ? "the spool is empty"
                                 : "nothing waits; `queue --all` lists what is over");
  }
  for (const SpoolItem& item : *items) {
    if (queue.files_size() == static_cast<int>(kRowsListed)) {
      queue.set_more(true);
      queue.set_note("there are more than " + std::to_string(kRowsListed) +
                     "; ask by state or station");
      break;
    }
    proto::QueuedFile& file = *queue.add_files();
    file.set_id(static_cast<double>(item.id.value));
    file.set_state(std::string(to_string(item.state)));
    file.set_destination(to_string(item.destination));
    file.set_octets(static_cast<double>(item.size));
    file.set_attempts(item.attempts);
    file.set_name(item.name);
    const std::string window = window_of(config, item);
    file.set_last(window.empty() ? item.reason : "waits for " + window);
  }
  control::add_names(queue, config.book);
  control::print(queue, form);
  return 0;
}

int show_file(const RelayConfig& config, SpoolId id, control::Form form) {
  auto store = open_spool(config);
  const auto found = store ? store->find(id) : store.error();
  if (!found) return fail(found.error(), form);
  if (!*found) return fail({ErrorCode::not_found, "no such file in the spool"}, form);
  const SpoolItem& item = **found;
  proto::FileDetails file;
  file.set_version(control::kInterfaceVersion);
  file.set_id(static_cast<double>(item.id.value));
  file.set_state(std::string(to_string(item.state)));
  file.set_destination(to_string(item.destination));
  file.set_priority(item.priority.value_or(config.priority));
  file.set_octets(static_cast<double>(item.size));
  file.set_attempts(item.attempts);
  file.set_name(item.name);
  if (item.p_mul) {
    const std::int64_t number = item.p_mul->first.value & UINT32_MAX;
    file.set_transfer(transfer_name(static_cast<std::uint32_t>(number), item.sha256));
  } else if (item.attempts > 0) {
    file.set_transfer(transfer_id(item.updu_id, item.name, item.sha256));
  }
  file.set_last(item.reason);
  if (!is_final(item.state))
    file.set_expires(control::utc_text(UtcSeconds{item.created.value + config.lifetime_s}));
  file.set_waits_for(waits_for(config, item));
  control::add_names(file, config.book);
  control::print(file, form);
  return 0;
}

int change_file(const RelayConfig& config, gateways::SpoolChange change, SpoolId id,
                control::Form form) {
  const std::string request = std::string(to_string(change)) + " " + std::to_string(id.value);
  // First, because the socket is the owner's alone.
  if (auto acts = gateways::act_as_spool_owner(config.spool_directory); !acts) {
    return fail(acts.error(), form);
  }
  auto done = control::ask<proto::Done>(control_socket_path(config), request, kChangeTimeout);
  if (!done && done.error().code == ErrorCode::link_down) {
    const auto changed = change_spool(config, change, id);
    if (!changed) return fail(changed.error(), form);
    proto::Done alone;
    alone.set_done(true);
    alone.set_version(control::kInterfaceVersion);
    done = alone;
  }
  if (!done) return fail(done.error(), form);
  control::print(*done, form);
  return 0;
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

}  // namespace s5066::file_relay
