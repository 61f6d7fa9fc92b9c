// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/card_search.h"

#include <algorithm>
#include <system_error>

namespace s5066::modem {

CardsPresent cards_present(const std::filesystem::path& cards, const std::filesystem::path& files) {
  CardsPresent present{.cards = list_sound_cards(cards), .files_changed = {}};
  std::error_code none;  // the directory may be absent on a machine without cards
  const auto changed = std::filesystem::last_write_time(files, none);
  if (!none) present.files_changed = changed;
  return present;
}

bool CardSearch::due(Duration now, const CardsPresent& present,
                     const std::vector<std::string>& names) {
  if (present != present_) {
    present_ = present;
    looks_ = 0;
  }
  if (looks_ < config_.looks) return true;
  const bool cannot_be = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(kUsbPrefix) && !sound_card_at(present.cards, name);
  });
  return !cannot_be && now - looked_at_ >= config_.pause;
}

void CardSearch::on_look(Duration now) {
  looks_ = std::min(looks_ + 1, config_.looks);
  looked_at_ = now;
}

}  // namespace s5066::modem
