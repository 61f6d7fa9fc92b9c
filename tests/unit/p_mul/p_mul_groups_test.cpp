// SPDX-License-Identifier: Apache-2.0
// These tests run the machine of dynamic multicast groups alone, and in a node.
#include "gateways/p_mul/p_mul_groups.h"

#include <algorithm>

#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

constexpr std::uint32_t kG1 = 0xEF000001;
constexpr std::uint32_t kG2 = 0xEF000002;

struct Groups {
  explicit Groups(NodeId node, std::vector<std::uint32_t> pool = {kG1, kG2}) : rng(node.value) {
    config.node = node;
    config.pool = std::move(pool);
    config.joined_max = 3;
    restart();
  }
  void restart() {
    utc.set(Instant{}, kUtc);
    core.emplace(config, rng, utc);
  }
  void advance(Duration to) {
    now = at(to);
    core->on_deadline(now);
  }
  void want(std::uint32_t message, std::vector<NodeId> to = {{2}, {3}}) {
    core->request_group(now, message, std::move(to), {kUtc.value + 3600});
  }
  void hear(PduType type, NodeId from, std::uint32_t message, std::uint32_t address) {
    core->on_group_pdu(now, {.type = type, .name = {from, message}, .group_address = address});
  }
  void announce(NodeId from, std::uint32_t message, std::uint32_t address, std::vector<NodeId> list,
                std::int64_t for_s = 3600) {
    core->on_announce(now, {.name = {from, message},
                            .expiry = {kUtc.value + now.time_since_epoch() / 1s + for_s},
                            .group_address = address,
                            .destinations = std::move(list)});
  }
  std::vector<Pdu> pdus() {
    std::vector<Pdu> all;
    while (auto pdu = core->poll_pdu(now)) {
      EXPECT_EQ(pdu->use, Use::group_control);
      to_group.push_back(std::holds_alternative<GroupId>(pdu->target));
      all.push_back(*decode(pdu->octets));
    }
    return all;
  }
  std::vector<PduType> types() {
    std::vector<PduType> all;
    for (const Pdu& pdu : pdus()) {
      const auto* group = std::get_if<GroupPdu>(&pdu);
      all.push_back(group != nullptr ? group->type : PduType::announce);
      said = group != nullptr ? group->group_address : std::get<AnnouncePdu>(pdu).group_address;
    }
    return all;
  }
  std::vector<PMulGroups::Membership> memberships() {
    std::vector<PMulGroups::Membership> all;
    while (const auto one = core->poll_membership()) all.push_back(*one);
    return all;
  }

  PMulGroups::Config config;
  Rng rng;
  UtcClock utc;
  std::optional<PMulGroups> core;
  Instant now{};
  std::uint32_t said = 0;      // address in the last PDU
  std::vector<bool> to_group;  // true for each PDU that went to the group
};

using Types = std::vector<PduType>;
using Memberships = std::vector<PMulGroups::Membership>;

// PM-071: the node requests, waits, announces five times within five seconds, is ready after that,
// and releases.
TEST(PMulGroups, an_address_is_requested_announced_used_and_released) {
  Groups alpha({1});
  alpha.want(7);
  EXPECT_TRUE(alpha.core->has_pdu());
  EXPECT_EQ(alpha.types(), Types{PduType::request});
  const std::uint32_t address = alpha.said;
  EXPECT_TRUE(address == kG1 || address == kG2);
  alpha.advance(5s - 1ns);
  EXPECT_TRUE(alpha.types().empty());
  std::vector<Duration> announced;
  for (Duration t = 5s; t < 20s; t += 100ms) {
    alpha.advance(t);
    for (const PduType type : alpha.types()) {
      EXPECT_EQ(type, PduType::announce);
      EXPECT_EQ(alpha.said, address);
      announced.push_back(t);
    }
    EXPECT_EQ(alpha.core->poll_ready().has_value(), t == 10s);
  }
  EXPECT_EQ(announced, (std::vector<Duration>{5s, 6s, 7s, 8s, 9s}));
  EXPECT_FALSE(alpha.core->next_deadline().has_value());
  alpha.core->request_release(alpha.now, 7);
  EXPECT_EQ(alpha.types(), Types{PduType::release});
  EXPECT_EQ(alpha.said, address);
  EXPECT_EQ(alpha.core->own(), 0u);
  EXPECT_EQ(std::count(alpha.to_group.begin(), alpha.to_group.end(), true), 7);
}

// PM-071
TEST(PMulGroups, a_rejected_address_is_released_and_another_taken) {
  Groups alpha({1});
  alpha.want(7);
  alpha.types();
  const std::uint32_t first = alpha.said;
  alpha.hear(PduType::reject, {3}, 8, first);                     // of another message
  alpha.hear(PduType::reject, {3}, 7, first == kG1 ? kG2 : kG1);  // of another address
  EXPECT_TRUE(alpha.types().empty());
  alpha.hear(PduType::reject, {3}, 7, first);
  const auto pdus = alpha.pdus();
  ASSERT_EQ(pdus.size(), 2u);
  EXPECT_EQ(std::get<GroupPdu>(pdus[0]),
            (GroupPdu{.type = PduType::release, .name = {{1}, 7}, .group_address = first}));
  EXPECT_EQ(std::get<GroupPdu>(pdus[1]).type, PduType::request);
  EXPECT_NE(std::get<GroupPdu>(pdus[1]).group_address, first);
  // After the other address is rejected too, none is free until the first may have become free.
  alpha.hear(PduType::reject, {3}, 7, first == kG1 ? kG2 : kG1);
  EXPECT_EQ(alpha.types(), Types{PduType::release});
  EXPECT_EQ(alpha.core->counters()[PMulGroupCounter::pool_empty], 1u);
  alpha.advance(5min - 1s);
  EXPECT_TRUE(alpha.types().empty());
  alpha.advance(5min + 5s);
  EXPECT_EQ(alpha.types(), Types{PduType::request});
  EXPECT_EQ(alpha.core->counters()[PMulGroupCounter::rejects_late], 2u);
}

// PM-071: a rejection after the first announcement is too late.
TEST(PMulGroups, a_late_rejection_changes_nothing) {
  Groups alpha({1});
  alpha.want(7);
  alpha.types();
  alpha.advance(5s);
  alpha.hear(PduType::reject, {3}, 7, alpha.said);
  EXPECT_EQ(alpha.types(), Types{PduType::announce});
  EXPECT_EQ(alpha.core->counters()[PMulGroupCounter::rejects_late], 1u);
}

// PM-071: a node that sends on an address rejects it, and so does a node that is in it.
TEST(PMulGroups, who_uses_an_address_rejects_it_to_the_requester_alone) {
  Groups alpha({1}, {kG1}), bravo({2}, {kG1});
  alpha.want(7);
  alpha.types();
  alpha.advance(5s);
  alpha.types();
  bravo.announce({1}, 7, kG1, {{2}});
  for (Groups* one : {&alpha, &bravo}) {
    one->to_group.clear();
    one->hear(PduType::request, {4}, 9, kG1);
    const auto pdus = one->pdus();
    ASSERT_EQ(pdus.size(), 1u);
    EXPECT_EQ(
        std::get<GroupPdu>(pdus[0]),
        (GroupPdu{.type = PduType::reject, .name = {one->config.node, 9}, .group_address = kG1}));
    EXPECT_FALSE(one->to_group.at(0));
  }
  bravo.hear(PduType::request, {1}, 7, kG1);  // the address's own transmitter, restarted
  EXPECT_TRUE(bravo.types().empty());
}

// PM-072
TEST(PMulGroups, nobody_in_emcon_rejects) {
  Groups bravo({2}, {kG1});
  bravo.announce({1}, 7, kG1, {{2}});
  bravo.hear(PduType::request, {4}, 9, kG1);
  bravo.core->on_silent(true);
  bravo.hear(PduType::request, {5}, 9, kG1);
  bravo.core->on_silent(false);
  EXPECT_TRUE(bravo.types().empty());
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, true}}));  // the node still joins
}

// STANDARD: see p_mul_groups.h.
TEST(PMulGroups, of_two_requests_for_one_address_the_lower_source_keeps_it) {
  Groups alpha({1}, {kG1}), bravo({2}, {kG1, kG2});
  alpha.want(7);
  alpha.types();
  do {
    bravo.restart();
    bravo.want(8);
    bravo.types();
  } while (bravo.said != kG1);
  alpha.hear(PduType::request, {2}, 8, kG1);
  EXPECT_EQ(alpha.types(), Types{PduType::reject});
  bravo.hear(PduType::request, {1}, 7, kG1);
  EXPECT_EQ(bravo.types(), (Types{PduType::release, PduType::request}));
  EXPECT_EQ(bravo.said, kG2);
  EXPECT_EQ(bravo.core->counters()[PMulGroupCounter::yielded], 1u);
}

TEST(PMulGroups, an_address_that_others_have_is_not_requested) {
  for (int i = 0; i < 20; ++i) {
    Groups alpha({1});
    alpha.rng = Rng(i);
    alpha.restart();
    alpha.announce({4}, 9, kG1, {{5}});
    alpha.want(7);
    alpha.types();
    EXPECT_EQ(alpha.said, kG2);
    alpha.want(8);
    EXPECT_TRUE(alpha.types().empty());
    alpha.hear(PduType::release, {5}, 9, kG1);  // another node releases it
    alpha.advance(5s);
    EXPECT_EQ(alpha.types(), Types{PduType::announce});
    alpha.hear(PduType::release, {4}, 9, kG1);
    alpha.advance(10s);
    const auto types = alpha.types();
    EXPECT_EQ(std::count(types.begin(), types.end(), PduType::request), 1);
  }
}

// PM-071
TEST(PMulGroups, a_receiver_joins_what_is_announced_to_it_and_leaves_in_time) {
  Groups bravo({2});
  bravo.announce({1}, 7, kG1, {{3}, {4}});
  EXPECT_TRUE(bravo.memberships().empty());
  bravo.announce({1}, 7, kG1, {{2}, {3}});
  bravo.announce({1}, 7, kG1, {{2}, {3}});
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, true}}));
  bravo.announce({4}, 7, kG1, {{2}});
  EXPECT_TRUE(bravo.memberships().empty());
  bravo.hear(PduType::release, {4}, 7, kG2);
  bravo.core->on_settled(bravo.now, {{1}, 7});  // happens at completion or a Discard_PDU
  EXPECT_TRUE(bravo.memberships().empty());     // the other message needs it
  bravo.hear(PduType::release, {4}, 7, kG1);
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, false}}));
  bravo.announce({1}, 8, kG2, {{2}}, 100);
  bravo.advance(160s - 1ns);
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG2, true}}));
  bravo.advance(160s);
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG2, false}}));
}

// A host may have a limit of its own, or its interface may be down.
TEST(PMulGroups, what_could_not_be_joined_is_tried_again_with_the_next_announcement) {
  Groups bravo({2});
  bravo.announce({1}, 7, kG1, {{2}});
  bravo.announce({4}, 7, kG1, {{2}});
  bravo.announce({1}, 8, kG2, {{2}});
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, true}, {kG2, true}}));
  bravo.core->on_not_joined(kG1);
  EXPECT_EQ(bravo.core->joined(), 1u);
  EXPECT_EQ(bravo.core->counters()[PMulGroupCounter::joins_refused], 2u);
  bravo.announce({1}, 7, kG1, {{2}});
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, true}}));
  bravo.core->on_settled(bravo.now, {{1}, 7});
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, false}}));
}

// PM-071
TEST(PMulGroups, a_restarted_transmitter_moves_its_receivers_to_its_new_address) {
  Groups bravo({2});
  bravo.announce({1}, 7, kG1, {{2}});
  bravo.announce({1}, 7, kG2, {{2}});
  EXPECT_EQ(bravo.memberships(), (Memberships{{kG1, true}, {kG1, false}, {kG2, true}}));
}

// PM-071
TEST(PMulGroups, an_announcement_that_has_expired_by_our_clock_is_followed_for_a_while) {
  Groups bravo({2});
  bravo.announce({1}, 7, kG1, {{2}}, -7200);
  EXPECT_EQ(bravo.core->joined(), 1u);
  bravo.advance(bravo.config.joined_time_max);
  EXPECT_EQ(bravo.core->joined(), 0u);
}

// PM-071
TEST(PMulGroups, nobody_is_made_to_join_much) {
  Groups bravo({2});
  for (const std::uint32_t address : {0xE0000001u, 0xEF010101u, 0x0A010101u, 0u}) {
    bravo.announce({1}, 7, address, {{2}});
  }
  EXPECT_EQ(bravo.core->counters()[PMulGroupCounter::not_in_pool], 4u);
  for (std::uint32_t message = 1; message <= 10; ++message) {
    bravo.announce({1}, message, message % 2 ? kG1 : kG2, {{2}}, 1 << 30);
  }
  EXPECT_EQ(bravo.core->joined(), 3u);
  EXPECT_EQ(bravo.core->counters()[PMulGroupCounter::joins_refused], 7u);
  for (std::uint32_t message = 0; message < 1000; ++message) {
    bravo.hear(PduType::request, {4}, message, kG1);
  }
  EXPECT_EQ(bravo.types().size(), bravo.config.rejects_max);
  bravo.advance(bravo.config.joined_time_max);
  EXPECT_EQ(bravo.core->joined(), 0u);
  EXPECT_EQ(bravo.memberships().size(), 4u);
}

// PM-071, PM-003: the list has 1000 destinations in several parts, and ours is in the last.
TEST(PMulGroups, a_long_list_is_announced_in_parts) {
  Groups alpha({1}), bravo({1000});
  alpha.config.pdu_octets_max = 1472;
  alpha.restart();
  std::vector<NodeId> all;
  for (std::uint32_t n = 2; n <= 1000; ++n) all.push_back({n});
  alpha.want(7, all);
  alpha.types();
  alpha.advance(5s);
  const auto parts = alpha.pdus();
  ASSERT_EQ(parts.size(), 3u);
  std::vector<ListPart> order;
  for (const Pdu& part : parts) {
    order.push_back(std::get<AnnouncePdu>(part).part);
    bravo.core->on_announce(bravo.now, std::get<AnnouncePdu>(part));
  }
  EXPECT_EQ(order, (std::vector{ListPart::first, ListPart::middle, ListPart::last}));
  EXPECT_EQ(bravo.memberships().size(), 1u);
}

// --- In a node -----------------------------------------------------------------------------------

struct Member : Station {
  explicit Member(NodeId node)
      : Station(node, [](PMulCore::Config& config) { config.groups.pool = {kG1}; }) {}
  std::vector<OutgoingPdu> outgoing() {
    std::vector<OutgoingPdu> all;
    while (auto pdu = core->poll_pdu(now)) all.push_back(*std::move(pdu));
    return all;
  }
  void step(Duration to) { advance(at(to)); }
};

PduType type_of(const OutgoingPdu& pdu) {
  return static_cast<PduType>(pdu.octets[3] & 0x3F);
}

// PM-070, PM-071
TEST(PMulGroups, only_a_message_that_no_static_group_covers_takes_an_address) {
  Member alpha({1});
  ASSERT_TRUE(alpha.submit(5, {{2}}, 10).ok());
  ASSERT_TRUE(alpha.submit(6, {{2}, {3}}, 10).ok());
  EXPECT_EQ(alpha.core->groups().own(), 0u);
  ASSERT_TRUE(alpha.submit(7, {{2}, {30}}, 10).ok());
  EXPECT_EQ(alpha.core->groups().own(), 1u);
  Station without({1});
  EXPECT_FALSE(without.submit(7, {{2}, {30}}, 10).ok());
}

// PM-071, PM-033: the whole message goes to the group. A round for nodes that never answered
// announces it again.
TEST(PMulGroups, a_message_waits_for_its_group_and_is_announced_again_to_who_never_answered) {
  Member alpha({1});
  ASSERT_TRUE(alpha.submit(7, {{30}, {31}}, 250).ok());
  auto first = alpha.outgoing();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(type_of(first[0]), PduType::request);
  std::vector<OutgoingPdu> round;
  for (Duration t = 1s; t <= 10s; t += 1s) {
    alpha.step(t);
    for (auto& pdu : alpha.outgoing()) {
      if (type_of(pdu) != PduType::announce) round.push_back(std::move(pdu));
    }
  }
  ASSERT_GE(round.size(), 4u);
  for (const OutgoingPdu& pdu : round) EXPECT_EQ(pdu.target, Target{MulticastAddress{kG1}});
  alpha.hear(ack_of({30}, 7, {{2, 2}}));
  alpha.hear(ack_of({31}, 7, {{1, 1}}));
  EXPECT_EQ(type_of(alpha.outgoing().at(0)), PduType::address);  // both nodes have answered
  alpha.hear(ack_of({30}, 7, {}));
  std::size_t announced = 0;
  for (Duration t = 11s; t <= 10min && announced == 0; t += 1s) {
    alpha.step(t);
    for (const auto& pdu : alpha.outgoing()) {
      if (type_of(pdu) != PduType::announce) {
        EXPECT_EQ(announced, 0u);
        continue;
      }
      ++announced;
      EXPECT_EQ(std::get<AnnouncePdu>(*decode(pdu.octets)).destinations, std::vector<NodeId>{{31}});
    }
  }
  EXPECT_GT(announced, 0u);
  alpha.hear(ack_of({31}, 7, {}));
  std::vector<PduType> rest;
  for (const auto& pdu : alpha.outgoing()) rest.push_back(type_of(pdu));
  EXPECT_EQ(rest, (Types{PduType::address, PduType::release}));
  EXPECT_EQ(alpha.ended.size(), 2u);
}

// PM-071: the node sends nothing to an address that it never had.
TEST(PMulGroups, a_message_that_ends_before_it_has_its_group_just_ends) {
  Member alpha({1});
  ASSERT_TRUE(alpha.submit(7, {{30}, {31}}, 250).ok());
  alpha.outgoing();
  ASSERT_TRUE(alpha.core->request_cancel(alpha.now, {7}).ok());
  auto rest = alpha.outgoing();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(type_of(rest[0]), PduType::release);
  EXPECT_EQ(alpha.core->sender().messages(), 0u);
  EXPECT_EQ(alpha.core->sender().content_octets(), 0u);
  ASSERT_TRUE(alpha.submit(7, {{30}, {31}}, 250).ok());  // the message is resumed
  EXPECT_EQ(alpha.outgoing().size(), 1u);
}

// PM-071, PM-036: Discard_PDUs go to the group before it is released.
TEST(PMulGroups, an_expired_message_is_discarded_and_its_group_released) {
  Member alpha({1});
  ASSERT_TRUE(alpha.submit(7, {{30}, {31}}, 250).ok());
  for (Duration t = 0s; t <= 20s; t += 1s) {
    alpha.step(t);
    alpha.outgoing();
  }
  ASSERT_TRUE(alpha.core->request_cancel(alpha.now, {7}).ok());
  std::vector<PduType> rest;
  for (const auto& pdu : alpha.outgoing()) rest.push_back(type_of(pdu));
  EXPECT_EQ(rest, (Types{PduType::discard, PduType::discard, PduType::release}));
}

// PM-055, PM-071
TEST(PMulGroups, in_own_emcon_nothing_is_requested_or_announced) {
  Member alpha({1});
  alpha.core->on_own_silence(alpha.now, true);
  ASSERT_TRUE(alpha.submit(7, {{30}, {31}}, 250).ok());
  for (int i = 0; i < 100; ++i) {
    alpha.step(i * 1s);
    EXPECT_FALSE(alpha.core->has_pdu());
    EXPECT_TRUE(alpha.outgoing().empty());
  }
  alpha.core->on_own_silence(alpha.now, false);
  EXPECT_EQ(type_of(alpha.outgoing().at(0)), PduType::request);
}

// PM-071: a receiver is in the group from the announcement to the last Address_PDU, which no longer
// lists it.
TEST(PMulGroups, a_receiver_is_in_the_group_for_as_long_as_the_message_takes) {
  Member bravo({2});
  const MessageName name{{30}, 7};
  const AddressPdu address{
      .name = name, .total = 1, .expiry = {kUtc.value + 3600}, .destinations = {{{2}, 1}}};
  bravo.hear(encode(AnnouncePdu{
      .name = name, .expiry = {kUtc.value + 3600}, .group_address = kG1, .destinations = {{2}}}));
  EXPECT_EQ(bravo.core->poll_membership(), (PMulGroups::Membership{kG1, true}));
  bravo.hear(encode(address));
  bravo.hear(encode(DataPdu{.name = name, .fragment = Bytes(10)}));
  EXPECT_EQ(bravo.received.size(), 1u);
  EXPECT_FALSE(bravo.core->poll_membership());  // the acknowledgement may be lost
  AddressPdu last = address;
  last.destinations.clear();
  bravo.hear(encode(last));
  EXPECT_EQ(bravo.core->poll_membership(), (PMulGroups::Membership{kG1, false}));
}

// PM-073: the carrier over STANAG 5066 works like this.
TEST(PMulGroups, without_a_pool_group_pdus_are_counted_and_nothing_else) {
  Station bravo({2});
  bravo.hear(encode(AnnouncePdu{.name = {{3}, 7},
                                .expiry = {kUtc.value + 3600},
                                .group_address = kG1,
                                .destinations = {{2}}}));
  for (const PduType type : {PduType::request, PduType::reject, PduType::release}) {
    bravo.hear(encode(GroupPdu{.type = type, .name = {{3}, 7}, .group_address = kG1}));
  }
  EXPECT_EQ(bravo.core->counters()[PMulCounter::group_pdus], 4u);
  EXPECT_FALSE(bravo.core->poll_membership());
  EXPECT_TRUE(bravo.pdus().empty());
}

// PM-073: the sender also uses the configured groups only, and requests no other.
TEST(PMulGroups, without_a_pool_a_sender_has_configured_groups_only) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(1, {{2}, {3}}, 300).ok());
  const auto pdus = alpha.pdus();
  EXPECT_EQ(only<AddressPdu>(pdus).at(0).destinations.size(), 2u);
  EXPECT_EQ(numbers(pdus).size(), 3u);
  EXPECT_TRUE(only<GroupPdu>(pdus).empty());
  EXPECT_TRUE(only<AnnouncePdu>(pdus).empty());

  const auto refused = alpha.submit(2, {{2}, {99}}, 300);  // 99 is in no group
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_TRUE(alpha.submit(3, {{99}}, 10).ok());  // a single node needs no group
  for (const Bytes& octets : alpha.pdus()) {
    const auto pdu = decode(octets);
    ASSERT_TRUE(pdu.ok());
    EXPECT_FALSE(std::holds_alternative<GroupPdu>(*pdu));
    EXPECT_FALSE(std::holds_alternative<AnnouncePdu>(*pdu));
  }
  EXPECT_FALSE(alpha.core->poll_membership());
}

}  // namespace
}  // namespace s5066::p_mul
