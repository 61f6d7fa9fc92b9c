// SPDX-License-Identifier: Apache-2.0
// Joins a gateway core to a client of a simulated node: requests become primitives, and primitives
// become events of the core.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gateways/common/sis_port.h"
#include "tests/support/sim_world.h"
#include "tests/support/unidata_octets.h"
#include "tests/support/virtual_time.h"

namespace s5066::sim {

class GatewayClient {
 public:
  GatewayClient(World& world, std::size_t station, SapId sap)
      : world_(world), client_(world.add_client(station, sap, sis::Confirmation::node)) {}

  bool is(const Client& client) const { return &client == &client_; }

  /// Returns false for a primitive that means nothing to a core.
  bool note(const sis::Primitive& primitive) {
    if (std::holds_alternative<sis::DataFlowOn>(primitive)) {
      news_.push_back(gateways::SisFlow{true});
    } else if (std::holds_alternative<sis::DataFlowOff>(primitive)) {
      news_.push_back(gateways::SisFlow{false});
    } else if (const auto* in = std::get_if<sis::UnidataIndication>(&primitive)) {
      news_.push_back(gateways::SisIndication{in->source, in->source_sap, in->updu});
    } else if (const auto* yes = std::get_if<sis::UnidataRequestConfirm>(&primitive)) {
      const auto id = take_request(yes->destination, yes->updu_part);
      if (id) news_.push_back(gateways::SisConfirmed{*id});
    } else if (const auto* no = std::get_if<sis::UnidataRequestRejected>(&primitive)) {
      const auto id = take_request(no->destination, no->updu_part);
      if (id) news_.push_back(gateways::SisRejected{*id, no->reason});
    } else {
      return false;
    }
    return true;
  }
  /// Gives the news to the core and calls its timer if that is due. `take` gets each action that is
  /// no U_PDU for the node.
  template <typename Core, typename Take>
  void serve(Core& core, Take take) {
    const Instant now = world_.now();
    if (const auto next = core.next_deadline(); next && *next <= now) core.on_deadline(now);
    for (;;) {
      take_all([&] { return core.poll_action(); },
               [&](auto& action) {
                 auto* updu = std::get_if<gateways::SisUnidata>(&action);
                 if (updu) return send(std::move(*updu));
                 take(action);
               });
      if (news_.empty()) return;
      const gateways::SisEvent event = std::move(news_.front());
      news_.pop_front();
      core.on_sis(now, event);
    }
  }

 private:
  struct Request {
    gateways::SisRequestId id;
    Address destination;
    Bytes updu;
  };
  void send(gateways::SisUnidata updu) {
    requests_.push_back({updu.id, updu.destination, updu.updu});
    Bytes octets;
    encode_to(octets, std::move(updu));
    world_.write(client_, octets);
  }
  std::optional<gateways::SisRequestId> take_request(Address destination, const Bytes& part) {
    const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const Request& one) {
      return one.destination == destination && part.size() <= one.updu.size() &&
             std::equal(part.begin(), part.end(), one.updu.begin());
    });
    if (found == requests_.end()) return std::nullopt;
    const auto id = found->id;
    requests_.erase(found);
    return id;
  }

  World& world_;
  Client& client_;
  std::deque<gateways::SisEvent> news_;
  std::vector<Request> requests_;
};

}  // namespace s5066::sim
