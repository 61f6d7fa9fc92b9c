// SPDX-License-Identifier: Apache-2.0
// Which stations an address is behind: exact addresses, domains, domains below one, and the rest.
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
  bool relay = false;  // there from the air, too
  friend bool operator==(const Route&, const Route&) = default;
};

/// Is this one of the patterns of AddressTable::Entry?
bool is_pattern(std::string_view text);
/// Does the pattern fit the address? Only "*" fits the empty address.
bool fits(std::string_view pattern, std::string_view address);

class AddressTable {
 public:
  struct Entry {
    std::string pattern;  // "ops@ship.example", "ship.example", "*.fleet.example", "*"
    Route route;
  };

  /// `already_exists` for a pattern given twice, `bad_field` for one that is none.
  Result<void> add(Entry entry);

  /// The most exact entry that fits: the address, its domain, the longest "*." it is below, "*".
  /// "postmaster" without a domain is our own (RFC 5321 4.1.1.3). Null where nothing fits.
  const Route* find(std::string_view address) const;

 private:
  std::map<std::string, Route, std::less<>> routes_;
  Route own_{.own = true, .stations = {}};
};

}  // namespace s5066::acp142
