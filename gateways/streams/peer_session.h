// SPDX-License-Identifier: Apache-2.0
// The streams with one station.
//
// A session is a pair of epochs, one for each end. An end has a new epoch when its process starts
// and when it has given the peer up. A U_PDU of another session is discarded, and all streams of a
// session are reset when it ends, so that octets of two sessions do not mix. A new epoch of the
// peer replaces the known one only if the U_PDU also carries our epoch. Our epoch shows that the
// U_PDU is not a late one of an earlier run. If the U_PDU does not carry our epoch, this end asks
// the peer to send it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "gateways/common/handover_window.h"
#include "gateways/common/sis_port.h"
#include "gateways/streams/seen_numbers.h"
#include "gateways/streams/stream.h"
#include "gateways/streams/stream_pdu.h"
#include "gateways/streams/stream_types.h"
#include "gateways/streams/streams_config.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/rng.h"

namespace s5066::streams {

// --- Actions of a session ------------------------------------------------------------------------

struct Opened {
  StreamId id;
  Address station;
  Target target;
};
/// Octets for the application. The shell calls request_consumed() when the application has consumed
/// them.
struct Arrived {
  StreamId id;
  Bytes octets;
};
/// The direction from the far end has ended.
struct Ended {
  StreamId id;
};
/// The stream has been reset.
struct Reset {
  StreamId id;
  ResetCode code{};
  bool by_peer = false;
};
/// The stream takes octets again.
struct Writable {
  StreamId id;
};
using Action =
    std::variant<StreamEvent, Opened, Arrived, Ended, Reset, Writable, gateways::SisUnidata>;

/// Parts that all sessions of a process use.
struct SharedState {
  explicit SharedState(const StreamsConfig& given, std::uint64_t seed) : config(given), rng(seed) {}
  std::uint32_t new_epoch();

  StreamsConfig config;
  Rng rng;
  CounterSet<StreamCounter> counters;
  std::deque<Action> actions;  // drained after every input
  std::map<StreamId, Address> stations;
  std::uint64_t last_stream = 0;
  std::uint64_t last_request = 0;
  std::uint64_t turn = 0;
  std::size_t of_peers = 0;  // streams that peers have opened
  std::size_t compressors = 0;
  std::size_t octets_held = 0;  // last result of count_held()
  std::size_t windows = 0;      // octets granted beyond the first window of each stream
  bool node_lost = false;       // true if a lost node may have had U_PDUs for us
};

class PeerSession {
 public:
  PeerSession(SharedState& shared, Address station);

  // The application.
  Result<StreamId> open(Instant now, const Target& target, bool compress);
  Stream* find(StreamId id);
  /// Returns the octets that the stream takes now.
  std::size_t room(const Stream& stream) const;
  void write(Instant now, Stream& stream, ByteSpan octets);
  void finish(Instant now, Stream& stream);
  void reset(Stream& stream, ResetCode code);
  void consumed(Instant now, Stream& stream, std::size_t octets);
  /// Asks the station whether it has streams, if that is not known.
  void discover(Instant now);

  // The air.
  void on_pdu(Instant now, const StreamsPdu& pdu);
  /// Returns the priority of the U_PDU that build() would make now, or nothing if no U_PDU may be
  /// sent now.
  std::optional<std::uint8_t> wants(Instant now) const;
  gateways::SisUnidata build(Instant now);
  void on_confirmed(Instant now, gateways::SisRequestId id);
  void on_rejected(Instant now, gateways::SisRequestId id, sis::RejectReason reason);
  void on_unresolved(Instant now, gateways::SisRequestId id);
  void on_node_lost();
  void set_mtu(std::size_t mtu) { mtu_ = mtu; }
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline(Instant now) const;

  Address station() const { return station_; }
  Capability capability(Instant now) const;
  bool silent() const { return silent_since_.has_value(); }
  bool idle() const { return streams_.empty() && handed_.empty(); }
  std::optional<Instant> heard_at() const { return heard_at_; }
  std::size_t with_node() const { return handed_.size(); }
  const gateways::HandoverWindow& window() const { return window_; }
  std::uint64_t served() const { return served_; }
  const std::map<StreamName, Stream>& streams() const { return streams_; }

 private:
  // Parts of a U_PDU with the node.
  struct SentOpen {
    StreamName stream;
  };
  struct SentData {
    StreamName stream;
    std::uint64_t offset = 0;
    std::uint64_t past = 0;
  };
  struct SentAck {
    StreamName stream;
    std::uint64_t received = 0;
    bool end = false;
    bool answer = false;
  };
  struct SentReset {
    StreamName stream;
    ResetCode code{};
  };
  struct SentProbe {
    StreamName stream;
  };
  struct SentLost {};
  struct SentAnswer {};
  struct SentDiscovery {};
  struct SentChallenge {
    std::uint32_t epoch = 0;
  };
  using Sent = std::variant<SentOpen, SentData, SentAck, SentReset, SentProbe, SentLost, SentAnswer,
                            SentDiscovery, SentChallenge>;
  /// A former epoch of the peer.
  struct Retired {
    std::uint32_t epoch = 0;
    Instant at{};
  };
  struct Handed {
    Instant at{};
    std::uint64_t session = 0;
    bool urgent = false;
    bool alone = false;  // true if no bulk data was with the node
    std::size_t octets = 0;
    std::vector<Sent> parts;
  };
  /// A U_PDU that is being made.
  struct Draft {
    Bytes octets;
    std::size_t octets_max = 0;
    std::vector<Sent> parts;
    std::size_t room() const { return octets_max - octets.size(); }
  };

  // Frames of the peer.
  bool accept_session(Instant now, const StreamsHeader& header);
  void on_frame(Instant now, const OpenFrame& open);
  void on_frame(Instant now, const DataFrame& data);
  void on_frame(Instant now, const AckFrame& ack);
  void on_frame(Instant now, const ResetFrame& reset);
  void on_frame(Instant now, const ProbeFrame& probe);
  void answer_closed(StreamName name);
  void on_peer_lost(Instant now);
  std::size_t own_streams_max() const;
  std::size_t share() const;
  bool may_make(StreamName name, bool opens) const;
  Stream* peer_stream(Instant now, StreamName name, bool opens);
  void deliver(Instant now, Stream& stream);

  // Making a U_PDU.
  bool urgent(Instant now) const;
  bool urgent(Instant now, const Stream& stream) const;
  std::size_t bulk_octets(Instant now) const;
  bool challenge_ready(Instant now) const;
  bool answer_ready(Instant now) const;
  /// Returns the time when a PROBE of the stream is due.
  Instant probe_due_at(const Stream& stream) const;
  bool coalescing(Instant now, const Stream& stream) const;
  bool conversing(Instant now) const;
  bool has_small_stream(Instant now, Duration within) const;
  std::optional<std::size_t> bulk_limit(Instant now) const;
  bool bulk_waits(Instant now) const;
  std::size_t line_octets(Duration time) const;
  std::size_t updu_octets(Instant now) const;
  void count_handed(const Handed& handed, bool more);
  void add(Draft& draft, const Frame& frame, Sent sent);
  void add_ack(Draft& draft, Stream& stream);
  bool add_data(Instant now, Draft& draft, Stream& stream, std::size_t octets_max);
  void add_control(Instant now, Draft& draft);
  void add_streams(Instant now, Draft& draft, bool bulk);

  // Outcomes.
  void confirmed(Instant now, const Handed& handed, const Sent& part);
  void failed(const Sent& part);
  void return_parts(gateways::SisRequestId id);

  Stream& make(Instant now, StreamName name, bool compress);
  void remove(StreamName name);
  void remove_if_complete(StreamName name);
  void abort(StreamName name, ResetCode code, bool by_peer);
  void fail_here(StreamName name, ResetCode code);
  void end_session(ResetCode code);
  void heard(Instant now);
  void not_answered(Instant now, Instant handed);
  void set_incapable(Instant now);
  void question(Instant now, Duration wait);
  void forget_question();
  void tell_writable(Stream& stream);
  void emit(StreamEvent::Kind kind, std::string detail = {});

  SharedState& shared_;
  Address station_;
  std::size_t mtu_ = sis::kMtu;
  gateways::HandoverWindow window_;
  std::uint32_t own_epoch_;
  std::optional<std::uint32_t> peer_epoch_;
  bool proven_ = false;  // true after the peer has sent our epoch
  std::deque<Retired> retired_;
  std::uint64_t session_ = 1;

  std::map<StreamName, Stream> streams_;
  std::map<StreamId, StreamName> names_;
  std::uint32_t next_number_ = 1;
  SeenNumbers seen_;
  std::map<StreamName, ResetCode> resets_;                     // resets that are to be sent
  std::map<StreamName, std::optional<std::uint64_t>> closed_;  // received() of complete streams
  std::deque<StreamName> closed_order_;
  std::vector<AckFrame> late_acks_;  // acknowledgements of closed streams

  std::map<gateways::SisRequestId, Handed> handed_;
  std::uint8_t updu_id_;
  std::size_t urgent_with_node_ = 0;       // U_PDUs
  std::size_t bulk_with_node_ = 0;         // octets
  std::optional<Instant> interactive_at_;  // last small data of closed streams
  Instant bulk_at_{};                      // last time when bulk data was handed over
  Instant answer_until_{};                 // an answer to small data is expected until then
  Duration small_took_;                    // time from request to confirmation on an empty line
  bool answer_due_ = false;
  bool discovery_due_ = false;
  bool lost_due_ = true;  // true at first: data confirmed before this session is lost
  std::optional<std::uint32_t> challenge_;
  std::optional<Instant> challenged_at_;
  std::optional<Instant> answered_at_;
  std::optional<Instant> discovered_at_;
  std::optional<Instant> heard_at_;
  Instant received_at_ = Instant::min();  // time of the U_PDU that began the last pause
  std::optional<Instant> asked_at_;       // first confirmation without an answer
  bool asked_again_ = false;
  // The node of a peer confirms in place of the peer. The next three fields tell whether the peer
  // itself still answers.
  std::optional<Instant> unanswered_since_;  // first confirmed OPEN or PROBE without an answer
  bool questioned_ = false;
  std::optional<Instant> questioned_at_;  // time when the question was confirmed
  std::optional<Instant> incapable_since_;
  std::optional<Instant> silent_since_;
  Instant probe_at_{};
  Instant hold_until_{};
  std::uint64_t served_ = 0;
};

}  // namespace s5066::streams
