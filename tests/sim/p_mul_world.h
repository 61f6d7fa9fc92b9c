// SPDX-License-Identifier: Apache-2.0
// P_MUL nodes with their spools on one slow shared channel, without the layers of STANAG 5066. The
// world simulates loss for each listener, reordering, duplication, collisions, and power cuts of
// nodes at any moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/rng.h"
#include "tests/support/virtual_time.h"

namespace s5066::sim {

struct PMulOptions {
  std::size_t nodes = 2;
  double loss = 0;         // probability for a PDU, for each listener
  double duplication = 0;  // probability for a PDU, for each listener
  double reordering = 0;   // probability that a PDU is up to 20 s late
  double rate_bps = 2400;
  double commit_failures = 0;
  p_mul::PMulCore::Config core{};  // node and groups are set by this class
};

class PMulWorld {
 public:
  struct Outcome {
    unsigned count = 0;
    p_mul::Outcome last = p_mul::Outcome::failed;
  };
  /// Data that survives a power cut.
  struct Spool {
    std::map<p_mul::MessageKey, p_mul::Submission> outgoing;
    std::map<std::pair<p_mul::MessageKey, p_mul::NodeId>, Outcome> outcomes;
    std::map<p_mul::MessageName, Bytes> received;
    std::map<p_mul::MessageName, UtcSeconds> expiry;
    unsigned commits_of_known = 0;  // messages that the core delivered a second time
  };
  struct Counts {
    std::uint64_t pdus = 0;
    std::uint64_t octets = 0;
    std::uint64_t acks = 0;
    std::uint64_t collisions = 0;
    std::uint64_t ack_collisions = 0;
  };

  PMulWorld(std::uint64_t seed, const PMulOptions& options);
  ~PMulWorld();

  static p_mul::NodeId id(std::size_t node) {
    return {static_cast<std::uint32_t>(node + 1) * 0x01010101u};
  }
  Rng& rng() { return rng_; }
  Instant now() const { return heap_.now(); }
  p_mul::PMulCore& core(std::size_t node);
  Spool& spool(std::size_t node);
  const Counts& counts() const { return counts_; }
  PMulOptions& options() { return options_; }

  struct Message {
    std::vector<std::size_t> to;
    std::size_t octets = 1000;
    std::uint8_t priority = 6;
    Duration lifetime = std::chrono::hours(24);
    bool acknowledged = true;
  };
  /// Returns the key; the submission must be accepted.
  p_mul::MessageKey submit(std::size_t from, const Message& message);
  /// Restarts the node, which loses everything except its spool and breaks off its transmission.
  void restart(std::size_t node);
  /// Call this after you called a core directly.
  void drain(std::size_t node);
  /// Lets one node hear octets that no node sent.
  void inject(std::size_t node, const Bytes& octets);

  void run_for(Duration d) { heap_.run_for(d); }
  void at(Instant when, EventHeap::Callback callback) { heap_.schedule(when, std::move(callback)); }
  /// Returns the faults: messages reported twice, delivered twice, altered, or reported as
  /// delivered and not delivered.
  std::string faults() const;
  /// Counts the destinations without an outcome.
  std::size_t unreported() const;
  std::size_t delivered() const;

 private:
  struct Station;
  struct Flight;
  void start_core(Station& station);
  void pump(std::size_t node);
  void finish(const std::shared_ptr<Flight>& flight);
  void deliver(std::size_t node, const Bytes& octets);
  void on_event(std::size_t node, const p_mul::MessageEvent& event);
  UtcSeconds utc() const;

  EventHeap heap_;
  Rng rng_;
  PMulOptions options_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::shared_ptr<Flight>> flights_;
  Counts counts_;
  std::uint64_t next_key_ = 1;
  std::map<p_mul::MessageName, Bytes> contents_;
  std::map<std::pair<p_mul::MessageKey, p_mul::NodeId>, p_mul::MessageName> names_;
};

}  // namespace s5066::sim
