// The data transfer sublayer where each of two stations has a frequency of its own (C.3.2.3(9)).
#include "s5066d/dts/connection.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

constexpr Address kUs{0x01020301};
constexpr Address kPeer{0x01020302};

class FullDuplexConnection : public ::testing::Test {
 protected:
  static Instant t(int seconds) { return Instant(std::chrono::seconds(seconds)); }
  void request(std::uint64_t id, std::size_t octets, Service service) {
    ASSERT_TRUE(ours.request({.id = {id},
                              .service = service,
                              .destination = kPeer,
                              .cpdu = pattern(octets, id),
                              .time_to_die = {}}));
  }
  std::vector<pdu::Dpdu> send_until(Instant end) {
    IntervalBudget budget({}, 60s);
    BurstBuilder burst;
    ours.fill(false, budget, burst);
    ours.on_transmitted(true, end);
    return burst.dpdus();
  }
  Connection::Verdict expedited_ack(int lwe, Instant formed_at) {
    return ours.on_expedited_ack({.rx_lwe = {static_cast<std::uint8_t>(lwe)}, .selective = {}},
                                 formed_at);
  }
  Counters counters;
  Connection ours{kPeer,
                  {.self = kUs,
                   .regular = {200, 128, 100000, false},
                   .expedited = {200, 128, 5000, true},
                   .held_octets_max = 100'000},
                  counters};
};

// C.6.1.2(1), C.3.7(13)
TEST_F(FullDuplexConnection, regular_data_rests_until_expedited_data_is_acknowledged) {
  request(1, 100, Service::expedited_arq);
  request(2, 100, Service::arq);
  ASSERT_EQ(send_until(t(10)).size(), 1u);
  EXPECT_FALSE(ours.has_work());
  EXPECT_TRUE(send_until(t(20)).empty());
  ours.on_data(FrameNumber{0}, {.start = true, .end = true}, {1}, true);
  EXPECT_TRUE(ours.owes_only_ack());
  for (const auto& dpdu : send_until(t(20))) {
    EXPECT_TRUE(std::holds_alternative<pdu::AckOnly>(dpdu));
  }
  EXPECT_EQ(expedited_ack(1, t(25)), Connection::Verdict::taken);
  EXPECT_TRUE(std::holds_alternative<pdu::Data>(send_until(t(30)).front()));
}

}  // namespace
}  // namespace s5066::dts
