#include "s5066d/dts/nonarq.h"

#include <algorithm>

#include "s5066d/dts/segment_size.h"

namespace s5066::dts {
namespace {
constexpr std::uint16_t kIdMask = 0x0FFF;
/// At 75 bit/s a segment of full length lasts for two minutes, and one of 200 octets for 24 s.
constexpr std::size_t kPartSeconds = 15;
}  // namespace

NonarqSender::NonarqSender(const Config& config, Rng& rng)
    : config_(config),
      next_expedited_id_(static_cast<std::uint16_t>(rng.below(kIdMask + 1u))),
      next_regular_id_(static_cast<std::uint16_t>(rng.below(kIdMask + 1u))) {
  for (const std::size_t octets : {config.segment_octets, config.segment_octets_once}) {
    S5066_ASSERT(octets >= 1 && octets <= pdu::kSegmentOctetsMax);
  }
}

// Several copies make up for each other's lost segments, and who takes damaged data loses as much
// as is damaged, so there segments must not be too long. A single copy is else lost with any of its
// segments, however short, and then each header is only more to lose.
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
  std::uint16_t& next_id = expedited ? next_expedited_id_ : next_regular_id_;
  Transfer transfer;
  transfer.cpdu_id = next_id;
  transfer.copies_left = request.repeats;
  transfer.copies_before = request.repeats;
  transfer.request = std::move(request);
  next_id = static_cast<std::uint16_t>((next_id + 1) & kIdMask);
  queued_octets_ += transfer.request.cpdu.size();
  ++waiting_[expedited][transfer.request.destination];
  queue(expedited).push_back(std::move(transfer));
  return {};
}

bool NonarqSender::waits_for(Address destination, bool expedited) const {
  return waiting_[expedited].count(destination) > 0;
}

/// What goes with a C_PDU that leaves its queue.
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

std::optional<Address> NonarqSender::expedited_audience(const std::vector<Address>& resting) const {
  for (const Transfer& t : expedited_) {
    const Address to = t.request.destination;
    if (std::find(resting.begin(), resting.end(), to) == resting.end()) return to;
  }
  return std::nullopt;
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

void NonarqSender::begin_burst() {
  for (auto* transfers : {&expedited_, &regular_}) {
    for (Transfer& t : *transfers) {
      t.sent_before = t.sent;
      t.copies_before = t.copies_left;
    }
  }
}

void NonarqSender::fill(bool expedited, Address source, const Share& share, IntervalBudget& budget,
                        BurstBuilder& burst) {
  std::size_t octets_left = share.octets_max;
  for (Transfer& t : queue(expedited)) {
    const Address to = t.request.destination;
    if (share.only_to && to != *share.only_to) continue;
    if (std::find(share.resting.begin(), share.resting.end(), to) != share.resting.end()) continue;
    while (!done(t)) {
      const Bytes& cpdu = t.request.cpdu;
      const bool next_copy = t.sent == cpdu.size();
      const std::size_t from_octet = next_copy ? 0 : t.sent;
      const std::size_t left = std::min(budget.left(), octets_left);
      const std::size_t piece =
          std::min(segment_octets(t, budget.mode()), cpdu.size() - from_octet);
      // What is left of the transmission takes the beginning of a segment.
      const std::size_t n = std::min(piece, left - std::min(left, pdu::nonarq_octets(0)));
      if (n < std::min(piece, kSegmentOctetsUseful)) return;
      const std::size_t octets = pdu::nonarq_octets(n);
      if (next_copy) --t.copies_left;
      t.sent = from_octet;
      octets_left -= octets;
      budget.take(octets);
      pdu::Nonarq dpdu;
      dpdu.common.destination = t.request.destination;
      dpdu.common.source = source;
      dpdu.expedited = expedited;
      dpdu.cpdu_id = t.cpdu_id;
      dpdu.in_order = t.request.in_order;
      dpdu.cpdu_size = static_cast<std::uint16_t>(cpdu.size());
      dpdu.offset = static_cast<std::uint16_t>(t.sent);
      const auto from = cpdu.begin() + static_cast<std::ptrdiff_t>(t.sent);
      dpdu.segment.assign(from, from + static_cast<std::ptrdiff_t>(n));
      t.sent += n;
      burst.add(std::move(dpdu));
    }
  }
}

void NonarqSender::on_sent() {
  for (auto* transfers : {&expedited_, &regular_}) {
    std::erase_if(*transfers, [&](const Transfer& t) {
      if (!done(t)) return false;
      drop(t);
      outcomes_.push_back({t.request.id, false});
      return true;
    });
  }
  begin_burst();  // nothing is on the air
}

void NonarqSender::on_not_sent() {
  for (auto* transfers : {&expedited_, &regular_}) {
    for (Transfer& t : *transfers) {
      t.sent = t.sent_before;
      t.copies_left = t.copies_before;
    }
  }
}

std::optional<NonarqSender::Outcome> NonarqSender::poll_outcome() {
  if (outcomes_.empty()) return std::nullopt;
  std::optional<Outcome> outcome(outcomes_.front());
  outcomes_.pop_front();
  return outcome;
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
  auto found = contexts_.find(key);
  if (found != contexts_.end() && contradicts(found->second, dpdu, segment_ok)) {
    contexts_.erase(found);  // the number was used again: the peer has restarted
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
  found->second.window_end = std::max(found->second.window_end, first_bit_at + window);
  place(found->second, dpdu, segment_ok);
  release(key);
}

bool NonarqReceiver::contradicts(const Context& context, const pdu::Nonarq& dpdu, bool segment_ok) {
  if (context.cpdu.size() != dpdu.cpdu_size) return true;
  for (std::size_t i = 0; segment_ok && i < dpdu.segment.size(); ++i) {
    const std::size_t at = dpdu.offset + i;
    if (context.octets[at] == Octet::good && context.cpdu[at] != dpdu.segment[i]) return true;
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

// Delivers what is complete or past its window, in the order of the numbers. An in-order C_PDU
// waits for older ones of the same source and service that may still come (C.4.2(15)).
void NonarqReceiver::release(const Key& like) {
  std::vector<std::map<Key, Context>::iterator> candidates;
  for (auto it = contexts_.begin(); it != contexts_.end(); ++it) {
    const bool same = it->first.source == like.source && it->first.expedited == like.expedited;
    if (same && !it->second.delivered) candidates.push_back(it);
  }
  // Numbers wrap; counted from half their space before the one at hand they do not.
  const auto age = [&like](auto it) {
    const unsigned ahead = (it->first.cpdu_id - like.cpdu_id + (kIdMask + 1u) / 2) & kIdMask;
    return std::pair(ahead, it->second.arrival);
  };
  std::sort(candidates.begin(), candidates.end(),
            [&age](auto a, auto b) { return age(a) < age(b); });
  bool older_missing = false;
  for (const auto it : candidates) {
    Context& context = it->second;
    const bool ready = context.octets_bad == 0 || context.expired;
    if (ready && !(context.in_order && older_missing)) deliver(it->first, context);
    older_missing = older_missing || (context.in_order && !context.delivered);
  }
}

void NonarqReceiver::deliver(const Key& key, Context& context) {
  context.delivered = true;
  complete_.push_back({key.expedited ? Service::expedited_nonarq : Service::nonarq, key.source,
                       key.destination, context.cpdu, ranges(context, Octet::errored),
                       ranges(context, Octet::missing)});
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

// The station that has most of them gives one up, so that nobody crowds out what others have begun.
// Delivered ones go first: all they still do is to recognise repetitions. Another is delivered as
// it is.
void NonarqReceiver::make_room(Address source) {
  if (contexts_.size() < config_.contexts_max) return;
  std::map<Address, std::size_t> held{{source, 1}};
  for (const auto& [key, context] : contexts_) ++held[key.source];
  const auto older = [&held](const auto& a, const auto& b) {
    const std::size_t of_a = held.at(a.first.source);
    const std::size_t of_b = held.at(b.first.source);
    if (of_a != of_b) return of_a > of_b;
    if (a.second.delivered != b.second.delivered) return a.second.delivered;
    return a.second.arrival < b.second.arrival;
  };
  const auto oldest = std::min_element(contexts_.begin(), contexts_.end(), older);
  const Key key = oldest->first;
  if (!oldest->second.delivered) deliver(key, oldest->second);
  contexts_.erase(oldest);
  release(key);
}

// When its window ends, and when it is forgotten: a late copy must not be delivered again.
Instant NonarqReceiver::deadline(const Context& context) const {
  return context.expired ? context.window_end + config_.memory : context.window_end;
}

void NonarqReceiver::on_deadline(Instant now) {
  std::vector<Key> ended;
  for (auto it = contexts_.begin(); it != contexts_.end();) {
    auto& [key, context] = *it;
    if (context.expired && context.delivered && deadline(context) <= now) {
      it = contexts_.erase(it);
      continue;
    }
    if (!context.expired && context.window_end <= now) {
      context.expired = true;
      ended.push_back(key);
    }
    ++it;
  }
  for (const Key& key : ended) release(key);
}

std::optional<Instant> NonarqReceiver::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, context] : contexts_) {
    if (context.expired && !context.delivered) continue;  // waits for an older one
    if (!next || deadline(context) < *next) next = deadline(context);
  }
  return next;
}

std::optional<CpduIndication> NonarqReceiver::poll_cpdu() {
  if (complete_.empty()) return std::nullopt;
  std::optional<CpduIndication> cpdu(std::move(complete_.front()));
  complete_.pop_front();
  return cpdu;
}

}  // namespace s5066::dts
