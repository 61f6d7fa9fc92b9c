// Answers to REQUEST and BREAK: one at a time is handed down, so that a burst of calls does not
// keep the channel from what this node has to say itself.
#include <algorithm>
#include <utility>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {

// What is asked again before the answer is out has one answer.
CpduId ChannelAccess::send_answer(Instant now, Address peer, const Cpdu& cpdu) {
  const auto is_same = [&](const Answer& answer) {
    return answer.peer == peer && type_of(answer.cpdu) == type_of(cpdu);
  };
  const auto below = std::find_if(answers_below_.begin(), answers_below_.end(), is_same);
  if (below != answers_below_.end()) return below->id;
  const auto waiting = std::find_if(answers_.begin(), answers_.end(), is_same);
  if (waiting != answers_.end()) return waiting->id;
  if (std::holds_alternative<PhysicalLinkAccepted>(cpdu)) {
    std::erase_if(
        answers_, [peer](const Answer& answer) {  // there was no room when it called first
          return answer.peer == peer && std::holds_alternative<PhysicalLinkRejected>(answer.cpdu);
        });
  }
  const CpduId id{next_control_id_++};
  answers_.push_back({peer, cpdu, id});
  hand_down_answer(now);
  make_room_for_answers();
  return id;
}

// The oldest is the one whose asker has waited longest, and asks again first; known peers keep
// theirs before strangers.
void ChannelAccess::make_room_for_answers() {
  const auto is_without_link = [](const Answer& answer) {
    return !std::holds_alternative<PhysicalLinkAccepted>(answer.cpdu);
  };
  const auto waiting = std::count_if(answers_.begin(), answers_.end(), is_without_link);
  if (static_cast<std::size_t>(waiting) <= kAnswersWaitingMax) return;
  auto victim = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& answer) {
    return is_without_link(answer) && !was_heard(answer.peer);
  });
  if (victim == answers_.end()) {
    victim = std::find_if(answers_.begin(), answers_.end(), is_without_link);
  }
  answers_.erase(victim);
  counters_.add(Counter::link_answers_dropped);
}

// Link control goes before all data, so where this node calls or has ARQ data under way itself
// there is one answer in a T_call, but for peers that are known, who go first. One that does not
// get out holds up the others no longer than that.
void ChannelAccess::hand_down_answer(Instant now) {
  if (answers_.empty()) return;
  auto next = std::find_if(answers_.begin(), answers_.end(),
                           [this](const Answer& answer) { return was_heard(answer.peer); });
  const bool known = next != answers_.end();
  const bool at_once = answers_below_.empty() && (known || !has_own_business());
  if (!at_once && answer_at_ && now < *next_answer_at()) return;
  if (!known) next = answers_.begin();
  Answer answer = std::move(*next);
  answers_.erase(next);
  hand_down_control(now, answer.id, answer.peer, answer.cpdu);
  answers_below_.push_back(std::move(answer));
  answer_at_ = now;
}

std::optional<Instant> ChannelAccess::next_answer_at() const {
  if (answers_.empty() || !answer_at_) return std::nullopt;
  return *answer_at_ + config_.answer_wait();
}

bool ChannelAccess::has_own_business() const {
  const auto calls = [](const auto& link) { return link.second.info.state == LinkState::calling; };
  const auto is_arq = [](const auto& outstanding) { return outstanding.second.arq; };
  return std::any_of(links_.begin(), links_.end(), calls) ||
         std::any_of(outstanding_.begin(), outstanding_.end(), is_arq);
}

// It has left the antenna, or never will.
void ChannelAccess::on_answer_gone(Instant now, CpduId id) {
  const auto is_it = [id](const Answer& answer) { return answer.id == id; };
  if (std::erase_if(answers_below_, is_it) == 0) return;
  answer_at_ = now;
  hand_down_answer(now);
}

void ChannelAccess::forget_waiting_answer(CpduId id) {
  std::erase_if(answers_, [id](const Answer& answer) { return answer.id == id; });
}

void ChannelAccess::drop_waiting_answers(Instant now) {
  for (const Answer& answer : std::exchange(answers_, {})) {
    Link* link = find(answer.peer);
    if (link != nullptr && link->leaving == answer.id) on_never_left(now, *link);
  }
}

}  // namespace s5066::cas
