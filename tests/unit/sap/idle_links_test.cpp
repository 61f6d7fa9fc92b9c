// SPDX-License-Identifier: Apache-2.0
// These tests check how long a soft link session lasts that has nothing to send.
#include <gtest/gtest.h>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;
using std::chrono::nanoseconds;

class IdleLinks : public InterfaceFixture {
 protected:
  /// Makes a session whose only U_PDU is acknowledged, and perhaps still to be confirmed by a
  /// client.
  ClientId be_idle(Confirmation confirmation = Confirmation::none) {
    const ClientId client = bind(3, confirmation);
    give(client, request(kPeer, Bytes{1}));
    make(kPeer);
    confirm(0);
    return client;
  }
  /// Makes such a session while data for another node waits for its place.
  void be_idle_and_in_the_way() {
    config.links.soft_links_max = 1;
    restart();
    const ClientId client = be_idle(Confirmation::client);
    give(client, request(kOther, Bytes{2}));
  }
  void expect_end_in(Duration duration) {
    wait(duration - nanoseconds(1));
    EXPECT_TRUE(breaks.empty());
    wait(nanoseconds(1));
    EXPECT_EQ(breaks, std::vector{kPeer});
  }
};

TEST_F(IdleLinks, a_transmission_that_may_be_the_peers_holds_an_idle_session_while_it_lasts) {
  be_idle();
  wait(config.links.idle_timeout - nanoseconds(1));
  core->on_peer_maybe_active(now, kPeer);
  expect_end_in(seconds(10));
}

// A.1.1.1(3): other stations on the frequency begin a transmission again and again.
TEST_F(IdleLinks, transmissions_that_never_turn_out_to_be_the_peers_do_not_keep_an_idle_session) {
  be_idle();
  const Instant ends_at = now + config.links.idle_timeout + std::chrono::milliseconds(127'500);
  while (now + seconds(5) < ends_at) {
    wait(seconds(5));
    core->on_peer_maybe_active(now, kPeer);
    EXPECT_TRUE(breaks.empty());
  }
  wait(ends_at - now);
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(IdleLinks, what_comes_without_arq_does_not_keep_an_idle_session) {
  be_idle();
  wait(config.links.idle_timeout - nanoseconds(1));
  hear(DataSpdu{.updu = Bytes{1}}, cas::Service::nonarq);
  EXPECT_TRUE(breaks.empty());
  wait(nanoseconds(1));
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(IdleLinks, a_session_that_awaits_a_clients_confirmation_hears_out_what_may_be_that) {
  be_idle_and_in_the_way();
  wait(config.links.idle_timeout - nanoseconds(1));
  core->on_peer_maybe_active(now, kPeer);
  expect_end_in(seconds(10));
}

// A.1.1.1(5), (6): the data that the peer sends keeps the session in use all the time.
TEST_F(IdleLinks, a_session_that_only_awaits_a_clients_confirmation_makes_way_after_its_maximum) {
  be_idle_and_in_the_way();
  for (Duration past{}; past < config.links.session_max; past += seconds(10)) {
    EXPECT_TRUE(breaks.empty());
    wait(seconds(10));
    hear(DataSpdu{.updu = Bytes{1}});
  }
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(IdleLinks, a_called_session_that_nobody_has_used_takes_no_place) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  for (std::uint32_t i = 0; i < 6; ++i) make(Address{0x02000000u + i}, false);
  give(client, request(kOther, Bytes{1}));
  EXPECT_EQ(calls, std::vector{kOther});
  EXPECT_TRUE(breaks.empty());
}

}  // namespace
}  // namespace s5066::sap
