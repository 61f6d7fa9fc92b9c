// SPDX-License-Identifier: Apache-2.0
// What an operator asks of the inbox of another station, and what became of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/file_relay/message_outbox.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::file_relay {

class FarInbox {
 public:
  struct Config {
    std::size_t questions_max = 64;  // most questions that are kept, answered or not
    std::size_t entries_max = 10000;
    /// A question without an answer is asked again after this time.
    Duration answer_wait = std::chrono::minutes(10);
    unsigned asked_max = 3;
    Duration kept_for = std::chrono::hours(1);
  };
  enum class State : std::uint8_t { asked, done, failed };
  struct Question {
    Address station;
    RequestMessage request;
    State state = State::asked;
    std::string text;  // reason of a failure
    std::vector<InboxEntry> entries;
    std::string received_as;  // name in our inbox of the file that was asked for
    unsigned asked = 0;
    Instant changed{};
  };

  /// `first_number`: random, so that the answer to a question before a restart fits no new one.
  FarInbox(const Config& config, std::uint32_t first_number, MessageOutbox& outbox)
      : config_(config), next_number_(first_number), outbox_(outbox) {}

  Result<TransferNumber> request(Instant now, Address station, InboxRequest request,
                                 const std::string& path);
  void on_answer(Instant now, Address from, const AnswerMessage& answer);
  /// Call when a file that was asked for stands in our inbox.
  void on_received(Instant now, Address from, TransferNumber number, const std::string& name);
  const Question* find(TransferNumber number) const;
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

 private:
  void ask(Instant now, TransferNumber number, Question& question);
  Instant due(const Question& question) const;

  Config config_;
  std::uint32_t next_number_;
  MessageOutbox& outbox_;
  std::map<TransferNumber, Question> questions_;
};

std::string_view to_string(FarInbox::State state);

}  // namespace s5066::file_relay
