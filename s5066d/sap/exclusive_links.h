// The Exclusive physical links under the hard links (B.3(5), B.3(7)): called for, kept for as long
// as a hard link needs them, and broken afterwards, by whoever owes it.
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

  /// `release_wait`: how long a link without a hard link waits for the peer to break it.
  ExclusiveLinks(Duration release_wait, Outbox& outbox)
      : release_wait_(release_wait), outbox_(outbox) {}

  State state(Address peer) const;
  std::vector<Address> peers() const;
  /// Whether one more may be called for without exceeding what there may be at a time. Those that
  /// no hard link has needed make way, but not while one is on its way out anyway.
  bool has_room() const;
  /// Whether we called for one that is made. B.3.2.1(19): no Nonexclusive link outlasts that.
  bool any_made_by_us() const;

  /// Other than of peers that called and have asked for nothing yet.
  bool any_claimed() const;
  bool any_unclaimed() const;

  /// Where there is an adopted link, the channel access sublayer ends that first.
  void call(Address peer);
  /// Our own channel access refused that call: an adopted link is still there. False: as below.
  bool on_call_refused(Address peer);
  void on_made(Address peer, bool we_called);
  /// The peer's hard link came over a link of the other type, and has it to itself now.
  void adopt(Address peer);
  /// Ours needs an Exclusive one instead (A.3.2.2.2(9), B.3(5)).
  bool is_adopted(Address peer) const;
  /// The channel access sublayer has begun to break a link, whoever asked for that.
  void on_closing(const cas::LinkClosing& closing);
  /// A call that failed. False: it was not one of ours.
  bool on_call_failed(Address peer);
  /// Returns false if the link that is gone was neither Exclusive nor adopted.
  bool on_broken(const cas::LinkBroken& broken);

  /// A hard link needs it.
  void keep(Address peer);
  /// No hard link needs it now. We break it when that was our doing; otherwise the peer does, or
  /// after a while we do it all the same.
  void leave(Instant now, Address peer, bool ours_to_break);
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

 private:
  struct Link {
    State state = State::none;
    bool we_called = false;
    bool adopted = false;  // of the other type, and there until the call has ended it
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
