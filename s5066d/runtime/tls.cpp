// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "s5066d/posix/tls_rules.h"

namespace s5066::runtime {

namespace {
using boost::system::error_code;
namespace ssl = boost::asio::ssl;

struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string text_of(const ASN1_STRING* text) {
  const auto* octets = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
  return {octets, static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::vector<std::string> common_names(const X509* certificate) {
  std::vector<std::string> names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject),
                                                     NID_commonName, at)) >= 0;) {
    names.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  return names;
}

class Handshake final : public TlsHandshake, public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(boost::asio::ip::tcp::socket socket, ssl::context& context, Done done)
      : stream_(std::make_unique<TlsStream>(std::move(socket), context)),
        timer_(stream_->get_executor()),
        done_(std::move(done)) {}

  void start(Duration timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
      if (!cancelled) self->fail("the handshake took too long");
    });
    stream_->async_handshake(ssl::stream_base::server,
                             [self = shared_from_this()](error_code failure) {
                               self->timer_.cancel();
                               failure ? self->fail(failure.message()) : self->succeed();
                             });
  }

  void abandon() override {
    done_ = nullptr;
    timer_.cancel();
    close();
  }

 private:
  void succeed() {
    if (Done done = std::exchange(done_, nullptr)) done(std::move(stream_), "");
  }
  void fail(const std::string& reason) {
    close();
    if (Done done = std::exchange(done_, nullptr)) done(nullptr, reason);
  }
  void close() {
    error_code ignored;
    if (stream_) stream_->next_layer().close(ignored);
  }

  std::unique_ptr<TlsStream> stream_;
  boost::asio::steady_timer timer_;
  Done done_;
};

}  // namespace

Result<std::unique_ptr<ssl::context>> load_tls(const TlsConfig& config) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  posix::harden_tls(context->native_handle());
  error_code failure;
  const auto failed = [&failure](const std::string& file) {
    return Error{ErrorCode::io, "TLS: " + file + ": " + failure.message()};
  };
  context->use_certificate_chain_file(config.certificate_file, failure);
  if (failure) return failed(config.certificate_file);
  context->use_private_key_file(config.key_file, ssl::context::pem, failure);
  if (failure) return failed(config.key_file);
  context->load_verify_file(config.ca_file, failure);
  if (failure) return failed(config.ca_file);
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, failure);
  if (failure) return failed("verify mode");
  return context;
}

std::vector<std::string> peer_names(const TlsStream& stream) {
  auto* native = const_cast<TlsStream&>(stream).native_handle();
  const std::unique_ptr<X509, FreeCertificate> certificate(SSL_get1_peer_certificate(native));
  if (!certificate) return {};
  std::vector<std::string> names = common_names(certificate.get());
  const std::unique_ptr<GENERAL_NAMES, FreeNames> others(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; others && i < sk_GENERAL_NAME_num(others.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(others.get(), i);
    const bool is_text = name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL;
    if (is_text) names.push_back(text_of(name->d.ia5));
  }
  return names;
}

std::shared_ptr<TlsHandshake> TlsHandshake::start(boost::asio::ip::tcp::socket socket,
                                                  ssl::context& context, Duration timeout,
                                                  Done done) {
  const auto handshake = std::make_shared<Handshake>(std::move(socket), context, std::move(done));
  handshake->start(timeout);
  return handshake;
}

}  // namespace s5066::runtime
