// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sis_requests.h"

#include "s5066d/base/overloaded.h"

namespace s5066::gateways {

namespace in = sis::event;

sis::UnidataRequest SisRequests::request_of(SisUnidata unidata) {
  return {.priority = unidata.priority,
          .destination_sap = unidata.destination_sap,
          .destination = unidata.destination,
          .delivery = unidata.delivery,
          .time_to_live = (unidata.time_to_live_s + 1) / 2,
          .updu = std::move(unidata.updu)};
}

template <typename End>
std::optional<SisEvent> SisRequests::end_of(sis::RequestId id, End end) {
  const auto ended = requests_.extract(id);
  if (ended.empty()) return std::nullopt;
  end.id = ended.mapped();
  return end;
}

std::optional<SisEvent> SisRequests::event_of(const sis::Event& event) {
  using Told = std::optional<SisEvent>;
  const auto lost = [this]() -> Told {
    clear();
    return SisLost{};
  };
  return std::visit(
      Overloaded{
          [](const in::Bound& bound) -> Told { return SisBound{bound.mtu}; },
          [&](const in::Lost&) { return lost(); },
          [&](const in::Unbound&) { return lost(); },
          [&](const in::BindRejected&) { return lost(); },
          [](const in::FlowOff&) -> Told { return SisFlow{false}; },
          [](const in::FlowOn&) -> Told { return SisFlow{true}; },
          [](const in::Indication& arrived) -> Told {
            const sis::UnidataIndication& unidata = arrived.unidata;
            return SisIndication{unidata.source, unidata.source_sap, unidata.updu};
          },
          [this](const in::Confirmed& confirmed) { return end_of(confirmed.id, SisConfirmed{}); },
          [this](const in::Rejected& rejected) {
            return end_of(rejected.id, SisRejected{{}, rejected.reason});
          },
          [this](const in::Unresolved& end) { return end_of(end.id, SisUnresolved{}); },
          [this](const in::Sent& sent) -> Told {
            requests_.erase(sent.id);
            return std::nullopt;
          },
          [](const auto&) -> Told { return std::nullopt; },
      },
      event);
}

}  // namespace s5066::gateways
