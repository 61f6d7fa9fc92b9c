// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/nonarq.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/take_front.h"
#include "s5066d/dts/segment_size.h"

namespace s5066::dts {
namespace {
constexpr std::uint16_t kIdMask = 0x0FFF;
/// Longest duration of a segment whose parts are useful one by one. At 75 bit/s a segment of full
/// length lasts two minutes, and one of 200 octets 24 s.
constexpr std::size_t kPartSeconds = 15;
constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
constexpr int kWindowHalfSecondsMax = 65535;
/// Memory of a remembered C_PDU beside its octets.
constexpr std::size_t kKnownOctets = 256;
}  // namespace

NonarqSender::NonarqSender(const Config& config, Rng& rng) : config_(config) {
  for (const bool expedited : {true, false}) {
    ids_[expedited].next = static_cast<std::uint16_t>(rng.below(kIdMask + 1u));
  }
  for (const std::size_t octets : {config.segment_octets, config.segment_octets_once}) {
    S5066_ASSERT(octets >= 1 && octets <= pdu::kSegmentOctetsMax);
  }
}

// Several copies make up for each other's lost segments, and a client that accepts damaged data
// loses only the damaged part; for both a segment must not be too long. A single copy is otherwise
// lost with any of its segments, however short, and more headers only add to the loss.
std::size_t NonarqSender::segment_octets(const Transfer& transfer, const modem::Mode& mode) const {
  const bool in_parts = transfer.request.repeats > 0 || transfer.request.with_errors;
  if (!in_parts) return config_.segment_octets_once;
  return std::min<std::size_t>(config_.segment_octets, kPartSeconds * mode.rate_bps / 8);
}

Result<void> NonarqSender::request(CpduRequest request) {
  S5066_ASSERT(!request.cpdu.empty() && request.cpdu.size() <= kCpduOctetsMax);
  if (queued_octets_ + request.cpdu.size() > config_.queue_octets_max) {
    return Error{ErrorCode::queue_full, "non-ARQ queue"};
  }
  const bool expedited = request.service == Service::expedited_nonarq;
  Transfer transfer;
  transfer.copies_left = request.repeats;
  transfer.copies_before = request.repeats;
  transfer.request = std::move(request);
  queued_octets_ += transfer.request.cpdu.size();
  ++waiting_[expedited][transfer.request.destination];
  queue(expedited).push_back(std::move(transfer));
  return {};
}

bool NonarqSender::waits_for(Address destination, bool expedited) const {
  return waiting_[expedited].count(destination) > 0;
}

/// Updates the counts when a C_PDU leaves its queue.
void NonarqSender::drop(const Transfer& transfer) {
  queued_octets_ -= transfer.request.cpdu.size();
  auto& waiting = waiting_[transfer.request.service == Service::expedited_nonarq];
  const auto count = waiting.find(transfer.request.destination);
  if (--count->second == 0) waiting.erase(count);
}

bool NonarqSender::has_unfinished() const {
  const auto unfinished = [](const Transfer& t) { return !done(t); };
  return std::any_of(expedited_.begin(), expedited_.end(), unfinished) ||
         std::any_of(regular_.begin(), regular_.end(), unfinished);
}

const CpduRequest* NonarqSender::next_expedited(const std::vector<Address>& resting) const {
  for (const Transfer& t : expedited_) {
    const Address to = t.request.destination;
    if (std::find(resting.begin(), resting.end(), to) == resting.end()) return &t.request;
  }
  return nullptr;
}

void NonarqSender::drop_expired(Instant now) {
  for (auto* transfers : {&expedited_, &regular_}) {
    std::erase_if(*transfers, [&](const Transfer& t) {
      if (!t.request.time_to_die || *t.request.time_to_die > now || on_air(t)) return false;
      drop(t);
      outcomes_.push_back({t.request.id, !first_copy_done(t)});
      return true;
    });
  }
}

void NonarqSender::begin_burst(Instant now, Instant ends_by) {
  ++bursts_;
  for (Ids& ids : ids_) {
    ids.given = 0;
    ids.out = false;
    std::erase_if(ids.held, [now](const auto& held) { return held.second <= now; });
  }
  for (auto* transfers : {&expedited_, &regular_}) {
    std::erase_if(*transfers, [&](Transfer& t) {
      if (!t.window_end || *t.window_end >= ends_by) return false;
      // If no octet of it has left, the modem failed; our turn did not come too late.
      const bool anew = !first_copy_done(t) && (t.sent == 0 || t.renewals < kRenewalsMax);
      if (!anew) {
        drop(t);
        outcomes_.push_back({t.request.id, !first_copy_done(t)});
        return true;
      }
      if (t.sent > 0) ++t.renewals;
      t.cpdu_id.reset();
      t.window_end.reset();
      t.sent = 0;
      return false;
    });
  }
  note();
}

void NonarqSender::note() {
  for (auto* transfers : {&expedited_, &regular_}) {
    for (Transfer& t : *transfers) {
      t.sent_before = t.sent;
      t.copies_before = t.copies_left;
      t.copies.clear();
    }
  }
}

std::optional<std::uint16_t> NonarqSender::new_id(bool expedited) {
  Ids& ids = ids_[expedited];
  ids.out = ids.given + ids.held.size() > kIdMask;
  if (ids.out) return std::nullopt;
  while (ids.held.count(ids.next) > 0) ids.next = (ids.next + 1) & kIdMask;
  ++ids.given;
  return std::exchange(ids.next, static_cast<std::uint16_t>((ids.next + 1) & kIdMask));
}

std::optional<Instant> NonarqSender::next_deadline() const {
  std::optional<Instant> next;
  for (const Ids& ids : ids_) {
    for (const auto& [id, end] : ids.held) {
      if (ids.out && (!next || end < *next)) next = end;
    }
  }
  return next;
}

void NonarqSender::set_windows(Duration past_end, BurstBuilder& burst) {
  std::map<std::uint16_t, Duration> told[2];
  for (auto* transfers : {&expedited_, &regular_}) {
    for (Transfer& t : *transfers) {
      if (!on_air(t)) continue;
      const Duration longest = kWindowHalfSecondsMax * kHalfSecond;
      t.past_end = done(t) ? Duration::zero() : std::min(past_end * (1 << t.renewals), longest);
      told[transfers == &expedited_][*t.cpdu_id] = t.past_end;
    }
  }
  for (auto& dpdu : burst.dpdus()) {
    auto* nonarq = std::get_if<pdu::Nonarq>(&dpdu);
    if (!nonarq) continue;
    const Duration of_it = told[nonarq->expedited].at(nonarq->cpdu_id);
    nonarq->window_half_s = static_cast<std::uint16_t>(of_it / kHalfSecond);
  }
}

// A receiver that heard an earlier window and not the last one goes by the earlier one.
void NonarqSender::note_windows(Instant end) {
  for (auto* transfers : {&expedited_, &regular_}) {
    for (Transfer& t : *transfers) {
      if (!on_air(t)) continue;
      t.window_end = end + t.past_end;
      Instant& held = ids_[transfers == &expedited_].held[*t.cpdu_id];
      held = std::max(held, *t.window_end + kHalfSecond);  // the announced window is rounded up
    }
  }
}

std::size_t NonarqSender::octets_on_air(const Transfer& t, const modem::Mode& mode) const {
  const std::size_t segment = segment_octets(t, mode);
  const std::size_t size = t.request.cpdu.size();
  const std::size_t segments = (size + segment - 1) / segment;
  return (t.request.repeats + std::size_t{1}) * (size + segments * pdu::nonarq_octets(0));
}

/// True if `t`, which is not begun, should wait for the next transmission.
bool NonarqSender::waits_for_next(Transfer& t, const Share& share, const IntervalBudget& budget,
                                  std::size_t octets_left) const {
  const std::size_t octets = octets_on_air(t, budget.mode());
  if (octets <= std::min(budget.left(), octets_left) || octets > share.whole_octets) return false;
  if (!t.put_off) t.put_off = bursts_;
  return t.put_off == bursts_;
}

void NonarqSender::fill(bool expedited, Address source, const Share& share, IntervalBudget& budget,
                        BurstBuilder& burst) {
  std::size_t octets_left = share.octets_max;
  for (Transfer& t : queue(expedited)) {
    const Address to = t.request.destination;
    if (share.only_to && to != *share.only_to) continue;
    if (std::find(share.resting.begin(), share.resting.end(), to) != share.resting.end()) continue;
    const bool begun = t.sent > 0 || first_copy_done(t);
    if (share.whole_octets > 0 && !begun && waits_for_next(t, share, budget, octets_left)) return;
    while (!done(t)) {
      const Bytes& cpdu = t.request.cpdu;
      const bool next_copy = t.sent == cpdu.size();
      const std::size_t from_octet = next_copy ? 0 : t.sent;
      const std::size_t left = std::min(budget.left(), octets_left);
      const std::size_t piece =
          std::min(segment_octets(t, budget.mode()), cpdu.size() - from_octet);
      // The rest of the transmission takes the first part of a segment.
      const std::size_t n = std::min(piece, left - std::min(left, pdu::nonarq_octets(0)));
      if (n < std::min(piece, kSegmentOctetsUseful)) return;
      const std::size_t octets = pdu::nonarq_octets(n);
      if (!t.cpdu_id) t.cpdu_id = new_id(expedited);
      if (!t.cpdu_id) return;  // no ID is free
      if (next_copy) --t.copies_left;
      t.sent = from_octet;
      octets_left -= octets;
      budget.take(octets);
      pdu::Nonarq dpdu;
      dpdu.common.destination = t.request.destination;
      dpdu.common.source = source;
      dpdu.expedited = expedited;
      dpdu.cpdu_id = *t.cpdu_id;
      dpdu.in_order = t.request.in_order;
      dpdu.cpdu_size = static_cast<std::uint16_t>(cpdu.size());
      dpdu.offset = static_cast<std::uint16_t>(t.sent);
      const auto from = cpdu.begin() + static_cast<std::ptrdiff_t>(t.sent);
      dpdu.segment.assign(from, from + static_cast<std::ptrdiff_t>(n));
      t.sent += n;
      burst.add(std::move(dpdu));
      if (t.sent == cpdu.size()) t.copies.push_back({burst.dpdus().size(), t.copies_left});
    }
  }
}

void NonarqSender::on_sent() {
  report_done();
  note();  // nothing is on the air
}

void NonarqSender::report_done() {
  for (auto* transfers : {&expedited_, &regular_}) {
    std::erase_if(*transfers, [&](const Transfer& t) {
      if (!done(t)) return false;
      drop(t);
      outcomes_.push_back({t.request.id, false});
      return true;
    });
  }
}

void NonarqSender::on_not_sent(std::size_t dpdus_left) {
  for (auto* transfers : {&expedited_, &regular_}) {
    for (Transfer& t : *transfers) {
      t.sent = t.sent_before;
      t.copies_left = t.copies_before;
      for (const Copy& copy : t.copies) {
        if (copy.ends > dpdus_left) break;
        t.sent = t.request.cpdu.size();
        t.copies_left = copy.copies_left;
      }
    }
  }
  report_done();
  note();
}

std::optional<NonarqSender::Outcome> NonarqSender::poll_outcome() {
  return take_front(outcomes_);
}

void NonarqReceiver::on_nonarq(Instant first_bit_at, const pdu::Nonarq& dpdu, bool segment_ok) {
  const std::size_t size = dpdu.cpdu_size;
  if (size == 0 || size > config_.cpdu_octets_max || dpdu.offset + dpdu.segment.size() > size) {
    counters_.add(Counter::dpdus_malformed);
    return;
  }
  const Duration window = dpdu.window_half_s == 0
                              ? config_.window_default
                              : dpdu.window_half_s * Duration(std::chrono::milliseconds(500));
  const Key key{dpdu.common.source, dpdu.common.destination, dpdu.expedited, dpdu.cpdu_id};
  now_ = std::max(now_, first_bit_at);
  if (is_known(key, first_bit_at, first_bit_at + window, dpdu, segment_ok)) return;
  auto found = contexts_.find(key);
  if (found != contexts_.end() && contradicts(found->second, dpdu, segment_ok)) {
    contexts_.erase(found);  // the ID was used again: the peer has restarted
    found = contexts_.end();
  }
  if (found == contexts_.end()) {
    make_room(key.source);
    Context context;
    context.cpdu.assign(size, 0);
    context.octets.assign(size, Octet::missing);
    context.octets_bad = size;
    context.in_order = dpdu.in_order;
    context.arrival = arrivals_++;
    found = contexts_.emplace(key, std::move(context)).first;
  }
  // The window is computed again for each D_PDU (C.3.10(25)).
  found->second.window_end = first_bit_at + window;
  place(found->second, dpdu, segment_ok);
  release(key);
}

/// True for a repetition of a delivered C_PDU, which is not delivered again.
bool NonarqReceiver::is_known(const Key& key, Instant first_bit_at, Instant window_end,
                              const pdu::Nonarq& dpdu, bool segment_ok) {
  const auto known = known_.find(key);
  if (known == known_.end()) return false;
  Context& context = known->second;
  const bool forgotten = context.window_end + config_.memory <= first_bit_at;
  if (!forgotten && !contradicts(context, dpdu, segment_ok)) {
    context.window_end = std::max(context.window_end, window_end);
    return true;
  }
  known_octets_ -= memory_of(context);
  known_.erase(known);
  return false;
}

bool NonarqReceiver::contradicts(const Context& context, const pdu::Nonarq& dpdu, bool segment_ok) {
  if (context.cpdu.size() != dpdu.cpdu_size) return true;
  for (std::size_t i = 0; segment_ok && i < dpdu.segment.size(); ++i) {
    const std::size_t at = dpdu.offset + i;
    const bool good = context.octets.empty() || context.octets[at] == Octet::good;
    if (good && context.cpdu[at] != dpdu.segment[i]) return true;
  }
  return false;
}

void NonarqReceiver::place(Context& context, const pdu::Nonarq& dpdu, bool segment_ok) {
  const Octet kind = segment_ok ? Octet::good : Octet::errored;
  for (std::size_t i = 0; i < dpdu.segment.size(); ++i) {
    const std::size_t at = dpdu.offset + i;
    if (context.octets[at] >= kind) continue;
    context.cpdu[at] = dpdu.segment[i];
    context.octets[at] = kind;
    if (segment_ok) --context.octets_bad;
  }
}

// Delivers C_PDUs that are complete or past their window, in the order of their IDs. An in-order
// C_PDU waits for older ones of the same source and service that may still come (C.4.2(15)).
void NonarqReceiver::release(const Key& like) {
  std::vector<Contexts::iterator> candidates;
  for (auto it = contexts_.begin(); it != contexts_.end(); ++it) {
    const bool same = it->first.source == like.source && it->first.expedited == like.expedited;
    if (same) candidates.push_back(it);
  }
  // IDs wrap; counted from half their range before the current one they do not.
  const auto age = [&like](auto it) {
    const unsigned ahead = (it->first.cpdu_id - like.cpdu_id + (kIdMask + 1u) / 2) & kIdMask;
    return std::pair(ahead, it->second.arrival);
  };
  std::sort(candidates.begin(), candidates.end(),
            [&age](auto a, auto b) { return age(a) < age(b); });
  bool older_missing = false;
  for (const auto it : candidates) {
    const Context& context = it->second;
    const bool ready = context.octets_bad == 0 || context.expired;
    if (ready && !(context.in_order && older_missing)) {
      deliver(it);
    } else {
      older_missing = older_missing || context.in_order;
    }
  }
}

void NonarqReceiver::deliver(Contexts::iterator delivered) {
  auto node = contexts_.extract(delivered);
  const Key& key = node.key();
  Context& context = node.mapped();
  complete_.push_back({key.expedited ? Service::expedited_nonarq : Service::nonarq, key.source,
                       key.destination, context.cpdu, ranges(context, Octet::errored),
                       ranges(context, Octet::missing)});
  if (context.octets_bad == 0) context.octets = {};
  known_octets_ += memory_of(context);
  known_.insert(std::move(node));
  if (known_octets_ > config_.known_octets_max) forget_old();
  while (known_octets_ > config_.known_octets_max) forget_one();
}

std::vector<OctetRange> NonarqReceiver::ranges(const Context& context, Octet kind) {
  std::vector<OctetRange> out;
  for (std::size_t i = 0; i < context.octets.size(); ++i) {
    if (context.octets[i] != kind) continue;
    if (!out.empty() && std::size_t{out.back().offset} + out.back().octets == i) {
      ++out.back().octets;
    } else {
      out.push_back({static_cast<std::uint16_t>(i), 1});
    }
  }
  return out;
}

// The station that holds the most contexts loses its oldest one, so that no station crowds out the
// C_PDUs of others. The C_PDU is delivered as it is.
void NonarqReceiver::make_room(Address source) {
  if (contexts_.size() < config_.contexts_max) return;
  std::map<Address, std::size_t> held{{source, 1}};
  for (const auto& [key, context] : contexts_) ++held[key.source];
  const auto older = [&held](const auto& a, const auto& b) {
    const std::size_t of_a = held.at(a.first.source);
    const std::size_t of_b = held.at(b.first.source);
    if (of_a != of_b) return of_a > of_b;
    return a.second.arrival < b.second.arrival;
  };
  const auto oldest = std::min_element(contexts_.begin(), contexts_.end(), older);
  const Key key = oldest->first;
  deliver(oldest);
  release(key);
}

std::size_t NonarqReceiver::memory_of(const Context& context) {
  return kKnownOctets + context.cpdu.size() + context.octets.size();
}

void NonarqReceiver::forget_old() {
  forgot_at_ = now_;
  std::erase_if(known_, [this](const auto& entry) {
    const bool old = entry.second.window_end + config_.memory <= now_;
    if (old) known_octets_ -= memory_of(entry.second);
    return old;
  });
}

// Forgets a C_PDU of the station that takes most memory, the one whose window ends first, so that
// no station makes us deliver repetitions of others.
void NonarqReceiver::forget_one() {
  auto chosen = known_.end();
  std::size_t most = 0;
  for (auto it = known_.begin(); it != known_.end();) {
    auto first = it;
    std::size_t taken = 0;
    const Address source = it->first.source;
    for (; it != known_.end() && it->first.source == source; ++it) {
      taken += memory_of(it->second);
      if (it->second.window_end < first->second.window_end) first = it;
    }
    if (taken <= most) continue;
    most = taken;
    chosen = first;
  }
  known_octets_ -= memory_of(chosen->second);
  known_.erase(chosen);
}

// A delivered C_PDU is remembered for a while past its window, because a late copy must not be
// delivered again.
void NonarqReceiver::on_deadline(Instant now) {
  now_ = std::max(now_, now);
  if (now_ >= forgot_at_ + config_.memory) forget_old();
  std::vector<Key> ended;
  for (auto& [key, context] : contexts_) {
    if (context.expired || now < context.window_end) continue;
    context.expired = true;
    ended.push_back(key);
  }
  for (const Key& key : ended) release(key);
}

std::optional<Instant> NonarqReceiver::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, context] : contexts_) {
    if (context.expired) continue;  // the C_PDU waits for an older one
    if (!next || context.window_end < *next) next = context.window_end;
  }
  return next;
}

std::optional<CpduIndication> NonarqReceiver::poll_cpdu() {
  return take_front(complete_);
}

}  // namespace s5066::dts
