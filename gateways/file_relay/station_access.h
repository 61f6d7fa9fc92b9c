// SPDX-License-Identifier: Apache-2.0
// Rights of other stations at this one, and the stations that one transmission reaches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gateways/common/store_port.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/ids.h"

namespace s5066::file_relay {

struct StationAccess {
  bool put = true;
  bool get = false;
  bool list = false;  // the station may use list and stat
  bool remove = false;
  std::uint32_t file_octets_max = UINT32_MAX;  // limit of a file that the station sends
  gateways::StationQuota quota;
};

struct AccessTable {
  StationAccess others;  // access of stations that are not in the table
  std::map<Address, StationAccess> stations;

  const StationAccess& of(Address station) const {
    const auto at = stations.find(station);
    return at == stations.end() ? others : at->second;
  }
};

/// Returns the refusal of an offer that the access of its sender, or the limit of this relay in
/// octets, does not allow.
std::optional<RefuseMessage> refusal_of(const OfferMessage& offer, const StationAccess& access,
                                        std::uint32_t file_octets_max);

/// The stations that hear what is sent to a group address.
struct StationGroup {
  Address address;
  std::vector<Address> members;
};

/// Returns the group that has all these stations, the smallest if there are several; null if none.
inline const StationGroup* group_of(const std::vector<StationGroup>& groups,
                                    const std::vector<Address>& stations) {
  const StationGroup* best = nullptr;
  for (const StationGroup& group : groups) {
    const auto& members = group.members;
    const bool all = std::all_of(stations.begin(), stations.end(), [&](Address station) {
      return std::find(members.begin(), members.end(), station) != members.end();
    });
    if (all && (best == nullptr || members.size() < best->members.size())) best = &group;
  }
  return best;
}

}  // namespace s5066::file_relay
