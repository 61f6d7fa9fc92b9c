// SPDX-License-Identifier: Apache-2.0
// The transmission that is being received, as far as its octets have come.
#pragma once

#include <optional>

#include "s5066d/base/ids.h"
#include "s5066d/dts/reception_meter.h"

namespace s5066::dts {

struct HeardBurst {
  modem::Mode mode;
  std::optional<Instant> start;  // time of bit 0
  Instant bits_until{};          // expected time of the next bit
  std::optional<Address> source;
  ReceptionMeter meter{mode};
  std::optional<Instant> announced;  // its announced end
  bool beside_own = false;           // it began while we sent
  bool managed = false;              // it carried a type 6
};

}  // namespace s5066::dts
