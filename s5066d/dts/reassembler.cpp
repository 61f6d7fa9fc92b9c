// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/reassembler.h"

#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::dts {

void Reassembler::restart() {
  slots_.clear();
  octets_held_ = 0;
  assembly_ = {};
  open_ = false;
  discarding_ = false;
}

void Reassembler::on_segment(const RxWindow& window, LongFrameNumber number,
                             const pdu::DataFlags& flags, Bytes segment) {
  octets_held_ += segment.size();
  slots_[number.value] = Slot{flags, std::move(segment), false};
  if (!flags.in_order) deliver_early(window, number);
}

// Delivers a C_PDU whose frames have all come, although older frames are missing. A C_PDU that
// began before RX LWE is left alone, because RX LWE is about to pass through it.
void Reassembler::deliver_early(const RxWindow& window, LongFrameNumber number) {
  LongFrameNumber first = number;
  while (!slots_[first.value].flags.start) {
    if (first == window.lwe() || !window.is_received(first - 1)) return;
    first = first - 1;
  }
  LongFrameNumber last = number;
  while (!slots_[last.value].flags.end) {
    if (last == window.uwe() || !window.is_received(last + 1)) return;
    last = last + 1;
  }
  Bytes cpdu;
  bool dropped = false;
  for (LongFrameNumber n = first;; n = n + 1) {
    Slot& slot = slots_[n.value];
    dropped = dropped || slot.flags.drop;
    append(cpdu, slot.segment);
    octets_held_ -= slot.segment.size();
    slot.segment = {};
    slot.delivered = true;
    if (n == last) break;
  }
  if (dropped) return;
  if (cpdu.size() > cpdu_octets_max_) {
    counters_.add(Counter::cpdus_malformed);
    return;
  }
  complete_.push_back(std::move(cpdu));
}

void Reassembler::on_passed(LongFrameNumber number) {
  const Slot slot = std::move(slots_.extract(number.value).mapped());
  octets_held_ -= slot.segment.size();
  if (slot.delivered) return;
  if (slot.flags.start) {
    if (open_) counters_.add(Counter::cpdus_malformed);  // the C_PDU before never ended
    assembly_.clear();
    open_ = true;
    discarding_ = false;
  } else if (!open_) {
    // A segment without a beginning is the sender's fault, unless it is the tail of a drop.
    if (!slot.flags.drop) counters_.add(Counter::cpdus_malformed);
    return;
  }
  discarding_ = discarding_ || slot.flags.drop;
  if (!discarding_ && assembly_.size() + slot.segment.size() > cpdu_octets_max_) {
    counters_.add(Counter::cpdus_malformed);
    discarding_ = true;
  }
  if (!discarding_) append(assembly_, slot.segment);
  if (!slot.flags.end) return;
  if (!discarding_) complete_.push_back(std::move(assembly_));
  assembly_ = {};
  open_ = false;
  discarding_ = false;
}

std::optional<Bytes> Reassembler::poll() {
  return take_front(complete_);
}

}  // namespace s5066::dts
