// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/rx_window.h"

#include <algorithm>

#include "s5066d/dts/tx_window.h"

namespace s5066::dts {
namespace {

/// Returns how far `number` is ahead of `from`; negative if it is behind.
int ahead(LongFrameNumber from, LongFrameNumber number) {
  return static_cast<std::int16_t>(distance(from, number));
}

}  // namespace

LongFrameNumber RxWindow::lengthened(FrameNumber number) const {
  return lwe_ + static_cast<std::int8_t>(distance(short_number(lwe_), number));
}

// W is 128 for numbers of one octet, whatever the peer has configured. A smaller window is not
// announced, and need not be (C.6.3.2).
RxWindow::Place RxWindow::place(LongFrameNumber number, const pdu::DataFlags& flags,
                                unsigned frames_max) const {
  const int n = ahead(lwe_, number);  // positions counted from RX LWE
  const int uwe = ahead(lwe_, uwe_);
  const int top = static_cast<int>(frames_max) - 1;
  const int bottom = uwe - top;
  const bool test1 = !flags.uwe || (uwe <= n && n <= top);
  const bool test2 = !flags.lwe || (bottom <= n && n <= 0);
  const bool test3 = bottom <= n && n <= top;
  if (!test1 || !test2 || !test3) return Place::out_of_window;
  return n < 0 || is_received(number) ? Place::duplicate : Place::fresh;
}

void RxWindow::on_heard(LongFrameNumber number) {
  S5066_ASSERT(distance(lwe_, number) < kLargeWindowMax);
  // RX UWE may stand at RX LWE - 1, so compare counts of frames from RX LWE on.
  const unsigned held = distance(lwe_, uwe_ + 1);
  if (distance(lwe_, number) >= held) uwe_ = number;
}

void RxWindow::on_received(LongFrameNumber number) {
  S5066_ASSERT(!is_received(number));
  on_heard(number);
  const std::size_t place = distance(lwe_, number);
  if (received_.size() <= place) received_.resize(place + 1);
  received_[place] = true;
}

bool RxWindow::is_received(LongFrameNumber number) const {
  const std::size_t place = distance(lwe_, number);
  return place < received_.size() && received_[place];
}

bool RxWindow::advance(LongFrameNumber& passed) {
  if (received_.empty() || !received_.front()) return false;
  received_.pop_front();
  passed = lwe_;
  lwe_ = lwe_ + 1;
  return true;
}

pdu::Ack RxWindow::ack() const {
  const int beyond = ahead(lwe_, uwe_);
  const int told = std::min(beyond, static_cast<int>(8 * pdu::kSelectiveOctetsMax));
  pdu::Ack ack = pdu::make_ack(short_number(lwe_), short_number(lwe_ + told));
  for (int i = 1; i <= told; ++i) {
    if (is_received(lwe_ + i)) pdu::set_acknowledged(ack, ack.rx_lwe + i);
  }
  return ack;
}

pdu::LongAck RxWindow::long_ack(std::size_t selective_octets_max) const {
  const auto beyond = static_cast<std::size_t>(std::max(0, ahead(lwe_, uwe_)));
  const std::size_t octets = std::min((beyond + 7) / 8, selective_octets_max);
  pdu::LongAck ack{.rx_lwe = lwe_, .selective = Bytes(octets)};
  for (std::size_t i = 0; i < std::min(beyond, 8 * octets); ++i) {
    if (!is_received(lwe_ + static_cast<int>(i) + 1)) continue;
    ack.selective[i / 8] |= static_cast<std::uint8_t>(1u << i % 8);
  }
  return ack;
}

}  // namespace s5066::dts
