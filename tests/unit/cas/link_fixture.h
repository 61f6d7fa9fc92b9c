// SPDX-License-Identifier: Apache-2.0
// Runs a channel access core between a subnetwork interface and two other stations. The test plays
// all three.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

inline constexpr Address kPeer{0x01020305};
inline constexpr Address kOther{0x01020306};

class Link : public ::testing::Test {
 protected:
  Config config = [] {
    Config c;
    c.exchange_time = seconds(4);
    c.longest_cpdu_time = seconds(20);
    c.answer_wait_exchanges = 3;
    return c;
  }();
  Rng rng{1};
  Counters counters;
  TraceRing trace;
  std::optional<ChannelAccess> core;
  Instant now{};

  Link() { restart(); }
  void restart() {
    core.emplace(config, rng, counters, trace);
    words_.clear();
  }

  /// Returns all actions since the last call as short words. C_PDUs to the peer appear in hex.
  /// Reports of links that are being broken go to `closing`.
  std::string said() {
    drain();
    return std::exchange(words_, {});
  }
  /// Takes all actions; said() returns them.
  void drain() {
    while (auto action = core->poll_action()) {
      if (const auto* link = std::get_if<LinkClosing>(&*action)) {
        closing.push_back(*link);
      } else {
        words_ += (words_.empty() ? "" : " ") + word(*action);
      }
    }
  }
  std::optional<Instant> due() {
    drain();
    return core->next_deadline();
  }
  std::string word(const Action& action) {
    if (const auto* request = std::get_if<dts::CpduRequest>(&action)) {
      last_id = request->id;
      last_peer = request->destination;
      return (request->service == Service::expedited_nonarq ? "" : "arq:") + to_hex(request->cpdu);
    }
    if (const auto* make = std::get_if<MakeConnection>(&action)) {
      return make->reset ? "make-reset" : "make";
    }
    if (std::holds_alternative<TerminateConnection>(action)) return "terminate";
    if (const auto* made = std::get_if<LinkMade>(&action)) {
      return made->we_called ? "made-by-us" : "made-by-peer";
    }
    if (const auto* rejected = std::get_if<LinkRejected>(&action)) {
      if (!rejected->reason) return "no-answer";
      return "rejected-" + std::to_string(static_cast<int>(*rejected->reason));
    }
    if (const auto* broken = std::get_if<LinkBroken>(&action)) {
      return "broken-" + std::string(to_string(broken->end));
    }
    if (std::holds_alternative<SpduIndication>(action)) return "spdu";
    if (std::holds_alternative<SpduConfirm>(action)) return "confirm";
    return "reject";
  }

  void hear(std::string_view hex, Service service = Service::expedited_nonarq) {
    core->on_cpdu(now, {service, kPeer, Address{1}, *from_hex(hex)});
  }
  /// Tells the core that the last C_PDU handed down has left the antenna.
  void leaves() { core->on_cpdu_confirm(now, {last_id}); }
  void call() { ASSERT_TRUE(core->request_link(now, kPeer, LinkType::nonexclusive).ok()); }
  void make_by_us() {
    call();
    said();
    leaves();
    hear("20");
    ASSERT_EQ(said(), "make made-by-us");
  }
  void make_by_peer() {
    hear("10");
    ASSERT_EQ(said(), "make made-by-peer 20");
    leaves();
  }
  void give_data(std::uint64_t id) {
    core->request_unidata(now, {.id = CpduId{id},
                                .service = Service::arq,
                                .destination = kPeer,
                                .spdu = *from_hex("05 33 00 41"),
                                .time_to_die = std::nullopt});
  }
  /// Goes to the next deadline and lets it run.
  void ring() {
    ASSERT_TRUE(due().has_value());
    now = *due();
    core->on_deadline(now);
  }
  void wait(Duration duration) {
    now += duration;
    core->on_deadline(now);
  }

  std::vector<LinkClosing> closing;
  CpduId last_id;  // of the last C_PDU handed down, and whose it is
  Address last_peer;

 private:
  std::string words_;
};

}  // namespace s5066::cas
