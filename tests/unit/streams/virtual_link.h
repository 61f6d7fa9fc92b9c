// SPDX-License-Identifier: Apache-2.0
// StreamsCores joined by a simulated subnetwork, and applications that check every octet. The
// subnetwork delays, rejects (with and without delivery), loses what it has confirmed when a node
// crashes, and is silent while the link is broken. Octet `i` of a direction is a function of the
// stream and of `i`, so that an application knows what must come next.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/streams/streams_core.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/rng.h"
#include "tests/support/virtual_time.h"

namespace s5066::streams::test {

using namespace std::chrono_literals;

inline Address address(std::size_t end) {
  return Address{0x01020300 + static_cast<std::uint32_t>(end)};
}

struct LinkFaults {
  Duration delay_min = 1s;
  Duration delay_max = 8s;
  double reject = 0;            // share of U_PDUs
  double deliver_rejected = 0;  // share of the rejected ones that arrive all the same
};

/// The octets of a stream in each direction.
struct Script {
  std::size_t to_server = 100;
  std::size_t to_client = 1000;
  bool text = false;    // compressible
  bool manual = false;  // the client sends only by write_more()
};

inline std::uint8_t octet_of(std::size_t stream, bool to_server, std::uint64_t at, bool text) {
  if (text) return static_cast<std::uint8_t>("the quick brown fox "[(at + stream) % 20]);
  std::uint64_t x = at + 1 + (std::uint64_t{stream} << 32) + (to_server ? 1ULL << 60 : 0);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<std::uint8_t>(x >> 24);
}

class VirtualLink {
 public:
  /// One end of one stream, as its application sees it.
  struct Side {
    std::size_t stream = 0;
    bool client = false;
    std::size_t to_send = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool finished = false;
    bool ended = false;
    std::optional<ResetCode> reset;
    bool consumes = true;
    std::size_t unconsumed = 0;
    Instant ended_at{};
    Instant first_at{};
  };

  explicit VirtualLink(std::uint64_t seed, std::size_t ends = 2, StreamsConfig config = {})
      : rng_(seed), config_(config), ends_(ends) {
    for (std::size_t i = 0; i < ends; ++i) start(i);
  }

  LinkFaults faults;
  bool broken = false;           // nothing gets through, all is rejected
  std::set<std::size_t> mute;    // ends that never answer
  std::set<std::size_t> plain;   // ends that confirm and have no streams
  std::set<std::size_t> absent;  // ends whose SAP is not bound

  Instant now() const { return now_; }
  StreamsCore& core(std::size_t end) { return *ends_[end].core; }

  /// Opens a stream; returns its number.
  std::size_t open(std::size_t from, std::size_t to, const Script& script) {
    const std::size_t stream = scripts_.size();
    scripts_.push_back(script);
    const Target target{"host" + std::to_string(stream), 80};
    const auto id = core(from).request_open(now_, address(to), target);
    sides_[{stream, true}] = {.stream = stream, .client = true, .to_send = script.to_server};
    if (!id) {
      sides_[{stream, true}].reset = ResetCode::unsupported;
      return stream;
    }
    ends_[from].streams[*id] = {stream, true};
    write(from, *id);
    settle(from);
    return stream;
  }
  /// Sends further octets of a manual stream.
  void write_more(std::size_t end, std::size_t stream, std::size_t octets) {
    for (const auto& [id, key] : ends_[end].streams) {
      if (key == Key{stream, true}) core(end).request_write(now_, id, Bytes(octets, 'x'));
    }
    settle(end);
  }
  void discover(std::size_t from, std::size_t to) {
    core(from).request_discovery(now_, address(to));
    settle(from);
  }
  Side& client(std::size_t stream) { return sides_[{stream, true}]; }
  Side& server(std::size_t stream) { return sides_[{stream, false}]; }
  bool has_server(std::size_t stream) const { return sides_.contains({stream, false}); }
  bool done(std::size_t stream) {
    const Side& near = client(stream);
    return near.ended && near.finished && has_server(stream) && server(stream).ended &&
           server(stream).finished;
  }
  bool settled(std::size_t stream) {
    return done(stream) || (client(stream).reset &&
                            (!has_server(stream) || server(stream).reset || server(stream).ended));
  }

  /// The process of an end is killed and started again.
  void kill(std::size_t end) {
    for (const auto& [id, key] : ends_[end].streams) {
      if (!sides_[key].ended || !sides_[key].finished)
        sides_[key].reset = ResetCode::by_application;
    }
    drop_requests(end);
    start(end);
  }
  /// The node of an end crashes. It loses what it had confirmed and not delivered.
  void crash_node(std::size_t end) {
    drop_requests(end);
    std::erase_if(events_, [&](const auto& entry) {
      return entry.second.deliver && entry.second.to == end && rng_.chance(0.7);
    });
    ends_[end].core->on_sis(now_, gateways::SisLost{});
    settle(end);
    ends_[end].core->on_sis(now_, gateways::SisBound{2048});
    settle(end);
  }
  /// Reads what waits at an application that did not consume.
  void consume(std::size_t end, std::size_t stream, bool is_client) {
    Side& side = sides_[{stream, is_client}];
    side.consumes = true;
    for (const auto& [id, key] : ends_[end].streams) {
      if (key != Key{stream, is_client}) continue;
      core(end).request_consumed(now_, id, std::exchange(side.unconsumed, 0));
      break;
    }
    settle(end);
  }
  void inject(std::size_t to, std::size_t from, Bytes updu) {
    core(to).on_sis(now_, gateways::SisIndication{address(from), SapId{9}, std::move(updu)});
    settle(to);
  }

  void run_for(Duration duration) {
    const auto next = [&] {
      std::optional<Instant> at;
      if (!events_.empty()) at = events_.begin()->first;
      for (const End& one : ends_) at = earlier(at, one.core->next_deadline());
      return at;
    };
    sim::run_deadlines(now_, now_ + duration, next, [&] { step(); });
  }
  /// Runs until all streams are settled, at most for `limit`.
  bool run_until_settled(Duration limit) {
    const Instant end = now_ + limit;
    while (now_ < end) {
      bool all = true;
      for (std::size_t s = 0; s < scripts_.size() && all; ++s) all = settled(s);
      if (all) return true;
      run_for(10s);
    }
    return false;
  }

  std::size_t held_max(std::size_t end) const { return ends_[end].held_max; }
  const std::vector<gateways::SisUnidata>& sent(std::size_t end) const { return ends_[end].sent; }
  std::size_t opened(std::size_t end) const { return ends_[end].opened; }

 private:
  using Key = std::pair<std::size_t, bool>;
  struct End {
    std::unique_ptr<StreamsCore> core;
    std::uint64_t life = 0;
    std::map<StreamId, Key> streams;
    std::vector<gateways::SisUnidata> sent;
    std::size_t held_max = 0;
    std::size_t opened = 0;
  };
  struct Event {
    bool deliver = false;
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t life = 0;  // of the end that gets it
    gateways::SisUnidata unidata;
    std::optional<sis::RejectReason> rejected;
  };

  void start(std::size_t end) {
    End& one = ends_[end];
    one.core = std::make_unique<StreamsCore>(config_, rng_.next());
    ++one.life;
    one.streams.clear();
    one.core->on_sis(now_, gateways::SisBound{2048});
  }
  /// A client that goes away leaves its U_PDUs with the node, which sends some of them later.
  void drop_requests(std::size_t end) {
    std::erase_if(events_, [&](const auto& entry) {
      return (!entry.second.deliver && entry.second.from == end) ||
             (entry.second.deliver && entry.second.from == end && rng_.chance(0.5));
    });
  }

  void write(std::size_t end, StreamId id) {
    const auto found = ends_[end].streams.find(id);
    if (found == ends_[end].streams.end()) return;
    Side& side = sides_[found->second];
    if (side.reset || side.finished || (side.client && scripts_[side.stream].manual)) return;
    while (side.sent < side.to_send) {
      Bytes octets;
      for (std::uint64_t i = side.sent; i < std::min<std::uint64_t>(side.to_send, side.sent + 5000);
           ++i) {
        octets.push_back(octet_of(side.stream, side.client, i, scripts_[side.stream].text));
      }
      const std::size_t taken = core(end).request_write(now_, id, octets);
      side.sent += taken;
      if (taken < octets.size()) return;
    }
    side.finished = true;
    core(end).request_finish(now_, id);
  }

  void settle(std::size_t end) {
    const auto poll = [&] {
      auto action = ends_[end].core->poll_action();
      ends_[end].held_max = std::max(ends_[end].held_max, ends_[end].core->octets_held());
      return action;
    };
    sim::take_all(
        poll, [&](Action& action) { std::visit([&](auto& one) { carry_out(end, one); }, action); });
  }
  void step() {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const auto due = ends_[i].core->next_deadline();
      if (due && *due <= now_) ends_[i].core->on_deadline(now_);
      settle(i);
    }
    while (!events_.empty() && events_.begin()->first <= now_) {
      const Event event = std::move(events_.extract(events_.begin()).mapped());
      fire(event);
    }
  }

  void carry_out(std::size_t, StreamEvent&) {}
  void carry_out(std::size_t end, Opened& opened) {
    ++ends_[end].opened;
    const std::size_t stream = std::stoul(opened.target.host.substr(4));
    const Key key{stream, false};
    // A server that was killed may be asked again, because its end cannot know of the first time.
    if (sides_.contains(key) && !sides_[key].reset) {
      ADD_FAILURE() << "stream " << stream << " was opened twice";
      return;
    }
    sides_[key] = {.stream = stream, .client = false, .to_send = scripts_[stream].to_client};
    ends_[end].streams[opened.id] = key;
    write(end, opened.id);
  }
  void carry_out(std::size_t end, Arrived& arrived) {
    const Key key = ends_[end].streams.at(arrived.id);
    Side& side = sides_[key];
    EXPECT_FALSE(side.ended || side.reset);
    if (side.received == 0) side.first_at = now_;
    for (const std::uint8_t octet : arrived.octets) {
      const bool right =
          octet == octet_of(side.stream, !side.client, side.received++, scripts_[side.stream].text);
      if (!right) ++wrong_octets;
    }
    if (side.consumes) {
      core(end).request_consumed(now_, arrived.id, arrived.octets.size());
    } else {
      side.unconsumed += arrived.octets.size();
    }
  }
  void carry_out(std::size_t end, Ended& ended) {
    Side& side = sides_[ends_[end].streams.at(ended.id)];
    const Script& script = scripts_[side.stream];
    EXPECT_EQ(side.received, side.client ? script.to_client : script.to_server);
    side.ended = true;
    side.ended_at = now_;
  }
  void carry_out(std::size_t end, Reset& reset) {
    const auto found = ends_[end].streams.find(reset.id);
    if (found != ends_[end].streams.end()) sides_[found->second].reset = reset.code;
  }
  void carry_out(std::size_t end, Writable& writable) { write(end, writable.id); }

  void carry_out(std::size_t end, gateways::SisUnidata& unidata) {
    EXPECT_LE(unidata.updu.size(), 2048u);
    ends_[end].sent.push_back(unidata);
    const std::size_t to = unidata.destination.value - address(0).value;
    const double spread = rng_.uniform();
    const Instant at = now_ + faults.delay_min +
                       from_seconds(spread * to_seconds(faults.delay_max - faults.delay_min));
    std::optional<sis::RejectReason> rejected;
    if (broken || mute.contains(to) || mute.contains(end) || rng_.chance(faults.reject)) {
      rejected = sis::RejectReason::destination_not_responding;
    }
    if (absent.contains(to)) rejected = sis::RejectReason::destination_sap_not_bound;
    const bool arrives = !rejected || (!broken && !mute.contains(to) && !absent.contains(to) &&
                                       rng_.chance(faults.deliver_rejected));
    if (arrives && !plain.contains(to)) {
      events_.emplace(at, Event{true, end, to, 0, unidata, {}});
    }
    // The node of the peer confirms before its client has read the U_PDU.
    events_.emplace(at - 500ms, Event{false, end, to, ends_[end].life, unidata, rejected});
  }

  void fire(const Event& event) {
    if (event.deliver) {
      return inject(event.to, event.from, event.unidata.updu);
    }
    if (ends_[event.from].life != event.life) return;
    if (event.rejected) {
      core(event.from).on_sis(now_, gateways::SisRejected{event.unidata.id, *event.rejected});
    } else {
      core(event.from).on_sis(now_, gateways::SisConfirmed{event.unidata.id});
    }
    settle(event.from);
  }

 public:
  std::size_t wrong_octets = 0;

 private:
  Rng rng_;
  StreamsConfig config_;
  std::vector<End> ends_;
  std::vector<Script> scripts_;
  std::map<Key, Side> sides_;
  std::multimap<Instant, Event> events_;
  Instant now_{1000s};
};

}  // namespace s5066::streams::test
