// SPDX-License-Identifier: Apache-2.0
// The hard links of a node that are up, asked for or being ended, with their states. At most one is
// active.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/sap/hard_link_precedence.h"
#include "s5066d/sap/spdu.h"
#include "sis/primitives.h"

namespace s5066::sap {

enum class HardLinkState : std::uint8_t {
  waiting,     // accepted so far; a link of lower precedence is being ended first
  linking,     // caller: the Exclusive link is being made
  requesting,  // caller: type 3 sent
  indicated,   // called, Type 2: waiting for the client's answer
  active,
  terminating,  // type 6 sent
  closed,
};
std::string_view to_string(HardLinkState state);

/// One hard link from the request to its end.
struct HardLinkSession {
  /// The side that breaks the physical link when the hard link is over.
  enum class Breaks : std::uint8_t { we_do, peer_does };
  HardLinkState state = HardLinkState::closed;
  bool we_called = false;
  HardLinkClaim claim;
  SapId local_sap;
  SapId remote_sap;
  std::optional<ClientId> client;  // the client to tell
  sis::HardLink link;              // the link in the client's terms
  bool begun = false;              // ESTABLISHED or INDICATED was sent
  /// Reason that the client is told when the peer confirms the end; empty if the client asked for
  /// it.
  std::optional<sis::HardLinkEndReason> heard_on_confirm;
  unsigned calls = 0;
  Breaks breaks = Breaks::we_do;
  std::optional<Instant> deadline;
  std::optional<CpduId> sent;  // S_PDU that was sent last in this state
  bool unsent = false;         // `sent` came back

  Address peer() const { return claim.peer; }
  bool is(HardLinkState s) const { return state == s; }
  bool is_live() const { return !is(HardLinkState::terminating) && !is(HardLinkState::closed); }
};

class HardLinkTable {
 public:
  using Session = HardLinkSession;

  explicit HardLinkTable(TraceSink& trace) : trace_(trace) {}

  Session& add(Instant now, HardLinkState state, Session session);
  /// Asserts that the state may follow the present one, and stops what waits in that.
  void change_state(Instant now, Session& session, HardLinkState next);
  void remove_closed();

  Session* find(Address peer, HardLinkState state, std::optional<bool> we_called = std::nullopt);
  /// Returns the client's link with the peer, a live one if there are two.
  Session* find_of(ClientId client, Address peer);
  /// True if there is a link with the peer that is not closed.
  bool knows(Address peer) const;
  const Session* active() const;
  /// True if the active link is the Type 0 link that is asked for.
  bool already_there(const HardLinkClaim& claim) const;
  /// Returns a live link over which the claim does not take precedence.
  const Session* blocker(const HardLinkClaim& claim) const;

  std::size_t size() const { return sessions_.size(); }
  bool empty() const { return sessions_.empty(); }
  auto begin() { return sessions_.begin(); }
  auto end() { return sessions_.end(); }
  auto begin() const { return sessions_.begin(); }
  auto end() const { return sessions_.end(); }

 private:
  TraceSink& trace_;
  std::list<Session> sessions_;
};

}  // namespace s5066::sap
