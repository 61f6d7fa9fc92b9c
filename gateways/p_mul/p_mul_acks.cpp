// What a receiver says: lists of missing blocks, when, and all for one transmitter in one PDU.
#include <algorithm>
#include <map>
#include <utility>

#include "gateways/p_mul/p_mul_receiver.h"

namespace s5066::p_mul {
namespace {

constexpr std::uint8_t kLeastUrgent = 255;
constexpr std::uint32_t kTurnsAfterSilence = 8;

void add(std::vector<BlockRange>& ranges, std::uint16_t number) {
  if (!ranges.empty() && ranges.back().last + 1 == number) {
    ranges.back().last = number;
  } else {
    ranges.push_back({number, number});
  }
}

/// As many of the lowest numbers as the list has values for.
std::vector<BlockRange> cut(const std::vector<BlockRange>& ranges, std::size_t values,
                            bool as_ranges) {
  std::vector<BlockRange> kept;
  for (const BlockRange& range : ranges) {
    const std::size_t wanted = list_values({range}, as_ranges);
    if (wanted <= values) {
      kept.push_back(range);
      values -= wanted;
      continue;
    }
    const auto some =
        static_cast<std::uint16_t>(std::min<std::size_t>(values, as_ranges ? 3 : values));
    if (some > 0) {
      kept.push_back({range.first, static_cast<std::uint16_t>(range.first + some - 1)});
    }
    break;
  }
  return kept;
}

}  // namespace

// A PDU shows that the round goes on: nobody listens yet, and we are not forgotten.
void PMulReceiver::hear(Instant now, const MessageName& name, Owing& owing) {
  owing.gap = std::min(now - owing.heard_at, kGapMax);
  owing.heard_at = now;
  if (withdraw_ack(name)) {
    owing.again = false;
  } else if (!owing.ack_at) {
    return;
  }
  if (owing.again) owing.again_after = config_.ack_again;
  const Duration pause = rest_of_round(owing);
  const Duration wait = owing.again ? std::max(owing.again_after, pause) : pause;
  owing.ack_at = now + wait + spread(owing.slot);
}

// The pace of its PDUs shows it, as long as a fade has not stretched the time between two.
Duration PMulReceiver::rest_of_round(const Owing& owing) {
  const Duration rest = 3 * owing.gap / 2;
  return owing.has_last ? std::min(rest, kRestMax) : rest;
}

// In the slots after a round, whose end is known or guessed.
void PMulReceiver::plan_in_turn(Instant now, const MessageName& name, Owing& owing, RoundEnd end) {
  withdraw_ack(name);
  owing.again = false;
  owing.has_last = end != RoundEnd::still_open;
  const Duration rest = end == RoundEnd::known ? Duration{} : rest_of_round(owing);
  owing.ack_at = std::max(now, owing.heard_at + rest) + spread(owing.slot);
}

// Nobody else is to answer, and nothing more of the round is to come.
void PMulReceiver::plan_at_once(Instant now, const MessageName& name, Owing& owing) {
  withdraw_ack(name);
  owing.again = false;
  owing.ack_at = now;
}

void PMulReceiver::ack_if_due(Instant now, const MessageName& name, Owing& owing) {
  if (silent_ || !owing.ack_at || *owing.ack_at > now) return;
  owing.ack_at.reset();
  acks_.push_back(name);
}

bool PMulReceiver::withdraw_ack(const MessageName& name) {
  return std::erase(acks_, name) > 0;
}

Duration PMulReceiver::spread(std::size_t slot) {
  const auto slots = static_cast<Duration::rep>(std::min(slot, config_.ack_slots_max));
  const double jitter = 0.25 * to_seconds(config_.ack_slot) * rng_.uniform();
  return config_.ack_slot * slots + from_seconds(jitter);
}

Duration PMulReceiver::grown(Duration wait) const {
  const double next = to_seconds(wait) * config_.back_off;
  return std::min(std::max(config_.ack_again_max, config_.ack_again), from_seconds(next));
}

// Of a group that has rows of parity only so many blocks are missing as the rows cannot make up
// for.
std::vector<BlockRange> PMulReceiver::missing(const Message& message) const {
  std::vector<std::size_t> spare;
  std::optional<BlockGroups> groups;
  if (!message.parity.empty()) {
    groups.emplace(message.total);
    spare.resize(groups->count());
    for (const auto& [number, parity] : message.parity) {
      if (parity.total == message.total) ++spare[groups->group_of_parity(number)];
    }
  }
  // From the end, so that the rows stand for the last blocks and those named come first.
  std::vector<std::uint16_t> numbers;
  for (std::uint32_t n = message.total; n >= 1; --n) {
    const auto number = static_cast<std::uint16_t>(n);
    if (message.blocks.contains(number)) continue;
    if (groups) {
      std::size_t& left = spare[groups->group_of_block(number)];
      if (left > 0) {
        --left;
        continue;
      }
    }
    numbers.push_back(number);
  }
  std::vector<BlockRange> ranges;
  for (auto at = numbers.rbegin(); at != numbers.rend(); ++at) add(ranges, *at);
  return ranges;
}

AckEntry PMulReceiver::list_of(const MessageName& name, Message& message) {
  AckEntry entry{.name = name, .missing = missing(message)};
  if (list_values(entry.missing, false) > config_.missing_list_max) {
    const bool fits =
        config_.ranges && list_values(entry.missing, true) <= config_.missing_list_max;
    if (!fits) {
      entry.missing = cut(entry.missing, config_.missing_list_max, config_.ranges);
      entry.truncated = config_.ranges;  // a plain list of the greatest length says so by itself
    }
  }
  if (entry.missing.empty()) {
    // Parity that contradicts its message: nothing would ever be asked for.
    for (const auto& [number, parity] : message.parity) {
      message.octets -= parity.parity.size() + kBlockCost;
      octets_ -= parity.parity.size() + kBlockCost;
    }
    message.parity.clear();
    entry.missing = cut(missing(message), config_.missing_list_max, config_.ranges);
    entry.truncated = config_.ranges;
  }
  message.highest_wanted = entry.missing.back().last;
  return entry;
}

bool PMulReceiver::expects_ack(const MessageName& name) const {
  if (known_.contains(name)) return unreleased_.contains(name);
  const auto at = messages_.find(name);
  return at != messages_.end() && at->second.state == State::receiving;
}

// One PDU for all that is due to one transmitter.
std::optional<OutgoingPdu> PMulReceiver::poll_pdu(Instant now) {
  if (silent_) return std::nullopt;
  while (!acks_.empty() && !expects_ack(acks_.front())) acks_.pop_front();
  if (acks_.empty()) return std::nullopt;
  const NodeId transmitter = acks_.front().source;
  AckPdu ack{.priority = kLeastUrgent, .sender = config_.node};
  std::size_t octets = kAckHeaderOctets;
  std::deque<MessageName> others;
  for (const MessageName& name : std::exchange(acks_, {})) {
    if (name.source != transmitter) {
      others.push_back(name);
      continue;
    }
    if (!expects_ack(name)) continue;
    AckEntry entry{.name = name};
    const auto at = messages_.find(name);
    std::uint8_t priority = 0;
    if (at != messages_.end()) {
      entry = list_of(name, at->second);
      priority = at->second.priority;
    }
    const std::size_t more = kAckEntryOctets + 2 * list_values(entry.missing, config_.ranges) + 2;
    if (octets + more > config_.pdu_octets_max) {
      others.push_back(name);
      continue;
    }
    octets += more;
    ack.priority = std::min(ack.priority, priority);
    Owing& owing = at != messages_.end() ? at->second.owing : known_.find(name)->second.owing;
    owing.again = true;
    owing.has_last = at == messages_.end();
    owing.ack_at = now + owing.again_after + spread(owing.slot);
    owing.again_after = grown(owing.again_after);
    ack.entries.push_back(std::move(entry));
  }
  acks_ = std::move(others);
  ++stats_.acks;
  const bool long_list =
      std::any_of(ack.entries.begin(), ack.entries.end(), [this](const AckEntry& entry) {
        return list_values(entry.missing, false) > config_.missing_list_max || entry.truncated;
      });
  return OutgoingPdu{
      .target = transmitter,
      .use = Use::ack,
      .priority = ack.priority,
      .lifetime = config_.ack_again,
      .octets = encode(std::move(ack), {.checksum = config_.checksum, .ranges = long_list})};
}

// Who may not transmit keeps all that is due; when it may, nobody else waits for its turn with it.
// Who was restarted in EMCON, which he may hear of only later, does not know what he has said
// before it, and says it all: its transmitter would take what nobody has acknowledged for lost.
void PMulReceiver::on_silent(Instant now, bool silent, bool listened) {
  if (std::exchange(silent_, silent) == silent) return;
  acks_.clear();
  if (silent) return;
  for (auto& [name, known] : known_) {
    if (!listened || !std::exchange(known.before_start, false)) continue;
    if (known.until > now + config_.memory_margin) unreleased_.insert(name);
  }
  std::map<NodeId, Instant> turns;  // one for all that a transmitter is to hear
  const auto turn = [&](NodeId transmitter) {
    const auto [at, fresh] = turns.try_emplace(transmitter);
    if (fresh) at->second = now + spread(rng_.below(kTurnsAfterSilence));
    return at->second;
  };
  for (auto& [name, message] : messages_) {
    if (message.state == State::receiving) message.owing.ack_at = turn(name.source);
  }
  for (const MessageName& name : unreleased_) {
    known_.find(name)->second.owing.ack_at = turn(name.source);
  }
}

}  // namespace s5066::p_mul
