// SPDX-License-Identifier: Apache-2.0
// A client of a SIS server without its socket (Annex A.2.1 as seen by the client). It binds and
// rebinds, holds requests while the flow is off, tracks hard links, answers keep-alives (A.2.1.17),
// and reports the end of each request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "sis/client_events.h"
#include "sis/client_links.h"
#include "sis/client_requests.h"
#include "sis/codec.h"
#include "sis/framer.h"
#include "sis/primitives.h"

namespace s5066::sis {

enum class ClientCounter : std::uint8_t {
  connections,
  binds,
  requests,
  confirmed,
  rejected,
  sent,
  unresolved,
  indications,
  answers_unmatched,
  primitives_unsupported,
  protocol_errors,
  keep_alives_answered,
  keep_alives_sent,
  count
};
const CounterTable<ClientCounter>& counter_table(ClientCounter);

class ClientCore {
 public:
  struct Config {
    SapId sap{};
    std::uint8_t rank = 0;
    DeliveryMode service{.mode = TransmissionMode::arq};  // used by requests with `unspecified`

    std::size_t queue_max = 64;              // requests held until they may be sent
    std::size_t unconfirmed_max = 256;       // sent; their confirmation is still to come
    std::size_t write_octets_max = 1 << 16;  // several requests share one SendBytes up to this size
    std::size_t hard_links_max = 4;          // requested, offered and up, together

    Duration connect_timeout = std::chrono::seconds(30);
    Duration bind_timeout = std::chrono::seconds(30);
    Duration primitive_timeout = std::chrono::seconds(60);   // from its first octet to its last
    Duration confirmation_timeout = std::chrono::hours(25);  // from the request to its answer
    Duration hard_link_timeout = std::chrono::minutes(15);   // from its request to the answer
    Duration stop_timeout = std::chrono::seconds(5);         // for the last octets to leave

    Duration retry_first = std::chrono::seconds(2);  // doubles with each failure
    // After a binding of this length the failures are forgotten.
    Duration retry_max = std::chrono::seconds(60);
    double retry_jitter = 0.25;  // adds up to this share at random

    std::optional<Duration> probe_after;  // silence before a probe; at least kKeepAliveInterval
    Duration probe_timeout = std::chrono::seconds(30);
    // Answer a probe of the server soon after an answered one of ours.
    bool answer_after_probe = true;
  };

  /// Shortest interval of S_KEEP_ALIVE (A.2.1.17(3)), and latest answer to one (A.2.1.17(2)).
  static constexpr Duration kKeepAliveInterval = std::chrono::seconds(120);
  static constexpr Duration kKeepAliveAnswer = std::chrono::seconds(10);

  /// Open a connection; report on_connected or on_disconnected.
  struct Connect {};
  /// Report on_sent when the transport has taken all of it. There is one at a time, so that a
  /// transport that takes no more also holds back the requests.
  struct SendBytes {
    Bytes octets;
  };
  /// Drop the connection or the attempt. Report nothing about it afterwards.
  struct Disconnect {};
  using Action = std::variant<Connect, SendBytes, Disconnect>;

  ClientCore(const Config& config, Rng& rng);

  // Events in. `now` never goes backwards.
  void on_connected(Instant now);
  void on_disconnected(Instant now, const Error& why);
  void on_bytes(Instant now, ByteSpan octets);
  void on_sent(Instant now);
  void on_deadline(Instant now);

  // Requests.
  /// Connects and binds, and repeats that until stop().
  void start(Instant now);
  /// Unbinds and disconnects. Requests without an end become Unresolved.
  void stop(Instant now);
  /// Fails with link_down while not bound, queue_full, too_large for the MTU of the binding, or
  /// bad_field for values that the standard forbids.
  Result<RequestId> request_unidata(Instant now, UnidataRequest request);
  /// Sends data that overtakes all normal data (A.2.1.10). Servers unbind a client that sends much
  /// of it.
  Result<RequestId> request_expedited(Instant now, ExpeditedUnidataRequest request);
  /// Sends a message to the node itself (A.2.1.15), which ends as Sent. Fails also with `refused`
  /// without rank 15.
  Result<RequestId> request_management(Instant now, ManagementRequest request);

  /// Requests a hard link (A.2.1.18), which ends in HardLinkEstablished, HardLinkRejected or
  /// HardLinkLost. Fails with link_down, bad_field, already_exists or queue_full.
  Result<void> request_hard_link(Instant now, const HardLink& link);
  /// Ends the hard links to that node, or the requests for them; no further event reports them.
  /// Fails with link_down or not_found.
  Result<void> request_hard_link_end(Instant now, Address remote);
  /// Answers HardLinkOffered. Once accepted, the link counts as up until HardLinkTerminated or
  /// HardLinkLost, because the standard has no primitive that reports it as up. Fails with
  /// link_down or not_found.
  Result<void> request_hard_link_accept(Instant now, const HardLink& link);
  /// Answers HardLinkOffered. The standard gives no numbers to reasons; servers may pass on 1 to 4
  /// as in HardLinkRejectReason.
  Result<void> request_hard_link_reject(Instant now, const HardLink& link, std::uint8_t reason);

  // Outputs. Drain actions and events after every call, then set one timer.
  std::optional<Action> poll_action();
  std::optional<Event> poll_event();
  std::optional<Instant> next_deadline() const;

  bool bound() const { return state_ == State::bound; }
  /// True if the client is neither connected nor about to be.
  bool stopped() const { return state_ == State::stopped; }
  const CounterSet<ClientCounter>& counters() const { return counters_; }

 private:
  enum class State : std::uint8_t {
    stopped,
    waiting,     // for the time of the next connection attempt
    connecting,  // for the transport
    unbound,     // connected; waiting for the time of the next bind attempt
    binding,     // for the server's answer
    bound,
    stopping,  // waiting for the last octets to leave
  };
  enum class Timer : std::uint8_t {
    retry,
    attempt,    // limit of an attempt to connect, to bind or to stop
    primitive,  // limit of an incomplete primitive
    silence,    // time to probe
    probe,      // limit of the answer to a probe
    keep_alive_answer,
    count
  };
  enum class KeepAliveSent : std::uint8_t { answer, probe, answered_probe };

  bool connected() const;
  void enter(State next);
  void connect(Instant now);
  void bind(Instant now);
  void plan_retry(Instant now);
  void leave_binding(Instant now);
  void forget_connection();
  void lose(Instant now, Error why);
  void drop(Instant now, Error why);
  void refuse(Instant now, std::string what);
  void finish_stop();

  void on_primitive(Instant now, const Primitive& primitive);
  void on(Instant now, const BindAccepted& p);
  void on(Instant now, const BindRejected& p);
  void on(Instant now, const UnbindIndication& p);
  void on(Instant now, const DataFlowOn& p);
  void on(Instant now, const DataFlowOff& p);
  void on(Instant now, const KeepAlive& p);
  void on(Instant now, const SubnetAvailability& p);
  void on(Instant now, const ManagementIndication& p);
  void on(Instant now, const UnidataIndication& p);
  void on(Instant now, const ExpeditedUnidataIndication& p);
  void on(Instant now, const UnidataRequestConfirm& p);
  void on(Instant now, const UnidataRequestRejected& p);
  void on(Instant now, const ExpeditedUnidataRequestConfirm& p);
  void on(Instant now, const ExpeditedUnidataRequestRejected& p);
  void on(Instant now, const HardLinkEstablished& p);
  void on(Instant now, const HardLinkRejected& p);
  void on(Instant now, const HardLinkTerminated& p);
  void on(Instant now, const HardLinkIndication& p);
  template <typename ToServer>
  void on(Instant now, const ToServer&) {
    refuse(now, "a primitive that only a client may send");
  }

  template <typename Answer>
  void on_confirmed(Type type, const Answer& p);
  template <typename Answer>
  void on_rejected(Type type, const Answer& p);
  template <typename LinkPrimitive>
  void on_link(const LinkPrimitive& p);
  void tell_links();
  template <typename Request>
  Result<RequestId> request_data(Instant now, Request request);
  template <typename Request>
  Result<void> check(const Request& request) const;
  /// Returns the mode that the server applies (A.2.2.28.2(2)).
  const DeliveryMode& effective(const DeliveryMode& delivery) const;
  Result<void> need_bound() const;
  void unresolved(const std::vector<RequestId>& ids);
  Bytes next_octets();
  void on_timer(Instant now, Timer timer);
  void on_silence(Instant now);
  void hear(Instant now);

  const Config config_;
  Rng& rng_;
  CounterSet<ClientCounter> counters_;

  State state_ = State::stopped;
  DeadlineTable<Timer> timers_;
  std::uint32_t failures_ = 0;  // failures in a row
  Instant bound_since_{};
  std::uint16_t mtu_ = 0;
  bool flow_off_ = false;
  Framer framer_;

  bool writing_ = false;  // the transport has a SendBytes
  bool bind_due_ = false;
  bool keep_alive_due_ = false;
  Bytes last_octets_;                     // the last primitives before we stop
  std::optional<Instant> keep_alive_at_;  // time of our last one
  KeepAliveSent keep_alive_kind_ = KeepAliveSent::answer;

  ClientRequests requests_;
  ClientLinks links_;
  std::deque<Action> actions_;  // Connect and Disconnect
  std::deque<Event> events_;
};
static_assert(DrivenCore<ClientCore>);

}  // namespace s5066::sis
