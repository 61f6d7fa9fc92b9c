// SPDX-License-Identifier: Apache-2.0
// Finds what would prevent a start on this machine: folders, sockets, TLS files and ports that the
// configuration names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/scope.h"
#include "config/validate.h"

namespace s5066::config {

/// One check of one configuration. Each function adds its problems at the place of the field. A
/// path that is empty is left out, because the schema's rules have complained of it.
class Places {
 public:
  explicit Places(Scope scope) : scope_(scope) {}

  /// A folder in which the program makes files. Two fields cannot share one.
  void folder(const Section& section, const std::string& field, const std::string& path);
  /// A socket that the program makes.
  void own_socket(const Section& section, const std::string& field, const std::string& path);
  /// A socket of another program, which may start later. It cannot be one that we make.
  void other_socket(const Section& section, const std::string& field, const std::string& path);
  /// A file that the program makes or writes again.
  void new_file(const Section& section, const std::string& field, const std::string& path);
  /// A device that may be plugged in later; problems are warnings.
  void device(const Section& section, const std::string& field, const std::string& path);

  struct Tls {
    std::string certificate_file;  // empty for a client
    std::string key_file;
    std::string authority_file;  // may be empty
  };
  /// The section has the fields certificate_file, key_file and ca_file.
  void tls(const Section& section, const Tls& files);

  /// A TCP port on which the program listens. Port 0 is any free one.
  void port(const Section& section, const std::string& address_field, const std::string& address,
            std::uint16_t port);

 private:
  struct Claim {
    std::string path;
    std::string field;
    bool other;  // the place of another program
  };
  /// Complains if another field has the same path; two places of other programs may be equal.
  bool claim(const Section& section, const std::string& field, const std::string& path,
             const std::string& cure, bool other = false);
  void parent(const Section& section, const std::string& field, const std::string& path) const;
  bool usable_folder(const Section& section, const std::string& field, const std::string& folder,
                     const std::string& whose) const;
  void complain(const Section& section, const std::string& field, const std::string& text,
                bool warning = false) const;

  Scope scope_;
  std::vector<Claim> claims_;
};

}  // namespace s5066::config
