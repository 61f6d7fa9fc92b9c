// SPDX-License-Identifier: Apache-2.0
#include "tests/support/certificates.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::test {
namespace {

constexpr long kDaySeconds = 24 * 3600;

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  S5066_ASSERT(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

template <typename Write>
void write_file(const std::string& path, Write&& write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  S5066_ASSERT(file != nullptr && write(file) == 1);
  std::fclose(file);
}

}  // namespace

Authority::Authority(std::string folder, const std::string& name)
    : folder_(std::move(folder)), file_(folder_ + "/" + name + ".pem"), key_(EVP_EC_gen("P-256")) {
  certificate_ = make(key_.get(), name, {}, true);
  write_file(file_, [this](std::FILE* f) { return PEM_write_X509(f, certificate_.get()); });
}

CertificateFiles Authority::issue(const std::string& common_name,
                                  const std::vector<std::string>& dns_names) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = make(key.get(), common_name, dns_names, false);
  const std::string stem = file_ + "-" + std::to_string(serial_);
  const CertificateFiles files{stem + ".pem", stem + ".key"};
  write_file(files.certificate, [&](std::FILE* f) { return PEM_write_X509(f, certificate.get()); });
  write_file(files.key, [&](std::FILE* f) {
    return PEM_write_PrivateKey(f, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

Authority::Certificate Authority::make(EVP_PKEY* subject_key, const std::string& common_name,
                                       const std::vector<std::string>& dns_names,
                                       bool is_authority) {
  Certificate made(X509_new());
  X509* certificate = made.get();
  X509* issuer = is_authority ? certificate : certificate_.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial_);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDaySeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kDaySeconds);
  X509_set_pubkey(certificate, subject_key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  extend(certificate, issuer, NID_basic_constraints,
         is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  std::string names;
  for (const std::string& name : dns_names) {
    names += (names.empty() ? "DNS:" : ",DNS:") + name;
  }
  if (!names.empty()) extend(certificate, issuer, NID_subject_alt_name, names);
  S5066_ASSERT(X509_sign(certificate, key_.get(), EVP_sha256()) > 0);
  return made;
}

}  // namespace s5066::test
