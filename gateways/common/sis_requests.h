// SPDX-License-Identifier: Apache-2.0
// Joins the cores of a gateway to its SIS client. The cores number their requests themselves, so
// that they need no client to run; this table knows which request of the client is which.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "gateways/common/sis_port.h"
#include "s5066d/base/result.h"
#include "sis/client_events.h"

namespace s5066::gateways {

class SisRequests {
 public:
  /// Hands the U_PDU to the client, which takes it or says why not.
  template <typename Client>
  Result<void> request(Client& client, SisUnidata unidata) {
    const SisRequestId id = unidata.id;
    const auto accepted = client.request_unidata(request_of(std::move(unidata)));
    if (!accepted) return accepted.error();
    requests_[*accepted] = id;
    return {};
  }
  /// Returns an event of the client in the terms of the cores; nothing if the cores need not know
  /// it. The end of a request is returned once.
  std::optional<SisEvent> event_of(const sis::Event& event);
  /// Forgets all requests: their client is gone.
  void clear() { requests_.clear(); }
  /// Returns the number of requests that have not ended.
  std::size_t size() const { return requests_.size(); }

 private:
  static sis::UnidataRequest request_of(SisUnidata unidata);
  template <typename End>
  std::optional<SisEvent> end_of(sis::RequestId id, End end);

  std::map<sis::RequestId, SisRequestId> requests_;
};

}  // namespace s5066::gateways
