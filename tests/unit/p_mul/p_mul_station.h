// SPDX-License-Identifier: Apache-2.0
// Runs one P_MUL node of a test, with the PDUs that it sends and hears.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "gateways/p_mul/p_mul_core.h"
#include "tests/unit/p_mul/now.h"

namespace s5066::p_mul {

using namespace std::chrono_literals;

inline constexpr NodeId kSender{1};

struct Station {
  explicit Station(NodeId node, const std::function<void(PMulCore::Config&)>& change = {})
      : id(node), rng(node.value) {
    PMulCore::Config config;
    config.sender.node = config.receiver.node = node;
    config.sender.block_octets = 100;
    Group everybody{.id = {1}, .members = {}};
    for (std::uint32_t i = 1; i <= 20; ++i) everybody.members.push_back({i});
    config.sender.groups = {everybody};
    if (change) change(config);
    core = std::make_unique<PMulCore>(config, rng);
    core->on_clock(Instant{}, kUtc);
    core->on_start(Instant{});
  }

  /// Advances to `at`. Complete messages are committed at once if `commit`.
  void advance(Instant at, bool commit = true) {
    now = at;
    core->on_deadline(now);
    collect(commit);
  }
  void collect(bool commit = true) {
    while (const auto event = core->poll_event()) {
      if (const auto* message = std::get_if<Received>(&*event)) {
        received.push_back(*message);
        if (commit) core->on_committed(now, message->name);
      } else if (const auto* end = std::get_if<DestinationEnded>(&*event)) {
        ended.push_back(*end);
      }
    }
  }
  std::vector<Bytes> pdus(std::size_t count_max = 1000) {
    std::vector<Bytes> all;
    while (all.size() < count_max) {
      auto pdu = core->poll_pdu(now);
      if (!pdu) break;
      all.push_back(std::move(pdu->octets));
    }
    return all;
  }
  void hear(const Bytes& pdu, bool commit = true) {
    core->on_datagram(now, pdu);
    collect(commit);
  }
  Result<Accepted> submit(std::uint64_t key, std::vector<NodeId> to, std::size_t octets,
                          std::uint8_t priority = 6, bool acknowledged = true) {
    Submission submission{.key = {key},
                          .message_id = static_cast<std::uint32_t>(key),
                          .priority = priority,
                          .expiry = {kUtc.value + 86400},
                          .destinations = {},
                          .group = {},
                          .acknowledged = acknowledged};
    for (const NodeId node : to) submission.destinations.push_back({node, 1});
    submission.content.assign(octets, static_cast<std::uint8_t>(key));
    return core->request_submit(now, std::move(submission));
  }

  NodeId id;
  Rng rng;
  std::unique_ptr<PMulCore> core;
  Instant now{};
  std::vector<Received> received;
  std::vector<DestinationEnded> ended;
};

template <typename T>
std::vector<T> only(const std::vector<Bytes>& pdus) {
  std::vector<T> found;
  for (const Bytes& octets : pdus) {
    const auto pdu = decode(octets);
    if (!pdu.ok()) continue;
    if (const auto* value = std::get_if<T>(&*pdu)) found.push_back(*value);
  }
  return found;
}

inline Bytes ack_of(NodeId from, std::uint32_t message, std::vector<BlockRange> missing) {
  return encode(AckPdu{.priority = 6,
                       .sender = from,
                       .entries = {{.name = {kSender, message}, .missing = std::move(missing)}}});
}

inline std::vector<std::uint16_t> numbers(const std::vector<Bytes>& pdus) {
  std::vector<std::uint16_t> all;
  for (const DataPdu& data : only<DataPdu>(pdus)) all.push_back(data.number);
  return all;
}

inline Instant at(Duration d) {
  return Instant(d);
}

}  // namespace s5066::p_mul
