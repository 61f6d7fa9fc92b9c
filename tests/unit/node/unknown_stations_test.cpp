// SPDX-License-Identifier: Apache-2.0
// One station transmits under the addresses of many unknown stations, to a node that has data of
// its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;
constexpr std::uint32_t kFoe = 0x01020377;
constexpr std::uint32_t kFirstUnknownStation = 0x02000000;

pdu::Common from_unknown(std::uint32_t number) {
  return {.eot_half_s = 1,
          .destination = Address{kAlpha},
          .source = Address{kFirstUnknownStation + number}};
}

/// Encodes a PHYSICAL LINK REQUEST.
Bytes call_of(std::uint32_t station, std::uint16_t cpdu_id,
              cas::LinkType type = cas::LinkType::nonexclusive) {
  return link_control(from_unknown(station), type == cas::LinkType::exclusive ? 0x11 : 0x10,
                      cpdu_id);
}

Bytes calls(std::uint32_t stations, cas::LinkType type = cas::LinkType::nonexclusive) {
  Bytes octets;
  for (std::uint32_t i = 0; i < stations; ++i) append(octets, call_of(i, 0, type));
  return octets;
}

/// Encodes an S_PDU that no client has asked for.
Bytes data_of_unknown(std::uint32_t number) {
  Bytes octets;
  pdu::encode(pdu::Data{.common = from_unknown(number),
                        .flags = {.start = true, .end = true, .uwe = true, .lwe = true},
                        .number = {0},
                        .segment = {0, 5, 0x33, 0, 1}},
              octets);
  return octets;
}

Bytes rate_requests(std::uint32_t stations) {
  Bytes octets;
  for (std::uint32_t i = 0; i < stations; ++i) {
    pdu::Management asked{.common = from_unknown(i), .valid = true};
    asked.common.eow = pdu::make_eow(pdu::EowType::drc_request, pdu::DrcRequest{.rate = 3});
    pdu::encode(asked, octets);
  }
  return octets;
}

class UnknownStations : public ::testing::Test {
 protected:
  UnknownStations() {
    a_ = medium_.connect(alpha_);
    medium_.send(alpha_, a_, bind_to(3, sis::Confirmation::node));
    b_ = medium_.connect(bravo_);
    medium_.send(bravo_, b_, bind_to(3, sis::Confirmation::none));
    medium_.run_for(seconds(20));
  }

  /// Runs until the foe's transmission has been heard to its end.
  void hear(Bytes octets) {
    const Duration airtime = modem::airtime(mode_, octets.size());
    medium_.put_on_air(2, mode_, std::move(octets));
    medium_.run_for(airtime);
  }
  std::size_t delivered() const {
    return bravo_.clients.at(b_).all<sis::UnidataIndication>().size();
  }
  /// Returns the time that a message to Bravo takes. Waits for at most `most`.
  Duration deliver(Duration most) {
    const std::size_t before = delivered();
    const Instant start = medium_.now();
    medium_.send(alpha_, a_, request_to(kBravo, 3, Bytes(200, 7)));
    while (delivered() == before && medium_.now() - start < most)
      medium_.run_for(milliseconds(100));
    EXPECT_EQ(delivered(), before + 1);
    return medium_.now() - start;
  }
  /// Returns the numbers of the stations without a link to us, which a real caller would know.
  std::vector<std::uint32_t> without_link(std::uint32_t stations) const {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < stations; ++i) {
      const auto links = alpha_.node.status().links;
      const bool there = std::any_of(links.begin(), links.end(), [i](const auto& link) {
        return link.peer == Address{kFirstUnknownStation + i} &&
               link.state != cas::LinkState::breaking;
      });
      if (!there) numbers.push_back(i);
    }
    return numbers;
  }
  std::uint64_t count(Counter counter) const { return alpha_.node.counters()[counter]; }

  Medium medium_;
  Medium::Station& alpha_ = medium_.add(node_config(kAlpha));
  Medium::Station& bravo_ = medium_.add(node_config(kBravo));
  Medium::Station& foe_ = medium_.add(node_config(kFoe));
  const modem::Mode mode_ = node_config(kFoe).dts.mode;
  ClientId a_;
  ClientId b_;
};

// Goal:   calls of unknown stations do not block our links. Without them the first message takes 3
//         s.
// Method: 8, 20 or 40 addresses call in one transmission and are never heard again.
TEST_F(UnknownStations, calls_keep_no_new_link_waiting) {
  for (const std::uint32_t stations : {8u, 20u, 40u}) {
    SCOPED_TRACE(stations);
    hear(calls(stations));
    deliver(seconds(12));
    medium_.run_for(std::chrono::hours(1));
  }
}

// A call for an Exclusive link forbids other links for a while (B.3.2(4)): for one T_call, and
// until the next attempt after half a minute.
TEST_F(UnknownStations, exclusive_calls_keep_a_new_link_waiting_for_no_more_than_40_seconds) {
  for (const std::uint32_t stations : {1u, 2u, 20u}) {
    SCOPED_TRACE(stations);
    hear(calls(stations, cas::LinkType::exclusive));
    deliver(seconds(40));
    medium_.run_for(std::chrono::hours(1));
  }
}

// Goal:   a station that calls again and again, or sends a little data, gains no more by that.
// Method: one address sends a REQUEST every 7 to 120 s. A message for Bravo follows the first one.
TEST_F(UnknownStations,
       exclusive_calls_that_go_on_keep_a_new_link_waiting_for_no_more_than_two_minutes) {
  for (const bool with_data : {false, true}) {
    for (const int period_s : {7, 10, 40, 120}) {
      SCOPED_TRACE(period_s);
      SCOPED_TRACE(with_data);
      const std::size_t before = delivered();
      hear(calls(1, cas::LinkType::exclusive));
      medium_.send(alpha_, a_, request_to(kBravo, 3, Bytes(200, 7)));
      const Instant start = medium_.now();
      while (delivered() == before && medium_.now() - start < minutes(2)) {
        const Instant next = medium_.now() + seconds(period_s);
        if (with_data) {
          medium_.run_for(seconds(5));
          hear(data_of_unknown(0));
        }
        while (delivered() == before && medium_.now() < next) medium_.run_for(milliseconds(100));
        hear(calls(1, cas::LinkType::exclusive));
      }
      EXPECT_EQ(delivered(), before + 1);
      medium_.run_for(std::chrono::hours(1));
    }
  }
}

// Goal:   a station that keeps all Nonexclusive links in use, and calls again whenever one is
//         broken, gains no more either.
// Method: every 20 or 45 s each address without a link sends a REQUEST and about a second later ARQ
//         data.
TEST_F(UnknownStations,
       calls_with_data_that_go_on_keep_a_new_link_waiting_for_no_more_than_two_minutes) {
  std::uint16_t cpdu_id = 0;
  for (const std::uint32_t stations : {8u, 12u}) {
    for (const int period_s : {20, 45}) {
      SCOPED_TRACE(stations);
      SCOPED_TRACE(period_s);
      const auto call_again = [&] {
        Bytes octets;
        const auto gone = without_link(stations);
        if (gone.empty()) return;
        for (const auto number : gone) append(octets, call_of(number, ++cpdu_id));
        octets.resize(octets.size() + 400);
        for (const auto number : gone) append(octets, data_of_unknown(number));
        hear(octets);
      };
      call_again();
      medium_.run_for(seconds(25));
      const std::size_t before = delivered();
      medium_.send(alpha_, a_, request_to(kBravo, 3, Bytes(200, 7)));
      const Instant start = medium_.now();
      while (delivered() == before && medium_.now() - start < minutes(10)) {
        call_again();
        medium_.run_for(seconds(period_s));
      }
      EXPECT_LE(medium_.now() - start, minutes(2));
      EXPECT_EQ(delivered(), before + 1);
      medium_.run_for(std::chrono::hours(1));
    }
  }
}

// B.3.2(5): two Exclusive calls do not block a hard link of ours either.
TEST_F(UnknownStations, exclusive_calls_keep_a_hard_link_waiting_for_no_more_than_one_minute) {
  for (const bool with_data : {false, true}) {
    SCOPED_TRACE(with_data);
    hear(calls(2, cas::LinkType::exclusive));
    medium_.run_for(seconds(5));
    if (with_data) {
      hear(data_of_unknown(0));
      hear(data_of_unknown(1));
    }
    sis::HardLinkEstablish ask;
    ask.link = {sis::HardLinkType::link_reservation, 0, SapId{3}, Address{kBravo}};
    medium_.send(alpha_, a_, ask);
    medium_.run_for(minutes(1));
    const auto& log = alpha_.clients.at(a_);
    EXPECT_EQ(log.all<sis::HardLinkEstablished>().size(), with_data ? 2u : 1u);
    medium_.send(alpha_, a_, sis::HardLinkTerminate{Address{kBravo}});
    medium_.run_for(std::chrono::hours(1));
  }
}

// Goal:   the calls do not harm a link in use either.
TEST_F(UnknownStations, calls_leave_a_link_in_use_alone) {
  deliver(minutes(1));
  const auto made = count(Counter::links_made);
  for (int i = 0; i < 5; ++i) {
    hear(calls(40));
    deliver(seconds(12));
  }
  EXPECT_EQ(count(Counter::links_made), made + 7);  // the seven other links that the node allows
  EXPECT_EQ(count(Counter::links_lost), 0u);
  EXPECT_GT(count(Counter::link_answers_dropped), 0u);
}

// Goal:   requests in type 6 do not block a new link either. The node answers eight of them.
TEST_F(UnknownStations, rate_requests_keep_no_new_link_waiting) {
  hear(rate_requests(40));
  deliver(seconds(30));
}

}  // namespace
}  // namespace s5066::test
