// SPDX-License-Identifier: Apache-2.0
#include "sis/c/events.h"

namespace s5066::sis::c {

namespace {

constexpr std::uint32_t kGroupBit = Address::kMax + 1;

std::vector<s5066_sis_block> blocks_of(const std::vector<OctetRange>& ranges) {
  std::vector<s5066_sis_block> blocks;
  for (const OctetRange& range : ranges) blocks.push_back({range.offset, range.octets});
  return blocks;
}

void fill(StoredEvent& out, const event::Bound& e) {
  out.event.kind = S5066_SIS_BOUND;
  out.event.mtu = e.mtu;
}
void fill(StoredEvent& out, const event::BindRejected& e) {
  out.event.kind = S5066_SIS_BIND_REJECTED;
  out.event.reason = static_cast<int>(e.reason);
}
void fill(StoredEvent& out, const event::Unbound& e) {
  out.event.kind = S5066_SIS_UNBOUND;
  out.event.reason = static_cast<int>(e.reason);
}
void fill(StoredEvent& out, const event::Lost&) {
  out.event.kind = S5066_SIS_LOST;
}
void fill(StoredEvent& out, const event::FlowOff&) {
  out.event.kind = S5066_SIS_FLOW_OFF;
}
void fill(StoredEvent& out, const event::FlowOn&) {
  out.event.kind = S5066_SIS_FLOW_ON;
}

template <typename Unidata>
void fill_data(StoredEvent& out, const Unidata& unidata) {
  out.event.kind = S5066_SIS_DATA;
  out.event.source = number_of(unidata.source);
  out.event.source_sap = unidata.source_sap.value;
  out.event.destination = number_of(unidata.destination);
  out.event.destination_sap = unidata.destination_sap.value;
  out.event.mode = static_cast<std::uint8_t>(unidata.mode);
  out.data = unidata.updu;
  out.errored = blocks_of(unidata.errored);
  out.missing = blocks_of(unidata.missing);
}
void fill(StoredEvent& out, const event::Indication& e) {
  fill_data(out, e.unidata);
  out.event.priority = e.unidata.priority;
}
void fill(StoredEvent& out, const event::ExpeditedIndication& e) {
  fill_data(out, e.unidata);
  out.event.expedited = 1;
}

void fill(StoredEvent& out, const event::Confirmed& e) {
  out.event.kind = S5066_SIS_CONFIRMED;
  out.event.request = e.id.value;
}
std::uint8_t number_of(event::Reach reach) {
  switch (reach) {
    case event::Reach::never_left:
      return S5066_SIS_REACH_NEVER_LEFT;
    case event::Reach::refused_there:
      return S5066_SIS_REACH_REFUSED_THERE;
    case event::Reach::unknown:
      break;
  }
  return S5066_SIS_REACH_UNKNOWN;
}
void fill(StoredEvent& out, const event::Rejected& e) {
  out.event.kind = S5066_SIS_REJECTED;
  out.event.reach = number_of(e.reach());
  out.event.request = e.id.value;
  out.event.reason = static_cast<int>(e.reason);
}
void fill(StoredEvent& out, const event::Sent& e) {
  out.event.kind = S5066_SIS_SENT;
  out.event.request = e.id.value;
}
void fill(StoredEvent& out, const event::Unresolved& e) {
  out.event.kind = S5066_SIS_UNRESOLVED;
  out.event.request = e.id.value;
}

void fill(StoredEvent& out, const event::HardLinkEstablished& e) {
  out.event.kind = S5066_SIS_LINK_ESTABLISHED;
  out.event.status = e.status;
  out.event.link = link_of(e.link);
}
void fill(StoredEvent& out, const event::HardLinkRejected& e) {
  out.event.kind = S5066_SIS_LINK_REJECTED;
  out.event.reason = static_cast<int>(e.reason);
  out.event.link = link_of(e.link);
}
void fill(StoredEvent& out, const event::HardLinkTerminated& e) {
  out.event.kind = S5066_SIS_LINK_TERMINATED;
  out.event.reason = static_cast<int>(e.reason);
  out.event.link = link_of(e.link);
}
void fill(StoredEvent& out, const event::HardLinkOffered& e) {
  out.event.kind = S5066_SIS_LINK_OFFERED;
  out.event.link = link_of(e.link);
}
void fill(StoredEvent& out, const event::HardLinkLost& e) {
  out.event.kind = S5066_SIS_LINK_LOST;
  out.event.link = link_of(e.link);
}
void fill(StoredEvent& out, const event::Availability& e) {
  out.event.kind = S5066_SIS_AVAILABILITY;
  out.event.status = static_cast<std::uint8_t>(e.status);
  out.event.reason = static_cast<int>(e.reason);
}
void fill(StoredEvent& out, const event::Management& e) {
  out.event.kind = S5066_SIS_MANAGEMENT;
  out.event.message_type = e.message_type;
  out.data = e.body;
}

}  // namespace

const s5066_sis_event& StoredEvent::with_pointers() {
  event.data = data.data();
  event.size = data.size();
  event.errored = errored.data();
  event.errored_count = errored.size();
  event.missing = missing.data();
  event.missing_count = missing.size();
  event.text = text.c_str();
  return event;
}

StoredEvent stored(const Event& event) {
  StoredEvent out;
  std::visit([&out](const auto& e) { fill(out, e); }, event);
  out.text = to_string(event);
  return out;
}

StoredEvent overflow() {
  StoredEvent out;
  out.event.kind = S5066_SIS_OVERFLOW;
  out.text = "overflow: events were not fetched";
  return out;
}

std::uint32_t number_of(Address address) {
  return address.value | (address.group ? kGroupBit : 0);
}

Address address_of(std::uint32_t number) {
  return {number & Address::kMax, (number & kGroupBit) != 0};
}

s5066_sis_hard_link link_of(const HardLink& link) {
  return {.remote = number_of(link.remote),
          .type = static_cast<std::uint8_t>(link.type),
          .priority = link.priority,
          .remote_sap = link.remote_sap.value,
          .reserved = 0};
}

}  // namespace s5066::sis::c
