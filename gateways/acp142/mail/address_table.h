// SPDX-License-Identifier: Apache-2.0
// The table that tells behind which stations an address is. Its patterns are exact addresses,
// domains, domains below one, and "*" for all other addresses.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/p_mul_names.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

/// The way that mail for an address takes. An address that stands for a group is behind several
/// stations, each of which has it as its own.
struct Route {
  bool own = false;  // to the mail server of this station
  std::vector<NodeId> stations;
  bool relay = false;  // mail from the air goes there, too
  friend bool operator==(const Route&, const Route&) = default;
};

/// True if the text is a pattern as in AddressTable::Entry.
bool is_pattern(std::string_view text);
/// True if the pattern fits the address. Only "*" fits the empty address.
bool fits(std::string_view pattern, std::string_view address);

class AddressTable {
 public:
  struct Entry {
    std::string pattern;  // "ops@ship.example", "ship.example", "*.fleet.example", "*"
    Route route;
  };

  /// Fails with `already_exists` for a pattern that the table has, and with `bad_field` for a text
  /// that is no pattern.
  Result<void> add(Entry entry);

  /// Returns the route of the most exact entry that fits: the address, its domain, the longest "*."
  /// that it is below, "*". "postmaster" without a domain is our own (RFC 5321 4.1.1.3). Returns
  /// null if no entry fits.
  const Route* find(std::string_view address) const;

 private:
  std::map<std::string, Route, std::less<>> routes_;
  Route own_{.own = true, .stations = {}};
};

}  // namespace s5066::acp142
