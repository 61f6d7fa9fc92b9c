// SPDX-License-Identifier: Apache-2.0
// Finds certificates and keys that a TLS server or client of ours could not use.
#pragma once

#include <string>
#include <vector>

namespace s5066::config {

struct TlsFinding {
  std::string field;  // certificate_file, key_file or ca_file
  std::string text;   // begins with the path
  bool warning = false;
};

/// An empty path is not checked.
std::vector<TlsFinding> check_tls_files(const std::string& certificate_file,
                                        const std::string& key_file,
                                        const std::string& authority_file);

}  // namespace s5066::config
