// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_commands.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "gateways/common/control_socket.h"
#include "gateways/common/spool_lock.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/posix/socket.h"

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

int fail(const Error& error) {
  std::cerr << "s5066-relay: " << escaped(error.detail) << "\n";
  return 1;
}

std::string utc_text(UtcSeconds at) {
  const std::time_t second = at.value;
  std::tm utc{};
  char text[sizeof "2026-01-01T00:00:00Z" + 8];  // years may have more digits
  if (gmtime_r(&second, &utc) == nullptr) return std::to_string(at.value);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// Returns what a file waits for; empty for one that is over.
std::string waits_for(const RelayConfig& config, const SpoolItem& item) {
  if (item.state == SpoolState::held) return "waits for the operator, who holds it";
  if (item.state == SpoolState::corrupt) return "waits for the operator: it cannot be read";
  if (is_final(item.state)) return {};
  const auto status = posix::ask_control(control_socket_path(config), "status", kControlTimeout);
  if (!status) return "waits for the relay, which does not run";
  if (const auto octets = status_value(*status, item.id.value, "octets"); octets >= 0) {
    return "is on its way: " + std::to_string(status_value(*status, item.id.value, "confirmed")) +
           " of " + std::to_string(octets) + " octets acknowledged";
  }
  if (item.next_try > posix::to_utc_seconds(posix::utc_now())) {
    return "waits for the next try at " + utc_text(item.next_try);
  }
  return "waits for its turn";
}

/// Changes a file while no relay runs, and keeps one from starting meanwhile.
Result<void> change_spool(const RelayConfig& config, gateways::SpoolChange change, SpoolId id) {
  auto store = open_spool(config);
  if (!store) return store.error();
  const auto lock = gateways::lock_spool(config.spool_directory, "relay");
  if (!lock) return lock.error();
  const auto item = store->change(change, id, posix::to_utc_seconds(posix::utc_now()));
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
  const auto status = posix::ask_control(config.node_control_socket, "status", kControlTimeout);
  return status ? gateways::link_state(*status, to_string(peer)) : "node does not answer";
}

int report(const SpoolItem& item) {
  if (item.state == SpoolState::delivered) {
    std::cout << "delivered item=" << item.id.value << " attempts=" << item.attempts << std::endl;
    return 0;
  }
  std::cerr << "s5066-relay: not delivered: " << to_string(item.state) << ": "
            << escaped(item.reason) << "\n";
  return 1;
}

int wait_for(SqliteStore& store, gateways::SpoolId id, const RelayConfig& config,
             const SendOptions& options, LogSink& log) {
  ProgressLine line(options.progress);
  std::optional<ProgressSample> first;
  while (true) {
    const auto item = store.find(id);
    if (!item) return complain(log, options.file, item.error());
    if (!item->has_value()) {
      return complain(log, options.file, {ErrorCode::not_found, "the spool row is gone"});
    }
    if (is_final((*item)->state) && (*item)->state != SpoolState::held) {
      if ((*item)->state == SpoolState::delivered) line.show("delivered");
      return report(**item);
    }
    if (options.progress) {
      const auto status =
          posix::ask_control(control_socket_path(config), "status", kControlTimeout);
      const std::string link = ask_link(config, options.destination);
      const std::int64_t octets = status ? status_value(*status, id.value, "octets") : -1;
      if (!status) {
        line.show("the relay does not run; the file waits in the spool");
      } else if (octets < 0) {
        first.reset();
        const std::string reason = (*item)->reason.empty() ? "" : ": " + escaped((*item)->reason);
        line.show(std::string(to_string((*item)->state)) + reason +
                  (link.empty() ? "" : "; link " + link));
      } else {
        const ProgressSample now{seconds_now(), static_cast<std::uint64_t>(
                                                    status_value(*status, id.value, "confirmed"))};
        if (!first) first = now;
        line.show(progress_text(link, static_cast<std::uint64_t>(octets), *first, now));
      }
    }
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
                                  .now = posix::to_utc_seconds(posix::utc_now()),
                                  .priority = options.priority});
  if (!id) return complain(log, options.file, id.error());
  std::cout << "accepted item=" << id->value << std::endl;

  const auto woken = posix::ask_control(control_socket_path(config), "wake", kControlTimeout);
  if (!woken) std::cerr << "s5066-relay: the relay does not run; the file waits in the spool\n";
  if (!options.wait) return 0;
  return wait_for(*store, *id, config, options, log);
}

int show_queue(const RelayConfig& config, const gateways::ListFilter& filter) {
  auto store = open_spool(config);
  const auto items = store ? store->list(filter, kRowsListed + 1) : store.error();
  if (!items) return fail(items.error());
  if (items->empty()) {
    const bool filtered = filter.state || filter.destination;
    std::cout << (filtered      ? "no file fits\n"
                  : filter.over ? "the spool is empty\n"
                                : "nothing waits; `queue --all` lists what is over\n");
  }
  std::uint32_t rows = 0;
  for (const SpoolItem& item : *items) {
    if (++rows > kRowsListed) {
      std::cout << "there are more than " << kRowsListed << "; ask by state or station\n";
      break;
    }
    std::cout << item.id.value << "\t" << to_string(item.state) << "\t"
              << to_string(item.destination) << "\t" << item.size << "\t" << item.attempts << "\t"
              << escaped(item.name) << (item.reason.empty() ? "" : "\t" + escaped(item.reason))
              << "\n";
  }
  return 0;
}

int show_file(const RelayConfig& config, SpoolId id) {
  auto store = open_spool(config);
  const auto found = store ? store->find(id) : store.error();
  if (!found) return fail(found.error());
  if (!*found) return fail({ErrorCode::not_found, "no such file in the spool"});
  const SpoolItem& item = **found;
  std::cout << "file " << item.id.value << "\nstate " << to_string(item.state) << "\nto "
            << to_string(item.destination) << "\npriority "
            << unsigned{item.priority.value_or(config.priority)} << "\noctets " << item.size
            << "\nattempts " << item.attempts << "\nname " << escaped(item.name) << "\n";
  if (item.attempts > 0) {
    std::cout << "transfer " << transfer_id(item.updu_id, item.name, item.sha256) << "\n";
  }
  if (!item.reason.empty()) std::cout << "last " << escaped(item.reason) << "\n";
  if (!is_final(item.state)) {
    std::cout << "expires " << utc_text({item.created.value + config.lifetime_s}) << "\n";
  }
  if (const std::string waits = waits_for(config, item); !waits.empty()) std::cout << waits << "\n";
  return 0;
}

int change_file(const RelayConfig& config, gateways::SpoolChange change, SpoolId id) {
  const std::string request = std::string(to_string(change)) + " " + std::to_string(id.value);
  // First, because the socket is the owner's alone.
  if (auto acts = gateways::act_as_spool_owner(config.spool_directory); !acts) {
    return fail(acts.error());
  }
  const auto answer = posix::ask_control(control_socket_path(config), request, kChangeTimeout);
  if (!answer && answer.error().code == ErrorCode::link_down) {
    const auto changed = change_spool(config, change, id);
    if (!changed) return fail(changed.error());
    std::cout << "ok\n";
    return 0;
  }
  if (!answer) return fail(answer.error());
  constexpr std::string_view kError = "error: ";
  if (answer->rfind(kError, 0) != 0) {
    std::cout << *answer;
    return 0;
  }
  std::cerr << "s5066-relay: " << answer->substr(kError.size());
  return 1;
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

std::int64_t status_value(const std::string& status, std::int64_t item, const std::string& key) {
  std::istringstream lines(status);
  const std::string begin = "transfer item=" + std::to_string(item) + " ";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(begin, 0) != 0) continue;
    const std::size_t at = line.find(" " + key + "=");
    if (at == std::string::npos) return -1;
    std::int64_t value = -1;
    std::istringstream(line.substr(at + key.size() + 2)) >> value;
    return value;
  }
  return -1;
}

}  // namespace s5066::file_relay
