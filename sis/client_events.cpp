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
std::string text(const event::Indication& e) {
  return "indication source=" + to_string(e.unidata.source) +
         " octets=" + std::to_string(e.unidata.updu.size());
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

}  // namespace

std::string to_string(const Event& event) {
  return std::visit([](const auto& e) { return text(e); }, event);
}

}  // namespace s5066::sis
