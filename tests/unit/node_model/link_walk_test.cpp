// Goal:   whatever clients, managers, the peer and the air do to a link, in any order, the
// sublayers of
//         a node agree about its state, no order makes a node spin, and no U_PDU is forgotten.
// Method: every order of eight events, with the model's checks after each of them, and after each
// order
//         a network that works again. Each test walks its share of the orders of one set of events,
//         so that they can run side by side.
#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <tuple>

#include "tests/unit/node/link_model.h"

namespace s5066::test {
namespace {

using Event = LinkModel::Event;

struct Set {
  const char* name;
  bool with_link;  // there is one at the beginning
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
constexpr unsigned kShares = 4;

class LinkWalk : public ::testing::TestWithParam<std::tuple<Set, unsigned>> {};

// A.3.2.2, A.3.2.3
TEST_P(LinkWalk, every_order_of_eight_events_agrees_about_the_link_and_ends_each_u_pdu) {
  const auto& [set, share] = GetParam();
  auto events = set.events;
  std::sort(events.begin(), events.end());
  unsigned number = 0;
  std::size_t walked = 0;
  do {  // orders that differ only in equal events count once
    if (number++ % kShares != share) continue;
    ++walked;
    SCOPED_TRACE(to_string(events));
    LinkModel model;
    if (set.with_link) model.make_link();
    for (const Event event : events) model.happen(event);
    model.settle();
    if (HasFailure()) return;
  } while (std::next_permutation(events.begin(), events.end()));
  EXPECT_GE(walked, 5000u);
  std::cout << walked << " orders\n";
}
INSTANTIATE_TEST_SUITE_P(All, LinkWalk,
                         ::testing::Combine(::testing::ValuesIn(kSets),
                                            ::testing::Range(0u, kShares)),
                         [](const auto& walk) {
                           return std::string(std::get<0>(walk.param).name) + "_" +
                                  std::to_string(std::get<1>(walk.param));
                         });

}  // namespace
}  // namespace s5066::test
