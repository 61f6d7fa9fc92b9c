// SPDX-License-Identifier: Apache-2.0
// A Client connects over TLS to a server that requires a client certificate.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string>

#include "sis/client.h"
#include "sis/codec.h"
#include "sis/framer.h"
#include "tests/support/certificates.h"
#include "tests/support/temporary_folder.h"

namespace s5066::sis {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

/// Makes two authorities, and certificates that the first one issued for "localhost" and for a
/// client.
struct Certificates {
  Certificates() : authority(folder.path().string(), "ca"), other(folder.path().string(), "other") {
    server = authority.issue("server", {"localhost"});
    client = authority.issue("client");
  }

  test::TemporaryFolder folder;
  test::Authority authority;
  test::Authority other;
  test::CertificateFiles server;
  test::CertificateFiles client;
};

class TlsServer {
 public:
  TlsServer(asio::io_context& io, const Certificates& certificates)
      : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        context_(ssl::context::tls_server) {
    context_.use_certificate_chain_file(certificates.server.certificate);
    context_.use_private_key_file(certificates.server.key, ssl::context::pem);
    context_.load_verify_file(certificates.authority.file());
    context_.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    accept();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void close() {
    acceptor_.close();
    error_code ignored;
    if (stream_) stream_->next_layer().close(ignored);
  }
  int binds = 0;
  std::string server_name;

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& code, tcp::socket socket) {
      if (code) return;
      stream_ = std::make_shared<ssl::stream<tcp::socket>>(std::move(socket), context_);
      framer_ = {};
      stream_->async_handshake(
          ssl::stream_base::server, [this, stream = stream_](const error_code& failed) {
            if (failed) return accept();
            const char* name =
                SSL_get_servername(stream->native_handle(), TLSEXT_NAMETYPE_host_name);
            server_name = name == nullptr ? "" : name;
            read(stream);
          });
    });
  }
  void read(const std::shared_ptr<ssl::stream<tcp::socket>>& stream) {
    stream->async_read_some(
        asio::buffer(in_), [this, stream](const error_code& code, std::size_t size) {
          if (code) {
            stream->next_layer().close();
            return acceptor_.is_open() ? accept() : void();
          }
          framer_.push(ByteSpan(in_).first(size));
          while (const auto item = framer_.poll()) {
            const auto primitive = decode(std::get<Framer::Frame>(*item).body);
            if (!std::holds_alternative<BindRequest>(*primitive)) continue;
            ++binds;
            Bytes octets;
            encode(BindAccepted{.sap = std::get<BindRequest>(*primitive).sap}, octets);
            asio::write(*stream, asio::buffer(octets));
          }
          read(stream);
        });
  }

  tcp::acceptor acceptor_;
  ssl::context context_;
  std::shared_ptr<ssl::stream<tcp::socket>> stream_;
  Framer framer_;
  std::array<std::uint8_t, 1000> in_{};
};

class TlsClient : public testing::Test {
 protected:
  TlsClient() : server(io, certificates), watchdog(io, std::chrono::seconds(60)) {
    watchdog.async_wait([this](const error_code& code) {
      if (code) return;
      ADD_FAILURE() << "nothing happened";
      io.stop();
    });
  }

  Client::Tls good() const {
    return {.ca_file = certificates.authority.file(),
            .certificate_file = certificates.client.certificate,
            .key_file = certificates.client.key,
            .server_name = "localhost"};
  }

  /// Runs a client until it is bound or has lost its connection. Returns the reason of the loss.
  std::string attempt(std::optional<Client::Tls> tls) {
    Client::Config config{.host = "127.0.0.1", .port = server.port(), .tls = std::move(tls)};
    config.core.sap = {6};
    // The server takes plain text for the beginning of a long record and waits for more.
    if (!config.tls) config.core.bind_timeout = std::chrono::seconds(1);
    std::string lost;
    std::optional<Client> client;
    client.emplace(io, config, 1, [&](const Event& event) {
      if (const auto* e = std::get_if<event::Lost>(&event)) lost = e->why.detail;
      client->stop();
      watchdog.cancel();
      server.close();
    });
    client->start();
    io.run();
    return lost;
  }

  Certificates certificates;
  asio::io_context io;
  TlsServer server;
  asio::steady_timer watchdog;
};

TEST_F(TlsClient, binds_when_both_sides_prove_who_they_are) {
  EXPECT_EQ(attempt(good()), "");
  EXPECT_EQ(server.binds, 1);
  EXPECT_EQ(server.server_name, "localhost");
}

TEST_F(TlsClient, does_not_trust_a_server_that_another_authority_vouches_for) {
  auto tls = good();
  tls.ca_file = certificates.other.file();
  EXPECT_NE(attempt(tls).find("certificate verify failed"), std::string::npos);
  EXPECT_EQ(server.binds, 0);
}

TEST_F(TlsClient, does_not_trust_a_server_with_a_certificate_for_another_name) {
  auto tls = good();
  tls.server_name = "shore.example";
  EXPECT_NE(attempt(tls).find("certificate verify failed"), std::string::npos);
  EXPECT_EQ(server.binds, 0);
}

TEST_F(TlsClient, takes_the_host_for_the_name_when_none_is_given) {
  auto tls = good();
  tls.server_name.clear();  // the certificate is not for 127.0.0.1
  EXPECT_NE(attempt(tls).find("certificate verify failed"), std::string::npos);
}

TEST_F(TlsClient, is_not_served_without_the_certificate_that_the_server_wants) {
  auto tls = good();
  tls.certificate_file.clear();
  EXPECT_NE(attempt(tls), "");
  EXPECT_EQ(server.binds, 0);
}

TEST_F(TlsClient, names_the_file_that_it_cannot_use) {
  auto tls = good();
  tls.ca_file = "/nowhere/ca.pem";
  EXPECT_NE(attempt(tls).find("/nowhere/ca.pem"), std::string::npos);
}

TEST_F(TlsClient, is_not_served_in_plain_text) {
  EXPECT_NE(attempt(std::nullopt), "");
  EXPECT_EQ(server.binds, 0);
}

}  // namespace
}  // namespace s5066::sis
