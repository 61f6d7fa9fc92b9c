// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ip_client_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gateways/ip_client/fragment.h"
#include "s5066d/base/assert.h"

namespace s5066::ip_client {

using gateways::SisRequestId;
using gateways::SisUnidata;
using std::chrono::seconds;

namespace {

constexpr Duration kSweep = seconds(1);         // interval of the sweep while datagrams wait
constexpr Duration kDropNews = seconds(60);     // at most one line for each reason in this time
constexpr Duration kNodeAway = seconds(10);     // wait until senders get an ICMP error
constexpr std::size_t kHashOctetsMax = 128;     // octets of the payload in the hash
constexpr Duration kLifetimeMin = seconds(60);  // limits for the lifetime of a U_PDU at the node
constexpr Duration kLifetimeMax = seconds(600);
constexpr Duration kLifetimeUnheard = seconds(300);  // a call and an answer at 75 bit/s

Drop drop_of(DatagramFault fault) {
  return static_cast<Drop>(fault);
}

Drop drop_of(Chatter chatter) {
  return static_cast<Drop>(static_cast<unsigned>(Drop::mdns) + static_cast<unsigned>(chatter));
}
static_assert(static_cast<unsigned>(Drop::dhcp) - static_cast<unsigned>(Drop::mdns) + 1 ==
              kChatterKinds);
static_assert(static_cast<unsigned>(DatagramFault::address) ==
              static_cast<unsigned>(Drop::address));

/// True for drops that are part of normal service and need no line in the log.
bool is_expected(Drop reason) {
  return (reason >= Drop::mdns && reason <= Drop::rule) || reason == Drop::segment_under_way;
}

std::uint32_t whole_seconds(Duration d) {
  return static_cast<std::uint32_t>(std::chrono::ceil<seconds>(d).count());
}

/// Returns a hash of the parts of a datagram that routers do not change (FNV-1a).
std::uint64_t identity_of(const Datagram& datagram, ByteSpan octets) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto take = [&](ByteSpan more) {
    for (const std::uint8_t octet : more) hash = (hash ^ octet) * 0x100000001b3;
  };
  take(datagram.source.bytes());
  take(datagram.destination.bytes());
  const std::uint64_t rest = std::uint64_t{datagram.id} << 24 |
                             std::uint64_t{datagram.fragment_offset} << 8 | datagram.protocol;
  hash = (hash ^ rest) * 0x100000001b3;
  const ByteSpan payload = octets.subspan(datagram.header_octets);
  take(payload.first(std::min(payload.size(), kHashOctetsMax)));
  return hash;
}

template <std::size_t... I>
std::array<RateLimit, kDrops> drop_news(std::index_sequence<I...>) {
  return {((void)I, RateLimit(1, kDropNews))...};
}

}  // namespace

IpClientCore::IpClientCore(const Config& config)
    : config_(config),
      queue_(config.queue),
      icmp_limit_(config.icmp_burst, config.icmp_interval),
      drop_news_{drop_news(std::make_index_sequence<kDrops>()),
                 drop_news(std::make_index_sequence<kDrops>())} {
  S5066_ASSERT(config.icmp_burst > 0 && config.line_rate_bps > 0);
  S5066_ASSERT(config.age_min <= config.age_max);
}

// --- From the interface --------------------------------------------------------------------------

void IpClientCore::on_datagram(Instant now, Bytes octets) {
  note(now);
  const auto parsed = parse_datagram(octets);
  if (const auto* fault = std::get_if<DatagramFault>(&parsed)) {
    return drop(Direction::to_air, drop_of(*fault));
  }
  const Datagram& datagram = std::get<Datagram>(parsed);
  octets.resize(datagram.total_octets);
  if (const auto reason = reason_to_drop(datagram, octets)) {
    return drop(Direction::to_air, *reason, &datagram);
  }
  const Route* route = config_.routes.find(datagram.destination);
  if (route == nullptr) {
    drop(Direction::to_air, Drop::no_route, &datagram);
    return report(IcmpError::no_route, datagram, octets);
  }
  if (is_loop(datagram, octets, route->station)) {
    return drop(Direction::to_air, Drop::loop, &datagram);
  }
  if (lacks_node()) {
    drop(Direction::to_air, Drop::no_node, &datagram);
    return report(IcmpError::no_route, datagram, octets);
  }
  send(*route, datagram, std::move(octets));
}

/// True if the client has not been bound for longer than a restart of the node takes.
bool IpClientCore::lacks_node() {
  if (bound_) return false;
  if (!unbound_since_) unbound_since_ = now_;
  return now_ - *unbound_since_ > kNodeAway;
}

std::optional<Drop> IpClientCore::reason_to_drop(const Datagram& datagram, ByteSpan octets) const {
  if (const auto chatter = chatter_of(datagram, octets);
      chatter && !config_.drops.carried.contains(*chatter)) {
    return drop_of(*chatter);
  }
  for (const DropRule& rule : config_.drops.rules) {
    if (fits(rule, datagram)) return Drop::rule;
  }
  if (datagram.source.is_unspecified()) return Drop::address;
  if (datagram.hops == 0) return Drop::hops_spent;
  return std::nullopt;
}

std::size_t IpClientCore::mtu_for(const Route& route) const {
  return std::min<std::size_t>(mtu_, route.mtu.value_or(sis::kMtu));
}

void IpClientCore::send(const Route& route, const Datagram& datagram, Bytes octets) {
  const Delivery delivery = delivery_of(config_.qos, datagram, route);
  const Line line{route.station, delivery.arq};
  if (delivery.arq && is_silent(route.station)) {
    Station& silent = station(route.station);
    if (now_ < silent.probe_at) {
      drop(Direction::to_air, Drop::station_silent, &datagram);
      return report(IcmpError::host_unreachable, datagram, octets);
    }
    silent.probe_at = now_ + config_.retry_min;  // the report on it sets the next try
  }
  if (datagram.v6 && !route.station.group && !ipv6_peers_.takes_ipv6(now_, route.station)) {
    if (ipv6_peers_.ask(now_, route.station)) send_ipv6_notice(route.station, true);
    drop(Direction::to_air, Drop::ipv6_not_offered, &datagram);
    if (!ipv6_peers_.is_unable(now_, route.station)) return;
    return report(IcmpError::no_route, datagram, octets);
  }
  const FlowKey flow = flow_of(datagram);
  const std::size_t mtu = mtu_for(route);
  if (octets.size() <= mtu) {
    return enqueue(line, {std::move(octets), datagram, flow, delivery, now_});
  }
  if (datagram.dont_fragment || !config_.fragment) {
    drop(Direction::to_air, Drop::too_big, &datagram);
    return report(IcmpError::too_big, datagram, octets, mtu);
  }
  for (Bytes& piece : fragment_ipv4(octets, datagram, mtu)) {
    const auto parsed = parse_datagram(piece);
    S5066_ASSERT(std::holds_alternative<Datagram>(parsed));
    const Datagram& of_piece = std::get<Datagram>(parsed);
    counters_.add(IpCounter::fragments_made);
    enqueue(line, {std::move(piece), of_piece, flow_of(of_piece), delivery, now_});
  }
}

void IpClientCore::send_ipv6_notice(Address station, bool answer_wanted) {
  Bytes octets = encode(Ipv6Notice{answer_wanted});
  const auto parsed = parse_datagram(octets);
  S5066_ASSERT(std::holds_alternative<Datagram>(parsed));
  const Datagram& datagram = std::get<Datagram>(parsed);
  enqueue({station, true}, {std::move(octets), datagram, flow_of(datagram), Delivery{}, now_});
}

void IpClientCore::on_ipv6_notice(Address station, const Ipv6Notice& notice) {
  if (!has_ipv6_row(station)) return;  // source_allowed() refuses its datagrams
  ipv6_peers_.on_heard(now_, station);
  if (notice.answer_wanted && ipv6_peers_.answer(now_, station)) send_ipv6_notice(station, false);
}

bool IpClientCore::has_ipv6_row(Address station) const {
  const auto& rows = config_.routes.routes();
  return std::any_of(rows.begin(), rows.end(), [&](const Route& route) {
    return route.prefix.address.v6 && route.station == station;
  });
}

void IpClientCore::enqueue(const Line& line, Packet packet) {
  const auto& tcp = packet.datagram.tcp;
  if (tcp && line.arq && under_way(line.station, packet.flow, *tcp)) {
    return drop(Direction::to_air, Drop::segment_under_way, &packet.datagram);
  }
  if (!sweep_at_) sweep_at_ = now_ + kSweep;
  queue_.push(line, std::move(packet));
}

/// True if the node still has the same segment. TCP repeats it because the air is slow. The copy is
/// not needed, because ARQ delivers the segment or reports that it cannot.
bool IpClientCore::under_way(Address address, const FlowKey& flow,
                             const TcpSegment& segment) const {
  if (segment.sequence_octets() == 0) return false;
  return std::any_of(outstanding_.begin(), outstanding_.end(), [&](const auto& entry) {
    const Outstanding& sent = entry.second;
    return sent.datagram.tcp && sent.station == address && sent.flow == flow &&
           sent.datagram.tcp->sequence == segment.sequence &&
           sent.datagram.tcp->sequence_octets() == segment.sequence_octets();
  });
}

// --- From the subnetwork -------------------------------------------------------------------------

void IpClientCore::on_sis(Instant now, const gateways::SisEvent& event) {
  note(now);
  std::visit([&](const auto& value) { on(value); }, event);
}

void IpClientCore::on(const gateways::SisBound& event) {
  if (bound_) on(gateways::SisLost{});
  if (event.mtu < kMtuMin) return emit(IpEvent::Kind::mtu_too_small, {}, std::to_string(event.mtu));
  bound_ = true;
  unbound_since_.reset();
  flow_on_ = true;
  mtu_ = event.mtu;
  emit(IpEvent::Kind::bound, {}, std::to_string(event.mtu));
}

void IpClientCore::on(const gateways::SisLost&) {
  if (!std::exchange(bound_, false)) return;
  unbound_since_ = now_;
  emit(IpEvent::Kind::lost);
  for (const auto& entry : outstanding_) {
    drop(Direction::to_air, Drop::unresolved, &entry.second.datagram);
  }
  outstanding_.clear();
  for (auto& [address, station] : stations_) station.window.on_lost();
  air_octets_ = 0;
}

void IpClientCore::on(const gateways::SisFlow& event) {
  flow_on_ = event.on;
}

void IpClientCore::on(const gateways::SisIndication& event) {
  on_heard(event.source);
  if (const auto notice = decode_ipv6_notice(event.updu)) {
    return on_ipv6_notice(event.source, *notice);
  }
  const auto parsed = parse_datagram(event.updu);
  if (const auto* fault = std::get_if<DatagramFault>(&parsed)) {
    return drop(Direction::from_air, drop_of(*fault), nullptr, event.source);
  }
  const Datagram& datagram = std::get<Datagram>(parsed);
  const ByteSpan octets = ByteSpan(event.updu).first(datagram.total_octets);
  if (datagram.hops == 0) {
    return drop(Direction::from_air, Drop::hops_spent, &datagram, event.source);
  }
  if (!source_allowed(datagram, event.source)) {
    return drop(Direction::from_air, Drop::source_refused, &datagram, event.source);
  }
  if (datagram.v6 && (ipv6_peers_.takes_ipv6(now_, event.source) || has_ipv6_row(event.source))) {
    ipv6_peers_.on_heard(now_, event.source);
  }
  remember(datagram, octets, event.source);
  counters_.add(IpCounter::datagrams_received);
  counters_.add(IpCounter::octets_received, octets.size());
  if (Conversation* known = conversation(flow_of(datagram))) {
    ++known->count.datagrams_received;
    known->count.octets_received += octets.size();
  }
  to_interface_.push_back({Bytes(octets.begin(), octets.end())});
}

/// Returns true if the table assigns the source to the station. If `check_sources` is false, every
/// IPv4 source is allowed, and an IPv6 source if the table has a row for it. Our own addresses are
/// never allowed.
bool IpClientCore::source_allowed(const Datagram& datagram, Address station) const {
  const auto& own = config_.own_addresses;
  if (std::find(own.begin(), own.end(), datagram.source) != own.end()) return false;
  const Route* route = config_.routes.find(datagram.source);
  if (!config_.check_sources) return !datagram.v6 || route != nullptr;
  return route != nullptr && route->station == station;
}

void IpClientCore::remember(const Datagram& datagram, ByteSpan octets, Address station) {
  const std::uint64_t identity = identity_of(datagram, octets);
  if (!seen_.contains(identity)) {
    seen_order_.push_back(identity);
    if (seen_order_.size() > config_.loop_memory_max) {
      seen_.erase(seen_order_.front());
      seen_order_.pop_front();
    }
  }
  seen_[identity] = {station, now_};
}

bool IpClientCore::is_loop(const Datagram& datagram, ByteSpan octets, Address station) const {
  if (seen_.empty()) return false;
  const auto found = seen_.find(identity_of(datagram, octets));
  return found != seen_.end() && found->second.station == station &&
         now_ - found->second.at < config_.loop_memory;
}

void IpClientCore::on(const gateways::SisConfirmed& event) {
  const auto found = outstanding_.find(event.id);
  if (found == outstanding_.end()) return;
  const Address address = found->second.station;
  outstanding_.erase(found);
  counters_.add(IpCounter::datagrams_confirmed);
  station(address).window.on_confirmed(now_, event.id);
  on_heard(address);
}

void IpClientCore::on(const gateways::SisRejected& event) {
  const auto found = outstanding_.find(event.id);
  if (found == outstanding_.end()) return;
  const Outstanding sent = std::move(found->second);
  outstanding_.erase(found);
  station(sent.station).window.on_failed(event.id);
  const auto end = [&](Drop reason) { drop(Direction::to_air, reason, &sent.datagram); };
  switch (event.reason) {
    case sis::RejectReason::ttl_expired:
      end(Drop::expired);
      if (station(sent.station).heard_at.value_or(Instant::min()) < sent.handed) {
        on_not_answered(sent.station);
      }
      return;
    case sis::RejectReason::destination_sap_not_bound:
      end(Drop::not_bound_there);
      if (!config_.report_not_bound) return;
      return report(IcmpError::protocol_unreachable, sent.datagram, sent.quote);
    case sis::RejectReason::destination_not_responding:
      end(Drop::not_answered);
      report(IcmpError::host_unreachable, sent.datagram, sent.quote);
      return on_not_answered(sent.station);
    case sis::RejectReason::larger_than_mtu:
      end(Drop::too_big);
      return report(IcmpError::too_big, sent.datagram, sent.quote,
                    std::min(mtu_, sent.datagram.total_octets / 2));
    case sis::RejectReason::mode_not_specified:
      break;
  }
  end(Drop::refused);
}

void IpClientCore::on(const gateways::SisUnresolved& event) {
  const auto found = outstanding_.find(event.id);
  if (found == outstanding_.end()) return;
  station(found->second.station).window.on_failed(event.id);
  outstanding_.erase(found);
  drop(Direction::to_air, Drop::unresolved);
}

// --- Stations ------------------------------------------------------------------------------------

IpClientCore::Station& IpClientCore::station(Address address) {
  return stations_.try_emplace(address, config_.window).first->second;
}

bool IpClientCore::is_silent(Address address) const {
  const auto found = stations_.find(address);
  return found != stations_.end() && found->second.silent_since.has_value();
}

void IpClientCore::on_heard(Address address) {
  const auto found = stations_.find(address);
  if (found == stations_.end()) return;  // a station that we send nothing to needs no state
  found->second.heard_at = now_;
  if (!found->second.silent_since) return;
  found->second.silent_since.reset();
  emit(IpEvent::Kind::station_answering, address);
}

// Counts the station as silent and drops its datagrams. A refusal soon after the station was heard
// has no effect, because it comes from a fade, and TCP survives a fade.
void IpClientCore::on_not_answered(Address address) {
  Station& failed = station(address);
  if (failed.heard_at && now_ - *failed.heard_at < config_.retry_min) return;
  if (!failed.silent_since) {
    failed.silent_since = now_;
    emit(IpEvent::Kind::station_silent, address);
  }
  const Duration silent_for = now_ - *failed.silent_since;
  failed.probe_at = now_ + std::clamp(silent_for, config_.retry_min, config_.retry_max);
  for (const Packet& packet : queue_.take_all({address, true})) {
    drop(Direction::to_air, Drop::station_silent, &packet.datagram);
    report(IcmpError::host_unreachable, packet.datagram, packet.octets);
  }
}

void IpClientCore::on_routes(Instant now, RouteTable routes) {
  note(now);
  config_.routes = std::move(routes);
  std::set<Address> kept;
  for (const Route& route : config_.routes.routes()) kept.insert(route.station);
  for (const Line& line : queue_.lines()) {
    if (kept.contains(line.station)) continue;
    for (const Packet& packet : queue_.take_all(line)) {
      drop(Direction::to_air, Drop::no_route, &packet.datagram);
    }
  }
  std::erase_if(stations_, [&](const auto& entry) {
    return !kept.contains(entry.first) && entry.second.window.outstanding() == 0;
  });
}

// --- To the subnetwork ---------------------------------------------------------------------------

double IpClientCore::air_rate_bps() const {
  double rate = 0;
  for (const auto& [address, station] : stations_) rate = std::max(rate, station.window.rate_bps());
  if (rate > 0) return rate;
  return node_rate_bps_ > 0 ? node_rate_bps_ : config_.line_rate_bps;
}

double IpClientCore::air_backlog_octets() const {
  return std::max(0.0, air_octets_ - to_seconds(now_ - air_at_) * air_rate_bps() / 8);
}

PacketQueue::Limits IpClientCore::limits_of(const Line& line) const {
  const auto found = stations_.find(line.station);
  std::optional<Duration> turn;
  if (line.arq && found != stations_.end()) turn = found->second.window.turnaround();
  if (!line.arq) {
    const double datagram_s = 8 * static_cast<double>(mtu_) / air_rate_bps();
    turn = config_.window.span_min + from_seconds(datagram_s);
  }
  if (!turn) {
    return {config_.age_unheard / 2, 2 * config_.age_unheard, config_.age_unheard};
  }
  const Duration age = std::clamp(*turn * 5 / 4, config_.age_min, config_.age_max);
  return {age / 2, 2 * age, age};
}

bool IpClientCore::has_room(const Line& line, const PacketQueue::Head& head) {
  if (!line.arq) {
    const double backlog = air_backlog_octets();
    const double room = air_rate_bps() / 8 * to_seconds(config_.window.span_min);
    return backlog < 1 || backlog + static_cast<double>(head.octets) <= room;
  }
  const Station& to = station(line.station);
  if (outstanding_.size() >= config_.outstanding_max) return false;
  if (to.window.outstanding() >= config_.station_outstanding_max) return false;
  if (!to.window.turnaround() && outstanding_.size() >= config_.unheard_outstanding_max) {
    std::size_t unheard = 0;
    for (const auto& [address, other] : stations_) {
      if (!other.window.turnaround()) unheard += other.window.outstanding();
    }
    if (unheard >= config_.unheard_outstanding_max) return false;
  }
  if (to.silent_since) return to.window.outstanding() == 0;
  return to.window.has_room(head.octets, head.priority);
}

/// Takes the datagram with the highest priority from all lines that have room. If several have it,
/// the station that was served longest ago goes first.
std::optional<SisUnidata> IpClientCore::next_unidata() {
  if (!bound_ || !flow_on_ || queue_.empty()) return std::nullopt;
  std::optional<Line> best;
  std::pair<int, std::uint64_t> best_rank;
  for (const Line& line : queue_.lines()) {
    const auto head = queue_.head(now_, line, limits_of(line));
    if (!head || !has_room(line, *head)) continue;
    const std::pair<int, std::uint64_t> rank{-int{head->priority}, station(line.station).served};
    if (best && best_rank <= rank) continue;
    best = line;
    best_rank = rank;
  }
  if (!best) return std::nullopt;
  station(best->station).served = ++turn_;
  return hand_over(*best, queue_.pop(*best));
}

SisUnidata IpClientCore::hand_over(const Line& line, Packet packet) {
  const SisRequestId id{++last_request_};
  SisUnidata unidata{.id = id,
                     .priority = packet.delivery.priority,
                     .destination = line.station,
                     .destination_sap = kIpSap};
  Station& to = station(line.station);
  counters_.add(IpCounter::datagrams_sent);
  counters_.add(IpCounter::octets_sent, packet.octets.size());
  if (Conversation* known = conversation(packet.flow)) {
    FlowCount& count = known->count;
    ++count.datagrams_sent;
    count.octets_sent += packet.octets.size();
    count.waited_mean +=
        (now_ - packet.arrived - count.waited_mean) /
        static_cast<std::int64_t>(std::min<std::uint64_t>(count.datagrams_sent, 8));
  }
  if (line.arq) {
    unidata.delivery = {.mode = sis::TransmissionMode::arq,
                        .confirmation = sis::Confirmation::node};
    const auto turn = to.window.turnaround();
    unidata.time_to_live_s = whole_seconds(
        turn ? std::clamp<Duration>(4 * *turn, kLifetimeMin, kLifetimeMax) : kLifetimeUnheard);
    to.window.on_handed(now_, id, packet.octets.size(), packet.delivery.priority);
    const std::size_t quoted = std::min(packet.octets.size(), kIcmpQuoteOctetsMax);
    const ByteSpan quote = ByteSpan(packet.octets).first(quoted);
    outstanding_[id] = {line.station, packet.flow, packet.datagram,
                        Bytes(quote.begin(), quote.end()), now_};
  } else {
    unidata.delivery = {.mode = sis::TransmissionMode::nonarq,
                        .retransmissions = packet.delivery.repeats};
    unidata.time_to_live_s = whole_seconds(2 * limits_of(line).age_max);
    const auto copies = std::size_t{1} + packet.delivery.repeats;
    air_octets_ = air_backlog_octets() + static_cast<double>(packet.octets.size() * copies);
    air_at_ = now_;
  }
  unidata.updu = std::move(packet.octets);
  return unidata;
}

std::optional<IpClientCore::Action> IpClientCore::poll_action() {
  const auto pop = [](auto& queue) {
    Action action = std::move(queue.front());
    queue.pop_front();
    return action;
  };
  if (!events_.empty()) return pop(events_);
  if (!to_interface_.empty()) return pop(to_interface_);
  if (auto unidata = next_unidata()) return std::move(*unidata);
  count_queue();
  return std::nullopt;
}

void IpClientCore::on_deadline(Instant now) {
  note(now);
  if (!sweep_at_ || *sweep_at_ > now) return;
  for (const Line& line : queue_.lines()) {
    queue_.drop_aged(now, line, limits_of(line).age_max);
  }
  sweep_at_.reset();
  if (!queue_.empty()) sweep_at_ = now + kSweep;
}

std::optional<Instant> IpClientCore::next_deadline() const {
  return sweep_at_;
}

// --- Reports -------------------------------------------------------------------------------------

void IpClientCore::drop(Direction direction, Drop reason, const Datagram* datagram,
                        std::optional<Address> from) {
  const auto way = static_cast<std::size_t>(direction);
  const auto at = static_cast<std::size_t>(reason);
  drops_[way].add(reason);
  if (is_expected(reason) || !drop_news_[way][at].take(now_)) return;
  std::string detail = std::string(direction == Direction::to_air ? "to the air" : "from the air") +
                       ", " + std::string(reason_of(reason)) + ", " +
                       std::to_string(drops_[way][reason]) + " so far";
  if (datagram != nullptr) detail += ", the last one " + to_string(flow_of(*datagram));
  emit(IpEvent::Kind::datagrams_dropped, from.value_or(Address()), std::move(detail));
}

// STANDARD: an error goes only to hosts on our side, so it uses no time on the air. Its source is
// the unreachable host unless the operator gives an address, because a host drops a datagram that
// comes from its own address through an interface.
void IpClientCore::report(IcmpError error, const Datagram& datagram, ByteSpan octets,
                          std::size_t mtu) {
  if (!may_report(datagram)) return;
  if (!icmp_limit_.take(now_)) {
    counters_.add(IpCounter::icmp_limited);
    return;
  }
  const auto& from = datagram.v6 ? config_.icmp_from_v6 : config_.icmp_from_v4;
  counters_.add(IpCounter::icmp_sent);
  to_interface_.push_back(
      {icmp_error({error, mtu, from.value_or(datagram.destination)}, octets, datagram)});
}

/// Returns the counters of the conversation. Returns nothing if the table is full of conversations
/// that were active lately.
IpClientCore::Conversation* IpClientCore::conversation(const FlowKey& flow) {
  const auto found = conversations_.find(flow);
  if (found != conversations_.end()) {
    found->second.seen = now_;
    return &found->second;
  }
  if (conversations_.size() >= config_.flows_max) {
    const auto oldest = std::min_element(
        conversations_.begin(), conversations_.end(),
        [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; });
    if (now_ - oldest->second.seen < kDropNews) return nullptr;
    conversations_.erase(oldest);
  }
  Conversation& made = conversations_[flow];
  made.count.flow = flow;
  made.seen = now_;
  return &made;
}

/// Copies the counts of the queue into the counters.
void IpClientCore::count_queue() {
  const PacketQueue::Stats& queue = queue_.stats();
  CounterSet<Drop>& drops = drops_[static_cast<std::size_t>(Direction::to_air)];
  drops.set(Drop::aged, queue.aged);
  drops.set(Drop::delayed, queue.delayed);
  drops.set(Drop::overflow, queue.overflow);
  drops.set(Drop::ack_superseded, queue.acks_superseded);
  drops.set(Drop::segment_replaced, queue.segments_replaced);
  counters_.set(IpCounter::congestion_marked, queue.marked);
}

void IpClientCore::list(CounterRows& rows) const {
  counters_.list(rows);
  drops_of(Direction::to_air).list(rows, {{"direction", "to_air"}});
  drops_of(Direction::from_air).list(rows, {{"direction", "from_air"}});
}

std::vector<StationState> IpClientCore::stations(Instant now) const {
  std::map<Address, StationState> states;
  for (const Route& route : config_.routes.routes()) {
    states[route.station].station = route.station;
  }
  for (const auto& [address, station] : stations_) {
    StationState& state = states[address];
    state.station = address;
    state.silent = station.silent_since.has_value();
    state.tried_again_in = std::max(Duration::zero(), station.probe_at - now);
    state.turnaround = station.window.turnaround();
    state.rate_bps = station.window.rate_bps();
    state.with_node = station.window.outstanding();
    state.window_octets = station.window.window_octets();
  }
  for (const auto& waiting : queue_.flows()) {
    StationState& state = states[waiting.line.station];
    state.waiting += waiting.packets;
    state.waiting_octets += waiting.octets;
    state.oldest = std::max(state.oldest, now - waiting.oldest);
  }
  std::vector<StationState> list;
  for (auto& [address, state] : states) list.push_back(std::move(state));
  return list;
}

std::vector<FlowCount> IpClientCore::flows(Instant now) const {
  std::map<FlowKey, FlowCount> counts;
  for (const auto& [flow, conversation] : conversations_) {
    FlowCount& count = counts[flow] = conversation.count;
    count.last_seen = now - conversation.seen;
  }
  for (const auto& waiting : queue_.flows()) {
    counts[waiting.flow].flow = waiting.flow;
    counts[waiting.flow].waiting += waiting.packets;
  }
  std::vector<FlowCount> list;
  for (auto& [flow, count] : counts) list.push_back(count);
  return list;
}

void IpClientCore::emit(IpEvent::Kind kind, Address station, std::string detail) {
  events_.push_back({kind, station, std::move(detail)});
}

}  // namespace s5066::ip_client
