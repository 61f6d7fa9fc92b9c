// SPDX-License-Identifier: Apache-2.0
// Input: an octet that selects the test, then its data. 0: lines of the control connection are
// parsed, and each parsed line is written back as it was. 1, 2: a user or a host writes arbitrary
// octets on both connections; the other end reports only what was written, in its order. 3: a user
// and a host that keep to the protocol are joined by streams that are cut anywhere: each burst
// arrives whole, ends once, and each event arrives as it happened.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "modem/remote/host_session.h"
#include "modem/remote/messages.h"
#include "modem/remote/streams.h"
#include "modem/remote/user_session.h"

using namespace s5066;
using namespace s5066::modem;
using namespace s5066::modem::remote;

namespace {

constexpr const char* kToken = "0123456789abcdef";

class Script {
 public:
  explicit Script(ByteSpan octets) : rest_(octets) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t take() {
    const ByteSpan octet = take_some(1);
    return octet.empty() ? 0 : octet.front();
  }
  ByteSpan take_some(std::size_t count) {
    const ByteSpan some = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(some.size());
    return some;
  }

 private:
  ByteSpan rest_;
};

Mode mode_of(std::uint8_t number) {
  constexpr std::array kModes = {"110a-2400-short", "110a-75-long", "4539-9600-vl",
                                 "4285-1200-long", "110d-6400-l"};
  return *parse_mode(kModes[number % kModes.size()]);
}

template <typename Message>
void write_as_read(const Result<Message>& read, Result<Message> (*parse)(std::string_view)) {
  if (!read) return;
  const std::string written = encode(*read);
  S5066_ASSERT(written.ends_with('\n') && written.size() <= kLineMax + 1);
  const auto again = parse(std::string_view(written).substr(0, written.size() - 1));
  S5066_ASSERT(again.ok() && encode(*again) == written);
}

/// Returns the lines of a text, given to the splitter in parts of `part` characters; nothing if the
/// splitter finds that it is not text.
std::optional<std::vector<std::string>> lines_of(std::string_view text, std::size_t part) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (; !text.empty(); text.remove_prefix(std::min(part, text.size()))) {
    if (!splitter.add(text.substr(0, part))) return std::nullopt;
    while (auto line = splitter.next()) lines.push_back(std::move(*line));
  }
  return lines;
}

void read_lines(ByteSpan octets) {
  const std::string_view text = text_of(octets);
  write_as_read(parse_user_line(text), parse_user_line);
  write_as_read(parse_host_line(text), parse_host_line);
  const auto lines = lines_of(text, std::max<std::size_t>(1, text.size()));
  S5066_ASSERT(lines == lines_of(text, 1));
  for (const std::string& line : lines.value_or(std::vector<std::string>())) {
    S5066_ASSERT(line.size() <= kLineMax);
    write_as_read(parse_user_line(line), parse_user_line);
    write_as_read(parse_host_line(line), parse_host_line);
  }
}

/// A modem that behaves as the script says, as long as its user keeps to the rules of the port.
class FakeModem {
 public:
  void take(const Command& command) {
    if (const auto* burst = std::get_if<TransmitBurst>(&command)) {
      S5066_ASSERT(!burst_ && burst->id.value > newest_);
      newest_ = burst->id.value;
      burst_ = burst->id;
    } else if (const auto* abort = std::get_if<AbortTransmit>(&command)) {
      S5066_ASSERT(abort->id.value <= newest_);
    }
  }
  Event happen(Script& script, Instant now) {
    switch (script.take() % 8) {
      case 0:
        if (burst_) return TransmitStarted{.at = now, .id = *burst_};
        return TransmitStarted{.at = now, .id = {newest_ + 7}};
      case 1:
        return TransmitFinished{.at = now,
                                .id = std::exchange(burst_, {}).value_or(BurstId{}),
                                .outcome = static_cast<TransmitOutcome>(script.take() % 3)};
      case 2:
        return CarrierUp{.at = now, .mode = mode_of(script.take()), .snr_db = 7.5F};
      case 3: {
        const ByteSpan octets = script.take_some(script.take() % 32);
        return ReceivedBytes{.at = now,
                             .first_bit_at = now - std::chrono::milliseconds(script.take()),
                             .mode = mode_of(script.take()),
                             .bytes = Bytes(octets.begin(), octets.end())};
      }
      case 4:
        return CarrierDown{.at = now,
                           .ended_at = now,
                           .reason = static_cast<CarrierDownReason>(script.take() % 3)};
      case 5:
        burst_.reset();
        return Fault{.at = now, .kind = FaultKind::command_refused, .detail = "no device"};
      case 7:
        return ChannelOccupancy{.at = now, .occupied = script.take() % 2 == 1};
      default:
        return Fault{.at = now, .kind = FaultKind::ptt_failed, .detail = "words of it"};
    }
  }

 private:
  std::optional<BurstId> burst_;
  std::uint64_t newest_ = 0;
};

// --- Against an end that writes arbitrary octets -------------------------------------------------

/// Returns a line that is nearly right, because it gets further than noise.
std::string user_line(Script& script) {
  switch (script.take() % 7) {
    case 0:
      return "HELLO 1\n";
    case 6:
      return "HELLO 2\n";
    case 1:
      return "PING\n";
    case 2:
      return encode(UserMessage(Abort{.id = {script.take()}}));
    case 3:
      return encode(UserMessage(Listen{.modes = {mode_of(script.take())}}));
    default:
      return encode(
          UserMessage(Send{.id = {script.take()},
                           .mode = mode_of(script.take()),
                           .not_before = Instant{std::chrono::milliseconds(10) * script.take()},
                           .octets = script.take()}));
  }
}

std::string host_line(Script& script) {
  FakeModem modem;
  switch (script.take() % 5) {
    case 0:
      return encode(HostMessage(Welcome{.token = kToken}));
    case 1:
      return "READY\n";
    case 2:
      return encode(HostMessage(Clock{.now = Instant{std::chrono::seconds(script.take())}}));
    default:
      Happened happened{.event = modem.happen(script, {})};
      if (auto* received = std::get_if<ReceivedBytes>(&happened.event)) {
        happened.octets = script.take();
        received->bytes.clear();
      }
      return encode(HostMessage(std::move(happened)));
  }
}

/// Checks that one end wrote on both connections as the protocol says; returns the octets
/// announced.
template <typename Parse>
std::size_t octets_announced(std::string& control, Parse parse) {
  std::size_t announced = 0;
  LineSplitter lines;
  S5066_ASSERT(lines.add(control).ok() && (control.empty() || control.ends_with('\n')));
  while (const auto line = lines.next()) {
    const auto message = parse(*line);
    S5066_ASSERT(message.ok());
    if (const auto* happened = std::get_if<Happened>(&*message)) announced += happened->octets;
  }
  control.clear();
  return announced;
}

/// Checks that `piece` comes next in what was written, possibly behind octets that were skipped.
void expect_in_order(ByteSpan& written, const Bytes& piece) {
  const auto found = std::search(written.begin(), written.end(), piece.begin(), piece.end());
  S5066_ASSERT(found != written.end() || piece.empty());
  const auto passed = static_cast<std::size_t>(found - written.begin()) + piece.size();
  if (!piece.empty()) written = written.subspan(passed);
}

void strange_user(Script script) {
  HostSession host({.token = kToken, .waiting_max = 8, .unread_max = 1024});
  FakeModem modem;
  Bytes written;
  std::vector<Bytes> bursts;
  Instant now{};
  Result<void> good;
  while (good && !script.empty()) {
    switch (script.take() % 6) {
      case 0:
        good = host.on_control(now, text_of(script.take_some(script.take())));
        break;
      case 1:
        good = host.on_control(now, user_line(script));
        break;
      case 2:
        if (host.greeted()) host.on_data_connected();
        break;
      case 3: {
        const ByteSpan octets = script.take_some(script.take());
        append(written, octets);
        good = host.on_data(now, octets);
        break;
      }
      case 4:
        good = host.on_event(modem.happen(script, now));
        break;
      default:
        now += std::chrono::milliseconds(100) * script.take();
        if (host.ready()) host.on_clock(now);
    }
    while (const auto command = host.poll_command()) {
      S5066_ASSERT(host.ready());
      modem.take(*command);
      if (const auto* burst = std::get_if<TransmitBurst>(&*command)) bursts.push_back(burst->bytes);
    }
    const std::size_t announced = octets_announced(host.control_out(), parse_host_line);
    S5066_ASSERT(announced == std::exchange(host.data_out(), {}).size());
  }
  ByteSpan rest = written;
  for (const Bytes& burst : bursts) expect_in_order(rest, burst);
}

void strange_host(Script script) {
  UserSession user;
  Bytes written, heard;
  Result<void> good;
  while (good && !script.empty()) {
    switch (script.take() % 3) {
      case 0:
        good = user.on_control(text_of(script.take_some(script.take())));
        break;
      case 1:
        good = user.on_control(host_line(script));
        break;
      default:
        const ByteSpan octets = script.take_some(script.take());
        append(written, octets);
        good = user.on_data(octets);
    }
    while (const auto message = user.poll()) {
      S5066_ASSERT(user.ready());
      const auto* happened = std::get_if<Happened>(&*message);
      if (happened == nullptr) continue;
      const auto* received = std::get_if<ReceivedBytes>(&happened->event);
      S5066_ASSERT(happened->octets == (received == nullptr ? 0 : received->bytes.size()));
      if (received != nullptr) append(heard, received->bytes);
    }
    S5066_ASSERT(heard.size() <= written.size());
    S5066_ASSERT(std::equal(heard.begin(), heard.end(), written.begin()));
    const auto token = user.poll_token();
    S5066_ASSERT(!token || token->size() == kTokenLength);
  }
}

// --- Both ends, joined --------------------------------------------------------------------------

class Joined {
 public:
  explicit Joined(Script script) : script_(script) {}

  void run() {
    while (!script_.empty()) {
      step(script_.take());
      settle();
    }
    // No request is lost: each is done, and each result is reported.
    for (unsigned round = 0; round < 3; ++round) {
      for (unsigned stream = 0; stream < 4; ++stream) move(stream, ~std::size_t{0});
      settle();
    }
    S5066_ASSERT(host_.ready() && user_.ready());
    S5066_ASSERT(!host_.incomplete() && !user_.incomplete());
    S5066_ASSERT(told_.empty());
    if (const auto running = host_.burst()) {
      tell(TransmitFinished{.at = now_, .id = *running});
      move(2, ~std::size_t{0});
      settle();
    }
    for (const auto& [id, burst] : bursts_) S5066_ASSERT(burst.ends == 1);
  }

 private:
  // Both limits together are fewer than a host queues.
  static constexpr std::size_t kBurstsMax = 32;
  static constexpr unsigned kAbortsMax = 31;

  struct Burst {
    Bytes octets;
    int ends = 0;
  };

  void step(std::uint8_t op) {
    switch (op % 8) {
      case 0:
        return send();
      case 1:
        return abort({script_.take()});
      case 2:
        return user_.ping();
      case 3:
        if (host_.ready()) tell(modem_.happen(script_, now_));
        return;
      case 4:
        now_ += std::chrono::milliseconds(script_.take());
        if (host_.ready()) host_.on_clock(now_);
        return;
      default:
        return move(op / 8U % 4U, script_.take());
    }
  }

  void abort(BurstId id) {
    if (user_.ready() && aborts_++ < kAbortsMax) user_.request(AbortTransmit{.id = id});
  }
  void send() {
    if (!user_.ready() || bursts_.size() == kBurstsMax) return;
    const ByteSpan octets = script_.take_some(script_.take() % 32);
    const BurstId id{bursts_.size()};
    bursts_[id].octets = {static_cast<std::uint8_t>(id.value)};  // no two bursts are alike
    append(bursts_[id].octets, octets);
    user_.request(
        TransmitBurst{.id = id,
                      .mode = mode_of(script_.take()),
                      .bytes = bursts_[id].octets,
                      .not_before = now_ - std::chrono::milliseconds(script_.take() * 4)});
  }

  /// Moves at most `count` octets of a stream.
  void move(unsigned stream, std::size_t count) {
    switch (stream) {
      case 0: {
        const std::string part = cut(user_.control_out(), count);
        return S5066_ASSERT(host_.on_control(now_, part).ok());
      }
      case 1: {
        if (!host_.ready()) return;
        const Bytes part = cut(user_.data_out(), count);
        S5066_ASSERT(host_.on_data(now_, part).ok());
        return;
      }
      case 2: {
        const std::string part = cut(host_.control_out(), count);
        S5066_ASSERT(user_.on_control(part).ok());
        return;
      }
      default:
        const Bytes part = cut(host_.data_out(), count);
        S5066_ASSERT(user_.on_data(part).ok());
    }
  }
  template <typename Octets>
  static Octets cut(Octets& from, std::size_t count) {
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(count, from.size()));
    Octets part(from.begin(), end);
    from.erase(from.begin(), end);
    return part;
  }

  void tell(Event event) {
    const std::optional<BurstId> running = host_.burst();
    S5066_ASSERT(host_.on_event(event).ok());
    const auto* started = std::get_if<TransmitStarted>(&event);
    const auto* finished = std::get_if<TransmitFinished>(&event);
    const auto* fault = std::get_if<Fault>(&event);
    const bool of_burst = started != nullptr || finished != nullptr;
    const bool ends =
        finished != nullptr || (fault != nullptr && fault->kind == FaultKind::command_refused);
    // A host's events about other bursts than the running one do not reach the user.
    if (of_burst && (!running || (started != nullptr ? started->id : finished->id) != *running)) {
      return;
    }
    if (ends && !running) return;  // a refusal of no burst
    if (running && ends) {
      const auto burst = bursts_.find(running_);
      S5066_ASSERT(burst != bursts_.end());
      if (fault != nullptr) ++burst->second.ends;
    }
    if (!of_burst) told_.push_back(std::move(event));
  }

  void settle() {
    if (const auto token = user_.poll_token()) {
      S5066_ASSERT(*token == host_.token());
      host_.on_data_connected();
    }
    while (const auto command = host_.poll_command()) {
      modem_.take(*command);
      if (const auto* burst = std::get_if<TransmitBurst>(&*command)) find_running(*burst);
    }
    while (const auto message = user_.poll()) {
      if (const auto* happened = std::get_if<Happened>(&*message)) hear(happened->event);
    }
  }

  /// Bursts are transmitted in their order, except for those that were late or met another one.
  void find_running(const TransmitBurst& burst) {
    const auto first = begun_ ? bursts_.upper_bound(running_) : bursts_.begin();
    const auto it = std::find_if(
        first, bursts_.end(), [&](const auto& sent) { return sent.second.octets == burst.bytes; });
    S5066_ASSERT(it != bursts_.end());
    begun_ = true;
    running_ = it->first;
  }

  void hear(const Event& event) {
    if (const auto* finished = std::get_if<TransmitFinished>(&event)) {
      const auto it = bursts_.find(finished->id);
      S5066_ASSERT(it != bursts_.end());
      ++it->second.ends;
      return;
    }
    if (std::holds_alternative<TransmitStarted>(event)) return;
    S5066_ASSERT(!told_.empty());
    const Event expected = std::move(told_.front());
    told_.pop_front();
    S5066_ASSERT(encode(Happened{.event = event}) == encode(Happened{.event = expected}));
    const auto* received = std::get_if<ReceivedBytes>(&event);
    if (received == nullptr) return;
    S5066_ASSERT(received->bytes == std::get<ReceivedBytes>(expected).bytes);
  }

  Script script_;
  Instant now_{};
  HostSession host_{{.token = kToken}};
  UserSession user_;
  FakeModem modem_;
  std::map<BurstId, Burst> bursts_;
  unsigned aborts_ = 0;
  bool begun_ = false;
  BurstId running_;
  std::deque<Event> told_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(ByteSpan(data, size));
  switch (script.take() % 4) {
    case 0:
      read_lines(script.take_some(size));
      break;
    case 1:
      strange_user(script);
      break;
    case 2:
      strange_host(script);
      break;
    default:
      Joined(script).run();
  }
  return 0;
}
