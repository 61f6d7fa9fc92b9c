// SPDX-License-Identifier: Apache-2.0
// Tests a real s5066d whose SIS port uses TLS, and real clients with and without certificates.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>

#include "sis/client.h"
#include "tests/live/hand_client.h"
#include "tests/live/pair.h"
#include "tests/support/certificates.h"

namespace s5066::live {
namespace {

constexpr SapId kSap{5};

class LiveTls : public testing::Test {
 protected:
  LiveTls() : authority(pair.folder().path(), "authority"), foreign(pair.folder().path(), "other") {
    const auto node = authority.issue("alpha", {"localhost"});
    pair.configure_sis("alpha", "tls { certificate_file: \"" + node.certificate +
                                    "\" key_file: \"" + node.key + "\" ca_file: \"" +
                                    authority.file() + "\" }");
  }
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha")); }

  sis::Client::Tls shows(const test::CertificateFiles& files) const {
    return {.ca_file = authority.file(),
            .certificate_file = files.certificate,
            .key_file = files.key,
            .server_name = "localhost"};
  }

  /// Returns why the library's client lost its first connection, or nothing once it was bound and a
  /// U_PDU to itself came back.
  std::string attempt(const std::optional<sis::Client::Tls>& tls) {
    boost::asio::io_context io;
    sis::Client::Config config{.host = "127.0.0.1", .port = pair.sis_port("alpha"), .tls = tls};
    config.core.sap = kSap;
    std::string lost;
    Bytes came;
    std::optional<sis::Client> client;
    client.emplace(io, config, 1, [&](const sis::Event& event) {
      if (std::holds_alternative<sis::event::Bound>(event)) {
        const auto accepted = client->request_unidata(
            {.destination_sap = kSap, .destination = Address{0x01020001}, .updu = {1, 2, 3}});
        EXPECT_TRUE(accepted.ok());
      }
      if (const auto* e = std::get_if<sis::event::Indication>(&event)) came = e->unidata.updu;
      if (const auto* e = std::get_if<sis::event::Lost>(&event)) lost = e->why.detail;
      if (!came.empty() || !lost.empty()) client->stop();
    });
    client->start();
    io.run_for(kPatience);
    EXPECT_TRUE(!lost.empty() || came == Bytes({1, 2, 3}));
    return lost;
  }

  Outcome sis_cat(const std::string& input, const std::vector<std::string>& options) {
    std::string line = "printf '" + input + "' | " S5066_SIS_CAT " --port " +
                       std::to_string(pair.sis_port("alpha"));
    for (const std::string& option : options) line += " " + option;
    return run({"/bin/sh", "-c", line}, pair.options("sis_cat"));
  }
  std::vector<std::string> tls_options(const test::CertificateFiles& files) const {
    return {"--tls", "--ca", authority.file(), "--cert", files.certificate, "--key", files.key};
  }

  bool refused() const {
    return pair.log("alpha").find("sis_client_refused") != std::string::npos &&
           pair.log("alpha").find("sis_client_connected") == std::string::npos;
  }

  Pair pair;
  test::Authority authority;
  test::Authority foreign;
};

TEST_F(LiveTls, the_library_serves_itself_with_the_certificate_it_shows) {
  EXPECT_EQ(attempt(shows(authority.issue("ops.example"))), "");
  EXPECT_NE(pair.log("alpha").find("certificate=ops.example"), std::string::npos);
}

TEST_F(LiveTls, neither_a_certificate_of_another_authority_nor_none_nor_plain_text_is_served) {
  EXPECT_NE(attempt(shows(foreign.issue("ops.example"))), "");
  EXPECT_NE(attempt(shows({})), "");
  EXPECT_NE(attempt(std::nullopt), "");
  EXPECT_TRUE(await([&] { return refused(); }));
}

TEST_F(LiveTls, the_library_trusts_no_server_of_another_authority) {
  auto tls = shows(authority.issue("ops.example"));
  tls.ca_file = foreign.file();
  EXPECT_NE(attempt(tls).find("certificate verify failed"), std::string::npos);
}

TEST_F(LiveTls, sis_cat_sends_over_the_air_through_tls) {
  ASSERT_NO_FATAL_FAILURE(pair.start_node("bravo"));
  HandClient listener(pair.sis_port("bravo"));
  listener.bind(kSap);
  auto options = tls_options(authority.issue("ops.example"));
  options.insert(options.end(), {"--sap", "5", "--to", "1.2.0.2", "--confirm", "client"});
  const Outcome sent = sis_cat("over TLS", options);
  EXPECT_EQ(sent.status, 0) << sent.output;
  const Bytes updu = listener.next<sis::UnidataIndication>().updu;
  EXPECT_EQ(std::string(updu.begin(), updu.end()), "over TLS");
}

TEST_F(LiveTls, sis_cat_says_why_it_is_not_served) {
  auto options = tls_options(foreign.issue("ops.example"));
  options.insert(options.end(), {"--to", "1.2.0.2"});
  const Outcome foreign_sent = sis_cat("no", options);
  EXPECT_EQ(foreign_sent.status, 1);
  EXPECT_NE(foreign_sent.output.find("sis_cat: "), std::string::npos) << foreign_sent.output;
  EXPECT_EQ(sis_cat("no", {"--to", "1.2.0.2"}).status, 1) << "plain text";
  EXPECT_TRUE(await([&] { return refused(); }));
}

}  // namespace
}  // namespace s5066::live
