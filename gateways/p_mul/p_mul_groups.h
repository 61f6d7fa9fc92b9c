// SPDX-License-Identifier: Apache-2.0
// Dynamic multicast groups of P_MUL (ACP 142 with its Request, Reject, Release and Announce_PDUs).
// A transmitter takes a free address from a pool for one message, tells its destinations to join,
// and releases the address when the message is over. A receiver joins the groups that are announced
// to it. This works only if hosts can join a group: over UDP, not over STANAG 5066.
//
// STANDARD: two transmitters that request the same address at the same time would both reject it
// and try the next address. Here the transmitter with the lower Source_ID keeps the address, and
// the other chooses another address without a Reject_PDU.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "gateways/p_mul/carrier.h"
#include "gateways/p_mul/counters.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::p_mul {

class PMulGroups {
 public:
  struct Config {
    NodeId node;
    Checksum checksum = Checksum::fletcher;
    std::size_t pdu_octets_max = 2042;
    // IPv4 addresses for our own messages. We also join only groups with these addresses. Empty:
    // there are no dynamic groups.
    std::vector<std::uint32_t> pool{};
    Duration wait_for_reject = std::chrono::seconds(5);
    /// Time for all announcements of a group and for stations to join it.
    Duration announce_delay = std::chrono::seconds(5);
    unsigned announce_count = 5;
    std::size_t joined_max = 64;  // number of messages for which we may be in a group
    Duration joined_time_max = std::chrono::hours(49);
    Duration expiry_margin = std::chrono::seconds(60);  // tolerated difference between clocks
    /// An address that another node rejected is not used for this time.
    Duration rejected_for = std::chrono::minutes(5);
    std::size_t rejects_max = 32;  // Reject_PDUs that wait for the bearer
  };
  /// Tells the bearer to join a group or to leave it.
  struct Membership {
    std::uint32_t address = 0;
    bool joined = false;
    friend bool operator==(const Membership&, const Membership&) = default;
  };
  /// Reports that the destinations of a message have had time to join its group.
  struct Ready {
    std::uint32_t message_id = 0;
    std::uint32_t address = 0;  // 0: no address is free
  };

  PMulGroups(const Config& config, Rng& rng, const UtcClock& utc);

  // Inputs. `now` never goes backwards. PDUs come only from accepted sources.
  void on_announce(Instant now, const AnnouncePdu& announce);
  void on_group_pdu(Instant now, const GroupPdu& pdu);
  /// Call when no more PDUs of a received message are expected.
  void on_settled(Instant now, const MessageName& name);
  /// Call when the host could not join the group. The next announcement then counts as the first.
  void on_not_joined(std::uint32_t address);
  /// Call when our own EMCON begins or ends. Reject_PDUs that were owed before it are dropped.
  void on_silent(bool silent);
  void on_deadline(Instant now);
  /// Asks for an address for one of our messages. If the message has an address already, that
  /// address is announced again.
  void request_group(Instant now, std::uint32_t message_id, std::vector<NodeId> destinations,
                     UtcSeconds expiry);
  void request_release(Instant now, std::uint32_t message_id);

  // Actions out.
  std::optional<OutgoingPdu> poll_pdu(Instant now);
  std::optional<Membership> poll_membership();
  std::optional<Ready> poll_ready();
  std::optional<Instant> next_deadline() const;
  bool has_pdu() const;

  bool enabled() const { return !config_.pool.empty(); }
  std::size_t own() const { return own_.size(); }
  std::size_t joined() const { return joined_.size(); }
  const CounterSet<PMulGroupCounter>& counters() const { return counters_; }

 private:
  enum class State : std::uint8_t {
    choosing,    // no address was free
    requesting,  // a Request_PDU is due, or the wait for a Reject_PDU runs
    announcing,  // an Announce_PDU is due, or the delay after it runs
    ready
  };
  /// A message that this node sends to a dynamic group.
  struct Own {
    State state = State::choosing;
    std::uint32_t address = 0;
    /// True: a PDU leaves as soon as the bearer takes one. False: the next step is at `at`.
    bool due = false;
    bool said = false;  // true: a Request_PDU for the address was sent
    Instant at{};
    std::vector<NodeId> destinations;
    std::size_t next_destination = 0;
    unsigned announcements = 0;  // number of announcements left to send
    UtcSeconds expiry{};
  };
  /// An address of the pool that another node uses.
  struct Usage {
    MessageName name;
    Instant until{};
  };
  struct Joined {
    std::uint32_t address = 0;
    Instant until{};
  };

  void choose(Instant now, Own& own);
  void give_up(Instant now, std::uint32_t message_id, Own& own);
  void announce(Instant now, Own& own);
  void release(std::uint32_t message_id, const Own& own);
  void on_request(Instant now, const GroupPdu& request);
  void on_reject(Instant now, const GroupPdu& reject);
  void on_release(const GroupPdu& release);
  void leave(const MessageName& name);
  bool in_pool(std::uint32_t address) const;
  OutgoingPdu group_pdu(PduType type, const MessageName& name, std::uint32_t address,
                        Target to) const;
  OutgoingPdu announce_pdu(Instant now, std::uint32_t message_id, Own& own);

  Config config_;
  Rng& rng_;
  const UtcClock& utc_;
  bool silent_ = false;
  std::map<std::uint32_t, Own> own_;     // by message number
  std::map<std::uint32_t, Usage> used_;  // by address of the pool
  std::map<MessageName, Joined> joined_;
  std::deque<OutgoingPdu> releases_;
  std::deque<OutgoingPdu> rejects_;
  std::deque<Membership> memberships_;
  std::deque<Ready> ready_;
  CounterSet<PMulGroupCounter> counters_;
};
static_assert(TimedCore<PMulGroups>);

}  // namespace s5066::p_mul
