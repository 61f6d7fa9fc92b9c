// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/arq_receiver.h"

#include <utility>

#include "s5066d/dts/tx_window.h"

namespace s5066::dts {

void ArqReceiver::restart(LongFrameNumber lwe) {
  window_ = RxWindow(lwe);
  wants_long_ack_ = false;
  reassembler_.restart();
}

bool ArqReceiver::on_data(FrameNumber number, const pdu::DataFlags& flags, Bytes segment,
                          bool segment_ok) {
  const LongFrameNumber meant = window_.lengthened(number);
  const auto place = window_.place(meant, flags, kWindowMax);
  if (!take(meant, place, flags, std::move(segment), segment_ok)) return false;
  wants_long_ack_ = false;
  return true;
}

bool ArqReceiver::on_data(LongFrameNumber number, const pdu::DataFlags& flags, Bytes segment,
                          bool segment_ok) {
  const auto place = window_.place(number, flags, kLargeWindowMax);
  if (!take(number, place, flags, std::move(segment), segment_ok)) return false;
  wants_long_ack_ = true;
  return true;
}

bool ArqReceiver::take(LongFrameNumber number, RxWindow::Place place, const pdu::DataFlags& flags,
                       Bytes segment, bool segment_ok) {
  switch (place) {
    case RxWindow::Place::out_of_window:
      counters_.add(Counter::frames_out_of_window);
      return false;
    case RxWindow::Place::duplicate:
      counters_.add(Counter::frames_duplicate);
      return true;
    case RxWindow::Place::fresh:
      break;
  }
  // A DROP frame carries nothing that could be damaged (C.3.4(7)).
  if (!segment_ok && !flags.drop) {
    window_.on_heard(number);
    return true;
  }
  if (flags.drop) segment.clear();
  if (number != window_.lwe() && segment.size() > held_octets_max_ - reassembler_.octets_held()) {
    counters_.add(Counter::frames_not_held);
    window_.on_heard(number);
    return true;
  }
  counters_.add(Counter::user_octets_received, segment.size());
  ++frames_taken_;
  window_.on_received(number);
  reassembler_.on_segment(window_, number, flags, std::move(segment));
  for (LongFrameNumber passed; window_.advance(passed);) reassembler_.on_passed(passed);
  return true;
}

}  // namespace s5066::dts
