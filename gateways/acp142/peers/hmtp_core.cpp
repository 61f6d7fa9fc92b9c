// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/hmtp_core.h"

#include <algorithm>
#include <utility>

#include "gateways/acp142/mail/repeat_marks.h"
#include "gateways/common/sha256.h"
#include "s5066d/base/take_front.h"
#include "sis/text.h"

namespace s5066::acp142 {
namespace {

using Kind = RecipientOutcome::Kind;

constexpr std::size_t kLineOctetsMax = 1000;  // RFC 5321 4.5.3.1.6, with CRLF

constexpr CounterTable<HmtpCounter> kTable({
    {HmtpCounter::sessions_sent, "hmtp_sessions_sent", "sessions", "sessions begun by HMTP"},
    {HmtpCounter::sessions_answered, "hmtp_sessions_answered", "sessions",
     "sessions with a reply to each command"},
    {HmtpCounter::sessions_failed, "hmtp_sessions_failed", "sessions",
     "sessions that ended without all replies"},
    {HmtpCounter::messages_received, "hmtp_messages_received", "messages",
     "messages received by HMTP"},
    {HmtpCounter::unknown_stations, "hmtp_unknown_stations", "U_PDUs",
     "U_PDUs of stations that are not configured"},
    {HmtpCounter::busy, "hmtp_busy", "messages",
     "messages put off because too many waited for the spool"},
});

std::string_view text_of(ByteSpan octets) {
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

/// Returns how many replies the octets are; 0 unless they are whole lines, all of replies.
std::size_t replies_in(std::string_view text) {
  if (!text.ends_with('\n')) return 0;
  std::size_t replies = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_reply_line(line)) return 0;
    replies += line.size() == 3 || line[3] == ' ' ? 1 : 0;
    text.remove_prefix(end + 1);
  }
  return replies;
}

/// Returns what is the same for a repeat of the message; empty if nothing tells.
Bytes identity_of(const Mail& mail) {
  Bytes marks;
  for (const std::string& mark : repeat_marks(mail, "hmtp")) {
    marks.insert(marks.end(), mark.begin(), mark.end());
  }
  return marks.empty() ? Bytes() : gateways::sha256_of(marks);
}

}  // namespace

const CounterTable<HmtpCounter>& counter_table(HmtpCounter) {
  return kTable;
}

HmtpCore::HmtpCore(const Config& config, const AddressTable& table)
    : config_(config), table_(table) {
  for (const auto& [node, address] : config_.stations) lanes_[node];
}

// --- Requests ------------------------------------------------------------------------------------

void HmtpCore::request_send(Instant now, const HandOver& hand_over) {
  const Waiting mail{.id = hand_over.id,
                     .priority = hand_over.priority,
                     .expires = now + hand_over.left,
                     .mail = hand_over.mail};
  const auto lane = lanes_.find(hand_over.station);
  if (lane == lanes_.end()) {
    return end(mail, hand_over.station, Kind::deferred, "the station is not configured for HMTP");
  }
  const LineCheck lines = check_lines(mail.mail->content);
  if (lines.bare || lines.zero || lines.longest > kLineOctetsMax) {
    return end(mail, hand_over.station, Kind::failed,
               "HMTP carries no message with zero octets, CR or LF alone, or longer lines than "
               "SMTP allows");
  }
  lane->second.waiting.push_back(mail);
}

void HmtpCore::request_withdraw(Instant, MailId id) {
  for (auto& [node, lane] : lanes_) {
    const auto waits = std::find_if(lane.waiting.begin(), lane.waiting.end(),
                                    [id](const Waiting& one) { return one.id == id; });
    if (waits != lane.waiting.end()) {
      const Waiting mail = std::move(*waits);
      lane.waiting.erase(waits);
      return end(mail, node, Kind::deferred, "withdrawn by the operator");
    }
    if (!lane.client) continue;
    for (std::size_t i = 0; i < lane.client->mails.size(); ++i) {
      if (lane.client->mails[i].id != id || !lane.client->ended.insert(i).second) continue;
      return end(lane.client->mails[i], node, Kind::deferred, "withdrawn by the operator");
    }
  }
}

void HmtpCore::on_committed(Instant now, PeerTicket ticket, CommitOutcome outcome) {
  const auto found = committing_.find(ticket);
  if (found == committing_.end()) return;
  const Committing to = found->second;
  committing_.erase(found);
  if (to.cut_off) return;
  Lane& lane = lanes_[to.station];
  const auto session = lane.servers.find(to.sap);
  if (session == lane.servers.end()) return;
  session->second.on_committed(now, outcome);
  drain(now, to.station, to.sap, session->second);
}

// --- The subnetwork ------------------------------------------------------------------------------

void HmtpCore::on_sis(Instant now, const gateways::SisEvent& event) {
  std::visit([&](const auto& one) { on(now, one); }, event);
}

void HmtpCore::on(Instant, const gateways::SisBound& bound) {
  client_.on_bound(bound, 0);
}

// Sessions of ours begin again. Replies that were not sent are lost; their sender sends its mail
// again, which is known then.
void HmtpCore::on(Instant, const gateways::SisLost&) {
  client_.on_lost();
  for (auto& [node, lane] : lanes_) {
    lane.outstanding = 0;
    lane.replies.clear();
    if (!lane.client) continue;
    const Client client = *std::exchange(lane.client, std::nullopt);
    for (std::size_t i = client.mails.size(); i-- > 0;) {
      if (!client.ended.contains(i)) lane.waiting.push_front(client.mails[i]);
    }
  }
}

void HmtpCore::on(Instant, const gateways::SisFlow& flow) {
  client_.on_flow(flow);
}

void HmtpCore::on(Instant now, const gateways::SisIndication& indication) {
  const auto station =
      std::find_if(config_.stations.begin(), config_.stations.end(),
                   [&](const auto& one) { return one.second == indication.source; });
  if (station == config_.stations.end()) {
    counters_.add(HmtpCounter::unknown_stations);
    events_.push_back(PeerNews{.kind = PeerNews::Kind::peer_unknown,
                               .way = MailWay::hmtp,
                               .address = indication.source,
                               .octets = indication.updu.size()});
    return;
  }
  Lane& lane = lanes_[station->first];
  if (is_for_client(lane, indication.updu)) {
    on_replies(now, station->first, lane, indication.updu);
  } else {
    on_commands(now, station->first, indication.source_sap, indication.updu);
  }
}

bool HmtpCore::is_for_client(const Lane& lane, ByteSpan updu) const {
  if (!lane.client || begins_with_hello(updu)) return false;
  const HmtpDialogue& dialogue = lane.client->dialogue;
  // No reply can have come to a dialogue that has not been sent whole.
  if (lane.client->sent < dialogue.text().size()) return false;
  const bool serving = std::any_of(lane.servers.begin(), lane.servers.end(),
                                   [](const auto& one) { return one.second.under_way(); });
  if (serving) return replies_in(text_of(updu)) == dialogue.replies_missing();
  return dialogue.answered_in_part() || is_reply_line(text_of(updu).substr(0, 3));
}

void HmtpCore::on_replies(Instant now, NodeId station, Lane& lane, ByteSpan updu) {
  HmtpDialogue& dialogue = lane.client->dialogue;
  dialogue.on_octets(text_of(updu));
  tell_ended(lane, station);
  if (!dialogue.over()) return;
  if (dialogue.wants_plain()) {
    lane.plain = true;
    return give_up_session(now, lane, station, "the station knows no EHLO", false, /*more=*/true);
  }
  if (dialogue.data_refused()) lane.single = true;
  if (dialogue.data_refused() && !dialogue.open().empty()) {
    return give_up_session(now, lane, station, "the station refused DATA of an earlier message",
                           false, /*more=*/true);
  }
  if (!dialogue.open().empty()) {
    return give_up_session(now, lane, station, "the replies of the station are not SMTP", false);
  }
  counters_.add(HmtpCounter::sessions_answered);
  lane.client.reset();
}

void HmtpCore::on_commands(Instant now, NodeId station, SapId sap, ByteSpan updu) {
  auto& servers = lanes_[station].servers;
  if (begins_with_hello(updu)) {
    for (auto& [ticket, one] : committing_) {
      one.cut_off = one.cut_off || (one.station == station && one.sap == sap);
    }
  }
  const auto session =
      servers.try_emplace(sap, config_.session, table_, room_, smtp_counters_).first;
  session->second.on_updu(now, updu);
  drain(now, station, sap, session->second);
}

void HmtpCore::drain(Instant now, NodeId station, SapId sap, HmtpSession& session) {
  while (auto commit = session.poll_commit()) {
    if (committing_.size() == config_.committing_max) {
      counters_.add(HmtpCounter::busy);
      session.on_committed(now, CommitOutcome::full);
      continue;
    }
    counters_.add(HmtpCounter::messages_received);
    const PeerTicket ticket{MailWay::hmtp, ++last_ticket_};
    committing_[ticket] = {station, sap};
    Bytes identity = identity_of(commit->mail);
    const std::uint64_t octets = commit->mail.content.size();
    events_.push_back(PeerReceived{.ticket = ticket,
                                   .station = station,
                                   .identity = std::move(identity),
                                   .octets = octets,
                                   .mail = std::move(commit->mail)});
  }
  Lane& lane = lanes_[station];
  if (auto replies = session.poll_replies()) {
    std::size_t waiting = 0;
    for (const Reply& one : lane.replies) waiting += one.text.size();
    // A station that sends on and on and takes no reply gets none; it sends its mail again.
    if (waiting + replies->size() <= config_.replies_octets_max) {
      lane.replies.push_back({sap, *std::move(replies)});
    }
  }
}

std::optional<HmtpCore::Request> HmtpCore::take(gateways::SisRequestId id) {
  const auto request = client_.take(id);
  if (request) --lanes_[request->station].outstanding;
  return request;
}

void HmtpCore::on(Instant now, const gateways::SisConfirmed& confirmed) {
  const auto request = take(confirmed.id);
  if (!request || request->reply) return;
  auto& client = lanes_[request->station].client;
  if (!client || client->outstanding.erase(confirmed.id.value) == 0) return;
  if (client->outstanding.empty() && client->sent == client->dialogue.text().size()) {
    client->answer_by = now + config_.answer_wait + airtime_at(config_.line_rate_bps, client->sent);
  }
}

// A lost part of the stream cannot be mended, so the session is over (there is no segment number).
void HmtpCore::on(Instant now, const gateways::SisRejected& rejected) {
  const auto request = take(rejected.id);
  if (!request || request->reply) return;
  Lane& lane = lanes_[request->station];
  if (!lane.client || lane.client->outstanding.erase(rejected.id.value) == 0) return;
  const std::string why(sis::to_string(rejected.reason));
  give_up_session(now, lane, request->station, why, is_no_answer(rejected.reason));
  if (!is_of_station(rejected.reason)) return;
  for (const Waiting& mail : std::exchange(lane.waiting, {})) {
    end(mail, request->station, Kind::deferred, why);
  }
}

void HmtpCore::on(Instant now, const gateways::SisUnresolved& unresolved) {
  const auto request = take(unresolved.id);
  if (!request || request->reply) return;
  Lane& lane = lanes_[request->station];
  if (!lane.client || lane.client->outstanding.erase(unresolved.id.value) == 0) return;
  give_up_session(now, lane, request->station, "the node did not say what became of it", false);
}

// --- The end of a session ------------------------------------------------------------------------

void HmtpCore::tell_ended(Lane& lane, NodeId station) {
  Client& client = *lane.client;
  while (auto one = client.dialogue.poll_ended()) {
    if (!client.ended.insert(one->mail).second) continue;  // withdrawn
    events_.push_back(PeerEnded{
        .id = client.mails[one->mail].id, .station = station, .done = std::move(one->done)});
  }
}

void HmtpCore::give_up_session(Instant now, Lane& lane, NodeId station, const std::string& why,
                               bool unanswered, bool more) {
  counters_.add(HmtpCounter::sessions_failed);
  const Client client = *std::exchange(lane.client, std::nullopt);
  const bool sent_whole = client.sent == client.dialogue.text().size();
  if (sent_whole && !client.dialogue.wants_plain()) {
    lane.not_before = now + config_.late_reply_wait;
  }
  for (std::size_t i = 0; i < client.mails.size(); ++i) {
    if (client.ended.contains(i)) continue;
    end(client.mails[i], station, Kind::deferred, why, std::exchange(unanswered, false), more);
  }
}

void HmtpCore::end(const Waiting& mail, NodeId station, Kind kind, const std::string& why,
                   bool unanswered, bool more) {
  const char* const status = kind == Kind::failed ? "5.6.1" : "4.4.1";
  events_.push_back(PeerEnded{.id = mail.id,
                              .station = station,
                              .done = done_with(*mail.mail, kind, status, why),
                              .unanswered = unanswered,
                              .more = more});
}

void HmtpCore::on_deadline(Instant now) {
  for (auto& [node, lane] : lanes_) {
    if (lane.client && lane.client->answer_by && *lane.client->answer_by <= now) {
      const std::string why = "the station did not reply";
      give_up_session(now, lane, node, why, true);
      for (const Waiting& mail : std::exchange(lane.waiting, {})) {
        end(mail, node, Kind::deferred, why);
      }
    }
    if (lane.not_before && *lane.not_before <= now) lane.not_before.reset();
    std::erase_if(lane.waiting, [&, n = node](const Waiting& mail) {
      if (mail.expires > now) return false;
      end(mail, n, Kind::deferred, "its lifetime ended");
      return true;
    });
    for (auto& [sap, session] : lane.servers) {
      session.on_deadline(now);
      drain(now, node, sap, session);
    }
    std::erase_if(lane.servers, [](const auto& one) { return one.second.idle(); });
  }
}

std::optional<Instant> HmtpCore::next_deadline() const {
  std::optional<Instant> next;
  const auto earlier = [&next](std::optional<Instant> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  for (const auto& [node, lane] : lanes_) {
    if (lane.client) earlier(lane.client->answer_by);
    earlier(lane.not_before);
    for (const Waiting& mail : lane.waiting) earlier(mail.expires);
    for (const auto& [sap, session] : lane.servers) earlier(session.next_deadline());
  }
  return next;
}

std::optional<PeerEvent> HmtpCore::poll_event() {
  return take_front(events_);
}

// --- Sending -------------------------------------------------------------------------------------

std::uint32_t HmtpCore::lifetime_of(std::size_t octets) const {
  return config_.updu_lifetime_s +
         static_cast<std::uint32_t>(to_seconds(airtime_at(config_.line_rate_bps, octets)));
}

std::optional<gateways::SisUnidata> HmtpCore::poll_unidata(Instant now) {
  if (!client_.may_send()) return std::nullopt;
  return client_.serve(lanes_, config_.outstanding_max, [&](NodeId station, Lane& lane) {
    begin(now, station, lane);
    return next_updu(now, station, lane);
  });
}

// The most urgent go first, of those the ones that have waited longest.
void HmtpCore::begin(Instant now, NodeId station, Lane& lane) {
  if (lane.client || lane.waiting.empty() || lane.outstanding > 0) return;
  if (lane.not_before && now < *lane.not_before) return;
  std::stable_sort(lane.waiting.begin(), lane.waiting.end(),
                   [](const Waiting& a, const Waiting& b) { return a.priority < b.priority; });
  std::vector<Waiting> mails;
  std::vector<std::shared_ptr<const Mail>> contents;
  std::size_t octets = 0;
  const std::size_t mails_max = lane.single ? 1 : config_.session_mails_max;
  while (!lane.waiting.empty() && mails.size() < mails_max) {
    const Waiting& next = lane.waiting.front();
    octets += next.mail->content.size();
    if (!mails.empty() && octets > config_.session_octets_max) break;
    Waiting mail = *take_front(lane.waiting);
    if (mail.expires <= now) {
      end(mail, station, Kind::deferred, "its lifetime ended");
      continue;
    }
    contents.push_back(mail.mail);
    mails.push_back(std::move(mail));
  }
  if (mails.empty()) return;
  counters_.add(HmtpCounter::sessions_sent);
  lane.client.emplace(
      Client{.dialogue = {config_.session.server.hostname, std::move(contents), lane.plain},
             .mails = std::move(mails)});
}

// Replies go first, because a station waits for them, but not within a dialogue. The node sends
// what is more urgent first, so it gets nothing of the other kind before all of the one is
// confirmed.
std::optional<gateways::SisUnidata> HmtpCore::next_updu(Instant, NodeId station, Lane& lane) {
  if (lane.outstanding >= config_.station_outstanding_max) return std::nullopt;
  const std::size_t sent = lane.client ? lane.client->sent : 0;
  const std::size_t left = lane.client ? lane.client->dialogue.text().size() - sent : 0;
  const bool within_dialogue = sent > 0 && left > 0;
  const bool replies = !within_dialogue && !lane.replies.empty();
  if (!replies && left == 0) return std::nullopt;
  if (lane.outstanding > 0 && lane.sending_replies != replies) return std::nullopt;
  lane.sending_replies = replies;
  if (replies) {
    Reply& reply = lane.replies.front();
    const auto piece = std::string_view(reply.text).substr(reply.sent, client_.mtu());
    reply.sent += piece.size();
    auto unidata = updu_of(station, reply.sap, piece, 0, lifetime_of(reply.text.size()), true);
    if (reply.sent == reply.text.size()) lane.replies.pop_front();
    return unidata;
  }
  Client& client = *lane.client;
  const std::string& text = client.dialogue.text();
  const auto piece = std::string_view(text).substr(client.sent, client_.mtu());
  client.sent += piece.size();
  auto unidata = updu_of(station, kHmtpSap, piece, client.mails.front().priority,
                         lifetime_of(text.size()), false);
  client.outstanding.insert(unidata.id.value);
  return unidata;
}

gateways::SisUnidata HmtpCore::updu_of(NodeId station, SapId sap, std::string_view text,
                                       std::uint8_t priority, std::uint32_t lifetime_s,
                                       bool reply) {
  const gateways::SisRequestId id = client_.add({station, reply});
  ++lanes_[station].outstanding;
  return {.id = id,
          .priority = sis_priority(priority),
          .destination = config_.stations.at(station),
          .destination_sap = sap,
          .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::node},
          .time_to_live_s = lifetime_s,
          .updu = {text.begin(), text.end()}};
}

}  // namespace s5066::acp142
