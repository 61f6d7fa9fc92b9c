// The ARQ connection with one peer (C.6.2): regular and expedited data in both directions, and what
// of it goes into a transmission.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "s5066d/base/metrics.h"
#include "s5066d/base/result.h"
#include "s5066d/dts/arq_receiver.h"
#include "s5066d/dts/arq_sender.h"
#include "s5066d/dts/interval_packer.h"
#include "s5066d/dts/resync.h"
#include "s5066d/dts/service.h"
#include "s5066d/dts/window_verification.h"

namespace s5066::dts {

class Connection {
 public:
  struct Config {
    Address self;
    ArqSender::Config regular;
    ArqSender::Config expedited;
    unsigned out_of_sync_max;     // bursts in a row; see WindowVerification
    unsigned resyncs_max;         // in a row, answered and in vain
    unsigned resets_missed_max;   // type 3 without an answer, in a row
    std::uint8_t extensions;      // that we offer the peer; see pdu::extension
    std::size_t held_octets_max;  // of segments received that wait for older ones
  };
  /// What a D_PDU of the peer was to this connection.
  enum class Verdict : std::uint8_t {
    taken,
    out_of_sync,  // the two disagree about the windows; nothing was changed
    unexpected,   // there is nothing it could answer
    late,         // full duplex: it speaks of what was sent before; nothing was changed
  };

  Connection(Address peer, const Config& config, Counters& counters);

  Address peer() const { return peer_; }

  /// All waits until the peer has acknowledged a full reset (C.6.3.1(2)).
  void begin_with_reset();

  /// Regular or expedited ARQ; on success exactly one outcome follows.
  Result<void> request(CpduRequest request);
  /// Everything accepted is rejected.
  void on_terminated();

  // --- What was heard of the peer ---
  template <typename Number>
  Verdict on_data(Number number, const pdu::DataFlags& flags, Bytes segment, bool ok);
  template <typename Ack>
  Verdict on_ack(const Ack& ack, std::optional<Instant> formed_at = std::nullopt);
  void on_expedited_data(pdu::ExpeditedData& data, bool ok);
  Verdict on_expedited_ack(const pdu::Ack& ack, std::optional<Instant> formed_at = std::nullopt);
  /// `taken` when it completes an exchange of ours.
  Verdict on_reset(const pdu::Reset& reset);
  /// What the peer offers to do beyond the standard.
  void on_extensions(std::uint8_t bits);
  /// What both offer.
  std::uint8_t extensions() const { return extensions_; }
  /// Our transmissions to the peer have another rate.
  void on_rate(std::size_t segment_octets_first) { regular_tx_.on_rate(segment_octets_first); }
  /// The peer knows no type 9, whatever it seemed to offer: none goes to it any more. False when
  /// none is out that it could mean.
  bool on_long_data_refused();
  /// It was sent type 9, and nothing of types 9 and 10 was ever heard of it on this connection.
  bool long_data_unanswered() const { return long_data_sent_ && !long_heard_; }
  /// Something of these types was heard.
  bool long_heard() const { return long_heard_; }
  /// A piece of a transmission that is the peer's, or may be.
  void on_carrier() { active_ = true; }
  /// The transmission that was being heard has ended.
  void on_heard_over();
  /// An ARQ D_PDU of this connection has come, whatever it was.
  bool heard() const { return heard_; }
  /// One may have come since the last call, or is on its way.
  bool take_active() { return std::exchange(active_, false); }
  /// One has come since the last call.
  bool take_frame() { return std::exchange(frame_, false); }
  /// The windows disagree, and the peer does not answer to that, or it does and they still do.
  bool hopeless() const {
    return resynced_in_vain_ || (resync_.open() && resync_.tries() >= config_.resets_missed_max);
  }
  /// Since the last call the windows began anew: C_PDUs may come a second time.
  bool take_restarted() { return std::exchange(restarted_, false); }

  /// The peer is to hear of us, although it sent nothing new.
  void owe_ack() { ack_owed_ = ack_ripe_ = true; }

  // --- Transmissions ---
  /// Nothing but an acknowledgement of regular data is to be sent.
  bool owes_only_ack() const {
    return ack_owed_ && !expedited_ack_owed_ && !resync_.has_work() && !resync_.answer_owed() &&
           !regular_has_work() && !expedited_tx_.has_work();
  }
  /// What it acknowledges has ended.
  bool ack_is_ripe() const { return ack_owed_ && ack_ripe_; }
  bool answer_owed() const { return ack_owed_ || expedited_ack_owed_ || resync_.answer_owed(); }
  /// Types 4 and 5 are to be sent or waited for.
  bool expedited_under_way() const { return !expedited_tx_.idle() || expedited_ack_owed_; }
  /// The same of types 0 to 3.
  bool data_under_way() const { return !regular_tx_.idle() || ack_owed_ || resync_.has_work(); }
  bool has_work() const {
    return answer_owed() || resync_.has_work() || regular_has_work() || expedited_tx_.has_work();
  }
  /// Of regular data: the longest segment that must fit for nothing to be held up.
  std::size_t longest_waiting() const { return regular_tx_.longest_waiting(); }
  /// Adds acknowledgements, then expedited data; while none of that is under way, regular data.
  /// With `answer_only` nothing that asks for an answer. False when nothing was added.
  bool fill(bool answer_only, IntervalBudget& budget, BurstBuilder& burst);
  /// What the last fill added waits for an answer.
  bool wants_reply() const { return filled_.data || filled_.expedited_data || filled_.reset; }
  /// It acknowledges regular data.
  bool acknowledges() const { return filled_.ack; }
  /// The transmission with the last fill is over; `sent` when it left the antenna. See
  /// ArqSender::on_sent.
  void on_transmitted(bool sent, std::optional<Instant> until = std::nullopt, bool in_turn = false);
  /// Turns are taken from now on: what is out is asked for.
  void on_turns_begun() {
    if (regular_tx_.awaits_answer()) regular_tx_.doubt();
    if (expedited_tx_.awaits_answer()) expedited_tx_.doubt();
  }
  /// The same waits in silence, in full duplex too; the answer has not come meanwhile.
  bool wants_silence() const { return filled_.reset && resync_.open(); }
  /// Full duplex: frames have left of which no answer has spoken, and nobody is about to ask for
  /// it.
  bool awaits_answer() const {
    return regular_tx_.awaits_answer() || expedited_tx_.awaits_answer();
  }
  /// What the last fill added is on the air, and can be answered from then on.
  void on_keyed(Instant answered_from) {
    if (filled_.expedited_data) expedited_tx_.on_keyed(answered_from);
  }
  /// Full duplex: of the peer was heard what it formed then.
  void on_heard(Instant formed_at) { expedited_tx_.on_heard(formed_at); }
  /// Full duplex: since when no expedited C_PDU begins, because an answer to the last may come.
  std::optional<Instant> expedited_rests_since() const { return expedited_tx_.rests_since(); }
  void end_expedited_rest() { expedited_tx_.end_rest(); }
  /// The answer has not come; returns how often in a row.
  unsigned on_reply_missing();

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  std::optional<ArqSender::Outcome> poll_outcome();
  std::optional<CpduArrived> poll_arrived() { return regular_tx_.poll_arrived(); }
  /// Of regular data.
  std::optional<ArqSender::Answer> take_answer() { return regular_tx_.take_answer(); }
  std::optional<CpduIndication> poll_cpdu();

  /// C_PDU octets accepted and not yet reported.
  std::size_t queued_octets() const;
  std::uint64_t octets_acknowledged() const { return octets_acknowledged_; }

 private:
  struct Filled {
    bool ack = false;
    bool expedited_ack = false;
    bool data = false;
    bool expedited_data = false;
    bool reset = false;
    bool offer = false;
  };
  /// Types 0 and 2 rest while expedited data is under way (C.6.1.2(1), C.3.7(13)).
  bool regular_has_work() const { return !expedited_under_way() && regular_tx_.has_work(); }
  void fill_all(bool answer_only, IntervalBudget& budget, BurstBuilder& burst);
  void restart(const Resync::Effects& effects);
  void restart_tx();
  template <typename Ack>
  Verdict take_ack(ArqSender& sender, const Ack& ack, std::optional<Instant> formed_at);
  ArqSender::Acknowledgement regular_ack(const IntervalBudget& budget) const;
  pdu::Common common() const { return {.destination = peer_, .source = config_.self}; }

  Address peer_;
  Config config_;
  Counters& counters_;
  ArqSender regular_tx_;
  ArqReceiver regular_rx_;
  ArqSender expedited_tx_;
  ArqReceiver expedited_rx_;
  std::optional<std::uint8_t> expedited_id_;  // C_PDU ID that expedited_rx_ is at
  bool ack_owed_ = false;
  bool ack_ripe_ = false;  // what it acknowledges has ended
  bool expedited_ack_owed_ = false;
  bool heard_ = false;
  bool active_ = false;
  bool frame_ = false;
  Resync resync_;
  WindowVerification rx_verification_;  // by the peer's data
  WindowVerification tx_verification_;  // by its acknowledgements
  bool resynced_in_vain_ = false;
  bool restarted_ = false;
  unsigned replies_missed_ = 0;
  std::uint64_t octets_acknowledged_ = 0;
  Filled filled_;
  unsigned offers_left_ = 0;  // transmissions that still say what we offer
  unsigned offers_answered_ = 0;
  bool offer_next_ = false;
  std::uint8_t extensions_ = 0;  // common to both
  bool long_data_refused_ = false;
  bool long_data_sent_ = false;
  bool long_heard_ = false;
};

}  // namespace s5066::dts
