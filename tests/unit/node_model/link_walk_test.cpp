// SPDX-License-Identifier: Apache-2.0
// Goal:   whatever clients, managers, the peer and the air do to a link, in any order, the
//         sublayers of a node agree about its state, no order makes a node spin, and no U_PDU is
//         forgotten.
// Method: the test takes orders of eight events. The model checks the node after each event, and
//         after each order the network must work again. A run takes one of the kParts parts of all
//         orders: part 1, or the part that S5066_SEED names. S5066_SEEDS=8 takes all parts, which
//         needs two minutes.
#include <algorithm>
#include <array>
#include <iostream>
#include <set>
#include <string>

#include "s5066d/base/rng.h"
#include "tests/support/sim_world.h"
#include "tests/unit/node/link_model.h"

namespace s5066::test {
namespace {

using Event = LinkModel::Event;

struct Set {
  const char* name;
  bool with_link;  // true if a link exists at the start
  std::array<Event, 8> events;

  friend std::ostream& operator<<(std::ostream& out, const Set& set) { return out << set.name; }
};

using enum LinkModel::Event;
constexpr std::array kSets = {
    Set{"broadcast_and_emcon",
        true,
        {submit, broadcast_on, broadcast_off, emcon_on, emcon_off, hear_break, moment_passes,
         moment_passes}},
    Set{"broadcast_and_emcon_before_a_link",
        false,
        {submit, broadcast_on, broadcast_off, emcon_on, emcon_off, hear_break, moment_passes,
         moment_passes}},
    Set{"broadcast_and_a_shut_sap",
        true,
        {submit, submit_expedited, broadcast_on, broadcast_off, shut_sap, open_sap, moment_passes,
         moment_passes}},
    Set{"a_hard_link_of_ours",
        true,
        {submit, establish, terminate, broadcast_on, broadcast_off, emcon_on, emcon_off,
         moment_passes}},
    Set{"a_hard_link_of_ours_before_a_link",
        false,
        {submit, establish, terminate, broadcast_on, broadcast_off, shut_sap, moment_passes,
         moment_passes}},
    Set{"a_peer_that_does_not_answer",
        true,
        {submit, peer_submits, establish, terminate, air_fails, air_returns, minutes_pass,
         moment_passes}},
    Set{"a_hard_link_of_the_peer",
        true,
        {submit, peer_establishes, peer_terminates, broadcast_on, broadcast_off, hear_break,
         moment_passes, moment_passes}},
    Set{"hard_links_that_cross",
        false,
        {submit, establish, peer_establishes, terminate, peer_terminates, hear_break, minutes_pass,
         moment_passes}},
    Set{"a_peer_that_calls",
        false,
        {submit, peer_submits, peer_establishes, emcon_on, emcon_off, minutes_pass, moment_passes,
         moment_passes}},
};
constexpr std::uint32_t kParts = 8;

/// Returns the parts that this run takes, counted from 0.
std::set<std::uint64_t> parts() {
  std::set<std::uint64_t> taken;
  for (const sim::Seed seed : sim::seeds(1)) taken.insert((seed + kParts - 1) % kParts);
  return taken;
}

class LinkWalk : public ::testing::TestWithParam<Set> {};

// A.3.2.2, A.3.2.3
TEST_P(LinkWalk, orders_of_eight_events_agree_about_the_link_and_end_each_u_pdu) {
  const auto taken = parts();
  auto events = GetParam().events;
  std::sort(events.begin(), events.end());
  std::uint64_t number = 0;
  std::size_t walked = 0;
  do {  // orders that differ only in equal events count once
    // Neighbouring orders differ only in their last events, so a hash picks the orders of a part.
    if (!taken.contains(Rng(++number).below(kParts))) continue;
    ++walked;
    SCOPED_TRACE(to_string(events));
    LinkModel model;
    if (GetParam().with_link) model.make_link();
    for (const Event event : events) model.happen(event);
    model.settle();
    if (HasFailure()) return;
  } while (std::next_permutation(events.begin(), events.end()));
  EXPECT_GE(walked, number * taken.size() / kParts * 9 / 10);
  std::cout << walked << " of " << number << " orders\n";
}
INSTANTIATE_TEST_SUITE_P(All, LinkWalk, ::testing::ValuesIn(kSets),
                         [](const auto& set) { return std::string(set.param.name); });

}  // namespace
}  // namespace s5066::test
