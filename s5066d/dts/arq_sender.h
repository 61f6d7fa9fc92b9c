// Sends the C_PDUs of one connection by selective-repeat ARQ (C.4.1, C.6.2): segments them as the
// window allows, repeats what was not acknowledged, reports how each ended. Expedited data has a
// sender of its own that takes the next C_PDU only when all of the one before is acknowledged
// (C.6.1.3).
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "s5066d/base/metrics.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/interval_packer.h"
#include "s5066d/dts/segment_size.h"
#include "s5066d/dts/service.h"
#include "s5066d/dts/tx_window.h"

namespace s5066::dts {

/// C_PDUs segmented in part or in full and not yet reported: the receiver remembers a multiple of
/// that, so that none is delivered twice when the link breaks. More than the longest transmission
/// at 9600 bit/s holds of 64 octets.
inline constexpr std::size_t kCpdusOutMax = 2048;

class ArqSender {
 public:
  struct Config {
    std::size_t segment_octets;    // 1..kSegmentOctetsMax; of the first segments at most so many
    unsigned window;               // 1..kWindowMax, and such that the peer may have it
    std::size_t queue_octets_max;  // C_PDU octets accepted and not yet reported
    bool expedited = false;        // type 4 instead of types 0 and 2, one C_PDU at a time
    std::size_t segment_octets_max = 0;  // to grow to where few are lost; 0: segment_octets stays
    unsigned large_window = 0;  // with a peer that knows types 9 and 10; up to kLargeWindowMax
    unsigned fair_turn = 0;     // of so many C_PDUs begun one is of the flow served longest ago
  };
  /// What the receiving side has to say, in the form that the peer will understand.
  using Acknowledgement = std::variant<pdu::Ack, pdu::LongAck>;
  static pdu::Dpdu ack_dpdu(const pdu::Common& common, const Acknowledgement& ack);
  using Outcome = std::variant<CpduConfirm, CpduRejected>;

  ArqSender(const Config& config, Counters& counters);

  /// Takes the C_PDU over; on success exactly one Outcome follows.
  /// Order: what has been segmented, then larger priority, then what was requested first; now and
  /// then, as a fair turn, the next of the flow that was served longest ago.
  Result<void> request(CpduRequest request);

  /// Something could go into a transmission now.
  bool has_work() const;
  /// The longest segment that must fit for nothing to be held up.
  std::size_t longest_waiting() const;
  /// Nothing is waiting, and nothing is out that was not acknowledged.
  bool idle() const { return window_.empty() && !current_ && nothing_waits(); }
  std::size_t queued_octets() const { return queued_octets_; }
  /// Frames have numbers and are not all acknowledged.
  bool has_frames_out() const { return !window_.empty(); }

  /// Adds frames: due ones oldest first, then new ones while the window is open. When in doubt, a
  /// short poll instead: the oldest frames as far as one interleaver block goes, because a lost
  /// acknowledgement is as likely as a lost transmission; with each poll that is not answered twice
  /// as many frames, because a single one may well be lost again and again. With `ack`, the first
  /// frame and, in a longer run, the last one carry it as DATA-ACK; where the numbers of either are
  /// long, it goes before and after them. Tells whether it did.
  bool fill(const pdu::Common& common, const std::optional<Acknowledgement>& ack,
            IntervalBudget& budget, BurstBuilder& burst);

  /// From now on segments may end anywhere, so that a transmission is filled to its end. Otherwise
  /// those of one C_PDU have one length and only the last is shorter (C.4.1(5)(6)).
  void set_any_segment_length(bool any) { any_length_ = any; }

  /// The rate is another: what was learnt of the length of segments does not hold there. Those that
  /// have numbers stay as they are.
  void on_rate(std::size_t segment_octets_first);

  /// The peer knows types 9 and 10, or does not. Frames that are out stay out.
  void set_large_window(bool large);
  /// Type 9 has been sent, or will be.
  bool uses_long_numbers() const { return window_.needs_long_numbers(); }

  /// A transmission with frames of ours has left: until an answer comes, we are in doubt. Where the
  /// peer is heard while we send, `until` is when it ended; unless turns are taken all the same,
  /// doubt begins only where an answer is missing.
  void on_sent(std::optional<Instant> until = std::nullopt, bool in_turn = false);

  /// False when it cannot belong to our window: nothing is changed then. In full duplex `formed_at`
  /// is when the peer wrote it: what was still on its way is no part of it.
  bool on_ack(const pdu::Ack& ack, std::optional<Instant> formed_at = std::nullopt);
  bool on_ack(const pdu::LongAck& ack, std::optional<Instant> formed_at = std::nullopt);

  // --- Full duplex only ---
  /// It has not left: its frames are due again, and what is in doubt is still to be asked for.
  void on_not_sent(Instant until);
  /// Frames have left of which no answer has spoken, and a poll is not about to ask for it.
  bool awaits_answer() const;
  /// Such an answer is missing.
  void doubt();

  /// What the last fill added is on the air: the peer answers it from `answered_from` on.
  void on_keyed(Instant answered_from);
  /// Expedited: the answer was formed before the C_PDU that is out could draw one.
  bool is_late(Instant formed_at) const;
  /// Expedited: since when no C_PDU begins, because a second answer to the last one may come.
  std::optional<Instant> rests_since() const;
  /// That has come, if there is one: of the peer was heard what it formed then.
  void on_heard(Instant formed_at);
  /// Nor will it come.
  void end_rest() { rests_ = false; }

  /// Drops what has passed its time to die (C.3.6, implementation note).
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  /// TX LWE becomes `lwe` and nothing is out: C_PDUs that had been sent in part begin again.
  void restart(LongFrameNumber lwe);
  /// Where a restart leaves out nothing but what was sent.
  LongFrameNumber next_number() const { return window_.uwe() + 1; }
  LongFrameNumber lwe() const { return window_.lwe(); }

  /// The connection is gone: everything accepted is rejected.
  void on_terminated();

  /// So many have been, since the connection was made.
  std::uint64_t frames_acknowledged() const { return frames_acknowledged_; }
  std::optional<Outcome> poll_outcome();
  std::optional<CpduArrived> poll_arrived();

  /// What the last answer said of the frames sent since the one before.
  struct Answer {
    std::size_t frames = 0;
    std::size_t lost = 0;
    std::size_t octets = 0;
  };
  std::optional<Answer> take_answer() { return std::exchange(answer_, std::nullopt); }

 private:
  struct Transfer {
    CpduRequest request;
    std::size_t segmented = 0;       // octets given to frames
    std::size_t segment_octets = 0;  // of all its segments but the last, unless any length goes
    unsigned unacknowledged = 0;
    std::optional<LongFrameNumber> last;  // its END frame, once that exists
    std::uint64_t started = 0;            // counts up
    bool arrived = false;                 // told already
    bool expired = false;                 // reported already
  };

  /// Lines of C_PDUs that wait: one for each priority, and one for those that had begun and go
  /// first.
  static constexpr std::size_t kFirstLine = 16;
  using Line = std::deque<CpduRequest>;

  /// Those that wait of one flow.
  struct Flow {
    std::size_t waiting = 0;
    std::uint64_t served = 0;  // when one was begun last or the first came, in C_PDUs begun
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
  bool polled_ = false;          // full duplex: in doubt, and the poll is on its way
  std::size_t poll_frames_ = 1;  // in a poll; more where the block has room
  std::uint8_t cpdu_id_ = 0;     // of the expedited C_PDU being sent; 4 bits
  // Full duplex, expedited:
  std::optional<Instant> answered_from_;  // the C_PDU being sent
  bool repeated_ = false;                 // something of it
  bool on_air_ = false;                   // what was filled
  bool rests_ = false;
  Instant sent_until_{};  // the last time

  std::array<Line, kFirstLine + 1> waiting_;  // not yet segmented
  std::map<std::uint64_t, Flow> flows_;       // of which some wait
  std::map<CpduId, Transfer> open_;           // segmented in part or in full
  std::optional<CpduId> current_;             // the one being segmented
  std::set<std::pair<Instant, CpduId>> deadlines_;
  std::uint64_t started_ = 0;
  std::size_t queued_octets_ = 0;
  std::uint64_t frames_acknowledged_ = 0;
  std::deque<Outcome> outcomes_;
  std::deque<CpduArrived> arrived_;
  std::optional<Answer> answer_;
};

}  // namespace s5066::dts
