// SPDX-License-Identifier: Apache-2.0
// Tests real processes on one audio cable in lockstep: a file crosses, and an independent dissector
// confirms each primitive.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <variant>

#include "sis/client.h"
#include "tests/live/pair.h"
#include "tests/live/sis_tap.h"
#include "tests/support/tshark.h"

namespace s5066::live {
namespace {

using test::DissectedPacket;

Bytes octets_of(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

std::string whole(const DissectedPacket& packet) {
  std::string lines;
  for (const auto& field : packet.fields) lines += field.text + "\n";
  return lines;
}

void expect_clean_dpdus(const std::string& pcap) {
  const auto packets = test::dissect(octets_of(pcap));
  ASSERT_TRUE(packets.ok()) << packets.error().detail;
  EXPECT_GT(packets->size(), 50u);
  for (const DissectedPacket& packet : *packets) {
    EXPECT_FALSE(packet.malformed) << whole(packet);
    EXPECT_GT(packet.count("s5066dts.sync"), 0u) << whole(packet);
  }
}

TEST(LiveTransfer, a_file_crosses_byte_exact_and_dissects_as_meant) {
  const std::string file = noise(20'000, 1);
  Pair pair;
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
  SisTap alpha(pair.sis_port("alpha"));
  SisTap bravo(pair.sis_port("bravo"));
  pair.use_sis_port("alpha", alpha.port());
  pair.use_sis_port("bravo", bravo.port());
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.start_relay(name));
  pair.folder().write("noise.bin", file);

  Process send = pair.send("noise.bin");
  ASSERT_EQ(send.wait(), 0) << pair.log("send");
  EXPECT_EQ(pair.received("noise.bin"), file);

  EXPECT_GE(expect_dissected(alpha), 12u);
  EXPECT_GE(expect_dissected(bravo), 12u);
  for (const char* name : {"alpha", "bravo"}) {
    EXPECT_EQ(pair.process(std::string(name) + "-relay").stop(), 0);
    EXPECT_EQ(pair.process(name).stop(), 0) << pair.log(name);
    expect_clean_dpdus(text_of(pair.folder() / (std::string(name) + ".pcap")));
  }
}

/// A client of the library, on an io_context that the test runs.
class Client {
 public:
  Client(boost::asio::io_context& io, std::uint16_t port, std::uint8_t sap)
      : io_(io), client_(io, config(port, sap), 1, [this](const sis::Event& e) { on_event(e); }) {
    client_.start();
  }
  bool await(const std::function<bool()>& condition) {
    return live::await([&] {
      io_.poll();
      io_.restart();
      return condition();
    });
  }
  sis::Client& client() { return client_; }

  std::size_t confirmed = 0;
  std::size_t failed = 0;
  std::vector<Bytes> received;

 private:
  static sis::Client::Config config(std::uint16_t port, std::uint8_t sap) {
    sis::Client::Config config;
    config.host = "127.0.0.1";
    config.port = port;
    config.core.sap = SapId{sap};
    return config;
  }
  void on_event(const sis::Event& event) {
    confirmed += std::holds_alternative<sis::event::Confirmed>(event);
    failed += std::holds_alternative<sis::event::Rejected>(event) ||
              std::holds_alternative<sis::event::Unresolved>(event);
    if (const auto* in = std::get_if<sis::event::Indication>(&event)) {
      received.push_back(in->unidata.updu);
    }
  }

  boost::asio::io_context& io_;
  sis::Client client_;
};

sis::UnidataRequest request_to_bravo(const std::string& text, sis::Confirmation confirmation) {
  sis::UnidataRequest request;
  request.destination_sap = SapId{5};
  request.destination = Address{0x01020002 & Address::kMax, false};
  request.delivery.mode = sis::TransmissionMode::arq;
  request.delivery.confirmation = confirmation;
  request.updu = octets_of(text);
  return request;
}

// F.16
TEST(LiveTransfer, every_primitive_on_sap_5_shows_what_it_means) {
  Pair pair;
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
  SisTap alpha_tap(pair.sis_port("alpha"));
  SisTap bravo_tap(pair.sis_port("bravo"));
  boost::asio::io_context io;
  Client alpha(io, alpha_tap.port(), 5);
  Client bravo(io, bravo_tap.port(), 5);
  ASSERT_TRUE(alpha.await([&] { return alpha.client().bound() && bravo.client().bound(); }));

  std::vector<Bytes> sent;
  for (int i = 0; i < 20; ++i) {
    const auto confirmation = i % 2 ? sis::Confirmation::client : sis::Confirmation::node;
    const auto request = request_to_bravo(noise(100 + 97 * i, i), confirmation);
    sent.push_back(request.updu);
    ASSERT_TRUE(alpha.client().request_unidata(request).ok());
  }
  // No client is bound to SAP 9, so this U_PDU must come back as a rejection.
  auto unbound = request_to_bravo("x", sis::Confirmation::client);
  unbound.destination_sap = SapId{9};
  ASSERT_TRUE(alpha.client().request_unidata(unbound).ok());

  ASSERT_TRUE(alpha.await([&] { return alpha.confirmed + alpha.failed == sent.size() + 1; }))
      << pair.ask("alpha", "status");
  EXPECT_EQ(alpha.confirmed, sent.size());
  EXPECT_EQ(alpha.failed, 1u);
  EXPECT_EQ(bravo.received, sent);
  const std::string ended = pair.ask("alpha", "events event=updu_ended");
  EXPECT_NE(ended.find("\"confirmed\""), std::string::npos) << ended;
  EXPECT_GE(expect_dissected(alpha_tap), 2 + 2 * sent.size());
  EXPECT_GE(expect_dissected(bravo_tap), 2 + sent.size());
}

}  // namespace
}  // namespace s5066::live
