// SPDX-License-Identifier: Apache-2.0
// HMTP (F.5): SMTP dialogues as a stream of U_PDUs on SAP 3, without a socket. As a client it sends
// mail to stations that take it so, several messages in one session; as a server it takes theirs.
//
// Stations do not wait for each other: each has its own queue, one session at a time, and its own
// limit of U_PDUs at the node. When a station does not answer, all that waits for it ends at once,
// and the mail side decides when to try again.
//
// STANDARD: both halves of a dialogue use the same SAP, and no field tells commands from replies.
// We send all of a dialogue, or all replies that are due, before anything of the other kind, and
// take that for granted of others: what follows a beginning belongs to it until its end. A station
// that puts its replies into its dialogue all the same is understood if they are one U_PDU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/acp142/mail/address_table.h"
#include "gateways/acp142/peers/hmtp_dialogue.h"
#include "gateways/acp142/peers/hmtp_session.h"
#include "gateways/acp142/peers/peer_client.h"
#include "gateways/acp142/peers/peer_types.h"
#include "gateways/common/sis_port.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

inline constexpr SapId kHmtpSap{3};

enum class HmtpCounter : std::uint8_t {
  sessions_sent,
  sessions_answered,
  sessions_failed,
  messages_received,
  unknown_stations,
  busy,
  count
};
const CounterTable<HmtpCounter>& counter_table(HmtpCounter);

class HmtpCore {
 public:
  struct Config {
    std::map<NodeId, Address> stations{};
    HmtpSession::Config session{};
    std::size_t session_mails_max = 16;           // messages in one session of ours
    std::size_t session_octets_max = 256u << 10;  // octets of all messages but the first
    std::size_t committing_max = 16;              // received messages that wait for the spool
    std::size_t replies_octets_max = 256u << 10;  // replies to one station that wait for the node
    std::size_t outstanding_max = 128;            // U_PDUs at the node
    std::size_t station_outstanding_max = 16;
    /// Wait for the last reply after the last U_PDU.
    Duration answer_wait = std::chrono::seconds(1800);
    // No session begins for so long after one without all replies, which may still come.
    Duration late_reply_wait = std::chrono::seconds(300);
    std::uint32_t updu_lifetime_s = 3600;
    std::uint32_t line_rate_bps = 300;  // a hint: time on the air is added to both
  };

  /// `table` has the addresses that others may send us mail for; it outlives this.
  HmtpCore(const Config& config, const AddressTable& table);

  // Events in.
  void on_sis(Instant now, const gateways::SisEvent& event);
  void on_deadline(Instant now);
  void on_committed(Instant now, PeerTicket ticket, CommitOutcome outcome);

  // Requests.
  void request_send(Instant now, const HandOver& hand_over);
  /// Ends the message now; the far end may get it all the same.
  void request_withdraw(Instant now, MailId id);

  // Outputs. While `quiet` (EMCON) nothing is handed to the node.
  void set_quiet(bool quiet) { client_.set_quiet(quiet); }
  std::optional<gateways::SisUnidata> poll_unidata(Instant now);
  std::optional<PeerEvent> poll_event();
  std::optional<Instant> next_deadline() const;
  const CounterSet<HmtpCounter>& counters() const { return counters_; }
  const CounterSet<SmtpCounter>& smtp_counters() const { return smtp_counters_; }

 private:
  struct Waiting {
    MailId id;
    std::uint8_t priority = 0;
    Instant expires{};
    std::shared_ptr<const Mail> mail;
  };
  /// Our session with a station.
  struct Client {
    HmtpDialogue dialogue;
    std::vector<Waiting> mails;
    std::set<std::size_t> ended{};  // messages whose end the mail side was told
    std::size_t sent = 0;           // octets of the text, handed to the node
    std::set<std::uint64_t> outstanding{};
    std::optional<Instant> answer_by{};
  };
  struct Reply {
    SapId sap;
    std::string text;
    std::size_t sent = 0;
  };
  struct Lane {
    std::deque<Waiting> waiting;
    std::optional<Client> client;
    std::optional<Instant> not_before{};     // earliest start of the next session
    bool plain = false;                      // it does not know EHLO
    bool single = false;                     // it refuses DATA: one message in each session
    std::map<SapId, HmtpSession> servers{};  // one for each SAP of the station
    std::deque<Reply> replies;
    std::size_t outstanding = 0;
    bool sending_replies = false;  // else our dialogue
  };
  struct Committing {
    NodeId station;
    SapId sap;
    bool cut_off = false;  // its session has begun anew, so nobody is answered
  };
  struct Request {
    NodeId station;
    bool reply = false;
  };

  void on(Instant now, const gateways::SisBound& bound);
  void on(Instant now, const gateways::SisLost& lost);
  void on(Instant now, const gateways::SisFlow& flow);
  void on(Instant now, const gateways::SisIndication& indication);
  void on(Instant now, const gateways::SisConfirmed& confirmed);
  void on(Instant now, const gateways::SisRejected& rejected);
  void on(Instant now, const gateways::SisUnresolved& unresolved);

  bool is_for_client(const Lane& lane, ByteSpan updu) const;
  void on_replies(Instant now, NodeId station, Lane& lane, ByteSpan updu);
  void on_commands(Instant now, NodeId station, SapId sap, ByteSpan updu);
  void drain(Instant now, NodeId station, SapId sap, HmtpSession& session);
  void begin(Instant now, NodeId station, Lane& lane);
  std::optional<gateways::SisUnidata> next_updu(Instant now, NodeId station, Lane& lane);
  gateways::SisUnidata updu_of(NodeId station, SapId sap, std::string_view text,
                               std::uint8_t priority, std::uint32_t lifetime_s, bool reply);
  std::optional<Request> take(gateways::SisRequestId id);
  void give_up_session(Instant now, Lane& lane, NodeId station, const std::string& why,
                       bool unanswered, bool more = false);
  void tell_ended(Lane& lane, NodeId station);
  void end(const Waiting& mail, NodeId station, RecipientOutcome::Kind kind, const std::string& why,
           bool unanswered = false, bool more = false);
  std::uint32_t lifetime_of(std::size_t octets) const;

  const Config config_;
  const AddressTable& table_;
  IntakeRoom room_{.octets_max = 64u << 20};
  CounterSet<SmtpCounter> smtp_counters_;
  std::map<NodeId, Lane> lanes_;
  PeerClient<Request> client_;
  std::map<PeerTicket, Committing> committing_;
  std::uint64_t last_ticket_ = 0;
  std::deque<PeerEvent> events_;
  CounterSet<HmtpCounter> counters_;
};
static_assert(TimedCore<HmtpCore>);

}  // namespace s5066::acp142
