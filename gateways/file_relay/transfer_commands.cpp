// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_commands.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "config/proto/control.pb.h"
#include "gateways/file_relay/file_wait.h"
#include "gateways/file_relay/handover.h"
#include "gateways/file_relay/relay_requests.h"
#include "s5066d/base/printable.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/passed_file.h"

namespace s5066::file_relay {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr auto kPutTimeout = std::chrono::minutes(1);

Result<proto::FileSent> ask_to_put(const gateways::ServiceClient& relay, const PutRequest& request,
                                   int sealed) {
  const auto json = relay.exchange(to_line(request), kPutTimeout, sealed);
  if (json) return control::read_answer<proto::FileSent>(*json);
  Error error = json.error();
  if (error.code != ErrorCode::link_down && gives_no_answer(error)) {
    error.detail += "; the relay may have the file; see queue";
  }
  return error;
}

/// Hands one file to the relay for its stations. The relay needs no right to read it, because what
/// it gets is a copy in memory. Fails if the relay takes it for no station; a station for which it
/// is not taken has the id 0, or none after the last id.
Result<proto::FileSent> put_one(const gateways::ServiceClient& relay, const FileToPut& file,
                                const RelayConfig& config, const PutOptions& options) {
  const auto read = read_file_to_send(file.path, config.file_octets_max);
  if (!read) return read.error();
  const auto sealed = posix::make_sealed_file(read->content);
  const auto failed = [&file](const Error& error) {
    return Error{error.code, file.path + ": " + error.detail};
  };
  if (!sealed) return failed(sealed.error());
  PutRequest request{.name = file.name,
                     .mtime = read->mtime,
                     .mode = read->mode,
                     .to = {},
                     .priority = options.priority,
                     .grade = options.grade};
  const std::size_t most = stations_per_put(config, options, read->content.size());
  proto::FileSent all;
  std::optional<Error> failure;
  for (std::size_t at = 0; at < options.to.size(); at += request.to.size()) {
    const auto first = options.to.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(most, options.to.size() - at);
    request.to.assign(first, first + static_cast<std::ptrdiff_t>(count));
    const auto sent = ask_to_put(relay, request, sealed->get());
    if (sent) {
      const double id = all.id();
      all.MergeFrom(*sent);
      if (id > 0) all.set_id(id);
      continue;
    }
    if (!failure) failure = sent.error();
    if (gives_no_answer(sent.error())) break;
    for (std::size_t i = 0; i < count; ++i) all.add_ids(0);
  }
  if (failure) all.set_reason(failure->detail);
  if (all.id() > 0 || !failure) return Result<proto::FileSent>(std::move(all));
  return failure->code == ErrorCode::link_down ? *failure : failed(*failure);
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

void print_inbox(const proto::InboxAnswer& answer, InboxRequest request, bool text) {
  if (!text) return control::print(answer, control::Form::json);
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

std::size_t stations_per_put(const RelayConfig& config, const PutOptions& options,
                             std::size_t octets) {
  const PMulSettings& p_mul = config.p_mul;
  if (p_mul.enabled() && group_of(p_mul.groups, options.to) != nullptr) return options.to.size();
  const std::size_t most = options.request_octets_max / std::max<std::size_t>(octets, 1);
  return std::max<std::size_t>(most, 1);
}

int put_files(const gateways::ServiceClient& relay, const RelayConfig& config,
              const PutOptions& options) {
  const auto files = files_to_put(options.files);
  if (!files) return relay.fail(files.error());
  std::vector<AwaitedFile> accepted;
  int status = posix::kExitOk;
  for (const FileToPut& file : *files) {
    const auto sent = put_one(relay, file, config, options);
    if (!sent) {
      // If the relay is not there or has no room, the command ends. Each of thousands of files
      // would else be refused by itself.
      const bool full = sent.error().code == ErrorCode::queue_full;
      const auto others = files->data() + files->size() - &file - 1;
      Error error = sent.error();
      if (full && others > 0) {
        error.detail += "; nor were the " + std::to_string(others) + " files after it handed over";
      }
      status = relay.fail(error);
      if (full || error.code == ErrorCode::link_down) break;
      continue;
    }
    for (std::size_t i = 0; i < options.to.size(); ++i) {
      const Address to = options.to[i];
      const double id = static_cast<int>(i) < sent->ids_size() ? sent->ids(static_cast<int>(i)) : 0;
      if (id <= 0) {
        status = relay.fail(
            {ErrorCode::refused, file.path + ": " + to_string(to) + ": " + sent->reason()});
        continue;
      }
      accepted.push_back({.id = {static_cast<std::int64_t>(id)},
                          .to = to,
                          .progress = options.progress,
                          .node_control_socket = config.node_control_socket});
      if (!relay.text()) continue;
      std::cout << "accepted item=" << accepted.back().id.value << " peer=" << to_string(to)
                << " name=" << escaped(file.name) << std::endl;
    }
    if (!relay.text() && !options.wait) control::print(*sent, control::Form::json);
  }
  if (!options.wait) return status;
  for (const AwaitedFile& file : accepted) {
    const int ended = wait_for_file(relay, file);
    if (ended != posix::kExitOk) status = ended;
  }
  return status;
}

int ask_far_inbox(const gateways::ServiceClient& relay, InboxRequest request, Address station,
                  const std::string& path) {
  constexpr const char* kWords[] = {"get", "list", "delete", "stat"};
  std::string line =
      std::string("ask ") + kWords[static_cast<std::size_t>(request)] + " " + to_string(station);
  if (!path.empty()) line += " " + to_percent(path);
  const auto asked = relay.ask<proto::InboxAsked>(line);
  if (!asked) return relay.fail(asked.error());
  const std::string look = "asked " + std::to_string(octets_of(asked->number()));
  while (true) {
    const auto answer = relay.ask<proto::InboxAnswer>(look);
    if (!answer) return relay.fail(answer.error());
    if (answer->state() == "failed") return relay.fail({ErrorCode::refused, answer->text()});
    // The answer to `get` comes before the file.
    const bool arrived = request != InboxRequest::get || !answer->received_as().empty();
    if (answer->state() == "done" && arrived) {
      print_inbox(*answer, request, relay.text());
      return 0;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

int watch_transfers(const gateways::ServiceClient& relay, const std::string& node_control_socket) {
  std::map<double, ProgressSample> first;
  while (true) {
    const auto status = relay.ask<proto::RelayStatus>("status");
    if (!status) return relay.fail(status.error());
    if (status->transfers().empty()) return 0;
    for (proto::Transfer transfer : status->transfers()) {
      const ProgressSample now = sample_of(transfer, node_control_socket);
      const auto begun = first.try_emplace(transfer.id(), now).first;
      if (!relay.text()) {
        add_progress(transfer, begun->second, now);
        control::print(transfer, control::Form::json);
        continue;
      }
      std::cout << "item=" << octets_of(transfer.id()) << " "
                << progress_text("", octets_of(transfer.octets()), begun->second, now) << std::endl;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace s5066::file_relay
