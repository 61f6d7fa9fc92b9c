// SPDX-License-Identifier: Apache-2.0
#include "config/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>

#include "s5066d/posix/user_name.h"

namespace s5066::config {
namespace {

struct Free {
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string quoted(const std::string& path) {
  return "\"" + path + "\"";
}

/// Opens a file that must be there, or says why it cannot be read.
Owned<std::FILE> open_file(const std::string& path, const char* field,
                           std::vector<TlsFinding>& found) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    found.push_back({field, quoted(path) + " is a folder; name the file in it"});
    return nullptr;
  }
  Owned<std::FILE> file(std::fopen(path.c_str(), "re"));
  if (file) return file;
  const int code = errno;
  found.push_back({field, code == ENOENT
                              ? quoted(path) + " does not exist; name the file, or copy it there"
                              : quoted(path) + " cannot be read by " +
                                    posix::user_name(::geteuid()) + " (" +
                                    std::generic_category().message(code) +
                                    "); give this user's group access"});
  return nullptr;
}

// OpenSSL would ask for the passphrase on the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Owned<X509> read_certificate(const std::string& path, const char* field, const char* what,
                             std::vector<TlsFinding>& found) {
  const auto file = open_file(path, field, found);
  if (!file) return nullptr;
  bool asked = false;
  Owned<X509> certificate(PEM_read_X509_AUX(file.get(), nullptr, no_passphrase, &asked));
  ERR_clear_error();
  if (certificate) return certificate;
  found.push_back({field, quoted(path) + " holds no " + what +
                              " in PEM form; it begins with -----BEGIN CERTIFICATE-----"});
  return nullptr;
}

Owned<EVP_PKEY> read_key(const std::string& path, std::vector<TlsFinding>& found) {
  const auto file = open_file(path, "key_file", found);
  if (!file) return nullptr;
  bool asked = false;
  Owned<EVP_PKEY> key(PEM_read_PrivateKey(file.get(), nullptr, no_passphrase, &asked));
  ERR_clear_error();
  if (key) return key;
  found.push_back(
      {"key_file", quoted(path) + (asked ? " needs a passphrase, which nobody can type at a start; "
                                           "remove it: openssl pkey -in " +
                                               path + " -out NEW"
                                         : " holds no private key in PEM form; it begins with "
                                           "-----BEGIN PRIVATE KEY-----")});
  return nullptr;
}

/// Warns of a time at which peers would refuse the certificate.
void check_times(const X509* certificate, const std::string& path, const char* field,
                 std::vector<TlsFinding>& found) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    found.push_back({field, quoted(path) + " has expired; peers refuse it: renew it", true});
  } else if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    found.push_back(
        {field, quoted(path) + " is not valid yet; set the clock, or wait until it is", true});
  }
}

}  // namespace

std::vector<TlsFinding> check_tls_files(const std::string& certificate_file,
                                        const std::string& key_file,
                                        const std::string& authority_file) {
  std::vector<TlsFinding> found;
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
  if (!certificate_file.empty()) {
    certificate = read_certificate(certificate_file, "certificate_file", "certificate", found);
  }
  if (!key_file.empty()) key = read_key(key_file, found);
  if (certificate && key && X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    found.push_back({"key_file", quoted(key_file) + " is not the key of the certificate in " +
                                     quoted(certificate_file) +
                                     "; give the key with which it was requested"});
  }
  if (certificate) check_times(certificate.get(), certificate_file, "certificate_file", found);
  if (authority_file.empty()) return found;
  if (const auto authority = read_certificate(authority_file, "ca_file", "certificate", found)) {
    check_times(authority.get(), authority_file, "ca_file", found);
  }
  return found;
}

}  // namespace s5066::config
