// SPDX-License-Identifier: Apache-2.0
// Tracks whether the two stations agree about the windows of one direction, from the D_PDUs of that
// direction, transmission by transmission (C.6.3.2).
#pragma once

#include <utility>

namespace s5066::dts {

class WindowVerification {
 public:
  /// Call for a D_PDU that fits our window; `moved` if it brought something new.
  void on_fits(bool moved) {
    fits_ = true;
    moved_ = moved_ || moved;
  }
  void on_disagrees() { disagrees_ = true; }
  /// Call at the end of a transmission of the peer. A transmission without D_PDUs of this direction
  /// changes nothing. If windows disagree, some numbers still fit, mostly as copies. A
  /// number that does not fit therefore weighs more than those that do. If something moves, the
  /// windows need no resync.
  void on_heard_over() {
    const bool fits = std::exchange(fits_, false);
    const bool moved = std::exchange(moved_, false);
    last_disagrees_ = std::exchange(disagrees_, false) && !moved;
    if (last_disagrees_) {
      ++in_a_row_;
    } else if (fits) {
      in_a_row_ = 0;
      if (moved) mended_ = 0;
    }
  }

  /// True if the last transmission disagreed.
  bool disagrees() const { return last_disagrees_; }
  /// Returns how many transmissions disagreed since the last one that agreed.
  unsigned in_a_row() const { return in_a_row_; }
  /// Call when a resync begins. Returns how many there were before without anything moving since.
  unsigned mend() {
    in_a_row_ = 0;
    return mended_++;
  }
  /// Call when our window is reset.
  void restart() {
    fits_ = moved_ = disagrees_ = last_disagrees_ = false;
    in_a_row_ = 0;
  }

 private:
  bool fits_ = false;  // in the transmission being received, as are the next two
  bool moved_ = false;
  bool disagrees_ = false;
  bool last_disagrees_ = false;
  unsigned in_a_row_ = 0;
  unsigned mended_ = 0;
};

}  // namespace s5066::dts
