// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_message.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gateways/ip_client/dns_frames.h"
#include "gateways/ip_client/resolver_list.h"
#include "s5066d/base/rng.h"
#include "tests/unit/ip_client/dns_messages.h"

namespace s5066::ip_client {
namespace {

using std::chrono::seconds;
using test::DnsHead;

Bytes asked_for(std::string_view name) {
  return encode_dns_question(*parse_dns_question(test::dns_question(name)), 0x4711);
}

TEST(DnsMessage, a_question_goes_in_lower_case_and_without_options) {
  Bytes message = test::dns_question("Mail.Example", {.additional = 1}, 28);
  test::add_options(message, 1232, false);
  const auto question = parse_dns_question(message);
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->id, 0x1234);
  EXPECT_EQ(question->udp_octets, 1232u);
  const Bytes sent = encode_dns_question(*question, 7);
  EXPECT_EQ(sent, test::dns_question("mail.example", {.id = 7}, 28));
}

TEST(DnsMessage, a_question_for_signatures_keeps_that) {
  Bytes message = test::dns_question("a", {.additional = 1});
  test::add_options(message, 100, true);
  const auto question = parse_dns_question(message);
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->udp_octets, 512u);
  const Bytes sent = encode_dns_question(*question, 7);
  EXPECT_TRUE(parse_dns_question(sent)->dnssec_ok);
}

TEST(DnsMessage, every_part_of_a_question_alone_is_refused) {
  const Bytes whole = test::dns_question("mail.example");
  ASSERT_TRUE(parse_dns_question(whole).ok());
  for (std::size_t octets = 0; octets < whole.size(); ++octets) {
    EXPECT_FALSE(parse_dns_question(ByteSpan(whole).first(octets)).ok()) << octets;
  }
  Bytes more = whole;
  more.push_back(0);
  EXPECT_FALSE(parse_dns_question(more).ok());
}

TEST(DnsMessage, what_is_no_question_or_not_carried_is_refused_with_its_reason) {
  const auto code_of = [](const Bytes& message) {
    return parse_dns_question(message).error().code;
  };
  EXPECT_EQ(code_of(test::dns_question("a", {.flags = 0x8100})), ErrorCode::bad_field);
  EXPECT_EQ(code_of(test::dns_question("a", {.flags = 0x2800})), ErrorCode::unsupported);  // UPDATE
  EXPECT_EQ(code_of(test::dns_question("a", {}, 252)), ErrorCode::unsupported);            // AXFR
  EXPECT_EQ(code_of(test::dns_question("a", {}, 255)), ErrorCode::unsupported);            // ANY
  EXPECT_EQ(code_of(test::dns_question("a", {}, 1, 3)), ErrorCode::unsupported);           // CHAOS
  EXPECT_EQ(code_of(test::dns_question("a", {.answers = 1})), ErrorCode::bad_field);
  Bytes two = test::dns_question("a", {.additional = 2});
  test::add_options(two, 512, false);
  test::add_options(two, 512, false);
  EXPECT_EQ(code_of(two), ErrorCode::bad_field);
}

TEST(DnsMessage, names_are_taken_up_to_their_limit) {
  const std::string label(63, 'x');
  std::string name = label + "." + label + "." + label + ".";
  EXPECT_TRUE(parse_dns_question(test::dns_question(name + std::string(61, 'x'))).ok());
  EXPECT_FALSE(parse_dns_question(test::dns_question(name + std::string(62, 'x'))).ok());
  Bytes pointer = test::dns_question("a");
  pointer[kDnsHeaderOctets] = 0xC0;
  EXPECT_FALSE(parse_dns_question(pointer).ok());
}

TEST(DnsMessage, an_answer_lives_as_long_as_its_shortest_record) {
  const Bytes asked = asked_for("mail.example");
  Bytes message = test::dns_answer(asked, 300, 2);
  const auto answer = parse_dns_answer(message, asked);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->ttl, seconds(300));
  EXPECT_EQ(answer->ttl_at.size(), 2u);
  message[answer->ttl_at[1] + 2] = 0;  // 300 becomes 44
  EXPECT_EQ(parse_dns_answer(message, asked)->ttl, seconds(44));
  message[answer->ttl_at[0]] = 0xFF;
  EXPECT_EQ(parse_dns_answer(message, asked)->ttl, seconds(0));
}

TEST(DnsMessage, an_absence_lives_as_long_as_its_zone_says) {
  const Bytes asked = asked_for("nothing.example");
  Bytes message = asked;
  message[2] |= 0x80;
  message[3] |= 3;
  message[9] = 1;
  Bytes soa = {0, 0};  // two root names
  for (const std::uint32_t number : {1, 2, 3, 4, 120}) put_u32(soa, number);
  test::add_record(message, 6, 900, soa);
  const auto answer = parse_dns_answer(message, asked);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, DnsOutcome::no_such_name);
  EXPECT_EQ(answer->ttl, seconds(120));
}

TEST(DnsMessage, every_part_of_an_answer_alone_is_refused) {
  const Bytes asked = asked_for("mail.example");
  const Bytes whole = test::dns_answer(asked, 300, 2);
  for (std::size_t octets = 0; octets < whole.size(); ++octets) {
    EXPECT_FALSE(parse_dns_answer(ByteSpan(whole).first(octets), asked).ok()) << octets;
  }
  Bytes more = whole;
  more.push_back(0);
  EXPECT_FALSE(parse_dns_answer(more, asked).ok());
}

TEST(DnsMessage, an_answer_to_another_question_is_refused) {
  const Bytes asked = asked_for("mail.example");
  Bytes other_id = test::dns_answer(asked, 300);
  ++other_id[1];
  EXPECT_FALSE(parse_dns_answer(other_id, asked).ok());
  EXPECT_FALSE(parse_dns_answer(test::dns_answer(asked_for("mail.examplf"), 300), asked).ok());
  Bytes other_type = test::dns_answer(asked, 300);
  other_type[asked.size() - 3] = 28;
  EXPECT_FALSE(parse_dns_answer(other_type, asked).ok());
  EXPECT_FALSE(parse_dns_answer(asked, asked).ok());
  Bytes cut = test::dns_answer(asked, 300);
  cut[2] |= 2;
  EXPECT_FALSE(parse_dns_answer(cut, asked).ok());
}

TEST(DnsMessage, a_pointer_forward_or_to_itself_is_refused) {
  const Bytes asked = asked_for("mail.example");
  Bytes message = test::dns_answer(asked, 300);
  message[asked.size() + 1] = static_cast<std::uint8_t>(asked.size());
  EXPECT_FALSE(parse_dns_answer(message, asked).ok());
  message[asked.size() + 1] = static_cast<std::uint8_t>(asked.size() - 1);
  EXPECT_TRUE(parse_dns_answer(message, asked).ok());
}

TEST(DnsMessage, no_flipped_bit_of_an_answer_is_unsafe) {
  const Bytes asked = asked_for("mail.example");
  const Bytes whole = test::dns_answer(asked, 300, 2);
  std::size_t taken = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes message = whole;
    message[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    const auto answer = parse_dns_answer(message, asked);
    if (!answer) continue;
    ++taken;
    dns_answer_for(*parse_dns_question(asked), message, *answer, seconds(5), 512);
  }
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, 8 * whole.size());
}

TEST(DnsMessage, a_client_gets_its_id_its_spelling_and_what_is_left_of_the_time) {
  const auto question = parse_dns_question(test::dns_question("MAIL.example", {.id = 0xBEEF}));
  const Bytes asked = encode_dns_question(*question, 1);
  const Bytes message = test::dns_answer(asked, 300);
  const auto answer = parse_dns_answer(message, asked);
  const Bytes got = dns_answer_for(*question, message, *answer, seconds(100), 512);
  Bytes wanted = test::dns_question("MAIL.example", {.id = 0xBEEF});
  wanted = test::dns_answer(wanted, 200);
  EXPECT_EQ(got, wanted);
  const Bytes late = dns_answer_for(*question, message, *answer, seconds(1000), 512);
  EXPECT_EQ(get_u32(late, answer->ttl_at[0]), 0u);
}

TEST(DnsMessage, an_answer_that_does_not_fit_says_so) {
  const auto question = parse_dns_question(test::dns_question("a"));
  const Bytes asked = encode_dns_question(*question, 1);
  const Bytes message = test::dns_answer(asked, 300, 40);
  const auto answer = parse_dns_answer(message, asked);
  const Bytes fits = dns_answer_for(*question, message, *answer, seconds(0), message.size());
  EXPECT_EQ(fits.size(), message.size());
  const Bytes cut = dns_answer_for(*question, message, *answer, seconds(0), message.size() - 1);
  EXPECT_EQ(cut.size(), asked.size());
  EXPECT_EQ(get_u16(cut, 2), 0x8300);
  EXPECT_EQ(get_u16(cut, 6), 0);
}

TEST(DnsMessage, a_client_with_options_gets_options_and_another_none) {
  Bytes with = test::dns_question("a", {.additional = 1});
  test::add_options(with, 1232, false);
  const auto question = parse_dns_question(with);
  ASSERT_TRUE(question.ok());
  const Bytes asked = encode_dns_question(*question, 1);
  Bytes message = test::dns_answer(asked, 300, 40);
  const auto answer = parse_dns_answer(message, asked);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->options);
  const Bytes options = *from_hex("00 0029 0200 00000000 0000");
  const auto has_options = [&](const Bytes& got) {
    return get_u16(got, 10) == 1 && got.size() > options.size() &&
           std::equal(options.begin(), options.end(), got.end() - 11);
  };
  const std::size_t whole = message.size() + options.size();
  const Bytes fits = dns_answer_for(*question, message, *answer, seconds(0), whole);
  EXPECT_EQ(fits.size(), whole);
  EXPECT_TRUE(has_options(fits));
  const Bytes cut = dns_answer_for(*question, message, *answer, seconds(0), whole - 1);
  EXPECT_EQ(cut.size(), asked.size() + options.size());
  EXPECT_TRUE(has_options(cut));
  EXPECT_TRUE(has_options(dns_failure(*question, DnsOutcome::server_failure)));

  // The options of the resolver are not followed by others.
  message[11] = 1;
  test::add_options(message, 4096, false);
  const auto own = parse_dns_answer(message, asked);
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(own->options);
  EXPECT_EQ(dns_answer_for(*question, message, *own, seconds(0), 65535).size(), message.size());

  const auto without = parse_dns_question(test::dns_question("a"));
  EXPECT_EQ(get_u16(dns_answer_for(*without, test::dns_answer(asked, 300),
                                   *parse_dns_answer(test::dns_answer(asked, 300), asked),
                                   seconds(0), 512),
                    10),
            0);
}

TEST(DnsMessage, a_refusal_never_answers_an_answer) {
  EXPECT_FALSE(dns_refusal(Bytes(11), DnsOutcome::malformed));
  EXPECT_FALSE(dns_refusal(test::dns_question("a", {.flags = 0x8000}), DnsOutcome::malformed));
  const auto refusal = dns_refusal(test::dns_question("a"), DnsOutcome::not_implemented);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(*refusal, *from_hex("1234 8104 0000 0000 0000 0000"));
}

TEST(DnsFrames, messages_come_apart_wherever_the_octets_are_cut) {
  const Bytes one = test::dns_question("one");
  const Bytes two = test::dns_question("two.example");
  Bytes octets = DnsFrames::framed(one);
  append(octets, DnsFrames::framed(two));
  for (std::size_t cut = 0; cut <= octets.size(); ++cut) {
    DnsFrames frames(kDnsQuestionOctetsMax);
    std::vector<Bytes> got;
    for (const ByteSpan part : {ByteSpan(octets).first(cut), ByteSpan(octets).subspan(cut)}) {
      frames.on_octets(part);
      while (auto message = frames.poll_message()) got.push_back(*message);
    }
    EXPECT_EQ(got, (std::vector{one, two})) << cut;
  }
}

TEST(DnsFrames, a_message_above_the_limit_or_without_octets_fails) {
  DnsFrames largest(300);
  largest.on_octets(DnsFrames::framed(Bytes(300)));
  EXPECT_TRUE(largest.poll_message());
  DnsFrames larger(300);
  larger.on_octets(*from_hex("012D"));
  EXPECT_FALSE(larger.poll_message());
  EXPECT_TRUE(larger.failed());
  DnsFrames none(300);
  none.on_octets(*from_hex("0000 0001 00"));
  EXPECT_FALSE(none.poll_message());
  EXPECT_TRUE(none.failed());
}

TEST(ResolverList, resolvers_are_those_of_the_lines_nameserver) {
  const auto found = resolvers_in(
      "# comment\nsearch example\nnameserver 192.168.1.53\n;nameserver 1.1.1.1\nnameserver x\n"
      "  nameserver\tfd66::53 # two\nnameserver\nnameserver 10.0.0.1\nnameserver 10.0.0.2");
  ASSERT_EQ(found.size(), kResolversMax);
  EXPECT_EQ(to_string(found[0]), "192.168.1.53");
  EXPECT_EQ(to_string(found[1]), "fd66::53");
  EXPECT_EQ(to_string(found[2]), "10.0.0.1");
}

}  // namespace
}  // namespace s5066::ip_client
