// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/tls.h"

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <list>

#include "tests/support/certificates.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/runtime/sis_rig.h"

namespace s5066::runtime {
namespace {

namespace ssl = boost::asio::ssl;
using tcp = boost::asio::ip::tcp;

class TlsPort : public SisPort {
 protected:
  using Client = TestClient<ssl::stream<tcp::socket>>;

  TlsPort() {
    authority_.emplace(folder_.path().string(), "authority");
    foreign_.emplace(folder_.path().string(), "other");
    const test::CertificateFiles node = authority_->issue("node");
    config_.tls = TlsConfig{
        .certificate_file = node.certificate, .key_file = node.key, .ca_file = authority_->file()};
  }
  /// Makes a context that trusts the authority and shows a certificate if `files` names one.
  ssl::context& context(const std::optional<test::CertificateFiles>& files) {
    ssl::context& made = contexts_.emplace_back(ssl::context::tls_client);
    made.load_verify_file(authority_->file());
    made.set_verify_mode(ssl::verify_peer);
    if (files) {
      made.use_certificate_chain_file(files->certificate);
      made.use_private_key_file(files->key, ssl::context::pem);
    }
    return made;
  }
  /// Connects and runs the handshake, as far as it gets.
  Client& connected(ssl::context& made) {
    Client& client = clients_.emplace_back(io_, made);
    client.connect(listener_->port());
    bool over = false;
    client.stream.async_handshake(ssl::stream_base::client, [&](boost::system::error_code failure) {
      client.end = failure;
      over = true;
    });
    run_until([&] { return over; });
    if (client.end) return client;
    client.read();
    return client;
  }
  /// TLS 1.3 tells a client only at its first read that its certificate is not accepted.
  void expect_refused(ssl::context& made) {
    Client& client = connected(made);
    if (!client.end) client.send(sis::KeepAlive{});
    run_until([&] { return client.end.failed() && log_.has("sis_client_refused"); });
    EXPECT_TRUE(client.received.empty());
    EXPECT_FALSE(log_.has("sis_client_connected"));
  }
  sis::Primitive answer_to_bind(Client& client, std::uint8_t sap, std::uint8_t rank) {
    client.received.clear();
    client.send(bind_to(sap, rank));
    run_until([&] { return !client.received.empty() || client.end; });
    return client.received.empty() ? sis::Primitive{} : client.received[0];
  }

  test::TemporaryFolder folder_;
  std::optional<test::Authority> authority_;
  std::optional<test::Authority> foreign_;
  std::list<ssl::context> contexts_;
  std::list<Client> clients_;
};

TEST_F(TlsPort, serves_a_client_with_a_certificate_of_the_authority) {
  ASSERT_TRUE(open());
  Client& client = connected(context(authority_->issue("client")));
  client.send(bind_to(3));
  Bytes requests;
  for (int i = 0; i < 200; ++i) {
    sis::UnidataRequest request;
    request.destination = Address{kOwn};
    request.destination_sap = SapId{3};
    request.updu = Bytes(static_cast<std::size_t>(10 * i), static_cast<std::uint8_t>(i));
    sis::encode(request, requests);
  }
  client.send_octets(requests);
  run_until([&] { return client.all<sis::UnidataIndication>().size() == 200 || client.end; });
  const auto all = client.all<sis::UnidataIndication>();
  ASSERT_EQ(all.size(), 200u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].updu, Bytes(10 * i, static_cast<std::uint8_t>(i)));
  }
}

TEST_F(TlsPort, refuses_a_client_without_a_certificate) {
  ASSERT_TRUE(open());
  expect_refused(context(std::nullopt));
}

TEST_F(TlsPort, refuses_a_certificate_of_another_authority) {
  ASSERT_TRUE(open());
  expect_refused(context(foreign_->issue("client")));
}

TEST_F(TlsPort, speaks_tls_1_2_and_nothing_older) {
  ASSERT_TRUE(open());
  ssl::context& old = context(authority_->issue("client"));
  SSL_CTX_set_security_level(old.native_handle(), 0);
  SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_1_VERSION);
  expect_refused(old);
  ssl::context& good = context(authority_->issue("client"));
  SSL_CTX_set_max_proto_version(good.native_handle(), TLS1_2_VERSION);
  EXPECT_TRUE(std::holds_alternative<sis::BindAccepted>(answer_to_bind(connected(good), 3, 5)));
  // The system's security level may also forbid older versions, so this checks our own minimum.
  const auto own = load_tls(*config_.tls);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(SSL_CTX_get_min_proto_version((*own)->native_handle()), TLS1_2_VERSION);
}

TEST_F(TlsPort, does_not_fall_back_to_plain_tcp) {
  ASSERT_TRUE(open());
  TestClient<tcp::socket> plain(io_);
  plain.connect(listener_->port());
  plain.send(bind_to(3));
  plain.read();
  run_until([&] { return plain.end.failed() && log_.has("sis_client_refused"); });
  EXPECT_FALSE(log_.has("sis_client_connected"));
}

TEST_F(TlsPort, closes_a_client_that_does_not_shake_hands) {
  config_.tls->handshake_timeout = std::chrono::milliseconds(20);
  ASSERT_TRUE(open());
  TestClient<tcp::socket> silent(io_);
  silent.connect(listener_->port());
  silent.read();
  run_until([&] { return silent.end.failed(); });
  EXPECT_TRUE(log_.has("the handshake took too long"));
}

TEST_F(TlsPort, counts_handshakes_as_connections_and_forgets_those_that_failed) {
  config_.connections_max = 1;
  ASSERT_TRUE(open());
  {
    TestClient<tcp::socket> silent(io_);
    silent.connect(listener_->port());
    run_until([&] { return io_.poll() == 0; });
    TestClient<tcp::socket> second(io_);
    second.connect(listener_->port());
    second.read();
    run_until([&] { return second.end.failed(); });
    EXPECT_TRUE(log_.has("too many connections"));
  }
  run_until([&] { return log_.has("TLS:"); });
  Client& client = connected(context(authority_->issue("client")));
  EXPECT_TRUE(std::holds_alternative<sis::BindAccepted>(answer_to_bind(client, 3, 5)));
}

TEST_F(TlsPort, a_name_in_the_certificate_decides_what_a_client_may_do) {
  config_.allow = {
      {.certificate = "mail", .access = sap::ClientAccess{.saps = 1u << 3, .rank_max = 9}},
      {.certificate = "ops.example", .access = sap::ClientAccess{.saps = 1u << 0, .rank_max = 15}}};
  ASSERT_TRUE(open());
  Client& mail = connected(context(authority_->issue("mail")));
  EXPECT_TRUE(std::holds_alternative<sis::BindRejected>(answer_to_bind(mail, 0, 15)));
  EXPECT_TRUE(std::holds_alternative<sis::BindRejected>(answer_to_bind(mail, 3, 10)));
  EXPECT_TRUE(std::holds_alternative<sis::BindAccepted>(answer_to_bind(mail, 3, 9)));
  Client& manager = connected(context(authority_->issue("someone", {"x.example", "ops.example"})));
  EXPECT_TRUE(std::holds_alternative<sis::BindAccepted>(answer_to_bind(manager, 0, 15)));
  Client& other = connected(context(authority_->issue("other", {"mail.example"})));
  run_until([&] { return other.end.failed(); });
  EXPECT_TRUE(log_.has("certificate not allowed"));
}

TEST_F(TlsPort, says_goodbye_after_its_last_primitive) {
  node_config_.sap.invalid_primitives_max = 1;
  ASSERT_TRUE(open());
  Client& client = connected(context(authority_->issue("client")));
  client.send(bind_to(3));
  client.send(sis::BindAccepted{});
  client.send(sis::BindAccepted{});
  run_until([&] { return client.end.failed(); });
  EXPECT_EQ(client.end, boost::asio::error::eof) << "close_notify, not a cut: " << client.end;
  EXPECT_EQ(client.all<sis::UnbindIndication>().size(), 1u);
}

TEST_F(TlsPort, hears_a_client_out_that_goes_on_sending_after_the_goodbye) {
  node_config_.sap.invalid_primitives_max = 1;
  config_.linger = std::chrono::hours(1);  // a busy machine can take long here
  ASSERT_TRUE(open());
  Client& client = connected(context(authority_->issue("client")));
  client.send(bind_to(3));
  client.send(sis::BindAccepted{});
  client.send(sis::BindAccepted{});
  client.send_octets(Bytes(1 << 20));
  run_until([&] { return client.end.failed() && client.all_sent(); });
  EXPECT_EQ(client.end, boost::asio::error::eof) << client.end;
  EXPECT_FALSE(client.not_sent) << client.not_sent;
  EXPECT_EQ(client.all<sis::UnbindIndication>().size(), 1u);
  EXPECT_FALSE(log_.has("sis_client_gone"));
  client.stream.lowest_layer().close();
  run_until([&] { return log_.has("sis_client_gone"); });
}

TEST_F(TlsPort, does_not_open_without_its_files) {
  const TlsConfig good = *config_.tls;
  for (std::string TlsConfig::*file :
       {&TlsConfig::certificate_file, &TlsConfig::key_file, &TlsConfig::ca_file}) {
    config_.tls = good;
    (*config_.tls).*file = folder_ / "missing.pem";
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().detail.find(folder_ / "missing.pem"), std::string::npos);
  }
  config_.tls = good;
  config_.tls->key_file = authority_->issue("another").key;
  EXPECT_FALSE(open()) << "a key that does not belong to the certificate";
}

}  // namespace
}  // namespace s5066::runtime
