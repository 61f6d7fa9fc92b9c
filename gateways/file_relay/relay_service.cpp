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
#include "gateways/common/spool_lock.h"
#include "gateways/common/spool_recovery.h"
#include "gateways/common/table_list.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/control/json.h"
#include "s5066d/posix/socket.h"

namespace s5066::file_relay {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kStoreRequestsMax = 64;
/// The core has at most a spool's page of files and a window of U_PDUs under way, some thousands of
/// actions. This is far above that, and a loop that never ends reaches it within seconds.
constexpr std::size_t kStepsMax = 1'000'000;

UtcSeconds utc_now() {
  return posix::to_utc_seconds(posix::utc_now());
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
      core_(core_config(config)),
      steps_("RelayService::drain ends", kStepsMax) {}

RelayService::~RelayService() = default;

const control::VerbInfo kStatusVerb = {
    "status", "", "the binding to the server, files on their way, and stations that do not answer",
    control::answered_by<proto::RelayStatus>};

// --- Start and stop ------------------------------------------------------------------------------

Result<void> RelayService::run() {
  if (auto started = start(); !started) return started;
  host_.ready();
  host_.run();
  client_.reset();
  store_.reset();   // finishes what it has accepted
  backup_.reset();  // finishes a copy, which may take longer than a service manager waits
  if (damage_) return *damage_;
  LogLine(log_, LogLevel::info, "relay_stopped");
  return {};
}

void RelayService::start_backups(const std::string& spool) {
  if (config_.backup.directory.empty()) return;
  backup_ = std::make_unique<gateways::BackupThread>(
      gateways::SpoolBackup(spool, config_.backup), utc_now, [this](Result<std::string> made) {
        asio::post(host_.io(),
                   [this, made = std::move(made)] { gateways::log_backup(log_, made); });
      });
}

// Changes that are not committed by now are lost as in a power cut.
void RelayService::end_for_damage(const Error& damage) {
  if (std::exchange(damage_, damage)) return;
  LogLine(log_, LogLevel::error, "spool_damaged").kv("reason", std::string_view(damage.detail));
  stop();
}

Result<void> RelayService::recover_spool() {
  const gateways::SqliteStore::Config store = store_config(config_, 0);
  gateways::SpoolRecovery recovery(
      {.path = store.path,
       .now = utc_now(),
       .review = gateways::review_files,
       .tell = [this](const gateways::SpoolReport& report) { return tell(report); },
       .backups = config_.backup.directory,
       .reserve_octets = store.reserve_octets});
  const auto report = recovery.run();
  return report ? Result<void>() : report.error();
}

// The operator of a relay looks into its inbox, so the report is a file there.
Result<void> RelayService::tell(const gateways::SpoolReport& report) {
  log_report(log_, report);
  gateways::Inbox inbox(config_.inbox_directory);
  const std::string text = to_text(report);
  const auto temporary = inbox.write_temporary(Bytes(text.begin(), text.end()));
  if (!temporary) return temporary.error();
  const auto named = inbox.publish(*temporary, "spool-report.txt");
  return named ? Result<void>() : named.error();
}

Result<void> RelayService::start() {
  if (auto valid = validate(config_); !valid) return valid;
  auto lock = gateways::lock_spool(config_.spool_directory, "relay");
  if (!lock) return lock.error();
  spool_lock_ = std::move(lock).value();
  if (auto recovered = recover_spool(); !recovered) return recovered;
  std::random_device random;
  auto store = gateways::SqliteStore::open(
      store_config(config_, static_cast<std::uint8_t>(random() & 0xFF)));
  if (!store) return store.error();
  if (auto usable = store->check_inbox(); !usable) return usable;
  if (auto recovered = store->recover(); !recovered) return recovered;
  gateways::keep_table_list(log_, store_config(config_, 0).path);
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
      [this](const Error& damage) {
        asio::post(host_.io(), [this, damage] { end_for_damage(damage); });
      });
  add_verbs();
  if (auto opened = host_.open_control(control_socket(config_), [this] { return counters(); });
      !opened) {
    return opened;
  }
  client_ = std::make_unique<sis::Client>(host_.io(), client_config(config_),
                                          std::uint64_t{random()} << 32 | random(),
                                          [this](const sis::Event& event) { on_sis(event); });
  host_.on_end([this] { stop(); });

  set_clock();
  LogLine(log_, LogLevel::info, "relay_started")
      .kv("sis", config_.sis_host)
      .kv("port", unsigned{config_.sis_port})
      .kv("spool", config_.spool_directory)
      .kv("inbox", config_.inbox_directory)
      .kv("acknowledgement", to_string(config_.acknowledgement));
  start_backups(store_config(config_, 0).path);
  core_.on_start(now());
  client_->start();
  if (!config_.node_control_socket.empty()) {
    asker_ = std::make_unique<gateways::NodeTimeAsker>(
        host_.io(), config_.node_control_socket,
        [this](std::optional<gateways::NodeTime> node) { on_node_time(node); });
    asker_->ask();
  }
  drain();
  return {};
}

// The client unbinds and closes; then nothing is left for the io_context to do.
void RelayService::stop() {
  LogLine(log_, LogLevel::info, "relay_stopping");
  stopping_ = true;
  host_.stopping();
  timer_.cancel();
  asker_.reset();
  client_->stop();
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
    if (const auto damage = operator_store_->damage()) return end_for_damage(*damage);
    set_clock();  // before the spool is listed
    core_.on_deadline(now());
    drain();
  });
}

// --- Events in -----------------------------------------------------------------------------------

void RelayService::on_sis(const sis::Event& event) {
  const auto ours = requests_.event_of(event);
  if (!ours) return;
  if (std::holds_alternative<gateways::SisBound>(*ours) && asker_) {
    asker_->ask();  // the node may be another one now
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
  verbs.add({"wake", "", "look into the spool now", control::answered_by<proto::Done>},
            [this](const control::Words& words) -> Answer {
              if (!words.empty()) return std::nullopt;
              set_clock();
              core_.on_spool_changed(now());
              drain();
              return Result<std::string>(control::done_json());
            });
  for (int i = 0; i < static_cast<int>(gateways::SpoolChange::count); ++i) {
    const auto asked = static_cast<gateways::SpoolChange>(i);
    verbs.add({to_string(asked), "ID", "change the file with this number",
               control::answered_by<proto::Done>},
              [this, asked](const control::Words& words) -> Answer {
                const auto id = gateways::parse_spool_id(words.size() == 1 ? words[0] : "");
                if (!id) return std::nullopt;
                return change(asked, *id);
              });
  }
}

// The spool has the change before the answer says that it is done.
Result<std::string> RelayService::change(gateways::SpoolChange change, SpoolId id) {
  using gateways::SpoolChange;
  const auto in_hand = core_.sender().in_hand(id);
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
  if (const auto damage = operator_store_->damage()) {
    asio::post(host_.io(), [this, error = *damage] { end_for_damage(error); });
  }
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
  if (event.attempt != 0) line.kv("attempt", event.attempt);
  if (!event.detail.empty()) line.kv("detail", std::string_view(event.detail));
}

}  // namespace s5066::file_relay
