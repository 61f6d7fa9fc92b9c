// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/station_access.h"

#include <string>

namespace s5066::file_relay {

std::optional<RefuseMessage> refusal_of(const OfferMessage& offer, const StationAccess& access,
                                        std::uint32_t file_octets_max) {
  if (!access.put) {
    return RefuseMessage{offer.number, RefuseReason::not_allowed,
                         "this station may not send files here"};
  }
  const std::uint64_t most =
      std::min({std::uint64_t{file_octets_max}, std::uint64_t{access.file_octets_max},
                access.quota.inbox_octets_max, access.quota.arriving_octets_max});
  if (offer.manifest.size <= most && offer.manifest.image_octets <= most) return std::nullopt;
  return RefuseMessage{offer.number, RefuseReason::too_large,
                       "the limit here is " + std::to_string(most) + " octets"};
}

}  // namespace s5066::file_relay
