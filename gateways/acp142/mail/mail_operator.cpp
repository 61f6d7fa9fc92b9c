// What an operator asks of the running mail gateway, and what he gets to read.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "gateways/acp142/mail/mail_service.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/posix/socket.h"

namespace s5066::acp142 {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kRowsListed = 1000;
constexpr std::uint32_t kMessagesTraced = 20;
constexpr std::size_t kTraceOctetsMax = 1u << 20;
constexpr std::size_t kTargetsShown = 1000;

UtcSeconds utc_now() {
  return posix::to_utc_seconds(posix::utc_now());
}

/// Addresses and reasons come from outside: nothing in them may break a line.
std::string printable(std::string_view text) {
  std::string plain(text);
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, '?');
  return plain;
}

}  // namespace

// PM-131
std::string MailService::air_counters() const {
  const auto& core = p_mul_.stats();
  const auto& sent = p_mul_.sender().stats();
  const auto& got = p_mul_.receiver().stats();
  const auto& groups = p_mul_.groups().stats();
  const std::pair<const char*, std::uint64_t> counters[] = {
      {"pdus_received", core.pdus},
      {"bad_checksum", core.bad_checksum},
      {"malformed", core.malformed},
      {"unknown_type", core.unknown_type},
      {"source_refused", core.source_refused},
      {"messages_sent", sent.messages},
      {"rounds", sent.rounds},
      {"data_pdus_sent", sent.data_pdus},
      {"data_pdus_sent_again", sent.data_pdus_again},
      {"octets_sent", sent.octets},
      {"acks_received", sent.acks},
      {"acks_not_addressed", sent.acks_not_addressed},
      {"acks_of_others", sent.acks_of_others},
      {"acks_nonsense", sent.acks_nonsense},
      {"acks_other_form", sent.acks_other_form},
      {"destinations_expired", sent.expired},
      {"data_pdus_received", got.data_pdus},
      {"duplicates", got.duplicates},
      {"recovered", got.recovered},
      {"acks_sent", got.acks},
      {"messages_received", got.received},
      {"messages_repeated", got.repeated},
      {"messages_discarded", got.discarded},
      {"messages_expired", got.expired},
      {"messages_clock_apart", got.clock_apart},
      {"messages_without_expiry", got.without_expiry},
      {"orphans_dropped", got.orphans_dropped},
      {"sequence_gaps", got.sequence_gaps},
      {"crowded_out", got.crowded_out},
      {"no_room", got.no_room},
      {"too_large", got.too_large},
      {"group_pdus", core.group_pdus},
      {"groups_requested", groups.requests},
      {"groups_rejected", groups.rejected},
      {"groups_pool_empty", groups.pool_empty},
      {"groups_joined", groups.joined},
      {"joins_refused", groups.joins_refused},
  };
  std::ostringstream text;
  for (const auto& [name, value] : counters) {
    text << (name == counters[0].first ? "" : " ") << name << "=" << value;
  }
  return text.str();
}

// Empty where the stations hear all groups that they are sent to by.
std::string MailService::unheard_groups(const std::vector<NodeId>& stations) const {
  std::string text;
  for (const auto& [group, node] : p_mul_.sender().unheard(now())) {
    if (std::find(stations.begin(), stations.end(), node) == stations.end()) continue;
    text += (text.empty() ? "" : "; ") + name_of(node) + " does not hear group " + name_of(group);
  }
  return text;
}

// The spool has it before "ok" is said; what is under way follows.
std::string MailService::change(OperatorVerb verb, const std::string& word, MailId id) {
  const MailCore::InHand in_hand = mail_.in_hand(id);
  if (in_hand == MailCore::InHand::ending) return "error: its attempt is just ending, ask again\n";
  const bool under_way = in_hand == MailCore::InHand::under_way;
  const bool reserve = operator_store_->has_reserve();
  const auto done = operator_store_->change(verb, id, utc_now(), under_way);
  if (reserve && !operator_store_->has_reserve()) {
    LogLine(log_, LogLevel::error, "spool_disk_full").kv("by", word);
  }
  if (!done) return "error: " + to_string(done.error()) + "\n";
  LogLine(log_, LogLevel::info, "mail_changed").kv("by", word).kv("mail", id.value);
  mail_.on_operator(now(), id, verb);
  if (verb == OperatorVerb::requeue) {
    // The operator wants it tried now, so its stations are not left alone any longer.
    const auto item = operator_store_->find(id);
    if (item && *item) {
      for (const MailTarget& target : (*item)->targets) mail_.on_answering(now(), target.station);
    }
  }
  mail_.on_spool_changed(now());
  asio::post(io_, [this] { drain(); });
  return "ok\n";
}

/// Returns what a message waits for; empty for one that is over.
std::string MailService::waits_for(const MailItem& mail) const {
  if (mail.state == SpoolState::held) return "waits for the operator, who holds it";
  if (mail.state == SpoolState::corrupt) return "waits for the operator: it cannot be read";
  if (gateways::is_final(mail.state)) return {};
  const bool air = mail.road == Road::air;
  if (air && silence_.silent()) return "waits for the end of EMCON";
  std::string stations;
  bool silent = air;
  for (const MailTarget& target : mail.targets) {
    if (!is_open(target) || target.station.value == 0) continue;
    silent = silent && is_silent(target.station);
    const std::string name = name_of(target.station);
    if ((" " + stations + ",").find(" " + name + ",") != std::string::npos) continue;
    stations += (stations.empty() ? "" : ", ") + name;
  }
  if (mail.state == SpoolState::active && !air) return "is being handed to the mail server";
  if (mail.state == SpoolState::active) {
    return (silent ? "is sent to silent stations: " : "waits for acknowledgements of ") + stations;
  }
  const std::string whom = air ? " to " + stations : " to the mail server";
  if (mail.next_try > utc_now())
    return "waits for the next try" + whom + " at " + mail_date(mail.next_try);
  return "waits for its turn" + whom;
}

// "queue all=1 state=deferred station=NUMBER from=ADDRESS", each word where it is wanted.
std::string MailService::queue(std::istringstream& words) {
  MailFilter filter;
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    if (key == "all") {
      filter.finished = true;
    } else if (key == "state") {
      const auto state = gateways::parse_spool_state(value);
      if (!state) return "error: no such state: " + printable(value) + "\n";
      filter.state = *state;
    } else if (key == "station") {
      std::uint32_t node = 0;
      std::from_chars(value.data(), value.data() + value.size(), node);
      filter.station = NodeId{node};
    } else if (key == "from") {
      filter.from = value;
    } else {
      return "error: queue knows all, state, station and from\n";
    }
  }
  const auto items = operator_store_->list(filter, kRowsListed + 1);
  if (!items) return "error: " + to_string(items.error()) + "\n";
  if (items->empty()) return none_listed(filter);
  std::ostringstream text;
  std::uint32_t rows = 0;
  for (const MailItem& item : *items) {
    if (++rows > kRowsListed) {
      text << "there are more than " << kRowsListed << "; ask by state, station or sender\n";
      break;
    }
    const std::string waits = waits_for(item);
    const std::string unheard = printable(unheard_groups(mail_.waits_for(item.id)));
    text << item.id.value << "\t" << gateways::to_string(item.state) << "\t" << to_string(item.road)
         << "\t" << unsigned{item.priority} << "\t" << item.size << "\t" << item.attempts << "\t<"
         << printable(item.from.address) << ">\t" << printable(item.label) << "\t" << waits
         << (waits.empty() || item.reason.empty() ? "" : "; last: ") << printable(item.reason)
         << (unheard.empty() ? "" : "; ") << unheard << "\n";
  }
  return text.str();
}

std::string MailService::none_listed(const MailFilter& filter) {
  const bool filtered = filter.state || filter.station || !filter.from.empty();
  if (filtered) return "no message fits\n";
  const auto any = operator_store_->list(1);
  if (filter.finished || (any && any->empty())) return "the spool is empty\n";
  return "nothing waits; `queue --all` lists what is over\n";
}

std::string MailService::show(MailId id) {
  const auto item = operator_store_->find(id);
  if (!item) return "error: " + to_string(item.error()) + "\n";
  if (!item->has_value()) return "error: no such message\n";
  const MailItem& mail = **item;
  std::ostringstream text;
  text << "mail " << mail.id.value << "\nstate " << gateways::to_string(mail.state) << "\nroad "
       << to_string(mail.road) << "\npriority " << unsigned{mail.priority} << "\noctets "
       << mail.size << "\nattempts " << mail.attempts << "\naccepted " << mail_date(mail.created);
  const auto course = operator_store_->course(id);
  if (course && !course->came.empty()) text << " by SMTP from " << printable(course->came);
  if (course && course->heard.message_id != 0) {
    text << " by air from " << name_of(course->heard.source) << ", msid "
         << course->heard.message_id;
  }
  text << "\nexpires " << mail_date(mail.expiry) << "\nnext_try " << mail_date(mail.next_try)
       << "\nfrom " << to_string(mail.from) << "\nmessage_id " << printable(mail.label) << "\n";
  if (mail.message_id != 0) text << "msid " << mail.message_id << "\n";
  if (mail.finished.value != 0) text << "finished " << mail_date(mail.finished) << "\n";
  if (course && course->about.value != 0) text << "reports on " << course->about.value << "\n";
  if (const std::string waits = waits_for(mail); !waits.empty()) text << waits << "\n";
  std::size_t shown = 0;
  for (const MailTarget& target : mail.targets) {
    if (++shown > kTargetsShown) {
      text << "and " << mail.targets.size() - kTargetsShown << " more\n";
      break;
    }
    text << "to <" << printable(target.recipient.address) << "> "
         << (target.station.value != 0 ? name_of(target.station) : "mail-server") << " "
         << gateways::to_string(target.state) << " " << printable(target.reason) << "\n";
  }
  return text.str();
}

// All that was made of one message, and the reports on it, oldest first; of an address or a
// Message-ID the youngest messages.
std::string MailService::trace(const std::string& word) {
  if (word.empty()) return "error: trace needs a number, a Message-ID or an address\n";
  std::vector<MailId> found;
  std::int64_t number = 0;
  const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (bad == std::errc() && end == word.data() + word.size()) {
    found.push_back({number});
  } else {
    auto ids = operator_store_->trace(word, kMessagesTraced);
    if (!ids) return "error: " + to_string(ids.error()) + "\n";
    found = std::move(ids).value();
  }
  std::set<MailId> all;
  for (const MailId id : found) {
    const auto ids = operator_store_->relatives(id);
    if (!ids) return "error: " + to_string(ids.error()) + "\n";
    all.insert(ids->begin(), ids->end());
  }
  std::string text;
  for (const MailId id : all) {
    if (text.size() > kTraceOctetsMax) return text + "\nthere is more; ask for one by its number\n";
    const std::string shown = show(id);
    if (shown.rfind("error: ", 0) != 0) text += (text.empty() ? "" : "\n") + shown;
  }
  return text.empty() ? "error: no such message in the spool\n" : text;
}

std::string MailService::stations() {
  const auto rows = operator_store_->stations();
  if (!rows) return "error: " + to_string(rows.error()) + "\n";
  const auto waiting = operator_store_->waiting();
  if (!waiting) return "error: " + to_string(waiting.error()) + "\n";
  if (config_.stations.empty()) return "no stations are configured\n";
  std::ostringstream text;
  for (const auto& station : config_.stations) {
    StationRow known;
    for (const StationRow& row : *rows) {
      if (row.station == station.node) known = row;
    }
    const bool dead = known.dead_until > utc_now();
    const std::string unheard = printable(unheard_groups({station.node}));
    text << station.name << "\t" << to_string(station.address) << "\t"
         << (dead ? "dead until " + mail_date(known.dead_until) : std::string("ok")) << "\t"
         << known.failures << "\t" << known.sequence << "\t" << printable(known.reason) << "\t"
         << (is_silent(station.node) ? "silent" : "answering");
    const UtcSeconds heard = mail_.heard(station.node);
    text << "\theard " << (heard.value == 0 ? "never" : mail_date(heard));
    const auto open = waiting->find(station.node);
    const WaitingMail mails = open == waiting->end() ? WaitingMail{} : open->second;
    text << "\t" << mails.mails << " waiting\t" << mails.octets << " octets\t"
         << (mails.mails == 0             ? "nothing to try"
             : mails.next_try > utc_now() ? "next try " + mail_date(mails.next_try)
                                          : "next try now")
         << (unheard.empty() ? "" : "\t" + unheard) << "\n";
  }
  return text.str();
}

std::string MailService::status() {
  std::ostringstream text;
  const auto& mail = mail_.stats();
  const auto& smtp = listener_->stats();
  text << "bound="
       << (udp_               ? "udp"
           : carrier_.bound() ? "yes"
                              : "no")
       << " emcon=" << silence_.reason() << " smtp_port=" << listener_->port()
       << " active=" << mail_.active() << " accepted=" << mail.accepted
       << " delivered=" << mail.delivered << " failed=" << mail.failed
       << " expired=" << mail.expired << " received=" << mail.received
       << " received_again=" << mail.received_again << " reports=" << mail.reports
       << " unreadable=" << mail.unreadable << " store_errors=" << mail.store_errors
       << " parked=" << mail.parked << " passed_over=" << mail.passed_over
       << " spool_index=" << (operator_store_->missing_index().empty() ? "yes" : "no")
       << " spool_reserve=" << (operator_store_->has_reserve() ? "yes" : "no")
       << " indexes_mended=" << mail.indexes_mended << " tables_left_out=" << mail.tables_left_out
       << " smtp_messages=" << smtp.messages << " smtp_bare_line_ends=" << smtp.bare_line_ends
       << " smtp_timeouts=" << smtp.timeouts << " smtp_no_room=" << smtp.no_room
       << " smtp_precedences_lowered=" << smtp.precedences_lowered
       << " smtp_recipients_refused=" << smtp.recipients_refused << " smtp_tls=" << smtp.tls
       << " smtp_tls_failed=" << smtp.tls_failed
       << " smtp_connections_refused=" << listener_->refused() << "\n"
       << air_counters() << "\n";
  const auto apart = [&](NodeId node, std::chrono::seconds ours_ahead, Instant seen_at) {
    text << "clock_apart station=" << name_of(node) << " at_least=\"" << duration_text(ours_ahead)
         << "\" ours=" << (ours_ahead.count() > 0 ? "ahead" : "behind")
         << " seen_s=" << static_cast<std::int64_t>(to_seconds(now() - seen_at)) << "\n";
  };
  for (const auto& [node, clock] : p_mul_.receiver().clocks_apart()) {
    apart(node, clock.at_least, clock.seen_at);
  }
  for (const auto& [node, clock] : mail_.clocks_apart()) apart(node, -clock.ahead, clock.seen_at);
  return text.str();
}

std::string MailService::answer(std::string_view request) {
  std::istringstream words{std::string(request)};
  std::string verb;
  words >> verb;
  if (verb == "queue") return queue(words);
  if (verb == "stations") return stations();
  if (verb == "status") return status();
  if (verb == "trace") {
    std::string word;
    std::getline(words >> std::ws, word);
    return trace(word);
  }
  std::int64_t number = 0;
  words >> number;
  if (verb == "emcon" || verb == "station") {
    std::string word;
    words.clear();  // of the number that was none
    words >> word;
    return verb == "emcon" ? emcon(word)
                           : silence_station({static_cast<std::uint32_t>(number)}, word);
  }
  if (verb == "show") return show({number});
  const std::map<std::string, OperatorVerb> verbs = {{"hold", OperatorVerb::hold},
                                                     {"release", OperatorVerb::release},
                                                     {"requeue", OperatorVerb::requeue},
                                                     {"delete", OperatorVerb::remove}};
  if (const auto found = verbs.find(verb); found != verbs.end()) {
    return change(found->second, verb, {number});
  }
  return "error: known are queue, trace, show, hold, release, requeue, delete, stations, station, "
         "emcon and status\n";
}

}  // namespace s5066::acp142
