// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_commands.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>
#include <utility>

#include "config/proto/control.pb.h"
#include "gateways/common/spool_lock.h"
#include "gateways/file_relay/handover.h"
#include "gateways/file_relay/relay_commands.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/base/printable.h"

namespace s5066::file_relay {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr auto kPutTimeout = std::chrono::minutes(1);

int fail(const Error& error, control::Form form) {
  return control::print_failure("s5066-relay", error, form);
}

/// Hands one file to the relay for its stations.
Result<proto::FileSent> put_one(const RelayConfig& config, const std::string& word,
                                const PutOptions& options) {
  std::string request = "put " + word + " ";
  for (const Address to : options.to) {
    request += to_string(to) + (to == options.to.back() ? "" : ",");
  }
  request += " " + (options.priority ? std::to_string(*options.priority) : "-");
  if (options.grade.grade != gateways::FileGrade::reliable) {
    request += " " + std::string(to_string(options.grade.grade)) + " " +
               std::to_string(options.grade.strength_percent) + " " +
               std::to_string(options.grade.head_octets);
  }
  return control::ask<proto::FileSent>(control_socket_path(config), request, kPutTimeout);
}

Result<void> add_folder(const fs::path& folder, const std::string& name,
                        std::vector<FileToPut>& files) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (const auto& entry : fs::directory_iterator(folder, error)) entries.push_back(entry);
  if (error) return Error{ErrorCode::io, folder.string() + ": " + error.message()};
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry& entry : entries) {
    const std::string own = entry.path().filename().string();
    if (own.empty() || own[0] == '.' || entry.is_symlink(error)) continue;
    const std::string inner = name + "/" + own;
    if (entry.is_directory(error)) {
      if (auto added = add_folder(entry.path(), inner, files); !added) return added;
    } else if (entry.is_regular_file(error)) {
      if (files.size() == kPutFilesMax) {
        return Error{ErrorCode::too_large,
                     "there are more than " + std::to_string(kPutFilesMax) + " files"};
      }
      files.push_back({entry.path().string(), inner});
    }
  }
  return {};
}

void print_inbox(const proto::InboxAnswer& answer, InboxRequest request, control::Form form) {
  if (form == control::Form::json) return control::print(answer, form);
  if (request == InboxRequest::get) {
    std::cout << "received " << escaped(answer.received_as()) << "\n";
    return;
  }
  for (const proto::InboxFile& file : answer.files()) {
    std::cout << static_cast<std::uint64_t>(file.octets()) << "\t"
              << static_cast<std::int64_t>(file.mtime()) << "\t" << escaped(file.name())
              << (file.folder() ? "/" : "");
    if (!file.sha256().empty()) std::cout << "\t" << file.sha256();
    std::cout << "\n";
  }
}

std::uint64_t octets_of(double value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<std::vector<FileToPut>> files_to_put(const std::vector<std::string>& paths) {
  std::vector<FileToPut> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back({path, fs::path(path).filename().string()});
      continue;
    }
    fs::path folder = fs::path(path).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    if (auto added = add_folder(path, folder.filename().string(), files); !added) {
      return added.error();
    }
  }
  return files;
}

int put_files(const RelayConfig& config, const PutOptions& options) {
  const auto files = files_to_put(options.files);
  if (!files) return fail(files.error(), options.form);
  struct Accepted {
    SpoolId id;
    Address to;
  };
  std::vector<Accepted> accepted;
  int status = 0;
  const Handover handover(config.spool_directory);
  for (const FileToPut& file : *files) {
    auto content = read_file_to_send(file.path, config.file_octets_max);
    if (!content) {
      status = fail(content.error(), options.form);
      continue;
    }
    content->name = file.name;
    const auto word = handover.write(*content);
    if (!word) return fail(word.error(), options.form);
    const auto sent = put_one(config, *word, options);
    handover.remove(*word);
    if (!sent) {
      status = fail(sent.error(), options.form);
      continue;
    }
    for (std::size_t i = 0; i < options.to.size(); ++i) {
      const Address to = options.to[i];
      const double id = static_cast<int>(i) < sent->ids_size() ? sent->ids(static_cast<int>(i)) : 0;
      if (id <= 0) {
        status = fail({ErrorCode::refused, to_string(to) + ": " + sent->reason()}, options.form);
        continue;
      }
      accepted.push_back({SpoolId{static_cast<std::int64_t>(id)}, to});
      if (options.form != control::Form::text) continue;
      std::cout << "accepted item=" << accepted.back().id.value << " peer=" << to_string(to)
                << " name=" << escaped(file.name) << std::endl;
    }
    if (options.form != control::Form::text && !options.wait) control::print(*sent, options.form);
  }
  if (!options.wait) return status;
  for (const Accepted& one : accepted) {
    const int ended = wait_for_file(config, one.id, one.to, options.progress, options.form);
    if (ended != 0) status = ended;
  }
  return status;
}

int ask_far_inbox(const RelayConfig& config, InboxRequest request, Address station,
                  const std::string& path, control::Form form) {
  constexpr const char* kWords[] = {"get", "list", "delete", "stat"};
  if (auto may = gateways::act_as_spool_owner(config.spool_directory); !may) {
    return fail(may.error(), form);
  }
  std::string line =
      std::string("ask ") + kWords[static_cast<std::size_t>(request)] + " " + to_string(station);
  if (!path.empty()) line += " " + to_percent(path);
  const std::string socket = control_socket_path(config);
  const auto asked = control::ask<proto::InboxAsked>(socket, line);
  if (!asked) return fail(asked.error(), form);
  const std::string look = "asked " + std::to_string(octets_of(asked->number()));
  while (true) {
    const auto answer = control::ask<proto::InboxAnswer>(socket, look);
    if (!answer) return fail(answer.error(), form);
    if (answer->state() == "failed") {
      return fail({ErrorCode::refused, answer->text()}, form);
    }
    // The answer to `get` comes before the file.
    const bool arrived = request != InboxRequest::get || !answer->received_as().empty();
    if (answer->state() == "done" && arrived) {
      print_inbox(*answer, request, form);
      return 0;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

int change_arriving(const RelayConfig& config, ControlAction action, const std::string& id,
                    control::Form form) {
  constexpr const char* kWords[] = {"cancel", "suspend", "resume"};
  if (auto may = gateways::act_as_spool_owner(config.spool_directory); !may) {
    return fail(may.error(), form);
  }
  const auto done = control::ask<proto::Done>(
      control_socket_path(config),
      std::string("arriving ") + kWords[static_cast<std::size_t>(action)] + " " + to_percent(id));
  if (!done) return fail(done.error(), form);
  control::print(*done, form);
  return 0;
}

int watch_transfers(const RelayConfig& config, control::Form form) {
  if (auto may = gateways::act_as_spool_owner(config.spool_directory); !may) {
    return fail(may.error(), form);
  }
  std::map<double, ProgressSample> first;
  while (true) {
    const auto status = control::ask<proto::RelayStatus>(control_socket_path(config), "status");
    if (!status) return fail(status.error(), form);
    if (status->transfers().empty()) return 0;
    for (const proto::Transfer& transfer : status->transfers()) {
      if (form == control::Form::json) {
        control::print(transfer, form);
        continue;
      }
      const ProgressSample now{seconds_now(), octets_of(transfer.octets_confirmed())};
      const auto begun = first.try_emplace(transfer.id(), now).first;
      std::cout << "item=" << octets_of(transfer.id()) << " "
                << progress_text("", octets_of(transfer.octets()), begun->second, now) << std::endl;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace s5066::file_relay
