// SPDX-License-Identifier: Apache-2.0
// Goal:   in whatever order requests, losses, time-outs and data come, two channel access cores
//         stay in legal states and agree in the end. They never let ARQ data of one connection be
//         taken for a duplicate from another.
// Method: every sequence of events to a fixed depth, followed by a channel that loses nothing.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <iostream>
#include <string>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {
namespace {

constexpr std::array<Address, 2> kAddress{Address{1}, Address{2}};

Config config() {
  Config c;
  c.exchange_time = std::chrono::seconds(4);
  c.requests_max = 2;
  c.breaks_max = 2;
  return c;
}

/// Holds what the data transfer sublayer knows of one connection, in whole frames.
struct Arq {
  bool connected = false;
  bool heard = false;
  unsigned sent = 0;
  unsigned received = 0;
};

struct Station {
  ChannelAccess core;
  Arq arq;
  std::deque<dts::CpduRequest> leaving;
  unsigned made_reported = 0;
};

class World {
 public:
  World(Rng& rng, Counters& counters, TraceSink& trace)
      : stations_{Station{ChannelAccess(config(), rng, counters, trace), {}, {}, 0},
                  Station{ChannelAccess(config(), rng, counters, trace), {}, {}, 0}} {}

  enum Event : unsigned { call, call_exclusive, end, arrive, lose, deadline, data, lost, kinds };

  /// Returns false if the event cannot happen now.
  bool happen(std::size_t i, Event event) {
    events_ += static_cast<char>(2 * event + i);
    const bool happened = take(i, event);
    if (!happened) events_.pop_back();
    return happened;
  }

  /// Returns the names of all events that happened.
  std::string trail() const {
    static constexpr std::array<const char*, kinds> kNames{
        "call", "call-exclusive", "end", "arrive", "lose", "deadline", "data", "lost"};
    std::string names;
    for (const char event : events_) {
      names += std::string(event % 2 == 0 ? " A-" : " B-") + kNames.at(event / 2);
    }
    return names;
  }

  /// Lets the channel lose nothing any more. `used_first`: data goes before timers run out. The
  /// station that goes first is now the one, now the other.
  void settle(bool used_first) {
    const bool undisturbed = !disturbed_;
    const std::size_t one = events_.size() % 2;
    const std::size_t other = 1 - one;
    if (used_first) {
      while (happen(one, arrive) || happen(other, arrive)) {
      }
      for (const std::size_t i : {one, other}) {
        if (is_made(i)) happen(i, data);
      }
    }
    for (int step = 0; step < 1000; ++step) {
      if (happen(one, arrive) || happen(other, arrive)) continue;
      if (happen(one, deadline) || happen(other, deadline)) continue;
      break;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(stations_[i].core.next_deadline(), std::nullopt) << trail();
      const LinkState state = stations_[i].core.state(kAddress[1 - i]);
      EXPECT_TRUE(state == LinkState::idle || state == LinkState::made)
          << to_string(state) << trail();
      EXPECT_EQ(stations_[i].arq.connected, state == LinkState::made) << trail();
    }
    // A station may believe in a link that the other has dropped. Its first frame corrects that.
    for (std::size_t i = 0; i < 2; ++i) {
      if (is_made(i)) happen(i, data);
    }
    EXPECT_EQ(is_made(0), is_made(1)) << trail();
    // ACCEPTED does not name the request that it accepts, so a late one may answer another REQUEST.
    // Data that goes at once keeps such a link up.
    if (is_made(0) && is_made(1) && undisturbed && !used_first) {
      EXPECT_EQ(type(0), type(1)) << trail();
    }
  }

 private:
  bool take(std::size_t i, Event event) {
    Station& self = stations_[i];
    const Address peer = kAddress[1 - i];
    disturbed_ = disturbed_ || event == lose || event == deadline || event == lost;
    switch (event) {
      case call:
        if (self.core.state(peer) != LinkState::idle) return false;
        EXPECT_TRUE(self.core.request_link(now_, peer, LinkType::nonexclusive).ok());
        break;
      case call_exclusive:
        if (self.core.state(peer) != LinkState::idle && type(i) == LinkType::exclusive)
          return false;
        EXPECT_TRUE(self.core.request_link(now_, peer, LinkType::exclusive).ok());
        break;
      case end:
        if (self.core.state(peer) == LinkState::idle) return false;
        if (self.core.state(peer) == LinkState::breaking) return false;
        EXPECT_TRUE(self.core.request_break(now_, peer, BreakReason::no_more_data).ok());
        break;
      case arrive:
      case lose:
        if (self.leaving.empty()) return false;
        leave(i, event == arrive);
        break;
      case deadline:
        if (!self.core.next_deadline()) return false;
        now_ = std::max(now_, *self.core.next_deadline());
        self.core.on_deadline(now_);
        break;
      case data:
        if (!self.leaving.empty() || !is_made(i)) return false;
        send_data(i);
        break;
      case lost:
        if (!self.arq.connected) return false;
        self.arq = {};
        self.core.on_connection_lost(now_, {peer});
        break;
      case kinds:
        return false;
    }
    drain();
    return true;
  }

  bool is_made(std::size_t i) const {
    const LinkState state = stations_[i].core.state(kAddress[1 - i]);
    return state == LinkState::made || state == LinkState::made_wait;
  }

  LinkType type(std::size_t i) const { return stations_[i].core.links().at(0).type; }

  void leave(std::size_t i, bool arrives) {
    const dts::CpduRequest cpdu = stations_[i].leaving.front();
    stations_[i].leaving.pop_front();
    if (cpdu.time_to_die <= now_) {  // the data transfer sublayer has dropped it
      stations_[i].core.on_cpdu_rejected(now_, {cpdu.id, CpduFailure::expired});
      return;
    }
    stations_[i].core.on_cpdu_confirm(now_, {cpdu.id});
    drain();
    if (!arrives) return;
    stations_[1 - i].core.on_cpdu(now_, {cpdu.service, kAddress[i], kAddress[1 - i], cpdu.cpdu});
  }

  // One frame and its acknowledgement arrive safely. Only the state of the windows matters here.
  void send_data(std::size_t i) {
    Station& from = stations_[i];
    Station& to = stations_[1 - i];
    ASSERT_TRUE(from.arq.connected) << trail();
    if (!to.arq.connected) {
      from.core.on_warning(now_, {kAddress[1 - i], 0, 1});
      return;
    }
    to.arq.heard = true;
    EXPECT_GE(from.arq.sent, to.arq.received) << "taken for a duplicate:" << trail();
    if (from.arq.sent != to.arq.received) {  // out of step: the sublayer below gives up
      from.arq = {};
      from.core.on_connection_lost(now_, {kAddress[1 - i]});
      return;
    }
    ++to.arq.received;
    to.core.on_cpdu(now_, {Service::arq, kAddress[i], kAddress[1 - i], Bytes{0, 5, 0x33, 0}});
    drain();
    if (!from.arq.connected) return;
    ++from.arq.sent;
    from.arq.heard = true;
    const CpduId id{++data_id_};
    from.core.request_unidata(now_, {.id = id,
                                     .service = Service::arq,
                                     .destination = kAddress[1 - i],
                                     .spdu = Bytes{5, 0x33, 0},
                                     .time_to_die = std::nullopt});
    drain();
    from.core.on_cpdu_confirm(now_, {id});
  }

  void drain() {
    for (std::size_t i = 0; i < 2; ++i) {
      Station& self = stations_[i];
      while (auto action = self.core.poll_action()) {
        if (auto* cpdu = std::get_if<dts::CpduRequest>(&*action)) {
          if (cpdu->service == Service::expedited_nonarq) self.leaving.push_back(*cpdu);
        } else if (std::holds_alternative<MakeConnection>(*action)) {
          if (!self.arq.connected || self.arq.heard) self.arq = {.connected = true};
        } else if (std::holds_alternative<TerminateConnection>(*action)) {
          EXPECT_TRUE(self.arq.connected) << trail();
          self.arq = {};
        } else if (std::holds_alternative<LinkMade>(*action)) {
          EXPECT_EQ(++self.made_reported, 1u) << trail();
        } else if (std::holds_alternative<LinkBroken>(*action)) {
          self.made_reported = 0;
        }
      }
    }
  }

  std::array<Station, 2> stations_;
  std::string events_;  // one octet each, few enough for most copies not to allocate
  Instant now_{};
  std::uint64_t data_id_ = 0;
  bool disturbed_ = false;  // something was lost or late
};

class TwoCores : public ::testing::Test {
 protected:
  /// Tries every event at the first `stations` stations, then every event at both of them.
  void explore(const World& world, unsigned depth, std::size_t stations = 2) {
    if (HasFailure()) return;
    ++sequences;
    for (const bool used_first : {false, true}) {
      World benign = world;
      benign.settle(used_first);
    }
    if (depth == 0) return;
    for (unsigned event = 0; event < World::kinds; ++event) {
      for (std::size_t i = 0; i < stations; ++i) {
        World next = world;
        if (next.happen(i, static_cast<World::Event>(event))) explore(next, depth - 1);
      }
    }
  }

  Rng rng{1};
  Counters counters;
  NullTrace trace;
  std::size_t sequences = 0;
};

// B.3(9): a core does not know its own address, so orders that begin at the other station are
// mirror images of these.
TEST_F(TwoCores, every_order_of_events_stays_legal_and_settles) {
  explore(World(rng, counters, trace), 8, 1);
  EXPECT_GT(sequences, 10'000u);
  std::cout << sequences << " sequences of events\n";
}

TEST_F(TwoCores, every_order_of_events_on_a_link_in_use_stays_legal_and_settles) {
  World world(rng, counters, trace);
  ASSERT_TRUE(world.happen(0, World::call));
  ASSERT_TRUE(world.happen(0, World::arrive));
  ASSERT_TRUE(world.happen(1, World::arrive));
  ASSERT_TRUE(world.happen(0, World::data));
  ASSERT_TRUE(world.happen(1, World::data));
  explore(world, 7);
  EXPECT_GT(sequences, 10'000u);
  std::cout << sequences << " sequences of events\n";
}

TEST_F(TwoCores, long_random_histories_stay_legal_and_settle) {
  for (std::uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    Rng choice(seed);
    World world(rng, counters, trace);
    for (int i = 0; i < 200 && !HasFailure(); ++i) {
      world.happen(choice.below(2), static_cast<World::Event>(choice.below(World::kinds)));
    }
    world.settle(seed % 2 == 0);
  }
}

}  // namespace
}  // namespace s5066::cas
