// Whether the two stations agree about the windows of one direction, as the D_PDUs of that
// direction tell it, transmission by transmission (C.6.3.2).
#pragma once

#include <utility>

namespace s5066::dts {

class WindowVerification {
 public:
  /// A D_PDU fits our window; `moved` when it told something new.
  void on_fits(bool moved) {
    fits_ = true;
    moved_ = moved_ || moved;
  }
  void on_disagrees() { disagrees_ = true; }
  /// A transmission of the peer has ended. One without D_PDUs of this direction changes nothing. In
  /// windows that disagree some numbers fit as well, mostly as copies, so one that does not tells
  /// more than they do; but where something moves nothing needs to be made to agree.
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

  /// The last transmission disagreed.
  bool disagrees() const { return last_disagrees_; }
  /// So many disagreed, and none between them agreed.
  unsigned in_a_row() const { return in_a_row_; }
  /// It is being made to agree. Returns how often it was before, and nothing has moved since.
  unsigned mend() {
    in_a_row_ = 0;
    return mended_++;
  }
  /// Our window begins anew.
  void restart() {
    fits_ = moved_ = disagrees_ = last_disagrees_ = false;
    in_a_row_ = 0;
  }

 private:
  bool fits_ = false;  // in the transmission being heard
  bool moved_ = false;
  bool disagrees_ = false;
  bool last_disagrees_ = false;
  unsigned in_a_row_ = 0;
  unsigned mended_ = 0;
};

}  // namespace s5066::dts
