// P_MUL nodes with their spools on one slow shared channel, without the layers of STANAG 5066: loss
// for each listener, reordering, duplication, collisions, and power cuts of nodes at any moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/acp142/p_mul_core.h"
#include "s5066d/base/rng.h"
#include "tests/support/event_heap.h"

namespace s5066::sim {

struct PMulOptions {
  std::size_t nodes = 2;
  double loss = 0;         // of a PDU, for each listener
  double duplication = 0;  // of a PDU, for each listener
  double reordering = 0;   // a PDU comes up to 20 s late
  double rate_bps = 2400;
  double commit_failures = 0;
  acp142::PMulCore::Config core{};  // node and groups are filled in
};

class PMulWorld {
 public:
  struct Outcome {
    unsigned count = 0;
    acp142::Outcome last = acp142::Outcome::failed;
  };
  /// What survives a power cut.
  struct Spool {
    std::map<acp142::MessageKey, acp142::Submission> outgoing;
    std::map<std::pair<acp142::MessageKey, acp142::NodeId>, Outcome> outcomes;
    std::map<acp142::MessageName, Bytes> received;
    std::map<acp142::MessageName, UtcSeconds> expiry;
    unsigned commits_of_known = 0;  // delivered a second time by the core
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

  static acp142::NodeId id(std::size_t node) {
    return {static_cast<std::uint32_t>(node + 1) * 0x01010101u};
  }
  Rng& rng() { return rng_; }
  Instant now() const { return heap_.now(); }
  acp142::PMulCore& core(std::size_t node);
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
  acp142::MessageKey submit(std::size_t from, const Message& message);
  /// The node loses all but its spool, and what it was transmitting.
  void restart(std::size_t node);
  /// To be called after anything was done to a core directly.
  void drain(std::size_t node);
  /// Raw octets from nowhere, heard by one node.
  void inject(std::size_t node, const Bytes& octets);

  void run_for(Duration d) { heap_.run_until(heap_.now() + d); }
  void at(Instant when, EventHeap::Callback callback) { heap_.schedule(when, std::move(callback)); }
  /// What is wrong: reported twice, delivered twice, altered, or said to be delivered and is not.
  std::string faults() const;
  /// Destinations without an outcome.
  std::size_t unreported() const;
  std::size_t delivered() const;

 private:
  struct Station;
  struct Flight;
  void start_core(Station& station);
  void pump(std::size_t node);
  void finish(const std::shared_ptr<Flight>& flight);
  void deliver(std::size_t node, const Bytes& octets);
  void on_event(std::size_t node, const acp142::MessageEvent& event);
  void arm(std::size_t node);
  UtcSeconds utc() const;

  EventHeap heap_;
  Rng rng_;
  PMulOptions options_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::shared_ptr<Flight>> flights_;
  Counts counts_;
  std::uint64_t next_key_ = 1;
  std::map<acp142::MessageName, Bytes> contents_;
  std::map<std::pair<acp142::MessageKey, acp142::NodeId>, acp142::MessageName> names_;
};

}  // namespace s5066::sim
