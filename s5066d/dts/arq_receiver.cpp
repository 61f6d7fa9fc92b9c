#include "s5066d/dts/arq_receiver.h"

#include <utility>

namespace s5066::dts {

void ArqReceiver::restart(FrameNumber lwe) {
  window_ = RxWindow(lwe);
  reassembler_.restart();
}

bool ArqReceiver::on_data(FrameNumber number, const pdu::DataFlags& flags, Bytes segment,
                          bool segment_ok) {
  switch (window_.place(number, flags)) {
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
  counters_.add(Counter::user_octets_received, segment.size());
  window_.on_received(number);
  reassembler_.on_segment(window_, number, flags, std::move(segment));
  for (FrameNumber passed; window_.advance(passed);) reassembler_.on_passed(passed);
  return true;
}

}  // namespace s5066::dts
