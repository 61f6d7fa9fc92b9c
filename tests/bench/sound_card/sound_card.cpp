// SPDX-License-Identifier: Apache-2.0
// Measures the modem in real time on sound cards, as PulseAudio without hardware gives them to
// PortAudio: whether bursts arrive, the round trip and the card's own figure for it, the resulting
// error of the times that the modem reports for its own transmissions, and how soon an answer comes
// that is requested at once.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/audio/portaudio_device.h"
#include "modem/ptt/ptt.h"
#include "modem/tools/examination.h"
#include "modem/worker/worker.h"
#include "s5066d/base/rng.h"
#include "s5066d/posix/socket.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/sound_server.h"

namespace s5066::modem {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);

PortAudioDevice::Config card(const std::string& name, Duration round_trip = {}) {
  return {.input_name = name, .output_name = name, .round_trip = round_trip};
}

double ms(Duration duration) {
  return 1000 * to_seconds(duration);
}

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A modem whose events are read as they come.
struct Station {
  explicit Station(const PortAudioDevice::Config& config, bool full_duplex = false)
      : worker({.full_duplex = full_duplex}, std::make_unique<PortAudioDevice>(config),
               std::make_unique<NoPtt>(), [] {}) {
    if (const auto started = worker.start(); !started) {
      std::fprintf(stderr, "%s\n", to_string(started.error()).c_str());
      std::exit(1);
    }
  }
  void look() {
    while (auto event = worker.poll_event()) {
      if (const auto* done = std::get_if<TransmitFinished>(&*event)) sent = done->at;
      if (const auto* part = std::get_if<ReceivedBytes>(&*event)) append(heard, part->bytes);
      const auto* down = std::get_if<CarrierDown>(&*event);
      if (down != nullptr && !heard.empty()) ended = down->ended_at;
    }
  }
  void send(const Mode& mode, const Bytes& octets) {
    sent.reset();
    if (!worker.request(TransmitBurst{.id = {1}, .mode = mode, .bytes = octets})) std::exit(1);
  }
  void forget() {
    heard.clear();
    ended.reset();
  }

  Worker worker;
  std::optional<Instant> sent;
  std::optional<Instant> ended;
  Bytes heard;
};

template <typename Done>
bool wait_for(std::initializer_list<Station*> stations, Done done) {
  const Duration end = posix::monotonic_now() + kPatience;
  while (posix::monotonic_now() < end) {
    for (Station* station : stations) station->look();
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// Round trip as the card reports it and as measured, one value for each opening.
struct Around {
  std::vector<double> said_ms;
  std::vector<double> measured_ms;
};
Around around(int openings) {
  Around found;
  for (int i = 0; i < openings; ++i) {
    PortAudioDevice device(card("s5066loop"));
    auto begun = tools::Examination::begin(device, posix::monotonic_now);
    if (!begun) continue;
    found.said_ms.push_back(1000.0 * static_cast<double>(device.info().transmit_delay) /
                            device.info().rate_hz);
    const auto loop = begun->send_around(*parse_mode("110a-1200-short"), 100);
    if (loop && loop->heard) found.measured_ms.push_back(loop->round_trip_ms);
    device.close();
  }
  return found;
}

/// Returns how much later than reported a modem hears itself.
std::vector<double> lateness_ms(Duration round_trip, int openings) {
  std::vector<double> late;
  for (int i = 0; i < openings; ++i) {
    Station station(card("s5066loop", round_trip), true);
    station.send(*parse_mode("110a-1200-short"), Bytes(100, 0x55));
    if (wait_for({&station}, [&] { return station.sent && station.ended; })) {
      late.push_back(ms(*station.ended - *station.sent));
    }
  }
  return late;
}

struct Exchange {
  int bursts = 0;
  int right = 0;
  std::vector<double> answer_ms;  // time from the end of a burst to the start of the answer
  std::uint64_t dropped = 0;
  std::uint64_t underrun = 0;
};
Exchange exchange(const Mode& mode, int bursts, Duration round_trip) {
  Station alpha(card("s5066alpha", round_trip));
  Station bravo(card("s5066bravo", round_trip));
  Exchange found;
  Rng rng(1);
  Bytes octets(300);
  while (found.bursts < bursts) {
    for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
    for (Station* station : {&alpha, &bravo}) station->forget();
    alpha.send(mode, octets);
    ++found.bursts;
    if (!wait_for({&alpha, &bravo}, [&] { return bravo.ended && alpha.sent; })) continue;
    found.right += bravo.heard == octets ? 1 : 0;
    bravo.send(mode, octets);
    ++found.bursts;
    if (!wait_for({&alpha, &bravo}, [&] { return alpha.ended && bravo.sent; })) continue;
    found.right += alpha.heard == octets ? 1 : 0;
    found.answer_ms.push_back(ms(*alpha.ended - *alpha.sent - airtime(mode, octets.size())));
  }
  for (Station* station : {&alpha, &bravo}) {
    found.dropped += station->worker.state().counters[ModemCounter::samples_dropped];
    found.underrun += station->worker.state().counters[ModemCounter::samples_underrun];
  }
  return found;
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066;
  using namespace s5066::modem;
  const bench::Arguments arguments(argc, argv, {}, {"json", "quick"});
  const bool json = arguments.has("json");
  const int openings = arguments.has("quick") ? 2 : 5;
  const int bursts = arguments.has("quick") ? 2 : 10;
  test::SoundServer server;
  if (!server.start()) return 1;
  const Around loop = around(openings);
  const double round_trip_ms = median(loop.measured_ms);
  const Duration round_trip = from_seconds(round_trip_ms / 1000);
  const double late_said = median(lateness_ms({}, openings));
  const double late_measured = median(lateness_ms(round_trip, openings));
  std::printf(json ? "{\"bench\":\"sound_card\",\"said_ms\":%.1f,\"measured_ms\":%.1f,"
                     "\"measured_min_ms\":%.1f,\"measured_max_ms\":%.1f,"
                     "\"late_by_said_ms\":%.1f,\"late_by_measured_ms\":%.1f}\n"
                   : "around: said %.1f ms, measured %.1f (%.1f to %.1f); heard later than "
                     "thought: %.1f ms by what is said, %.1f by what was measured\n",
              median(loop.said_ms), round_trip_ms,
              *std::min_element(loop.measured_ms.begin(), loop.measured_ms.end()),
              *std::max_element(loop.measured_ms.begin(), loop.measured_ms.end()), late_said,
              late_measured);
  for (const char* name : {"110a-300-short", "110a-2400-short", "4539-9600-s"}) {
    const Exchange found = exchange(*parse_mode(name), bursts, round_trip);
    std::printf(json ? "{\"bench\":\"sound_card\",\"mode\":\"%s\",\"bursts\":%d,\"right\":%d,"
                       "\"answer_ms\":%.1f,\"dropped\":%llu,\"underrun\":%llu}\n"
                     : "%-16s %d bursts, %d right; answer after %.1f ms; %llu dropped, %llu late\n",
                name, found.bursts, found.right, median(found.answer_ms),
                static_cast<unsigned long long>(found.dropped),
                static_cast<unsigned long long>(found.underrun));
    std::fflush(stdout);
  }
  return 0;
}
