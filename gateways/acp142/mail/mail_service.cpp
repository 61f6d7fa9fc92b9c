// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "config/proto/control.pb.h"
#include "gateways/acp142/mail/mail_setup.h"
#include "gateways/acp142/mail/next_hops.h"
#include "gateways/acp142/mail/repeat_marks.h"
#include "gateways/acp142/store/mail_recovery.h"
#include "gateways/common/table_list.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/posix/utc_now.h"

namespace s5066::acp142 {

namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

constexpr std::size_t kStoreRequestsMax = 1024;
constexpr std::uint32_t kSpoolReservePercent = 3;  // for each step of precedence above routine
constexpr auto kClockEvery = seconds(60);
constexpr std::size_t kRecipientsLogged = 20;
/// Every message that may be on the air at a time has at most some thousand PDUs, and the spool is
/// asked for a page at a time. This is far above that, and a loop that never ends reaches it within
/// seconds.
constexpr std::size_t kStepsMax = 4'000'000;

SqliteMailStore::Config store_config(const MailConfig& config) {
  SqliteMailStore::Config store;
  store.path = config.spool_directory + "/spool.db";
  store.open_mails_max = config.open_mails_max;
  store.open_octets_max = config.open_octets_max;
  store.reserve_percent = kSpoolReservePercent;
  store.duplicate_window_s = config.duplicate_window_s;
  store.reserve_octets = config.spool_reserve_octets;
  return store;
}

sis::Client::Config client_config(const MailConfig& config, Duration reconnect) {
  sis::Client::Config client;
  client.core.retry_first = reconnect;
  client.host = config.sis_host;
  client.port = config.sis_port;
  client.core.sap = p_mul::kMmhsSap;
  client.core.rank = config.rank;
  client.core.service = {.mode = sis::TransmissionMode::nonarq};
  return client;
}

/// Returns the addresses as text for one line of the log.
std::string joined(const std::vector<std::string>& addresses) {
  std::string text;
  const std::size_t shown = std::min(addresses.size(), kRecipientsLogged);
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? " " : "") + addresses[i];
  if (shown < addresses.size())
    text += " and " + std::to_string(addresses.size() - shown) + " more";
  return text;
}

LogLevel level_of(MailNews::Kind kind) {
  switch (kind) {
    case MailNews::Kind::failed:
    case MailNews::Kind::expired:
    case MailNews::Kind::report_lost:
    case MailNews::Kind::store_failed:
    case MailNews::Kind::disk_full:
    case MailNews::Kind::parked:
      return LogLevel::error;
    case MailNews::Kind::refused:
    case MailNews::Kind::deferred:
    case MailNews::Kind::unreadable:
    case MailNews::Kind::station_dead:
    case MailNews::Kind::clock_set:
    case MailNews::Kind::clock_apart:
      return LogLevel::warning;
    default:
      return LogLevel::info;
  }
}

}  // namespace

std::string control_socket_path(const MailConfig& config) {
  return config.control_socket.empty() ? config.spool_directory + "/control.sock"
                                       : config.control_socket;
}

control::SocketConfig control_socket(const MailConfig& config) {
  return {.path = control_socket_path(config), .group_too = config.control_group_too};
}

MailService::MailService(const MailConfig& config, AddressTable table, std::uint64_t seed,
                         LogSink& log)
    : MailService(config, std::move(table), seed, log, Waits{}) {}

MailService::MailService(const MailConfig& config, AddressTable table, std::uint64_t seed,
                         LogSink& log, const Waits& waits)
    : config_(config),
      waits_(waits),
      table_(std::move(table)),
      host_("s5066-acp142", log),
      log_(host_.log()),
      io_(host_.io()),
      rng_(seed),
      spool_(io_, log_, spool_config(), [this] { stop(); }),
      mail_(mail_config(config_), table_),
      p_mul_(p_mul_config(config_), rng_),
      carrier_(carrier_config(config_)),
      steps_("MailService::drain ends", kStepsMax),
      emcon_(io_, {.config = config_,
                   .log = log_,
                   .mail = mail_,
                   .p_mul = p_mul_,
                   .carrier = carrier_,
                   .now = [this] { return now(); },
                   .drain = [this] { drain(); },
                   .bind_again = [this] { return bind_again(); },
                   .word_of_node = waits.word_of_node}),
      peers_(io_,
             {.config = config_,
              .log = log_,
              .mail = mail_,
              .now = [this] { return now(); },
              .drain = [this] { drain(); }},
             rng_) {}

MailService::~MailService() = default;

// --- Start and stop ------------------------------------------------------------------------------

Result<void> MailService::run() {
  if (auto started = start(); !started) return started;
  host_.run();
  operator_.reset();
  listener_.reset();
  client_.reset();
  udp_.reset();
  store_.reset();  // finishes what it has accepted
  spool_.finish_backups();
  if (spool_.damage()) return *spool_.damage();
  LogLine(log_, LogLevel::info, "mail_gateway_stopped");
  return {};
}

gateways::SpoolKeeper::Config MailService::spool_config() const {
  const SqliteMailStore::Config store = store_config(config_);
  return {.directory = config_.spool_directory,
          .path = store.path,
          .program = "gateway",
          .backup = config_.backup,
          .reserve_octets = store.reserve_octets,
          .review = [this](gateways::Database& fresh, gateways::SpoolReport& report) {
            MailRecovery::Config config{.hostname = config_.hostname,
                                        .operator_mailbox = config_.operator_mailbox,
                                        .now = posix::utc_seconds_now()};
            if (config.operator_mailbox.empty()) {
              config.operator_mailbox = "postmaster@" + config_.hostname;
            }
            return MailRecovery(config, fresh, report).run();
          }};
}

Result<void> MailService::start() {
  if (auto taken = spool_.take(); !taken) return taken;
  auto store = SqliteMailStore::open(store_config(config_));
  if (!store) return store.error();
  gateways::keep_table_list(log_, store_config(config_).path);
  auto for_operators = SqliteMailStore::open(store_config(config_));
  if (!for_operators) return for_operators.error();
  operator_store_.emplace(std::move(for_operators).value());
  if (auto loaded = emcon_.load(*operator_store_); !loaded) return loaded.error();
  store_ = std::make_unique<gateways::StoreThread<SqliteMailStore>>(
      std::move(store).value(), kStoreRequestsMax,
      [this](std::vector<MailResult> results) {
        asio::post(io_, [this, results = std::move(results)] {
          for (const MailResult& result : results) mail_.on_store_result(now(), result);
          offer_store_requests();
          drain();
        });
      },
      [this](const Error& damage) { spool_.post_damage(damage); });
  listener_ = std::make_unique<SmtpListener>(
      io_, config_, table_, [this] { return now(); },
      [this](SessionId session, SmtpServerCore::Commit commit) {
        on_commit(session, std::move(commit));
      });
  operator_.emplace(MailOperator::Parts{.io = io_,
                                        .config = config_,
                                        .log = log_,
                                        .mail = mail_,
                                        .p_mul = p_mul_,
                                        .emcon = emcon_,
                                        .store = *operator_store_,
                                        .now = [this] { return now(); },
                                        .drain = [this] { drain(); },
                                        .bound = [this] { return bound(); },
                                        .smtp_port = [this] { return listener_->port(); },
                                        .program = [this] { return host_.program(); }});
  operator_->add_verbs(host_.verbs());
  if (auto opened = host_.open_control(control_socket(config_), [this] { return counters(); });
      !opened) {
    return opened;
  }
  if (auto opened = listener_->open(); !opened) return opened;
  if (auto opened = open_carrier(); !opened) return opened;
  host_.on_end([this] { stop(); });
  set_clock();
  arm_clock();
  LogLine line(log_, LogLevel::info, "mail_gateway_started");
  line.kv("smtp", config_.smtp.address).kv("smtp_port", unsigned{listener_->port()});
  if (!udp_) line.kv("sis", config_.sis_host).kv("port", unsigned{config_.sis_port});
  line.kv("bearer", std::string_view(udp_ ? "udp" : "sis")).kv("spool", config_.spool_directory);
  spool_.start_backups();
  p_mul_.on_start(now());
  mail_.on_start(now());
  drain();
  return {};
}

void MailService::make_client() {
  client_ = std::make_unique<sis::Client>(io_, client_config(config_, waits_.reconnect), rng_(),
                                          [this](const sis::Event& event) { on_sis(event); });
}

bool MailService::bind_again() {
  if (!client_) return false;
  requests_.clear();
  to_carrier(gateways::SisLost{});
  emcon_.on_lost();
  peers_.bind_again();
  earlier_clients_.add(client_->counters());
  make_client();
  if (serving_) client_->start();
  return true;
}

// PM-131
CounterRows MailService::counters() const {
  CounterRows rows;
  mail_.counters().list(rows);
  CounterSet<SmtpCounter> smtp = listener_->counters();
  peers_.add_smtp(smtp);
  smtp.list(rows);
  p_mul_.list(rows);
  if (udp_) {
    udp_->core().counters().list(rows, {{"carrier", "udp"}});
  } else {
    carrier_.counters().list(rows, {{"carrier", "udop"}});
  }
  CounterSet<sis::ClientCounter> sis = earlier_clients_;
  if (client_) sis.add(client_->counters());
  peers_.add_clients(sis);
  sis.list(rows);
  peers_.list(rows);
  return rows;
}

bool MailService::bound() const {
  return udp_ || carrier_.bound();
}

Result<void> MailService::open_carrier() {
  if (!config_.udp) {
    make_client();
    return {};
  }
  auto opened = p_mul::CarrierUdp::open(io_, udp_config(config_), [this](ByteSpan datagram) {
    if (!serving_) return;  // it comes again
    p_mul_.on_datagram(now(), datagram);
    drain();
  });
  if (!opened) return opened.error();
  udp_ = std::move(opened).value();
  return {};
}

// The store finishes what it has; the rest is in the spool and goes on after the next start.
void MailService::stop() {
  LogLine(log_, LogLevel::info, "mail_gateway_stopping");
  stopping_ = true;
  host_.stopping();
  timer_.cancel();
  clock_timer_.cancel();
  listener_->close();
  if (client_) client_->stop();
  peers_.stop();
  io_.stop();
}

// --- Time ----------------------------------------------------------------------------------------

Instant MailService::now() const {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started_));
}

void MailService::set_clock() {
  mail_.on_clock(now(), posix::utc_seconds_now());
  p_mul_.on_clock(now(), posix::utc_seconds_now());
}

void MailService::arm_clock() {
  clock_timer_.expires_after(kClockEvery);
  clock_timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    set_clock();
    drain();
    if (const auto damage = operator_store_->damage()) return spool_.end_for_damage(*damage);
    arm_clock();
  });
}

void MailService::arm_timer() {
  if (stopping_) return;
  std::optional<Instant> next = mail_.next_deadline();
  const auto earlier = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  if (const auto air = p_mul_.next_deadline()) earlier(*air);
  if (const auto peers = peers_.next_deadline()) earlier(*peers);
  if (udp_ && p_mul_.has_pdu()) earlier(udp_->core().clear_at());
  if (!next) return;
  timer_.expires_at(started_ + next->time_since_epoch());
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    mail_.on_deadline(now());
    p_mul_.on_deadline(now());
    peers_.on_deadline();
    drain();
  });
}

// --- The subnetwork ------------------------------------------------------------------------------

void MailService::on_sis(const sis::Event& event) {
  const auto note = [&](LogLevel level) {
    LogLine(log_, level, "sis").kv("event", sis::to_string(event));
  };
  if (const auto* state = std::get_if<sis::event::Availability>(&event)) {
    note(LogLevel::info);
    emcon_.on_availability(state->status);
    return drain();
  }
  const auto ours = requests_.event_of(event);
  if (!ours) return;
  const bool bound = std::holds_alternative<gateways::SisBound>(*ours);
  const bool lost = std::holds_alternative<gateways::SisLost>(*ours);
  if (bound || lost) note(lost ? LogLevel::warning : LogLevel::info);
  to_carrier(*ours);
  if (bound) emcon_.on_bound();
  if (lost) emcon_.on_lost();
  drain();
}

void MailService::to_carrier(const gateways::SisEvent& event) {
  carrier_.on_sis(now(), event);
}

bool MailService::bearer_ready() const {
  return udp_ ? serving_ && udp_->core().ready(now()) : carrier_.ready();
}

bool MailService::has_pdu() {
  p_mul_.on_arq_full(carrier_.arq_full());
  return p_mul_.has_pdu();
}

void MailService::send(p_mul::OutgoingPdu pdu) {
  const std::uint8_t priority = pdu.priority;
  const auto sent =
      udp_ ? udp_->core().request_send(now(), pdu) : carrier_.request_send(now(), std::move(pdu));
  if (!sent) {
    LogLine(log_, LogLevel::warning, "pdu_refused").kv("reason", to_string(sent.error()));
  }
  if (udp_) udp_->flush();
  p_mul_.on_clear_at(now(), priority,
                     udp_ ? udp_->core().clear_at() : carrier_.clear_at(now(), priority));
}

void MailService::drain_air() {
  bool more = true;
  while (more) {
    steps_.count();
    more = false;
    while (auto datagram = carrier_.poll_datagram()) {
      more = true;
      p_mul_.on_datagram(now(), *datagram);
    }
    while (bearer_ready() && has_pdu()) {
      steps_.count();
      auto pdu = p_mul_.poll_pdu(now());
      if (!pdu) break;
      more = true;
      send(*std::move(pdu));
    }
    while (const auto group = p_mul_.poll_membership()) {
      const auto done = udp_->request_membership(group->address, group->joined);
      LogLine line(log_, done ? LogLevel::info : LogLevel::warning,
                   group->joined ? "group_joined" : "group_left");
      line.kv("group", asio::ip::address_v4(group->address).to_string());
      if (!done) line.kv("reason", done.error().detail);
      if (!done && group->joined) p_mul_.on_not_joined(group->address);
    }
    while (auto unidata = carrier_.poll_unidata()) {
      more = true;
      const gateways::SisRequestId id = unidata->id;
      const auto accepted = requests_.request(*client_, *std::move(unidata));
      if (accepted) continue;
      LogLine(log_, LogLevel::warning, "request_refused").kv("reason", to_string(accepted.error()));
      to_carrier(gateways::SisUnresolved{id});
    }
    while (const auto node = p_mul_.poll_heard()) mail_.on_heard(now(), *node);
    while (auto event = p_mul_.poll_event()) {
      more = true;
      if (const auto* ended = std::get_if<DestinationEnded>(&*event)) {
        mail_.on_destination_ended(now(), *ended);
      } else if (const auto* received = std::get_if<Received>(&*event)) {
        mail_.on_received(now(), *received);
      } else if (const auto* unanswered = std::get_if<Unanswered>(&*event)) {
        mail_.on_unanswered(*unanswered);
      } else {
        const MessageNews& news = std::get<MessageNews>(*event);
        if (news.kind == MessageNews::Kind::left_silence) emcon_.on_left_silence(news.node);
        log_air(news);
      }
    }
  }
}

// Mail that comes before the spool has told the known messages could only be refused, or would
// count as new.
void MailService::serve() {
  if (serving_ || !mail_.started()) return;
  serving_ = true;
  host_.ready();
  listener_->serve();
  if (client_) client_->start();
  peers_.start();
}

// --- Actions -------------------------------------------------------------------------------------

void MailService::drain() {
  if (std::exchange(draining_, true)) return;  // a client may report while it takes a request
  for (steps_.begin(); !stopping_; steps_.count()) {
    drain_air();
    peers_.set_quiet(emcon_.own().silent());
    const bool from_peers = peers_.drain();
    auto action = mail_.poll_action();
    if (!action && !from_peers) break;
    if (!action) continue;
    std::visit([this](auto& value) { carry_out(std::move(value)); }, *action);
  }
  if (!stopping_) serve();  // all that the spool knew has been handed on
  draining_ = false;
  arm_timer();
}

void MailService::on_commit(SessionId session, SmtpServerCore::Commit commit) {
  const auto marks = repeat_marks(commit.mail, "smtp");
  mail_.on_mail(now(), session, std::move(commit), marks);
  // The session must finish its own work before the consequences of the answer reach it.
  asio::post(io_, [this] { drain(); });
}

void MailService::carry_out(MailRequest request) {
  store_requests_.push_back(std::move(request));
  offer_store_requests();
}

void MailService::offer_store_requests() {
  while (!store_requests_.empty() && store_->request(store_requests_.front())) {
    store_requests_.pop_front();
  }
}

void MailService::carry_out(MailCore::Submit submit) {
  const MessageKey key = submit.submission.key;
  const auto accepted = p_mul_.request_submit(now(), std::move(submit.submission));
  if (accepted) {
    mail_.on_accepted(now(), key, *accepted);
  } else {
    mail_.on_submit_refused(now(), key, accepted.error());
  }
}

void MailService::carry_out(const MailCore::ConfirmReceived& confirm) {
  if (confirm.committed) {
    p_mul_.on_committed(now(), confirm.name);
  } else {
    p_mul_.on_not_committed(now(), confirm.name);
  }
}

void MailService::carry_out(const MailCore::Known& known) {
  p_mul_.on_known(now(), known.name, known.expiry);
}

void MailService::carry_out(const MailCore::AnswerSession& answer) {
  const std::string id = std::to_string(answer.mail.value);
  const std::string said = !answer.repeated         ? "queued as " + id
                           : answer.mail.value != 0 ? "not sent again, it was queued as " + id
                                                    : "not sent again, it was queued before";
  listener_->answer(answer.session, answer.outcome, said);
}

// A message that is not found has ended meanwhile, and the mail side was told.
void MailService::carry_out(const MailCore::Cancel& cancel) {
  static_cast<void>(p_mul_.request_cancel(now(), cancel.key));
}

void MailService::carry_out(const MailCore::Suspend& suspend) {
  static_cast<void>(p_mul_.request_suspend(now(), suspend.key));
}

void MailService::carry_out(const MailCore::Deliver& deliver) {
  deliver_by_smtp(
      io_, config_, [this] { return now(); }, deliver.mail,
      [this, id = deliver.id](const SmtpClientCore::Done& done) {
        if (stopping_) return;
        mail_.on_delivered(now(), id, done);
        drain();
      });
}

void MailService::carry_out(const MailNews& news) {
  LogLine line(log_, level_of(news.kind), to_string(news.kind));
  if (news.mail.value != 0) line.kv("mail", news.mail.value);
  if (news.first.value != 0) line.kv("first", news.first.value);
  if (news.station.value != 0)
    line.kv("station", std::string_view(station_name(config_, news.station)));
  if (!news.address.empty()) line.kv("address", std::string_view(news.address));
  if (news.octets != 0) line.kv("octets", news.octets);
  if (news.name.message_id != 0) line.kv("msid", std::uint64_t{news.name.message_id});
  if (!news.label.empty()) line.kv("message_id", std::string_view(news.label));
  if (!news.recipients.empty()) line.kv("to", joined(news.recipients));
  if (!news.detail.empty()) line.kv("detail", std::string_view(news.detail));
}

void MailService::log_air(const MessageNews& news) {
  // Names of log events; a test looks for each in docs/operate/log_events.md.
  static constexpr std::string_view kNames[] = {
      "round_started",     "round_sent",      "partly_received", "sequence_gap",
      "discarded_by_peer", "receive_expired", "left_silence",    "clock_apart",
      "ack_refused",       "pdu_refused",     "group_unheard"};
  using Kind = MessageNews::Kind;
  const bool clock = news.kind == Kind::clock_apart;
  const bool unheard = news.kind == Kind::group_unheard;
  const bool refused = news.kind == Kind::ack_refused || news.kind == Kind::pdu_refused;
  LogLine line(log_, clock || refused || unheard ? LogLevel::warning : LogLevel::info,
               kNames[static_cast<std::size_t>(news.kind)]);
  const bool ours = news.name.source == config_.node;
  const MailId mail = ours ? mail_.under_way_as(news.name.message_id) : MailId{};
  if (mail.value != 0) line.kv("mail", mail.value);
  line.kv("source", std::string_view(station_name(config_, news.name.source)))
      .kv("msid", std::uint64_t{news.name.message_id});
  if (news.node.value != 0) line.kv("station", std::string_view(station_name(config_, news.node)));
  if (news.octets != 0) line.kv("octets", news.octets);
  if (clock) {
    line.kv("at_least", duration_text(news.apart))
        .kv("detail", std::string_view("our clock is ahead of the sender's by at least this time"));
  }
  if (!news.detail.empty()) line.kv("detail", std::string_view(news.detail));
  if (!unheard) return;
  line.kv("group", std::string_view(group_name(config_, news.group)))
      .kv("detail",
          std::string_view("the station acknowledges only what is sent to its own address; "
                           "check subnet_access.groups of its s5066d"));
}

}  // namespace s5066::acp142
