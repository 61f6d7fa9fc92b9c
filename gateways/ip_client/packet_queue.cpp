// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/packet_queue.h"

#include <algorithm>
#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::ip_client {
namespace {

/// True if `newer` makes the pure acknowledgement `older` worthless. Acknowledgements with equal
/// numbers are all kept, because they are duplicate acknowledgements or window updates, and the
/// sender needs each of them.
bool supersedes(const TcpSegment& newer, const TcpSegment& older) {
  const std::uint32_t ahead = newer.acknowledgement - older.acknowledgement;
  return newer.is_pure_ack() && older.is_pure_ack() && ahead != 0 && ahead < 0x8000'0000u;
}

/// True if `segment` begins before `other`, so that the receiver of both waits for it first.
bool precedes(const TcpSegment& segment, const TcpSegment& other) {
  const std::uint32_t ahead = other.sequence - segment.sequence;
  return ahead != 0 && ahead < 0x8000'0000u;
}

bool repeats(const TcpSegment& newer, const TcpSegment& older) {
  return newer.sequence_octets() > 0 && newer.sequence == older.sequence &&
         newer.sequence_octets() == older.sequence_octets();
}

}  // namespace

// --- In ------------------------------------------------------------------------------------------

void PacketQueue::push(const Line& key, Packet packet) {
  LineState& line = lines_[key];
  Band& band = line.bands[packet.delivery.priority];
  const auto [at, is_new] = band.flows.try_emplace(packet.flow);
  Flow& flow = at->second;
  if (is_new) {
    flow.place = band.fresh.insert(band.fresh.end(), at->first);
    flow.deficit = static_cast<std::int64_t>(config_.quantum_octets);
  }
  if (replace(flow, line, packet)) return;
  flow.octets += packet.octets.size();
  line.octets += packet.octets.size();
  octets_ += packet.octets.size();
  ++packets_;
  flow.packets.insert(place_of(flow, packet), std::move(packet));
  make_room(key);
}

/// Returns the place of a packet in its conversation. The place is the end, except for a TCP
/// segment that is sent again after its copy was dropped. Such a segment goes before the later
/// ones, because its receiver cannot use them without it.
std::deque<Packet>::iterator PacketQueue::place_of(Flow& flow, const Packet& packet) const {
  auto place = flow.packets.end();
  if (!packet.datagram.tcp || packet.datagram.tcp->sequence_octets() == 0) return place;
  const std::size_t looked_at = std::min(flow.packets.size(), config_.look_back_max);
  const auto first = flow.packets.end() - static_cast<std::ptrdiff_t>(looked_at);
  for (auto at = flow.packets.end(); at != first; --at) {
    const auto& tcp = (at - 1)->datagram.tcp;
    if (tcp && tcp->sequence_octets() > 0) {
      if (!precedes(*packet.datagram.tcp, *tcp)) break;
      place = at - 1;
    }
  }
  return place;
}

bool PacketQueue::replace(Flow& flow, LineState& line, Packet& packet) {
  if (!packet.datagram.tcp) return false;
  const std::size_t looked_at = std::min(flow.packets.size(), config_.look_back_max);
  const auto end = flow.packets.rbegin() + static_cast<std::ptrdiff_t>(looked_at);
  for (auto old = flow.packets.rbegin(); old != end; ++old) {
    if (!old->datagram.tcp) continue;
    if (supersedes(*packet.datagram.tcp, *old->datagram.tcp)) {
      ++stats_.acks_superseded;
    } else if (repeats(*packet.datagram.tcp, *old->datagram.tcp)) {
      ++stats_.segments_replaced;
    } else {
      continue;
    }
    put_in_place(line, flow, *old, std::move(packet));
    return true;
  }
  return false;
}

void PacketQueue::put_in_place(LineState& line, Flow& flow, Packet& old, Packet packet) {
  const std::size_t before = old.octets.size();
  const std::size_t after = packet.octets.size();
  flow.octets = flow.octets - before + after;
  line.octets = line.octets - before + after;
  octets_ = octets_ - before + after;
  old = std::move(packet);
}

void PacketQueue::make_room(const Line& pushed) {
  LineState& line = lines_.at(pushed);
  while (line.octets > config_.line_octets_max) drop_from_largest(line);
  while (octets_ > config_.octets_max || packets_ > config_.packets_max) {
    const auto largest = std::max_element(
        lines_.begin(), lines_.end(),
        [](const auto& a, const auto& b) { return a.second.octets < b.second.octets; });
    drop_from_largest(largest->second);
  }
}

/// Drops from the largest conversation of the lowest priority the datagram that came first. The
/// head is not always the first, because a repeated segment stands before datagrams that came
/// earlier.
void PacketQueue::drop_from_largest(LineState& line) {
  for (auto band = line.bands.rbegin(); band != line.bands.rend(); ++band) {
    auto& flows = band->second.flows;
    const auto largest = std::max_element(
        flows.begin(), flows.end(),
        [](const auto& a, const auto& b) { return a.second.octets < b.second.octets; });
    if (largest == flows.end() || largest->second.packets.empty()) continue;
    auto& packets = largest->second.packets;
    const std::size_t looked_at = std::min(packets.size(), config_.look_back_max);
    const auto earliest =
        std::min_element(packets.begin(), packets.begin() + static_cast<std::ptrdiff_t>(looked_at),
                         [](const Packet& a, const Packet& b) { return a.arrived < b.arrived; });
    take(line, largest->second, earliest);
    if (packets.empty()) erase(band->second, largest);
    ++stats_.overflow;
    return;
  }
  S5066_ASSERT(false);  // a line that is over its limit holds datagrams
}

// --- Out -----------------------------------------------------------------------------------------

std::optional<PacketQueue::Head> PacketQueue::head(Instant now, const Line& key,
                                                   const Limits& limits) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return std::nullopt;
  auto& bands = line->second.bands;
  for (auto band = bands.begin(); band != bands.end();) {
    if (const auto found = head_of(now, line->second, band->second, band->first, limits)) {
      return found;
    }
    band = bands.erase(band);
  }
  lines_.erase(line);
  return std::nullopt;
}

std::optional<PacketQueue::Head> PacketQueue::head_of(Instant now, LineState& line, Band& band,
                                                      std::uint8_t priority, const Limits& limits) {
  while (!band.fresh.empty() || !band.others.empty()) {
    auto& list = band.fresh.empty() ? band.others : band.fresh;
    const auto at = band.flows.find(list.front());
    Flow& flow = at->second;
    if (flow.deficit <= 0) {
      flow.deficit += static_cast<std::int64_t>(config_.quantum_octets);
      to_others(band, flow);
      continue;
    }
    control_delay(now, line, flow, limits);
    if (!flow.packets.empty()) return Head{flow.packets.front().octets.size(), priority};
    if (flow.fresh) {
      to_others(band, flow);
    } else {
      erase(band, at);
    }
  }
  return std::nullopt;
}

void PacketQueue::to_others(Band& band, Flow& flow) {
  band.others.splice(band.others.end(), flow.fresh ? band.fresh : band.others, flow.place);
  flow.fresh = false;
}

PacketQueue::Flows::iterator PacketQueue::erase(Band& band, Flows::iterator at) {
  (at->second.fresh ? band.fresh : band.others).erase(at->second.place);
  return band.flows.erase(at);
}

Packet PacketQueue::pop(const Line& key) {
  LineState& line = lines_.at(key);
  Band& band = line.bands.begin()->second;
  auto& list = band.fresh.empty() ? band.others : band.fresh;
  Flow& flow = band.flows.at(list.front());
  Packet packet = take_head(line, flow);
  flow.deficit -= static_cast<std::int64_t>(packet.octets.size());
  return packet;
}

Packet PacketQueue::take_head(LineState& line, Flow& flow) {
  return take(line, flow, flow.packets.begin());
}

Packet PacketQueue::take(LineState& line, Flow& flow, std::deque<Packet>::iterator at) {
  Packet packet = std::move(*at);
  flow.packets.erase(at);
  flow.octets -= packet.octets.size();
  line.octets -= packet.octets.size();
  octets_ -= packet.octets.size();
  --packets_;
  return packet;
}

// --- Age -----------------------------------------------------------------------------------------

bool PacketQueue::is_late(Instant now, Flow& flow, const Limits& limits) const {
  if (flow.packets.size() < 2 || now - flow.packets.front().arrived < limits.target) {
    flow.above_until.reset();
    flow.drop_next.reset();
    return false;
  }
  if (!flow.above_until) flow.above_until = now + limits.interval;
  return now >= *flow.above_until;
}

void PacketQueue::control_delay(Instant now, LineState& line, Flow& flow, const Limits& limits) {
  while (!flow.packets.empty() && now - flow.packets.front().arrived > limits.age_max) {
    take_head(line, flow);
    ++stats_.aged;
  }
  while (is_late(now, flow, limits) && now >= flow.drop_next.value_or(now)) {
    flow.drops = flow.drop_next ? flow.drops + 1 : 1;
    const double wait = to_seconds(limits.interval) / std::sqrt(flow.drops);
    flow.drop_next = flow.drop_next.value_or(now) + from_seconds(wait);
    Packet& first = flow.packets.front();
    if (mark_congestion(first.octets, first.datagram)) {
      ++stats_.marked;
      return;
    }
    take_head(line, flow);
    ++stats_.delayed;
  }
}

void PacketQueue::drop_aged(Instant now, const Line& key, Duration age_max) {
  const auto at = lines_.find(key);
  if (at == lines_.end()) return;
  for (auto& [priority, band] : at->second.bands) {
    for (auto flow = band.flows.begin(); flow != band.flows.end();) {
      auto& packets = flow->second.packets;
      while (!packets.empty() && now - packets.front().arrived > age_max) {
        take_head(at->second, flow->second);
        ++stats_.aged;
      }
      flow = packets.empty() ? erase(band, flow) : std::next(flow);
    }
  }
  if (at->second.octets == 0) lines_.erase(at);
}

std::vector<Packet> PacketQueue::take_all(const Line& key) {
  std::vector<Packet> taken;
  const auto at = lines_.find(key);
  if (at == lines_.end()) return taken;
  for (auto& [priority, band] : at->second.bands) {
    for (auto& [name, flow] : band.flows) {
      while (!flow.packets.empty()) taken.push_back(take_head(at->second, flow));
    }
  }
  lines_.erase(at);
  return taken;
}

// --- State ---------------------------------------------------------------------------------------

std::vector<Line> PacketQueue::lines() const {
  std::vector<Line> lines;
  for (const auto& [key, line] : lines_) {
    if (line.octets > 0) lines.push_back(key);
  }
  return lines;
}

std::vector<PacketQueue::FlowState> PacketQueue::flows() const {
  std::vector<FlowState> states;
  for (const auto& [key, line] : lines_) {
    for (const auto& [priority, band] : line.bands) {
      for (const auto& [name, flow] : band.flows) {
        if (flow.packets.empty()) continue;
        states.push_back(
            {key, name, priority, flow.packets.size(), flow.octets, flow.packets.front().arrived});
      }
    }
  }
  return states;
}

}  // namespace s5066::ip_client
