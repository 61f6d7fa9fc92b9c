// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/rcop.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/take_front.h"

namespace s5066::gateways {
namespace {

constexpr CounterTable<RcopCounter> kRcopCounters({
    {RcopCounter::segments, "rcop_segments", "U_PDUs", "segments of application PDUs received"},
    {RcopCounter::malformed, "rcop_malformed", "U_PDUs", "U_PDUs without a valid RCOP header"},
    {RcopCounter::repeated, "rcop_repeated", "U_PDUs", "segments received again"},
    {RcopCounter::restarted, "rcop_restarted", "PDUs",
     "application PDUs given up because their number came back with other octets"},
    {RcopCounter::too_large, "rcop_too_large", "PDUs",
     "application PDUs over the limit of octets or segments"},
    {RcopCounter::crowded_out, "rcop_crowded_out", "PDUs",
     "incomplete application PDUs discarded to make room for newer ones"},
    {RcopCounter::timed_out, "rcop_timed_out", "PDUs",
     "incomplete application PDUs given up because nothing came for long"},
    {RcopCounter::completed, "rcop_completed", "PDUs", "application PDUs received complete"},
});

}  // namespace

const CounterTable<RcopCounter>& counter_table(RcopCounter) {
  return kRcopCounters;
}

void encode(const RcopHeader& header, Bytes& out) {
  S5066_ASSERT(header.connection_id < 16);
  out.push_back(static_cast<std::uint8_t>(header.connection_id << 4));
  out.push_back(header.updu_id);
  put_u16(out, header.segment);
  put_u16(out, header.application_id);
}

Result<RcopPdu> decode_rcop(ByteSpan updu) {
  if (updu.size() < kRcopHeaderBytes) return Error{ErrorCode::truncated, "RCOP header"};
  const RcopHeader header{.connection_id = static_cast<std::uint8_t>(updu[0] >> 4),
                          .updu_id = updu[1],
                          .segment = get_u16(updu, 2),
                          .application_id = get_u16(updu, 4)};
  return RcopPdu{header, updu.subspan(kRcopHeaderBytes)};
}

std::size_t rcop_segment_count(std::size_t application_octets, std::size_t mtu) {
  S5066_ASSERT(mtu > kRcopHeaderBytes);
  const std::size_t per_segment = mtu - kRcopHeaderBytes;
  return std::max<std::size_t>(1, (application_octets + per_segment - 1) / per_segment);
}

Bytes rcop_segment(const RcopHeader& header, const RcopPart& part, std::size_t mtu) {
  S5066_ASSERT(header.segment < rcop_segment_count(part.pdu_octets, mtu));
  const std::size_t per_segment = mtu - kRcopHeaderBytes;
  const std::size_t begin = header.segment * per_segment;
  const std::size_t octets = std::min(per_segment, part.pdu_octets - begin);
  S5066_ASSERT(part.at <= begin && begin + octets <= part.at + part.octets.size());
  Bytes updu;
  encode(header, updu);
  append(updu, part.octets.subspan(begin - part.at, octets));
  return updu;
}

Bytes rcop_segment(const RcopHeader& header, ByteSpan application_pdu, std::size_t mtu) {
  return rcop_segment(header, {application_pdu, 0, application_pdu.size()}, mtu);
}

RcopReassembler::RcopReassembler(const Config& config) : config_(config) {
  S5066_ASSERT(config.length_of != nullptr);
  S5066_ASSERT(config.contexts_max > 0);
  S5066_ASSERT(config.source_octets_max >= config.pdu_octets_max);
}

std::optional<RcopReassembler::Complete> RcopReassembler::on_updu(Instant now, Address source,
                                                                  SapId source_sap, ByteSpan updu) {
  const auto pdu = decode_rcop(updu);
  if (!pdu) {
    counters_.add(RcopCounter::malformed);
    return std::nullopt;
  }
  counters_.add(RcopCounter::segments);
  const Key key{source, source_sap, pdu->header.connection_id, pdu->header.updu_id};
  auto at = contexts_.find(key);
  if (at != contexts_.end() && known(at->second, *pdu) == Known::different) {
    // The counter came round or the sender started again: octets of two PDUs must not mix.
    counters_.add(RcopCounter::restarted);
    note_dropped(*at, "another transfer came with the same number");
    contexts_.erase(at);
    at = contexts_.end();
  }
  if (at != contexts_.end() && at->second.closed) return std::nullopt;
  if (at != contexts_.end() && known(at->second, *pdu) == Known::same) {
    counters_.add(RcopCounter::repeated);
    return std::nullopt;
  }
  if (pdu->header.segment >= config_.segments_max || !make_room(key, pdu->data.size())) {
    counters_.add(RcopCounter::too_large);
    if (at != contexts_.end()) close(*at);
    return std::nullopt;
  }
  at = contexts_.try_emplace(key).first;
  at->second.last_progress = now;
  store(at->second, *pdu);
  return try_complete(at);
}

RcopReassembler::Known RcopReassembler::known(const Context& context, const RcopPdu& pdu) const {
  const std::size_t segment = pdu.header.segment;
  ByteSpan held;
  if (segment < context.ends.size()) {
    const std::size_t begin = segment == 0 ? 0 : context.ends[segment - 1];
    held = ByteSpan(context.data).subspan(begin, context.ends[segment] - begin);
  } else if (const auto early = context.early.find(pdu.header.segment);
             early != context.early.end()) {
    held = early->second;
  } else {
    return Known::absent;
  }
  return std::equal(held.begin(), held.end(), pdu.data.begin(), pdu.data.end()) ? Known::same
                                                                                : Known::different;
}

void RcopReassembler::store(Context& context, const RcopPdu& pdu) {
  if (pdu.header.segment == 0) context.application_id = pdu.header.application_id;
  context.early.emplace(pdu.header.segment, Bytes(pdu.data.begin(), pdu.data.end()));
  context.early_octets += pdu.data.size();
  while (!context.early.empty() && context.early.begin()->first == context.ends.size()) {
    const Bytes& next = context.early.begin()->second;
    append(context.data, next);
    context.ends.push_back(context.data.size());
    context.early_octets -= next.size();
    context.early.erase(context.early.begin());
  }
}

std::optional<RcopReassembler::Complete> RcopReassembler::try_complete(Contexts::iterator at) {
  Context& context = at->second;
  if (context.ends.empty()) return std::nullopt;
  const auto length = config_.length_of(context.application_id, context.data);
  if (!length) {
    // Unknown application: its first segment is delivered alone.
    Complete complete{at->first, context.application_id, context.data};
    complete.data.resize(context.ends.front());
    contexts_.erase(at);
    counters_.add(RcopCounter::completed);
    return complete;
  }
  if (!length->has_value()) return std::nullopt;
  const std::uint64_t octets = **length;
  if (octets > config_.pdu_octets_max) {
    counters_.add(RcopCounter::too_large);
    close(*at);
    return std::nullopt;
  }
  if (context.data.size() < octets) return std::nullopt;
  Complete complete{at->first, context.application_id, std::move(context.data)};
  complete.data.resize(static_cast<std::size_t>(octets));
  contexts_.erase(at);
  counters_.add(RcopCounter::completed);
  forget_earlier_tries(complete);
  return complete;
}

/// A sender that tries again does so under another CONNECTION_ID.
void RcopReassembler::forget_earlier_tries(const Complete& complete) {
  std::erase_if(contexts_, [&](const auto& entry) {
    const auto& [key, context] = entry;
    return key.source == complete.key.source && key.source_sap == complete.key.source_sap &&
           key.updu_id == complete.key.updu_id && !context.closed && !context.ends.empty() &&
           context.application_id == complete.application_id &&
           context.data.size() <= complete.data.size() &&
           std::equal(context.data.begin(), context.data.end(), complete.data.begin());
  });
}

void RcopReassembler::note_dropped(const Contexts::value_type& entry, const char* reason) {
  const auto& [key, context] = entry;
  // The drop was told before, or the name is unknown.
  if (context.closed || context.ends.empty()) return;
  const std::size_t begin = std::min(context.data.size(), kBeginOctetsMax);
  const auto from = context.data.begin();
  dropped_.push_back({.key = key,
                      .application_id = context.application_id,
                      .begin = Bytes(from, from + static_cast<std::ptrdiff_t>(begin)),
                      .octets = context.data.size(),
                      .reason = reason});
}

std::optional<RcopReassembler::Dropped> RcopReassembler::poll_dropped() {
  return take_front(dropped_);
}

// The entry stays until its time is up, with no octets but the first segment, so that the rest of
// the PDU is ignored and yet another PDU under the same key is noticed.
void RcopReassembler::close(Contexts::value_type& entry) {
  note_dropped(entry, "the transfer is larger than the limit");
  Context& context = entry.second;
  context.closed = true;
  context.early.clear();
  context.early_octets = 0;
  if (!context.ends.empty()) {
    context.data.resize(context.ends.front());
    context.data.shrink_to_fit();
    context.ends.resize(1);
  }
}

bool RcopReassembler::make_room(const Key& key, std::size_t octets) {
  const auto own = contexts_.find(key);
  const std::size_t own_octets = own == contexts_.end() ? 0 : own->second.octets();
  if (own_octets + octets > config_.pdu_octets_max) return false;
  if (own == contexts_.end() && contexts_.size() >= config_.contexts_max) {
    evict_oldest(busiest_source(), key);
  }
  while (octets_held(key.source) + octets > config_.source_octets_max) {
    evict_oldest(key.source, key);
  }
  return true;
}

// Returns the source with most PDUs under way. It loses one of its own, so that a source with few
// loses none.
Address RcopReassembler::busiest_source() const {
  std::map<Address, std::size_t> counts;
  for (const auto& [key, context] : contexts_) ++counts[key.source];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void RcopReassembler::evict_oldest(Address source, const Key& keep) {
  auto oldest = contexts_.end();
  for (auto at = contexts_.begin(); at != contexts_.end(); ++at) {
    if (at->first == keep || at->first.source != source) continue;
    const bool older =
        oldest == contexts_.end() || at->second.last_progress < oldest->second.last_progress;
    if (older) oldest = at;
  }
  S5066_ASSERT(oldest != contexts_.end());
  note_dropped(*oldest, "its memory was needed for other transfers");
  contexts_.erase(oldest);
  counters_.add(RcopCounter::crowded_out);
}

std::size_t RcopReassembler::octets_held(Address source) const {
  std::size_t octets = 0;
  for (const auto& [key, context] : contexts_) {
    if (key.source == source) octets += context.octets();
  }
  return octets;
}

std::optional<Instant> RcopReassembler::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, context] : contexts_) {
    const Instant at = context.last_progress + config_.idle_timeout_max;
    if (!next || at < *next) next = at;
  }
  return next;
}

void RcopReassembler::on_deadline(Instant now) {
  const std::size_t over = std::erase_if(contexts_, [&](const auto& entry) {
    const bool late = entry.second.last_progress + config_.idle_timeout_max <= now;
    if (late) note_dropped(entry, "the rest did not come in time");
    return late;
  });
  counters_.add(RcopCounter::timed_out, over);
}

}  // namespace s5066::gateways
