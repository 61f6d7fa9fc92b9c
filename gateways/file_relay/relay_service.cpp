// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <random>
#include <utility>

#include "config/proto/control.pb.h"
#include "gateways/common/file_recovery.h"
#include "gateways/common/inbox.h"
#include "gateways/common/sha256.h"
#include "gateways/common/table_list.h"
#include "gateways/file_relay/file_answers.h"
#include "gateways/file_relay/handover.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/control/json.h"
#include "s5066d/posix/utc_now.h"

namespace s5066::file_relay {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kStoreRequestsMax = 64;
constexpr std::uint32_t kWatchedRows = 200;
/// The core has at most a spool's page of files and a window of U_PDUs under way, some thousands of
/// actions. This is far above that, and a loop that never ends reaches it within seconds.
constexpr std::size_t kStepsMax = 1'000'000;

constexpr auto utc_now = posix::utc_seconds_now;

/// An answer to a request of an earlier process must not fit one of this process.
RelayCore::Config with_random_number(RelayCore::Config config) {
  config.first_request = std::max(1u, std::random_device()());
  config.multicast.seed = std::random_device()();
  return config;
}

LogLevel level_of(RelayEvent::Kind kind) {
  switch (kind) {
    case RelayEvent::Kind::failed:
    case RelayEvent::Kind::expired:
    case RelayEvent::Kind::corrupt:
    case RelayEvent::Kind::store_failed:
    case RelayEvent::Kind::mtu_too_small:
    case RelayEvent::Kind::spool_disk_full:
      return LogLevel::error;
    case RelayEvent::Kind::lost:
    case RelayEvent::Kind::attempt_failed:
    case RelayEvent::Kind::station_silent:
    case RelayEvent::Kind::file_dropped:
    case RelayEvent::Kind::file_incomplete:
    case RelayEvent::Kind::acknowledgement_failed:
    case RelayEvent::Kind::acknowledgement_unmatched:
    case RelayEvent::Kind::unknown_application:
    case RelayEvent::Kind::clock_set:
    case RelayEvent::Kind::message_ignored:
      return LogLevel::warning;
    default:
      return LogLevel::info;
  }
}

}  // namespace

RelayService::RelayService(const RelayConfig& config, LogSink& log)
    : config_(config),
      host_("s5066-relay", log),
      log_(host_.log()),
      spool_(host_.io(), log_, spool_config(), [this] { stop(); }),
      core_(with_random_number(core_config(config))),
      steps_("RelayService::drain ends", kStepsMax) {}

RelayService::~RelayService() = default;

// --- Start and stop ------------------------------------------------------------------------------

Result<void> RelayService::run() {
  if (auto started = start(); !started) return started;
  host_.ready();
  host_.run();
  client_.reset();
  udop_client_.reset();
  store_.reset();  // the store thread finishes what it has accepted
  spool_.finish_backups();
  if (spool_.damage()) return *spool_.damage();
  LogLine(log_, LogLevel::info, "relay_stopped");
  return {};
}

gateways::SpoolKeeper::Config RelayService::spool_config() {
  const gateways::SqliteStore::Config store = store_config(config_, 0);
  return {.directory = config_.spool_directory,
          .path = store.path,
          .program = "relay",
          .backup = config_.backup,
          .reserve_octets = store.reserve_octets,
          .review = gateways::review_files,
          .tell = [this](const gateways::SpoolReport& report) { return tell(report); }};
}

// The operator of a relay looks into its inbox, so the report is a file there.
Result<void> RelayService::tell(const gateways::SpoolReport& report) const {
  gateways::Inbox inbox(config_.inbox_directory);
  const std::string text = to_text(report);
  const auto temporary = inbox.write_temporary(Bytes(text.begin(), text.end()));
  if (!temporary) return temporary.error();
  const auto named = inbox.publish(*temporary, "spool-report.txt");
  return named ? Result<void>() : named.error();
}

Result<void> RelayService::start() {
  if (auto valid = validate(config_); !valid) return valid;
  if (auto taken = spool_.take(); !taken) return taken;
  std::random_device random;
  auto store = gateways::SqliteStore::open(
      store_config(config_, static_cast<std::uint8_t>(random() & 0xFF)));
  if (!store) return store.error();
  if (auto usable = store->check_inbox(); !usable) return usable;
  if (auto recovered = store->recover(); !recovered) return recovered;
  gateways::keep_table_list(log_, store_config(config_, 0).path);
  if (auto left = leave_p_mul(*store); !left) return left;
  auto operator_store = gateways::SqliteStore::open(operator_store_config(config_, 0));
  if (!operator_store) return operator_store.error();
  operator_store_.emplace(std::move(operator_store).value());

  store_ = std::make_unique<gateways::StoreThread<gateways::SqliteStore>>(
      std::move(store).value(), kStoreRequestsMax,
      [this](std::vector<gateways::StoreResult> results) {
        asio::post(host_.io(), [this, results = std::move(results)] {
          for (const gateways::StoreResult& result : results) on_store_result(result);
        });
      },
      [this](const Error& damage) { spool_.post_damage(damage); });
  add_verbs();
  if (auto opened = host_.open_control(control_socket(config_), [this] { return counters(); });
      !opened) {
    return opened;
  }
  client_ = std::make_unique<sis::Client>(host_.io(), client_config(config_),
                                          std::uint64_t{random()} << 32 | random(),
                                          [this](const sis::Event& event) { on_sis(event); });
  if (uses_udop(config_)) {
    udop_client_ = std::make_unique<sis::Client>(
        host_.io(), udop_client_config(config_), std::uint64_t{random()} << 32 | random(),
        [this](const sis::Event& event) { on_udop(event); });
  }
  host_.on_end([this] { stop(); });

  set_clock();
  LogLine(log_, LogLevel::info, "relay_started")
      .kv("sis", config_.sis_host)
      .kv("port", unsigned{config_.sis_port})
      .kv("spool", config_.spool_directory)
      .kv("inbox", config_.inbox_directory)
      .kv("acknowledgement", to_string(config_.acknowledgement));
  spool_.start_backups();
  core_.on_start(now());
  client_->start();
  if (udop_client_) udop_client_->start();
  if (!config_.node_control_socket.empty()) {
    asker_ = std::make_unique<gateways::NodeTimeAsker>(
        host_.io(), config_.node_control_socket,
        [this](std::optional<gateways::NodeTime> node) { on_node_time(node); });
    asker_->ask();
  }
  drain();
  for (const WatchFolder& folder : config_.watch_folders) folders_.emplace_back(folder);
  if (!folders_.empty()) look_at_folders();
  return {};
}

/// Without P_MUL nobody would send what goes by it.
Result<void> RelayService::leave_p_mul(gateways::SqliteStore& store) {
  if (config_.p_mul.enabled()) return {};
  const auto rows = store.leave_p_mul(utc_now());
  if (!rows) return rows.error();
  for (const gateways::SpoolItem& row : *rows) {
    const bool failed = row.state == SpoolState::failed;
    LogLine line(log_, failed ? LogLevel::error : LogLevel::warning, "p_mul_missing");
    line.kv("item", row.id.value).kv("state", to_string(row.state));
    put_station(line, "peer", row.destination, config_.book);
    line.kv("name", std::string_view(row.name));
  }
  return {};
}

// The client unbinds and closes; then nothing is left for the io_context to do.
void RelayService::stop() {
  LogLine(log_, LogLevel::info, "relay_stopping");
  stopping_ = true;
  host_.stopping();
  timer_.cancel();
  folder_timer_.cancel();
  asker_.reset();
  client_->stop();
  if (udop_client_) udop_client_->stop();
}

// --- Time ----------------------------------------------------------------------------------------

Duration RelayService::machine_time() const {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started_);
}

void RelayService::set_clock() {
  core_.on_clock(now(), utc_now(), machine_time());
}

void RelayService::on_node_time(std::optional<gateways::NodeTime> node) {
  const bool followed = time_.follows();
  if (node) {
    time_.on_reading(machine_time(), *node);
  } else {
    time_.on_silence(machine_time());
  }
  if (time_.follows() != followed) {
    LogLine(log_, LogLevel::info, "clock_source").kv("clock", followed ? "machine" : "node");
  }
  if (!followed && !time_.follows()) return;
  set_clock();
  if (const auto next = core_.next_deadline(); next && *next <= now()) core_.on_deadline(now());
  drain();
}

void RelayService::arm_timer() {
  const auto next = core_.next_deadline();
  const auto at = next ? time_.machine_time_of(*next) : std::nullopt;
  timer_.cancel();
  if (!at || stopping_) return;
  timer_.expires_at(started_ + *at);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    if (const auto damage = operator_store_->damage()) return spool_.end_for_damage(*damage);
    set_clock();  // the core needs the time before it lists the spool
    core_.on_deadline(now());
    drain();
  });
}

// --- Events in -----------------------------------------------------------------------------------

void RelayService::on_sis(const sis::Event& event) {
  const auto ours = requests_.event_of(event);
  if (!ours) return;
  if (std::holds_alternative<gateways::SisBound>(*ours) && asker_) {
    asker_->ask();  // another node may answer now
  }
  if (std::holds_alternative<gateways::SisLost>(*ours)) {
    LogLine(log_, LogLevel::warning, "sis").kv("event", sis::to_string(event));
  }
  // All requests end with the binding. The core is told of the binding first, because a file that
  // only lost its connection need not wait before it starts again.
  if (std::holds_alternative<gateways::SisUnresolved>(*ours) && !client_->bound()) {
    to_core(gateways::SisLost{});
  }
  to_core(*ours);
}

// A client that binds anew is told of EMCON again, unless there is none.
void RelayService::on_udop(const sis::Event& event) {
  if (const auto* state = std::get_if<sis::event::Availability>(&event)) {
    const bool silent =
        state->status == sis::NodeStatus::receive_only || state->status == sis::NodeStatus::off;
    core_.on_own_silence(now(), silent);
  } else if (const auto ours = udop_requests_.event_of(event)) {
    if (std::holds_alternative<gateways::SisBound>(*ours)) core_.on_own_silence(now(), false);
    if (std::holds_alternative<gateways::SisLost>(*ours)) {
      LogLine(log_, LogLevel::warning, "sis").kv("event", sis::to_string(event));
    }
    core_.on_udop(now(), *ours);
  }
  drain();
}

void RelayService::to_core(const gateways::SisEvent& event) {
  core_.on_sis(now(), event);
  drain();
}

void RelayService::on_store_result(const gateways::StoreResult& result) {
  offer_store_requests();
  core_.on_store_result(now(), result);
  drain();
}

// --- For an operator -----------------------------------------------------------------------------

void RelayService::add_verbs() {
  using Answer = control::VerbTable::Answer;
  control::VerbTable& verbs = host_.verbs();
  verbs.name_stations(config_.book);
  verbs.add(kStatusVerb, [this](const control::Words& words) -> Answer {
    if (!words.empty()) return std::nullopt;
    return Result<std::string>(status());
  });
  add_spool_verbs();
  add_inbox_verbs();
}

void RelayService::add_spool_verbs() {
  using Answer = control::VerbTable::Answer;
  control::VerbTable& verbs = host_.verbs();
  verbs.add(kQueueVerb, [this](const control::Words& words) -> Answer { return queue(words); });
  verbs.add(kShowVerb, [this](const control::Words& words) -> Answer {
    const auto id = gateways::parse_spool_id(words.size() == 1 ? words[0] : "");
    if (!id) return std::nullopt;
    return show(*id);
  });
  for (int i = 0; i < static_cast<int>(gateways::SpoolChange::count); ++i) {
    const auto asked = static_cast<gateways::SpoolChange>(i);
    verbs.add(change_verb(asked), [this, asked](const control::Words& words) -> Answer {
      if (words.size() != 1) return std::nullopt;
      if (words[0].find('/') != std::string_view::npos) return change_incoming(asked, words[0]);
      const auto id = gateways::parse_spool_id(words[0]);
      if (!id) return std::nullopt;
      return change(asked, *id);
    });
  }
  verbs.add_with_file(kPutVerb,
                      [this](const control::Words& words, posix::PassedFile content) -> Answer {
                        const auto request = parse_put(words);
                        if (!request) return std::nullopt;
                        return put(*request, content);
                      });
  verbs.add(kIncomingVerb, [this](const control::Words& words) -> Answer {
    if (!words.empty()) return std::nullopt;
    return incoming();
  });
  verbs.add(kReceivedVerb, [this](const control::Words& words) -> Answer {
    if (!words.empty()) return std::nullopt;
    return received();
  });
}

void RelayService::add_inbox_verbs() {
  using Answer = control::VerbTable::Answer;
  control::VerbTable& verbs = host_.verbs();
  verbs.add({"ask", "get|list|delete|stat ADDRESS [PATH]", "ask for the inbox of another station",
             control::answered_by<proto::InboxAsked>},
            [this](const control::Words& words) -> Answer {
              if (words.size() != 2 && words.size() != 3) return std::nullopt;
              const auto request = parse_inbox_request(words[0]);
              const auto station = parse_address(words[1]);
              const auto path = from_percent(words.size() == 3 ? words[2] : "");
              if (!request || !station || station->group || !path) return std::nullopt;
              return ask_inbox(*station, *request, *path);
            });
  verbs.add({"asked", "NUMBER", "the answer of the other station",
             control::answered_by<proto::InboxAnswer>},
            [this](const control::Words& words) -> Answer {
              const auto number = parse_number(words.size() == 1 ? words[0] : "");
              if (!number) return std::nullopt;
              return inbox_answer({*number});
            });
}

Result<std::string> RelayService::queue(const control::Words& words) {
  const auto filter = parse_list_filter(words, config_.book);
  if (!filter) return filter.error();
  const auto items = operator_store_->list(*filter, kRowsListed + 1);
  if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
  if (!items) return items.error();
  return control::answer_json(queue_answer(*items, *filter, config_, utc_now()));
}

Result<std::string> RelayService::show(SpoolId id) {
  const auto item = operator_store_->find(id);
  if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
  if (!item) return item.error();
  if (!*item) return Error{ErrorCode::not_found, "no such file in the spool"};
  const auto transfers = core_.transfers();
  const auto on_its_way = std::find_if(transfers.begin(), transfers.end(),
                                       [id](const auto& transfer) { return transfer.item == id; });
  return control::answer_json(details_answer(
      **item, config_, on_its_way == transfers.end() ? std::nullopt : std::optional(*on_its_way),
      utc_now()));
}

Result<std::string> RelayService::put(const PutRequest& request, const posix::PassedFile& content) {
  if (auto good = gateways::validate(request.grade); !good) return good.error();
  if (request.grade.grade != gateways::FileGrade::reliable && !config_.p_mul.enabled()) {
    return Error{ErrorCode::unsupported, "files of this grade need p_mul in the configuration"};
  }
  if (content.more) {
    return Error{ErrorCode::refused,
                 "exactly one descriptor goes with a file, and it could not be taken or others "
                 "came"};
  }
  auto octets = posix::read_sealed_file(content.file.get(), config_.file_octets_max);
  if (!octets) return octets.error();
  set_clock();
  const auto ids = accept({.destination = {},
                           .name = request.name,
                           .content = std::move(octets).value(),
                           .now = utc_now(),
                           .priority = request.priority,
                           .mtime = request.mtime,
                           .mode = request.mode},
                          request.to, request.grade);
  proto::FileSent sent;
  sent.set_state(std::string(to_string(SpoolState::incoming)));
  for (const auto& id : ids) {
    sent.add_ids(id ? static_cast<double>(id->value) : 0);
    if (!id) sent.set_reason(to_string(id.error()));
    if (id && sent.id() == 0) sent.set_id(static_cast<double>(id->value));
  }
  if (sent.id() == 0) return ids.front().error();
  core_.on_spool_changed(now());
  drain();
  return control::answer_json(std::move(sent));
}

/// Takes a file into the spool, as one message by P_MUL if a group has all its stations. What P_MUL
/// alone can do goes by it otherwise, too, with a message for each station.
std::vector<Result<SpoolId>> RelayService::accept(gateways::NewItem item,
                                                  const std::vector<Address>& to,
                                                  const gateways::GradeSettings& grade) {
  std::vector<Result<SpoolId>> ids;
  const auto by_p_mul = [&](const std::vector<Address>& stations) {
    auto rows = operator_store_->enqueue_by_p_mul(item, stations, grade);
    for (std::size_t i = 0; i < stations.size(); ++i) {
      ids.push_back(rows ? Result<SpoolId>((*rows)[i]) : rows.error());
    }
  };
  const PMulSettings& settings = config_.p_mul;
  if (settings.enabled() && to.size() > 1 && group_of(settings.groups, to) != nullptr) {
    // A station for which too many files wait already does not hold up the others.
    std::vector<Address> with_room;
    std::vector<Result<void>> rooms;
    for (const Address station : to) {
      rooms.push_back(operator_store_->check_room(station, item.content.size()));
      if (rooms.back()) with_room.push_back(station);
    }
    if (!with_room.empty()) by_p_mul(with_room);
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!rooms[i]) ids.insert(ids.begin() + static_cast<std::ptrdiff_t>(i), rooms[i].error());
    }
  } else {
    for (const Address station : to) {
      const bool silent =
          std::find(settings.emcon.begin(), settings.emcon.end(), station) != settings.emcon.end();
      if (settings.enabled() && (silent || grade.grade != gateways::FileGrade::reliable)) {
        by_p_mul({station});
        continue;
      }
      item.destination = station;
      ids.push_back(operator_store_->enqueue(item));
    }
  }
  if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!ids[i]) continue;
    LogLine(log_, LogLevel::info, "file_accepted")
        .kv("item", ids[i]->value)
        .kv("peer", to_string(to[i]))
        .kv("name", std::string_view(item.name));
  }
  return ids;
}

void RelayService::look_at_folders() {
  for (FolderWatch& folder : folders_) {
    const auto problems =
        folder.look(config_.file_octets_max,
                    [this](const WatchFolder& rule, const HandedFile& file, bool maybe_again) {
                      return accept_watched(rule, file, maybe_again);
                    });
    for (const std::string& problem : problems) {
      LogLine(log_, LogLevel::warning, "watch_failed").kv("reason", std::string_view(problem));
    }
  }
  folder_timer_.expires_after(FolderWatch::kLookInterval);
  folder_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopping_) look_at_folders();
  });
}

// A crash may have come between the spool and the folder, or another destination may have had no
// room, so the spool may have the file. The same file put in anew has a later ctime than that row,
// because it was renamed since.
Result<void> RelayService::accept_watched(const WatchFolder& folder, const HandedFile& file,
                                          bool maybe_again) {
  const Bytes sha256 = gateways::sha256_of(file.content);
  std::vector<Address> missing;
  set_clock();
  for (const Address to : folder.to) {
    const auto rows = operator_store_->list({.over = true, .destination = to}, kWatchedRows);
    if (!rows) return rows.error();
    const bool there =
        maybe_again &&
        std::any_of(rows->begin(), rows->end(), [&](const gateways::SpoolItem& item) {
          return item.name == file.name && item.sha256 == sha256 &&
                 item.created.value >= file.ctime;
        });
    if (!there) missing.push_back(to);
  }
  Result<void> accepted;
  const auto ids = accept({.destination = {},
                           .name = file.name,
                           .content = file.content,
                           .now = utc_now(),
                           .priority = folder.priority,
                           .mtime = file.mtime,
                           .mode = file.mode},
                          missing, folder.grade);
  for (const auto& id : ids) {  // other stations get the file even if one is refused
    if (!id && accepted) accepted = id.error();
  }
  core_.on_spool_changed(now());
  drain();
  return accepted;
}

Result<std::string> RelayService::ask_inbox(Address station, InboxRequest request,
                                            const std::string& path) {
  if (!config_.transfer_service) {
    return Error{ErrorCode::unsupported, "transfer_service is false in the configuration"};
  }
  const auto number = core_.far_inbox().request(now(), station, request, path);
  if (!number) return number.error();
  drain();
  proto::InboxAsked asked;
  asked.set_number(number->value);
  return control::answer_json(std::move(asked));
}

Result<std::string> RelayService::inbox_answer(TransferNumber number) {
  const FarInbox::Question* question = core_.far_inbox().find(number);
  if (question == nullptr) return Error{ErrorCode::not_found, "no such request"};
  proto::InboxAnswer answer;
  answer.set_state(std::string(to_string(question->state)));
  answer.set_text(question->text);
  answer.set_received_as(question->received_as);
  for (const InboxEntry& entry : question->entries) {
    proto::InboxFile& file = *answer.add_files();
    file.set_name(entry.name);
    file.set_octets(entry.size);
    file.set_mtime(static_cast<double>(entry.mtime));
    file.set_folder(entry.folder);
    file.set_sha256(hex_digits(entry.sha256));
  }
  return control::answer_json(std::move(answer));
}

Result<std::string> RelayService::incoming() {
  proto::IncomingFiles files;
  for (const TransferReceiver::Status& from : core_.transfer_receiver().transfers()) {
    proto::IncomingFile& file = *files.add_files();
    file.set_id(to_string(from.key.source) + "/" + std::to_string(from.key.number));
    file.set_name(from.name);
    file.set_octets(static_cast<double>(from.octets));
    file.set_octets_here(static_cast<double>(from.octets_here));
  }
  // The name of a file by P_MUL is in its first block, which may be missing.
  for (const auto& from : core_.multicast().p_mul().receiver().arriving()) {
    proto::IncomingFile& file = *files.add_files();
    file.set_id(to_string(Address{from.name.source.value}) + "/" +
                std::to_string(from.name.message_id));
    file.set_name("by P_MUL, " + std::to_string(from.blocks) + " of " +
                  std::to_string(from.blocks_total) + " blocks");
    file.set_octets_here(static_cast<double>(from.octets));
  }
  const auto in_spool = operator_store_->arriving_by_p_mul(kRowsListed);
  if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
  if (!in_spool) return in_spool.error();
  for (const auto& from : *in_spool) {
    proto::IncomingFile& file = *files.add_files();
    file.set_id(to_string(from.key.source) + "/" + std::to_string(from.key.number));
    file.set_name(from.manifest.name);
    file.set_octets(static_cast<double>(from.manifest.image_octets));
    file.set_octets_here(static_cast<double>(from.have.octets()));
  }
  return control::answer_json(std::move(files));
}

Result<std::string> RelayService::received() {
  const auto files = operator_store_->received(kRowsListed + 1);
  if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
  if (!files) return files.error();
  return control::answer_json(received_answer(*files));
}

/// `id` is STATION/NUMBER, as `incoming` shows it. Nothing if it is not, or the change is none of a
/// file that is arriving.
std::optional<Result<std::string>> RelayService::change_incoming(gateways::SpoolChange asked,
                                                                 std::string_view id) {
  using gateways::SpoolChange;
  const std::size_t slash = id.rfind('/');  // a name may have a slash, too
  const auto station = config_.book.find(id.substr(0, slash));
  const auto number = parse_number(id.substr(slash + 1));
  if (!station || !number || asked == SpoolChange::retry) return std::nullopt;
  const ControlAction action = asked == SpoolChange::hold      ? ControlAction::suspend
                               : asked == SpoolChange::release ? ControlAction::resume
                                                               : ControlAction::cancel;
  const gateways::TransferKey key{*station, *number};
  bool in_spool = false;
  if (action == ControlAction::cancel) {
    const auto dropped = operator_store_->drop_by_p_mul(key);
    if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
    if (!dropped) return Result<std::string>(dropped.error());
    in_spool = *dropped;
  } else if (action == ControlAction::suspend) {
    const auto parts = operator_store_->arriving_by_p_mul(kRowsListed);
    if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
    if (!parts) return Result<std::string>(parts.error());
    in_spool = std::any_of(parts->begin(), parts->end(),
                           [&](const auto& part) { return part.key == key; });
  }
  const bool known = core_.transfer_receiver().request(now(), key, action) ||
                     core_.multicast().request(now(), key, action, in_spool);
  if (!known && !(in_spool && action == ControlAction::cancel)) {
    return Result<std::string>(Error{ErrorCode::not_found, "no such file is arriving"});
  }
  drain();
  return Result<std::string>(control::done_json());
}

// The spool has the change before the answer says that it is done.
Result<std::string> RelayService::change(gateways::SpoolChange change, SpoolId id) {
  using gateways::SpoolChange;
  const auto in_hand = core_.in_hand(id);
  if (in_hand == SenderCore::InHand::busy) {
    return Error{ErrorCode::refused, "the relay is just working on the file, ask again"};
  }
  const bool sending = in_hand == SenderCore::InHand::sending;
  if (sending && change == SpoolChange::retry) {
    return Error{ErrorCode::refused, "the file is on its way"};
  }
  set_clock();
  const bool reserve = operator_store_->has_reserve();
  const auto item = operator_store_->change(change, id, utc_now());
  if (const auto damage = operator_store_->damage()) spool_.post_damage(*damage);
  if (reserve && !operator_store_->has_reserve()) {
    LogLine(log_, LogLevel::error, "spool_disk_full").kv("by", to_string(change));
  }
  if (!item) return item.error();
  LogLine(log_, LogLevel::info, "file_changed").kv("by", to_string(change)).kv("item", id.value);
  core_.on_changed(now(), *item, change == SpoolChange::retry);
  drain();
  return control::done_json(sending ? "the other station may have it already" : "");
}

std::string RelayService::status() {
  proto::RelayStatus status;
  *status.mutable_program() = host_.program();
  status.set_bound(core_.bound());
  const std::string& problem = core_.multicast().problem();
  if (!problem.empty()) status.set_p_mul_problem(problem);
  for (const TransferStatus& from : core_.transfers()) {
    proto::Transfer& transfer = *status.add_transfers();
    transfer.set_id(static_cast<double>(from.item.value));
    transfer.set_attempt(from.attempt);
    transfer.set_octets(static_cast<double>(from.octets));
    transfer.set_octets_confirmed(static_cast<double>(from.octets_confirmed));
  }
  for (const SilentStation& from : core_.sender().silent_stations(now())) {
    proto::SilentStation& station = *status.add_silent_stations();
    station.set_station(to_string(from.address));
    station.set_silent_for_s(to_seconds(from.silent_for));
    station.set_tried_again_in_s(to_seconds(from.tried_again_in));
    station.set_files(static_cast<double>(from.files));
    station.set_reason(from.reason);
  }
  return control::answer_json(std::move(status));
}

CounterRows RelayService::counters() const {
  CounterRows rows;
  core_.list(rows);
  client_->counters().list(rows);
  return rows;
}

// --- Actions out ---------------------------------------------------------------------------------

void RelayService::drain() {
  if (std::exchange(draining_, true)) return;  // a client may report while it takes a request
  steps_.begin();
  while (auto action = core_.poll_action()) {
    std::visit([this](auto& value) { carry_out(std::move(value)); }, *action);
    steps_.count();
  }
  draining_ = false;
  arm_timer();
}

void RelayService::carry_out(gateways::SisUnidata updu) {
  const gateways::SisRequestId id = updu.id;
  const auto accepted = requests_.request(*client_, std::move(updu));
  if (accepted) return;
  LogLine(log_, LogLevel::warning, "request_refused").kv("reason", to_string(accepted.error()));
  core_.on_sis(now(), gateways::SisUnresolved{id});
}

void RelayService::carry_out(RelayCore::UdopUnidata updu) {
  const gateways::SisRequestId id = updu.unidata.id;
  const auto accepted = udop_requests_.request(*udop_client_, std::move(updu.unidata));
  if (accepted) return;  // P_MUL asks for it again; an attempt by BFTP has failed
  LogLine(log_, LogLevel::warning, "request_refused").kv("reason", to_string(accepted.error()));
  core_.on_udop(now(), gateways::SisUnresolved{id});
}

void RelayService::carry_out(gateways::StoreRequest request) {
  store_requests_.push_back(std::move(request));
  offer_store_requests();
}

void RelayService::offer_store_requests() {
  while (!store_requests_.empty() && store_->request(store_requests_.front())) {
    store_requests_.pop_front();
  }
}

void RelayService::carry_out(const RelayEvent& event) {
  LogLine line(log_, level_of(event.kind), to_string(event.kind));
  if (event.item.value != 0) line.kv("item", event.item.value);
  if (!event.transfer.empty()) line.kv("transfer", std::string_view(event.transfer));
  if (event.peer.value != 0) put_station(line, "peer", event.peer, config_.book);
  if (!event.name.empty()) {
    line.kv("name", std::string_view(event.name)).kv("octets", event.octets);
  }
  if (!event.sha256.empty()) line.kv("sha256", hex_digits(event.sha256));
  if (event.took) line.kv("seconds", to_seconds(*event.took));
  if (event.attempt != 0) line.kv("attempt", event.attempt);
  if (!event.detail.empty()) line.kv("detail", std::string_view(event.detail));
}

}  // namespace s5066::file_relay
