// SPDX-License-Identifier: Apache-2.0
// What another station may do at this one.
#pragma once

#include <cstdint>
#include <map>

#include "s5066d/base/ids.h"

namespace s5066::file_relay {

struct StationAccess {
  bool put = true;
  bool get = false;
  bool list = false;  // and stat
  bool remove = false;
  std::uint32_t file_octets_max = UINT32_MAX;  // of a file that it sends
};

struct AccessTable {
  StationAccess others;  // of stations that are not in the table
  std::map<Address, StationAccess> stations;

  const StationAccess& of(Address station) const {
    const auto at = stations.find(station);
    return at == stations.end() ? others : at->second;
  }
};

}  // namespace s5066::file_relay
