// What an operator asks of the running mail gateway, and what he gets to read.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <map>
#include <sstream>
#include <utility>

#include "gateways/acp142/mail_service.h"
#include "s5066d/posix/socket.h"

namespace s5066::acp142 {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kRowsListed = 1000;

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
      {"destinations_expired", sent.expired},
      {"data_pdus_received", got.data_pdus},
      {"duplicates", got.duplicates},
      {"recovered", got.recovered},
      {"acks_sent", got.acks},
      {"messages_received", got.received},
      {"messages_repeated", got.repeated},
      {"messages_discarded", got.discarded},
      {"messages_expired", got.expired},
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

// The spool has it before "ok" is said; what is under way follows.
std::string MailService::change(OperatorVerb verb, const std::string& word, MailId id) {
  const MailCore::InHand in_hand = mail_.in_hand(id);
  if (in_hand == MailCore::InHand::ending) return "error: its attempt is just ending, ask again\n";
  const bool under_way = in_hand == MailCore::InHand::under_way;
  const auto done = operator_store_->change(verb, id, utc_now(), under_way);
  if (!done) return "error: " + to_string(done.error()) + "\n";
  LogLine(log_, LogLevel::info, "mail_changed").kv("by", word).kv("mail", id.value);
  mail_.on_operator(now(), id, verb);
  mail_.on_spool_changed(now());
  asio::post(io_, [this] { drain(); });
  return "ok\n";
}

std::string MailService::answer(std::string_view request) {
  std::istringstream words{std::string(request)};
  std::string verb;
  std::int64_t number = 0;
  words >> verb >> number;
  const std::map<std::string, OperatorVerb> verbs = {{"hold", OperatorVerb::hold},
                                                     {"release", OperatorVerb::release},
                                                     {"requeue", OperatorVerb::requeue},
                                                     {"delete", OperatorVerb::remove}};
  const auto waits = [this](const MailItem& item) {
    return silence_.silent() && item.road == Road::air && !gateways::is_final(item.state) &&
           item.state != SpoolState::held;
  };
  std::ostringstream text;
  if (const auto found = verbs.find(verb); found != verbs.end()) {
    return change(found->second, verb, {number});
  }
  if (verb == "emcon" || verb == "station") {
    std::string word;
    words.clear();  // of the number that was none
    words >> word;
    return verb == "emcon" ? emcon(word)
                           : silence_station({static_cast<std::uint32_t>(number)}, word);
  }
  if (verb == "queue") {
    const auto items = operator_store_->list(kRowsListed);
    if (!items) return "error: " + to_string(items.error()) + "\n";
    for (const MailItem& item : *items) {
      text << item.id.value << "\t" << gateways::to_string(item.state) << "\t"
           << to_string(item.road) << "\t" << unsigned{item.priority} << "\t" << item.size << "\t"
           << item.attempts << "\t<" << item.from.address << ">\t" << printable(item.label) << "\t"
           << (waits(item) ? "EMCON " : "") << printable(item.reason) << "\n";
    }
    return text.str();
  }
  if (verb == "show") {
    const auto item = operator_store_->find({number});
    if (!item) return "error: " + to_string(item.error()) + "\n";
    if (!item->has_value()) return "error: no such message\n";
    const MailItem& mail = **item;
    text << "mail " << mail.id.value << "\nstate " << gateways::to_string(mail.state) << "\nroad "
         << to_string(mail.road) << "\npriority " << unsigned{mail.priority} << "\noctets "
         << mail.size << "\nattempts " << mail.attempts << "\naccepted " << mail_date(mail.created)
         << "\nexpires " << mail_date(mail.expiry) << "\nnext_try " << mail_date(mail.next_try)
         << "\nfrom " << to_string(mail.from) << "\nmessage_id " << printable(mail.label) << "\n";
    if (waits(mail)) text << "waits for the end of EMCON\n";
    for (const MailTarget& target : mail.targets) {
      text << "to <" << target.recipient.address << "> "
           << (target.station.value != 0 ? name_of(target.station) : "mail-server") << " "
           << gateways::to_string(target.state) << " " << printable(target.reason) << "\n";
    }
    return text.str();
  }
  if (verb == "stations") {
    const auto rows = operator_store_->stations();
    if (!rows) return "error: " + to_string(rows.error()) + "\n";
    for (const auto& station : config_.stations) {
      StationRow known;
      for (const StationRow& row : *rows) {
        if (row.station == station.node) known = row;
      }
      const bool dead = known.dead_until > utc_now();
      text << station.name << "\t" << to_string(station.address) << "\t"
           << (dead ? "dead until " + mail_date(known.dead_until) : std::string("ok")) << "\t"
           << known.failures << "\t" << known.sequence << "\t" << printable(known.reason) << "\t"
           << (is_silent(station.node) ? "silent" : "answering") << "\n";
    }
    return text.str();
  }
  if (verb == "status") {
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
         << " indexes_mended=" << mail.indexes_mended << " tables_left_out=" << mail.tables_left_out
         << " smtp_messages=" << smtp.messages << " smtp_bare_line_ends=" << smtp.bare_line_ends
         << " smtp_timeouts=" << smtp.timeouts << " smtp_no_room=" << smtp.no_room
         << " smtp_recipients_refused=" << smtp.recipients_refused << " smtp_tls=" << smtp.tls
         << " smtp_tls_failed=" << smtp.tls_failed
         << " smtp_connections_refused=" << listener_->refused() << "\n"
         << air_counters() << "\n";
    return text.str();
  }
  return "error: known are queue, show, hold, release, requeue, delete, stations, station, emcon "
         "and "
         "status\n";
}

}  // namespace s5066::acp142
