// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_operator.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

#include "config/proto/control.pb.h"
#include "gateways/acp142/mail/mail_setup.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/control/json.h"
#include "s5066d/control/log_fields.h"
#include "s5066d/posix/utc_now.h"

namespace s5066::acp142 {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kRowsListed = 1000;
constexpr std::uint32_t kMessagesTraced = 20;
constexpr int kMailsTraced = 200;
constexpr int kTargetsShown = 1000;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

double number(MailId id) {
  return static_cast<double>(id.value);
}

/// Returns a time, or an empty text for none.
std::string time_or_none(UtcSeconds utc) {
  return utc.value == 0 ? std::string() : control::utc_text(utc);
}

/// Returns the time of the next try; empty if it is due.
std::string next_try_text(UtcSeconds next_try) {
  return next_try > posix::utc_seconds_now() ? control::utc_text(next_try) : std::string();
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number read{};
  const char* const end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, read);
  if (done.ec != std::errc() || done.ptr != end || text.empty()) return std::nullopt;
  return read;
}

std::optional<MailId> id_of(const control::Words& words) {
  const auto id = words.size() == 1 ? number_of<std::int64_t>(words[0]) : std::nullopt;
  if (!id || *id <= 0) return std::nullopt;
  return MailId{*id};
}

// Reads "queue all=1 state=deferred station=NUMBER from=ADDRESS"; each word is optional.
Result<MailFilter> filter_of(const control::Words& words) {
  MailFilter filter;
  for (const std::string_view word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (key == "all") {
      filter.finished = true;
    } else if (key == "state") {
      const auto state = gateways::parse_spool_state(value);
      if (!state) return Error{ErrorCode::bad_field, "no such state: " + std::string(value)};
      filter.state = *state;
    } else if (key == "station") {
      filter.station = NodeId{number_of<std::uint32_t>(value).value_or(0)};
    } else if (key == "from") {
      filter.from = value;
    } else {
      return Error{ErrorCode::bad_field, "queue takes all, state, station and from"};
    }
  }
  return filter;
}

}  // namespace

// Returns an empty text if the stations hear all groups by which they are sent messages.
std::string MailOperator::unheard_groups(const std::vector<NodeId>& stations) const {
  std::string text;
  for (const auto& [group, node] : parts_.p_mul.sender().unheard(parts_.now())) {
    if (std::find(stations.begin(), stations.end(), node) == stations.end()) continue;
    text += (text.empty() ? "" : "; ") + station_name(parts_.config, node) +
            " does not hear group " + group_name(parts_.config, group);
  }
  return text;
}

// The spool has the change before the answer says so; the message on the air changes after that.
Result<std::string> MailOperator::change(SpoolChange asked, MailId id) {
  const MailCore::InHand in_hand = parts_.mail.in_hand(id);
  if (in_hand == MailCore::InHand::ending) {
    return Error{ErrorCode::refused, "its attempt is just ending, ask again"};
  }
  const bool under_way = in_hand == MailCore::InHand::under_way;
  const bool reserve = parts_.store.has_reserve();
  const auto done = parts_.store.change(asked, id, posix::utc_seconds_now(), under_way);
  if (reserve && !parts_.store.has_reserve()) {
    LogLine(parts_.log, LogLevel::error, "spool_disk_full").kv("by", gateways::to_string(asked));
  }
  if (!done) return done.error();
  LogLine(parts_.log, LogLevel::info, "mail_changed")
      .kv("by", gateways::to_string(asked))
      .kv("mail", id.value);
  parts_.mail.on_operator(parts_.now(), id, asked);
  if (asked == SpoolChange::retry) {
    // The operator wants an attempt now, which ends the pause for its stations.
    const auto item = parts_.store.find(id);
    if (item && *item) {
      for (const MailTarget& target : (*item)->targets)
        parts_.mail.on_answering(parts_.now(), target.station);
    }
  }
  parts_.mail.on_spool_changed(parts_.now());
  asio::post(parts_.io, parts_.drain);
  return control::done_json();
}

/// Returns the stations that a message waits for; an empty text if it is over.
std::string MailOperator::waits_for(const MailItem& mail) const {
  if (mail.state == SpoolState::held) return "the operator, who holds it";
  if (mail.state == SpoolState::corrupt) return "the operator: it cannot be read";
  if (gateways::is_final(mail.state)) return {};
  const bool air = mail.transport == Transport::air;
  if (air && parts_.emcon.own().silent()) return "the end of EMCON";
  std::string stations;
  bool silent = air;
  for (const MailTarget& target : mail.targets) {
    if (!is_open(target) || target.station.value == 0) continue;
    silent = silent && parts_.emcon.is_silent(target.station);
    const std::string name = station_name(parts_.config, target.station);
    if ((" " + stations + ",").find(" " + name + ",") != std::string::npos) continue;
    stations += (stations.empty() ? "" : ", ") + name;
  }
  if (mail.state == SpoolState::active && !air) return "the mail server, which is taking it";
  if (mail.state == SpoolState::active) {
    return (silent ? "the end of its rounds to silent stations: " : "acknowledgements of ") +
           stations;
  }
  const std::string whom = air ? " to " + stations : " to the mail server";
  if (mail.next_try > posix::utc_seconds_now())
    return "the next try" + whom + " at " + control::utc_text(mail.next_try);
  return "its turn" + whom;
}

std::optional<Result<std::string>> MailOperator::queue(const control::Words& words) {
  const auto read = filter_of(words);
  if (!read) return read.error();
  const MailFilter& filter = *read;
  const auto items = parts_.store.list(filter, kRowsListed + 1);
  if (!items) return items.error();
  proto::MailQueue queue;
  if (items->empty()) queue.set_note(nothing_listed(filter));
  for (const MailItem& item : *items) {
    if (queue.mails_size() == static_cast<int>(kRowsListed)) {
      queue.set_more(true);
      queue.set_note("there are more than " + std::to_string(kRowsListed) +
                     "; ask by state, station or sender");
      break;
    }
    proto::QueuedMail& mail = *queue.add_mails();
    mail.set_id(number(item.id));
    mail.set_state(std::string(gateways::to_string(item.state)));
    mail.set_transport(std::string(to_string(item.transport)));
    mail.set_priority(item.priority);
    mail.set_octets(number(item.size));
    mail.set_attempts(item.attempts);
    mail.set_from(item.from.address);
    mail.set_message_id(item.label);
    mail.set_waits_for(waits_for(item));
    mail.set_last(item.reason);
    mail.set_unheard_groups(unheard_groups(parts_.mail.waits_for(item.id)));
  }
  return Result<std::string>(control::answer_json(std::move(queue)));
}

std::string MailOperator::nothing_listed(const MailFilter& filter) {
  const bool filtered = filter.state || filter.station || !filter.from.empty();
  if (filtered) return "no message matches";
  const auto any = parts_.store.list(1);
  if (filter.finished || (any && any->empty())) return "the spool is empty";
  return "nothing waits; `queue --all` lists what is over";
}

Result<proto::MailDetails> MailOperator::details(MailId id) {
  const auto item = parts_.store.find(id);
  if (!item) return item.error();
  if (!item->has_value()) return Error{ErrorCode::not_found, "no such message in the spool"};
  const MailItem& mail = **item;
  proto::MailDetails to;
  to.set_version(control::kInterfaceVersion);
  to.set_id(number(mail.id));
  to.set_state(std::string(gateways::to_string(mail.state)));
  to.set_transport(std::string(to_string(mail.transport)));
  to.set_priority(mail.priority);
  to.set_octets(number(mail.size));
  to.set_attempts(mail.attempts);
  to.set_accepted(control::utc_text(mail.created));
  to.set_expires(control::utc_text(mail.expiry));
  if (!gateways::is_final(mail.state)) to.set_next_try(next_try_text(mail.next_try));
  to.set_from(to_string(mail.from));
  to.set_message_id(mail.label);
  if (mail.message_id != 0) to.set_msid(mail.message_id);
  to.set_finished(time_or_none(mail.finished));
  to.set_waits_for(waits_for(mail));
  if (const auto course = parts_.store.course(id)) {
    if (!course->came.empty()) to.set_accepted_by("SMTP from " + course->came);
    if (course->heard.message_id != 0) {
      to.set_accepted_by("air from " + station_name(parts_.config, course->heard.source) +
                         ", msid " + std::to_string(course->heard.message_id));
    }
    if (course->about.value != 0) to.set_reports_on(number(course->about));
  }
  for (const MailTarget& target : mail.targets) {
    if (to.recipients_size() == kTargetsShown) {
      to.set_recipients_left_out(number(mail.targets.size() - kTargetsShown));
      break;
    }
    proto::MailRecipient& recipient = *to.add_recipients();
    recipient.set_address(target.recipient.address);
    if (target.station.value != 0) {
      recipient.set_station(station_name(parts_.config, target.station));
    }
    recipient.set_state(std::string(gateways::to_string(target.state)));
    recipient.set_reason(target.reason);
  }
  return to;
}

std::optional<Result<std::string>> MailOperator::show(const control::Words& words) {
  const auto id = id_of(words);
  if (!id) return std::nullopt;
  const auto mail = details(*id);
  if (!mail) return mail.error();
  return Result<std::string>(control::json_of(*mail));
}

std::optional<Result<std::string>> MailOperator::trace(const control::Words& words) {
  if (words.size() != 1) return std::nullopt;
  return trace(words[0]);
}

// Returns all copies of one message and the reports on it, oldest first; for an address or a
// Message-ID the youngest messages.
Result<std::string> MailOperator::trace(std::string_view word) {
  std::vector<MailId> found;
  if (const auto number = number_of<std::int64_t>(word)) {
    found.push_back({*number});
  } else {
    auto ids = parts_.store.trace(std::string(word), kMessagesTraced);
    if (!ids) return ids.error();
    found = std::move(ids).value();
  }
  std::set<MailId> all;
  for (const MailId id : found) {
    const auto ids = parts_.store.relatives(id);
    if (!ids) return ids.error();
    all.insert(ids->begin(), ids->end());
  }
  proto::MailTrace trace;
  for (const MailId id : all) {
    if (trace.mails_size() == kMailsTraced) {
      trace.set_more(true);
      break;
    }
    if (auto mail = details(id)) *trace.add_mails() = std::move(mail).value();
  }
  if (trace.mails_size() == 0) {
    return Error{ErrorCode::not_found, "no such message in the spool"};
  }
  return control::answer_json(std::move(trace));
}

std::optional<Result<std::string>> MailOperator::stations(const control::Words& words) {
  if (!words.empty()) return std::nullopt;
  const auto rows = parts_.store.stations();
  if (!rows) return rows.error();
  const auto waiting = parts_.store.waiting();
  if (!waiting) return waiting.error();
  proto::StationList list;
  if (parts_.config.stations.empty()) list.set_note("no stations are configured");
  for (const auto& station : parts_.config.stations) {
    StationRow known;
    for (const StationRow& row : *rows) {
      if (row.station == station.node) known = row;
    }
    const bool dead = known.dead_until > posix::utc_seconds_now();
    const auto open = waiting->find(station.node);
    const WaitingMail mails = open == waiting->end() ? WaitingMail{} : open->second;
    proto::StationState& to = *list.add_stations();
    to.set_name(station.name);
    to.set_address(to_string(station.address));
    to.set_state(dead ? "dead" : "ok");
    if (dead) to.set_dead_until(control::utc_text(known.dead_until));
    to.set_failures(known.failures);
    to.set_messages(known.sequence);
    to.set_reason(known.reason);
    to.set_emcon(parts_.emcon.is_silent(station.node) ? "silent" : "answering");
    to.set_heard(time_or_none(parts_.mail.heard(station.node)));
    to.set_waiting(number(mails.mails));
    to.set_octets(number(mails.octets));
    if (mails.mails > 0) to.set_next_try(next_try_text(mails.next_try));
    to.set_unheard_groups(unheard_groups({station.node}));
  }
  return Result<std::string>(control::answer_json(std::move(list)));
}

void MailOperator::add_clocks(proto::MailStatus& status) const {
  const auto apart = [&](NodeId node, std::chrono::seconds ours_ahead, Instant seen_at) {
    proto::StationClock& clock = *status.add_clocks_apart();
    clock.set_station(station_name(parts_.config, node));
    clock.set_at_least(duration_text(ours_ahead));
    clock.set_at_least_s(static_cast<double>(std::abs(ours_ahead.count())));
    clock.set_ours(ours_ahead.count() > 0 ? "ahead" : "behind");
    clock.set_seen_s(to_seconds(parts_.now() - seen_at));
  };
  for (const auto& [node, clock] : parts_.p_mul.receiver().clocks_apart()) {
    apart(node, clock.at_least, clock.seen_at);
  }
  for (const auto& [node, clock] : parts_.mail.clocks_apart()) {
    apart(node, -clock.ahead, clock.seen_at);
  }
}

std::optional<Result<std::string>> MailOperator::status(const control::Words& words) {
  if (!words.empty()) return std::nullopt;
  proto::MailStatus status;
  *status.mutable_program() = parts_.program();
  status.set_bearer(parts_.config.udp ? "udp" : "sis");
  status.set_bound(parts_.bound());
  status.set_emcon(std::string(parts_.emcon.own().reason()));
  status.set_smtp_port(parts_.smtp_port());
  status.set_active(static_cast<std::uint32_t>(parts_.mail.active()));
  status.set_spool_reserve(parts_.store.has_reserve());
  add_clocks(status);
  return Result<std::string>(control::answer_json(std::move(status)));
}

std::optional<Result<std::string>> MailOperator::set_station(const control::Words& words) {
  const auto node = words.size() == 2 ? number_of<std::uint32_t>(words[0]) : std::nullopt;
  if (!node) return std::nullopt;
  const auto set = parts_.emcon.set_station({*node}, std::string(words[1]));
  return set ? Result<std::string>(control::done_json()) : set.error();
}

std::optional<Result<std::string>> MailOperator::emcon(const control::Words& words) {
  if (words.size() != 1) return std::nullopt;
  const std::string_view word = words[0];
  if (word != "show" && word != "on" && word != "off") return std::nullopt;
  proto::MailEmcon state;
  if (word != "show") {
    auto note = parts_.emcon.set_own(word == "on");
    if (!note) return note.error();
    state.set_note(std::move(note).value());
  }
  state.set_on(parts_.emcon.own().silent());
  state.set_reason(std::string(parts_.emcon.own().reason()));
  return Result<std::string>(control::answer_json(std::move(state)));
}

template <SpoolChange asked>
std::optional<Result<std::string>> MailOperator::change(const control::Words& words) {
  const auto id = id_of(words);
  if (!id) return std::nullopt;
  return change(asked, *id);
}

struct MailOperator::Request {
  control::VerbInfo verb;
  control::VerbTable::Answer (MailOperator::*answer)(const control::Words& words);
};

const std::vector<MailOperator::Request>& MailOperator::requests() {
  using control::answered_by;
  static const std::vector<Request> table = {
      {{"status", "", "the state of the gateway", answered_by<proto::MailStatus>},
       &MailOperator::status},
      {{"queue", "[--all] [--state STATE] [--station NAME] [--from ADDRESS]",
        "the messages that are not over, and what they wait for", answered_by<proto::MailQueue>},
       &MailOperator::queue},
      {{"trace", "ID|MESSAGE-ID|ADDRESS", "the whole course of a message",
        answered_by<proto::MailTrace>},
       &MailOperator::trace},
      {{"show", "ID", "one message and each of its recipients", answered_by<proto::MailDetails>},
       &MailOperator::show},
      {{"hold", "ID", "keep it until it is released", answered_by<proto::Done>},
       &MailOperator::change<SpoolChange::hold>},
      {{"release", "ID", "let a held message go on", answered_by<proto::Done>},
       &MailOperator::change<SpoolChange::release>},
      {{"retry", "ID", "try again at once, with its first lifetime", answered_by<proto::Done>},
       &MailOperator::change<SpoolChange::retry>},
      {{"cancel", "ID", "forget it without a report", answered_by<proto::Done>},
       &MailOperator::change<SpoolChange::cancel>},
      {{"stations", "", "each station: its state, and the messages that wait for it",
        answered_by<proto::StationList>},
       &MailOperator::stations},
      {{"station", "NAME silent|answering", "tell whether that station is in EMCON",
        answered_by<proto::Done>},
       &MailOperator::set_station},
      {{"emcon", "on|off|show", "begin or end the silence of this station, or show it",
        answered_by<proto::MailEmcon>},
       &MailOperator::emcon},
  };
  return table;
}

void MailOperator::add_verbs(control::VerbTable& table) {
  for (const Request& request : requests()) {
    table.add(request.verb, [this, answer = request.answer](const control::Words& words) {
      return (this->*answer)(words);
    });
  }
}

std::vector<control::VerbInfo> mail_verbs() {
  std::vector<control::VerbInfo> verbs;
  for (const auto& request : MailOperator::requests()) verbs.push_back(request.verb);
  return verbs;
}

}  // namespace s5066::acp142
