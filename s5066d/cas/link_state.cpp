// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/link_state.h"

namespace s5066::cas {

bool is_legal(LinkState from, LinkState to) {
  switch (from) {
    case LinkState::idle:
      return to == LinkState::calling || to == LinkState::made_wait || to == LinkState::made;
    case LinkState::calling:
      return to == LinkState::made || to == LinkState::made_wait || to == LinkState::breaking ||
             to == LinkState::idle;
    case LinkState::made_wait:
      return to == LinkState::made || to == LinkState::breaking || to == LinkState::idle;
    case LinkState::made:
      return to == LinkState::breaking || to == LinkState::idle;
    case LinkState::breaking:
      return to == LinkState::idle;
  }
  return false;
}

std::string_view to_string(LinkState state) {
  switch (state) {
    case LinkState::idle:
      return "idle";
    case LinkState::calling:
      return "calling";
    case LinkState::made_wait:
      return "made_wait";
    case LinkState::made:
      return "made";
    case LinkState::breaking:
      return "breaking";
  }
  return "unknown";
}

std::string_view to_string(LinkEnd end) {
  switch (end) {
    case LinkEnd::by_us:
      return "by_us";
    case LinkEnd::by_peer:
      return "by_peer";
    case LinkEnd::no_first_data:
      return "no_first_data";
    case LinkEnd::connection_lost:
      return "connection_lost";
    case LinkEnd::not_connected:
      return "not_connected";
    case LinkEnd::displaced:
      return "displaced";
    case LinkEnd::called_anew:
      return "called_anew";
  }
  return "unknown";
}

}  // namespace s5066::cas
