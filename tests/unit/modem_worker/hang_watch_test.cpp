// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/hang_watch.h"

#include <gtest/gtest.h>

#include "tests/unit/modem_worker/fakes.h"

namespace s5066::modem {
namespace {

using posix::HangWatch;
using std::chrono::milliseconds;

constexpr HangWatch::Config kQuick{.wait = milliseconds(1), .waits_max = 20};
/// The longer limit is for calls that must go on in time although the machine is busy.
constexpr HangWatch::Config kPatient{.wait = milliseconds(1), .waits_max = 2000};

/// Releases a device that hangs when the test ends, also if the test fails.
struct Hang {
  ~Hang() { lasts = false; }
  void operator()() const {
    while (lasts) std::this_thread::yield();
  }
  std::atomic<bool> lasts{true};
};

struct Watched {
  Watched(Hang& hang, bool lockstep, const HangWatch::Config& watch) {
    device->on_close = [&hang] { hang(); };
    worker = std::make_unique<Worker>(
        Worker::Config{.silence_max = std::chrono::hours(1),
                       .reopen_attempts_max = 0,
                       .on_hang = [this] { ++hangs; },
                       .hang_watch = watch},
        std::make_unique<FakeDevice>(device, Device::Info{.lockstep = lockstep}),
        std::make_unique<FakePtt>(std::make_shared<KeyScript>()), [] {});
  }
  std::atomic<int> hangs{0};
  std::shared_ptr<DeviceScript> device = std::make_shared<DeviceScript>();
  std::unique_ptr<Worker> worker;
};

/// Returns when a watch with this configuration would have called if it had seen no sign of life.
void outwait(HangWatch::Config config) {
  std::atomic<bool> called{false};
  config.waits_max += config.waits_max / 2;
  HangWatch watch(config, [&] { called = true; });
  ASSERT_TRUE(test::eventually([&] { return called.load(); }));
}

TEST(HangWatch, calls_once_where_no_sign_comes) {
  std::atomic<int> calls{0};
  HangWatch watch(kQuick, [&] { ++calls; });
  EXPECT_TRUE(test::eventually([&] { return calls == 1; }));
  outwait(kQuick);
  EXPECT_EQ(calls, 1);
}

TEST(HangWatch, every_sign_makes_it_begin_anew) {
  std::atomic<int> calls{0};
  std::atomic<bool> done{false};
  HangWatch watch(kPatient, [&] { ++calls; });
  std::thread watched([&] {
    while (!done) {
      watch.alive();
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  outwait(kPatient);
  done = true;
  watched.join();
  EXPECT_EQ(calls, 0);
}

TEST(Worker, says_so_when_its_device_does_not_return) {
  Hang hang;
  Watched bench(hang, false, kQuick);
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->fail(ErrorCode::io);
  EXPECT_TRUE(test::eventually([&] { return bench.hangs == 1; }));
  hang.lasts = false;
  EXPECT_TRUE(test::eventually([&] { return bench.worker->finished(); }));
}

TEST(Worker,
     does_not_hang_in_silence_nor_where_others_set_the_time_nor_when_it_never_began_or_is_over) {
  Hang no_hang;
  no_hang.lasts = false;
  Watched lockstep(no_hang, true, kPatient);
  ASSERT_TRUE(lockstep.worker->start().ok());
  lockstep.device->give_blocks(1);  // no release() follows
  Watched silent(no_hang, false, kPatient);
  ASSERT_TRUE(silent.worker->start().ok());
  Watched failed(no_hang, false, kPatient);
  failed.device->refuse_open(1, ErrorCode::io);
  EXPECT_FALSE(failed.worker->start().ok());
  Watched over(no_hang, false, kPatient);
  ASSERT_TRUE(over.worker->start().ok());
  over.device->fail(ErrorCode::io);
  EXPECT_TRUE(test::eventually([&] { return over.worker->finished(); }));
  outwait(kPatient);
  EXPECT_EQ(lockstep.hangs + silent.hangs + failed.hangs + over.hangs, 0);
}

}  // namespace
}  // namespace s5066::modem
