// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/arq_sender.h"

#include <algorithm>
#include <iterator>

#include "modem/api/airtime.h"
#include "s5066d/base/fair_turn.h"
#include "s5066d/base/take_front.h"

namespace s5066::dts {
namespace {

/// Largest number of frames in a poll. With four of five frames lost, at least one of
/// this many arrives in most polls.
constexpr std::size_t kPollFramesMax = 8;

/// If a transmission holds fewer segments than this, their length decides how well it is filled.
constexpr std::size_t kSegmentsToFitMax = 20;

SegmentSize::Config size_config(const ArqSender::Config& config) {
  const std::size_t max = std::max(config.segment_octets_max, config.segment_octets);
  const bool fixed = max == config.segment_octets;
  return {
      .start = config.segment_octets,
      .min = fixed ? config.segment_octets : std::min(config.segment_octets, kSegmentOctetsUseful),
      .max = max};
}

/// Returns how many octets could be sent in the time that a transmission costs beside its own
/// octets: two preambles, an acknowledgement, and two turnarounds of 200 ms.
std::size_t overhead_octets(const modem::Mode& mode) {
  const double seconds =
      to_seconds(modem::preamble_duration(mode) + modem::airtime(mode, pdu::ack_only_octets(0)) +
                 2 * std::chrono::milliseconds(200));
  return static_cast<std::size_t>(seconds * mode.rate_bps / 8);
}

struct LastSegment {
  std::size_t payload;  // octets in the transmission before it
  std::size_t header;   // octets of its own header
  std::size_t most;     // largest length that it could have
};

/// Returns the length of a segment that ends with a block or with the transmission, so that the
/// payload has the largest share; 0 if the transmission is better without it. Such a segment costs
/// its C_PDU one more header. The rest of a block that is begun costs no time.
std::size_t last_segment_octets(const IntervalBudget& budget, const LastSegment& segment) {
  const std::size_t overhead = overhead_octets(budget.mode());
  const std::size_t block_left = budget.left_in_block();
  const std::size_t begun = budget.whole() - budget.left() + block_left + overhead;
  std::size_t best = 0;
  std::size_t best_payload = segment.payload;
  std::size_t best_octets = begun;
  const auto consider = [&](std::size_t n, std::size_t octets) {
    if (n == 0 || (segment.payload + n) * best_octets < best_payload * octets) return;
    best = n;
    best_payload = segment.payload + n;
    best_octets = octets;
  };
  consider(std::min(block_left - std::min(block_left, segment.header), segment.most), begun);
  consider(segment.most, budget.whole() + overhead);
  return best;
}

std::size_t pieces_of(std::size_t whole, std::size_t piece_max) {
  return (whole + piece_max - 1) / piece_max;
}

}  // namespace

ArqSender::ArqSender(const Config& config, Counters& counters)
    : config_(config),
      counters_(counters),
      window_(config.window),
      segment_size_(size_config(config)) {}

Result<void> ArqSender::request(CpduRequest request) {
  S5066_ASSERT(!request.cpdu.empty() && request.cpdu.size() <= kCpduOctetsMax);
  S5066_ASSERT(request.priority < kFirstLine);
  if (queued_octets_ + request.cpdu.size() > config_.queue_octets_max) {
    return Error{ErrorCode::queue_full, "ARQ queue"};
  }
  queued_octets_ += request.cpdu.size();
  if (request.time_to_die) deadlines_.emplace(*request.time_to_die, request.id);
  note_waiting(request.flow);
  waiting_[request.priority].push_back(std::move(request));
  return {};
}

void ArqSender::note_waiting(std::uint64_t flow) {
  ++flows_.try_emplace(flow, Flow{.served = started_}).first->second.waiting;
}

void ArqSender::note_gone(std::uint64_t flow) {
  const auto found = flows_.find(flow);
  if (--found->second.waiting == 0) flows_.erase(found);
}

bool ArqSender::nothing_waits() const {
  return std::all_of(waiting_.begin(), waiting_.end(), [](const auto& q) { return q.empty(); });
}

bool ArqSender::can_segment() const {
  if (window_.full()) return false;
  if (current_) return true;
  if (config_.expedited && (!window_.empty() || rests_)) return false;  // stop and wait
  if (open_.size() >= kCpdusOutMax) return false;
  return !nothing_waits();
}

// Type 4 has no DROP. An expired expedited C_PDU is still sent to its end, because no other
// may begin before it is acknowledged (C.6.1.3(6)).
bool ArqSender::is_dropped(const Transfer& transfer) const {
  return transfer.expired && !config_.expedited;
}

bool ArqSender::has_work() const {
  if (polled_) return false;
  if (in_doubt_ || can_segment()) return true;
  const auto& frames = window_.frames();
  return std::any_of(frames.begin(), frames.end(), [](const TxFrame& f) { return f.due; });
}

std::size_t ArqSender::longest_waiting() const {
  std::size_t longest = 0;
  for (const TxFrame& frame : window_.frames()) {
    if (!frame.acknowledged && (frame.due || in_doubt_)) {
      longest = std::max(longest, frame.segment.size());
    }
  }
  if (any_length_ || !can_segment()) return longest;
  return std::max(longest, current_ ? open_.at(*current_).segment_octets : segment_size_.octets());
}

pdu::Dpdu ArqSender::ack_dpdu(const pdu::Common& common, const Acknowledgement& ack) {
  if (const auto* longer = std::get_if<pdu::LongAck>(&ack)) {
    return pdu::LongAckOnly{common, *longer};
  }
  return pdu::AckOnly{common, std::get<pdu::Ack>(ack)};
}

/// The frames that one transmission carries, and the acknowledgement with them. Short numbers let
/// an acknowledgement ride on the first frame, with a copy on the last one; otherwise it goes
/// apart, before and behind the frames.
class ArqSender::FrameChoice {
 public:
  FrameChoice(ArqSender& sender, const pdu::Common& common,
              const std::optional<Acknowledgement>& ack, IntervalBudget& budget)
      : sender_(sender),
        common_(common),
        ack_(ack),
        budget_(budget),
        riding_(ack ? std::get_if<pdu::Ack>(&*ack) : nullptr),
        apart_(ack ? pdu::encoded_size(ack_dpdu(common, *ack)) : 0),
        ack_extra_(
            riding_ ? pdu::data_ack_octets(0, riding_->selective.size()) - pdu::data_octets(0) : 0),
        long_numbers_(sender.window_.needs_long_numbers()),
        rides_(riding_ && !long_numbers_) {
    if (ack && !rides_ && sender.has_work()) budget.take(std::min(2 * apart_, budget.left()));
  }

  bool empty() const { return chosen_.empty(); }

  void choose_due_frames() {
    for (TxFrame& frame : sender_.window_.frames()) {
      if (frame.acknowledged || !(frame.due || sender_.in_doubt_)) continue;
      if (!take(frame) && sender_.in_doubt_) break;
    }
  }

  void choose_new_frames() {
    while (!sender_.in_doubt_ && sender_.can_segment()) {
      if (!long_numbers_ && sender_.window_.frames().size() >= kWindowMax && !use_long_numbers()) {
        break;
      }
      // Check the room before segmenting, because a segment with a frame number must fit.
      if (!budget_.fits(header())) break;
      const std::size_t left = budget_.left() - header();
      std::size_t n = sender_.next_segment_octets(budget_);
      if (n > left) {
        n = sender_.any_length_ ? last_segment_octets(budget_, {payload_, header(), left}) : 0;
        if (n == 0) break;
      }
      const bool fits = take(sender_.next_segment(n));
      S5066_ASSERT(fits);
    }
  }

  void add_to(BurstBuilder& burst) const {
    const bool rides = riding_ && !sender_.window_.needs_long_numbers();
    if (ack_ && !rides) burst.add(ack_dpdu(common_, *ack_));
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      TxFrame& frame = sender_.window_.frames()[distance(sender_.window_.lwe(), chosen_[i])];
      const bool with_ack = rides && (i == 0 || i + 1 == chosen_.size());
      burst.add(sender_.frame_dpdu(frame, common_, with_ack ? riding_ : nullptr));
    }
    if (ack_ && !rides && chosen_.size() > 1) burst.add(ack_dpdu(common_, *ack_));
  }

 private:
  std::size_t header() const {
    return (long_numbers_ ? pdu::long_data_octets(0) : pdu::data_octets(0)) +
           (rides_ && chosen_.size() < 2 ? ack_extra_ : 0);
  }
  bool take(const TxFrame& frame) {
    const std::size_t octets = header() + frame.segment.size();
    const bool polled = sender_.in_doubt_ && chosen_.size() >= sender_.poll_frames_;
    if (!budget_.fits(octets)) return false;
    if (polled && octets > budget_.left_in_block()) return false;
    budget_.take(octets);
    chosen_.push_back(frame.number);
    payload_ += frame.segment.size();
    return true;
  }
  /// One more frame makes all headers longer, and the acknowledgement can no longer be part of a
  /// frame. Returns false if there is no room for that.
  bool use_long_numbers() {
    const std::size_t more =
        chosen_.size() +
        (rides_ ? 2 * apart_ - std::min<std::size_t>(2, chosen_.size()) * ack_extra_ : 0);
    if (!budget_.fits(more)) return false;
    budget_.take(more);
    long_numbers_ = true;
    rides_ = false;
    return true;
  }

  ArqSender& sender_;
  const pdu::Common& common_;
  const std::optional<Acknowledgement>& ack_;
  IntervalBudget& budget_;
  const pdu::Ack* riding_;       // the acknowledgement, if a frame with a short number can carry it
  const std::size_t apart_;      // octets of the acknowledgement alone
  const std::size_t ack_extra_;  // octets that it adds to a frame
  bool long_numbers_;
  bool rides_;
  std::vector<LongFrameNumber> chosen_;
  std::size_t payload_ = 0;
};

bool ArqSender::fill(const pdu::Common& common, const std::optional<Acknowledgement>& ack,
                     IntervalBudget& budget, BurstBuilder& burst) {
  if (polled_) return false;
  const IntervalBudget before = budget;
  FrameChoice choice(*this, common, ack, budget);
  choice.choose_due_frames();
  choice.choose_new_frames();
  if (choice.empty()) {
    budget = before;
    return false;
  }
  choice.add_to(burst);
  return ack.has_value();
}

void ArqSender::set_large_window(bool large) {
  large_window_ = large;
  window_.set_frames_max(window_frames_max());
}

unsigned ArqSender::window_frames_max() const {
  if (!large_window_) return config_.window;
  // An acknowledgement has one bit for each frame that is out. If only short segments get through,
  // an acknowledgement longer than a segment would not.
  const auto told = static_cast<unsigned>(8 * segment_size_.octets());
  return std::max(config_.window, std::min(config_.large_window, told));
}

void ArqSender::on_sent(std::optional<Instant> until, bool in_turn) {
  poll_frames_ = in_doubt_ ? std::min(2 * poll_frames_, kPollFramesMax) : 1;
  if (until) {
    on_off_air(*until);
    for (TxFrame& frame : window_.frames()) {
      if (!frame.due && !frame.acknowledged && !frame.sent_until) frame.sent_until = until;
    }
  }
  const bool waits_for_answer = !until || in_turn;
  if (waits_for_answer) in_doubt_ = !window_.empty();
  polled_ = !waits_for_answer && in_doubt_;
}

void ArqSender::on_keyed(Instant answered_from) {
  if (!answered_from_) answered_from_ = answered_from;
  on_air_ = true;
}

void ArqSender::on_off_air(Instant until) {
  on_air_ = false;
  sent_until_ = until;
}

bool ArqSender::is_late(Instant formed_at) const {
  return !window_.empty() && (!answered_from_ || formed_at < *answered_from_);
}

std::optional<Instant> ArqSender::rests_since() const {
  return rests_ && !on_air_ ? std::optional(sent_until_) : std::nullopt;
}

void ArqSender::on_heard(Instant formed_at) {
  if (const auto since = rests_since(); since && formed_at >= *since) rests_ = false;
}

void ArqSender::on_not_sent(Instant until) {
  on_off_air(until);
  for (TxFrame& frame : window_.frames()) {
    if (!frame.acknowledged && !frame.sent_until) frame.due = true;
  }
}

bool ArqSender::awaits_answer() const {
  return (polled_ || !in_doubt_) && anything_left();
}

bool ArqSender::anything_left() const {
  const auto& frames = window_.frames();
  return std::any_of(frames.begin(), frames.end(), [](const TxFrame& frame) {
    return !frame.due && !frame.acknowledged && frame.sent_until;
  });
}

void ArqSender::doubt() {
  in_doubt_ = anything_left();
  polled_ = false;
}

pdu::Dpdu ArqSender::frame_dpdu(TxFrame& frame, const pdu::Common& common, const pdu::Ack* ack) {
  repeated_ = repeated_ || frame.transmissions > 0;
  counters_.add(frame.transmissions++ == 0 ? Counter::frames_sent_new : Counter::frames_sent_again);
  frame.due = false;
  frame.sent_until.reset();
  if (config_.expedited) {
    return pdu::ExpeditedData{common,   frame.flags.start,          frame.flags.end,
                              cpdu_id_, short_number(frame.number), frame.segment};
  }
  pdu::DataFlags flags = frame.flags;
  flags.lwe = frame.number == window_.lwe();
  flags.uwe = frame.number == window_.uwe();
  if (window_.needs_long_numbers()) {
    return pdu::LongData{common, flags, frame.number, frame.segment};
  }
  const FrameNumber number = short_number(frame.number);
  if (ack) return pdu::DataAck{common, flags, number, *ack, frame.segment};
  return pdu::Data{common, flags, number, frame.segment};
}

// A fair turn takes the next C_PDU of a flow by priority, so that C_PDUs of one flow and priority
// keep their order.
ArqSender::Place ArqSender::next_waiting() const {
  const auto first =
      std::find_if(waiting_.rbegin(), waiting_.rend(), [](const Line& l) { return !l.empty(); });
  S5066_ASSERT(first != waiting_.rend());
  const auto best = static_cast<std::size_t>(waiting_.rend() - first) - 1;
  const bool fair = is_fair_turn(started_, config_.fair_turn);
  if (!fair || best == kFirstLine || flows_.size() < 2) return {best, 0};
  const auto longest = std::min_element(
      flows_.begin(), flows_.end(),
      [](const auto& a, const auto& b) { return a.second.served < b.second.served; });
  for (std::size_t priority = best + 1; priority-- > 0;) {
    const Line& line = waiting_[priority];
    const auto next = std::find_if(line.begin(), line.end(), [&](const CpduRequest& request) {
      return request.flow == longest->first;
    });
    if (next != line.end()) return {priority, static_cast<std::size_t>(next - line.begin())};
  }
  S5066_ASSERT(false);
  return {best, 0};
}

// Cuts the C_PDU into the fewest equal parts. If only few of them fill a transmission, up to 3 more
// parts are tried and the cut that fills it best is taken.
std::size_t ArqSender::piece_octets(std::size_t cpdu, const IntervalBudget& budget) const {
  const std::size_t fewest = pieces_of(cpdu, segment_size_.octets());
  std::size_t best = pieces_of(cpdu, fewest);
  if (any_length_ || budget.whole() >= kSegmentsToFitMax * pdu::data_octets(best)) return best;
  const auto in_a_transmission = [&](std::size_t n) {
    return budget.whole() / pdu::data_octets(n) * n;
  };
  for (std::size_t pieces = fewest + 1; pieces <= fewest + 3 && pieces <= cpdu; ++pieces) {
    const std::size_t n = pieces_of(cpdu, pieces);
    if (in_a_transmission(n) > in_a_transmission(best)) best = n;
  }
  return best;
}

void ArqSender::start_next_transfer(std::size_t segment_octets) {
  const Place place = next_waiting();
  Line& line = waiting_[place.line];
  const auto next = line.begin() + static_cast<std::ptrdiff_t>(place.at);
  current_ = next->id;
  if (config_.expedited) {  // C.6.1.3(7)(8)
    window_ = TxWindow(window_frames_max());
    cpdu_id_ = (cpdu_id_ + 1) & 0x0F;
    answered_from_.reset();
    repeated_ = false;
  }
  open_.emplace(*current_, Transfer{.request = std::move(*next),
                                    .segment_octets = segment_octets,
                                    .started = started_++});
  line.erase(next);
  const std::uint64_t flow = open_.at(*current_).request.flow;
  flows_.at(flow).served = started_;
  note_gone(flow);
}

std::size_t ArqSender::next_segment_octets(const IntervalBudget& budget) const {
  const Place place = current_ ? Place{} : next_waiting();
  if (!current_) return piece_octets(waiting_[place.line][place.at].cpdu.size(), budget);
  const Transfer& transfer = open_.at(*current_);
  // An expired C_PDU ends with an empty DROP frame, so that the receiver knows its end.
  if (is_dropped(transfer)) return 0;
  const std::size_t left = transfer.request.cpdu.size() - transfer.segmented;
  return any_length_ ? piece_octets(left, budget) : std::min(left, transfer.segment_octets);
}

TxFrame& ArqSender::next_segment(std::size_t n) {
  if (!current_) start_next_transfer(n);
  Transfer& transfer = open_.at(*current_);
  const Bytes& cpdu = transfer.request.cpdu;
  const std::size_t from = transfer.segmented;
  TxFrame frame;
  frame.cpdu = *current_;
  frame.segment.assign(cpdu.begin() + static_cast<std::ptrdiff_t>(from),
                       cpdu.begin() + static_cast<std::ptrdiff_t>(from + n));
  frame.flags.start = from == 0;
  frame.flags.end = is_dropped(transfer) || from + n == cpdu.size();
  frame.flags.in_order = transfer.request.in_order;
  frame.flags.drop = is_dropped(transfer);
  transfer.segmented += n;
  transfer.unacknowledged += 1;
  counters_.add(Counter::user_octets_sent, n);
  TxFrame& pushed = window_.push(std::move(frame));
  if (pushed.flags.end) {
    transfer.last = pushed.number;
    current_.reset();
  }
  return pushed;
}

void ArqSender::on_rate(std::size_t segment_octets_first) {
  segment_size_.begin_with(segment_octets_first);
  window_.set_frames_max(window_frames_max());
}

ArqSender::AckEffect ArqSender::on_ack(const pdu::Ack& ack, std::optional<Instant> formed_at) {
  const auto meant = window_.lengthened(ack);
  return meant ? on_ack(*meant, formed_at) : AckEffect{};
}

ArqSender::AckEffect ArqSender::on_ack(const pdu::LongAck& ack, std::optional<Instant> formed_at) {
  if (!window_.in_sync(ack)) return {};
  // In half duplex the peer formed the answer after all of our transmission, so a frame that it
  // does not name is missing.
  const auto speaks_of = [&](const TxFrame& frame) {
    return !formed_at || (frame.sent_until && *frame.sent_until <= *formed_at);
  };
  std::size_t octets = 0;
  std::vector<LongFrameNumber> last;  // frames of the last transmission
  for (const TxFrame& frame : window_.frames()) {
    if (frame.due || frame.acknowledged || !speaks_of(frame)) continue;
    last.push_back(frame.number);
    octets += pdu::data_octets(frame.segment.size());
  }
  AckEffect effect{.fits = true};
  for (const auto& frame : window_.acknowledge(ack)) {
    effect.news = true;
    octets_acknowledged_ += frame.octets;
    counters_.add(Counter::user_octets_acknowledged, frame.octets);
    const auto transfer = open_.find(frame.cpdu);
    S5066_ASSERT(transfer != open_.end());
    transfer->second.unacknowledged -= 1;
  }
  std::vector<bool> lost;
  for (const LongFrameNumber number : last) {
    const unsigned place = distance(window_.lwe(), number);
    lost.push_back(place < window_.frames().size() && !window_.frames()[place].acknowledged);
  }
  segment_size_.on_answer(lost, octets);
  const auto lost_count = static_cast<std::size_t>(std::count(lost.begin(), lost.end(), true));
  if (!last.empty()) answer_ = Answer{last.size(), lost_count, octets};
  window_.set_frames_max(window_frames_max());
  finish_delivered();
  // Each repetition draws an answer of its own, and an answer does not name its C_PDU.
  if (formed_at && config_.expedited && window_.empty() && !current_) {
    rests_ = std::exchange(repeated_, false) || rests_;
  }
  for (TxFrame& frame : window_.frames()) {
    frame.due = !frame.acknowledged && (frame.due || speaks_of(frame));
  }
  in_doubt_ = polled_ = false;
  return effect;
}

// The receiver holds an in-order C_PDU until all older ones have come. If the link broke in that
// time, it would never be delivered; so it counts as delivered only when TX LWE has passed it.
bool ArqSender::is_delivered(const Transfer& transfer) const {
  if (!transfer.last || transfer.unacknowledged > 0) return false;
  const bool passed = distance(window_.lwe(), *transfer.last) >= window_.frames().size();
  return passed || !transfer.request.in_order;
}

void ArqSender::finish_delivered() {
  for (auto it = open_.begin(); it != open_.end();) {
    auto& [id, transfer] = *it;
    if (!is_delivered(transfer)) {
      const bool held = transfer.last && transfer.unacknowledged == 0 && !transfer.expired;
      if (held && !std::exchange(transfer.arrived, true)) arrived_.push_back({id});
      ++it;
      continue;
    }
    if (!transfer.expired) report(id, transfer.request.cpdu.size(), CpduConfirm{id});
    it = open_.erase(it);
  }
}

void ArqSender::on_deadline(Instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expire(deadlines_.begin()->second);  // erases the entry
  }
}

std::optional<Instant> ArqSender::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

void ArqSender::expire(CpduId id) {
  for (auto& queue : waiting_) {
    const auto found =
        std::find_if(queue.begin(), queue.end(), [id](const CpduRequest& r) { return r.id == id; });
    if (found == queue.end()) continue;
    const std::size_t octets = found->cpdu.size();
    deadlines_.erase({*found->time_to_die, id});
    note_gone(found->flow);
    queue.erase(found);
    report(id, octets, CpduRejected{id, CpduFailure::expired});
    return;
  }
  const auto transfer = open_.find(id);
  S5066_ASSERT(transfer != open_.end());
  transfer->second.expired = true;
  report(id, transfer->second.request.cpdu.size(), CpduRejected{id, CpduFailure::expired});
  if (!is_dropped(transfer->second)) return;
  for (TxFrame& frame : window_.frames()) {
    if (frame.cpdu != id || frame.acknowledged) continue;
    frame.flags.drop = true;
    frame.segment = {};
  }
}

// `octets` leave the queue, and the entry in deadlines_ is removed.
void ArqSender::report(CpduId id, std::size_t octets, Outcome outcome) {
  const auto transfer = open_.find(id);
  if (transfer != open_.end() && transfer->second.request.time_to_die) {
    deadlines_.erase({*transfer->second.request.time_to_die, id});
  }
  queued_octets_ -= octets;
  outcomes_.push_back(outcome);
}

void ArqSender::restart(LongFrameNumber lwe) {
  std::vector<Transfer> begun;
  for (auto& [id, transfer] : open_) {
    if (!transfer.expired) begun.push_back(std::move(transfer));
  }
  std::sort(begun.begin(), begun.end(),
            [](const Transfer& a, const Transfer& b) { return a.started > b.started; });
  for (Transfer& transfer : begun) {
    note_waiting(transfer.request.flow);
    // These C_PDUs had their turn before.
    waiting_[kFirstLine].push_front(std::move(transfer.request));
  }
  open_.clear();
  current_.reset();
  window_ = TxWindow(window_frames_max(), lwe);
  in_doubt_ = polled_ = rests_ = repeated_ = false;
}

void ArqSender::on_terminated() {
  for (auto& [id, transfer] : open_) {
    if (!transfer.expired) outcomes_.push_back(CpduRejected{id, CpduFailure::not_connected});
  }
  for (auto queue = waiting_.rbegin(); queue != waiting_.rend(); ++queue) {
    for (const auto& request : *queue) {
      outcomes_.push_back(CpduRejected{request.id, CpduFailure::not_connected});
    }
    queue->clear();
  }
  open_.clear();
  flows_.clear();
  current_.reset();
  deadlines_.clear();
  queued_octets_ = 0;
  window_ = TxWindow(window_frames_max());
  in_doubt_ = polled_ = false;
}

std::optional<CpduArrived> ArqSender::poll_arrived() {
  return take_front(arrived_);
}

std::optional<ArqSender::Outcome> ArqSender::poll_outcome() {
  return take_front(outcomes_);
}

}  // namespace s5066::dts
