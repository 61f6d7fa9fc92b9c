// SPDX-License-Identifier: Apache-2.0
// The requests of a SIS client: held until they may be sent, written, and waiting for their
// confirmation. Every accepted one ends exactly once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "sis/client_events.h"
#include "sis/codec.h"
#include "sis/primitives.h"

namespace s5066::sis {

class ClientRequests {
 public:
  struct Config {
    std::size_t queue_max = 64;         // held until they may be sent
    std::size_t unconfirmed_max = 256;  // sent; their confirmation is still to come
    Duration confirmation_timeout{};    // from the request to its answer
  };

  explicit ClientRequests(const Config& config) : config_(config) {}

  /// Accepts a request of type 18, 20 or 24. Fails with queue_full.
  Result<RequestId> add(Instant now, Primitive request, bool confirm);

  /// Appends whole requests until `out` holds `octets_max` or more: management messages first, then
  /// expedited data, then normal data; no data while the flow is off.
  void append(Bytes& out, std::size_t octets_max, bool flow_off);

  /// Call when the appended octets are with the server. Returns the requests that get no further
  /// report.
  std::vector<RequestId> take_sent();

  /// Returns the request that a confirmation or a rejection of data of this type (20 or 24) means.
  std::optional<RequestId> take_answered(Type type, SapId sap, Address destination, ByteSpan part);

  /// Removes and returns the requests that waited too long for their answer.
  std::vector<RequestId> take_expired(Instant now);
  std::optional<Instant> next_deadline() const;

  /// Removes and returns all requests that have no end yet.
  std::vector<RequestId> take_all();

 private:
  struct Request {
    RequestId id;
    Instant accepted{};
    bool confirm = false;
    Primitive primitive;
  };
  enum Class : std::size_t { kManagement, kExpedited, kNormal, kClasses };

  static Class class_of(const Primitive& primitive);
  void append(Bytes& out, std::size_t octets_max, std::deque<Request>& queue);

  const Config config_;
  std::uint64_t next_id_ = 1;
  std::array<std::deque<Request>, kClasses> queues_;  // accepted, not yet sent
  std::vector<RequestId> written_;                    // appended, no confirmation asked
  std::deque<Request> unconfirmed_;                   // appended, confirmation asked; oldest first
};

}  // namespace s5066::sis
