// SPDX-License-Identifier: Apache-2.0
// Incoming U_PDUs: from DATA S_PDU to indication, and the delivery confirmation for their sender
// (A.3.2.4(20) to (27)).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/base/utc_clock.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/client_table.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/peer_clocks.h"
#include "s5066d/sap/peer_counts.h"
#include "s5066d/sap/repeats.h"
#include "s5066d/sap/spdu.h"
#include "s5066d/sap/unidata_queue.h"
#include "s5066d/sap/untaken.h"

namespace s5066::sap {

class UnidataReceiver {
 public:
  UnidataReceiver(const Config& config, const ClientTable& clients, const UtcClock& utc,
                  PeerCounts& counts, Outbox& outbox, Counters& counters, TraceSink& trace);

  void on_link_made(Instant now, Address peer) {
    clocks_.on_link_made(now, peer);
    repeat_filter_.on_link_made(peer);
  }
  /// Call when S_PDUs of the peer may come again over the same link.
  void on_connection_reset(Address peer) { repeat_filter_.on_link_made(peer); }

  /// Returns whether the U_PDU was delivered, if its sender asked for that and it is already known;
  /// else nothing. A damaged S_PDU must have an intact header. Takes the U_PDU out of `data` unless
  /// an answer will quote it.
  std::optional<bool> on_data(Instant now, const cas::SpduIndication& from, DataSpdu& data);
  /// Delivers a U_PDU of one of our own clients. Returns false if no client is bound to its SAP.
  bool on_local(Instant now, const UnidataItem& item);

  /// Returns what to confirm to the sender, because the client has taken all of the indication.
  std::optional<UntakenIndications::Subject> on_taken(ReceiptId receipt) {
    return untaken_.take(receipt);
  }
  /// Call when the client's connection ended before all of these indications were written. Returns
  /// what to tell their senders. The U_PDUs are new if they come again.
  std::vector<UntakenIndications::Subject> on_lost(std::span<const ReceiptId> receipts);
  /// Forgets the client's indications. Nobody can know whether it took the rest, so no sender is
  /// told anything.
  void on_client_gone(ClientId client);
  /// Returns the client that has more untaken indications than allowed, if there is one.
  std::optional<ClientId> take_overfull() { return std::exchange(overfull_, std::nullopt); }
  std::size_t untaken() const { return untaken_.size(); }
  const PeerClocks& clocks() const { return clocks_; }

 private:
  /// Fields of an indication besides the U_PDU's own.
  struct Origin {
    bool expedited = false;
    sis::TransmissionMode mode = sis::TransmissionMode::arq;
    Address source;
    Address destination;
    cas::Service service = cas::Service::arq;
    std::vector<OctetRange> errored;
    std::vector<OctetRange> missing;
  };
  void indicate(ClientId client, const DataSpdu& data, Bytes updu, Origin origin);
  std::optional<ReceiptId> receipt_for(ClientId client, const DataSpdu& data, Origin& origin);
  void discard(Instant now, Address from, const DataSpdu& data, Counter counter, DiscardReason why);
  bool is_for_us(Address destination) const;
  bool has_died(Instant now, Address from, const DataSpdu& data);
  Instant last_repeat(Instant now, const DataSpdu& data) const;
  void forget_repeats(const std::vector<UntakenIndications::Subject>& subjects);

  const Config& config_;
  const ClientTable& clients_;
  const UtcClock& utc_;
  PeerCounts& counts_;
  Outbox& outbox_;
  Counters& counters_;
  TraceSink& trace_;
  RepeatFilter repeat_filter_;
  PeerClocks clocks_;
  UntakenIndications untaken_;
  std::optional<ClientId> overfull_;
};

}  // namespace s5066::sap
