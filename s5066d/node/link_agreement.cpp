// SPDX-License-Identifier: Apache-2.0
#include "s5066d/node/link_agreement.h"

#include "s5066d/base/assert.h"

namespace s5066 {

using Exclusive = sap::ExclusiveLinks::State;
using Session = sap::LinkManager::State;

// A hard link that has taken over a soft link is an "adopted" one: its session is taken, and the
// link in the channel access sublayer stays Nonexclusive. If such a link, or that of a soft
// session, makes way for an Exclusive one to the same peer, the call for that is pending while the
// old link is broken.
bool link_views_agree(const std::optional<cas::LinkInfo>& below, const sap::LinkView& above) {
  const Session session = above.session;
  const Exclusive exclusive = above.exclusive;
  if (!below) return session == Session::down && exclusive == Exclusive::none;
  const bool soft = below->type == cas::LinkType::nonexclusive;
  const bool in_session = session == Session::up || session == Session::draining;
  switch (below->state) {
    case cas::LinkState::idle:
      return false;  // such links are not in the table
    case cas::LinkState::calling:
      return soft ? session == Session::calling && exclusive == Exclusive::none
                  : session == Session::down && exclusive == Exclusive::calling;
    case cas::LinkState::made_wait:
    case cas::LinkState::made:
      return soft ? (in_session && exclusive == Exclusive::none) ||
                        (session == Session::taken && exclusive == Exclusive::made)
                  : session == Session::taken && exclusive == Exclusive::made;
    case cas::LinkState::breaking:
      return soft ? (session == Session::closing || session == Session::taken) &&
                        exclusive != Exclusive::made
                  : (session == Session::taken || session == Session::down) &&
                        exclusive == Exclusive::breaking;
  }
  S5066_ASSERT(false);
  return false;
}

}  // namespace s5066
