// SPDX-License-Identifier: Apache-2.0
// DNS questions of this side that the resolver of a far end answers, without I/O and clock. The
// core has a cache by time to live and a list of the questions that are on their way.
//
// A question that is on its way is not asked again. All clients that ask it meanwhile get the same
// answer. A question goes on after its client has given up. Most clients give up after seconds, and
// find the answer in the cache when they try again. Each answer is kept for at least `ttl_min` for
// the same reason.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>

#include "gateways/ip_client/dns_message.h"
#include "gateways/ip_client/dns_types.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/rng.h"

namespace s5066::ip_client {

/// Identifies a message of a client. The shell gives out the numbers.
struct DnsClientId {
  std::uint64_t value = 0;
  friend auto operator<=>(const DnsClientId&, const DnsClientId&) = default;
};
/// Identifies a question on its way to the far end. No value is used twice.
struct DnsQueryId {
  std::uint64_t value = 0;
  friend auto operator<=>(const DnsQueryId&, const DnsQueryId&) = default;
};

class DnsCore {
 public:
  struct Config {
    Duration timeout = std::chrono::minutes(5);
    std::size_t open_max = 64;      // questions on their way
    std::size_t waiting_max = 16;   // client messages for one question; the oldest is dropped
    std::size_t cached_max = 1000;  // answers
    std::size_t cached_octets_max = 1024 * 1024;
    Duration ttl_min = std::chrono::minutes(1);
    Duration ttl_max = std::chrono::hours(24);
  };
  /// Sends the question to the far end.
  struct Ask {
    DnsQueryId query;
    Bytes message;
  };
  /// Closes the stream of the question, because no answer is expected any more.
  struct Release {
    DnsQueryId query;
  };
  /// Answers a message of a client. Each message gets one Reply. If the Reply has no octets, the
  /// shell sends nothing to the client.
  struct Reply {
    DnsClientId client;
    Bytes message;
  };
  using Action = std::variant<Ask, Release, Reply>;

  DnsCore(const Config& config, std::uint64_t seed) : config_(config), rng_(seed) {}

  /// Call when a client has sent a message. An answer by UDP is limited to the octets that the
  /// client takes.
  void on_message(Instant now, DnsClientId client, ByteSpan message, bool by_udp);
  void on_answer(Instant now, DnsQueryId query, ByteSpan message);
  /// Call when the far end cannot answer.
  void on_failed(Instant now, DnsQueryId query);
  /// Call when the question could not be sent. The failure is not cached, so the client may ask
  /// again at once.
  void on_not_asked(Instant now, DnsQueryId query);
  void on_deadline(Instant now);

  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  const CounterSet<DnsCounter>& counters() const { return counters_; }
  std::size_t cached_octets() const { return cached_octets_; }

 private:
  struct Waiting {
    DnsClientId client;
    DnsQuestion question;
    std::size_t octets_max = 0;
  };
  struct Query {
    Bytes key;
    Bytes asked;
    Instant until{};
    std::deque<Waiting> waiting;
  };
  struct Cached {
    Bytes message;  // empty if the far end gave no answer
    DnsAnswer answer;
    Instant at{};
    Instant until{};
  };

  void refuse(DnsClientId client, std::optional<Bytes> reply);
  void reply_from(Instant now, const Cached& cached, const Waiting& waiting);
  Query end(Instant now, DnsQueryId query, const Cached& outcome);
  void end_and_keep(Instant now, DnsQueryId query, Cached outcome);
  void keep(Instant now, const Bytes& key, Cached cached);
  void forget(std::map<Bytes, Cached>::iterator entry);

  Config config_;
  Rng rng_;
  CounterSet<DnsCounter> counters_;
  std::deque<Action> actions_;
  std::map<DnsQueryId, Query> queries_;  // in the order of their ends
  std::map<Bytes, DnsQueryId> by_key_;   // the key is the question with id 0
  std::map<Bytes, Cached> cache_;
  std::size_t cached_octets_ = 0;
  std::uint64_t last_query_ = 0;
  Instant now_{};
};
static_assert(DrivenCore<DnsCore>);

}  // namespace s5066::ip_client
