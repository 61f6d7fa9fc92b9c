// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/mail_relay/mail_world.h"

#include <algorithm>
#include <utility>

#include "gateways/acp142/mail/next_hops.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sim {
namespace {

using namespace std::chrono_literals;
using acp142::MailCore;
using p_mul::NodeId;

constexpr UtcSeconds kStart{1'800'000'000};

std::string text_of(ByteSpan content) {
  return {content.begin(), content.end()};
}

/// Returns each value that follows `key` in the text, up to one of `ends`.
std::vector<std::string> all_behind(const std::string& text, const std::string& key,
                                    const char* ends) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
    at += key.size();
    found.push_back(text.substr(at, text.find_first_of(ends, at) - at));
  }
  return found;
}

}  // namespace

struct MailWorld::Station {
  explicit Station(EventHeap& heap) : timer(heap) {}

  std::size_t index = 0;
  test::TemporaryFolder folder;
  acp142::AddressTable table;
  std::vector<std::vector<NodeId>> groups;
  std::set<std::size_t> heard_by;
  bool foreign = false;
  std::optional<acp142::SqliteMailStore> store;
  std::optional<MailCore> mail;
  std::optional<p_mul::PMulCore> air;
  unsigned life = 0;
  bool on = false;
  bool cut = false;
  bool sending = false;
  Timer timer;
};

MailWorld::MailWorld(std::uint64_t seed, const Options& options) : rng_(seed), options_(options) {
  for (std::size_t i = 0; i < options.stations; ++i) {
    stations_.push_back(std::make_unique<Station>(heap_));
    stations_.back()->index = i;
    own(i, domain(i));
  }
}

MailWorld::~MailWorld() = default;

void MailWorld::hears(std::size_t listener, std::size_t speaker) {
  stations_[speaker]->heard_by.insert(listener);
}

void MailWorld::own(std::size_t at, const std::string& pattern) {
  const auto added = stations_[at]->table.add({pattern, {.own = true, .stations = {}}});
  S5066_ASSERT(added.ok());
}

void MailWorld::route(std::size_t at, const std::string& pattern,
                      const std::vector<std::size_t>& stations, bool relay) {
  acp142::Route route{.stations = {}, .relay = relay};
  for (const std::size_t station : stations) route.stations.push_back(id(station));
  const auto added = stations_[at]->table.add({pattern, route});
  S5066_ASSERT(added.ok());
}

void MailWorld::group(std::size_t at, const std::vector<std::size_t>& stations) {
  std::vector<NodeId> members;
  for (const std::size_t station : stations) members.push_back(id(station));
  stations_[at]->groups.push_back(std::move(members));
}

void MailWorld::make_foreign(std::size_t station) {
  stations_[station]->foreign = true;
}

void MailWorld::start() {
  for (auto& station : stations_) open(*station);
}

UtcSeconds MailWorld::utc() const {
  return {kStart.value + heap_.now().time_since_epoch() / 1s};
}

void MailWorld::open(Station& station) {
  ++station.life;
  station.on = true;
  station.cut = station.sending = false;
  MailCore::Config mail;
  mail.node = id(station.index);
  mail.hostname = "gw." + domain(station.index);
  mail.groups = station.groups;
  mail.spool_poll = 5min;  // each poll is a commit
  mail.delay_poll = 1h;
  p_mul::PMulCore::Config air;
  air.sender.node = air.receiver.node = id(station.index);
  for (const auto& members : station.groups) {
    const auto number = static_cast<std::uint32_t>(air.sender.groups.size() + 1);
    air.sender.groups.push_back({.id = {number}, .members = members});
  }
  station.mail.reset();
  station.store.reset();
  auto store = acp142::SqliteMailStore::open({.path = (station.folder.path() / "spool.db")});
  S5066_ASSERT(store.ok());
  station.store.emplace(std::move(store).value());
  station.air.emplace(air, rng_);
  station.mail.emplace(mail, station.table);
  station.air->on_clock(heap_.now(), utc());
  station.mail->on_clock(heap_.now(), utc());
  station.air->on_start(heap_.now());
  station.mail->on_start(heap_.now());
  drain(station);
}

void MailWorld::power_off(Station& station) {
  ++counts_.restarts;
  ++station.life;
  station.on = false;
  station.timer.disarm();
  const auto again = heap_.now() + from_seconds(60 * rng_.uniform());
  heap_.schedule(again, [this, &station] { open(station); });
}

void MailWorld::restart(std::size_t station) {
  if (stations_[station]->on) power_off(*stations_[station]);
}

void MailWorld::at(Duration after, EventHeap::Callback callback) {
  heap_.schedule(heap_.now() + after, std::move(callback));
}

// --- Mail servers --------------------------------------------------------------------------------

bool MailWorld::has_route(std::size_t at, const std::string& address) {
  return stations_[at]->table.find(address) != nullptr;
}

int MailWorld::send(std::size_t from, std::vector<std::string> recipients,
                    const std::string& parameters) {
  const int number = static_cast<int>(sent_.size()) + 1;
  sent_[number] = {from, std::move(recipients), parameters};
  hand_over(number);
  return number;
}

// An SMTP client repeats until it has received 250; the gateway recognises repeats by the marks.
void MailWorld::hand_over(int number) {
  const Sent& sent = sent_.at(number);
  if (sent.taken) return;
  at(60s, [this, number] { hand_over(number); });
  Station& station = *stations_[sent.from];
  if (!station.on) return;
  acp142::SmtpServerCore::Commit commit;
  commit.client = "mx";
  commit.mail.envelope.from = *acp142::parse_path(
      "<op@" + domain(sent.from) + ">" + sent.parameters, acp142::PathUse::reverse);
  std::vector<std::string> marks;
  for (const std::string& address : sent.recipients) {
    commit.mail.envelope.recipients.push_back({address, {}});
    marks.push_back(std::to_string(number) + address);
  }
  const std::string content = "Message-ID: <m" + std::to_string(number) +
                              "@x>\r\nSubject: " + std::to_string(number) + "\r\n\r\nhello\r\n";
  commit.mail.content.assign(content.begin(), content.end());
  station.mail->on_mail(heap_.now(), {static_cast<std::uint64_t>(number)}, std::move(commit),
                        marks);
  drain(station);
}

void MailWorld::take(Station&, MailCore::AnswerSession& answer) {
  if (answer.outcome != acp142::CommitOutcome::committed) return;
  sent_.at(static_cast<int>(answer.session.value)).taken = true;
}

// The mail server and the gateway's note of its answer are one step here, because repetitions of
// SMTP are not under test.
void MailWorld::take(Station& station, MailCore::Deliver& deliver) {
  note(station, *deliver.mail);
  acp142::SmtpClientCore::Done done;
  done.reports = true;
  done.outcomes.resize(deliver.mail->envelope.recipients.size(),
                       {acp142::RecipientOutcome::Kind::delivered, "2.0.0", {}});
  station.mail->on_delivered(heap_.now(), deliver.id, done);
}

void MailWorld::note(const Station& station, const acp142::Mail& mail) {
  const std::string text = text_of(mail.content);
  const auto numbers = all_behind(text, "\nMessage-ID: <m", "@");
  if (numbers.size() != 1) {
    strange_ = text;
    return;
  }
  const int number = std::stoi(numbers[0]);
  if (mail.envelope.from.address.empty()) {
    for (const std::string& recipient : all_behind(text, "Final-Recipient: rfc822;", "\r")) {
      counts_.reported += reported_.insert({number, recipient}).second ? 1 : 0;
    }
    return;
  }
  if (text.find("MULE-Next-Hop") != std::string::npos) strange_ = text;
  for (const acp142::Path& recipient : mail.envelope.recipients) {
    ++copies_[{number, recipient.address}][station.index];
    ++counts_.delivered;
  }
}

// --- Between the cores ---------------------------------------------------------------------------

void MailWorld::drain(Station& station) {
  const unsigned life = station.life;
  bool more = true;
  while (more && !station.cut) {
    take_all([&] { return station.air->poll_heard(); },
             [&](NodeId node) { station.mail->on_heard(heap_.now(), node); });
    const auto take_event = [&](const p_mul::MessageEvent& event) {
      if (const auto* ended = std::get_if<p_mul::DestinationEnded>(&event)) {
        station.mail->on_destination_ended(heap_.now(), *ended);
      } else if (const auto* received = std::get_if<p_mul::Received>(&event)) {
        station.mail->on_received(heap_.now(), *received);
      } else if (const auto* unanswered = std::get_if<p_mul::Unanswered>(&event)) {
        station.mail->on_unanswered(*unanswered);
      }
    };
    more = take_all([&] { return station.air->poll_event(); }, take_event);
    auto action = station.mail->poll_action();
    if (!action) continue;
    more = true;
    std::visit([&](auto& value) { take(station, value); }, *action);
  }
  if (station.cut) {
    station.cut = false;
    return power_off(station);
  }
  S5066_ASSERT(station.life == life);
  pump(station);
  arm(station);
}

void MailWorld::take(Station&, acp142::MailNews& news) {
  counts_.suppressed += news.kind == acp142::MailNews::Kind::received_again ? 1 : 0;
}

void MailWorld::take(Station& station, acp142::MailRequest& request) {
  const auto& operation = request.operation;
  const bool may_fail = std::holds_alternative<acp142::AcceptMail>(operation) ||
                        std::holds_alternative<acp142::SaveSubmission>(operation);
  const acp142::StoreTicket ticket = request.ticket;
  if (may_fail && rng_.chance(options_.commit_failures)) {
    return station.mail->on_store_result(heap_.now(), {ticket, Error{ErrorCode::io, "disk"}});
  }
  std::vector<acp142::MailRequest> one;
  one.push_back(std::move(request));
  auto result = station.store->execute(one)[0];
  if (may_fail && rng_.chance(options_.cuts)) {
    station.cut = true;
    return;
  }
  station.mail->on_store_result(heap_.now(), result);
}

void MailWorld::take(Station& station, MailCore::Submit& submit) {
  const p_mul::MessageKey key = submit.submission.key;
  if (station.foreign) {
    auto mail = acp142::decode_mule(*acp142::decode_cdt(submit.submission.content, {}), {});
    acp142::take_next_hops(id(station.index), mail->envelope.recipients.size(), mail->content);
    const std::string trace = acp142::trace_mark(id(station.index), "ESMTP");
    std::string text = text_of(mail->content);
    if (const auto found = text.find(trace); found != std::string::npos) {
      text.erase(found, trace.size());
    }
    mail->content.assign(text.begin(), text.end());
    submit.submission.content =
        acp142::encode_cdt(acp142::encode_mule(mail->envelope, mail->content));
  }
  const auto accepted = station.air->request_submit(heap_.now(), std::move(submit.submission));
  if (accepted) {
    station.mail->on_accepted(heap_.now(), key, *accepted);
  } else {
    station.mail->on_submit_refused(heap_.now(), key, accepted.error());
  }
}

void MailWorld::take(Station& station, MailCore::ConfirmReceived& confirm) {
  if (confirm.committed) {
    station.air->on_committed(heap_.now(), confirm.name);
  } else {
    station.air->on_not_committed(heap_.now(), confirm.name);
  }
}

void MailWorld::take(Station& station, MailCore::Known& known) {
  station.air->on_known(heap_.now(), known.name, known.expiry);
}

void MailWorld::take(Station& station, MailCore::Cancel& cancel) {
  (void)station.air->request_cancel(heap_.now(), cancel.key);
}

void MailWorld::take(Station& station, MailCore::Suspend& suspend) {
  (void)station.air->request_suspend(heap_.now(), suspend.key);
}

// --- The air -------------------------------------------------------------------------------------

void MailWorld::pump(Station& station) {
  if (station.sending || !station.air->has_pdu()) return;
  auto pdu = station.air->poll_pdu(heap_.now());
  if (!pdu) return;
  ++counts_.pdus;
  station.sending = true;
  const auto bits = 8.0 * static_cast<double>(pdu->octets.size());
  const Instant end = heap_.now() + from_seconds(bits / options_.rate_bps);
  station.air->on_clear_at(heap_.now(), pdu->priority, end);
  heap_.schedule(end, [this, &station, life = station.life, sent = *std::move(pdu)] {
    if (station.life != life) return;
    station.sending = false;
    for (const std::size_t listener : station.heard_by) {
      const auto* one = std::get_if<NodeId>(&sent.target);
      if (one != nullptr && *one != id(listener)) continue;
      if (rng_.chance(options_.loss)) continue;
      if (lose && lose(listener, station.index, sent)) continue;
      arrive(*stations_[listener], sent.octets);
    }
    drain(station);
  });
}

void MailWorld::arrive(Station& station, const Bytes& octets) {
  if (!station.on) return;
  station.air->on_clock(heap_.now(), utc());
  station.mail->on_clock(heap_.now(), utc());
  station.air->on_datagram(heap_.now(), octets);
  drain(station);
}

void MailWorld::arm(Station& station) {
  const auto next = earlier(station.air->next_deadline(), station.mail->next_deadline());
  station.timer.arm(next, [this, &station] {
    station.air->on_clock(heap_.now(), utc());
    station.mail->on_clock(heap_.now(), utc());
    station.air->on_deadline(heap_.now());
    station.mail->on_deadline(heap_.now());
    drain(station);
  });
}

// --- In the end ----------------------------------------------------------------------------------

bool MailWorld::idle() {
  const auto taken = [](const auto& entry) { return entry.second.taken; };
  if (!std::all_of(sent_.begin(), sent_.end(), taken)) return false;
  return std::all_of(stations_.begin(), stations_.end(), [](const auto& station) {
    if (!station->on) return false;
    const auto items = station->store->list(1000);
    return items && std::all_of(items->begin(), items->end(),
                                [](const auto& item) { return gateways::is_final(item.state); });
  });
}

bool MailWorld::run_until_idle(Duration patience) {
  const Instant end = heap_.now() + patience;
  while (heap_.now() < end) {
    heap_.run_until(heap_.now() + 30min);
    if (idle()) return true;
  }
  return false;
}

std::size_t MailWorld::copies(int message, const std::string& recipient,
                              std::size_t station) const {
  const auto found = copies_.find({message, recipient});
  if (found == copies_.end()) return 0;
  const auto at = found->second.find(station);
  return at == found->second.end() ? 0 : at->second;
}

bool MailWorld::reported(int message, const std::string& recipient) const {
  return reported_.contains({message, recipient});
}

std::string MailWorld::faults() const {
  if (!strange_.empty()) return "not as it was sent: " + strange_;
  for (const auto& [what, stations] : copies_) {
    const auto& to = sent_.at(what.first).recipients;
    const std::string name = std::to_string(what.first) + " for " + what.second;
    if (std::find(to.begin(), to.end(), what.second) == to.end()) return name + " is for nobody";
    for (const auto& [station, copies] : stations) {
      if (copies > 1) return name + " is twice at " + std::to_string(station);
    }
  }
  for (const auto& [number, sent] : sent_) {
    for (const std::string& recipient : sent.recipients) {
      if (copies_.contains({number, recipient}) || reported(number, recipient)) continue;
      return std::to_string(number) + " for " + recipient + " is lost";
    }
  }
  return {};
}

}  // namespace s5066::sim
