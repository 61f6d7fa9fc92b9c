// SPDX-License-Identifier: Apache-2.0
// Many byte streams to many stations over ARQ, without I/O and clock. The protocol is
// docs/protocol/streams.md.
//
// A shell opens a stream with request_open() and gives it octets with request_write(), both before
// it polls, so that the first octets go with the opening. It passes on_sis() each event of the SIS
// client, drains poll_action() after every call, and sets one timer for next_deadline(). Octets
// that arrive come as actions. The shell calls request_consumed() when its application has taken
// them, and the core grants more octets only after that. A full stream takes no octets until the
// action Writable.
//
// Octets reach the far end once, complete and in order, or the stream is reset at both ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gateways/streams/peer_session.h"
#include "s5066d/base/driven_core.h"

namespace s5066::streams {

class StreamsCore {
 public:
  StreamsCore(const StreamsConfig& config, std::uint64_t seed);

  /// Opens a stream. Returns an error if the station is known to have no streams, or if too many
  /// streams are open.
  Result<StreamId> request_open(Instant now, Address station, const Target& target,
                                bool compress = true);
  /// Takes octets from the front and returns their number. Returns 0 if the stream is full or does
  /// not exist any more.
  std::size_t request_write(Instant now, StreamId id, ByteSpan octets);
  /// Ends the direction from this end.
  void request_finish(Instant now, StreamId id);
  void request_reset(Instant now, StreamId id, ResetCode code);
  void request_consumed(Instant now, StreamId id, std::size_t octets);
  /// Asks a station whether it has streams, unless that is known. The question is one small U_PDU.
  void request_discovery(Instant now, Address station);

  void on_sis(Instant now, const gateways::SisEvent& event);
  void on_deadline(Instant now);

  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  Capability capability(Instant now, Address station) const;
  const CounterSet<StreamCounter>& counters() const { return shared_.counters; }
  std::size_t octets_held() const { return shared_.octets_held; }
  std::vector<StreamState> streams(Instant now) const;
  struct PeerState {
    Address station;
    Capability capability{};
    bool silent = false;
    std::size_t streams = 0;
    std::size_t with_node = 0;  // U_PDUs
    double rate_bps = 0;
  };
  std::vector<PeerState> peers(Instant now) const;

 private:
  PeerSession* session(Address station);
  PeerSession* session_of(StreamId id);
  void on(const gateways::SisBound& event);
  void on(const gateways::SisLost& event);
  void on(const gateways::SisFlow& event);
  void on(const gateways::SisIndication& event);
  void on(const gateways::SisConfirmed& event);
  void on(const gateways::SisRejected& event);
  void on(const gateways::SisUnresolved& event);
  void count_held();

  SharedState shared_;
  std::map<Address, std::unique_ptr<PeerSession>> sessions_;
  std::map<gateways::SisRequestId, Address> requests_;
  Instant now_{};
  bool bound_ = false;
  bool flow_on_ = false;
  std::size_t mtu_ = sis::kMtu;
};
static_assert(DrivenCore<StreamsCore>);

}  // namespace s5066::streams
