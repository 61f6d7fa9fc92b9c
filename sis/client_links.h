// SPDX-License-Identifier: Apache-2.0
// The hard links of a SIS client (A.2.1.18 to A.2.1.25): those it requested and those it was
// offered. It decides which primitives to send and which events to report. Each requested or
// offered link ends in one event, unless the application itself ended it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "sis/client_events.h"
#include "sis/primitives.h"

namespace s5066::sis {

class ClientLinks {
 public:
  struct Config {
    std::size_t links_max = 4;   // requested, offered and up, together
    Duration request_timeout{};  // for the server's answer
  };

  explicit ClientLinks(const Config& config) : config_(config) {}

  /// See the methods of the same names in ClientCore.
  Result<void> request(Instant now, const HardLink& link);
  Result<void> end(Address remote);
  Result<void> accept(const HardLink& link);
  Result<void> reject(const HardLink& link, std::uint8_t reason);

  // Primitives of the server. They return false for a link that we do not know.
  bool on(const HardLinkEstablished& p);
  bool on(const HardLinkRejected& p);
  bool on(const HardLinkTerminated& p);
  bool on(const HardLinkIndication& p);

  /// Call when the binding has ended, and all links with it.
  void lose_all();
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  std::optional<Primitive> poll_primitive();
  std::optional<Event> poll_event();

 private:
  enum class State : std::uint8_t {
    requested,  // by us; the server's answer is to come
    offered,    // to us; our answer is to come
    up,
  };
  struct Entry {
    HardLink link;
    State state = State::requested;
    Instant since{};
  };

  std::vector<Entry>::iterator find(const HardLink& link, State state);
  Result<void> answer(const HardLink& link, Primitive primitive, bool accepted);

  const Config config_;
  std::vector<Entry> entries_;  // requested ones in order of time
  std::deque<Primitive> primitives_;
  std::deque<Event> events_;
};

}  // namespace s5066::sis
