// SPDX-License-Identifier: Apache-2.0
#include "sis/client_events.h"

#include <string_view>

#include "sis/text.h"

namespace s5066::sis {

namespace {

std::string with_request(std::string_view name, RequestId id) {
  return std::string(name) + " request=" + std::to_string(id.value);
}

std::string with_reason(std::string text, std::string_view reason) {
  return text + " reason=\"" + std::string(reason) + '"';
}

std::string with_link(std::string_view name, const HardLink& link) {
  return std::string(name) + " type=" + std::to_string(static_cast<unsigned>(link.type)) +
         " remote=" + to_string(link.remote);
}

std::string text(const event::Bound& e) {
  return "bound mtu=" + std::to_string(e.mtu);
}
std::string text(const event::BindRejected& e) {
  return with_reason("bind_rejected", to_string(e.reason));
}
std::string text(const event::Unbound& e) {
  return with_reason("unbound", to_string(e.reason));
}
std::string text(const event::Lost& e) {
  return with_reason("lost", to_string(e.why));
}
std::string text(const event::FlowOff&) {
  return "flow_off";
}
std::string text(const event::FlowOn&) {
  return "flow_on";
}
template <typename Unidata>
std::string text_of_unidata(std::string_view name, const Unidata& unidata) {
  std::string line = std::string(name) + " source=" + to_string(unidata.source) +
                     " octets=" + std::to_string(unidata.updu.size());
  if (!unidata.errored.empty()) line += " errored=" + std::to_string(unidata.errored.size());
  if (!unidata.missing.empty()) line += " missing=" + std::to_string(unidata.missing.size());
  return line;
}
std::string text(const event::Indication& e) {
  return text_of_unidata("indication", e.unidata);
}
std::string text(const event::ExpeditedIndication& e) {
  return text_of_unidata("expedited_indication", e.unidata);
}
std::string text(const event::Confirmed& e) {
  return with_request("confirmed", e.id);
}
std::string text(const event::Rejected& e) {
  return with_reason(with_request("rejected", e.id), to_string(e.reason));
}
std::string text(const event::Sent& e) {
  return with_request("sent", e.id);
}
std::string text(const event::Unresolved& e) {
  return with_request("unresolved", e.id);
}
std::string text(const event::HardLinkEstablished& e) {
  return with_link("hard_link_established", e.link);
}
std::string text(const event::HardLinkRejected& e) {
  return with_reason(with_link("hard_link_rejected", e.link), to_string(e.reason));
}
std::string text(const event::HardLinkTerminated& e) {
  return with_reason(with_link("hard_link_terminated", e.link), to_string(e.reason));
}
std::string text(const event::HardLinkOffered& e) {
  return with_link("hard_link_offered", e.link);
}
std::string text(const event::HardLinkLost& e) {
  return with_link("hard_link_lost", e.link);
}
std::string text(const event::Availability& e) {
  return with_reason("availability status=\"" + std::string(to_string(e.status)) + '"',
                     to_string(e.reason));
}
std::string text(const event::Management& e) {
  return "management message=" + std::to_string(e.message_type) +
         " octets=" + std::to_string(e.body.size());
}

}  // namespace

event::Reach event::reach_of(RejectReason reason) {
  switch (reason) {
    case RejectReason::larger_than_mtu:
    case RejectReason::mode_not_specified:
      return Reach::never_left;
    case RejectReason::destination_sap_not_bound:
      return Reach::refused_there;
    case RejectReason::ttl_expired:
    case RejectReason::destination_not_responding:
      break;
  }
  return Reach::unknown;
}

std::string to_string(const Event& event) {
  return std::visit([](const auto& e) { return text(e); }, event);
}

}  // namespace s5066::sis
