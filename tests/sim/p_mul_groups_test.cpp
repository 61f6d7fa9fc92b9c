// SPDX-License-Identifier: Apache-2.0
// Tests nodes that form groups for single messages, in virtual time: several want one address at
// once, and the network loses PDUs.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "gateways/p_mul/p_mul_core.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using namespace p_mul;

constexpr UtcSeconds kUtc{1'800'000'000};

class Lan {
 public:
  struct Options {
    std::uint32_t nodes = 6;
    std::vector<std::uint32_t> pool;
    double loss = 0;
  };

  Lan(sim::Seed seed, const Options& options) : options_(options), rng_(seed) {
    for (std::uint32_t i = 1; i <= options.nodes; ++i) {
      PMulCore::Config config;
      config.sender.node = config.receiver.node = {i};
      config.sender.block_octets = 100;
      config.sender.ack_wait = 2s;
      config.sender.ack_slot = config.receiver.ack_slot = 200ms;
      config.receiver.ack_again = 10s;
      config.groups.pool = options.pool;
      nodes_.push_back(std::make_unique<Node>(config, rng_()));
      nodes_.back()->core.on_clock(now_, kUtc);
      nodes_.back()->core.on_start(now_);
    }
  }

  void submit(std::uint32_t from, std::uint32_t message, std::vector<std::uint32_t> to) {
    Submission submission{.key = {message},
                          .message_id = message,
                          .expiry = {kUtc.value + 3600},
                          .destinations = {},
                          .group = {},
                          .content = Bytes(1000, static_cast<std::uint8_t>(message))};
    for (const std::uint32_t node : to) submission.destinations.push_back({{node}, message});
    ASSERT_TRUE(core(from).request_submit(now_, std::move(submission)).ok());
  }

  void run_for(Duration time) {
    for (const Instant end = now_ + time; now_ < end; now_ += 10ms) {
      for (auto& node : nodes_) {
        node->core.on_deadline(now_);
        settle(*node);
        // Each node sends one PDU every 10 ms, and all hear it at once.
        if (auto pdu = node->core.poll_pdu(now_)) carry(*node, *pdu);
        settle(*node);
      }
    }
  }

  PMulCore& core(std::uint32_t node) { return nodes_.at(node - 1)->core; }
  /// Counts how often a node was given a message.
  std::size_t received(std::uint32_t node, std::uint32_t message) const {
    const auto& all = nodes_.at(node - 1)->received;
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), message));
  }
  std::size_t delivered() const { return delivered_; }
  /// True after data of two messages was sent to one address before the first had released it.
  bool shared = false;

 private:
  struct Node {
    Node(const PMulCore::Config& config, std::uint64_t seed) : rng(seed), core(config, rng) {}
    Rng rng;
    PMulCore core;
    std::set<std::uint32_t> groups;
    std::vector<std::uint32_t> received;
  };

  void settle(Node& node) {
    while (const auto event = node.core.poll_event()) {
      if (const auto* message = std::get_if<Received>(&*event)) {
        node.received.push_back(message->name.message_id);
        node.core.on_committed(now_, message->name);
      } else if (const auto* ended = std::get_if<DestinationEnded>(&*event)) {
        delivered_ += ended->outcome == Outcome::delivered;
      }
    }
    while (const auto group = node.core.poll_membership()) {
      if (group->joined) {
        EXPECT_TRUE(node.groups.insert(group->address).second);
      } else {
        EXPECT_EQ(node.groups.erase(group->address), 1u);
      }
    }
  }

  void carry(const Node& from, const OutgoingPdu& pdu) {
    watch(pdu);
    for (std::uint32_t i = 1; i <= nodes_.size(); ++i) {
      Node& to = *nodes_[i - 1];
      if (&to == &from || rng_.chance(options_.loss)) continue;
      if (const auto* node = std::get_if<NodeId>(&pdu.target); node && node->value != i) continue;
      const auto* group = std::get_if<MulticastAddress>(&pdu.target);
      if (group != nullptr && !to.groups.contains(group->value)) continue;
      to.core.on_datagram(now_, pdu.octets);
      settle(to);
    }
  }

  void watch(const OutgoingPdu& pdu) {
    const auto decoded = decode(pdu.octets);
    ASSERT_TRUE(decoded);
    const auto* group = std::get_if<MulticastAddress>(&pdu.target);
    const auto* data = std::get_if<DataPdu>(&*decoded);
    // Data without a group is for a single node: the last one left, one that has not answered at
    // the group's address, or each node if no address of the pool was free.
    if (data != nullptr && group != nullptr) {
      const auto [at, fresh] = users_.try_emplace(group->value, data->name);
      shared = shared || at->second != data->name;
    }
    const auto* control = std::get_if<GroupPdu>(&*decoded);
    if (control == nullptr || control->type != PduType::release) return;
    const auto at = users_.find(control->group_address);
    if (at != users_.end() && at->second == control->name) users_.erase(at);
  }

  Options options_;
  Rng rng_;
  Instant now_{};
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::uint32_t, MessageName> users_;
  std::size_t delivered_ = 0;
};

// PM-071
// Goal:   an address belongs to one message at a time, and each message arrives with or without
//         one.
// Method: three nodes request at the same moment, with one, two and four addresses; 50 seeds.
TEST(PMulGroupsSim, nodes_that_want_an_address_at_once_do_not_share_it) {
  std::uint64_t conflicts = 0;
  for (const sim::Seed seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    for (const std::uint32_t addresses : {1, 2, 4}) {
      Lan::Options options;
      for (std::uint32_t i = 0; i < addresses; ++i) options.pool.push_back(0xEF020000 + i);
      Lan lan(seed, options);
      lan.submit(1, 11, {4, 5, 6});
      lan.submit(2, 12, {4, 5, 6});
      lan.submit(3, 13, {1, 2});
      lan.run_for(8min);
      EXPECT_FALSE(lan.shared);
      EXPECT_EQ(lan.delivered(), 8u);
      for (const std::uint32_t node : {4, 5, 6}) {
        EXPECT_EQ(lan.received(node, 11), 1u);
        EXPECT_EQ(lan.received(node, 12), 1u);
      }
      for (std::uint32_t node = 1; node <= 6; ++node) {
        EXPECT_EQ(lan.core(node).groups().own(), 0u);
        EXPECT_EQ(lan.core(node).groups().joined(), 0u);
        conflicts += lan.core(node).groups().counters()[PMulGroupCounter::rejected] +
                     lan.core(node).groups().counters()[PMulGroupCounter::yielded];
      }
    }
  }
  EXPECT_GT(conflicts, 50u);
}

// PM-071
// Goal:   a lossy network delays messages and loses none.
// Method: 20 to 40 % of all PDUs are lost at each receiver; 50 seeds.
TEST(PMulGroupsSim, every_message_arrives_once_however_many_announcements_are_lost) {
  std::uint64_t again = 0;
  for (const sim::Seed seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    Lan::Options options{.pool = {0xEF020000, 0xEF020001},
                         .loss = 0.2 + 0.2 * static_cast<double>(seed % 2)};
    Lan lan(seed, options);
    lan.submit(1, 11, {3, 4, 5, 6});
    lan.submit(2, 12, {3, 4, 5, 6});
    lan.run_for(50min);
    EXPECT_EQ(lan.delivered(), 8u);
    for (const std::uint32_t node : {3, 4, 5, 6}) {
      EXPECT_EQ(lan.received(node, 11), 1u);
      EXPECT_EQ(lan.received(node, 12), 1u);
    }
    for (const std::uint32_t node : {1, 2}) {
      again += lan.core(node).groups().counters()[PMulGroupCounter::announcements] > 5;
      EXPECT_EQ(lan.core(node).groups().own(), 0u);
    }
    lan.run_for(15min);  // past the expiry, in case a Release_PDU was lost
    for (std::uint32_t node = 1; node <= 6; ++node) {
      EXPECT_EQ(lan.core(node).groups().joined(), 0u);
    }
  }
  EXPECT_GT(again, 10u);
}

}  // namespace
}  // namespace s5066
