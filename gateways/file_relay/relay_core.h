// SPDX-License-Identifier: Apache-2.0
// The file relay between its subnet port and its store, without either: RCOP reassembly, the
// sending half, the receiving halves of BFTP and of the transfer service, and the flow control of
// the subnet (A.2.1.14) over all.
#pragma once

#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "gateways/common/rcop.h"
#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/far_inbox.h"
#include "gateways/file_relay/inbox_server.h"
#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/multicast_core.h"
#include "gateways/file_relay/receiver_core.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/sender_core.h"
#include "gateways/file_relay/transfer_receiver.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

class RelayCore {
 public:
  struct Config {
    SenderCore::Config sender;
    ReceiverCore::Config receiver;
    gateways::RcopReassembler::Config reassembler;
    MessageOutbox::Config outbox;
    TransferReceiver::Config transfers;  // used if the sender has the transfer service
    InboxServer::Config inbox_server;
    FarInbox::Config far_inbox;
    MulticastCore::Config multicast;
    std::uint32_t first_request = 1;  // random number of the first request
    std::size_t mtu_min = 300;        // a FRAPv2 with the longest name fits
  };
  /// A U_PDU for the client that is bound to SAP 7.
  struct UdopUnidata {
    gateways::SisUnidata unidata;
  };
  using Action =
      std::variant<RelayEvent, gateways::StoreRequest, gateways::SisUnidata, UdopUnidata>;

  explicit RelayCore(const Config& config);

  // Events in. `now` never goes backwards. Call on_clock() before all others, and then from time to
  // time. `machine` is the steady clock of this machine, with which `now` need not keep pace.
  void on_clock(Instant now, UtcSeconds utc, Duration machine);
  void on_start(Instant now);
  void on_sis(Instant now, const gateways::SisEvent& event);
  /// Takes an event of the client that is bound to SAP 7.
  void on_udop(Instant now, const gateways::SisEvent& event);
  void on_own_silence(Instant now, bool silent);
  void on_store_result(Instant now, const gateways::StoreResult& result);
  void on_spool_changed(Instant now);
  void on_changed(Instant now, const gateways::SpoolItem& row, bool at_once);
  void on_deadline(Instant now);

  // Actions out. Drain both after every event.
  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  bool bound() const { return bound_; }
  std::vector<TransferStatus> transfers() const;
  SenderCore::InHand in_hand(SpoolId id) const;
  const MulticastCore& multicast() const { return multicast_; }
  MulticastCore& multicast() { return multicast_; }
  const SenderCore& sender() const { return sender_; }
  const ReceiverCore& receiver() const { return receiver_; }
  const TransferReceiver& transfer_receiver() const { return transfer_receiver_; }
  TransferReceiver& transfer_receiver() { return transfer_receiver_; }
  FarInbox& far_inbox() { return far_inbox_; }
  const MessageOutbox& outbox() const { return outbox_; }
  const gateways::RcopReassembler& reassembler() const { return reassembler_; }
  /// Appends the counters of all parts.
  void list(CounterRows& rows) const;

 private:
  void on(Instant now, const gateways::SisBound& event);
  void on(Instant now, const gateways::SisLost& event);
  void on(Instant now, const gateways::SisFlow& event);
  void on(Instant now, const gateways::SisIndication& event);
  void on(Instant now, const gateways::SisConfirmed& event);
  void on(Instant now, const gateways::SisRejected& event);
  void on(Instant now, const gateways::SisUnresolved& event);
  void refused(Instant now, gateways::SisRequestId id, const std::string& reason);
  void take(Instant now, const gateways::RcopReassembler::Complete& pdu);
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::SisUnidata> poll_udop();
  bool take_message(Instant now, const gateways::SisIndication& event);
  void report_dropped(gateways::RcopReassembler& reassembler);
  void take_udop(Instant now, const gateways::SisIndication& event);
  void emit(RelayEvent::Kind kind, Address peer = {}, std::string detail = {});

  Config config_;
  IdSource ids_;
  UtcClock utc_;
  gateways::RcopReassembler reassembler_;
  gateways::RcopReassembler udop_reassembler_;  // reassembles files that come without ARQ
  MessageOutbox outbox_;
  SenderCore sender_;
  ReceiverCore receiver_;
  TransferReceiver transfer_receiver_;
  InboxServer inbox_server_;
  FarInbox far_inbox_;
  MulticastCore multicast_;
  Instant now_{};
  bool bound_ = false;
  bool flow_on_ = false;
  bool udop_flow_on_ = false;
  bool silent_ = false;
  std::deque<RelayEvent> events_;  // drained after every input
};
static_assert(DrivenCore<RelayCore>);

}  // namespace s5066::file_relay
