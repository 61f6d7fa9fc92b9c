// A time of day that is put forward or back: what waits for a time waits for as long as before.
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

using std::chrono::days;
using std::chrono::nanoseconds;

class MailClock : public MailCoreTest, public testing::WithParamInterface<std::int64_t> {
 protected:
  MailClock() {
    config.spool_poll = seconds(10);
    config.retry_min = minutes(10);
    config.dead_min = minutes(9);
    start();
  }
  std::chrono::seconds step() const { return std::chrono::seconds(GetParam()); }
  /// The clock as it would be, and as far off as it has been set by now.
  UtcSeconds utc() const {
    return {kUtc.value + now.time_since_epoch() / seconds(1) + off.count()};
  }
  void set_clock() {
    off += step();
    core->on_clock(now, utc());
    drain();
  }
  /// As a minute's work of the service.
  void look_at_clock() {
    core->on_clock(now, utc());
    drain();
  }
  void restart() {
    store.reset();
    store.emplace(std::move(SqliteMailStore::open(store_config)).value());
    core.emplace(config, addresses);
    core->on_clock(now, utc());
    core->on_start(now);
    drain();
  }
  std::chrono::seconds off{};
};

TEST_P(MailClock, deferred_mail_waits_no_longer_and_no_shorter) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::failed);
  ASSERT_EQ(newest(), SpoolState::deferred);
  wait(minutes(1));
  set_clock();
  EXPECT_EQ(count(MailNews::Kind::clock_set), 1u);
  wait(minutes(8));
  look_at_clock();
  EXPECT_EQ(count(MailNews::Kind::clock_set), 1u);
  EXPECT_EQ(submissions.size(), 1u);
  wait(minutes(2));
  EXPECT_EQ(submissions.size(), 2u);
}

TEST_P(MailClock, a_dead_station_is_asked_again_when_its_time_is_up) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::expired);
  send({"<b@ship.example>"});
  EXPECT_EQ(submissions.size(), 1u);
  wait(minutes(1));
  set_clock();
  wait(minutes(7));
  EXPECT_EQ(submissions.size(), 1u);
  wait(minutes(2));
  EXPECT_EQ(submissions.size(), 2u);
}

TEST_P(MailClock, mail_lives_as_long_as_it_was_to_live) {
  send({"<a@ship.example>"});
  const auto lives = std::chrono::seconds((*store->list(1)).at(0).expiry.value - utc().value);
  end(kShip, Outcome::failed);
  set_clock();
  EXPECT_EQ((*store->list(1)).at(0).expiry.value - utc().value, lives.count());
  EXPECT_EQ(newest(), SpoolState::deferred);
}

TEST_P(MailClock, a_step_that_the_spool_could_not_be_told_of_is_told_later) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::failed);
  wait(minutes(1));
  store_fails = true;
  set_clock();
  store_fails = false;
  look_at_clock();
  wait(minutes(8));
  EXPECT_EQ(submissions.size(), 1u);
  wait(minutes(2));
  EXPECT_EQ(submissions.size(), 2u);
}

// Put forward while the gateway was away, a clock cannot be told from a long absence.
TEST_P(MailClock, over_a_restart_nothing_waits_longer_than_before) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::failed);
  wait(minutes(1));
  look_at_clock();
  off += step();
  restart();  // ends the wait for a station that did not answer
  wait(minutes(3));
  EXPECT_EQ(submissions.size(), step() > days(1) ? 1u : 2u);  // else its lifetime is over
}

INSTANTIATE_TEST_SUITE_P(Steps, MailClock, testing::Values(-3 * 86400, -3600, 3600, 3 * 86400));

TEST_F(MailCoreTest, a_clock_that_is_corrected_by_little_is_not_set) {
  core->on_clock(now, {kUtc.value + 4});
  drain();
  EXPECT_EQ(count(MailNews::Kind::clock_set), 0u);
  core->on_clock(now, {kUtc.value + 4 - 5});
  drain();
  EXPECT_EQ(count(MailNews::Kind::clock_set), 1u);
}

}  // namespace
}  // namespace s5066::acp142
