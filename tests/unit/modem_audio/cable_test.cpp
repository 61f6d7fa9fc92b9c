// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <thread>

#include "modem/audio/cable_device.h"
#include "modem/audio/cable_hub.h"
#include "modem/audio/cable_mixer.h"
#include "modem/audio/cable_protocol.h"
#include "s5066d/base/rng.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_folder.h"

namespace s5066::modem {
namespace {

using cable::Pace;
using test::eventually;
using test::kPatience;

/// Gives each test a socket path of its own.
class SocketPath {
 public:
  std::string path() const { return folder_ / "cable"; }

 private:
  test::TemporaryFolder folder_;
};

/// Runs a hub in a thread.
class Hub {
 public:
  explicit Hub(CableHub::Config config = {}) {
    config.socket_path = path_.path();
    hub_ = std::make_unique<CableHub>(config);
    const auto opened = hub_->open();
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    thread_ = std::thread([this] { EXPECT_TRUE(hub_->run().ok()); });
  }
  ~Hub() {
    hub_->stop();
    thread_.join();
  }
  std::string path() const { return path_.path(); }
  CableCounters counters() const { return hub_->counters(); }

  std::unique_ptr<CableDevice> station(std::uint16_t number) const {
    return std::make_unique<CableDevice>(
        CableDevice::Config{.socket_path = path(), .station = number});
  }
  posix::Fd raw_connection() const {
    return std::move(posix::connect_unix(path(), kPatience).value());
  }

 private:
  SocketPath path_;
  std::unique_ptr<CableHub> hub_;
  std::thread thread_;
};

CableHub::Config lockstep(std::size_t stations = 2) {
  return {.pace = Pace::max, .mixer = {.stations = stations}};
}

/// Receives a block, and asks again after time-outs because the hub may pause.
Result<Device::Received> receive(Device& device, std::span<float> block) {
  const Duration end = posix::monotonic_now() + kPatience;
  for (;;) {
    auto received = device.receive(block);
    const bool waiting = !received && received.error().code == ErrorCode::timed_out;
    if (!waiting || posix::monotonic_now() > end) return received;
  }
}

std::vector<float> ramp(std::size_t block, std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(block * count + i) * 1e-6F;
  return samples;
}

/// Exchanges `blocks` blocks. Sends ramps if `keyed`. Returns all samples that were heard.
std::vector<float> exchange(Device& device, std::size_t blocks, bool keyed) {
  std::vector<float> heard;
  std::vector<float> block(device.info().block_samples);
  for (std::size_t n = 0; n < blocks; ++n) {
    const auto received = receive(device, block);
    EXPECT_TRUE(received.ok()) << to_string(received.error());
    if (!received) return heard;
    heard.insert(heard.end(), block.begin(), block.end());
    EXPECT_TRUE(device.transmit(keyed, ramp(n, block.size())).ok());
  }
  return heard;
}

// --- Protocol ---

TEST(CableProtocol, messages_round_trip) {
  constexpr Duration kUtc{0x0123456789ABCDEF};
  const auto hello = cable::decode_hello(cable::encode(cable::Hello{.station = 3}));
  EXPECT_EQ(hello->station, 3);
  const auto welcome = cable::decode_welcome(cable::encode(cable::Welcome{.pace = Pace::max,
                                                                          .station = 1,
                                                                          .stations = 2,
                                                                          .rate_hz = 9600,
                                                                          .block_samples = 192,
                                                                          .delay_blocks = 7,
                                                                          .utc = kUtc}));
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(welcome->rate_hz, 9600U);
  EXPECT_EQ(welcome->block_samples, 192);
  EXPECT_EQ(welcome->delay_blocks, 7);
  EXPECT_EQ(welcome->utc, kUtc);
  Bytes block;
  const std::vector<float> samples = {0.5F, -1.0F};
  const std::uint64_t index = 0x0102030405060708;
  cable::append_block({.keyed = true, .count = 2, .late = 9, .index = index}, samples, block);
  const auto header =
      cable::decode_block_header(ByteSpan(block).first(cable::kBlockHeaderBytes), 2);
  ASSERT_TRUE(header.ok());
  EXPECT_TRUE(header->keyed);
  EXPECT_EQ(header->late, 9U);
  EXPECT_EQ(header->index, index);
  std::vector<float> read(2);
  EXPECT_TRUE(cable::decode_samples(ByteSpan(block).subspan(cable::kBlockHeaderBytes), read).ok());
  EXPECT_EQ(read, samples);
}

TEST(CableProtocol, values_out_of_range_are_refused) {
  const auto with = [](cable::Welcome welcome) { return cable::decode_welcome(encode(welcome)); };
  const cable::Welcome good{.stations = 2,
                            .rate_hz = cable::kRateHzMax,
                            .block_samples = cable::kBlockSamplesMax,
                            .delay_blocks = cable::kDelayBlocksMax,
                            .utc = cable::kUtcMax};
  EXPECT_TRUE(with(good).ok());
  auto bad = good;
  bad.rate_hz = cable::kRateHzMax + 1;
  EXPECT_FALSE(with(bad).ok());
  bad = good;
  bad.block_samples = cable::kBlockSamplesMax + 1;
  EXPECT_FALSE(with(bad).ok());
  bad = good;
  bad.delay_blocks = cable::kDelayBlocksMax + 1;
  EXPECT_FALSE(with(bad).ok());
  bad = good;
  bad.utc = cable::kUtcMax + Duration(1);
  EXPECT_FALSE(with(bad).ok());
  bad.utc = Duration(-1);
  EXPECT_FALSE(with(bad).ok());
  bad = good;
  bad.rate_hz = 0;
  EXPECT_FALSE(with(bad).ok());
}

TEST(CableProtocol, samples_must_be_finite_and_not_too_loud) {
  const auto check = [](float sample) {
    const std::vector<float> samples = {sample};
    Bytes block;
    cable::append_block({.count = 1}, samples, block);
    std::vector<float> read(1);
    return cable::decode_samples(ByteSpan(block).subspan(cable::kBlockHeaderBytes), read).ok();
  };
  EXPECT_TRUE(check(cable::kLevelMax));
  EXPECT_TRUE(check(-cable::kLevelMax));
  EXPECT_FALSE(check(std::nextafter(cable::kLevelMax, 100.0F)));
  EXPECT_FALSE(check(std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(check(std::numeric_limits<float>::quiet_NaN()));
}

// --- Mixer ---

TEST(CableMixer, one_hears_the_sum_of_the_others_and_not_oneself) {
  CableMixer mixer({.stations = 3});
  const std::vector<float> one(4, 0.25F);
  const std::vector<float> two(4, 0.5F);
  const std::vector<std::span<const float>> sent = {one, two, {}};
  std::vector<std::vector<float>> heard(3, std::vector<float>(4));
  mixer.mix(sent, heard);
  EXPECT_EQ(heard[0], two);
  EXPECT_EQ(heard[1], one);
  EXPECT_EQ(heard[2], std::vector<float>(4, 0.75F));
}

/// Returns all samples that three stations hear in 50 blocks while the first one sends.
std::vector<float> heard_by_all(const CableMixer::Config& config) {
  CableMixer mixer(config);
  std::vector<std::vector<float>> heard(3, std::vector<float>(192));
  std::vector<float> all;
  for (std::size_t n = 0; n < 50; ++n) {
    const std::vector<float> block = ramp(n, 192);
    const std::vector<std::span<const float>> sent = {block, {}, {}};
    mixer.mix(sent, heard);
    for (const auto& samples : heard) all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

TEST(CableMixer, a_seed_decides_every_sample_of_every_channel) {
  for (const char* name : {"awgn", "two-path", "watterson"}) {
    SCOPED_TRACE(name);
    CableMixer::Config config{.stations = 3, .channel = *parse_cable_channel(name), .seed = 7};
    const auto first = heard_by_all(config);
    EXPECT_EQ(heard_by_all(config), first);
    config.seed = 8;
    EXPECT_NE(heard_by_all(config), first);
  }
}

TEST(CableMixer, two_receivers_have_different_noise_of_the_asked_level) {
  CableMixer mixer(
      {.stations = 2, .channel = CableChannel::awgn, .snr_db = 10, .signal_power = 0.125});
  std::vector<std::vector<float>> heard(2, std::vector<float>(96'000));
  mixer.mix(std::vector<std::span<const float>>(2), heard);
  EXPECT_NE(heard[0], heard[1]);
  double power = 0;
  for (const float x : heard[0]) power += double{x} * x / 96'000;
  // The noise in 3000 Hz is 10 dB below 0.125, and the whole band has 4800 Hz.
  EXPECT_NEAR(power, 0.125 / 10 * 4800 / 3000, 0.001);
}

TEST(CableMixer, a_name_that_is_no_channel_is_refused) {
  EXPECT_FALSE(parse_cable_channel("").ok());
  EXPECT_FALSE(parse_cable_channel("twopath").ok());
}

// --- Hub and device in lockstep ---

// Goal:   a hub without free descriptors serves its stations, tries seldom to accept, and later
//         admits the station that waited.
// Method: a connection that the hub cannot accept waits through 2000 blocks. The hub must try fewer
//         than 200 times.
TEST(CableLockstep, without_descriptors_the_listener_rests) {
  const Hub hub(lockstep());
  const auto a = hub.station(0);
  const auto b = hub.station(1);
  ASSERT_TRUE(a->open().ok());
  ASSERT_TRUE(b->open().ok());
  const std::uint64_t refused = hub.counters()[CableCounter::hellos_refused];
  const posix::Fd waiting(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  hub.path().copy(address.sun_path, sizeof address.sun_path - 1);
  auto sending = std::async(std::launch::async, [&] {
    exchange(*a, 1, false);
    return exchange(*a, 2000, false);
  });
  exchange(*b, 1, false);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(posix::Fd(::dup(waiting.get())).get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ASSERT_EQ(::connect(waiting.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  exchange(*b, 2000, false);
  sending.get();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::uint64_t errors = hub.counters()[CableCounter::accept_errors];
  EXPECT_GE(errors, 1U);
  EXPECT_LT(errors, 200U);
  // A refused seat shows that the hub has read this message.
  const Bytes hello = encode(cable::Hello{.station = 9});
  ASSERT_TRUE(posix::send_all(waiting.get(), hello, kPatience).ok());
  EXPECT_TRUE(
      eventually([&] { return hub.counters()[CableCounter::hellos_refused] == refused + 1; }));
}

TEST(CableLockstep, the_answer_to_a_block_is_heard_in_the_next_one) {
  const Hub hub(lockstep());
  const auto a = hub.station(0);
  const auto b = hub.station(1);
  ASSERT_TRUE(a->open().ok());
  ASSERT_TRUE(b->open().ok());
  EXPECT_TRUE(a->info().lockstep);
  EXPECT_EQ(a->info().rate_hz, 9600U);
  EXPECT_EQ(a->info().transmit_delay, 0U);
  auto sending = std::async(std::launch::async, [&] { return exchange(*a, 100, true); });
  const std::vector<float> heard = exchange(*b, 100, false);
  std::vector<float> expected(192, 0.0F);
  for (std::size_t n = 0; n < 99; ++n) {
    const auto block = ramp(n, 192);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  EXPECT_EQ(heard, expected);
  EXPECT_EQ(sending.get(), std::vector<float>(19200, 0.0F));
}

TEST(CableLockstep, what_is_not_keyed_is_not_heard) {
  const Hub hub(lockstep());
  const auto a = hub.station(0);
  const auto b = hub.station(1);
  ASSERT_TRUE(a->open().ok());
  ASSERT_TRUE(b->open().ok());
  std::vector<float> block(192);
  const std::vector<float> loud(192, 1.0F);
  for (int n = 0; n < 10; ++n) {
    ASSERT_TRUE(receive(*a, block).ok());
    ASSERT_TRUE(a->transmit(false, loud).ok());
    ASSERT_TRUE(receive(*b, block).ok());
    EXPECT_EQ(block, std::vector<float>(192, 0.0F));
    ASSERT_TRUE(b->transmit(false, loud).ok());
  }
}

TEST(CableLockstep, time_stands_still_while_a_station_is_away_and_loses_no_block) {
  const Hub hub(lockstep());
  const auto a = hub.station(0);
  auto b = hub.station(1);
  ASSERT_TRUE(a->open().ok());
  ASSERT_TRUE(b->open().ok());
  auto sending = std::async(std::launch::async, [&] { return exchange(*a, 60, true); });
  std::vector<float> heard = exchange(*b, 20, false);
  b.reset();  // the station leaves without a message
  ASSERT_TRUE(eventually([&] { return hub.counters()[CableCounter::stations_lost] == 1; }));
  const std::uint64_t blocks = hub.counters()[CableCounter::blocks];
  EXPECT_LE(blocks, 21U);
  b = hub.station(1);
  ASSERT_TRUE(b->open().ok());
  const std::vector<float> rest = exchange(*b, 40, false);
  EXPECT_EQ(sending.get().size(), 60U * 192);
  // The block that was in transit when the station left may come a second time. No block is
  // missing.
  const auto first = std::lround(rest.front() / (192 * 1e-6F));
  EXPECT_TRUE(first == 19 || first == 18) << first;
  for (std::size_t n = 0; n < 39; ++n) {
    EXPECT_EQ(std::lround(rest[n * 192] / (192 * 1e-6F)), first + static_cast<long>(n));
  }
}

TEST(CableLockstep, each_new_station_is_told_the_time_of_day_by_the_clock_of_the_cable) {
  const Duration before = posix::utc_now();
  const Hub hub(lockstep());
  const Duration after = posix::utc_now();
  const auto a = hub.station(0);
  auto b = hub.station(1);
  ASSERT_TRUE(a->open().ok());
  ASSERT_TRUE(b->open().ok());
  const Duration began = a->info().utc;
  EXPECT_GE(began, before);
  EXPECT_LE(began, after);
  EXPECT_EQ(b->info().utc, began);
  auto sending = std::async(std::launch::async, [&] { return exchange(*a, 100, false); });
  exchange(*b, 100, false);
  sending.get();
  ASSERT_TRUE(eventually([&] { return hub.counters()[CableCounter::blocks] == 100; }));
  b.reset();
  ASSERT_TRUE(eventually([&] { return hub.counters()[CableCounter::stations_lost] == 1; }));
  b = hub.station(1);
  ASSERT_TRUE(b->open().ok());
  EXPECT_EQ(b->info().utc, began + 100 * std::chrono::milliseconds(20));
}

TEST(CableLockstep, a_place_is_given_once_and_free_again_afterwards) {
  const Hub hub(lockstep());
  auto a = hub.station(0);
  ASSERT_TRUE(a->open().ok());
  const auto thief = hub.station(0);
  ASSERT_FALSE(thief->open().ok());
  EXPECT_EQ(thief->open().error().code, ErrorCode::already_exists);
  a->close();
  EXPECT_TRUE(eventually([&] { return thief->open().ok(); }));
}

TEST(CableLockstep, the_last_station_fits_and_the_next_does_not) {
  const Hub hub(lockstep(3));
  EXPECT_TRUE(hub.station(2)->open().ok());
  const auto beyond = hub.station(3)->open();
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::refused);
}

// --- Misbehaviour ---

TEST(CableHub, garbage_from_one_connection_disturbs_no_other) {
  const Hub hub(lockstep());
  const auto a = hub.station(0);
  const auto b = hub.station(1);
  ASSERT_TRUE(a->open().ok());
  ASSERT_TRUE(b->open().ok());
  auto listening = std::async(std::launch::async, [&] { return exchange(*b, 300, false); });
  auto sending = std::async(std::launch::async, [&] { return exchange(*a, 300, true); });
  Rng rng(1);
  for (int n = 0; n < 20; ++n) {
    const posix::Fd connection = hub.raw_connection();
    Bytes garbage(100);
    for (auto& octet : garbage) octet = static_cast<std::uint8_t>(rng.below(256));
    static_cast<void>(posix::send_all(connection.get(), garbage, kPatience));
  }
  const auto heard = listening.get();
  ASSERT_EQ(heard.size(), 300U * 192);
  EXPECT_FLOAT_EQ(heard.back(), ramp(298, 192).back());
  sending.get();
  // The hub may have refused some of them because it was examining too many others.
  EXPECT_TRUE(eventually([&] {
    const CableCounters counters = hub.counters();
    return counters[CableCounter::protocol_errors] + counters[CableCounter::hellos_refused] == 20;
  }));
  EXPECT_EQ(hub.counters()[CableCounter::stations_lost], 0U);
}

/// Takes the seat of station 0 and sends `octets` once the first block has come.
void misbehave(const Hub& hub, ByteSpan octets) {
  const posix::Fd socket = hub.raw_connection();
  ASSERT_TRUE(posix::send_all(socket.get(), encode(cable::Hello{.station = 0}), kPatience).ok());
  Bytes in(cable::kWelcomeBytes + cable::kBlockHeaderBytes + 192 * sizeof(float));
  std::size_t held = 0;
  while (held < in.size()) {
    const auto got = posix::receive_some(socket.get(), std::span(in).subspan(held), kPatience);
    ASSERT_TRUE(got.ok());
    held += *got;
  }
  ASSERT_TRUE(posix::send_all(socket.get(), octets, kPatience).ok());
  // The hub must close the connection.
  Bytes rest(65536);
  for (;;) {
    const auto got = posix::receive_some(socket.get(), rest, kPatience);
    if (got) continue;
    EXPECT_EQ(got.error().code, ErrorCode::link_down);
    return;
  }
}

TEST(CableHub, a_station_that_breaks_the_protocol_is_cut_off_and_may_come_again) {
  const Hub hub(lockstep(1));
  const std::vector<float> silence(192, 0.0F);
  const std::vector<float> poison(192, std::numeric_limits<float>::quiet_NaN());
  const auto block = [](cable::BlockHeader header, std::span<const float> samples) {
    Bytes out;
    header.count = static_cast<std::uint16_t>(samples.size());
    cable::append_block(header, samples, out);
    return out;
  };
  std::vector<Bytes> sins = {
      block({.index = 1'000'000}, silence),                // the hub never sent this block
      block({.index = 0}, poison),                         // the samples are not numbers
      block({.index = 0}, std::vector<float>(191, 0.0F)),  // the block size differs
      Bytes(cable::kBlockHeaderBytes + 192 * sizeof(float), 0xFF),
  };
  std::uint64_t index = 0;
  for (Bytes& sin : sins) {
    sin.resize(cable::kBlockHeaderBytes + 192 * sizeof(float));
    misbehave(hub, sin);
    ++index;
    EXPECT_TRUE(eventually([&] { return hub.counters()[CableCounter::protocol_errors] == index; }));
  }
  const auto good = hub.station(0);
  ASSERT_TRUE(good->open().ok());
  exchange(*good, 10, true);
}

// The hub's queue for such a station would grow for as long as the station sends.
TEST(CableHub, a_station_that_answers_what_it_has_not_read_is_cut_off) {
  CableHub::Config config = lockstep(1);
  config.unanswered_blocks_max = 5;
  const Hub hub(config);
  const posix::Fd socket = hub.raw_connection();
  ASSERT_TRUE(posix::send_all(socket.get(), encode(cable::Hello{.station = 0}), kPatience).ok());
  const std::vector<float> silence(192, 0.0F);
  std::uint64_t index = 0;
  for (; hub.counters()[CableCounter::stations_lost] == 0 && index < 5000; ++index) {
    Bytes answer;
    cable::append_block({.count = 192, .index = index}, silence, answer);
    if (!posix::send_all(socket.get(), answer, kPatience)) break;
    ASSERT_TRUE(eventually([&] {
      return hub.counters()[CableCounter::blocks] > index ||
             hub.counters()[CableCounter::stations_lost] > 0;
    }));
  }
  ASSERT_LT(index, 5000U);
  EXPECT_TRUE(eventually([&] { return hub.counters()[CableCounter::stations_lost] == 1; }));
  EXPECT_EQ(hub.counters()[CableCounter::protocol_errors], 1U);
}

TEST(CableHub, half_a_block_followed_by_silence_is_only_a_pause) {
  const Hub hub(lockstep(1));
  {
    const posix::Fd socket = hub.raw_connection();
    ASSERT_TRUE(posix::send_all(socket.get(), encode(cable::Hello{.station = 0}), kPatience).ok());
    ASSERT_TRUE(posix::send_all(socket.get(), Bytes(10, 0), kPatience).ok());
    ASSERT_TRUE(eventually([&] { return hub.counters()[CableCounter::stations_present] == 1; }));
  }
  ASSERT_TRUE(eventually([&] { return hub.counters()[CableCounter::stations_present] == 0; }));
  const auto good = hub.station(0);
  ASSERT_TRUE(good->open().ok());
  exchange(*good, 10, true);
}

TEST(CableHub, pending_beyond_the_limit_and_silent_ones_are_sent_away) {
  CableHub::Config config = lockstep(1);
  config.pending_max = 2;
  config.hello_timeout = std::chrono::milliseconds(50);
  const Hub hub(config);
  std::vector<posix::Fd> unknown;
  for (int n = 0; n < 3; ++n) unknown.push_back(hub.raw_connection());
  EXPECT_TRUE(eventually([&] { return hub.counters()[CableCounter::hellos_refused] == 1; }));
  EXPECT_TRUE(eventually([&] { return hub.counters()[CableCounter::protocol_errors] == 2; }));
  EXPECT_TRUE(hub.station(0)->open().ok());
}

TEST(CableHub, another_version_is_told_so) {
  const Hub hub(lockstep());
  const posix::Fd socket = hub.raw_connection();
  const Bytes hello = encode(cable::Hello{.version = cable::kVersion + 1, .station = 0});
  ASSERT_TRUE(posix::send_all(socket.get(), hello, kPatience).ok());
  Bytes in(cable::kWelcomeBytes);
  ASSERT_TRUE(posix::receive_some(socket.get(), in, kPatience).ok());
  EXPECT_EQ(cable::decode_welcome(in)->answer, cable::Answer::bad_version);
}

TEST(CableHub, a_path_in_use_or_of_a_file_is_not_taken) {
  const Hub hub(lockstep());
  EXPECT_FALSE(CableHub({.socket_path = hub.path()}).open().ok());
  EXPECT_TRUE(hub.station(0)->open().ok());
  EXPECT_FALSE(CableHub({.socket_path = "/etc/passwd"}).open().ok());
  EXPECT_TRUE(std::filesystem::exists("/etc/passwd"));
}

TEST(CableDevice, without_a_hub_it_says_so_and_does_not_hang) {
  CableDevice device({.socket_path = "/tmp/s5066-no-such-cable"});
  const auto opened = device.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::link_down);
  std::vector<float> block(device.info().block_samples);
  EXPECT_FALSE(device.receive(block).ok());
}

// --- Real time ---

TEST(CableRealTime, a_block_is_heard_after_the_delay_and_an_absent_station_stops_nobody) {
  const Hub hub(
      {.pace = Pace::real, .block_samples = 48, .delay_blocks = 40, .mixer = {.stations = 3}});
  const auto a = hub.station(0);
  const auto b = hub.station(1);
  ASSERT_TRUE(b->open().ok());
  ASSERT_TRUE(a->open().ok());
  EXPECT_FALSE(a->info().lockstep);
  EXPECT_EQ(a->info().transmit_delay, 40U * 48);
  auto sending = std::async(std::launch::async, [&] { return exchange(*a, 150, true); });
  const std::vector<float> heard = exchange(*b, 200, false);
  sending.get();
  // The ramps arrive whole and in order after at least 41 blocks of silence.
  const auto first = static_cast<std::size_t>(
      std::find_if(heard.begin(), heard.end(), [](float x) { return x != 0; }) - heard.begin());
  ASSERT_LT(first, heard.size());
  EXPECT_GE(first, 41U * 48);
  for (std::size_t n = first; n < heard.size() && n < first + 50 * 48; ++n) {
    ASSERT_FLOAT_EQ(heard[n], static_cast<float>(n - first + 1) * 1e-6F) << n;
  }
  EXPECT_EQ(hub.counters()[CableCounter::blocks_late], 0U);
}

TEST(CableRealTime, a_station_that_does_not_answer_loses_blocks_and_learns_how_many) {
  CableHub::Config config{.pace = Pace::real, .block_samples = 48, .delay_blocks = 2};
  config.unanswered_blocks_max = 5;
  const Hub hub(config);
  const auto sleeper = hub.station(0);
  ASSERT_TRUE(sleeper->open().ok());
  ASSERT_TRUE(eventually([&] { return hub.counters()[CableCounter::blocks_skipped] >= 20; }));
  std::vector<float> block(48);
  std::uint64_t dropped = 0;
  std::uint64_t underrun = 0;
  while (dropped == 0 || underrun == 0) {
    const auto received = receive(*sleeper, block);
    ASSERT_TRUE(received.ok());
    dropped += received->dropped;
    underrun += received->underrun;
    ASSERT_TRUE(sleeper->transmit(false, block).ok());
  }
  EXPECT_GE(dropped, 20U * 48);
}

}  // namespace
}  // namespace s5066::modem
