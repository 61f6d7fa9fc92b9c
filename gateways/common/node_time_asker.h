// SPDX-License-Identifier: Apache-2.0
// Asks a node for its time on its control socket, at intervals. A node in lockstep is asked often
// enough for the gateway to use its clock, and any other node now and then.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateways/common/node_time.h"

namespace s5066::gateways {

class NodeTimeAsker {
 public:
  /// Called on the io_context after each question; empty if the node did not tell its time.
  using OnAnswer = std::function<void(std::optional<NodeTime>)>;

  /// Interval while the node is in lockstep.
  static constexpr std::chrono::milliseconds kFollowEvery{100};
  /// Interval for any other node, or one that does not answer.
  static constexpr std::chrono::seconds kLookEvery{5};
  static constexpr std::chrono::seconds kAnswerTimeout{2};
  static constexpr std::size_t kAnswerOctetsMax = 1u << 20;

  /// `control_socket` is that of the node's s5066d.
  NodeTimeAsker(boost::asio::io_context& io, std::string control_socket, OnAnswer on_answer);
  /// No call follows.
  ~NodeTimeAsker();
  NodeTimeAsker(const NodeTimeAsker&) = delete;
  NodeTimeAsker& operator=(const NodeTimeAsker&) = delete;

  /// Asks at once, unless a question is on its way. Call at the start, and when the node is back.
  void ask();

 private:
  struct Question;
  void finish(std::optional<NodeTime> answer);

  boost::asio::io_context& io_;
  std::string path_;
  OnAnswer on_answer_;
  boost::asio::steady_timer next_;
  std::shared_ptr<Question> question_;  // the question that is on its way
};

}  // namespace s5066::gateways
