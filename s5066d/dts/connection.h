// SPDX-License-Identifier: Apache-2.0
// The ARQ connection with one peer (C.6.2): regular and expedited data in both directions, and the
// part of it that goes into a transmission.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "s5066d/base/node_counters.h"
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
    unsigned out_of_sync_max;     // bursts in a row that disagree; see WindowVerification
    unsigned resyncs_max;         // answered resyncs in a row that did not help
    unsigned resets_missed_max;   // type 3 requests in a row without an answer
    std::uint8_t extensions;      // bits that we offer the peer; see pdu::extension
    std::size_t held_octets_max;  // received segments that wait for older ones
  };
  /// Result of a D_PDU of the peer for this connection.
  enum class Verdict : std::uint8_t {
    taken,
    out_of_sync,  // the two disagree about the windows; nothing was changed
    unexpected,   // there is nothing that it could answer
    late,         // full duplex: it answers an earlier transmission; nothing was changed
  };

  Connection(Address peer, const Config& config, Counters& counters);

  Address peer() const { return peer_; }

  /// Holds back all data until the peer has acknowledged a full reset (C.6.3.1(2)).
  void begin_with_reset();

  /// Accepts regular or expedited ARQ data; on success exactly one outcome follows.
  Result<void> request(CpduRequest request);
  /// Rejects every accepted C_PDU.
  void on_terminated();

  // --- What was heard of the peer ---
  template <typename Number>
  Verdict on_data(Number number, const pdu::DataFlags& flags, Bytes segment, bool ok);
  template <typename Ack>
  Verdict on_ack(const Ack& ack, std::optional<Instant> formed_at = std::nullopt);
  void on_expedited_data(pdu::ExpeditedData& data, bool ok);
  Verdict on_expedited_ack(const pdu::Ack& ack, std::optional<Instant> formed_at = std::nullopt);
  /// Returns `taken` if it completes an exchange of ours.
  Verdict on_reset(const pdu::Reset& reset);
  /// Takes the extension bits that the peer offers.
  void on_extensions(std::uint8_t bits);
  /// The peer is known to have our offer, so it need not be repeated.
  void on_offer_known() { offers_left_ = 0; }
  /// Returns the extension bits that both stations offer.
  std::uint8_t extensions() const { return extensions_; }
  /// Call when the rate of our transmissions to the peer has changed.
  void on_rate(std::size_t segment_octets_first) { regular_tx_.on_rate(segment_octets_first); }
  /// Call when the peer rejects type 9 although it seemed to offer it; no more type 9 goes to it.
  /// Returns false if no type 9 is out that the peer could mean.
  bool on_long_data_refused();
  /// True if we sent type 9, but never received type 9 or 10 of the peer on this connection.
  bool long_data_unanswered() const { return long_data_sent_ && !long_heard_; }
  /// True if a type 9 or 10 of the peer was received.
  bool long_heard() const { return long_heard_; }
  /// Call for a piece of a transmission that is the peer's, or may be.
  void on_carrier() { active_ = true; }
  /// Call when the transmission being received has ended.
  void on_heard_over();
  /// True if any ARQ D_PDU of this connection was received.
  bool heard() const { return heard_; }
  /// True if an ARQ D_PDU may have come since the last call, or may be on its way.
  bool take_active() { return std::exchange(active_, false); }
  /// True if an ARQ D_PDU has come since the last call.
  bool take_frame() { return std::exchange(frame_, false); }
  /// True if the windows disagree and either the peer does not answer a resync, or resyncs have not
  /// helped.
  bool hopeless() const {
    return resynced_in_vain_ || (resync_.open() && resync_.tries() >= config_.resets_missed_max);
  }
  /// True if the windows were reset since the last call: C_PDUs may come a second time.
  bool take_restarted() { return std::exchange(restarted_, false); }

  /// Queues an acknowledgement although the peer sent nothing new, so that it knows that we are
  /// there.
  void owe_ack() { ack_owed_ = ack_ripe_ = true; }

  // --- Transmissions ---
  /// True if only an acknowledgement of regular data is to be sent.
  bool owes_only_ack() const {
    return ack_owed_ && !expedited_ack_owed_ && !resync_.has_work() && !resync_.answer_owed() &&
           !regular_has_work() && !expedited_tx_.has_work();
  }
  /// True if the transmission to acknowledge has ended.
  bool ack_is_ripe() const { return ack_owed_ && ack_ripe_; }
  bool answer_owed() const { return ack_owed_ || expedited_ack_owed_ || resync_.answer_owed(); }
  /// True if types 4 and 5 are to be sent or waited for.
  bool expedited_under_way() const { return !expedited_tx_.idle() || expedited_ack_owed_; }
  /// True if types 0 to 3 are to be sent or waited for.
  bool data_under_way() const { return !regular_tx_.idle() || ack_owed_ || resync_.has_work(); }
  bool has_work() const {
    return answer_owed() || resync_.has_work() || regular_has_work() || expedited_tx_.has_work();
  }
  /// Returns the length of the longest waiting segment of regular data; a transmission must have
  /// room for it so that nothing is held up.
  std::size_t longest_waiting() const { return regular_tx_.longest_waiting(); }
  /// Adds acknowledgements, then expedited data; regular data only if no expedited data is under
  /// way. With `answer_only` it adds nothing that asks for an answer. Returns false if nothing was
  /// added.
  bool fill(bool answer_only, IntervalBudget& budget, BurstBuilder& burst);
  /// True if the last fill asks for an answer.
  bool wants_reply() const { return filled_.data || filled_.expedited_data || filled_.reset; }
  /// True if the last fill acknowledges regular data.
  bool acknowledges() const { return filled_.ack; }
  /// Call when the transmission with the last fill is over; `sent` if it left the antenna. See
  /// ArqSender::on_sent.
  void on_transmitted(bool sent, std::optional<Instant> until = std::nullopt, bool in_turn = false);
  /// Call when the stations begin to take turns: unanswered frames are asked for.
  void on_turns_begun() {
    if (regular_tx_.awaits_answer()) regular_tx_.doubt();
    if (expedited_tx_.awaits_answer()) expedited_tx_.doubt();
  }
  /// True if we must stay silent until the answer comes, in full duplex too, and it has not come
  /// yet.
  bool wants_silence() const { return filled_.reset && resync_.open(); }
  /// Full duplex: true if frames have left that no answer covers, and no poll is about to ask for
  /// them.
  bool awaits_answer() const {
    return regular_tx_.awaits_answer() || expedited_tx_.awaits_answer();
  }
  /// Call when the last fill is on the air; the peer can answer it from `answered_from` on.
  void on_keyed(Instant answered_from) {
    if (filled_.expedited_data) expedited_tx_.on_keyed(answered_from);
  }
  /// Full duplex: call when a transmission of the peer that it formed at `formed_at` was heard.
  void on_heard(Instant formed_at) { expedited_tx_.on_heard(formed_at); }
  /// Full duplex: returns since when no expedited C_PDU begins, because an answer to the last one
  /// may come.
  std::optional<Instant> expedited_rests_since() const { return expedited_tx_.rests_since(); }
  void end_expedited_rest() { expedited_tx_.end_rest(); }
  /// Call when the answer has not come; returns how many in a row are missing.
  unsigned on_reply_missing();

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  std::optional<ArqSender::Outcome> poll_outcome();
  std::optional<CpduArrived> poll_arrived() { return regular_tx_.poll_arrived(); }
  /// Returns the last answer for regular data.
  std::optional<ArqSender::Answer> take_answer() { return regular_tx_.take_answer(); }
  std::optional<CpduIndication> poll_cpdu();

  /// C_PDU octets accepted and not yet reported.
  std::size_t queued_octets() const;
  std::uint64_t octets_acknowledged() const {
    return regular_tx_.octets_acknowledged() + expedited_tx_.octets_acknowledged();
  }

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
  ArqSender::AckEffect take_ack(ArqSender& sender, const Ack& ack,
                                std::optional<Instant> formed_at);
  ArqSender::Acknowledgement regular_ack(const IntervalBudget& budget) const;
  pdu::Common common() const { return {.destination = peer_, .source = config_.self}; }

  Address peer_;
  Config config_;
  Counters& counters_;
  ArqSender regular_tx_;
  ArqReceiver regular_rx_;
  ArqSender expedited_tx_;
  ArqReceiver expedited_rx_;
  std::optional<std::uint8_t> expedited_id_;  // C_PDU ID of the data in expedited_rx_
  bool ack_owed_ = false;
  bool ack_ripe_ = false;  // the transmission to acknowledge has ended
  bool expedited_ack_owed_ = false;
  bool heard_ = false;
  bool active_ = false;
  bool frame_ = false;
  Resync resync_;
  WindowVerification rx_verification_;  // checked by the peer's data
  WindowVerification tx_verification_;  // checked by the peer's acknowledgements
  bool resynced_in_vain_ = false;
  bool restarted_ = false;
  unsigned replies_missed_ = 0;
  Filled filled_;
  unsigned offers_left_ = 0;  // transmissions that still carry our offer
  unsigned offers_answered_ = 0;
  bool offer_next_ = false;
  std::uint8_t extensions_ = 0;  // offered by both
  bool long_data_refused_ = false;
  bool long_data_sent_ = false;
  bool long_heard_ = false;
};

}  // namespace s5066::dts
