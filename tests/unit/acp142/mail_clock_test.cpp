// SPDX-License-Identifier: Apache-2.0
// The time of day is put forward or back. A wait must still last as long as before.
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
  /// Returns the time of the clock, with the error that has been set by now.
  UtcSeconds utc() const {
    return {kUtc.value + now.time_since_epoch() / seconds(1) + off.count()};
  }
  void set_clock() {
    off += step();
    core->on_clock(now, utc());
    drain();
  }
  /// Does the work that the service does each minute.
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

TEST_P(MailClock, an_outcome_that_the_spool_could_not_keep_waits_no_longer) {
  send({"<a@ship.example>"});
  store_fails = true;
  end(kShip, Outcome::failed);
  set_clock();
  store_fails = false;
  look_at_clock();
  wait(minutes(9));
  EXPECT_EQ(submissions.size(), 1u);
  wait(minutes(2));
  EXPECT_EQ(submissions.size(), 2u);
}

// If the clock was put forward while the gateway was away, that looks like a long absence.
TEST_P(MailClock, over_a_restart_nothing_waits_longer_than_before) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::failed);
  wait(minutes(1));
  look_at_clock();
  off += step();
  restart();  // ends the wait for a station that did not answer
  wait(minutes(3));
  EXPECT_EQ(submissions.size(), step() > days(1) ? 1u : 2u);  // otherwise its lifetime is over
}

INSTANTIATE_TEST_SUITE_P(Steps, MailClock, testing::Values(-3 * 86400, -3600, 3600, 3 * 86400));

/// Mail comes from the ship, whose gateway accepted it at a time by its own clock.
class MailOfClock : public MailCoreTest {
 protected:
  MailOfClock() {
    config.node = NodeId{1};
    start();
  }
  static std::string field(std::int64_t at_s, const char* mark) {
    return "Received: from mx by gw.example with ESMTP id " + std::to_string(kUtc.value + at_s) +
           ".1 " + mark + ";\r\n\tdate\r\n";
  }
  void arrive(const std::string& content) {
    receive("<>\r\n<op@shore.example>\r\n\r\n" + content, ++number);
  }
  std::chrono::seconds ahead() {
    const auto found = core->clocks_apart().find(kShip);
    return found == core->clocks_apart().end() ? std::chrono::seconds(0) : found->second.ahead;
  }
  static constexpr const char* kTheirs = "(ESMTP 0.0.0.2)";
  static constexpr const char* kOurs = "(ESMTPS 0.0.0.1)";
  std::uint32_t number = 7;
};

TEST_F(MailOfClock, a_trace_field_of_the_future_shows_that_our_clock_is_behind) {
  arrive(field(60, kTheirs) + "Subject: a\r\n\r\nb\r\n");
  EXPECT_EQ(ahead(), seconds(0));
  arrive(field(7200, kTheirs) + "Subject: a\r\n\r\nc\r\n");
  EXPECT_EQ(ahead(), hours(2));
  ASSERT_EQ(count(MailNews::Kind::clock_apart), 1u);
  const auto& told_last = *std::find_if(news.begin(), news.end(), [](const MailNews& one) {
    return one.kind == MailNews::Kind::clock_apart;
  });
  EXPECT_EQ(told_last.station, kShip);
  EXPECT_EQ(told_last.detail, "our clock is behind by 2 h 0 min or more");
  arrive(field(7200, kTheirs) + "Subject: a\r\n\r\nd\r\n");
  EXPECT_EQ(count(MailNews::Kind::clock_apart), 1u);  // not again so soon
  core->on_clock(now, {kUtc.value + 7200});
  drain();
  EXPECT_EQ(ahead(), seconds(0));
}

TEST_F(MailOfClock, a_report_written_before_its_message_shows_that_our_clock_is_ahead) {
  const std::string body = "Content-Type: multipart/report\r\n\r\n--x\r\n\r\n";
  arrive(field(-7300, kTheirs) + body + field(-7300, kOurs));
  EXPECT_EQ(ahead(), seconds(0));
  arrive(field(-7300, kTheirs) + body + field(-100, kOurs) + "To: a\r\n");
  EXPECT_EQ(ahead(), -hours(2));
  EXPECT_EQ(count(MailNews::Kind::clock_apart), 1u);
}

TEST_F(MailOfClock, other_fields_and_fields_that_make_no_sense_show_nothing) {
  arrive(field(7200, "(ESMTP 0.0.0.3)") + "Subject: a\r\n\r\n" + field(7200, kTheirs));
  arrive("Received: by x (ESMTP 0.0.0.2);\r\n\r\nb\r\n");
  arrive("Received: by x id (ESMTP 0.0.0.2);\r\n\r\nc\r\n");
  arrive("Received: by x id 99999999999999999999.1 (ESMTP 0.0.0.2);\r\n\r\nd\r\n");
  arrive("Received: by x id 99999999999999999 (ESMTP 0.0.0.2);\r\n\r\ne\r\n");
  arrive(field(-7200, kTheirs) + "\r\n" + field(7200, kOurs));  // by a clock that we had once
  EXPECT_TRUE(core->clocks_apart().empty());
}

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
