// SPDX-License-Identifier: Apache-2.0
// Both ends run without sockets: a user and a host, and each of them against a peer that breaks the
// protocol.
#include <gtest/gtest.h>

#include "modem/remote/host_session.h"
#include "modem/remote/streams.h"
#include "modem/remote/user_session.h"

namespace s5066::modem::remote {
namespace {

const Mode kMode = *parse_mode("110a-2400-short");
constexpr const char* kToken = "0123456789abcdef";

Bytes octets_of(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

HostSession ready_host(HostSession::Config config = {.token = kToken}, unsigned version = 1) {
  HostSession host(std::move(config));
  EXPECT_TRUE(host.on_control({}, "HELLO " + std::to_string(version) + "\n").ok());
  host.on_data_connected();
  host.control_out().clear();
  return host;
}

UserSession ready_user() {
  UserSession user;
  EXPECT_TRUE(user.on_control(std::string("WELCOME 1 ") + kToken + "\nREADY\n").ok());
  user.control_out().clear();
  return user;
}

TEST(HostSession, greets_and_then_waits_for_the_data_connection) {
  HostSession host({.token = kToken});
  EXPECT_FALSE(host.greeted());
  ASSERT_TRUE(host.on_control({}, "HELLO 1\n").ok());
  EXPECT_TRUE(host.greeted());
  EXPECT_EQ(host.control_out(), std::string("WELCOME 1 ") + kToken + "\n");
  EXPECT_FALSE(host.on_control({}, "ABORT 1\n").ok());
}

TEST(HostSession, speaks_the_highest_version_that_both_know) {
  for (const auto& [told, answered] : {std::pair("1", "1"), {"2", "2"}, {"3", "2"}}) {
    HostSession host({.token = kToken});
    ASSERT_TRUE(host.on_control({}, std::string("HELLO ") + told + "\n").ok());
    EXPECT_EQ(host.control_out(), std::string("WELCOME ") + answered + " " + kToken + "\n");
  }
}

TEST(HostSession, tells_of_an_occupied_channel_from_version_2_on) {
  for (const unsigned version : {1U, 2U}) {
    HostSession host = ready_host({.token = kToken}, version);
    for (const bool occupied : {true, false}) {
      const Instant at{Duration{occupied ? 5 : 6}};
      ASSERT_TRUE(host.on_event(ChannelOccupancy{.at = at, .occupied = occupied}).ok());
    }
    EXPECT_EQ(host.control_out(), version == 1 ? "" : "OCCUPIED 5\nFREE 6\n");
  }
}

TEST(HostSession, refuses_no_version_another_order_and_a_second_greeting) {
  EXPECT_FALSE(HostSession({.token = kToken}).on_control({}, "HELLO 0\n").ok());
  EXPECT_FALSE(HostSession({.token = kToken}).on_control({}, "PING\n").ok());
  EXPECT_FALSE(ready_host().on_control({}, "HELLO 1\n").ok());
}

// A turn that belonged to this station when the line came may belong to another station when the
// octets are complete.
TEST(HostSession, a_burst_is_late_by_its_line_or_by_the_last_of_its_octets) {
  constexpr Instant kNow{std::chrono::seconds(10)};
  struct Case {
    const char* time;
    Duration octets_take;
    bool late;
  };
  for (const auto& [time, octets_take, late] :
       {Case{"9500000000", Duration(1'500'000'000), false}, Case{"9499999999", Duration(0), true},
        Case{"9500000000", Duration(1'500'000'001), true},
        Case{"12000000000", Duration(4'000'000'000), false},
        Case{"12000000000", Duration(4'000'000'001), true},
        Case{"0", std::chrono::hours(1), false}}) {
    SCOPED_TRACE(std::string(time) + " " + std::to_string(octets_take.count()));
    HostSession host = ready_host();
    ASSERT_TRUE(host.on_control(kNow, std::string("SEND 3 110a-2400-short ") + time + " 2\n").ok());
    ASSERT_TRUE(host.on_data(kNow, octets_of("x")).ok());
    ASSERT_TRUE(host.on_data(kNow + octets_take, octets_of("y")).ok());
    EXPECT_EQ(host.poll_command().has_value(), !late);
    EXPECT_EQ(host.take_late(), late);
    EXPECT_EQ(host.control_out().find(" 3 aborted\n") != std::string::npos, late);
    // The next burst gets the octets that follow.
    ASSERT_TRUE(host.on_data(kNow, octets_of("z")).ok());
    ASSERT_TRUE(host.on_event(TransmitFinished{.id = host.burst().value_or(BurstId{})}).ok());
    ASSERT_TRUE(host.on_control(kNow, "SEND 4 110a-2400-short 0 1\n").ok());
    const auto next = host.poll_command();
    ASSERT_TRUE(next);
    EXPECT_EQ(std::get<TransmitBurst>(*next).bytes, octets_of("z"));
  }
}

TEST(HostSession, a_burst_without_a_time_is_never_late) {
  HostSession host = ready_host();
  ASSERT_TRUE(host.on_control(Instant{std::chrono::hours(1)}, "SEND 3 110a-2400-short 0 1\n").ok());
  ASSERT_TRUE(host.on_data({}, octets_of("x")).ok());
  const auto command = host.poll_command();
  ASSERT_TRUE(command);
  EXPECT_EQ(std::get<TransmitBurst>(*command).not_before, Instant{});
  EXPECT_FALSE(host.take_late());
}

TEST(HostSession, a_message_that_lacks_octets_moves_with_each_that_comes) {
  HostSession host = ready_host();
  EXPECT_FALSE(host.incomplete().has_value());
  ASSERT_TRUE(host.on_control({}, "SEND 3 110a-2400-short 0 3\n").ok());
  StallWatches watches;
  using std::chrono::seconds;
  EXPECT_EQ(watches.look_at_incomplete(host.incomplete(), seconds(1)), seconds(0));
  EXPECT_EQ(watches.look_at_incomplete(host.incomplete(), seconds(3)), seconds(2));
  ASSERT_TRUE(host.on_data({}, octets_of("x")).ok());
  EXPECT_EQ(watches.look_at_incomplete(host.incomplete(), seconds(4)), seconds(0));
  EXPECT_EQ(watches.look_at_incomplete(host.incomplete(), seconds(5)), seconds(1));
  ASSERT_TRUE(host.on_data({}, octets_of("yz")).ok());
  EXPECT_FALSE(host.incomplete().has_value());
}

TEST(HostSession, sends_a_burst_once_its_octets_are_there_whichever_comes_first) {
  for (const bool octets_first : {false, true}) {
    HostSession host = ready_host({.token = kToken, .first_burst = 70});
    if (octets_first) {
      ASSERT_TRUE(host.on_data({}, octets_of("abcde")).ok());
    }
    ASSERT_TRUE(host.on_control({}, "SEND 3 110a-2400-short 1000 5\n").ok());
    if (!octets_first) {
      ASSERT_TRUE(host.on_data({}, octets_of("abc")).ok());
      EXPECT_FALSE(host.poll_command().has_value());
      ASSERT_TRUE(host.on_data({}, octets_of("de")).ok());
    }
    const auto command = host.poll_command();
    ASSERT_TRUE(command.has_value());
    const auto& burst = std::get<TransmitBurst>(*command);
    EXPECT_EQ(burst.id.value, 70U);
    EXPECT_EQ(burst.bytes, octets_of("abcde"));
    EXPECT_EQ(burst.mode, kMode);
    EXPECT_EQ(burst.not_before, Instant{Duration{1000}});
    EXPECT_EQ(host.burst()->value, 70U);
    EXPECT_EQ(host.next_burst(), 71U);
  }
}

TEST(HostSession, tells_a_user_of_his_own_bursts_by_his_own_numbers) {
  HostSession host = ready_host({.token = kToken, .first_burst = 70});
  ASSERT_TRUE(host.on_control({}, "SEND 3 110a-2400-short 0 0\n").ok());
  ASSERT_TRUE(host.on_event(TransmitFinished{.id = {69}}).ok());  // a burst of the user before
  ASSERT_TRUE(host.on_event(TransmitStarted{.at = Instant{Duration{5}}, .id = {70}}).ok());
  ASSERT_TRUE(host.on_event(TransmitFinished{.at = Instant{Duration{6}}, .id = {70}}).ok());
  EXPECT_EQ(host.control_out(), "STARTED 5 3\nFINISHED 6 3 sent\n");
  EXPECT_FALSE(host.burst().has_value());
}

TEST(HostSession, who_sends_nothing_is_not_told_that_it_was_refused) {
  HostSession host = ready_host();
  const Fault refused{.kind = FaultKind::command_refused, .detail = "burst 69"};
  ASSERT_TRUE(host.on_event(refused).ok());
  EXPECT_EQ(host.control_out(), "");
  ASSERT_TRUE(host.on_control({}, "SEND 3 110a-2400-short 0 0\n").ok());
  ASSERT_TRUE(host.on_event(refused).ok());
  EXPECT_EQ(host.control_out(), "FAULT 0 command_refused burst 69\n");
  EXPECT_FALSE(host.burst().has_value());
}

TEST(HostSession, a_second_burst_at_a_time_ends_at_once_and_the_first_goes_on) {
  HostSession host = ready_host();
  ASSERT_TRUE(host.on_control({}, "SEND 3 110a-2400-short 0 0\nSEND 4 110a-2400-short 8 0\n").ok());
  EXPECT_TRUE(host.poll_command().has_value());
  EXPECT_FALSE(host.poll_command().has_value());
  EXPECT_EQ(host.control_out(), "FINISHED 8 4 aborted\n");
  EXPECT_TRUE(host.burst().has_value());
}

TEST(HostSession, aborts_and_listens_in_the_order_asked) {
  HostSession host = ready_host();
  ASSERT_TRUE(host.on_control({},
                              "SEND 3 110a-2400-short 0 1\nABORT 2\nABORT 3\n"
                              "LISTEN 110a-75-long\nLISTEN\n")
                  .ok());
  EXPECT_FALSE(host.poll_command().has_value());
  ASSERT_TRUE(host.on_data({}, octets_of("x")).ok());
  EXPECT_TRUE(std::holds_alternative<TransmitBurst>(*host.poll_command()));
  EXPECT_EQ(std::get<AbortTransmit>(*host.poll_command()).id, *host.burst());
  EXPECT_EQ(std::get<SetReceiveModes>(*host.poll_command()).modes.size(), 1U);
  EXPECT_TRUE(std::get<SetReceiveModes>(*host.poll_command()).modes.empty());
  EXPECT_FALSE(host.poll_command().has_value());
}

TEST(HostSession, octets_received_go_by_the_data_connection) {
  HostSession host = ready_host();
  ASSERT_TRUE(host.on_event(ReceivedBytes{.mode = kMode, .bytes = octets_of("heard")}).ok());
  EXPECT_EQ(host.control_out(), "RECEIVED 0 0 110a-2400-short 5 0 0 0 0 0\n");
  EXPECT_EQ(host.data_out(), octets_of("heard"));
}

TEST(HostSession, has_limits_for_a_user_who_floods_or_does_not_read) {
  HostSession flooded = ready_host();
  EXPECT_TRUE(flooded.on_data({}, Bytes(2 * kOctetsMax)).ok());
  EXPECT_FALSE(flooded.on_data({}, Bytes(1)).ok());

  HostSession waiting = ready_host({.token = kToken, .waiting_max = 2});
  EXPECT_TRUE(waiting.on_control({}, "SEND 1 110a-2400-short 0 9\nLISTEN\n").ok());
  EXPECT_FALSE(waiting.on_control({}, "LISTEN\n").ok());

  HostSession unread = ready_host({.token = kToken, .unread_max = 1000});
  EXPECT_TRUE(unread.on_event(ReceivedBytes{.mode = kMode, .bytes = Bytes(900)}).ok());
  EXPECT_FALSE(unread.on_event(ReceivedBytes{.mode = kMode, .bytes = Bytes(100)}).ok());

  HostSession asking = ready_host({.token = kToken, .unread_max = 1000});
  Result<void> taken;
  for (int i = 0; i < 1000 && taken; ++i)
    taken = asking.on_control({}, "SEND 1 110a-2400-short 0 0\n");
  EXPECT_FALSE(taken.ok());
  EXPECT_LE(asking.control_out().size(), 1100U);
}

TEST(UserSession, speaks_first_and_shows_the_token_once) {
  UserSession user;
  EXPECT_EQ(user.control_out(), "HELLO 2\n");
  ASSERT_TRUE(user.on_control(std::string("WELCOME 1 ") + kToken + "\n").ok());
  EXPECT_EQ(user.poll_token(), kToken);
  EXPECT_FALSE(user.poll_token().has_value());
  EXPECT_FALSE(user.ready());
  ASSERT_TRUE(user.on_control("READY\n").ok());
  EXPECT_TRUE(user.ready());
}

TEST(UserSession, takes_its_version_or_an_older_one) {
  const auto welcomed = [](UserSession user, const char* version) {
    const bool good = user.on_control(std::string("WELCOME ") + version + " " + kToken + "\n").ok();
    EXPECT_EQ(std::to_string(user.version_agreed()), good ? version : "0");
    return good;
  };
  EXPECT_TRUE(welcomed(UserSession(), "2"));
  EXPECT_TRUE(welcomed(UserSession(), "1"));
  EXPECT_FALSE(welcomed(UserSession(), "3"));
  EXPECT_FALSE(welcomed(UserSession(), "0"));
  EXPECT_FALSE(welcomed(UserSession(1), "2"));
  EXPECT_EQ(UserSession(1).control_out(), "HELLO 1\n");
  UserSession in_use;
  EXPECT_FALSE(in_use.on_control("REFUSED in use\n").ok());
  EXPECT_TRUE(in_use.in_use());
  UserSession old_host;
  EXPECT_FALSE(old_host.on_control("REFUSED only version 1 is spoken here\n").ok());
  EXPECT_FALSE(old_host.in_use());
}

TEST(UserSession, ends_with_a_host_that_refuses_or_talks_out_of_turn) {
  UserSession refused;
  const auto why = refused.on_control("REFUSED in use\n");
  ASSERT_FALSE(why.ok());
  EXPECT_NE(why.error().detail.find("in use"), std::string::npos);
  EXPECT_FALSE(UserSession().on_control("READY\n").ok());
  EXPECT_FALSE(UserSession().on_control("CLOCK 1\n").ok());
  EXPECT_FALSE(UserSession().on_control(std::string("WELCOME 3 ") + kToken + "\n").ok());
  EXPECT_FALSE(ready_user().on_control(std::string("WELCOME 1 ") + kToken + "\n").ok());
  UserSession early;
  ASSERT_TRUE(early.on_control(std::string("WELCOME 1 ") + kToken + "\n").ok());
  EXPECT_FALSE(early.on_control("STARTED 1 1\n").ok());
}

TEST(UserSession, puts_octets_into_their_events_and_keeps_the_order) {
  UserSession user = ready_user();
  ASSERT_TRUE(user.on_control("RECEIVED 1 0 110a-2400-short 3 1 1 0 0 0\n"
                              "RECEIVED 2 0 110a-2400-short 2 1 1 0 0 0\nENDED 3 3 lost\n")
                  .ok());
  EXPECT_FALSE(user.poll().has_value());
  ASSERT_TRUE(user.on_data(octets_of("abcd")).ok());
  const auto first = user.poll();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(std::get<ReceivedBytes>(std::get<Happened>(*first).event).bytes, octets_of("abc"));
  EXPECT_FALSE(user.poll().has_value());
  ASSERT_TRUE(user.on_data(octets_of("e")).ok());
  EXPECT_EQ(std::get<ReceivedBytes>(std::get<Happened>(*user.poll()).event).bytes, octets_of("de"));
  EXPECT_TRUE(std::holds_alternative<CarrierDown>(std::get<Happened>(*user.poll()).event));
}

TEST(UserSession, has_limits_for_a_host_that_floods) {
  UserSession user = ready_user();
  EXPECT_TRUE(user.on_data(Bytes(2 * kOctetsMax)).ok());
  EXPECT_FALSE(user.on_data(Bytes(1)).ok());
  UserSession waiting = ready_user();
  Result<void> taken = waiting.on_control("RECEIVED 1 0 110a-2400-short 3 1 1 0 0 0\n");
  for (int i = 0; i < 5000 && taken; ++i) taken = waiting.on_control("CLOCK 1\n");
  EXPECT_FALSE(taken.ok());
}

// Every division of both streams into portions gives the same commands.
TEST(Sessions, a_burst_goes_from_a_user_to_a_host_in_any_portions) {
  for (const std::size_t portion : {1U, 7U, 1000U}) {
    UserSession user = ready_user();
    HostSession host = ready_host();
    user.request(TransmitBurst{.id = {9}, .mode = kMode, .bytes = octets_of("over the wire")});
    user.request(AbortTransmit{.id = {9}});
    std::string& control = user.control_out();
    Bytes& data = user.data_out();
    while (!control.empty() || !data.empty()) {
      const std::size_t lines = std::min(portion, control.size());
      ASSERT_TRUE(host.on_control({}, control.substr(0, lines)).ok());
      control.erase(0, lines);
      const std::size_t octets = std::min(portion, data.size());
      ASSERT_TRUE(host.on_data({}, ByteSpan(data).first(octets)).ok());
      data.erase(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(octets));
    }
    EXPECT_EQ(std::get<TransmitBurst>(*host.poll_command()).bytes, octets_of("over the wire"));
    EXPECT_TRUE(std::holds_alternative<AbortTransmit>(*host.poll_command()));
  }
}

TEST(ClockMatch, believes_the_reading_that_came_fastest_and_forgets_slowly) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto ours = [](auto d) { return Instant{Duration{d}}; };
  ClockMatch match;
  match.on_reading(ours(milliseconds(1030)), ours(milliseconds(500)));
  match.on_reading(ours(milliseconds(1210)), ours(milliseconds(700)));  // 510 ms ahead, not 530
  EXPECT_EQ(match.to_ours(ours(milliseconds(700))), ours(milliseconds(1210)));
  match.on_reading(ours(milliseconds(1400)), ours(milliseconds(800)));  // late by 90 ms
  const Duration error = match.to_ours(ours(milliseconds(800))) - ours(milliseconds(1310));
  EXPECT_GE(error, Duration{});
  EXPECT_LE(error, milliseconds(1));
  // The match follows a clock that is slower by 100 ppm.
  for (int s = 2; s < 500; ++s) {
    match.on_reading(ours(seconds(s)), ours(milliseconds(1000 * s - 510) - milliseconds(s) / 10));
  }
  EXPECT_EQ(match.to_theirs(match.to_ours(ours(seconds(77)))), ours(seconds(77)));
  const Duration late = match.to_ours(ours(milliseconds(499'000 - 510 - 49))) - ours(seconds(499));
  EXPECT_LE(std::chrono::abs(late), milliseconds(2));
}

TEST(ClockMatch, a_host_that_stood_still_is_followed_after_some_seconds) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto at = [](auto d) { return Instant{Duration{d}}; };
  ClockMatch match;
  const auto read = [&](Duration from, Duration to, Duration late) {
    for (Duration now = from; now < to; now += milliseconds(200)) {
      match.on_reading(at(now), at(now - late));
    }
  };
  const auto behind = [&] { return match.to_ours(at(seconds(100))) - at(seconds(100)); };
  read(seconds(0), seconds(10), milliseconds(10));
  // All readings were late for four seconds because the network was busy.
  read(seconds(10), seconds(14), milliseconds(700));
  read(seconds(14), seconds(20), milliseconds(10));
  EXPECT_LE(behind(), milliseconds(12));
  // The host was stopped for two seconds.
  read(seconds(20), milliseconds(25'000), milliseconds(2010));
  EXPECT_LE(behind(), milliseconds(20));
  read(milliseconds(25'000), seconds(27), milliseconds(2010));
  EXPECT_LE(std::chrono::abs(behind() - milliseconds(2010)), milliseconds(10));
  EXPECT_EQ(match.to_theirs(match.to_ours(at(seconds(77)))), at(seconds(77)));
}

}  // namespace
}  // namespace s5066::modem::remote
