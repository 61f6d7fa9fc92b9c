// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/answer_queue.h"

#include <algorithm>
#include <utility>

namespace s5066::cas {

std::optional<CpduId> AnswerQueue::find(Address peer, const Cpdu& cpdu) const {
  const auto is_same = [&](const Answer& answer) {
    return answer.peer == peer && type_of(answer.cpdu) == type_of(cpdu);
  };
  const auto below = std::find_if(handed_down_.begin(), handed_down_.end(), is_same);
  if (below != handed_down_.end()) return below->id;
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), is_same);
  return waiting == waiting_.end() ? std::nullopt : std::optional(waiting->id);
}

void AnswerQueue::add(Answer answer) {
  if (std::holds_alternative<PhysicalLinkAccepted>(answer.cpdu)) {
    std::erase_if(waiting_, [&](const Answer& other) {
      return other.peer == answer.peer && std::holds_alternative<PhysicalLinkRejected>(other.cpdu);
    });
  }
  waiting_.push_back(std::move(answer));
}

// Drops the oldest answer first: its peer has waited longest, so it asks again first.
bool AnswerQueue::make_room(const KnownPeers& known) {
  const auto is_without_link = [](const Answer& answer) {
    return !std::holds_alternative<PhysicalLinkAccepted>(answer.cpdu);
  };
  const auto waiting = std::count_if(waiting_.begin(), waiting_.end(), is_without_link);
  if (static_cast<std::size_t>(waiting) <= kAnswersWaitingMax) return false;
  auto victim = std::find_if(waiting_.begin(), waiting_.end(), [&](const Answer& answer) {
    return is_without_link(answer) && !known.contains(answer.peer);
  });
  if (victim == waiting_.end()) {
    victim = std::find_if(waiting_.begin(), waiting_.end(), is_without_link);
  }
  waiting_.erase(victim);
  return true;
}

// An answer that cannot be sent delays the others by at most `spacing_`.
std::optional<Answer> AnswerQueue::take(Instant now, const KnownPeers& known, bool busy) {
  if (waiting_.empty()) return std::nullopt;
  auto next = std::find_if(waiting_.begin(), waiting_.end(),
                           [&](const Answer& answer) { return known.contains(answer.peer); });
  const bool is_known = next != waiting_.end();
  const bool at_once = handed_down_.empty() && (is_known || !busy);
  if (!at_once && last_ && now < *next_at()) return std::nullopt;
  if (!is_known) next = waiting_.begin();
  Answer answer = std::move(*next);
  waiting_.erase(next);
  handed_down_.push_back(answer);
  last_ = now;
  return answer;
}

bool AnswerQueue::on_gone(Instant now, CpduId id) {
  if (std::erase_if(handed_down_, [id](const Answer& answer) { return answer.id == id; }) == 0) {
    return false;
  }
  last_ = now;
  return true;
}

void AnswerQueue::forget(CpduId id) {
  std::erase_if(waiting_, [id](const Answer& answer) { return answer.id == id; });
}

std::optional<Instant> AnswerQueue::next_at() const {
  if (waiting_.empty() || !last_) return std::nullopt;
  return *last_ + spacing_;
}

}  // namespace s5066::cas
