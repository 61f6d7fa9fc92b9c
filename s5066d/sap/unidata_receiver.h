// U_PDUs on their way in: from DATA S_PDU to indication, and whether the sender is owed a delivery
// confirmation (A.3.2.4(20) to (27)).
#pragma once

#include <optional>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/metrics.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/client_table.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/peer_counts.h"
#include "s5066d/sap/repeats.h"
#include "s5066d/sap/spdu.h"
#include "s5066d/sap/unidata_queue.h"
#include "s5066d/sap/utc_clock.h"

namespace s5066::sap {

class UnidataReceiver {
 public:
  UnidataReceiver(const Config& config, const ClientTable& clients, const UtcClock& utc,
                  PeerCounts& counts, Outbox& outbox, Counters& counters, TraceSink& trace);

  void on_link_made(Address peer) { repeat_filter_.on_link_made(peer); }

  /// Whether the U_PDU was delivered, where the sender asked to be told; else nothing. Of a damaged
  /// S_PDU the header is whole. Takes the U_PDU out of `data` unless an answer will quote it.
  std::optional<bool> on_data(Instant now, const cas::SpduIndication& from, DataSpdu& data);
  /// A U_PDU from one of our own clients. False when nobody is bound to its SAP.
  bool on_local(Instant now, const UnidataItem& item);

 private:
  /// What an indication says besides the U_PDU's own fields.
  struct Origin {
    bool expedited = false;
    sis::TransmissionMode mode = sis::TransmissionMode::arq;
    Address source;
    Address destination;
    std::vector<OctetRange> errored;
    std::vector<OctetRange> missing;
  };
  void indicate(ClientId client, const DataSpdu& data, Bytes updu, Origin origin);
  void discard(Instant now, Address from, const DataSpdu& data, Counter counter, DiscardReason why);
  bool is_for_us(Address destination) const;
  bool has_died(Instant now, const DataSpdu& data) const;
  Instant last_repeat(Instant now, const DataSpdu& data) const;

  const Config& config_;
  const ClientTable& clients_;
  const UtcClock& utc_;
  PeerCounts& counts_;
  Outbox& outbox_;
  Counters& counters_;
  TraceSink& trace_;
  RepeatFilter repeat_filter_;
};

}  // namespace s5066::sap
