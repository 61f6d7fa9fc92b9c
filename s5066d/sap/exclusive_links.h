// SPDX-License-Identifier: Apache-2.0
// The Exclusive physical links under the hard links (B.3(5), B.3(7)). They are called for, kept
// while a hard link needs them, and then broken by the side that has to.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"

namespace s5066::sap {

class ExclusiveLinks {
 public:
  enum class State : std::uint8_t { none, calling, made, breaking };

  /// `release_wait` is the time that a link without a hard link waits for the peer to break it.
  ExclusiveLinks(Duration release_wait, Outbox& outbox)
      : release_wait_(release_wait), outbox_(outbox) {}

  State state(Address peer) const;
  std::vector<Address> peers() const;
  /// True if one more link may be called for within the limit. Links that no hard link has needed
  /// make way, but not while one is being broken anyway.
  bool has_room() const;
  /// True if a link that we called for is made. B.3.2.1(19): no Nonexclusive link stays beside it.
  bool any_made_by_us() const;

  /// True if a hard link has needed a link. any_unclaimed() is true if a peer called and has asked
  /// for nothing yet.
  bool any_claimed() const;
  bool any_unclaimed() const;

  /// Calls for a link. If there is an adopted link, the channel access sublayer ends that first.
  void call(Address peer);
  /// Call when our own channel access refused the call; an adopted link is still there. Returns
  /// false as on_call_failed() does.
  bool on_call_refused(Address peer);
  void on_made(Address peer, bool we_called);
  /// Call when the peer's hard link came over a Nonexclusive link, which it now has to itself.
  void adopt(Address peer);
  /// True if the link is adopted; a hard link of ours needs an Exclusive one instead (A.3.2.2.2(9),
  /// B.3(5)).
  bool is_adopted(Address peer) const;
  /// Call when the channel access sublayer has begun to break a link, for whatever reason.
  void on_closing(const cas::LinkClosing& closing);
  /// Call when a call has failed. Returns false if it was not one of ours.
  bool on_call_failed(Address peer);
  /// Returns false if the broken link was neither Exclusive nor adopted.
  bool on_broken(const cas::LinkBroken& broken);

  /// Marks the link as needed by a hard link.
  void keep(Address peer);
  /// Call when no hard link needs the link any more. We break it if that is our task; otherwise the
  /// peer does, and after `release_wait` we do.
  void leave(Instant now, Address peer, bool ours_to_break);
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

 private:
  struct Link {
    State state = State::none;
    bool we_called = false;
    bool adopted = false;  // Nonexclusive, and there until the call has ended it
    bool claimed = false;  // a hard link has needed it
    std::optional<Instant> release_at;
  };
  std::size_t claimed() const;
  void break_link(Address peer, Link& link, cas::BreakReason reason);

  const Duration release_wait_;
  Outbox& outbox_;
  std::map<Address, Link> links_;
};

}  // namespace s5066::sap
