// SPDX-License-Identifier: Apache-2.0
// The file relay between its subnet port and its store, without either: RCOP reassembly, the
// sending half, the receiving half, and the flow control of the subnet (A.2.1.14) over both.
#pragma once

#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "gateways/common/rcop.h"
#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/receiver_core.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/sender_core.h"
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
    std::size_t mtu_min = 300;  // a FRAPv2 with the longest name fits
  };
  using Action = std::variant<RelayEvent, gateways::StoreRequest, gateways::SisUnidata>;

  explicit RelayCore(const Config& config);

  // Events in. `now` never goes backwards.
  /// First of all, and then now and then. `machine` is the steady clock of this machine, which
  /// `now` need not keep pace with.
  void on_clock(Instant now, UtcSeconds utc, Duration machine);
  void on_start(Instant now) { sender_.on_start(now); }
  void on_sis(Instant now, const gateways::SisEvent& event);
  void on_store_result(Instant now, const gateways::StoreResult& result);
  void on_spool_changed(Instant now) { sender_.on_spool_changed(now); }
  void on_changed(Instant now, const gateways::SpoolItem& row, bool at_once) {
    sender_.on_changed(now, row, at_once);
  }
  void on_deadline(Instant now);

  // Actions out. Drain both after every event.
  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  bool bound() const { return bound_; }
  std::vector<TransferStatus> transfers() const { return sender_.transfers(); }
  const SenderCore& sender() const { return sender_; }
  const ReceiverCore& receiver() const { return receiver_; }
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
  void report_dropped();
  void emit(RelayEvent::Kind kind, Address peer = {}, std::string detail = {});

  Config config_;
  IdSource ids_;
  UtcClock utc_;
  gateways::RcopReassembler reassembler_;
  SenderCore sender_;
  ReceiverCore receiver_;
  bool bound_ = false;
  bool flow_on_ = false;
  std::deque<RelayEvent> events_;  // drained after every input
};
static_assert(DrivenCore<RelayCore>);

}  // namespace s5066::file_relay
