// Whether this station may transmit (EMCON), and who says that it may not: the operator, whose word
// holds until he takes it back, or the subnetwork, whose word holds as long as we are bound to it
// (S_SUBNET_AVAILABILITY, A.2.1.26).
#pragma once

#include <string_view>

#include "sis/primitives.h"

namespace s5066::acp142 {

class OwnSilence {
 public:
  // Events in. True: what silent() says is another than before.
  bool on_operator(bool silent) { return change(by_operator_, silent); }
  /// A node that only receives, or whose modem does not work, sends nothing of ours either; that
  /// another client has the channel for itself (receive only, too) comes to the same.
  bool on_availability(sis::NodeStatus status) {
    return change(by_node_,
                  status == sis::NodeStatus::receive_only || status == sis::NodeStatus::off);
  }
  /// Who binds anew is told again, unless all is well.
  bool on_lost() { return change(by_node_, false); }

  bool silent() const { return by_operator_ || by_node_; }
  bool by_operator() const { return by_operator_; }
  std::string_view reason() const {
    return by_operator_ ? (by_node_ ? "operator,node" : "operator") : by_node_ ? "node" : "no";
  }

 private:
  bool change(bool& whose, bool silent) {
    const bool before = this->silent();
    whose = silent;
    return this->silent() != before;
  }

  bool by_operator_ = false;
  bool by_node_ = false;
};

}  // namespace s5066::acp142
