// SPDX-License-Identifier: Apache-2.0
// How files go to other stations: their limits, and the times of the day in which they may be sent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gateways/common/store_port.h"
#include "gateways/file_relay/relay_types.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::file_relay {

/// A time of each day in UTC. It lasts from one minute of the day up to another, which is not in
/// it. If the end comes before the begin, the window goes over midnight.
struct DailyWindow {
  std::uint16_t from_minute = 0;  // 0 to 1439
  std::uint16_t to_minute = 0;
  friend bool operator==(const DailyWindow&, const DailyWindow&) = default;
};

/// Rules for the files of one station.
struct SendingRule {
  gateways::SendLimits limits;
  std::vector<DailyWindow> windows;  // empty: files may go at any time
  std::optional<std::uint8_t> urgent_priority;
  bool by_udop = false;           // files go by BFTP over UDOP (SAP 7), without ARQ
  std::uint8_t udop_repeats = 0;  // 0..15; the node sends each segment one time more than this
  std::optional<AckMode> acknowledgement;  // none: that of the relay

  /// Returns the first time from `from` on at which a file of this priority may be sent.
  UtcSeconds opens_at(UtcSeconds from, std::uint8_t priority) const;
  /// Returns the first time after `from` at which it may no longer be sent, if it may at `from`.
  std::optional<UtcSeconds> closes_at(UtcSeconds from, std::uint8_t priority) const;

 private:
  bool is_open(std::int64_t second_of_day) const;
};

struct SendingTable {
  SendingRule others;  // rule for stations that are not in the table
  std::map<Address, SendingRule> stations;

  const SendingRule& of(Address station) const {
    const auto at = stations.find(station);
    return at == stations.end() ? others : at->second;
  }
  AckMode acknowledgement_of(Address station, AckMode otherwise) const {
    return of(station).acknowledgement.value_or(otherwise);
  }
  /// Returns the first time from `from` on at which one transmission may go to all these stations.
  /// If their windows have no time in common, it is the first at which it may go to one of them, so
  /// that the others get it outside of their own windows.
  UtcSeconds opens_at(UtcSeconds from, const std::vector<Address>& to, std::uint8_t priority) const;
};

}  // namespace s5066::file_relay
