// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/node_time_asker.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "gateways/common/node_status.h"
#include "s5066d/posix/socket.h"

namespace s5066::gateways {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using boost::system::error_code;

/// One connection to the node. Its handlers may still run when its asker is gone, and then do
/// nothing.
struct NodeTimeAsker::Question {
  Question(asio::io_context& io, NodeTimeAsker* by) : socket(io), timeout(io), asker(by) {}

  void finish(std::optional<NodeTime> time) {
    error_code ignored;
    timeout.cancel();
    socket.close(ignored);
    if (asker != nullptr) std::exchange(asker, nullptr)->finish(time);
  }

  stream_protocol::socket socket;
  asio::steady_timer timeout;
  NodeTimeAsker* asker;
  std::string answer;
};

NodeTimeAsker::NodeTimeAsker(asio::io_context& io, std::string control_socket, OnAnswer on_answer)
    : io_(io), path_(std::move(control_socket)), on_answer_(std::move(on_answer)), next_(io) {}

NodeTimeAsker::~NodeTimeAsker() {
  if (!question_) return;
  question_->asker = nullptr;
  question_->finish(std::nullopt);
}

void NodeTimeAsker::ask() {
  static constexpr std::string_view kRequest = "status\n";
  if (question_) return;
  question_ = std::make_shared<Question>(io_, this);
  const auto question = question_;
  auto connected = posix::connect_unix(path_, Duration::zero());
  error_code failed;
  if (connected) question->socket.assign(stream_protocol(), connected->get(), failed);
  if (!connected || failed) return question->finish(std::nullopt);
  static_cast<void>(connected->release());
  question->timeout.expires_after(kAnswerTimeout);
  question->timeout.async_wait([question](error_code cancelled) {
    if (!cancelled) question->finish(std::nullopt);
  });
  asio::async_write(question->socket, asio::buffer(kRequest), [](error_code, std::size_t) {});
  asio::async_read(question->socket, asio::dynamic_buffer(question->answer, kAnswerOctetsMax),
                   [question](error_code ended, std::size_t) {
                     const bool whole = ended == asio::error::eof;
                     question->finish(whole ? node_time_of(question->answer) : std::nullopt);
                   });
}

void NodeTimeAsker::finish(std::optional<NodeTime> answer) {
  question_.reset();
  if (answer && answer->lockstep) {
    next_.expires_after(kFollowEvery);
  } else {
    next_.expires_after(kLookEvery);
  }
  next_.async_wait([this](error_code cancelled) {
    if (!cancelled) ask();
  });
  on_answer_(answer);
}

}  // namespace s5066::gateways
