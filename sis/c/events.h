// SPDX-License-Identifier: Apache-2.0
// Events of the client in the form of the C interface, with the memory that they point to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "s5066d/base/bytes.h"
#include "sis/c/s5066_sis.h"
#include "sis/client_events.h"
#include "sis/primitives.h"

namespace s5066::sis::c {

struct StoredEvent {
  s5066_sis_event event{};
  Bytes data;
  std::vector<s5066_sis_block> errored;
  std::vector<s5066_sis_block> missing;
  std::string text;

  /// Sets the pointers. The event stays valid while this object stays at its address.
  const s5066_sis_event& with_pointers();
};

StoredEvent stored(const Event& event);
/// Returns the last event of a client whose events were not fetched.
StoredEvent overflow();

std::uint32_t number_of(Address address);
Address address_of(std::uint32_t number);
s5066_sis_hard_link link_of(const HardLink& link);

}  // namespace s5066::sis::c
