// SPDX-License-Identifier: Apache-2.0
// Stations on one frequency that all offer the same load to each other, and the outcome.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/support/sim_world.h"

namespace s5066::sim {

struct SharedLoad {
  std::size_t stations = 4;
  double load = 0.6;  // share of the capacity of one pair alone, for all stations together
  Duration lasting{};
};

struct SharedOutcome {
  double least_share = 1;  // share of a station's offered data that was delivered
  double collisions = 0;   // share of all transmissions
  std::uint64_t keyed_over_announced_burst = 0;
};

/// Each station offers a Poisson stream of U_PDUs to the others in turn.
SharedOutcome share_channel(Seed seed, const SharedLoad& offered);

}  // namespace s5066::sim
