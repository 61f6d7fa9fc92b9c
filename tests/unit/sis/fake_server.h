// SPDX-License-Identifier: Apache-2.0
// Plays the server of a ClientCore in virtual time. It carries out the core's actions, answers as
// scripted, and keeps what it saw. Only the test moves the time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "s5066d/base/rng.h"
#include "sis/client_core.h"
#include "sis/codec.h"
#include "sis/framer.h"
#include "tests/support/virtual_time.h"

namespace s5066::sis {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Address kPeer{0x01020305};

inline UnidataRequest hello(std::string_view text = "hello",
                            Confirmation confirmation = Confirmation::node) {
  return {.priority = 5,
          .destination_sap = {6},
          .destination = kPeer,
          .delivery = {.mode = TransmissionMode::arq, .confirmation = confirmation},
          .updu = Bytes(text.begin(), text.end())};
}

constexpr Duration kTick = milliseconds(1);

inline ErrorCode code_of(const Result<RequestId>& result) {
  return result.ok() ? ErrorCode::io : result.error().code;
}

inline UnidataRequestConfirm confirm(std::string_view part) {
  return {
      .destination_sap = {6}, .destination = kPeer, .updu_part = Bytes(part.begin(), part.end())};
}

inline UnidataRequestRejected reject(std::string_view part, RejectReason reason) {
  return {.reason = reason,
          .destination_sap = {6},
          .destination = kPeer,
          .updu_part = Bytes(part.begin(), part.end())};
}

class FakeServer {
 public:
  explicit FakeServer(ClientCore::Config config = {.sap = {6}, .retry_jitter = 0})
      : core(config, rng_) {}

  /// Carries out the actions of the core until there are none. Octets count as sent at once, unless
  /// `block`.
  void settle() {
    while (const auto action = core.poll_action()) {
      if (std::holds_alternative<ClientCore::Connect>(*action)) {
        ++connects;
        connected = false;
        framer_ = {};
      } else if (std::holds_alternative<ClientCore::Disconnect>(*action)) {
        ++disconnects;
        connected = false;
      } else {
        EXPECT_TRUE(connected);
        take(std::get<ClientCore::SendBytes>(*action).octets);
        if (!block) core.on_sent(now);
      }
    }
    while (auto event = core.poll_event()) events.push_back(*std::move(event));
  }

  void start() {
    core.start(now);
    settle();
  }
  void accept() {
    connected = true;
    core.on_connected(now);
    settle();
  }
  void say(const Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    say_octets(octets);
  }
  void say_octets(ByteSpan octets) {
    core.on_bytes(now, octets);
    settle();
  }
  void hang_up() {
    connected = false;
    core.on_disconnected(now, Error{ErrorCode::io, "end of stream"});
    settle();
  }
  /// Connects and binds the client, and then clears `seen` and `events`.
  void bring_up(std::uint16_t mtu = kMtu) {
    start();
    accept();
    say(BindAccepted{.sap = {6}, .mtu = mtu});
    ASSERT_TRUE(core.bound());
    seen.clear();
    events.clear();
  }
  Result<RequestId> request(UnidataRequest unidata) {
    auto result = core.request_unidata(now, std::move(unidata));
    settle();
    return result;
  }

  /// Advances the time and fires every deadline on the way.
  void run_for(Duration duration) {
    const auto next = [this] {
      const auto due = core.next_deadline();
      EXPECT_GE(due.value_or(now), now) << "a deadline in the past would spin";
      return due;
    };
    sim::run_deadlines(now, now + duration, next, [this] {
      core.on_deadline(now);
      settle();
    });
    core.on_deadline(now);  // early and spurious calls are harmless
    settle();
  }

  template <typename T>
  std::size_t count() const {
    std::size_t n = 0;
    for (const Event& event : events) n += std::holds_alternative<T>(event) ? 1 : 0;
    return n;
  }
  template <typename T>
  const T& last() const {
    static const T kNone{};
    for (auto it = events.rbegin(); it != events.rend(); ++it) {
      if (const T* event = std::get_if<T>(&*it)) return *event;
    }
    ADD_FAILURE() << "no such event";
    return kNone;
  }
  template <typename T>
  std::size_t saw() const {
    std::size_t n = 0;
    for (const Primitive& primitive : seen) n += std::holds_alternative<T>(primitive) ? 1 : 0;
    return n;
  }

 private:
  void take(ByteSpan octets) {
    framer_.push(octets);
    while (const auto item = framer_.poll()) {
      const auto* frame = std::get_if<Framer::Frame>(&*item);
      ASSERT_NE(frame, nullptr);
      auto primitive = decode(frame->body);
      ASSERT_TRUE(primitive.ok());
      EXPECT_NE(direction(type_of(*primitive)), Direction::to_client);
      seen.push_back(*std::move(primitive));
    }
    EXPECT_FALSE(framer_.partial()) << "whole primitives only";
  }

  Rng rng_{1};
  Framer framer_;

 public:
  ClientCore core;
  Instant now{};
  bool connected = false;
  bool block = false;
  int connects = 0;
  int disconnects = 0;
  std::vector<Primitive> seen;
  std::vector<Event> events;
};

}  // namespace s5066::sis
