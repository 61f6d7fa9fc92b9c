#include "s5066d/dts/tx_window.h"

#include <utility>

namespace s5066::dts {

TxWindow::TxWindow(unsigned frames_max) : frames_max_(frames_max) {
  S5066_ASSERT(frames_max >= 1 && frames_max <= kWindowMax);
}

TxFrame& TxWindow::push(TxFrame frame) {
  S5066_ASSERT(!full());
  frame.number = uwe() + 1;
  frames_.push_back(std::move(frame));
  return frames_.back();
}

bool TxWindow::in_sync(const pdu::Ack& ack) const {
  const unsigned ahead = distance(lwe_, ack.rx_lwe);
  if (ahead > frames_.size()) return false;  // test 4
  // Test 5. Bit k stands for RX LWE + 1 + k; the last frame sent is frames_.size() - 1 past LWE.
  for (std::size_t bit = 0; bit < ack.selective.size() * 8; ++bit) {
    const bool set = ack.selective[bit / 8] >> (bit % 8) & 1;
    if (set && ahead + 1 + bit >= frames_.size()) return false;
  }
  return true;
}

std::vector<TxWindow::Acknowledged> TxWindow::acknowledge(const pdu::Ack& ack) {
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
  for (std::size_t i = 0; i < below; ++i) mark(frames_[i]);
  for (std::size_t bit = 0; bit < ack.selective.size() * 8; ++bit) {
    if (ack.selective[bit / 8] >> (bit % 8) & 1) mark(frames_[below + 1 + bit]);
  }
  while (!frames_.empty() && frames_.front().acknowledged) {
    frames_.pop_front();
    lwe_ = lwe_ + 1;
  }
  return fresh;
}

}  // namespace s5066::dts
