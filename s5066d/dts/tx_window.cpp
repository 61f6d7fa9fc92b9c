// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/tx_window.h"

#include <utility>

namespace s5066::dts {

TxWindow::TxWindow(unsigned frames_max, LongFrameNumber lwe) : lwe_(lwe) {
  set_frames_max(frames_max);
}

void TxWindow::set_frames_max(unsigned frames_max) {
  S5066_ASSERT(frames_max >= 1 && frames_max <= kLargeWindowMax);
  frames_max_ = frames_max;
}

TxFrame& TxWindow::push(TxFrame frame) {
  S5066_ASSERT(!full());
  frame.number = uwe() + 1;
  frames_.push_back(std::move(frame));
  return frames_.back();
}

std::optional<pdu::LongAck> TxWindow::lengthened(const pdu::Ack& ack) const {
  const unsigned ahead = distance(short_number(lwe_), ack.rx_lwe);
  if (ahead > kWindowMax) return std::nullopt;
  return pdu::LongAck{.rx_lwe = lwe_ + static_cast<int>(ahead), .selective = ack.selective};
}

bool TxWindow::in_sync(const pdu::LongAck& ack) const {
  const unsigned ahead = distance(lwe_, ack.rx_lwe);
  if (ahead > frames_.size()) return false;  // test 4
  // Test 5: no frame after the last one sent may be acknowledged.
  for (int i = 1; i <= static_cast<int>(8 * ack.selective.size()); ++i) {
    const bool sent = ahead + static_cast<unsigned>(i) < frames_.size();
    if (!sent && pdu::is_acknowledged(ack, ack.rx_lwe + i)) return false;
  }
  return true;
}

std::vector<TxWindow::Acknowledged> TxWindow::acknowledge(const pdu::LongAck& ack) {
  S5066_ASSERT(in_sync(ack));
  std::vector<Acknowledged> fresh;
  const auto mark = [&](TxFrame& frame) {
    if (frame.acknowledged) return;
    frame.acknowledged = true;
    frame.due = false;
    fresh.push_back({frame.cpdu, frame.segment.size()});
    frame.segment = {};
  };
  const std::size_t below = distance(lwe_, ack.rx_lwe);
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (i < below || pdu::is_acknowledged(ack, frames_[i].number)) mark(frames_[i]);
  }
  while (!frames_.empty() && frames_.front().acknowledged) {
    frames_.pop_front();
    lwe_ = lwe_ + 1;
  }
  return fresh;
}

}  // namespace s5066::dts
