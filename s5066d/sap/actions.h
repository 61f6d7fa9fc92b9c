// SPDX-License-Identifier: Apache-2.0
// Actions that the subnetwork interface sublayer asks for, and the one queue for all its parts.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>

#include "s5066d/base/action_queue.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/link_manager.h"
#include "sis/primitives.h"

namespace s5066::sap {

/// Names an indication whose sender waits for the news that its client has taken it.
struct ReceiptId {
  std::uint64_t value = 0;
  friend auto operator<=>(const ReceiptId&, const ReceiptId&) = default;
};

struct SendPrimitive {
  ClientId client;
  sis::Primitive primitive;
  /// If set, call on_indication_taken() when the client has taken all octets of the primitive.
  std::optional<ReceiptId> receipt = std::nullopt;
};
/// Close the connection after earlier primitives were sent, or at once. The client is already
/// forgotten here.
struct CloseClient {
  ClientId client;
  bool discard_unsent = false;
};
/// Take no further U_PDU from the client until told otherwise; serve its other primitives.
struct PauseData {
  ClientId client;
  bool paused = false;
};

/// A hard link uses this Exclusive link, which must not make way for any call.
struct KeepLink {
  Address peer;
};

/// S_MANAGEMENT_MSG_REQUEST of a client that may send one. The node answers it, because only the
/// node has most of the information.
struct ManagementAsked {
  ClientId client;
  std::uint8_t message_type = 0;
  Bytes body;
};

using Action = std::variant<SendPrimitive, CloseClient, PauseData, RequestLink, RequestBreak,
                            KeepLink, ManagementAsked, cas::SpduRequest>;

/// The requests of the sublayer to its driver.
class Outbox : public ActionQueue<Action> {
 public:
  explicit Outbox(Counters& counters) : counters_(counters) {}

  void send(ClientId client, sis::Primitive primitive,
            std::optional<ReceiptId> receipt = std::nullopt) {
    counters_.add(Counter::primitives_sent);
    push(SendPrimitive{client, std::move(primitive), receipt});
  }
  /// Returns an ID for an SpduRequest of any part.
  CpduId new_cpdu_id() { return CpduId{++last_cpdu_id_}; }

 private:
  Counters& counters_;
  std::uint64_t last_cpdu_id_ = 0;
};

}  // namespace s5066::sap
