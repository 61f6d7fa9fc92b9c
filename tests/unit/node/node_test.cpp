#include "s5066d/node/node.h"

#include <gtest/gtest.h>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;

Bytes message(std::size_t number, std::size_t octets) {
  Bytes bytes(octets);
  for (std::size_t i = 0; i < octets; ++i) bytes[i] = static_cast<std::uint8_t>(number * 7 + i);
  return bytes;
}

class NodePair : public ::testing::Test {
 protected:
  Medium medium;
  Medium::Station& alpha = medium.add(node_config(kAlpha));
  Medium::Station& bravo = medium.add(node_config(kBravo));

  ClientId bind(Medium::Station& station, std::uint8_t sap, sis::Confirmation confirmation) {
    const ClientId id = medium.connect(station);
    medium.send(station, id, bind_to(sap, confirmation));
    EXPECT_EQ(log(station, id).all<sis::BindAccepted>().size(), 1u);
    return id;
  }
  static ClientLog& log(Medium::Station& station, ClientId id) { return station.clients.at(id); }
};

TEST_F(NodePair, a_updu_crosses_and_is_confirmed_by_the_node) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::node);
  const ClientId to = bind(bravo, 3, sis::Confirmation::none);
  medium.send(alpha, from, request_to(kBravo, 3, message(1, 500)));

  medium.run_for(minutes(1));

  const auto indications = log(bravo, to).all<sis::UnidataIndication>();
  ASSERT_EQ(indications.size(), 1u);
  EXPECT_EQ(indications[0].updu, message(1, 500));
  EXPECT_EQ(indications[0].source, Address{kAlpha});
  EXPECT_EQ(indications[0].mode, sis::TransmissionMode::arq);
  const auto confirms = log(alpha, from).all<sis::UnidataRequestConfirm>();
  ASSERT_EQ(confirms.size(), 1u);
  EXPECT_EQ(confirms[0].updu_part, message(1, 500));
}

}  // namespace
}  // namespace s5066::test
