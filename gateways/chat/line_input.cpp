// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/line_input.h"

#include <cstdint>
#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::chat {
namespace {

constexpr char kEnd = 0x04;        // Ctrl-D
constexpr char kBackspace = 0x08;  // Ctrl-H
constexpr char kEmpty = 0x15;      // Ctrl-U
constexpr char kWord = 0x17;       // Ctrl-W
constexpr char kEscape = 0x1B;
constexpr char kDelete = 0x7F;  // of the key Backspace

/// True for the second to fourth octet of a character in UTF-8.
bool continues(char octet) {
  return (static_cast<std::uint8_t>(octet) & 0xC0) == 0x80;
}

}  // namespace

void LineInput::on_octets(std::string_view octets) {
  for (const char octet : octets) on_octet(octet);
}

std::optional<LineInput::Event> LineInput::poll_event() {
  return take_front(events_);
}

std::string LineInput::drawn(std::string_view prompt, std::size_t columns) const {
  std::size_t begin = line_.size();
  for (std::size_t shown = 0; begin > 0 && shown < columns; ++shown) {
    do --begin;
    while (begin > 0 && continues(line_[begin]));
  }
  return std::string(removed()).append(prompt).append(line_, begin);
}

void LineInput::on_octet(char octet) {
  if (state_ == State::escape) {
    state_ = octet == '[' || octet == 'O' ? State::sequence : State::text;
    return;
  }
  if (state_ == State::sequence) return on_sequence_end(octet);
  const auto value = static_cast<std::uint8_t>(octet);
  if (octet == '\n' || octet == '\r') return enter();
  if (octet == kEscape) {
    state_ = State::escape;
  } else if (octet == kBackspace || octet == kDelete) {
    take_last_character();
  } else if (octet == kEmpty) {
    line_.clear();
  } else if (octet == kWord) {
    take_last_word();
  } else if (octet == kEnd) {
    if (line_.empty()) events_.push_back(Ended{});
  } else if ((value >= ' ' || octet == '\t') && line_.size() < config_.octets_max) {
    line_.push_back(octet);
  }
}

void LineInput::on_sequence_end(char octet) {
  if (octet < '@' || octet > '~') return;  // a parameter; the last octet is a letter or '~'
  state_ = State::text;
  if (octet == 'A') recall(/*older=*/true);
  if (octet == 'B') recall(/*older=*/false);
}

void LineInput::enter() {
  recalled_ = 0;
  if (!line_.empty() && (entered_.empty() || entered_.back() != line_)) entered_.push_back(line_);
  if (entered_.size() > config_.recalled_max) entered_.pop_front();
  events_.push_back(Entered{std::exchange(line_, {})});
}

void LineInput::recall(bool older) {
  if (older && recalled_ < entered_.size()) {
    ++recalled_;
  } else if (!older && recalled_ > 0) {
    --recalled_;
  } else {
    return;
  }
  line_ = recalled_ == 0 ? std::string() : entered_[entered_.size() - recalled_];
}

void LineInput::take_last_character() {
  while (!line_.empty() && continues(line_.back())) line_.pop_back();
  if (!line_.empty()) line_.pop_back();
}

void LineInput::take_last_word() {
  while (line_.ends_with(' ')) line_.pop_back();
  while (!line_.empty() && !line_.ends_with(' ')) line_.pop_back();
}

}  // namespace s5066::chat
