// SPDX-License-Identifier: Apache-2.0
// States of one physical link as its node sees it (B.3.2), and the reasons for its end.
#pragma once

#include <cstdint>
#include <string_view>

namespace s5066::cas {

enum class LinkState : std::uint8_t {
  idle,       // there is no link; such peers are not in the table
  calling,    // we sent REQUEST
  made_wait,  // we sent ACCEPTED; nothing shows yet that the peer received it
  made,
  breaking,  // we sent BREAK
};
std::string_view to_string(LinkState state);
/// True if the transition is legal. Without CAS 1 a link goes from idle to made at once (B.3 1a).
bool is_legal(LinkState from, LinkState to);

enum class LinkEnd : std::uint8_t {
  by_us,            // our BREAK, confirmed or not
  by_peer,          // the peer's BREAK
  no_first_data,    // T_first ran out
  connection_lost,  // D_CONNECTION_LOST: the peer stopped answering
  not_connected,    // the peer warned that it has no such link
  displaced,        // a call of ours, or of a known peer, took the place of an unused link
  called_anew,      // the peer calls again, so it lost the link; a LinkMade follows
};
std::string_view to_string(LinkEnd end);

}  // namespace s5066::cas
