// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/cable_hub.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

constexpr CounterTable<CableCounter> kCableCounters({
    {CableCounter::blocks, "cable_blocks", "blocks", "blocks of samples mixed for the stations"},
    {CableCounter::stations_present, "cable_stations_present", "stations", "stations connected now",
     CounterKind::gauge},
    {CableCounter::stations_joined, "cable_stations_joined", "stations", "stations that connected"},
    {CableCounter::stations_lost, "cable_stations_lost", "stations",
     "stations whose connection ended, for any reason"},
    {CableCounter::hellos_refused, "cable_hellos_refused", "connections",
     "connections refused because of their hello, or because too many are new"},
    {CableCounter::protocol_errors, "cable_protocol_errors", "errors",
     "violations of the protocol by stations and new connections"},
    {CableCounter::accept_errors, "cable_accept_errors", "errors",
     "connections that could not be accepted, for example without a free descriptor"},
    {CableCounter::blocks_late, "cable_blocks_late", "blocks",
     "blocks of stations that came too late to be delivered"},
    {CableCounter::blocks_skipped, "cable_blocks_skipped", "blocks",
     "blocks not sent to a station because it does not answer"},
});

using cable::Answer;
using cable::Pace;

constexpr int kBacklog = 16;
constexpr Duration kAcceptRetry = std::chrono::seconds(1);

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  timespec time{};
  time.tv_sec = seconds.count();
  time.tv_nsec = (duration - seconds).count();
  return time;
}

enum class Reading : std::uint8_t { whole, partial, ended };

/// Reads once into the missing part of `in`.
Reading read_into(const posix::Fd& socket, Bytes& in, std::size_t& held) {
  const auto got = posix::receive_some(socket.get(), std::span(in).subspan(held), Duration::zero());
  if (!got) return got.error().code == ErrorCode::timed_out ? Reading::partial : Reading::ended;
  held += *got;
  if (held < in.size()) return Reading::partial;
  held = 0;
  return Reading::whole;
}

}  // namespace

const CounterTable<CableCounter>& counter_table(CableCounter) {
  return kCableCounters;
}

CableHub::CableHub(const Config& config) : config_(config), mixer_(config.mixer) {
  S5066_ASSERT(config.mixer.stations >= 1 && config.mixer.stations <= cable::kStationsMax);
  S5066_ASSERT(config.block_samples >= 1 && config.block_samples <= cable::kBlockSamplesMax);
  S5066_ASSERT(config.delay_blocks <= cable::kDelayBlocksMax);
  delay_blocks_ = config.pace == Pace::real ? config.delay_blocks : 0;
  stations_.resize(config.mixer.stations);
  for (Station& station : stations_) {
    station.answers.resize(delay_blocks_ + 1);
    for (Sent& sent : station.answers) sent.samples.resize(config.block_samples);
    station.newest.resize(config.block_samples);
    station.in.resize(cable::kBlockHeaderBytes + config.block_samples * sizeof(float));
  }
  sent_.resize(stations_.size());
  heard_.assign(stations_.size(), std::vector<float>(config.block_samples));
  wake_ = posix::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

CableHub::~CableHub() {
  if (listener_) posix::remove_socket(config_.socket_path);
}

Result<void> CableHub::open() {
  if (!wake_) return Error{ErrorCode::io, "no event descriptor"};
  auto listener = posix::listen_unix(config_.socket_path, kBacklog);
  if (!listener) return listener.error();
  listener_ = std::move(*listener);
  utc_began_ = posix::utc_now();
  return {};
}

void CableHub::stop() {
  const std::uint64_t one = 1;
  // The write fails only when the count is at its limit, and then stop() has been called before.
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

CableCounters CableHub::counters() const {
  const std::lock_guard lock(counters_mutex_);
  return counters_;
}

void CableHub::count(CableCounter counter) {
  const std::lock_guard lock(counters_mutex_);
  counters_.add(counter);
}

Result<void> CableHub::run() {
  S5066_ASSERT(static_cast<bool>(listener_));
  ticks_began_ = posix::monotonic_now();
  for (;;) {
    const auto woken = wait_for_sockets(next_deadline());
    if (!woken) return woken.error();
    if (*woken) return {};
    if (config_.pace == Pace::max) {
      advance_lockstep();
    } else {
      advance_real_time(posix::monotonic_now());
    }
  }
}

std::optional<Duration> CableHub::next_deadline() const {
  std::optional<Duration> earliest;
  if (config_.pace == Pace::real) earliest = next_tick();
  for (const PendingConnection& connection : pending_) {
    earliest = std::min(earliest.value_or(connection.deadline), connection.deadline);
  }
  if (accept_again_) earliest = std::min(earliest.value_or(*accept_again_), *accept_again_);
  return earliest;
}

/// Returns true when stop() was called.
Result<bool> CableHub::wait_for_sockets(std::optional<Duration> until) {
  if (accept_again_ && posix::monotonic_now() >= *accept_again_) accept_again_.reset();
  polls_.clear();
  polls_.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  // poll() ignores a negative descriptor.
  polls_.push_back({.fd = accept_again_ ? -1 : listener_.get(), .events = POLLIN, .revents = 0});
  for (const Station& station : stations_) {
    const auto events = static_cast<short>(station.out.empty() ? POLLIN : POLLIN | POLLOUT);
    polls_.push_back({.fd = station.socket.get(), .events = events, .revents = 0});
  }
  for (const PendingConnection& connection : pending_) {
    polls_.push_back({.fd = connection.socket.get(), .events = POLLIN, .revents = 0});
  }
  timespec timeout{};
  if (until) timeout = to_timespec(std::max(Duration::zero(), *until - posix::monotonic_now()));
  const int ready = ::ppoll(polls_.data(), polls_.size(), until ? &timeout : nullptr, nullptr);
  if (ready < 0 && errno != EINTR) return posix::errno_error("poll");
  if (ready < 0) return false;
  if (polls_[0].revents != 0) return true;

  // Stations are read before new connections, so that a station that lost its connection and came
  // again finds its place free.
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    const short events = polls_[2 + i].revents;
    if (events != 0 && stations_[i].socket) read_station(stations_[i]);
    if ((events & POLLOUT) != 0 && stations_[i].socket) flush(stations_[i]);
  }
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (polls_[2 + stations_.size() + i].revents != 0) read_hello(pending_[i]);
  }
  drop_slow_connections();
  if (polls_[1].revents != 0) accept_connections();
  return false;
}

// --- Connections before their hello --------------------------------------------------------------

void CableHub::accept_connections() {
  for (;;) {
    posix::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EAGAIN) return;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // The connection still waits, so poll() would report it at once and for ever.
      count(CableCounter::accept_errors);
      accept_again_ = posix::monotonic_now() + kAcceptRetry;
      return;
    }
    if (pending_.size() >= config_.pending_max) {
      count(CableCounter::hellos_refused);
      continue;
    }
    PendingConnection& connection = pending_.emplace_back();
    connection.socket = std::move(socket);
    connection.deadline = posix::monotonic_now() + config_.hello_timeout;
  }
}

void CableHub::read_hello(PendingConnection& connection) {
  const Reading reading = read_into(connection.socket, connection.in, connection.held);
  if (reading == Reading::partial) return;
  const auto hello = reading == Reading::whole
                         ? cable::decode_hello(connection.in)
                         : Result<cable::Hello>(Error{ErrorCode::truncated, "hello"});
  if (hello) {
    admit(connection, *hello);
  } else {
    count(CableCounter::protocol_errors);
  }
  connection.socket.reset();
}

void CableHub::drop_slow_connections() {
  const Duration now = posix::monotonic_now();
  std::erase_if(pending_, [&](const PendingConnection& connection) {
    if (connection.socket && now < connection.deadline) return false;
    if (connection.socket) count(CableCounter::protocol_errors);
    return true;
  });
}

void CableHub::admit(PendingConnection& connection, const cable::Hello& hello) {
  auto station = stations_.end();
  Answer answer = Answer::accepted;
  if (hello.version != cable::kVersion) {
    answer = Answer::bad_version;
  } else if (hello.station == cable::kAnyStation) {
    station = std::find_if(stations_.begin(), stations_.end(),
                           [](const Station& s) { return !s.socket; });
    if (station == stations_.end()) answer = Answer::no_such_station;
  } else if (hello.station >= stations_.size()) {
    answer = Answer::no_such_station;
  } else {
    station = stations_.begin() + hello.station;
    if (station->socket) answer = Answer::taken;
  }
  const Bytes welcome = cable::encode(
      cable::Welcome{.answer = answer,
                     .pace = config_.pace,
                     .station = static_cast<std::uint16_t>(station - stations_.begin()),
                     .stations = static_cast<std::uint16_t>(stations_.size()),
                     .rate_hz = config_.mixer.rate_hz,
                     .block_samples = config_.block_samples,
                     .delay_blocks = static_cast<std::uint16_t>(delay_blocks_),
                     .utc = utc_began_ + lasted(index_)});
  if (answer != Answer::accepted) {
    count(CableCounter::hellos_refused);
    // This is the last message on the connection; whether it arrives does not matter.
    static_cast<void>(posix::send_all(connection.socket.get(), welcome, Duration::zero()));
    return;
  }
  station->socket = std::move(connection.socket);
  station->out = welcome;
  {
    const std::lock_guard lock(counters_mutex_);
    counters_.add(CableCounter::stations_joined);
    counters_.add(CableCounter::stations_present);
  }
  flush(*station);
}

// --- Stations
// -------------------------------------------------------------------------------------

void CableHub::read_station(Station& station) {
  for (;;) {
    const Reading reading = read_into(station.socket, station.in, station.held);
    if (reading == Reading::partial) return;
    if (reading == Reading::ended) return lose(station);
    if (!take_answer(station)) {
      count(CableCounter::protocol_errors);
      return lose(station);
    }
  }
}

/// Returns false for a block that a station must not send.
bool CableHub::take_answer(Station& station) {
  const ByteSpan block(station.in);
  const auto header =
      cable::decode_block_header(block.first(cable::kBlockHeaderBytes), config_.block_samples);
  if (!header) return false;
  if (!station.newest_sent || header->index > *station.newest_sent) return false;
  if (station.newest_answered && header->index <= *station.newest_answered) return false;
  if (!cable::decode_samples(block.subspan(cable::kBlockHeaderBytes), station.newest)) return false;
  station.newest_answered = header->index;
  const bool all = header->index == *station.newest_sent;
  station.unanswered = all || station.unanswered == 0 ? 0 : station.unanswered - 1;
  if (header->index + delay_blocks_ < index_) {
    ++station.late;
    count(CableCounter::blocks_late);
    return true;
  }
  Sent& sent = station.answers[header->index % station.answers.size()];
  sent.index = header->index;
  sent.valid = true;
  sent.keyed = header->keyed;
  std::swap(sent.samples, station.newest);
  return true;
}

void CableHub::flush(Station& station) {
  while (!station.out.empty()) {
    const auto sent = posix::send_some(station.socket.get(), station.out);
    if (!sent) return lose(station);
    if (*sent == 0) return;
    station.out.erase(station.out.begin(),
                      station.out.begin() + static_cast<std::ptrdiff_t>(*sent));
  }
}

/// The blocks of the station that were not delivered yet are lost as well.
void CableHub::lose(Station& station) {
  station.socket.reset();
  station.held = 0;
  station.out.clear();
  station.newest_sent.reset();
  station.newest_answered.reset();
  station.late = 0;
  station.unanswered = 0;
  for (Sent& sent : station.answers) sent.valid = false;
  const std::lock_guard lock(counters_mutex_);
  counters_.add(CableCounter::stations_lost);
  counters_.set(CableCounter::stations_present, counters_[CableCounter::stations_present] - 1);
}

void CableHub::send_block(Station& station, std::span<const float> samples) {
  // A station with this much unread cannot have read the blocks that it answered.
  if (station.out.size() > config_.unanswered_blocks_max * station.in.size()) {
    count(CableCounter::protocol_errors);
    return lose(station);
  }
  cable::append_block(
      {.keyed = false, .count = config_.block_samples, .late = station.late, .index = index_},
      samples, station.out);
  station.newest_sent = index_;
  station.late = 0;
  ++station.unanswered;
  flush(station);
}

// --- Time
// -----------------------------------------------------------------------------------------

void CableHub::advance_lockstep() {
  const auto present = [](const Station& station) { return static_cast<bool>(station.socket); };
  const auto answered = [&](const Station& station) { return station.newest_answered == index_; };
  if (!std::all_of(stations_.begin(), stations_.end(), present)) return;
  if (std::all_of(stations_.begin(), stations_.end(), answered)) make_next_block();
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    const bool due = stations_[i].socket && stations_[i].newest_sent != index_;
    if (due) send_block(stations_[i], heard_[i]);
  }
}

/// Returns the duration of that many blocks.
Duration CableHub::lasted(std::uint64_t blocks) const {
  const double block_s = static_cast<double>(config_.block_samples) / config_.mixer.rate_hz;
  return from_seconds(static_cast<double>(blocks) * block_s);
}

Duration CableHub::next_tick() const {
  return ticks_began_ + lasted(ticks_ + 1);
}

void CableHub::advance_real_time(Duration now) {
  if (now < next_tick()) return;
  if (now - next_tick() > config_.behind_max) {
    ticks_began_ = now;
    ticks_ = 0;
  } else {
    ++ticks_;
  }
  make_next_block();
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    if (!stations_[i].socket) continue;
    if (stations_[i].unanswered < config_.unanswered_blocks_max) {
      send_block(stations_[i], heard_[i]);
    } else {
      count(CableCounter::blocks_skipped);
    }
  }
}

void CableHub::make_next_block() {
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    const Station& station = stations_[i];
    sent_[i] = {};
    if (index_ < delay_blocks_) continue;
    const Sent& sent = station.answers[(index_ - delay_blocks_) % station.answers.size()];
    const bool heard = sent.valid && sent.keyed && sent.index == index_ - delay_blocks_;
    if (heard) sent_[i] = sent.samples;
  }
  mixer_.mix(sent_, heard_);
  ++index_;
  count(CableCounter::blocks);
}

}  // namespace s5066::modem
