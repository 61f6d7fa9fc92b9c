// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, generated on demand and written as PEM files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <openssl/evp.h>
#include <openssl/x509.h>

namespace s5066::test {

struct CertificateFiles {
  std::string certificate;
  std::string key;
};

/// A certificate authority that signs every request.
class Authority {
 public:
  /// `folder` is the place of the files; `name` is the authority's own common name and the stem of
  /// its file.
  Authority(std::string folder, const std::string& name);

  /// Issues a certificate that is valid for one day from yesterday on.
  CertificateFiles issue(const std::string& common_name,
                         const std::vector<std::string>& dns_names = {});
  const std::string& file() const { return file_; }

 private:
  struct Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  using Certificate = std::unique_ptr<X509, Free>;
  using Key = std::unique_ptr<EVP_PKEY, Free>;

  Certificate make(EVP_PKEY* subject_key, const std::string& common_name,
                   const std::vector<std::string>& dns_names, bool is_authority);

  std::string folder_;
  std::string file_;
  Key key_;
  Certificate certificate_;
  long serial_ = 0;
};

}  // namespace s5066::test
