// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/socks5.h"

#include <gtest/gtest.h>

#include "gateways/ip_client/tproxy_rules.h"
#include "s5066d/base/rng.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

Bytes hex(const char* text) {
  return *from_hex(text);
}

TEST(Socks5, a_name_is_asked_for) {
  Socks5 socks;
  socks.on_octets(hex("05 02 02 00"));
  EXPECT_EQ(socks.poll_reply(), hex("05 00"));
  socks.on_octets(hex("05 01 00 03 04 6D 61 69 6C 00 19 45"));
  EXPECT_EQ(socks.state(), Socks5::State::requested);
  EXPECT_EQ(socks.target(), (streams::Target{"mail", 25}));
  EXPECT_EQ(socks.rest(), hex("45"));
  EXPECT_EQ(Socks5::answer(Socks5::Reply::succeeded), hex("05 00 00 01 00 00 00 00 00 00"));
}

TEST(Socks5, addresses_of_both_versions_are_asked_for) {
  Socks5 v4;
  v4.on_octets(hex("05 01 00 05 01 00 01 0A 42 00 02 00 50"));
  EXPECT_EQ(v4.target(), (streams::Target{"10.66.0.2", 80}));
  Socks5 v6;
  v6.on_octets(hex("05 01 00 05 01 00 04 FD66000000000000 0000000000000001 01BB"));
  EXPECT_EQ(v6.state(), Socks5::State::requested);
  EXPECT_EQ(v6.target().port, 443);
}

TEST(Socks5, octets_may_come_one_by_one) {
  Socks5 socks;
  for (const std::uint8_t octet : hex("05 01 00 05 01 00 03 01 61 00 50")) {
    ASSERT_NE(socks.state(), Socks5::State::requested);
    socks.on_octets(Bytes{octet});
  }
  EXPECT_EQ(socks.state(), Socks5::State::requested);
}

TEST(Socks5, a_refused_request_right_behind_the_greeting_has_both_answers) {
  Socks5 socks;
  socks.on_octets(hex("05 01 00 05 02 00 01 0A420002 0050"));
  EXPECT_EQ(socks.state(), Socks5::State::failed);
  EXPECT_EQ(socks.poll_reply(), hex("05 00 05 07 00 01 00 00 00 00 00 00"));
}

TEST(Socks5, other_requests_are_refused_with_their_reason) {
  const auto reply_to = [](const char* request) {
    Socks5 socks;
    socks.on_octets(hex("05 01 00"));
    socks.poll_reply();
    socks.on_octets(hex(request));
    EXPECT_EQ(socks.state(), Socks5::State::failed) << request;
    return socks.poll_reply().value_or(Bytes{0, 0xEE})[1];
  };
  EXPECT_EQ(reply_to("05 02 00 01 0A420002 0050"), 7);  // BIND
  EXPECT_EQ(reply_to("05 03 00 01 0A420002 0050"), 7);  // UDP ASSOCIATE
  EXPECT_EQ(reply_to("05 01 00 02 0A420002 0050"), 8);
  EXPECT_EQ(reply_to("05 01 00 01 0A420002 0000"), 1);  // port 0
  EXPECT_EQ(reply_to("05 01 00 03 00 0050 00"), 1);     // no name
  EXPECT_EQ(reply_to("05 01 00 03 02 6120 0050"), 1);   // a space in the name
  EXPECT_EQ(reply_to("04 01 00 01 0A420002 0050"), 1);  // version 4
  Socks5 no_method;
  no_method.on_octets(hex("05 01 02"));
  EXPECT_EQ(no_method.poll_reply(), hex("05 FF"));
  Socks5 http;
  http.on_octets(hex("47 45 54"));
  EXPECT_EQ(http.state(), Socks5::State::failed);
  EXPECT_FALSE(http.poll_reply());
}

TEST(Socks5, nonsense_takes_no_more_memory_than_a_request) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    Socks5 socks;
    std::size_t given = 0;
    while (socks.state() < Socks5::State::requested && given < 5000) {
      Bytes octets{static_cast<std::uint8_t>(rng.chance(0.6) ? 5 - rng.below(2) * 4 : rng.next())};
      socks.on_octets(octets);
      ++given;
      ASSERT_LE(socks.rest().size(), Socks5::kOctetsMax);
    }
  }
}

TEST(TproxyScript, holds_the_prefixes_of_each_version_and_leaves_the_interface_alone) {
  const std::string script = tproxy_script(
      {.interface = "hf0", .prefixes = {test::prefix(0x0A420002, 32)}, .port_v4 = 4000});
  EXPECT_NE(script.find("elements = { 10.66.0.2/32 }"), std::string::npos) << script;
  EXPECT_NE(script.find("tproxy ip to 127.0.0.1:4000"), std::string::npos) << script;
  EXPECT_NE(script.find("iifname \"hf0\" accept"), std::string::npos) << script;
  EXPECT_NE(script.find("fib daddr type local accept\n"), std::string::npos) << script;
  EXPECT_NE(script.find("  oifname \"hf0\" ip daddr @ip_servers"), std::string::npos) << script;
  EXPECT_EQ(script.find("ip6"), std::string::npos) << script;
}

TEST(TproxyScript, has_another_mark_for_each_interface) {
  EXPECT_EQ(tproxy_mark("hf0") >> 16, 0x5066u);
  EXPECT_NE(tproxy_mark("hf0"), tproxy_mark("hf1"));
}

TEST(TproxyScript, without_a_prefix_only_removes) {
  EXPECT_EQ(tproxy_script({.interface = "hf 0"}),
            "add table inet s5066_proxy_hf_0\ndelete table inet s5066_proxy_hf_0\n");
}

}  // namespace
}  // namespace s5066::ip_client
