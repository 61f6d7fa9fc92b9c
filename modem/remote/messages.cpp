// SPDX-License-Identifier: Apache-2.0
#include "modem/remote/messages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "s5066d/base/overloaded.h"
#include "s5066d/base/printable.h"

namespace s5066::modem::remote {
namespace {

/// Clocks and estimates stay within these limits: ten years, and a number that a float holds with
/// margin.
constexpr std::int64_t kTimeMaxNs = std::int64_t{10} * 365 * 86400 * 1'000'000'000;
/// Samples are counted in thirds of a nanosecond.
static_assert(kTimeMaxNs < std::numeric_limits<std::int64_t>::max() / 3);
constexpr float kFigureMax = 1e6F;
/// Texts of others stand behind the last field of a line, printable and not longer than this.
constexpr std::size_t kTextMax = 512;

template <typename Value>
struct Word {
  Value value;
  std::string_view word;
};

constexpr std::array kOutcomes = {Word<TransmitOutcome>{TransmitOutcome::sent, "sent"},
                                  Word<TransmitOutcome>{TransmitOutcome::aborted, "aborted"},
                                  Word<TransmitOutcome>{TransmitOutcome::underrun, "underrun"}};
constexpr std::array kReasons = {
    Word<CarrierDownReason>{CarrierDownReason::end_of_message, "end_of_message"},
    Word<CarrierDownReason>{CarrierDownReason::lost, "lost"},
    Word<CarrierDownReason>{CarrierDownReason::replaced, "replaced"}};
constexpr Word<FaultKind> word_of(FaultKind kind) {
  return {kind, to_string(kind)};
}
constexpr std::array kFaults = {
    word_of(FaultKind::command_refused), word_of(FaultKind::samples_dropped),
    word_of(FaultKind::device_lost),     word_of(FaultKind::ptt_failed),
    word_of(FaultKind::device_back),     word_of(FaultKind::ptt_back),
    word_of(FaultKind::level_bad),       word_of(FaultKind::level_good)};

template <typename Value, std::size_t kCount>
std::string word_of(const std::array<Word<Value>, kCount>& table, Value value) {
  for (const auto& row : table) {
    if (row.value == value) return std::string(row.word);
  }
  return "unknown";
}

// --- Writing ---

std::string text(Instant instant) {
  return std::to_string(instant.time_since_epoch().count());
}
std::string text(float figure) {
  const float bounded = std::isfinite(figure) ? std::clamp(figure, -kFigureMax, kFigureMax) : 0.0F;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", static_cast<double>(bounded));
  return digits.data();
}
std::string line_of(const Event& event, std::size_t octets) {
  return std::visit(Overloaded{
                        [](const TransmitStarted& e) {
                          return "STARTED " + text(e.at) + " " + std::to_string(e.id.value);
                        },
                        [](const TransmitFinished& e) {
                          return "FINISHED " + text(e.at) + " " + std::to_string(e.id.value) + " " +
                                 word_of(kOutcomes, e.outcome);
                        },
                        [](const CarrierUp& e) {
                          return "CARRIER " + text(e.at) + " " + to_string(e.mode) + " " +
                                 text(e.snr_db) + " " + text(e.offset_hz);
                        },
                        [&](const ReceivedBytes& e) {
                          return "RECEIVED " + text(e.at) + " " + text(e.first_bit_at) + " " +
                                 to_string(e.mode) + " " + std::to_string(octets) + " " +
                                 text(e.soft_quality) + " " + text(e.channel.snr_db) + " " +
                                 text(e.channel.offset_hz) + " " + text(e.channel.multipath_ms) +
                                 " " + text(e.channel.doppler_hz);
                        },
                        [](const CarrierDown& e) {
                          return "ENDED " + text(e.at) + " " + text(e.ended_at) + " " +
                                 word_of(kReasons, e.reason);
                        },
                        [](const ChannelOccupancy& e) {
                          return std::string(e.occupied ? "OCCUPIED " : "FREE ") + text(e.at);
                        },
                        [](const Fault& e) {
                          return "FAULT " + text(e.at) + " " + std::string(to_string(e.kind)) +
                                 " " + printable(e.detail, kTextMax);
                        },
                    },
                    event);
}

// --- Reading ---

/// This class parses a line and records whether all of it was well-formed.
class Reader {
 public:
  explicit Reader(std::string_view line) : rest_(line) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    good_ = good_ && !found.empty();
    return found;
  }
  std::string_view rest() { return std::exchange(rest_, {}); }
  bool at_end() const { return rest_.empty(); }
  bool good() const { return good_ && rest_.empty(); }

  template <typename Number>
  Number number(Number low, Number high) {
    const std::string_view digits = word();
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size();
    good_ = good_ && whole && value >= low && value <= high;  // NaN is not within the limits
    return good_ ? value : low;
  }
  Instant instant() { return Instant{Duration{number<std::int64_t>(-kTimeMaxNs, kTimeMaxNs)}}; }
  float figure() { return number<float>(-kFigureMax, kFigureMax); }
  std::size_t octets() { return number<std::size_t>(0, kOctetsMax); }
  BurstId burst() { return {number<std::uint64_t>(0, ~std::uint64_t{0})}; }
  Mode mode() {
    const auto parsed = parse_mode(word());
    good_ = good_ && parsed.ok();
    return parsed ? *parsed : Mode{};
  }
  template <typename Value, std::size_t kCount>
  Value one_of(const std::array<Word<Value>, kCount>& table) {
    const std::string_view found = word();
    for (const auto& row : table) {
      if (row.word == found) return row.value;
    }
    good_ = false;
    return table.front().value;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

Error bad_line(std::string_view line) {
  return Error{ErrorCode::bad_field, "line not understood: " + printable(line, kTextMax)};
}

Listen listen_of(Reader& in) {
  Listen listen;
  while (!in.at_end() && listen.modes.size() < kListenModesMax) listen.modes.push_back(in.mode());
  return listen;
}

std::optional<HostMessage> event_of(std::string_view verb, Reader& in) {
  if (verb == "STARTED") {
    const Instant at = in.instant();
    return Happened{.event = TransmitStarted{.at = at, .id = in.burst()}};
  }
  if (verb == "FINISHED") {
    TransmitFinished event{.at = in.instant()};
    event.id = in.burst();
    event.outcome = in.one_of(kOutcomes);
    return Happened{.event = event};
  }
  if (verb == "CARRIER") {
    CarrierUp event{.at = in.instant()};
    event.mode = in.mode();
    event.snr_db = in.figure();
    event.offset_hz = in.figure();
    return Happened{.event = event};
  }
  if (verb == "RECEIVED") {
    ReceivedBytes event{.at = in.instant()};
    event.first_bit_at = in.instant();
    event.mode = in.mode();
    const std::size_t octets = in.octets();
    event.soft_quality = in.figure();
    event.channel.snr_db = in.figure();
    event.channel.offset_hz = in.figure();
    event.channel.multipath_ms = in.figure();
    event.channel.doppler_hz = in.figure();
    return Happened{.event = std::move(event), .octets = octets};
  }
  if (verb == "ENDED") {
    CarrierDown event{.at = in.instant()};
    event.ended_at = in.instant();
    event.reason = in.one_of(kReasons);
    return Happened{.event = event};
  }
  if (verb == "OCCUPIED" || verb == "FREE") {
    return Happened{.event = ChannelOccupancy{.at = in.instant(), .occupied = verb == "OCCUPIED"}};
  }
  if (verb == "FAULT") {
    Fault event{.at = in.instant()};
    event.kind = in.one_of(kFaults);
    event.detail = std::string(in.rest());
    return Happened{.event = std::move(event)};
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const UserMessage& message) {
  std::string line =
      std::visit(Overloaded{
                     [](const Hello& m) { return "HELLO " + std::to_string(m.version); },
                     [](const Send& m) {
                       return "SEND " + std::to_string(m.id.value) + " " + to_string(m.mode) + " " +
                              text(m.not_before) + " " + std::to_string(m.octets);
                     },
                     [](const Abort& m) { return "ABORT " + std::to_string(m.id.value); },
                     [](const Listen& m) {
                       std::string modes = "LISTEN";
                       for (const Mode& mode : m.modes) modes += " " + to_string(mode);
                       return modes;
                     },
                     [](const Ping&) { return std::string("PING"); },
                 },
                 message);
  return line + "\n";
}

std::string encode(const HostMessage& message) {
  std::string line = std::visit(
      Overloaded{
          [](const Welcome& m) { return "WELCOME " + std::to_string(m.version) + " " + m.token; },
          [](const Ready&) { return std::string("READY"); },
          [](const Refused& m) { return "REFUSED " + printable(m.why, kTextMax); },
          [](const Clock& m) { return "CLOCK " + text(m.now); },
          [](const Happened& m) { return line_of(m.event, m.octets); },
      },
      message);
  return line + "\n";
}

Result<UserMessage> parse_user_line(std::string_view line) {
  Reader in(line);
  const std::string_view verb = in.word();
  std::optional<UserMessage> message;
  if (verb == "HELLO") {
    message = Hello{.version = in.number<unsigned>(0, 1'000'000)};
  } else if (verb == "SEND") {
    Send send{.id = in.burst()};
    send.mode = in.mode();
    send.not_before = in.instant();
    send.octets = in.octets();
    message = send;
  } else if (verb == "ABORT") {
    message = Abort{.id = in.burst()};
  } else if (verb == "LISTEN") {
    message = listen_of(in);
  } else if (verb == "PING") {
    message = Ping{};
  }
  if (message && in.good()) return std::move(*message);
  return bad_line(line);
}

Result<HostMessage> parse_host_line(std::string_view line) {
  Reader in(line);
  const std::string_view verb = in.word();
  std::optional<HostMessage> message;
  if (verb == "WELCOME") {
    Welcome welcome{.version = in.number<unsigned>(0, 1'000'000)};
    welcome.token = std::string(in.word());
    if (welcome.token.size() == kTokenLength) message = std::move(welcome);
  } else if (verb == "READY") {
    message = Ready{};
  } else if (verb == "REFUSED") {
    message = Refused{.why = std::string(in.rest())};
  } else if (verb == "CLOCK") {
    message = Clock{.now = in.instant()};
  } else {
    message = event_of(verb, in);
  }
  if (message && in.good()) return std::move(*message);
  return bad_line(line);
}

Result<void> LineSplitter::add(std::string_view octets) {
  for (const char c : octets) {
    if (c == '\n') {
      open_ = 0;
    } else if (c < ' ' || c > '~') {
      return Error{ErrorCode::bad_field, "the control connection carried octets that are not text"};
    } else if (++open_ > kLineMax) {
      return Error{ErrorCode::too_large, "a line has more than 4096 characters"};
    }
  }
  held_ += octets;
  return {};
}

std::optional<std::string> LineSplitter::next() {
  const std::size_t end = held_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = held_.substr(0, end);
  held_.erase(0, end + 1);
  return line;
}

}  // namespace s5066::modem::remote
