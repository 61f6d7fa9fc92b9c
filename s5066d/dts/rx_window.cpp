#include "s5066d/dts/rx_window.h"

#include "s5066d/dts/tx_window.h"

namespace s5066::dts {

// W is always 128 here: a peer with a smaller window does not tell us, and needs not (C.6.3.2).
RxWindow::Place RxWindow::place(FrameNumber number, const pdu::DataFlags& flags) const {
  const FrameNumber top = lwe_ + static_cast<int>(kWindowMax - 1);
  const FrameNumber bottom = uwe_ - static_cast<int>(kWindowMax - 1);
  const bool test1 = !flags.uwe || distance(uwe_, number) <= distance(uwe_, top);
  const bool test2 = !flags.lwe || distance(bottom, number) <= distance(bottom, lwe_);
  const bool test3 = distance(bottom, number) <= distance(bottom, top);
  if (!test1 || !test2 || !test3) return Place::out_of_window;
  if (distance(lwe_, number) >= kWindowMax || received_[number.value]) return Place::duplicate;
  return Place::fresh;
}

void RxWindow::on_heard(FrameNumber number) {
  S5066_ASSERT(distance(lwe_, number) < kWindowMax);
  // RX UWE may stand at RX LWE - 1, so compare counts of frames from RX LWE on.
  const unsigned held = distance(lwe_, uwe_ + 1);
  if (distance(lwe_, number) >= held) uwe_ = number;
}

void RxWindow::on_received(FrameNumber number) {
  S5066_ASSERT(!received_[number.value]);
  on_heard(number);
  received_[number.value] = true;
}

bool RxWindow::advance(FrameNumber& passed) {
  if (!received_[lwe_.value]) return false;
  received_[lwe_.value] = false;
  passed = lwe_;
  lwe_ = lwe_ + 1;
  return true;
}

pdu::Ack RxWindow::ack() const {
  pdu::Ack ack = pdu::make_ack(lwe_, uwe_);
  const unsigned beyond = distance(lwe_, uwe_ + 1);  // frames from RX LWE to RX UWE
  for (unsigned i = 1; i < beyond; ++i) {
    const FrameNumber number = lwe_ + static_cast<int>(i);
    if (received_[number.value]) pdu::set_acknowledged(ack, number);
  }
  return ack;
}

}  // namespace s5066::dts
