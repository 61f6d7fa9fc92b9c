// One transmission with frames from many addresses, none of which has a link.
#include <gtest/gtest.h>

#include "tests/support/lone_station.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address kUs{0x01020305};

Address stranger(std::uint32_t i) {
  return {0x02000000u + i};
}

// Goal:   a round has slots for stations, not for addresses.
// Method: one transmission, which is of one station, with frames from 40 addresses.
TEST(Strangers, one_transmission_adds_one_station_to_the_round) {
  test::LoneStation station({.address = kUs});
  std::vector<pdu::Dpdu> all;
  for (std::uint32_t i = 0; i < 40; ++i) {
    pdu::AckOnly ack;
    ack.common = {.eot_half_s = 1, .destination = Address{99}, .source = stranger(i)};
    all.push_back(ack);
  }
  station.hear(all);
  // Four slots of 0.8 s, and the guard.
  station.request(
      {.id = {1}, .service = Service::nonarq, .destination = Address::all_stations(), .cpdu = {1}});
  station.run_for(8s);
  EXPECT_EQ(station.take_modes().size(), 1u);
}

}  // namespace
}  // namespace s5066::dts
