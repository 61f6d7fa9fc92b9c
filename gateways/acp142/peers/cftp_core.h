// SPDX-License-Identifier: Apache-2.0
// CFTP (F.14): sends mail to stations that take it so and receives theirs, over SAP 12, without a
// socket. A file goes in segments with ARQ; the far end acknowledges the whole of it, when it has
// it. We acknowledge only what the spool has.
//
// Stations do not wait for each other: each has its own queue, its own limit of files under way (1
// unless its configuration says more, F.14.5) and of U_PDUs at the node. When a station does not
// answer, all that waits for it ends at once, and the mail side decides when to try again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "gateways/acp142/mail/compression.h"
#include "gateways/acp142/peers/peer_client.h"
#include "gateways/acp142/peers/peer_types.h"
#include "gateways/common/rcop.h"
#include "gateways/common/sis_port.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

enum class CftpCounter : std::uint8_t {
  files_sent,
  files_acknowledged,
  files_failed,
  acknowledgements_unmatched,
  files_received,
  files_unreadable,
  files_given_up,
  unknown_stations,
  malformed,
  busy,
  count
};
const CounterTable<CftpCounter>& counter_table(CftpCounter);

class CftpCore {
 public:
  struct Station {
    Address address;
    std::uint32_t files_max = 1;  // under way at a time, at most 256
  };
  struct Config {
    std::map<NodeId, Station> stations{};
    InflateLimits inflate{.octets_max = 20u << 20};
    std::size_t recipients_max = 1000;
    std::size_t file_octets_max = 21u << 20;    // limit for a received file
    std::size_t source_octets_max = 24u << 20;  // limit for incomplete files of one station
    std::size_t committing_max = 16;            // received files that wait for the spool
    std::size_t outstanding_max = 128;          // U_PDUs at the node
    std::size_t station_outstanding_max = 16;
    /// Wait for the answer after the last segment.
    Duration answer_wait = std::chrono::seconds(900);
    std::uint32_t updu_lifetime_s = 3600;
    std::uint32_t line_rate_bps = 300;  // a hint, from which time on the air is added to both
  };

  CftpCore(const Config& config, Rng& rng);

  // Events in.
  void on_sis(Instant now, const gateways::SisEvent& event);
  void on_deadline(Instant now);
  /// The spool has the message, or the operator's folder what cannot be read, or has not.
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
  bool bound() const { return client_.bound(); }
  const CounterSet<CftpCounter>& counters() const { return counters_; }
  const gateways::RcopReassembler& reassembler() const { return reassembler_; }

 private:
  struct File {
    MailId id;
    NodeId station;
    std::uint8_t priority = 0;
    Instant expires{};
    std::shared_ptr<const Mail> mail;  // the message that was handed over
    /// Recipients in this file, counted among those that CFTP can carry.
    std::size_t recipients = 0;
    Bytes octets{};
    std::uint8_t updu_id = 0;
    std::size_t mtu = 0;
    std::size_t next_segment = 0;
    std::size_t segments = 0;
    std::set<std::uint64_t> outstanding{};
    std::optional<Instant> answer_by{};  // all segments are with the far node
  };
  struct Request {
    MailId id;  // 0: an acknowledgement
    NodeId station;
  };
  struct Committing {
    Address source;
    SapId source_sap;
    std::uint8_t connection_id = 0;
    std::uint8_t updu_id = 0;
  };
  struct Acknowledge {
    Committing to;
  };
  struct Lane {
    std::deque<File> waiting;
    std::map<std::uint8_t, File> active;  // the key is the U_PDU_ID
    std::uint8_t next_updu_id = 0;
    std::size_t outstanding = 0;
  };

  void on(Instant now, const gateways::SisBound& bound);
  void on(Instant now, const gateways::SisLost& lost);
  void on(Instant now, const gateways::SisFlow& flow);
  void on(Instant now, const gateways::SisIndication& indication);
  void on(Instant now, const gateways::SisConfirmed& confirmed);
  void on(Instant now, const gateways::SisRejected& rejected);
  void on(Instant now, const gateways::SisUnresolved& unresolved);

  std::optional<NodeId> station_at(Address address) const;
  void on_acknowledgement(Instant now, NodeId station, const Bytes& updu);
  void on_file(NodeId station, const gateways::RcopReassembler::Complete& complete);
  void note_dropped();
  void tell(PeerNews::Kind kind, Address address, std::string detail, std::uint64_t octets = 0);

  void begin(Instant now, Lane& lane);
  void write(File& file);
  std::optional<gateways::SisUnidata> next_acknowledgement();
  std::optional<gateways::SisUnidata> next_segment(Instant now, NodeId station, Lane& lane);
  File* file_of(const Request& request, std::uint64_t number);
  void end_active(Lane& lane, std::uint8_t updu_id, RecipientOutcome::Kind kind,
                  const std::string& why, bool unanswered = false);
  void end(const File& file, RecipientOutcome::Kind kind, const std::string& why,
           bool unanswered = false);
  void give_up_station(Lane& lane, const std::string& why);

  const Config config_;
  Rng& rng_;
  gateways::RcopReassembler reassembler_;
  std::map<NodeId, Lane> lanes_;
  PeerClient<Request> client_;
  std::map<PeerTicket, Committing> committing_;
  std::uint64_t last_ticket_ = 0;
  std::deque<Acknowledge> acknowledgements_;
  std::deque<PeerEvent> events_;
  CounterSet<CftpCounter> counters_;
};
static_assert(TimedCore<CftpCore>);

/// Returns the MessageID of a message: the same for each attempt, because the far end knows a
/// repeat by it.
std::string cftp_message_id(const Mail& mail);

}  // namespace s5066::acp142
