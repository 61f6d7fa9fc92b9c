// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/reception_meter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::dts {
namespace {

/// Largest number of pieces; the longest transmission has no more, and later octets count for the
/// last piece.
constexpr std::size_t kPiecesMax = 256;
/// The channel has changed if the means of two parts differ by this many spreads, with at least
/// this many blocks and pieces in each part.
constexpr double kStepSpreads = 3;
constexpr unsigned kBlocksMin = 3;
constexpr std::size_t kPiecesMin = 3;
/// Error of one SNR reading (dB), in addition to the spread.
constexpr double kReadDb = 1;

}  // namespace

void ReceptionMeter::Piece::add(const Piece& other) {
  octets += other.octets;
  octets_intact += other.octets_intact;
  blocks += other.blocks;
  sum_db += other.sum_db;
  squares_db += other.squares_db;
  products_db += other.products_db;
  products += other.products;
}

ReceptionMeter::Piece& ReceptionMeter::present() {
  if (pieces_.empty()) pieces_.emplace_back();
  return pieces_.back();
}

void ReceptionMeter::on_bytes(std::size_t octets, std::optional<double> snr_db) {
  const bool full = 8 * present().octets >= mode_.rate_bps;
  if (full && pieces_.size() < kPiecesMax) pieces_.emplace_back();
  Piece& piece = present();
  piece.octets += octets;
  octets_ += octets;
  if (!snr_db) return;
  if (blocks_++ > 0) {
    const double product = *snr_db * last_db_;
    piece.products_db += product;
    ++piece.products;
    if (piece.blocks == 0) piece.product_before = product;
  }
  ++piece.blocks;
  last_db_ = *snr_db;
  piece.sum_db += *snr_db;
  piece.squares_db += *snr_db * *snr_db;
}

// The D_PDU ends in the last piece and reaches back by its length, so the octets before it are
// intact as well.
void ReceptionMeter::on_intact(std::size_t octets) {
  intact_ += octets;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend() && octets > 0; ++piece) {
    const std::size_t room = piece->octets - std::min(piece->octets, piece->octets_intact);
    const std::size_t of_it = std::min(octets, room);
    piece->octets_intact += of_it;
    octets -= of_it;
  }
  present().octets_intact += octets;
}

Reception ReceptionMeter::reception(const Piece& piece, bool managed) const {
  const double n = piece.blocks;
  const double mean = piece.sum_db / n;
  const double variance = std::max(0.0, piece.squares_db / n - mean * mean);
  const double together = piece.products > 0 ? piece.products_db / piece.products - mean * mean : 0;
  return {.mode = mode_,
          .octets = piece.octets,
          .octets_intact = piece.octets_intact,
          .blocks = piece.blocks,
          .snr_db = mean,
          .spread_db = std::sqrt(variance),
          .managed = managed,
          .correlation = variance > 0 ? std::clamp(together / variance, 0.0, 1.0) : 0};
}

// Splits the transmission where the blocks differ least from the means of the two parts.
std::vector<Reception> ReceptionMeter::receptions(bool managed) const {
  S5066_ASSERT(measured());
  Piece all;
  for (const Piece& piece : pieces_) all.add(piece);
  std::optional<std::pair<Piece, Piece>> best;
  double least = all.deviations();
  std::size_t pieces = 0;
  for (Piece head, tail; const Piece& piece : pieces_) {
    head.add(piece);
    ++pieces;
    tail = {.octets = all.octets - head.octets,
            .octets_intact = all.octets_intact - head.octets_intact,
            .blocks = all.blocks - head.blocks,
            .sum_db = all.sum_db - head.sum_db,
            .squares_db = all.squares_db - head.squares_db,
            .products_db = all.products_db - head.products_db,
            .products = all.products - head.products,
            .product_before = {}};
    if (std::min(head.blocks, tail.blocks) < kBlocksMin) continue;
    if (std::min(pieces, pieces_.size() - pieces) < kPiecesMin) continue;
    const double within = head.deviations() + tail.deviations();
    if (within >= least) continue;
    least = within;
    const double apart = std::abs(head.sum_db / head.blocks - tail.sum_db / tail.blocks);
    const double spread = std::hypot(kReadDb, std::sqrt(std::max(0.0, within) / all.blocks));
    best.reset();
    if (apart > kStepSpreads * spread) {
      if (const auto& across = pieces_[pieces].product_before) {
        tail.products_db -= *across;
        --tail.products;
      }
      best = {head, tail};
    }
  }
  if (!best) return {reception(all, managed)};
  Reception first = reception(best->first, managed);
  first.more_follows = true;
  return {first, reception(best->second, managed)};
}

}  // namespace s5066::dts
