// SPDX-License-Identifier: Apache-2.0
// A source may use message numbers again.
#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

constexpr MessageName kName{kSender, 7};

/// Returns true if the node takes a message of one block completely and does not take it for known.
bool takes(Station& station, std::int64_t expiry_s) {
  const std::size_t before = station.received.size();
  station.hear(encode(AddressPdu{
      .name = kName, .total = 1, .expiry = {kUtc.value + expiry_s}, .destinations = {{{2}, 1}}}));
  station.hear(encode(DataPdu{.name = kName, .number = 1, .fragment = Bytes(10, 1)}));
  return station.received.size() > before;
}

// PM-020, PM-057: the layer above tells the two messages apart by their content.
TEST(PMulReceiver, a_number_may_name_another_message_when_the_first_is_over) {
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    Station bravo({2});
    if (restarted) {
      bravo.core->on_known(bravo.now, kName, {kUtc.value + 600});
    } else {
      EXPECT_TRUE(takes(bravo, 600));
    }
    bravo.advance(at(600s) - 1ns);
    EXPECT_FALSE(takes(bravo, 600));
    EXPECT_FALSE(takes(bravo, 900));  // it has more time than before
    bravo.advance(at(900s) - 1ns);
    EXPECT_FALSE(takes(bravo, 1200));
    bravo.advance(at(1200s));
    EXPECT_FALSE(takes(bravo, 1200));
    EXPECT_TRUE(takes(bravo, 1800));
    EXPECT_FALSE(takes(bravo, 1800));
    EXPECT_EQ(bravo.core->receiver().known(), 1u);
  }
}

// PM-052: the answer that waited for the bearer was about the first message. Nothing of the other
// has come.
TEST(PMulReceiver, an_answer_about_the_first_is_not_given_about_the_other) {
  Station bravo({2});
  EXPECT_TRUE(takes(bravo, 600));
  bravo.advance(at(1s));
  EXPECT_TRUE(bravo.core->has_pdu());
  bravo.advance(at(601s));
  bravo.hear(encode(AddressPdu{
      .name = kName, .total = 2, .expiry = {kUtc.value + 1800}, .destinations = {{{2}, 2}}}));
  EXPECT_FALSE(bravo.core->has_pdu());
  EXPECT_TRUE(bravo.pdus().empty());
}

}  // namespace
}  // namespace s5066::p_mul
