// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_core.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/ip_client/dns_messages.h"

namespace s5066::ip_client {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::DnsHead;

class DnsCoreTest : public testing::Test {
 protected:
  /// Sends a message of a client and returns its id.
  DnsClientId send(ByteSpan message, bool by_udp = true) {
    const DnsClientId client{++last};
    core.on_message(now, client, message, by_udp);
    drain();
    return client;
  }
  DnsClientId ask(std::string_view name) { return send(test::dns_question(name)); }
  void answer(DnsQueryId query, ByteSpan message) {
    core.on_answer(now, query, message);
    drain();
  }
  void drain() {
    while (const auto action = core.poll_action()) {
      if (const auto* ask = std::get_if<DnsCore::Ask>(&*action)) {
        asked.push_back(*ask);
        open.insert(ask->query);
      } else if (const auto* release = std::get_if<DnsCore::Release>(&*action)) {
        EXPECT_EQ(open.erase(release->query), 1u);
      } else if (const auto* reply = std::get_if<DnsCore::Reply>(&*action)) {
        EXPECT_TRUE(replies.emplace(reply->client, reply->message).second);
      }
    }
  }
  void pass(Duration time) {
    now += time;
    core.on_deadline(now);
    drain();
  }
  unsigned outcome_of(DnsClientId client) {
    return replies.contains(client) ? replies[client][3] & 0xFU : 99;
  }
  std::uint64_t count(DnsCounter counter) { return core.counters()[counter]; }

  DnsCore core{{}, 1};
  Instant now{seconds(1000)};
  std::uint64_t last = 0;
  std::vector<DnsCore::Ask> asked;
  std::set<DnsQueryId> open;
  std::map<DnsClientId, Bytes> replies;
};

TEST_F(DnsCoreTest, the_answer_of_the_far_end_goes_to_the_client_and_to_the_cache) {
  const auto client = ask("mail.example");
  ASSERT_EQ(asked.size(), 1u);
  answer(asked[0].query, test::dns_answer(asked[0].message, 300));
  EXPECT_EQ(replies[client], test::dns_answer(test::dns_question("mail.example"), 300));
  EXPECT_TRUE(open.empty());

  now += seconds(299);
  const auto later = ask("MAIL.example");
  EXPECT_EQ(replies[later], test::dns_answer(test::dns_question("MAIL.example"), 1));
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_EQ(count(DnsCounter::from_cache), 1u);
  now += seconds(1);
  ask("mail.example");
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(DnsCoreTest, a_short_life_is_long_enough_for_the_next_attempt_of_the_client) {
  ask("a");
  answer(asked[0].query, test::dns_answer(asked[0].message, 0));
  now += seconds(59);
  const auto client = ask("a");
  EXPECT_EQ(replies[client], test::dns_answer(test::dns_question("a"), 0));
  now += seconds(1);
  ask("a");
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(DnsCoreTest, a_question_on_its_way_is_not_asked_again) {
  const auto one = ask("a");
  const auto two = ask("A");
  const auto other = send(test::dns_question("a", {}, 28));
  ASSERT_EQ(asked.size(), 2u);
  answer(asked[0].query, test::dns_answer(asked[0].message, 300));
  EXPECT_TRUE(replies.contains(one) && replies.contains(two));
  EXPECT_FALSE(replies.contains(other));
}

TEST_F(DnsCoreTest, a_far_end_that_never_answers_gives_server_failure_in_time) {
  const auto client = ask("a");
  EXPECT_EQ(core.next_deadline(), now + minutes(5));
  pass(minutes(5) - seconds(1));
  EXPECT_TRUE(replies.empty());
  pass(seconds(1));
  EXPECT_EQ(outcome_of(client), 2u);
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(count(DnsCounter::failed), 1u);
  EXPECT_FALSE(core.next_deadline());
  // The failure is kept for a minute.
  EXPECT_EQ(outcome_of(ask("a")), 2u);
  EXPECT_EQ(asked.size(), 1u);
  now += minutes(1);
  ask("a");
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(DnsCoreTest, a_question_that_could_not_be_sent_is_asked_again_at_once) {
  const auto client = ask("a");
  core.on_not_asked(now, asked[0].query);
  drain();
  EXPECT_EQ(outcome_of(client), 2u);
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(count(DnsCounter::failed), 1u);
  EXPECT_EQ(count(DnsCounter::cached), 0u);
  ask("a");
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(DnsCoreTest, an_answer_of_the_largest_size_goes_whole_by_tcp_with_options) {
  Bytes question = test::dns_question("a", {.additional = 1});
  test::add_options(question, 1232, false);
  const auto client = send(question, false);
  Bytes largest = test::dns_answer(asked[0].message, 300);
  largest[7] = 2;
  const std::size_t rest = 8192 - largest.size() - 12;  // behind the head of a record
  test::add_record(largest, 16, 300, Bytes(rest, 'x'));
  ASSERT_EQ(largest.size(), 8192u);
  answer(asked[0].query, largest);
  EXPECT_EQ(replies[client].size(), 8192u + 11);
  EXPECT_EQ(get_u16(replies[client], 2) & 0x0200, 0);
}

TEST_F(DnsCoreTest, a_hostile_answer_is_refused_and_gives_server_failure) {
  const auto client = ask("a");
  Bytes wrong = test::dns_answer(asked[0].message, 300);
  ++wrong[0];
  answer(asked[0].query, wrong);
  EXPECT_EQ(outcome_of(client), 2u);
  EXPECT_EQ(count(DnsCounter::answers_refused), 1u);
  // The right one comes too late.
  answer(asked[0].query, test::dns_answer(asked[0].message, 300));
  EXPECT_EQ(count(DnsCounter::answered), 0u);

  const auto cut = ask("b");
  const Bytes whole = test::dns_answer(asked[1].message, 300);
  answer(asked[1].query, ByteSpan(whole).first(whole.size() - 1));
  EXPECT_EQ(outcome_of(cut), 2u);
  EXPECT_EQ(count(DnsCounter::answers_refused), 2u);
}

TEST_F(DnsCoreTest, questions_on_their_way_are_bounded) {
  for (int i = 0; i < 64; ++i) ask("n" + std::to_string(i));
  EXPECT_EQ(asked.size(), 64u);
  EXPECT_TRUE(replies.empty());
  const auto more = ask("one.more");
  EXPECT_EQ(outcome_of(more), 2u);
  EXPECT_EQ(asked.size(), 64u);
  EXPECT_EQ(count(DnsCounter::refused_limit), 1u);
  core.on_failed(now, asked[0].query);
  drain();
  ask("one.more");
  EXPECT_EQ(asked.size(), 65u);
}

TEST_F(DnsCoreTest, of_many_messages_for_one_question_the_newest_are_answered) {
  std::vector<DnsClientId> clients;
  for (int i = 0; i < 17; ++i) clients.push_back(ask("a"));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[clients[0]].empty());
  answer(asked[0].query, test::dns_answer(asked[0].message, 300));
  EXPECT_EQ(replies.size(), 17u);
  EXPECT_FALSE(replies[clients[1]].empty());
}

TEST_F(DnsCoreTest, malformed_questions_are_refused_and_counted) {
  EXPECT_EQ(outcome_of(send(test::dns_question("a", {.answers = 1}))), 1u);
  EXPECT_EQ(outcome_of(send(test::dns_question("a", {}, 255))), 4u);
  const auto nonsense = send(Bytes{1, 2, 3});
  EXPECT_TRUE(replies.contains(nonsense) && replies[nonsense].empty());
  EXPECT_EQ(count(DnsCounter::questions_refused), 3u);
  EXPECT_TRUE(asked.empty());
}

TEST_F(DnsCoreTest, a_large_answer_waits_in_the_cache_for_the_question_by_tcp) {
  const auto udp = ask("a");
  answer(asked[0].query, test::dns_answer(asked[0].message, 300, 60));
  EXPECT_EQ(get_u16(replies[udp], 2) & 0x0200, 0x0200);
  const auto tcp = send(test::dns_question("a"), false);
  EXPECT_EQ(replies[tcp], test::dns_answer(test::dns_question("a"), 300, 60));
  EXPECT_EQ(asked.size(), 1u);
}

TEST_F(DnsCoreTest, the_cache_is_bounded) {
  for (int i = 0; i < 1500; ++i) {
    ask("name" + std::to_string(i));
    answer(asked.back().query, test::dns_answer(asked.back().message, 1000 + i, i % 2 ? 200 : 1));
    ASSERT_LE(core.cached_octets(), 1024u * 1024);
  }
  EXPECT_LE(count(DnsCounter::cached), 1000u);
  // The answer that lives longest is still there.
  const auto before = asked.size();
  ask("name1499");
  EXPECT_EQ(asked.size(), before);
}

}  // namespace
}  // namespace s5066::ip_client
