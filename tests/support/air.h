// SPDX-License-Identifier: Apache-2.0
// The medium that joins the nodes of a simulated world: a modem port for each station, on the
// world's clock.
#pragma once

#include <cstddef>
#include <functional>

#include "modem/api/port.h"

namespace s5066::sim {

class Air {
 public:
  using Deliver = std::function<void(const modem::Event&)>;

  virtual ~Air() = default;
  /// Returns the station's number, counted from 0.
  virtual std::size_t add_station(Deliver deliver) = 0;
  virtual void command(std::size_t station, const modem::Command& command) = 0;
};

}  // namespace s5066::sim
