// SPDX-License-Identifier: Apache-2.0
// Keeps a U_PDU that is sent again after a broken link from being delivered twice.
//
// STANDARD: silent. When a link breaks, the sender cannot know whether U_PDUs without an
// acknowledgement were delivered, and queues them again. A repeated S_PDU is identical to the
// octet, TIME TO DIE included, so the receiver can recognise it. For that, the sender never lets
// the S_PDUs of two U_PDUs be identical: it moves the TIME TO DIE of the second one on by its unit
// of two seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/sap/recent_keys.h"
#include "s5066d/sap/spdu.h"

namespace s5066::sap {

/// Sender: makes the TIME TO DIE of S_PDUs with equal content differ.
class RepeatMarker {
 public:
  /// `receiver_remembers` is the size of the peer's RepeatFilter. The marker remembers twice as
  /// many, because U_PDUs that may arrive out of order overtake others.
  explicit RepeatMarker(std::size_t receiver_remembers);

  /// Returns the time to die to put on the air: not before `wanted`, and later by no more units
  /// than the marker remembers.
  UtcSeconds distinct(Address destination, const DataSpdu& data, UtcSeconds wanted);

 private:
  std::int64_t free_unit(std::uint64_t content, std::int64_t first) const;

  std::size_t remembered_max_;
  RecentKeys given_;  // key: content and unit of two seconds
};

/// Receiver: recognises S_PDUs that were delivered before the present link with their sender was
/// made. If more come than it remembers, the sender that has most of them loses its oldest one, so
/// that no sender pushes out those of others. A TIME TO DIE gives the day modulo 16, so another
/// S_PDU may be identical from 13 days on (around New Year). Each is therefore remembered only for
/// as long as its sender may send it again.
class RepeatFilter {
 public:
  explicit RepeatFilter(std::size_t remembered_max) : remembered_max_(remembered_max) {}

  void on_link_made(Address peer);
  /// True if the S_PDU repeats one of an earlier link. S_PDUs without a TIME TO DIE cannot be
  /// recognised and never count as repeated.
  bool is_repeat(Instant now, Address peer, const DataSpdu& data) const;
  /// Returns the key that identifies such an S_PDU; nothing without a TIME TO DIE.
  static std::optional<std::uint64_t> key_of(Address peer, const DataSpdu& data);
  /// Forgets S_PDUs that were not delivered after all, so that they are new if they come again.
  void forget(const std::unordered_set<std::uint64_t>& keys);
  /// Remembers a delivered S_PDU, which may be sent again until `last_repeat`.
  void on_delivered(Address peer, const DataSpdu& data, Instant last_repeat);

 private:
  struct Entry {
    std::uint64_t key = 0;  // sender, content and time to die
    std::uint64_t number = 0;
    Instant last_repeat;
    bool earlier_link = false;
  };
  void forget_one();
  void forget_known(const Entry& entry);

  std::size_t remembered_max_;
  std::size_t remembered_ = 0;
  std::uint64_t numbers_ = 0;
  std::map<Address, std::deque<Entry>> delivered_;  // the oldest entry comes first
  /// Key and last repeat of those of earlier links.
  std::unordered_multimap<std::uint64_t, Instant> known_;
};

}  // namespace s5066::sap
