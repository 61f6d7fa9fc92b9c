// What one transmission that is being heard says of the link (C.6.4.2): how much of it came, and
// the ratio of its blocks. Where the ratio changed within it, it says two things, one after the
// other: the channel of its beginning is gone.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "s5066d/dts/rate_selector.h"

namespace s5066::dts {

class ReceptionMeter {
 public:
  explicit ReceptionMeter(const modem::Mode& mode) : mode_(mode) {}

  /// A block came, whether or not its ratio is known.
  void on_bytes(std::size_t octets, std::optional<double> snr_db);
  /// Of D_PDUs without error.
  void on_intact(std::size_t octets);
  /// The end was not heard.
  void on_cut(std::size_t octets) { present().octets += octets; }

  bool measured() const { return blocks_ > 0; }
  bool any_intact() const { return intact_ > 0; }

  /// One, or two of which the first is not the last; with `measured()` only.
  std::vector<Reception> receptions(bool managed) const;

 private:
  /// About a second of it, and sums of such.
  struct Piece {
    std::size_t octets = 0;
    std::size_t octets_intact = 0;
    unsigned blocks = 0;
    double sum_db = 0;
    double squares_db = 0;
    double products_db = 0;                // of each block with the one before
    unsigned products = 0;                 // so many of them
    std::optional<double> product_before;  // of its first block with one of the piece before
    double deviations() const { return blocks > 0 ? squares_db - sum_db * sum_db / blocks : 0; }
    void add(const Piece& other);
  };
  Piece& present();
  Reception reception(const Piece& piece, bool managed) const;

  modem::Mode mode_;
  std::vector<Piece> pieces_;
  unsigned blocks_ = 0;
  std::size_t intact_ = 0;
  double last_db_ = 0;
};

}  // namespace s5066::dts
