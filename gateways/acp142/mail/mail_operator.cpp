// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_operator.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "gateways/acp142/mail/mail_setup.h"
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

// Empty where the stations hear all groups that they are sent to by.
std::string MailOperator::unheard_groups(const std::vector<NodeId>& stations) const {
  std::string text;
  for (const auto& [group, node] : links_.p_mul.sender().unheard(links_.now())) {
    if (std::find(stations.begin(), stations.end(), node) == stations.end()) continue;
    text += (text.empty() ? "" : "; ") + station_name(links_.config, node) +
            " does not hear group " + group_name(links_.config, group);
  }
  return text;
}

// The spool has it before "ok" is said; what is under way follows.
std::string MailOperator::change(OperatorVerb verb, const std::string& word, MailId id) {
  const MailCore::InHand in_hand = links_.mail.in_hand(id);
  if (in_hand == MailCore::InHand::ending) return "error: its attempt is just ending, ask again\n";
  const bool under_way = in_hand == MailCore::InHand::under_way;
  const bool reserve = links_.store.has_reserve();
  const auto done = links_.store.change(verb, id, utc_now(), under_way);
  if (reserve && !links_.store.has_reserve()) {
    LogLine(links_.log, LogLevel::error, "spool_disk_full").kv("by", word);
  }
  if (!done) return "error: " + to_string(done.error()) + "\n";
  LogLine(links_.log, LogLevel::info, "mail_changed").kv("by", word).kv("mail", id.value);
  links_.mail.on_operator(links_.now(), id, verb);
  if (verb == OperatorVerb::requeue) {
    // The operator wants it tried now, so its stations are not left alone any longer.
    const auto item = links_.store.find(id);
    if (item && *item) {
      for (const MailTarget& target : (*item)->targets)
        links_.mail.on_answering(links_.now(), target.station);
    }
  }
  links_.mail.on_spool_changed(links_.now());
  asio::post(links_.io, links_.drain);
  return "ok\n";
}

/// Returns what a message waits for; empty for one that is over.
std::string MailOperator::waits_for(const MailItem& mail) const {
  if (mail.state == SpoolState::held) return "waits for the operator, who holds it";
  if (mail.state == SpoolState::corrupt) return "waits for the operator: it cannot be read";
  if (gateways::is_final(mail.state)) return {};
  const bool air = mail.transport == Transport::air;
  if (air && links_.emcon.own().silent()) return "waits for the end of EMCON";
  std::string stations;
  bool silent = air;
  for (const MailTarget& target : mail.targets) {
    if (!is_open(target) || target.station.value == 0) continue;
    silent = silent && links_.emcon.is_silent(target.station);
    const std::string name = station_name(links_.config, target.station);
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
std::string MailOperator::queue(std::istringstream& words) {
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
  const auto items = links_.store.list(filter, kRowsListed + 1);
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
    const std::string unheard = printable(unheard_groups(links_.mail.waits_for(item.id)));
    text << item.id.value << "\t" << gateways::to_string(item.state) << "\t"
         << to_string(item.transport) << "\t" << unsigned{item.priority} << "\t" << item.size
         << "\t" << item.attempts << "\t<" << printable(item.from.address) << ">\t"
         << printable(item.label) << "\t" << waits
         << (waits.empty() || item.reason.empty() ? "" : "; last: ") << printable(item.reason)
         << (unheard.empty() ? "" : "; ") << unheard << "\n";
  }
  return text.str();
}

std::string MailOperator::none_listed(const MailFilter& filter) {
  const bool filtered = filter.state || filter.station || !filter.from.empty();
  if (filtered) return "no message fits\n";
  const auto any = links_.store.list(1);
  if (filter.finished || (any && any->empty())) return "the spool is empty\n";
  return "nothing waits; `queue --all` lists what is over\n";
}

std::string MailOperator::show(MailId id) {
  const auto item = links_.store.find(id);
  if (!item) return "error: " + to_string(item.error()) + "\n";
  if (!item->has_value()) return "error: no such message\n";
  const MailItem& mail = **item;
  std::ostringstream text;
  text << "mail " << mail.id.value << "\nstate " << gateways::to_string(mail.state)
       << "\ntransport " << to_string(mail.transport) << "\npriority " << unsigned{mail.priority}
       << "\noctets " << mail.size << "\nattempts " << mail.attempts << "\naccepted "
       << mail_date(mail.created);
  const auto course = links_.store.course(id);
  if (course && !course->came.empty()) text << " by SMTP from " << printable(course->came);
  if (course && course->heard.message_id != 0) {
    text << " by air from " << station_name(links_.config, course->heard.source) << ", msid "
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
         << (target.station.value != 0 ? station_name(links_.config, target.station)
                                       : "mail-server")
         << " " << gateways::to_string(target.state) << " " << printable(target.reason) << "\n";
  }
  return text.str();
}

// All that was made of one message, and the reports on it, oldest first; of an address or a
// Message-ID the youngest messages.
std::string MailOperator::trace(const std::string& word) {
  if (word.empty()) return "error: trace needs a number, a Message-ID or an address\n";
  std::vector<MailId> found;
  std::int64_t number = 0;
  const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (bad == std::errc() && end == word.data() + word.size()) {
    found.push_back({number});
  } else {
    auto ids = links_.store.trace(word, kMessagesTraced);
    if (!ids) return "error: " + to_string(ids.error()) + "\n";
    found = std::move(ids).value();
  }
  std::set<MailId> all;
  for (const MailId id : found) {
    const auto ids = links_.store.relatives(id);
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

std::string MailOperator::stations() {
  const auto rows = links_.store.stations();
  if (!rows) return "error: " + to_string(rows.error()) + "\n";
  const auto waiting = links_.store.waiting();
  if (!waiting) return "error: " + to_string(waiting.error()) + "\n";
  if (links_.config.stations.empty()) return "no stations are configured\n";
  std::ostringstream text;
  for (const auto& station : links_.config.stations) {
    StationRow known;
    for (const StationRow& row : *rows) {
      if (row.station == station.node) known = row;
    }
    const bool dead = known.dead_until > utc_now();
    const std::string unheard = printable(unheard_groups({station.node}));
    text << station.name << "\t" << to_string(station.address) << "\t"
         << (dead ? "dead until " + mail_date(known.dead_until) : std::string("ok")) << "\t"
         << known.failures << "\t" << known.sequence << "\t" << printable(known.reason) << "\t"
         << (links_.emcon.is_silent(station.node) ? "silent" : "answering");
    const UtcSeconds heard = links_.mail.heard(station.node);
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

std::string MailOperator::status() {
  std::ostringstream text;
  text << "bound=" << links_.bound() << " emcon=" << links_.emcon.own().reason()
       << " smtp_port=" << links_.smtp_port() << " active=" << links_.mail.active()
       << " spool_index=" << (links_.store.missing_index().empty() ? "yes" : "no")
       << " spool_reserve=" << (links_.store.has_reserve() ? "yes" : "no") << "\n"
       << to_text(links_.counters());
  const auto apart = [&](NodeId node, std::chrono::seconds ours_ahead, Instant seen_at) {
    text << "clock_apart station=" << station_name(links_.config, node) << " at_least=\""
         << duration_text(ours_ahead) << "\" ours=" << (ours_ahead.count() > 0 ? "ahead" : "behind")
         << " seen_s=" << static_cast<std::int64_t>(to_seconds(links_.now() - seen_at)) << "\n";
  };
  for (const auto& [node, clock] : links_.p_mul.receiver().clocks_apart()) {
    apart(node, clock.at_least, clock.seen_at);
  }
  for (const auto& [node, clock] : links_.mail.clocks_apart())
    apart(node, -clock.ahead, clock.seen_at);
  return text.str();
}

std::string MailOperator::set_station(std::istringstream& words) {
  std::uint32_t number = 0;
  std::string word;
  words >> number;
  words.clear();  // of the number that was none
  words >> word;
  return links_.emcon.set_station({number}, word);
}

std::string MailOperator::set_emcon(std::istringstream& words) {
  std::string word;
  words >> word;
  return links_.emcon.set_own(word);
}

std::string MailOperator::change_one(const std::string& verb, std::istringstream& words) {
  static const std::map<std::string, OperatorVerb> kVerbs = {{"hold", OperatorVerb::hold},
                                                             {"release", OperatorVerb::release},
                                                             {"requeue", OperatorVerb::requeue},
                                                             {"delete", OperatorVerb::remove}};
  std::int64_t number = 0;
  words >> number;
  return change(kVerbs.at(verb), verb, {number});
}

std::string MailOperator::answer(std::string_view request) {
  using Command = std::string (*)(MailOperator&, const std::string&, std::istringstream&);
  constexpr Command kChange = [](MailOperator& self, const std::string& verb,
                                 std::istringstream& words) {
    return self.change_one(verb, words);
  };
  static const std::map<std::string, Command> kCommands = {
      {"queue", [](auto& self, const auto&, auto& words) { return self.queue(words); }},
      {"stations", [](auto& self, const auto&, auto&) { return self.stations(); }},
      {"status", [](auto& self, const auto&, auto&) { return self.status(); }},
      {"counters", [](auto& self, const auto&, auto&) { return to_text(self.links_.counters()); }},
      {"trace",
       [](auto& self, const auto&, auto& words) {
         std::string word;
         std::getline(words >> std::ws, word);
         return self.trace(word);
       }},
      {"show",
       [](auto& self, const auto&, auto& words) {
         std::int64_t number = 0;
         words >> number;
         return self.show({number});
       }},
      {"emcon", [](auto& self, const auto&, auto& words) { return self.set_emcon(words); }},
      {"station", [](auto& self, const auto&, auto& words) { return self.set_station(words); }},
      {"hold", kChange},
      {"release", kChange},
      {"requeue", kChange},
      {"delete", kChange}};
  std::istringstream words{std::string(request)};
  std::string verb;
  words >> verb;
  if (const auto found = kCommands.find(verb); found != kCommands.end()) {
    return found->second(*this, verb, words);
  }
  return "error: known are queue, trace, show, hold, release, requeue, delete, stations, station, "
         "emcon, status and counters\n";
}

}  // namespace s5066::acp142
