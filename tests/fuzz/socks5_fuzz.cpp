// SPDX-License-Identifier: Apache-2.0
// Input: octets of a SOCKS5 client. They are given at once and one by one, with the same outcome;
// what is kept is bounded, and a target is one that streams can carry.
#include <algorithm>

#include "gateways/ip_client/socks5.h"
#include "gateways/streams/stream_pdu.h"

using namespace s5066;
using namespace s5066::ip_client;

namespace {

struct Outcome {
  Socks5::State state{};
  Bytes replies;
  streams::Target target;
  Bytes rest;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(ByteSpan octets, std::size_t piece) {
  Socks5 socks;
  Outcome outcome;
  for (std::size_t at = 0; at < octets.size(); at += piece) {
    socks.on_octets(octets.subspan(at, std::min(piece, octets.size() - at)));
    if (const auto reply = socks.poll_reply()) append(outcome.replies, *reply);
    const bool waits =
        socks.state() == Socks5::State::greeting || socks.state() == Socks5::State::request;
    S5066_ASSERT(!waits || socks.rest().size() <= Socks5::kOctetsMax);
  }
  outcome.state = socks.state();
  if (outcome.state != Socks5::State::requested) return outcome;
  outcome.target = socks.target();
  outcome.rest = socks.rest();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const ByteSpan octets(data, size);
  const Outcome whole = outcome_of(octets, 4096);
  S5066_ASSERT(whole == outcome_of(octets, 1));
  if (whole.state != Socks5::State::requested) return 0;
  S5066_ASSERT(!whole.target.host.empty() && whole.target.port != 0);
  S5066_ASSERT(whole.target.host.size() <= streams::kHostOctetsMax);
  Bytes updu;
  encode(streams::StreamsHeader{.from_epoch = 1}, updu);
  encode(streams::Frame(streams::OpenFrame{1, whole.target}), updu);
  S5066_ASSERT(streams::decode_streams(updu).ok());
  return 0;
}
