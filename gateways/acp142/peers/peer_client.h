// SPDX-License-Identifier: Apache-2.0
// The part that the protocols for stations of other makes have in common: the state of the SIS
// client, the U_PDUs that the node has, and the turns of the stations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/common/sis_port.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

/// Returns the time of so many octets on a line of this rate.
inline Duration airtime_at(std::uint32_t line_rate_bps, std::size_t octets) {
  return from_seconds(8.0 * static_cast<double>(octets) / line_rate_bps);
}

/// `Request` is what a protocol remembers of a U_PDU until the node answers.
template <typename Request>
class PeerClient {
 public:
  /// A node whose MTU does not exceed the protocol's header counts as not bound.
  void on_bound(const gateways::SisBound& bound, std::size_t header_octets) {
    flow_on_ = true;
    mtu_.reset();
    if (bound.mtu > header_octets) mtu_ = bound.mtu;
  }
  void on_lost() {
    mtu_.reset();
    requests_.clear();
  }
  void on_flow(const gateways::SisFlow& flow) { flow_on_ = flow.on; }
  /// While quiet (EMCON), nothing may be handed to the node.
  void set_quiet(bool quiet) { quiet_ = quiet; }

  bool bound() const { return mtu_.has_value(); }
  /// Call only if bound().
  std::size_t mtu() const { return *mtu_; }
  /// True if a U_PDU may be handed to the node in spite of its flow control.
  bool may_answer() const { return mtu_ && !quiet_; }
  bool may_send() const { return may_answer() && flow_on_; }

  /// Returns a number for a U_PDU whose answer by the node does not matter.
  gateways::SisRequestId new_id() { return {++last_request_}; }
  gateways::SisRequestId add(const Request& request) {
    const gateways::SisRequestId id = new_id();
    requests_[id] = request;
    return id;
  }
  /// Forgets a U_PDU that the node has answered; nothing if it is not known.
  std::optional<Request> take(gateways::SisRequestId id) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) return std::nullopt;
    const Request request = found->second;
    requests_.erase(found);
    return request;
  }

  /// Calls `next(station, lane)` for the stations in turn, beginning behind the one that was served
  /// last, and returns the first U_PDU. Returns nothing if the node has `outstanding_max` U_PDUs.
  template <typename Lanes, typename Next>
  std::optional<gateways::SisUnidata> serve(Lanes& lanes, std::size_t outstanding_max, Next next) {
    std::size_t outstanding = 0;
    for (const auto& [node, lane] : lanes) outstanding += lane.outstanding;
    if (outstanding >= outstanding_max) return std::nullopt;
    auto at = lanes.upper_bound(served_);
    for (std::size_t i = 0; i < lanes.size(); ++i, ++at) {
      if (at == lanes.end()) at = lanes.begin();
      if (std::optional<gateways::SisUnidata> unidata = next(at->first, at->second)) {
        served_ = at->first;
        return unidata;
      }
    }
    return std::nullopt;
  }

 private:
  std::map<gateways::SisRequestId, Request> requests_;
  std::uint64_t last_request_ = 0;
  NodeId served_{};  // the station whose U_PDU went last
  std::optional<std::size_t> mtu_;
  bool flow_on_ = true;
  bool quiet_ = false;
};

}  // namespace s5066::acp142
