// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_stream.h"

#include <openssl/ssl.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

#include "s5066d/posix/tls_rules.h"

namespace s5066::acp142 {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

TlsContext context_for(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  posix::harden_tls(context->native_handle());
  return context;
}

Error failed(const std::string& file, const error_code& failure) {
  return Error{ErrorCode::io, "TLS: " + file + ": " + failure.message()};
}

}  // namespace

Result<TlsContext> load_tls(const MailConfig::SmtpTls& config) {
  const TlsContext context = context_for(ssl::context::tls_server);
  error_code failure;
  context->use_certificate_chain_file(config.certificate_file, failure);
  if (failure) return failed(config.certificate_file, failure);
  context->use_private_key_file(config.key_file, ssl::context::pem, failure);
  if (failure) return failed(config.key_file, failure);
  if (config.ca_file.empty()) return context;
  context->load_verify_file(config.ca_file, failure);
  if (failure) return failed(config.ca_file, failure);
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, failure);
  if (failure) return failed(config.ca_file, failure);
  return context;
}

Result<TlsContext> load_tls(const MailConfig::MailServerTls& config) {
  const TlsContext context = context_for(ssl::context::tls_client);
  if (config.ca_file.empty()) return context;
  error_code failure;
  context->load_verify_file(config.ca_file, failure);
  if (!failure) context->set_verify_mode(ssl::verify_peer, failure);
  if (failure) return failed(config.ca_file, failure);
  return context;
}

void SmtpStream::expect(const std::string& name) {
  if (name.empty()) return;
  error_code ignored;  // there is nothing in it that can fail
  tls_->set_verify_callback(ssl::host_name_verification(name), ignored);
  boost::asio::ip::make_address(name, ignored);
  // Addresses are not asked for by name (RFC 6066 3). A server that is not told the name shows
  // another certificate at worst, which is then refused.
  if (ignored) SSL_set_tlsext_host_name(tls_->native_handle(), name.c_str());
}

}  // namespace s5066::acp142
