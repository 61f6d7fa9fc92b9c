// Keeps a U_PDU that is sent again after a broken link from being delivered twice.
//
// STANDARD: silent. When a link breaks, the sender cannot know whether what it has no
// acknowledgement for was delivered; it queues it again. Its S_PDU then is the same to the octet,
// TIME TO DIE included, so the receiver can know it. To that end the sender never lets two U_PDUs
// share all octets of their S_PDUs: the second one's TIME TO DIE moves on by its unit of two
// seconds.
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

/// Sender: makes S_PDUs of equal content differ in their TIME TO DIE.
class RepeatMarker {
 public:
  /// `receiver_remembers`: what a RepeatFilter is given. Here twice as many are remembered, since
  /// what may arrive as it comes overtakes others.
  explicit RepeatMarker(std::size_t receiver_remembers);

  /// The time to die to put on the air: not before `wanted`, and later by no more units than are
  /// remembered.
  UtcSeconds distinct(Address destination, const DataSpdu& data, UtcSeconds wanted);

 private:
  std::int64_t free_unit(std::uint64_t content, std::int64_t first) const;

  std::size_t remembered_max_;
  RecentKeys given_;  // content and unit of two seconds
};

/// Receiver: knows S_PDUs that were delivered before the present link with their sender was made.
/// Where more came than are remembered, the sender that has most of them loses its oldest, so that
/// nobody pushes out what others have sent. A TIME TO DIE tells the day modulo 16, so another
/// S_PDU may be the same to the octet from 13 days on (around New Year); each is known only for as
/// long as its sender may send it again.
class RepeatFilter {
 public:
  explicit RepeatFilter(std::size_t remembered_max) : remembered_max_(remembered_max) {}

  void on_link_made(Address peer);
  /// S_PDUs without a TIME TO DIE have nothing to be known by and never count as repeated.
  bool is_repeat(Instant now, Address peer, const DataSpdu& data) const;
  /// Returns what such an S_PDU is known by; nothing without a TIME TO DIE.
  static std::optional<std::uint64_t> key_of(Address peer, const DataSpdu& data);
  /// These were not delivered after all, so that they are new if they come again.
  void forget(const std::unordered_set<std::uint64_t>& keys);
  /// It may be sent again up to `last_repeat`.
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
  std::map<Address, std::deque<Entry>> delivered_;  // the oldest first
  /// Of those of earlier links key and last repeat.
  std::unordered_multimap<std::uint64_t, Instant> known_;
};

}  // namespace s5066::sap
