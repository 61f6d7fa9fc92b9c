// SPDX-License-Identifier: Apache-2.0
// Tells if this station may transmit (EMCON). The operator and the subnetwork
// (S_SUBNET_AVAILABILITY, A.2.1.26) can each silence it. The order of each holds until the same one
// withdraws it. The order of the subnetwork also stays valid after the connection is lost.
#pragma once

#include <string_view>
#include <utility>

#include "sis/primitives.h"

namespace s5066::p_mul {

class OwnSilence {
 public:
  // Inputs. Each returns true if silent() has changed.
  bool on_operator(bool silent) {
    const bool changed = change(by_operator_, silent);
    listened_ |= silent;
    return changed;
  }
  /// Call when the node reports its state. The station is silent if the node only receives or if
  /// its modem does not work, because the node then sends no data of ours. A node also reports
  /// "receive only" while another client uses the channel exclusively.
  bool on_availability(sis::NodeStatus status) {
    old_word_ = false;
    const bool changed =
        change(by_node_, status == sis::NodeStatus::receive_only || status == sis::NodeStatus::off);
    listened_ |= status == sis::NodeStatus::receive_only;
    return changed;
  }
  void on_lost() {
    bound_ = false;
    old_word_ = by_node_;
  }
  /// Returns true if on_no_word() must be called when the node has reported nothing for a while.
  bool on_bound() {
    bound_ = true;
    return old_word_;
  }
  /// Call when the node has reported nothing for a while after a bind. The node is then ready,
  /// because it reports every other state to a client that binds.
  bool on_no_word() { return bound_ && std::exchange(old_word_, false) && change(by_node_, false); }

  /// True if this station could hear others during this silence or the last one without answering
  /// them.
  bool listened() const { return listened_; }
  bool silent() const { return by_operator_ || by_node_; }
  bool by_operator() const { return by_operator_; }
  std::string_view reason() const {
    return by_operator_ ? (by_node_ ? "operator,node" : "operator") : by_node_ ? "node" : "no";
  }

 private:
  bool change(bool& whose, bool silent) {
    const bool before = this->silent();
    if (!before) listened_ = false;
    whose = silent;
    return this->silent() != before;
  }

  bool by_operator_ = false;
  bool by_node_ = false;
  bool listened_ = false;
  bool bound_ = false;
  bool old_word_ = false;  // true: by_node_ is from before the connection was lost
};

}  // namespace s5066::p_mul
