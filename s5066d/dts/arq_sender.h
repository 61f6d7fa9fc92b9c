// SPDX-License-Identifier: Apache-2.0
// Sends the C_PDUs of one connection by selective-repeat ARQ (C.4.1, C.6.2). It segments them as
// the window allows, repeats frames that were not acknowledged, and reports how each C_PDU ended.
// Expedited data has a sender of its own, which begins the next C_PDU only when the one before is
// acknowledged completely (C.6.1.3).
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "s5066d/base/node_counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/interval_packer.h"
#include "s5066d/dts/segment_size.h"
#include "s5066d/dts/service.h"
#include "s5066d/dts/tx_window.h"

namespace s5066::dts {

/// Largest number of C_PDUs that are segmented in part or in full and not yet reported. The
/// receiver remembers a multiple of it, so that no C_PDU is delivered twice when the link breaks.
/// It exceeds the number of 64-octet C_PDUs that the longest transmission at 9600 bit/s holds.
inline constexpr std::size_t kCpdusOutMax = 2048;

class ArqSender {
 public:
  struct Config {
    std::size_t segment_octets;          // 1..kSegmentOctetsMax; upper bound of the first segments
    unsigned window;                     // 1..kWindowMax, and at most what the peer may send
    std::size_t queue_octets_max;        // C_PDU octets accepted and not yet reported
    bool expedited = false;              // use type 4 instead of types 0 and 2, one C_PDU at a time
    std::size_t segment_octets_max = 0;  // size to grow to if few are lost; 0: keep segment_octets
    /// Window for a peer that knows types 9 and 10; at most kLargeWindowMax.
    unsigned large_window = 0;
    unsigned fair_turn = 0;  // one C_PDU in so many is of the flow served longest ago
  };
  /// Acknowledgement of the receiving side, in the form that the peer understands.
  using Acknowledgement = std::variant<pdu::Ack, pdu::LongAck>;
  static pdu::Dpdu ack_dpdu(const pdu::Common& common, const Acknowledgement& ack);
  using Outcome = std::variant<CpduConfirm, CpduRejected>;

  ArqSender(const Config& config, Counters& counters);

  /// Takes over the C_PDU; on success exactly one Outcome follows. Segmented C_PDUs go first, then
  /// larger priority, then the earlier request. One in `fair_turn` C_PDUs is the next one of the
  /// flow that was served longest ago.
  Result<void> request(CpduRequest request);

  /// True if a frame or poll could go into a transmission now.
  bool has_work() const;
  /// Returns the length of the longest waiting segment; a transmission must have room for it so
  /// that nothing is held up.
  std::size_t longest_waiting() const;
  /// True if no C_PDU waits and every frame sent was acknowledged.
  bool idle() const { return window_.empty() && !current_ && nothing_waits(); }
  std::size_t queued_octets() const { return queued_octets_; }
  /// True if frames have numbers and are not all acknowledged.
  bool has_frames_out() const { return !window_.empty(); }

  /// Adds frames: due ones oldest first, then new ones while the window is open. If we are in doubt
  /// whether the last transmission arrived, it adds a short poll instead: the oldest frames that
  /// fit one interleaver block, because a lost acknowledgement is as likely as a lost transmission.
  /// The frame count doubles with each unanswered poll, because a single frame may be lost again
  /// and again.
  /// With `ack`, the first frame and, in a longer run, the last one carry it as DATA-ACK. If the
  /// numbers of either are long, the acknowledgement goes before and after the frames. Returns true
  /// if the acknowledgement was added.
  bool fill(const pdu::Common& common, const std::optional<Acknowledgement>& ack,
            IntervalBudget& budget, BurstBuilder& burst);

  /// If `any` is true, segments may end anywhere from now on, so that a transmission is filled to
  /// its end. Otherwise the segments of one C_PDU have one length and only the last is shorter
  /// (C.4.1(5)(6)).
  void set_any_segment_length(bool any) { any_length_ = any; }

  /// Call when the data rate has changed, because the segment length learnt at the old rate does
  /// not apply. Frames that have numbers keep their segments.
  void on_rate(std::size_t segment_octets_first);

  /// Tells whether the peer knows types 9 and 10. Frames that are out stay out.
  void set_large_window(bool large);
  /// True if type 9 has been sent, or will be.
  bool uses_long_numbers() const { return window_.needs_long_numbers(); }

  /// Call when a transmission with our frames has left. We are in doubt until an answer comes. If
  /// the peer is heard while we send, `until` is the end of the transmission, and doubt begins only
  /// when an answer is missing; with `in_turn` turns are taken anyway and doubt begins at
  /// once.
  void on_sent(std::optional<Instant> until = std::nullopt, bool in_turn = false);

  /// Effect of an acknowledgement. It changes nothing if it does not fit.
  struct AckEffect {
    bool fits = false;  // the acknowledgement can belong to our window
    bool news = false;  // the acknowledgement is the first for at least one frame
  };
  /// In full duplex `formed_at` is when the peer wrote the acknowledgement: it does not cover
  /// frames that were still on their way.
  AckEffect on_ack(const pdu::Ack& ack, std::optional<Instant> formed_at = std::nullopt);
  AckEffect on_ack(const pdu::LongAck& ack, std::optional<Instant> formed_at = std::nullopt);

  // --- Full duplex only ---
  /// Call when the transmission did not leave: its frames are due again, and a poll in doubt is
  /// still to be sent.
  void on_not_sent(Instant until);
  /// True if frames have left that no answer covers, and no poll is about to ask for them.
  bool awaits_answer() const;
  /// Call when such an answer is missing.
  void doubt();

  /// Call when the last fill is on the air; the peer can answer it from `answered_from` on.
  void on_keyed(Instant answered_from);
  /// Expedited: true if the peer formed the answer before it could answer the C_PDU that is out.
  bool is_late(Instant formed_at) const;
  /// Expedited: returns since when no C_PDU begins, because a second answer to the last one may
  /// come.
  std::optional<Instant> rests_since() const;
  /// Call when a transmission of the peer that it formed at `formed_at` was heard; that ends the
  /// rest if the second answer would have come by then.
  void on_heard(Instant formed_at);
  /// Ends the rest because no second answer will come.
  void end_rest() { rests_ = false; }

  /// Drops C_PDUs that have passed their time to die (C.3.6, implementation note).
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  /// Sets TX LWE to `lwe` with no frame out. C_PDUs that had been sent in part begin again.
  void restart(LongFrameNumber lwe);
  /// Returns the frame number at which a restart skips only numbers that were sent.
  LongFrameNumber next_number() const { return window_.uwe() + 1; }
  LongFrameNumber lwe() const { return window_.lwe(); }

  /// Rejects every accepted C_PDU because the connection has ended.
  void on_terminated();

  /// Returns the user data octets acknowledged since the connection was made.
  std::uint64_t octets_acknowledged() const { return octets_acknowledged_; }
  std::optional<Outcome> poll_outcome();
  std::optional<CpduArrived> poll_arrived();

  /// Result of the last answer for the frames sent since the answer before.
  struct Answer {
    std::size_t frames = 0;
    std::size_t lost = 0;
    std::size_t octets = 0;
  };
  std::optional<Answer> take_answer() { return std::exchange(answer_, std::nullopt); }

 private:
  class FrameChoice;
  struct Transfer {
    CpduRequest request;
    std::size_t segmented = 0;  // octets given to frames
    /// Length of each segment but the last, unless any length is allowed.
    std::size_t segment_octets = 0;
    unsigned unacknowledged = 0;
    std::optional<LongFrameNumber> last;  // number of its END frame, once that exists
    std::uint64_t started = 0;            // counts up with each transfer begun
    bool arrived = false;                 // CpduArrived was reported
    bool expired = false;                 // the expiry was reported
  };

  /// Queues of waiting C_PDUs: one for each priority, and one for C_PDUs that had begun, which go
  /// first.
  static constexpr std::size_t kFirstLine = 16;
  using Line = std::deque<CpduRequest>;

  /// Waiting C_PDUs of one flow.
  struct Flow {
    std::size_t waiting = 0;
    // Value of `started_` when the flow was last served, or when its first C_PDU came.
    std::uint64_t served = 0;
  };
  struct Place {
    std::size_t line = 0;
    std::size_t at = 0;
  };

  bool nothing_waits() const;
  Place next_waiting() const;
  void note_waiting(std::uint64_t flow);
  void note_gone(std::uint64_t flow);
  bool anything_left() const;
  void on_off_air(Instant until);
  bool can_segment() const;
  bool is_dropped(const Transfer& transfer) const;
  TxFrame& next_segment(std::size_t octets);
  std::size_t next_segment_octets(const IntervalBudget& budget) const;
  std::size_t piece_octets(std::size_t cpdu, const IntervalBudget& budget) const;
  void start_next_transfer(std::size_t segment_octets);
  void expire(CpduId id);
  bool is_delivered(const Transfer& transfer) const;
  void finish_delivered();
  void report(CpduId id, std::size_t octets, Outcome outcome);
  pdu::Dpdu frame_dpdu(TxFrame& frame, const pdu::Common& common, const pdu::Ack* ack);
  unsigned window_frames_max() const;

  Config config_;
  Counters& counters_;
  TxWindow window_;
  SegmentSize segment_size_;
  bool any_length_ = false;
  bool large_window_ = false;
  bool in_doubt_ = false;
  bool polled_ = false;          // full duplex: we are in doubt, and the poll is on its way
  std::size_t poll_frames_ = 1;  // frames in a poll; more if the block has room
  std::uint8_t cpdu_id_ = 0;     // C_PDU ID of the expedited C_PDU being sent; 4 bits
  // Full duplex, expedited:
  std::optional<Instant> answered_from_;  // earliest answer to the C_PDU being sent
  bool repeated_ = false;                 // some frame of that C_PDU was repeated
  bool on_air_ = false;                   // the last fill is on the air
  bool rests_ = false;
  Instant sent_until_{};  // end of the last transmission

  std::array<Line, kFirstLine + 1> waiting_;  // C_PDUs that are not yet segmented
  std::map<std::uint64_t, Flow> flows_;       // flows with waiting C_PDUs
  std::map<CpduId, Transfer> open_;           // segmented in part or in full
  std::optional<CpduId> current_;             // the C_PDU being segmented
  std::set<std::pair<Instant, CpduId>> deadlines_;
  std::uint64_t started_ = 0;
  std::size_t queued_octets_ = 0;
  std::uint64_t octets_acknowledged_ = 0;
  std::deque<Outcome> outcomes_;
  std::deque<CpduArrived> arrived_;
  std::optional<Answer> answer_;
};

}  // namespace s5066::dts
