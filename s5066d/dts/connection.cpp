// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/connection.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "s5066d/base/deadline_table.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {
namespace {
/// Copies of an acknowledgement alone in its block, while the block has room. They cost no time,
/// and under heavy losses at least one of them must get through.
constexpr int kAckCopiesMax = 8;
/// Transmissions of a new link that offer our extensions unasked, and that answer an offer. The
/// limit keeps the offers short for a peer that does not know them.
constexpr unsigned kOffers = 3;
constexpr unsigned kOffersAnsweredMax = 8;
/// A long acknowledgement may fill at most one part of this many of a transmission.
constexpr std::size_t kLongAckShare = 4;

bool add_copies(const pdu::Dpdu& dpdu, int copies_min, int copies_max, IntervalBudget& budget,
                BurstBuilder& burst) {
  const std::size_t octets = pdu::encoded_size(dpdu);
  int copies = 0;
  for (; copies < copies_max; ++copies) {
    if (!budget.fits(octets) || (copies >= copies_min && octets > budget.left_in_block())) break;
    budget.take(octets);
    burst.add(dpdu);
  }
  return copies > 0;
}

}  // namespace

Connection::Connection(Address peer, const Config& config, Counters& counters)
    : peer_(peer),
      config_(config),
      counters_(counters),
      regular_tx_(config.regular, counters),
      regular_rx_(kCpduOctetsMax, config.held_octets_max, counters),
      expedited_tx_(config.expedited, counters),
      expedited_rx_(kCpduOctetsMax, config.held_octets_max, counters),
      offers_left_(config.extensions != 0 ? kOffers : 0) {
  S5066_ASSERT(!config.regular.expedited && config.expedited.expedited);
}

void Connection::begin_with_reset() {
  counters_.add(Counter::windows_resynced);
  resync_.start(Resync::Kind::full);
}

Result<void> Connection::request(CpduRequest request) {
  S5066_ASSERT(request.service == Service::arq || request.service == Service::expedited_arq);
  ArqSender& sender = request.service == Service::arq ? regular_tx_ : expedited_tx_;
  return sender.request(std::move(request));
}

void Connection::on_terminated() {
  regular_tx_.on_terminated();
  expedited_tx_.on_terminated();
}

// --- What was heard of the peer ------------------------------------------------------------------

template <typename Number>
Connection::Verdict Connection::on_data(Number number, const pdu::DataFlags& flags, Bytes segment,
                                        bool ok) {
  heard_ = active_ = frame_ = true;
  if (resync_.discards_data()) return Verdict::out_of_sync;  // the peer will begin anew
  resync_.on_data();
  const std::uint64_t before = regular_rx_.frames_taken();
  if (!regular_rx_.on_data(number, flags, std::move(segment), ok)) {
    rx_verification_.on_disagrees();
    return Verdict::out_of_sync;
  }
  rx_verification_.on_fits(regular_rx_.frames_taken() != before);
  long_heard_ = long_heard_ || std::is_same_v<Number, LongFrameNumber>;
  ack_owed_ = true;
  return Verdict::taken;
}

template Connection::Verdict Connection::on_data(FrameNumber, const pdu::DataFlags&, Bytes, bool);
template Connection::Verdict Connection::on_data(LongFrameNumber, const pdu::DataFlags&, Bytes,
                                                 bool);

template <typename Ack>
Connection::Verdict Connection::on_ack(const Ack& ack, std::optional<Instant> formed_at) {
  // The D_PDU belongs to the windows before the reset.
  if (resync_.open()) return Verdict::out_of_sync;
  const ArqSender::AckEffect effect = take_ack(regular_tx_, ack, formed_at);
  if (!effect.fits) {
    // If no frame is out, there is nothing that the acknowledgement could be for.
    if (regular_tx_.has_frames_out()) tx_verification_.on_disagrees();
    return Verdict::out_of_sync;
  }
  resync_.on_data();  // the peer's exchange is over
  long_heard_ = long_heard_ || std::is_same_v<Ack, pdu::LongAck>;
  tx_verification_.on_fits(effect.news);
  return Verdict::taken;
}

template Connection::Verdict Connection::on_ack(const pdu::Ack&, std::optional<Instant>);
template Connection::Verdict Connection::on_ack(const pdu::LongAck&, std::optional<Instant>);

// Another C_PDU ID begins a new window. It also discards an incomplete C_PDU, because its sender
// has given it up. The standard counts the frames of each C_PDU from 0. A peer that lets them run
// on shows it by the number of the first frame (C.6.1.3(7)).
void Connection::on_expedited_data(pdu::ExpeditedData& data, bool ok) {
  heard_ = active_ = frame_ = true;
  if (resync_.discards_data()) return;  // the peer will begin anew
  if (expedited_id_ != data.cpdu_id) {
    expedited_id_ = data.cpdu_id;
    expedited_rx_.restart({data.start ? data.number.value : std::uint8_t{0}});
  }
  const pdu::DataFlags flags{.start = data.start, .end = data.end, .in_order = true};
  if (expedited_rx_.on_data(data.number, flags, std::move(data.segment), ok)) {
    expedited_ack_owed_ = true;
  }
}

// Type 5 does not name its C_PDU, so it counts only for the C_PDU in flight. A copy of the one that
// ended that C_PDU changes nothing. In full duplex a type 5 for the C_PDU before may come when the
// next is on the air.
Connection::Verdict Connection::on_expedited_ack(const pdu::Ack& ack,
                                                 std::optional<Instant> formed_at) {
  if (formed_at && expedited_tx_.is_late(*formed_at)) {
    heard_ = active_ = frame_ = true;
    return Verdict::late;
  }
  return take_ack(expedited_tx_, ack, formed_at).fits ? Verdict::taken : Verdict::unexpected;
}

template <typename Ack>
ArqSender::AckEffect Connection::take_ack(ArqSender& sender, const Ack& ack,
                                          std::optional<Instant> formed_at) {
  heard_ = active_ = frame_ = true;
  const ArqSender::AckEffect effect = sender.on_ack(ack, formed_at);
  if (effect.fits) replies_missed_ = 0;
  return effect;
}

Connection::Verdict Connection::on_reset(const pdu::Reset& reset) {
  heard_ = active_ = frame_ = true;
  const Resync::Effects effects = resync_.on_reset(reset);
  restart(effects);
  if (!effects.answered) return Verdict::unexpected;
  replies_missed_ = 0;
  return Verdict::taken;
}

void Connection::on_extensions(std::uint8_t bits) {
  const bool was_large = (extensions_ & pdu::extension::kLargeWindow) != 0;
  const std::uint8_t common = extensions_ = bits & config_.extensions;
  regular_tx_.set_any_segment_length((common & pdu::extension::kAnySegmentLength) != 0);
  const bool large_window = (common & pdu::extension::kLargeWindow) != 0;
  regular_tx_.set_large_window(large_window && !long_data_refused_);
  // Frames that are out cannot be sent in another form while the numbers stay as they are.
  if (was_large && !large_window && regular_tx_.uses_long_numbers() && !resync_.open()) {
    begin_with_reset();
  }
  if (common == 0 || offers_left_ > 0 || offers_answered_ >= kOffersAnsweredMax) return;
  ++offers_answered_;  // the peer may have missed our offer
  offers_left_ = 1;
}

bool Connection::on_long_data_refused() {
  if (long_data_refused_ || !regular_tx_.uses_long_numbers()) return false;
  long_data_refused_ = true;
  regular_tx_.set_large_window(false);
  begin_with_reset();
  return true;
}

// Type 3 carries the lower octet of a number; both sides take the upper one as 0.
void Connection::restart_tx() {
  regular_tx_.restart({short_number(regular_tx_.next_number()).value});
}

// Expedited data has its own numbers and goes on (C.3.6(1)). A full reset is the exception: it
// discards every C_PDU received in part (C.6.5(6)-(18)), because the peer may have restarted, and
// its next C_PDU may have the ID of the last one. A C_PDU that comes twice is better than a lost
// one.
void Connection::restart(const Resync::Effects& effects) {
  if (effects.restart_all) {
    regular_tx_.restart({0});
    regular_rx_.restart({0});
    expedited_tx_.restart({0});
    expedited_rx_.restart({0});
    expedited_id_.reset();
    expedited_ack_owed_ = false;
  }
  if (effects.restart_tx) restart_tx();
  if (effects.restart_rx) regular_rx_.restart({effects.restart_rx->value});
  if (effects.restart_all || effects.restart_tx) tx_verification_.restart();
  if (effects.restart_all || effects.restart_rx) rx_verification_.restart();
  if (effects.restart_all || effects.restart_rx) {
    ack_owed_ = false;
    restarted_ = true;
  }
}

// After `out_of_sync_max` transmissions that disagree about one direction, its windows are made to
// agree, however well the other direction works. If that did not help, or both disagree, both are
// reset. After `resyncs_max` resyncs without success the link is given up, because a peer that
// answers each time and never agrees would hold its queue for ever.
void Connection::on_heard_over() {
  ack_ripe_ = ack_owed_;
  rx_verification_.on_heard_over();
  tx_verification_.on_heard_over();
  const bool rx = rx_verification_.in_a_row() >= config_.out_of_sync_max;
  const bool tx = tx_verification_.in_a_row() >= config_.out_of_sync_max;
  if (resync_.open() || (!rx && !tx)) return;
  const bool both = rx_verification_.disagrees() && tx_verification_.disagrees();
  const unsigned before = rx ? rx_verification_.mend() : tx_verification_.mend();
  resynced_in_vain_ = before >= config_.resyncs_max;
  if (resynced_in_vain_) return;
  counters_.add(Counter::windows_resynced);
  if (both || before > 0) {
    resync_.start(Resync::Kind::full);
  } else if (rx) {
    resync_.start(Resync::Kind::tx_window);
  } else {
    restart_tx();
    resync_.start(Resync::Kind::rx_window);
  }
}

// --- Transmissions -------------------------------------------------------------------------------

bool Connection::fill(bool answer_only, IntervalBudget& budget, BurstBuilder& burst) {
  const std::size_t before = burst.dpdus().size();
  filled_ = {};
  fill_all(answer_only, budget, burst);
  if (burst.dpdus().size() == before) return false;
  // The last header carries the offer, so that rate advice keeps the first. If there is only one
  // header, they alternate.
  const bool alone = burst.dpdus().size() == before + 1;
  offer_next_ = !alone || !offer_next_;
  filled_.offer = offers_left_ > 0 && (!alone || !offer_next_);
  if (filled_.offer) {
    std::visit([this](auto& d) { d.common.eow = pdu::make_extensions(config_.extensions); },
               burst.dpdus().back());
  }
  return true;
}

void Connection::fill_all(bool answer_only, IntervalBudget& budget, BurstBuilder& burst) {
  if (expedited_ack_owed_) {
    const int copies = regular_tx_.has_work() && !answer_only ? 1 : kAckCopiesMax;
    filled_.expedited_ack =
        add_copies(pdu::ExpeditedAck{common(), expedited_rx_.ack()}, 1, copies, budget, burst);
    expedited_ack_owed_ = !filled_.expedited_ack;
  }
  if (resync_.has_work()) {
    const bool asks = resync_.fill(common(), short_number(regular_tx_.lwe()), budget, burst);
    filled_.reset = asks;
    if (resync_.open()) return;
  }
  std::optional<ArqSender::Acknowledgement> ack;
  if (ack_owed_) ack = regular_ack(budget);

  if (!answer_only && regular_has_work()) {
    const std::size_t frames = burst.dpdus().size();
    filled_.ack = regular_tx_.fill(common(), ack, budget, burst);
    filled_.data = burst.dpdus().size() > frames;
  }
  if (ack && !filled_.ack) {
    const bool tells_twice =
        offers_left_ > 0 && (config_.extensions & pdu::extension::kAdapts) != 0;
    const int copies_min = tells_twice ? 2 : 1;
    filled_.ack =
        add_copies(ArqSender::ack_dpdu(common(), *ack), copies_min, kAckCopiesMax, budget, burst);
  }
  if (!answer_only && expedited_tx_.has_work()) {
    const std::size_t frames = burst.dpdus().size();
    expedited_tx_.fill(common(), std::nullopt, budget, burst);
    filled_.expedited_data = burst.dpdus().size() > frames;
  }
  if (filled_.ack) ack_owed_ = ack_ripe_ = false;
}

ArqSender::Acknowledgement Connection::regular_ack(const IntervalBudget& budget) const {
  if (!regular_rx_.wants_long_ack()) return regular_rx_.ack();
  const std::size_t share = budget.left() / kLongAckShare;
  const std::size_t header = pdu::long_ack_octets(0);
  return regular_rx_.long_ack(
      std::min(share - std::min(share, header), pdu::kLongSelectiveOctetsMax));
}

unsigned Connection::on_reply_missing() {
  on_turns_begun();
  return ++replies_missed_;
}

void Connection::on_transmitted(bool sent, std::optional<Instant> until, bool in_turn) {
  if (!sent && filled_.ack) owe_ack();
  if (!sent && filled_.expedited_ack) expedited_ack_owed_ = true;
  resync_.on_transmitted(sent);
  if (sent && filled_.offer) --offers_left_;
  const auto left = [&](ArqSender& sender) {
    if (!sent && until) return sender.on_not_sent(*until);
    sender.on_sent(until, in_turn);
  };
  if (filled_.data) left(regular_tx_);
  if (sent && filled_.data && regular_tx_.uses_long_numbers()) long_data_sent_ = true;
  if (filled_.expedited_data) left(expedited_tx_);
  filled_ = {};
}

void Connection::on_deadline(Instant now) {
  regular_tx_.on_deadline(now);
  expedited_tx_.on_deadline(now);
}

std::optional<Instant> Connection::next_deadline() const {
  return earlier(regular_tx_.next_deadline(), expedited_tx_.next_deadline());
}

std::optional<ArqSender::Outcome> Connection::poll_outcome() {
  auto outcome = expedited_tx_.poll_outcome();
  return outcome ? outcome : regular_tx_.poll_outcome();
}

std::optional<CpduIndication> Connection::poll_cpdu() {
  for (auto* receiver : {&expedited_rx_, &regular_rx_}) {
    auto cpdu = receiver->poll_cpdu();
    if (!cpdu) continue;
    const bool regular = receiver == &regular_rx_;
    return CpduIndication{regular ? Service::arq : Service::expedited_arq, peer_, config_.self,
                          std::move(*cpdu)};
  }
  return std::nullopt;
}

std::size_t Connection::queued_octets() const {
  return regular_tx_.queued_octets() + expedited_tx_.queued_octets();
}

}  // namespace s5066::dts
