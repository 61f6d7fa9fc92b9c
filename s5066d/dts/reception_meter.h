// SPDX-License-Identifier: Apache-2.0
// Measures one transmission being received (C.6.4.2): how much of it was received, and the SNR of
// its blocks. If the SNR changed within it, the meter returns two receptions, one for each part,
// because the channel of the beginning no longer exists.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "s5066d/dts/rate_selector.h"

namespace s5066::dts {

class ReceptionMeter {
 public:
  explicit ReceptionMeter(const modem::Mode& mode) : mode_(mode) {}

  /// Call for each received block, with its SNR if that is known.
  void on_bytes(std::size_t octets, std::optional<double> snr_db);
  /// Call for the octets of D_PDUs received without error.
  void on_intact(std::size_t octets);
  /// Call for octets that were announced but not heard, because the end was lost.
  void on_cut(std::size_t octets) { present().octets += octets; }

  bool measured() const { return blocks_ > 0; }
  std::size_t octets() const { return octets_; }
  bool any_intact() const { return intact_ > 0; }

  /// Returns one reception, or two parts of which the first has `more_follows` set. Call only if
  /// `measured()`.
  std::vector<Reception> receptions(bool managed) const;

 private:
  /// Sums over about one second of the transmission, or over several such pieces.
  struct Piece {
    std::size_t octets = 0;
    std::size_t octets_intact = 0;
    unsigned blocks = 0;
    double sum_db = 0;
    double squares_db = 0;
    double products_db = 0;  // products of each block with the block before
    unsigned products = 0;   // number of products
    // Product of its first block with the last one of the piece before.
    std::optional<double> product_before;
    double deviations() const { return blocks > 0 ? squares_db - sum_db * sum_db / blocks : 0; }
    void add(const Piece& other);
  };
  Piece& present();
  Reception reception(const Piece& piece, bool managed) const;

  modem::Mode mode_;
  std::vector<Piece> pieces_;
  unsigned blocks_ = 0;
  std::size_t octets_ = 0;  // octets that came
  std::size_t intact_ = 0;
  double last_db_ = 0;
};

}  // namespace s5066::dts
