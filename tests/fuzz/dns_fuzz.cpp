// SPDX-License-Identifier: Apache-2.0
// Input: a DNS message. It goes to the core as the question of a client and as the answer to one;
// as octets of a stream it goes through DnsFrames. Each message of a client gets one reply, the
// question that goes out is one that we read, and nothing stays open.
#include <algorithm>
#include <map>
#include <string>

#include "gateways/ip_client/dns_core.h"
#include "gateways/ip_client/dns_frames.h"
#include "gateways/ip_client/resolver_list.h"

using namespace s5066;
using namespace s5066::ip_client;

namespace {

struct Side {
  DnsCore core{{}, 1};
  Instant now{std::chrono::hours(1)};
  std::map<std::uint64_t, Bytes> replies;
  std::size_t asked = 0;
  std::size_t released = 0;
  ByteSpan answer;

  void drain() {
    while (const auto action = core.poll_action()) {
      if (const auto* ask = std::get_if<DnsCore::Ask>(&*action)) {
        ++asked;
        S5066_ASSERT(parse_dns_question(ask->message).ok());
        // The id of an answer is right, as that of a far end would be.
        Bytes message(answer.begin(), answer.end());
        for (std::size_t i = 0; i < 2 && i < message.size(); ++i) message[i] = ask->message[i];
        core.on_answer(now, ask->query, message);
      } else if (std::holds_alternative<DnsCore::Release>(*action)) {
        ++released;
      } else if (const auto* reply = std::get_if<DnsCore::Reply>(&*action)) {
        S5066_ASSERT(replies.emplace(reply->client.value, reply->message).second);
      }
    }
  }
};

/// A question of our own with the name and type of the message, so that answers of any name match.
Bytes question_of(ByteSpan message) {
  Bytes out = {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  const std::size_t past = std::min<std::size_t>(message.size(), 280);
  std::size_t at = kDnsHeaderOctets;
  while (at < past && message[at] != 0) at += 1 + std::size_t{message[at]};
  if (at + 5 > past) return {};
  append(out, message.subspan(kDnsHeaderOctets, at + 5 - kDnsHeaderOctets));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const ByteSpan message(data, size);
  Side side;
  side.answer = message;
  side.core.on_message(side.now, {1}, message, true);
  side.core.on_message(side.now, {2}, message, false);
  side.drain();
  const Bytes question = question_of(message);
  side.core.on_message(side.now, {3}, question, true);
  side.core.on_message(side.now, {4}, question, false);
  side.drain();
  side.now += std::chrono::seconds(30);
  side.core.on_message(side.now, {5}, question, true);
  side.drain();
  S5066_ASSERT(side.replies.size() == 5);
  S5066_ASSERT(side.asked == side.released);
  S5066_ASSERT(!side.core.next_deadline());
  // These questions have no options.
  for (const std::uint64_t by_udp : {3, 5}) S5066_ASSERT(side.replies[by_udp].size() <= 512);

  DnsFrames frames(kDnsQuestionOctetsMax);
  for (std::size_t at = 0; at < size; at += 7) {
    frames.on_octets(message.subspan(at, std::min<std::size_t>(7, size - at)));
    while (const auto one = frames.poll_message()) {
      S5066_ASSERT(!one->empty() && one->size() <= kDnsQuestionOctetsMax);
    }
  }
  const std::string text(message.begin(), message.end());
  S5066_ASSERT(resolvers_in(text).size() <= kResolversMax);
  return 0;
}
