// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/far_inbox.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/deadline_table.h"

namespace s5066::file_relay {

std::string_view to_string(FarInbox::State state) {
  constexpr std::string_view kNames[] = {"asked", "done", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

Instant FarInbox::due(const Question& question) const {
  const bool open = question.state == State::asked;
  return question.changed + (open ? config_.answer_wait : config_.kept_for);
}

Result<TransferNumber> FarInbox::request(Instant now, Address station, InboxRequest request,
                                         const std::string& path) {
  if (path.size() > gateways::kTransferNameMax) {
    return Error{ErrorCode::too_large, "the path is longer than 255 octets"};
  }
  if (questions_.size() >= config_.questions_max) {
    // An answer that nobody has fetched makes room.
    auto oldest = questions_.end();
    for (auto at = questions_.begin(); at != questions_.end(); ++at) {
      if (at->second.state == State::asked) continue;
      if (oldest == questions_.end() || at->second.changed < oldest->second.changed) oldest = at;
    }
    if (oldest == questions_.end()) {
      return Error{ErrorCode::queue_full, "too many requests wait for an answer"};
    }
    questions_.erase(oldest);
  }
  const TransferNumber number{next_number_++};
  Question& question = questions_[number];
  question.station = station;
  question.request = {.number = number, .request = request, .first = 0, .path = path};
  ask(now, number, question);
  return number;
}

void FarInbox::ask(Instant now, TransferNumber, Question& question) {
  question.changed = now;
  ++question.asked;
  outbox_.push(question.station, question.request);
}

void FarInbox::on_answer(Instant now, Address from, const AnswerMessage& answer) {
  const auto at = questions_.find(answer.number);
  if (at == questions_.end() || at->second.station != from) return;
  Question& question = at->second;
  if (question.state != State::asked || answer.first != question.request.first) return;
  question.changed = now;
  if (!answer.ok) {
    question.state = State::failed;
    question.text = answer.text.empty() ? "the other station refuses it" : answer.text;
    return;
  }
  for (const InboxEntry& entry : answer.entries) question.entries.push_back(entry);
  const bool more =
      question.request.request == InboxRequest::list && !answer.entries.empty() &&
      question.entries.size() < std::min<std::size_t>(answer.total, config_.entries_max);
  if (!more) {
    question.state = State::done;
    return;
  }
  question.request.first = static_cast<std::uint32_t>(question.entries.size());
  question.asked = 0;
  ask(now, answer.number, question);
}

void FarInbox::on_received(Instant now, Address from, TransferNumber number,
                           const std::string& name) {
  const auto at = questions_.find(number);
  if (at == questions_.end() || at->second.station != from) return;
  Question& question = at->second;
  if (question.request.request != InboxRequest::get) return;
  question.state = State::done;
  question.received_as = name;
  question.changed = now;
}

const FarInbox::Question* FarInbox::find(TransferNumber number) const {
  const auto at = questions_.find(number);
  return at == questions_.end() ? nullptr : &at->second;
}

void FarInbox::on_deadline(Instant now) {
  for (auto at = questions_.begin(); at != questions_.end();) {
    Question& question = at->second;
    if (due(question) > now) {
      ++at;
    } else if (question.state != State::asked) {
      at = questions_.erase(at);
    } else {
      if (question.asked < config_.asked_max) {
        ask(now, at->first, question);
      } else {
        question.state = State::failed;
        question.text = "the other station does not answer";
        question.changed = now;
      }
      ++at;
    }
  }
}

std::optional<Instant> FarInbox::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [number, question] : questions_) {
    next = earlier(next, std::optional<Instant>(due(question)));
  }
  return next;
}

}  // namespace s5066::file_relay
